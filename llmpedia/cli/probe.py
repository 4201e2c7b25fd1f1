"""``llmpedia probe``: build a benchmark from a corpus, have it reviewed, export it; run models on
one, grade, report.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmpedia.errors import EXIT_DONE, EXIT_FINDING, InputError
from llmpedia.optional_deps import need_extra
from llmpedia.progress import progress_bar
from llmpedia.store.kinds import RunKind

if TYPE_CHECKING:
    from llmpedia.store.run_folder import RunFolder

_SMALL_MODEL = "package:"
_HEADLINES = ("about", "table_01_results")  # what a report that is written prints as well
_ERRORS = 10  # kinds of errors that a build's end shows


def add_probe(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The parsers of ``llmpedia probe``."""
    probe = commands.add_parser(
        "probe", help="questions on which verified sources disagree: build, run, grade, report"
    )
    actions = probe.add_subparsers(required=True, metavar="ACTION")
    build = actions.add_parser("build", help="from a corpus to checked questions; resumes a build")
    _add_config(build, "configs/probe-build.yaml")
    build.set_defaults(run=_build)
    sheet = actions.add_parser("sheet", help="a sheet of the groups that wait for a human's review")
    sheet.add_argument("run_uri", metavar="BUILD")
    sheet.add_argument("--out", required=True, help="CSV file to write")
    sheet.set_defaults(run=_sheet)
    review = actions.add_parser("review", help="read a filled sheet into the build")
    review.add_argument("run_uri", metavar="BUILD")
    review.add_argument("sheet", metavar="SHEET")
    review.add_argument(
        "--overrule", action="store_true", help="take decisions that differ from those of an earlier sheet"
    )
    review.set_defaults(run=_review)
    export = actions.add_parser("export", help="write the released questions in the published format")
    export.add_argument("run_uri", metavar="BUILD")
    export.add_argument("--out", required=True, help="JSONL file to write")
    export.set_defaults(run=_export)
    for name, what, use in (
        ("run", "ask models a benchmark's questions, closed book; resumes, and asks again what failed", _run),
        ("grade", "have the judge grade their responses; resumes, and asks again what failed", _grade),
    ):
        action = actions.add_parser(name, help=what)
        _add_config(action, "configs/probe-run.yaml")
        action.add_argument(
            "--model", action="append", default=[], metavar="NAME", help="only this one (may be repeated)"
        )
        action.set_defaults(run=use)
    _add_report(actions)


def _add_report(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    human = actions.add_parser("grade-sheet", help="a sheet for a human to grade a sample of responses")
    human.add_argument("run_uri", metavar="RUN")
    human.add_argument("--each", type=int, default=10, help="responses of each outcome (default: 10)")
    human.add_argument("--seed", type=int, default=42)
    human.add_argument("--out", required=True, help="CSV file to write")
    human.set_defaults(run=_grade_sheet)
    report = actions.add_parser("report", help="tables and figures of a run's models; of a build its funnel")
    report.add_argument("run_uris", metavar="RUN", nargs="+", help="folders of probe run, or of probe build")
    report.add_argument(
        "--out", help="folder for tables, figures and index.html; without it tables are printed only"
    )
    report.add_argument(
        "--strict", action="store_true", help="count what could not be graded as failed (the published rule)"
    )
    report.add_argument(
        "--ppl",
        action="append",
        default=[],
        metavar="MODEL=SCORES",
        help="a model's scores of the same questions (llmpedia ppl)",
    )
    report.add_argument(
        "--human", action="append", default=[], metavar="SHEET", help="a filled sheet of probe grade-sheet"
    )
    report.set_defaults(run=_report)


def _add_config(parser: argparse.ArgumentParser, example: str) -> None:
    settings = parser.add_mutually_exclusive_group(required=True)
    settings.add_argument("config", nargs="?", help=f"YAML file, such as {example}")
    settings.add_argument(
        "--config", dest="named_config", metavar="CONFIG", help="the same by name, as for jobs"
    )
    parser.add_argument(
        "--run", dest="run_uri", help="folder: a path or an s3:// or gs:// URI (default: runs/NAME)"
    )
    parser.add_argument("--set", action="append", default=[], metavar="a.b=c", help="override one setting")


def _paths(args: argparse.Namespace) -> tuple[str, str]:
    """The configuration's path and the run's URI."""
    path = args.config or args.named_config
    return path, args.run_uri or f"runs/{Path(path).stem}"


def _shown(bar: Any) -> Callable[[Any], None]:
    def show(p: Any) -> None:
        bar.total = p.total
        bar.n = p.done
        bar.set_postfix_str(p.phase)

    return show


def _build(args: argparse.Namespace) -> int:
    need_extra("probe")
    from llmpedia.analysis.output.formats import as_text
    from llmpedia.analysis.probe.folders import errors_of, funnel_of
    from llmpedia.probe.benchmark.release import NOT_CHECKED, released, wanted_checks
    from llmpedia.probe.pipeline.run import build
    from llmpedia.probe.settings.build import load_build_config

    path, run_uri = _paths(args)
    config = load_build_config(path, args.set)
    started = time.monotonic()
    with progress_bar(None, "item") as bar:
        run = build(config, run_uri, _shown(bar))
        bar.set_postfix_str("done")
    rows, left_out = released(run)
    print(as_text("funnel", funnel_of(run)[0]))
    errors = errors_of(run)
    if errors:
        print(as_text("errors", errors[:_ERRORS]))
    if config.engine.model.startswith(_SMALL_MODEL):
        print(
            f"warning: {config.engine.model} is far too small to label and compare; this shows "
            f"that the parts work, nothing else"
        )
    for why, count in left_out.items():
        print(f"not released: {count} groups: {why}")
    print(f"build {run_uri}: {len(rows)} questions released; {time.monotonic() - started:.0f} s")
    waiting = left_out.get(f"review: {NOT_CHECKED}", 0)
    if waiting:
        print(f"next: {waiting} groups wait for a human: llmpedia probe sheet {run_uri} --out review.csv")
    elif "review" not in wanted_checks(run):
        print("note: validation.review is false: no human has seen these questions")
    print(f"next: llmpedia verify {run_uri}; llmpedia probe export {run_uri} --out benchmark.jsonl")
    return EXIT_DONE


def _sheet(args: argparse.Namespace) -> int:
    need_extra("probe")
    from llmpedia.probe.pipeline.review import write_review_sheet
    from llmpedia.probe.pipeline.review_sheet import REASONS

    rows = write_review_sheet(_open_build(args.run_uri), Path(args.out))
    print(
        f"{args.out}: {rows} groups; decision: accept or reject; reason of a rejection: "
        f"{', '.join(REASONS)}; comment is free"
    )
    print(f"then: llmpedia probe review {args.run_uri} {args.out}")
    return EXIT_DONE


def _review(args: argparse.Namespace) -> int:
    need_extra("probe")
    from llmpedia.probe.pipeline.review import take_review

    counts = take_review(_open_build(args.run_uri), Path(args.sheet), args.overrule)
    print(f"{args.run_uri}: {', '.join(f'{n} {what}' for what, n in counts.items())}")
    print(f"next: llmpedia probe export {args.run_uri} --out benchmark.jsonl")
    return EXIT_DONE


def _export(args: argparse.Namespace) -> int:
    from llmpedia.probe.benchmark.release import released, wanted_checks, write_benchmark

    run = _open_build(args.run_uri)
    rows, left_out = released(run)
    if not rows and Path(args.out).is_file() and Path(args.out).stat().st_size:
        raise InputError(
            f"--out {args.out}: holds something, and this build has released nothing yet; give another file"
        )
    for name in write_benchmark(rows, args.out):
        print(f"wrote {name}")
    for why, count in left_out.items():
        print(f"not released: {count} groups: {why}")
    if "review" not in wanted_checks(run):
        print("note: validation.review is false: no human has seen these questions")
    print(f"{len(rows)} questions on {len({row['group_id'] for row in rows})} facts")
    if not rows:
        print("the export is empty: the lines above say why; llmpedia probe report shows every step")
    return EXIT_DONE if rows else EXIT_FINDING


def _run(args: argparse.Namespace) -> int:
    from llmpedia.probe.benchmark.run import chosen, last_rows, model_folder, respond
    from llmpedia.probe.settings.run import load_run_config
    from llmpedia.store.run_folder import RunFolder

    path, run_uri = _paths(args)
    config = load_run_config(path, args.set)
    with progress_bar(None, "question") as bar:
        now = respond(config, run_uri, args.model, _shown(bar))
        bar.set_postfix_str("done")
    failed = 0
    for name in chosen(config, args.model):
        rows = last_rows(RunFolder.open(model_folder(run_uri, name)), "responses").values()
        errors = sum(row["error"] is not None for row in rows)
        failed += errors
        truncated = sum(bool(row["truncated"]) for row in rows)
        print(
            f"{name}: {len(rows)} questions ({now[name]} asked now), {errors} failed, {truncated} truncated"
        )
    if failed:
        print(f"the same command asks the {failed} that failed once more")
    print(f"next: llmpedia probe grade {path} --run {run_uri}")
    return EXIT_DONE


def _grade(args: argparse.Namespace) -> int:
    from llmpedia.probe.benchmark.grade import OUTCOMES
    from llmpedia.probe.benchmark.run import chosen, grade_responses, grades_folder, last_rows
    from llmpedia.probe.settings.run import load_run_config
    from llmpedia.store.run_folder import RunFolder

    path, run_uri = _paths(args)
    config = load_run_config(path, args.set)
    with progress_bar(None, "response") as bar:
        now = grade_responses(config, run_uri, args.model, _shown(bar))
        bar.set_postfix_str("done")
    for name in chosen(config, args.model):
        rows = last_rows(RunFolder.open(grades_folder(run_uri, name)), "grades").values()
        counts = {o or "not graded": sum(row["outcome"] == o for row in rows) for o in (*OUTCOMES, None)}
        print(
            f"{name}: {', '.join(f'{n} {outcome}' for outcome, n in counts.items())} ({now[name]} "
            f"given to the judge now)"
        )
    print(f"next: llmpedia probe report {run_uri} --out DIR")
    return EXIT_DONE


def _grade_sheet(args: argparse.Namespace) -> int:
    from llmpedia.probe.benchmark.human_grades import write_grade_sheet

    rows = write_grade_sheet(args.run_uri, Path(args.out), args.each, args.seed)
    print(
        f"{args.out}: {rows} responses; covered: numbers of the accounts that the response covers, "
        f"or none; contradicted: yes"
    )
    print("where it puts forward another value, else no; then: llmpedia probe report RUN --human SHEET")
    return EXIT_DONE


def _report(args: argparse.Namespace) -> int:
    need_extra("probe")
    from llmpedia.analysis.output.formats import as_text
    from llmpedia.analysis.probe.folders import report_of

    tables, missing, written = report_of(
        args.run_uris, dict(_named(p) for p in args.ppl), [Path(s) for s in args.human], args.strict, args.out
    )
    for name, rows in tables.items():
        if rows and (not args.out or name in _HEADLINES or name.startswith("build")):
            print(as_text(name, rows))
    for row in missing:
        print(f"missing: {'; '.join(f'{k}: {v}' for k, v in row.items() if v is not None)}")
    if args.out:
        print(f"{written} files in {args.out}; begin with {args.out}/index.html", file=sys.stderr)
    return EXIT_DONE


def _named(text: str) -> tuple[str, str]:
    name, eq, uri = text.partition("=")
    if not eq or not name or not uri:
        raise InputError(f"--ppl {text}: must read MODEL=FOLDER, for example --ppl small=runs/ppl")
    return name, uri


def _open_build(uri: str) -> "RunFolder":
    from llmpedia.store.run_folder import RunFolder

    run = RunFolder.open(uri)
    if run.kind != RunKind.BUILD:
        raise InputError(f"{uri}: is no build of a probe; give the folder of llmpedia probe build")
    return run
