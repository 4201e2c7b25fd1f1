"""``llmpedia audit``: run an audit, report it, have it reviewed by a human, and read the review
back.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from llmpedia.errors import EXIT_DONE
from llmpedia.optional_deps import need_extra

_ACTIONS = ("run", "report", "sample-for-review", "agreement")
_SMALL_MODEL = "package:"


def with_action(argv: Sequence[str]) -> list[str]:
    """``audit RUN`` is short for ``audit run RUN``."""
    if len(argv) > 1 and argv[0] == "audit" and argv[1] not in (*_ACTIONS, "-h", "--help"):
        return ["audit", "run", *argv[1:]]
    return list(argv)


def add_audit(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The parsers of ``llmpedia audit``."""
    audit = commands.add_parser(
        "audit", help="check a run's articles claim by claim; `audit RUN` is `audit run RUN`"
    )
    actions = audit.add_subparsers(required=True, metavar="ACTION")
    run = actions.add_parser("run", help="sample, extract claims, find evidence, judge; resumes an audit")
    run.add_argument("run_uri", metavar="RUN")
    run.add_argument("--config", default="configs/audit.yaml", help="YAML file (default: configs/audit.yaml)")
    run.add_argument(
        "--name", help="of the audit's folder RUN/audits/NAME (default: the configuration's name)"
    )
    run.add_argument("--set", action="append", default=[], metavar="a.b=c", help="override one setting")
    run.set_defaults(run=_run)
    report = actions.add_parser("report", help="tables of one or more audits")
    report.add_argument("audits", metavar="AUDIT", nargs="+", help="folder such as runs/demo/audits/audit")
    report.add_argument(
        "--out", help="folder for Parquet, CSV, Markdown and LaTeX; without it tables are printed only"
    )
    report.add_argument(
        "--similarity", action="store_true", help="compare the articles with Wikipedia's text as well"
    )
    report.add_argument(
        "--encoder", metavar="MODEL", help="sentence-transformers model for the semantic cosine"
    )
    report.add_argument(
        "--review", action="append", default=[], metavar="SHEET", help="a filled sheet, for table 11"
    )
    report.set_defaults(run=_report)
    sheet = actions.add_parser(
        "sample-for-review", help="a balanced sheet for a human reader (paper, section 4.3)"
    )
    sheet.add_argument("audit", metavar="AUDIT")
    sheet.add_argument("--tier", choices=["wikipedia", "web"], default="wikipedia")
    sheet.add_argument(
        "--each", type=int, default=33, help="rows of each verdict (paper: 33 for Wikipedia, 10 for the web)"
    )
    sheet.add_argument("--seed", type=int, default=42)
    sheet.add_argument(
        "--hide-verdicts", action="store_true", help="keep the judge's verdicts in a key sheet apart"
    )
    sheet.add_argument("--out", required=True, help="CSV file to write")
    sheet.set_defaults(run=_sheet)
    agreement = actions.add_parser(
        "agreement", help="read a filled sheet back: agreement of reader and judge"
    )
    agreement.add_argument("sheet", metavar="SHEET")
    agreement.set_defaults(run=_agreement)


def _run(args: argparse.Namespace) -> int:
    need_extra("audit")
    from llmpedia.analysis.audits.report import audit_report, headline
    from llmpedia.analysis.output.formats import as_text
    from llmpedia.audit.run import audit
    from llmpedia.audit.settings import load_audit_config
    from llmpedia.execution.job import Progress
    from llmpedia.progress import progress_bar
    from llmpedia.store.run_folder import RunFolder

    config = load_audit_config(args.config, args.set)
    started = time.monotonic()
    with progress_bar(None, "article") as bar:

        def show(p: Progress) -> None:
            bar.total = p.total
            bar.n = p.done
            bar.set_postfix_str(p.phase)

        done = audit(config, RunFolder.open(args.run_uri), args.name or Path(args.config).stem, show)
        bar.n = done.totals["audited"]
        bar.set_postfix_str("done")
    tables, _ = audit_report([done], None, False, {})
    for name in headline(tables):
        print(as_text(name, tables[name]))
    for note in done.manifests[0].facts["notes"]:
        print(f"note: {note}")
    if config.engine.model.startswith(_SMALL_MODEL):
        print(
            f"warning: {config.engine.model} is far too small to judge; these figures show that "
            f"the parts work, nothing else"
        )
    totals = done.totals
    print(
        f"audit {done.uri}: {totals['audited']} articles, {totals['claims']} claims, "
        f"{totals['verdicts']} verdicts"
    )
    print(
        f"{time.monotonic() - started:.0f} s; next: llmpedia audit report {done.uri} --out DIR; "
        f"llmpedia verify {done.uri}"
    )
    return EXIT_DONE


def _report(args: argparse.Namespace) -> int:
    need_extra("audit")
    from llmpedia.analysis.audits.report import audit_report, local_encoder, write_report
    from llmpedia.analysis.output.formats import as_text
    from llmpedia.audit.audit_folder import open_audit
    from llmpedia.audit.review import agreement_by_tier, read_sheet

    encode = local_encoder(args.encoder) if args.encoder else None
    reviews = agreement_by_tier([row for sheet in args.review for row in read_sheet(Path(sheet))])
    audits = [open_audit(uri) for uri in args.audits]
    tables, missing = audit_report(audits, encode, args.similarity or bool(encode), reviews)
    if args.out:  # before printing: whoever reads along may have enough of it
        written = write_report(tables, missing, Path(args.out))
        print(f"{len(written)} files in {args.out}", file=sys.stderr)
    for name, rows in tables.items():
        if rows:
            print(as_text(name, rows))
    for row in missing:
        print(f"missing: {row['table']}: {row['what']}: {row['reason']}")
    return EXIT_DONE


def _sheet(args: argparse.Namespace) -> int:
    need_extra("audit")
    from llmpedia.audit.audit_folder import open_audit, review_rows
    from llmpedia.audit.review import write_sheet
    from llmpedia.audit.stages import LABELS

    balanced = dict.fromkeys(LABELS, args.each)
    rows = review_rows(open_audit(args.audit), args.tier)
    sheet = write_sheet(rows, Path(args.out), balanced, args.seed, args.hide_verdicts)
    print(
        f"{args.out}: {sheet.rows} rows ({', '.join(f'{n} {label}' for label, n in sheet.by_class.items())})"
    )
    for line in sheet.short:
        print(f"fewer than asked for: {line}")
    if sheet.key:
        print(f"the judge's verdicts: {sheet.key}")
    print(f"fill its last columns, then: llmpedia audit agreement {args.out}")
    return EXIT_DONE


def _agreement(args: argparse.Namespace) -> int:
    need_extra("audit")
    from llmpedia.analysis.output.formats import as_text
    from llmpedia.audit.review import agreement_by_tier, read_sheet

    for tier, rows in agreement_by_tier(read_sheet(Path(args.sheet))).items():
        print(as_text(f"agreement, tier {tier}", rows.rows))
        print(f"Cohen's kappa: {'not defined' if rows.kappa is None else f'{rows.kappa:.3f}'}\n")
    return EXIT_DONE
