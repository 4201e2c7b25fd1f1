"""``llmpedia import``: another encyclopedia's texts as a run, to be audited and compared like one
of ours.
"""

import argparse
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from llmpedia.errors import EXIT_DONE
from llmpedia.optional_deps import need_extra

if TYPE_CHECKING:
    from tqdm import tqdm


def add_import(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The parser of ``llmpedia import``."""
    importer = commands.add_parser(
        "import", help="read another encyclopedia's texts into a run; resumes, and asks for what failed"
    )
    importer.add_argument(
        "texts",
        metavar="TEXTS",
        help="JSONL, CSV or Parquet file, folder of texts named by title, or address with {title}",
    )
    importer.add_argument(
        "--titles", metavar="FILE", help="titles wanted, one a line (default: all that TEXTS has)"
    )
    importer.add_argument("--name", required=True, help="of the encyclopedia, as tables call it")
    importer.add_argument("--run", dest="run_uri", help="run folder (default: runs/NAME)")
    importer.add_argument(
        "--form",
        choices=["text", "markdown", "wikitext", "html"],
        help="of the texts (default: by files' endings)",
    )
    importer.add_argument("--title-column", default="title", metavar="NAME")
    importer.add_argument("--text-column", default="text", metavar="NAME")
    site = importer.add_argument_group("addresses")
    site.add_argument("--contact", help="mail address or URL that the User-Agent names; required")
    site.add_argument("--space", default="_", help="what stands for a space in the address (default: _)")
    site.add_argument(
        "--every", type=float, default=1.0, metavar="SECONDS", help="between requests (default: 1)"
    )
    site.add_argument(
        "--cache", metavar="DIR", help="folder for pages read (default: ~/.cache/llmpedia/imports)"
    )
    site.add_argument("--allow-loopback", action="store_true", help="read from this machine, for a rehearsal")
    importer.set_defaults(run=_import)


def _import(args: argparse.Namespace) -> int:
    need_extra("audit")
    from llmpedia.execution.job import Progress
    from llmpedia.importing.run import ImportSettings, import_texts
    from llmpedia.importing.sources import Columns
    from llmpedia.progress import progress_bar

    columns = Columns(args.title_column, args.text_column)
    settings = ImportSettings(
        args.texts,
        args.titles,
        args.name,
        form=args.form,
        columns=columns,
        contact=args.contact,
        space=args.space,
        every_s=args.every,
        cache=args.cache,
        allow_loopback=args.allow_loopback,
    )
    run_uri = args.run_uri or f"runs/{args.name}"
    started = time.monotonic()
    bars: list[tqdm[Any]] = []  # drawn once there is progress, as what is wrong shows before
    with ExitStack() as stack:

        def show(p: Progress) -> None:
            if not bars:
                bars.append(stack.enter_context(progress_bar(p.total, "title")))
            bars[0].n = p.done
            bars[0].total = p.total

        run = import_texts(settings, run_uri, show)
    totals = run.totals
    lacking = totals["entities"] - totals["articles"]
    print(
        f"run {run_uri}: {_counted(totals['articles'], 'article')} of "
        f"{_counted(totals['entities'], 'title')} by {args.name}"
    )
    for note in run.manifests[0].facts["notes"]:
        print(f"note: {note}")
    if lacking:
        print(
            f"note: {_counted(lacking, 'title')} could not be had; the reasons are in "
            f"{run_uri}/tables/subjects, column error"
        )
    print(f"{time.monotonic() - started:.0f} s; next: llmpedia verify {run_uri}; llmpedia audit {run_uri}")
    return EXIT_DONE


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
