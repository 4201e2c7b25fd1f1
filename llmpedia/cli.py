"""The ``llmpedia`` command. Results go to standard output, progress and errors to standard error."""

import argparse
import difflib
import json
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from llmpedia import __version__
from llmpedia.cli_audit import add_audit, with_action
from llmpedia.cli_export import add_export
from llmpedia.cli_grid import add_grid
from llmpedia.cli_import import add_import
from llmpedia.cli_ppl import add_ppl
from llmpedia.cli_probe import add_probe
from llmpedia.cli_schema import add_schema
from llmpedia.cli_site import add_browse
from llmpedia.config import load_config
from llmpedia.errors import EXIT_BAD_INPUT, EXIT_DONE, EXIT_FINDING, EXIT_INTERRUPTED, MEANINGS, InputError, LlmpediaError
from llmpedia.extras import need_extra
from llmpedia.interrupts import sigterm_as_ctrl_c
from llmpedia.progress import progress_bar
from llmpedia.store.files import is_passing

if TYPE_CHECKING:
    from llmpedia.engines.models import Models
    from llmpedia.store.runfolder import RunFolder

# What a folder holds whose run.yaml has a kind, and where its figures are.
KINDS = {"audit": "an audit", "ppl": "scores", "probe": "a probe's build", "responses": "responses", "grades": "grades"}
KINDS |= {"imported": "an imported encyclopedia"}
REPORTS = {
    "audit": "use llmpedia audit report {0}",
    "ppl": "read {0}/tables/ppl_questions and ppl_answers (Parquet)",
    "probe": "use llmpedia probe report {0}",
    "responses": "use llmpedia probe report on the folder that holds models/",
    "grades": "use llmpedia probe report on the folder that holds models/",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code says how it ended (see ``errors``)."""
    code, why = _ended(sys.argv[1:] if argv is None else argv)
    if why is not None:
        print(f"llmpedia: {why}", file=sys.stderr)
    return code


def job(*argv: str) -> int:
    """``main`` for a Ray job. Its last line tells the exit code: ``ray job submit`` answers 1 to any failure."""
    try:
        code, why = _ended(argv)
        meaning = MEANINGS[code]
    except Exception as e:  # a defect, and the last that is said of it must be readable too
        traceback.print_exc()
        code, meaning, why = 1, "a defect", f"{type(e).__name__}: {' '.join(str(e).split())}"
    sys.stderr.flush()
    print(f"exit {code} ({meaning}){': ' + why if why else ''}", flush=True)
    return code


def _ended(argv: Sequence[str]) -> tuple[int, str | None]:
    """Exit code of a command, and why in one line where it did not do what was asked."""
    try:
        with sigterm_as_ctrl_c():
            args = _parser().parse_args(with_action(argv))
            return int(args.run(args)), None
    except LlmpediaError as e:
        return e.exit_code, str(e)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has enough of it
        return EXIT_DONE, None
    except OSError as e:
        if e.filename is None:
            raise
        return EXIT_BAD_INPUT, f"{e.filename}: {e.strerror}; give another path"
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED, "interrupted; nothing committed is lost, the same command resumes"


class _Parser(argparse.ArgumentParser):
    """Arguments that make no sense end a command like any other bad input."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Raise for an option that this command does not have, before argparse misses what it was meant to be."""
        given = list(sys.argv[1:] if args is None else args)
        options = list(self._option_string_actions)
        ours = given[: given.index("--")] if "--" in given else given
        for name in (text.partition("=")[0] for text in ours if self._subparsers is None and text.startswith("--")):
            if " " not in name and not any(option.startswith(name) for option in options):
                close = difflib.get_close_matches(name, options, n=1)
                self.error(f"{name}: no such option{f', did you mean {close[0]}' if close else ''}")
        found, strange = super().parse_known_args(args, namespace)
        if strange:
            self.error(f"unrecognized arguments: {' '.join(strange)}")
        return found, strange

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; see {self.prog} --help")


def _parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = _Parser(prog="llmpedia", description="Materialize and audit what a language model knows.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    walk = commands.add_parser("materialize", help="walk from a seed and write an encyclopedia; resumes a run")
    settings = walk.add_mutually_exclusive_group(required=True)
    settings.add_argument("config", nargs="?", help="YAML file, such as configs/demo.yaml")
    settings.add_argument("--config", dest="named_config", metavar="CONFIG", help="the same by name, as for jobs")
    walk.add_argument("--run", dest="run_uri", help="run folder: a path or an s3:// or gs:// URI (default: runs/NAME)")
    walk.add_argument("--set", action="append", default=[], metavar="a.b=c", help="override one setting")
    walk.set_defaults(run=_materialize)

    plan = commands.add_parser("plan", help="calls, tokens, GPU memory and cost of a run, before anything is spent")
    plan.add_argument("config", help="YAML file, such as configs/demo.yaml")
    plan.add_argument("--set", action="append", default=[], metavar="a.b=c", help="override one setting")
    plan.add_argument("--like", metavar="RUN", help="take averages from this run instead of assumptions")
    plan.add_argument("--json", action="store_true", help="print the figures as JSON")
    plan.set_defaults(run=_plan)

    check = commands.add_parser("verify", help="prove that a run is whole; exit code 1 if it is not")
    check.add_argument("run_uri", metavar="RUN")
    check.set_defaults(run=_verify)

    status = commands.add_parser("status", help="where a run stands")
    status.add_argument("run_uri", metavar="RUN")
    status.set_defaults(run=_status)

    report = commands.add_parser("report", help="what runs and their audits say: tables, figures and one page")
    report.add_argument("run_uris", metavar="RUN", nargs="+")
    report.add_argument("--out", metavar="DIR", help="folder for everything; without it funnel, tokens and cost are printed only")
    report.add_argument("--encoder", metavar="MODEL", help="sentence-transformers model for the semantic cosine to Wikipedia")
    report.add_argument("--review", action="append", default=[], metavar="SHEET", help="a filled sheet, for table 11")
    report.add_argument("--models-file", metavar="FILE", help="prices of models, instead of those that the runs' settings name")
    report.set_defaults(run=_report)

    add_audit(commands)
    add_grid(commands)
    add_import(commands)
    add_ppl(commands)
    add_probe(commands)
    add_browse(commands)
    add_export(commands)
    add_schema(commands)
    _add_rehearse(commands)
    return parser


def _add_rehearse(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    rehearse = commands.add_parser("rehearse", help="a synthetic world with planted truth, to try a run on")
    actions = rehearse.add_subparsers(required=True, metavar="ACTION")
    serve = actions.add_parser("serve", help="serve the world on 127.0.0.1 until interrupted")
    serve.add_argument("--port", type=int, default=8765)
    serve.set_defaults(run=_rehearse_serve)
    score = actions.add_parser(
        "score", help="compare a run, an audit or a probe with the planted truth; exit code 1 on a finding"
    )
    score.add_argument("run_uri", metavar="RUN")
    score.add_argument("--json", help="file for the figures as JSON")
    score.set_defaults(run=_rehearse_score)
    corpus = actions.add_parser(
        "corpus", help="write the documents that planted disagreements are told in, for llmpedia probe build"
    )
    corpus.add_argument("--out", required=True, metavar="DIR", help="folder for documents.jsonl.gz")
    corpus.set_defaults(run=_rehearse_corpus)
    for command in (serve, score, corpus):
        command.add_argument("--seed", type=int, default=0, help="of the world; the same for serve, corpus and score")
        command.add_argument("--set", action="append", default=[], metavar="a.b=c", help="override one setting of the world")


def _materialize(args: argparse.Namespace) -> int:
    from llmpedia.materialize.run import Progress, materialize

    path = args.config or args.named_config
    config = load_config(path, args.set)
    run_uri = args.run_uri or f"runs/{Path(path).stem}"
    for note in (notes := _passing(run_uri)):
        print(f"note: {note}", file=sys.stderr)
    started = time.monotonic()
    with progress_bar(config.caps.articles, "article") as bar:

        def show(p: Progress) -> None:
            bar.n = p.articles
            bar.set_postfix_str(p.phase)

        run = materialize(config, run_uri, show)
        bar.n = run.manifests[-1].facts["totals"]["articles"]
        bar.set_postfix_str("done")
    totals = run.manifests[-1].facts["totals"]
    print(f"run {run_uri}: {totals['articles']} articles, {totals['entities']} entities in {run.last_wave + 1} commits")
    print(f"{time.monotonic() - started:.0f} s; next: llmpedia verify {run_uri}; llmpedia report {run_uri}")
    for note in notes:
        print(f"note: {note}")
    return EXIT_DONE


def _passing(run_uri: str) -> list[str]:
    """What is to be said of a run folder inside of a job's own copy of its working directory."""
    if not is_passing(run_uri):
        return []
    folder = Path(run_uri).absolute()
    return [f"run folder {folder}: is in this job's copy of its working directory, which Ray removes; give --run a path outside"]


def _plan(args: argparse.Namespace) -> int:
    from llmpedia.analysis.formats import as_text
    from llmpedia.materialize.plan import dumps, plan
    from llmpedia.store.runfolder import RunFolder

    like = RunFolder.open(args.like) if args.like else None
    if like is not None and (kind := like.description().get("kind")):
        raise InputError(f"--like {args.like}: holds {KINDS[kind]}, not a walk; give the folder of a run")
    planned = plan(load_config(args.config, args.set), like)
    if args.json:
        print(dumps(planned))
        return EXIT_DONE
    print(as_text("expected", planned.stages))
    if planned.memory:
        print(as_text("memory", planned.memory))
    print("\n".join(f"- {line}" for line in planned.assumptions))
    return EXIT_DONE


def _verify(args: argparse.Namespace) -> int:
    from llmpedia.api import verify_folder
    from llmpedia.store.runfolder import RunFolder

    run = RunFolder.open(args.run_uri)
    report = verify_folder(run)
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
    from llmpedia.analysis.formats import as_text
    from llmpedia.analysis.funnel import funnel_tables
    from llmpedia.analysis.systems import run_names
    from llmpedia.analysis.usage import usage_table
    from llmpedia.engines.models import load_models

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
    from llmpedia.store.runfolder import RunFolder

    runs = [RunFolder.open(uri) for uri in uris]
    for run in runs:
        if (kind := run.description().get("kind")) in REPORTS:
            raise InputError(f"{run.uri}: holds {KINDS[kind]}, not a walk; {REPORTS[kind].format(run.uri)}")
    places = [run.uri.rstrip("/") for run in runs]
    if twice := sorted({place for place in places if places.count(place) > 1}):
        raise InputError(f"{twice[0]}: is given twice; give each run once")
    return runs


def _write_report(runs: "list[RunFolder]", args: argparse.Namespace, prices: "Models | None") -> int:
    need_extra("report")
    from llmpedia.analysis.audit_report import local_encoder
    from llmpedia.analysis.report import report, write_runs_report
    from llmpedia.analysis.report_folder import earlier_files
    from llmpedia.audit.review import agreement_by_tier, read_sheet

    earlier_files(Path(args.out))  # refused before hours of reading
    encode = local_encoder(args.encoder) if args.encoder else None
    reviews = agreement_by_tier([row for sheet in args.review for row in read_sheet(Path(sheet))])
    parts = report(runs, encode, reviews, prices)
    written = write_runs_report(parts, Path(args.out))
    lacking = sum(len(part.missing) for part in parts)
    print(f"{len(written)} files; {lacking} tables, columns or figures are missing, each with its reason and command")
    print(f"read {Path(args.out) / 'index.html'}")
    return EXIT_DONE


def _rehearse_serve(args: argparse.Namespace) -> int:
    import asyncio

    from llmpedia.rehearsal.server import run_server
    from llmpedia.rehearsal.settings import load_settings

    settings = load_settings(args.set, seed=args.seed)
    print(f"a world of {settings.entities} entities on http://127.0.0.1:{args.port}/v1; counters at /stats", file=sys.stderr)
    asyncio.run(run_server(settings, args.port))
    return EXIT_DONE


def _rehearse_corpus(args: argparse.Namespace) -> int:
    from llmpedia.rehearsal.corpus import write_corpus
    from llmpedia.rehearsal.settings import load_settings
    from llmpedia.rehearsal.world import World

    print(write_corpus(World(load_settings(args.set, seed=args.seed)), Path(args.out)))
    return EXIT_DONE


def _rehearse_score(args: argparse.Namespace) -> int:
    from llmpedia.rehearsal.score import render, score
    from llmpedia.rehearsal.score_audit import score_audit
    from llmpedia.rehearsal.score_probe import findings, score_probe
    from llmpedia.rehearsal.score_responses import score_responses
    from llmpedia.rehearsal.settings import load_settings
    from llmpedia.rehearsal.world import World
    from llmpedia.store.runfolder import RunFolder

    run, world = RunFolder.open(args.run_uri), World(load_settings(args.set, seed=args.seed))
    kind = run.description().get("kind")
    scores = {"audit": score_audit, "probe": score_probe, "responses": score_responses}
    if kind in KINDS and kind not in scores:
        raise InputError(
            f"{args.run_uri}: holds {KINDS[kind]}, nothing of which is planted; give a run, audit, build or responses"
        )
    figures = scores.get(kind or "", score)(run, world)
    print(render(figures))
    if kind == "probe" and figures["documents"]["strangers"] > figures["documents"]["kept"] / 10:
        raise InputError(f"{args.run_uri}: its documents are of another world; give serve, corpus and score one --seed and --set")
    if args.json:
        Path(args.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    if kind in scores:
        wrong = {
            "audit": lambda: any(row.get("wrong_outcome") for row in figures.values()),
            "probe": lambda: bool(findings(figures)),
            "responses": lambda: bool(figures["mismatches"]),
        }
        return EXIT_FINDING if wrong[kind]() else EXIT_DONE
    if figures["doubled"]["strangers"] > figures["doubled"]["world_entities"]:
        print("most entities are strangers to this world: give the --seed and --set that the run's world was served with")
        return EXIT_FINDING
    whole = not (figures["walk"]["lost"] or figures["walk"]["twice"] or figures["accounted"]["unaccounted"])
    return EXIT_DONE if whole and not figures["doubled"]["doubled"] else EXIT_FINDING


if __name__ == "__main__":
    sys.exit(main())
