"""``llmpedia verify``, ``status`` and ``report``: what run folders hold."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmpedia.errors import EXIT_DONE, EXIT_FINDING, InputError
from llmpedia.optional_deps import need_extra
from llmpedia.run_kinds import spec_of

if TYPE_CHECKING:
    from llmpedia.engines.models import Models
    from llmpedia.store.run_folder import RunFolder


def add_verify(commands: Any) -> None:
    """Add the command that proves a run whole."""
    check = commands.add_parser("verify", help="prove that a run is whole; exit code 1 if it is not")
    check.add_argument("run_uri", metavar="RUN")
    check.set_defaults(run=_verify)


def add_status(commands: Any) -> None:
    """Add the command that says where a run stands."""
    status = commands.add_parser("status", help="where a run stands")
    status.add_argument("run_uri", metavar="RUN")
    status.set_defaults(run=_status)


def add_report(commands: Any) -> None:
    """Add the command that reports runs and their audits."""
    report = commands.add_parser(
        "report", help="what runs and their audits say: tables, figures and one page"
    )
    report.add_argument("run_uris", metavar="RUN", nargs="+")
    report.add_argument(
        "--out",
        metavar="DIR",
        help="folder for everything; without it funnel, tokens and cost are printed only",
    )
    report.add_argument(
        "--encoder", metavar="MODEL", help="sentence-transformers model for the semantic cosine to Wikipedia"
    )
    report.add_argument(
        "--review", action="append", default=[], metavar="SHEET", help="a filled sheet, for table 11"
    )
    report.add_argument(
        "--models-file",
        metavar="FILE",
        help="prices of models, instead of those that the runs' settings name",
    )
    report.set_defaults(run=_report)


def _verify(args: argparse.Namespace) -> int:
    from llmpedia.store.run_folder import RunFolder

    run = RunFolder.open(args.run_uri)
    report = spec_of(run).verify(run)
    for note in report.notes:
        print(f"note: {note}")
    for finding in report.findings:
        print(f"finding: {finding}")
    print(f"checked {', '.join(f'{n} {name}' for name, n in sorted(report.checked.items()))}")
    print(
        "not whole" if report.findings else "whole: nothing lost, nothing doubled, every row has its source"
    )
    print(f"fingerprint: {run.fingerprint()}")
    return EXIT_FINDING if report.findings else EXIT_DONE


def _status(args: argparse.Namespace) -> int:
    from llmpedia.status import status
    from llmpedia.store.run_folder import RunFolder

    print(json.dumps(status(RunFolder.open(args.run_uri)), indent=1, ensure_ascii=False))
    return EXIT_DONE


def _report(args: argparse.Namespace) -> int:
    from llmpedia.analysis.common.systems import run_names
    from llmpedia.analysis.funnel.tables import funnel_tables
    from llmpedia.analysis.output.formats import as_text
    from llmpedia.engines.models import load_models
    from llmpedia.engines.usage import usage_table

    runs = _walks(args.run_uris)
    prices = load_models(args.models_file, "--models-file") if args.models_file else None
    if args.out:
        return _write_report(runs, args, prices)
    if args.encoder or args.review:
        raise InputError("--encoder, --review: are for the report that --out writes; give --out DIR as well")
    named = zip(run_names([run.uri for run in runs]), runs, strict=True)
    usage = [{**row, "run": name} for name, run in named for row in usage_table(run, prices)]
    tables = {**funnel_tables(runs), "usage": usage}
    for name, rows in tables.items():
        print(as_text(name, rows))
    return EXIT_DONE


def _walks(uris: Sequence[str]) -> "list[RunFolder]":
    """The runs, each once and each a walk."""
    from llmpedia.store.run_folder import RunFolder

    runs = [RunFolder.open(uri) for uri in uris]
    for run in runs:
        spec = spec_of(run)
        if spec.report is not None:
            raise InputError(f"{run.uri}: holds {spec.label}, not a walk; {spec.report.format(run.uri)}")
    places = [run.uri.rstrip("/") for run in runs]
    if twice := sorted({place for place in places if places.count(place) > 1}):
        raise InputError(f"{twice[0]}: is given twice; give each run once")
    return runs


def _write_report(runs: "list[RunFolder]", args: argparse.Namespace, prices: "Models | None") -> int:
    need_extra("report")
    from llmpedia.analysis.audits.report import local_encoder
    from llmpedia.analysis.output.folder import earlier_files
    from llmpedia.analysis.report import report, write_runs_report
    from llmpedia.audit.review import agreement_by_tier, read_sheet

    earlier_files(Path(args.out))  # refused before hours of reading
    encode = local_encoder(args.encoder) if args.encoder else None
    reviews = agreement_by_tier([row for sheet in args.review for row in read_sheet(Path(sheet))])
    parts = report(runs, encode, reviews, prices)
    written = write_runs_report(parts, Path(args.out))
    lacking = sum(len(part.missing) for part in parts)
    print(
        f"{len(written)} files; {lacking} tables, columns or figures are missing, each with its "
        f"reason and command"
    )
    print(f"read {Path(args.out) / 'index.html'}")
    return EXIT_DONE
