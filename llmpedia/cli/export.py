"""``llmpedia export``: runs for others, as a static site, a dataset or JSON lines."""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from llmpedia.errors import EXIT_DONE, InputError
from llmpedia.optional_deps import need_extra

if TYPE_CHECKING:
    from llmpedia.store.run_folder import RunFolder

_KINDS = ("site", "huggingface", "jsonl")
# Options of one kind alone; null: not given.
_OF_ONE = {
    "licence": "huggingface",
    "completions": "huggingface",
    "without": "site",
    "evidence": "site",
    "workers": "site",
}


def add_export(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The parser of ``llmpedia export``."""
    export = commands.add_parser(
        "export", help="a run for others: a static site, a dataset folder or JSON lines"
    )
    export.add_argument("run_uris", metavar="RUN", nargs="+", help="one run; for a site any number")
    export.add_argument("--to", choices=_KINDS, required=True)
    export.add_argument("--out", required=True, metavar="PATH", help="what to write; must not be there yet")
    export.add_argument(
        "--audit", action="append", default=[], metavar="NAME", help="with this audit only (default: all)"
    )
    export.add_argument(
        "--private",
        choices=("mask", "keep"),
        default="mask",
        help="what the private-information filter finds (default: mask)",
    )
    export.add_argument("--licence", help="huggingface: for the card, such as cc-by-4.0 (default: unknown)")
    export.add_argument(
        "--completions",
        action="store_true",
        default=None,
        help="huggingface: with all prompts and raw answers",
    )
    export.add_argument(
        "--without",
        action="append",
        choices=("trace", "graph", "compare"),
        help="site: without these pages beside each article: prompts and decisions, neighbourhood, "
        "other runs",
    )
    export.add_argument(
        "--evidence",
        action="store_true",
        default=None,
        help="site: with the passages that verdicts rest on, which are other people's texts",
    )
    export.add_argument("--workers", type=int, help="site: processes that render (default: one a CPU)")
    export.set_defaults(run=_export)


def _export(args: argparse.Namespace) -> int:
    need_extra("site")
    for name, kind in _OF_ONE.items():
        if args.to != kind and getattr(args, name) is not None:
            raise InputError(
                f"--{name}: is for --to {kind}, not for --to {args.to}; leave it out, or give --to {kind}"
            )
    if args.to != "site" and len(args.run_uris) > 1:
        raise InputError(f"RUN: {len(args.run_uris)} given; --to {args.to} takes one, export each by itself")
    if "://" in args.out:
        raise InputError(f"--out {args.out}: must be a path on this machine; write it here and copy it there")
    if args.to == "jsonl" and not args.out.endswith((".jsonl", ".jsonl.gz")):
        raise InputError(
            f"--out {args.out}: must end in .jsonl, or in .jsonl.gz to be packed; give such a name"
        )
    if args.workers is not None and args.workers < 1:
        raise InputError(f"--workers {args.workers}: must be at least 1; give the number of processes")
    return _site(args) if args.to == "site" else _data(args)


def _data(args: argparse.Namespace) -> int:
    from llmpedia.site.data.run_reader import open_runs
    from llmpedia.site.export.dataset import write_dataset, write_jsonl
    from llmpedia.site.export.release import Filter

    (opened,) = open_runs(args.run_uris, args.audit)
    if not opened.totals()["articles"]:
        raise InputError(f"{args.run_uris[0]}: holds no article yet; materialize first")
    private = Filter(args.private)
    out = Path(args.out)
    audits = [audit.run for audit in opened.site_audits]
    if args.to == "jsonl":
        done = write_jsonl(opened.run, audits, out, private)
    else:
        tables = ["articles", "entities", "claims", *(["completions"] if args.completions else [])]
        done = write_dataset(opened.run, audits, out, tables, args.licence or "unknown", private)
    counts = {table: f"{n:,} {table}" for table, n in done.rows.items()}
    if audits:
        claims, verdicts = (_rows_of(audits, table) for table in ("claims", "verdicts"))
        counts["claims"] = f"{claims:,} claims with {verdicts:,} verdicts"
    print(f"{args.out}: {', '.join(counts.values())}")
    _say_private(done.private, done.listed, args.private)
    if args.to == "huggingface" and args.licence in (None, "unknown"):
        print(
            "note: the card says licence: unknown; say --licence once you know what the model's terms allow"
        )
    return EXIT_DONE


def _rows_of(audits: "Sequence[RunFolder]", table: str) -> int:
    return sum(audit.read(table, columns=["claim_id"]).num_rows for audit in audits)


def _site(args: argparse.Namespace) -> int:
    from llmpedia.progress import progress_bar
    from llmpedia.site.data.run_reader import open_runs
    from llmpedia.site.export.atomic_output import need_free
    from llmpedia.site.export.dataset import list_private
    from llmpedia.site.export.release import Filter, released
    from llmpedia.site.export.static_site import PARTS, StaticSettings, write_site
    from llmpedia.site.export.static_site import opened as open_all

    settings = StaticSettings(
        uris=tuple(args.run_uris),
        audits=tuple(args.audit),
        mask=args.private == "mask",
        parts=tuple(part for part in PARTS if part not in (args.without or ())),
        evidence=bool(args.evidence),
        workers=args.workers or os.cpu_count() or 1,
    )
    out = Path(args.out)
    private = Filter(args.private)
    need_free(out)
    open_all(settings)  # kept for the writing: what is wrong with a run is said before a bar is drawn
    with progress_bar(None, "article") as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.n = done

        pages = write_site(settings, out, show)
    tables = ["articles", "entities", "claims", *(["completions"] if "trace" in settings.parts else [])]
    for opened in open_runs(args.run_uris, args.audit):
        for _ in released(opened.run, [audit.run for audit in opened.site_audits], tables, private):
            pass  # counted by the filter
        opened.close()
    print(
        f"{args.out}: {pages:,} pages; serve it by any web server, such as python3 -m http.server "
        f"--directory {args.out}"
    )
    _say_private(private.counts, list_private(private, out), args.private)
    sys.stdout.flush()
    return EXIT_DONE


def _say_private(counts: "Counter[tuple[str, str]]", listed: Path | None, policy: str) -> None:
    if listed is None:
        print("private information: none found")
        return
    hits_by_kind = ", ".join(
        f"{n} {kind.replace('_', ' ')} in {table}" for (table, kind), n in sorted(counts.items())
    )
    print(
        f"private information: {hits_by_kind}; {'masked' if policy == 'mask' else 'left in'}; listed in "
        f"{listed}, which is for you alone"
    )
