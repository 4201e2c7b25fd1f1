"""``llmpedia ppl``: conditional perplexity of given answers."""

import argparse
import time
from pathlib import Path

from llmpedia.errors import EXIT_DONE, EXIT_FINDING
from llmpedia.progress import progress_bar


def add_ppl(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The parser of ``llmpedia ppl``."""
    ppl = commands.add_parser("ppl", help="conditional perplexity of answers to questions; resumes a job")
    settings = ppl.add_mutually_exclusive_group(required=True)
    settings.add_argument("config", nargs="?", help="YAML file, such as configs/ppl.yaml")
    settings.add_argument(
        "--config", dest="named_config", metavar="CONFIG", help="the same by name, as for jobs"
    )
    ppl.add_argument(
        "--run",
        dest="run_uri",
        help="folder for the scores: a path or an s3:// or gs:// URI (default: runs/NAME)",
    )
    ppl.add_argument("--set", action="append", default=[], metavar="a.b=c", help="override one setting")
    ppl.set_defaults(run=_ppl)


def _ppl(args: argparse.Namespace) -> int:
    from llmpedia.execution.job import Progress
    from llmpedia.perplexity.run import score_items
    from llmpedia.perplexity.settings import load_perplexity_config

    path = args.config or args.named_config
    config = load_perplexity_config(path, args.set)
    run_uri = args.run_uri or f"runs/{Path(path).stem}"
    started = time.monotonic()
    with progress_bar(None, "item") as bar:

        def show(p: Progress) -> None:
            bar.n = p.done
            bar.set_postfix_str(p.phase)

        run = score_items(config, run_uri, show)
        totals = run.totals
        bar.n = totals["ppl_questions"]
        bar.set_postfix_str("done")
    failed = ", ".join(f"{n} {kind}" for kind, n in totals["errors"].items()) or "none"
    print(
        f"run {run_uri}: {totals['ppl_questions']} questions, {totals['ppl_answers']} answers, "
        f"{totals['tokens']} tokens"
    )
    print(f"not scored: {failed}")
    print(
        f"{time.monotonic() - started:.0f} s; scores: {run_uri}/tables/ppl_questions; next: "
        f"llmpedia verify {run_uri}"
    )
    if sum(totals["errors"].values()) >= max(totals["ppl_answers"], totals["ppl_questions"]):
        print("nothing was scored: see the error column of the tables")
        return EXIT_FINDING
    return EXIT_DONE
