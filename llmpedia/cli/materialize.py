"""``llmpedia materialize`` and ``llmpedia plan``: a walk, and what it will take."""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from llmpedia.config.walk import load_config
from llmpedia.errors import EXIT_DONE, InputError
from llmpedia.progress import progress_bar
from llmpedia.run_kinds import spec_of
from llmpedia.store.files import is_passing
from llmpedia.store.kinds import RunKind


def add_materialize(commands: Any) -> None:
    """Add the command that walks."""
    walk = commands.add_parser(
        "materialize", help="walk from a seed and write an encyclopedia; resumes a run"
    )
    settings = walk.add_mutually_exclusive_group(required=True)
    settings.add_argument("config", nargs="?", help="YAML file, such as configs/demo.yaml")
    settings.add_argument(
        "--config", dest="named_config", metavar="CONFIG", help="the same by name, as for jobs"
    )
    walk.add_argument(
        "--run", dest="run_uri", help="run folder: a path or an s3:// or gs:// URI (default: runs/NAME)"
    )
    walk.add_argument("--set", action="append", default=[], metavar="a.b=c", help="override one setting")
    walk.set_defaults(run=_materialize)


def add_plan(commands: Any) -> None:
    """Add the command that says what a walk will take."""
    plan = commands.add_parser(
        "plan", help="calls, tokens, GPU memory and cost of a run, before anything is spent"
    )
    plan.add_argument("config", help="YAML file, such as configs/demo.yaml")
    plan.add_argument("--set", action="append", default=[], metavar="a.b=c", help="override one setting")
    plan.add_argument("--like", metavar="RUN", help="take averages from this run instead of assumptions")
    plan.add_argument("--json", action="store_true", help="print the figures as JSON")
    plan.set_defaults(run=_plan)


def _materialize(args: argparse.Namespace) -> int:
    from llmpedia.execution.job import Progress
    from llmpedia.materialize.run import materialize

    path = args.config or args.named_config
    config = load_config(path, args.set)
    run_uri = args.run_uri or f"runs/{Path(path).stem}"
    for note in (notes := _passing(run_uri)):
        print(f"note: {note}", file=sys.stderr)
    started = time.monotonic()
    with progress_bar(config.caps.articles, "article") as bar:

        def show(p: Progress) -> None:
            bar.n = p.done
            bar.set_postfix_str(p.phase)

        run = materialize(config, run_uri, show)
        bar.n = run.totals["articles"]
        bar.set_postfix_str("done")
    totals = run.totals
    print(
        f"run {run_uri}: {totals['articles']} articles, {totals['entities']} entities in "
        f"{run.last_wave + 1} commits"
    )
    print(f"{time.monotonic() - started:.0f} s; next: llmpedia verify {run_uri}; llmpedia report {run_uri}")
    for note in notes:
        print(f"note: {note}")
    return EXIT_DONE


def _passing(run_uri: str) -> list[str]:
    """What is to be said of a run folder inside of a job's own copy of its working directory."""
    if not is_passing(run_uri):
        return []
    folder = Path(run_uri).absolute()
    return [
        (
            f"run folder {folder}: is in this job's copy of its working directory, which Ray removes; "
            f"give --run a path outside"
        )
    ]


def _plan(args: argparse.Namespace) -> int:
    from llmpedia.analysis.output.formats import as_text
    from llmpedia.materialize.plan import dumps, plan
    from llmpedia.store.run_folder import RunFolder

    like = RunFolder.open(args.like) if args.like else None
    if like is not None and like.kind != RunKind.WALK:
        holds = spec_of(like).label
        raise InputError(f"--like {args.like}: holds {holds}, not a walk; give the folder of a run")
    planned = plan(load_config(args.config, args.set), like)
    if args.json:
        print(dumps(planned))
        return EXIT_DONE
    print(as_text("expected", planned.stages))
    if planned.memory:
        print(as_text("memory", planned.memory))
    print("\n".join(f"- {line}" for line in planned.assumptions))
    return EXIT_DONE
