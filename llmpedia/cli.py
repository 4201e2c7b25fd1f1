"""The ``llmpedia`` command. Results go to standard output, progress and errors to standard error."""

import argparse
import json
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from llmpedia import __version__
from llmpedia.config import load_config
from llmpedia.errors import EXIT_DONE, EXIT_FINDING, EXIT_INTERRUPTED, LlmpediaError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code says how it ended (see ``errors``)."""
    args = _parser().parse_args(argv)
    try:
        code: int = args.run(args)
    except LlmpediaError as e:
        print(f"llmpedia: {e}", file=sys.stderr)
        return e.exit_code
    except KeyboardInterrupt:
        print("llmpedia: interrupted; nothing committed is lost, the same command resumes", file=sys.stderr)
        return EXIT_INTERRUPTED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="llmpedia", description="Materialize and audit what a language model knows.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    walk = commands.add_parser("materialize", help="walk from a seed and write an encyclopedia; resumes a run")
    walk.add_argument("config", help="YAML file, such as configs/demo.yaml")
    walk.add_argument("--run", dest="run_uri", help="run folder: a path or an s3:// or gs:// URI (default: runs/NAME)")
    walk.add_argument("--set", action="append", default=[], metavar="a.b=c", help="override one setting")
    walk.set_defaults(run=_materialize)

    check = commands.add_parser("verify", help="prove that a run is whole; exit code 1 if it is not")
    check.add_argument("run_uri", metavar="RUN")
    check.set_defaults(run=_verify)

    status = commands.add_parser("status", help="where a run stands")
    status.add_argument("run_uri", metavar="RUN")
    status.set_defaults(run=_status)

    report = commands.add_parser("report", help="funnel tables from fates (paper, tables 3 and 15 to 19)")
    report.add_argument("run_uris", metavar="RUN", nargs="+")
    report.add_argument("--out", help="folder for Parquet, CSV and Markdown; without it the tables are printed only")
    report.set_defaults(run=_report)
    return parser


def _materialize(args: argparse.Namespace) -> int:
    from llmpedia.materialize.run import Progress, materialize

    config = load_config(args.config, args.set)
    run_uri = args.run_uri or f"runs/{Path(args.config).stem}"
    started = time.monotonic()
    with tqdm(total=config.caps.articles, unit="article", smoothing=0.05, mininterval=0) as bar, _Heartbeat(bar):

        def show(p: Progress) -> None:
            bar.n = p.articles
            bar.set_postfix_str(p.phase)

        run = materialize(config, run_uri, show)
        bar.n = run.manifests[-1].facts["totals"]["articles"]
        bar.set_postfix_str("done")
    totals = run.manifests[-1].facts["totals"]
    print(f"run {run_uri}: {totals['articles']} articles, {totals['entities']} entities in {run.last_wave + 1} commits")
    print(f"{time.monotonic() - started:.0f} s; next: llmpedia verify {run_uri}; llmpedia report {run_uri}")
    return EXIT_DONE


class _Heartbeat:
    """Redraws a bar while its work goes on in silence: each second on a terminal, each ten in a log."""

    def __init__(self, bar: "tqdm[Any]") -> None:
        self._bar, self._stop = bar, threading.Event()
        self._every = 1.0 if sys.stderr.isatty() else 10.0
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._stop.wait(self._every):
            self._bar.refresh()
            if not sys.stderr.isatty():
                print(file=sys.stderr)


def _verify(args: argparse.Namespace) -> int:
    from llmpedia.store.runfolder import RunFolder
    from llmpedia.store.verify import verify

    run = RunFolder.open(args.run_uri)
    report = verify(run)
    for note in report.notes:
        print(f"note: {note}")
    for finding in report.findings:
        print(f"finding: {finding}")
    print(f"checked {', '.join(f'{n} {name}' for name, n in sorted(report.checked.items()))}")
    print("not whole" if report.findings else "whole: nothing lost, nothing doubled, every row has its source")
    print(f"fingerprint: {run.fingerprint()}")
    return EXIT_FINDING if report.findings else EXIT_DONE


def _status(args: argparse.Namespace) -> int:
    from llmpedia.materialize.status import status
    from llmpedia.store.runfolder import RunFolder

    print(json.dumps(status(RunFolder.open(args.run_uri)), indent=1, ensure_ascii=False))
    return EXIT_DONE


def _report(args: argparse.Namespace) -> int:
    from llmpedia.analysis.funnel import funnel_tables, render, write_tables
    from llmpedia.store.runfolder import RunFolder

    tables = funnel_tables([RunFolder.open(uri) for uri in args.run_uris])
    for name, rows in tables.items():
        print(render(name, rows))
    if args.out:
        write_tables(tables, Path(args.out))
    return EXIT_DONE


if __name__ == "__main__":
    sys.exit(main())
