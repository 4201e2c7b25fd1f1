"""The human check of a build: what waits for it goes into a sheet, what a filled sheet says is
committed.
"""

from pathlib import Path
from typing import Any

from llmpedia.errors import InputError
from llmpedia.probe.benchmark.release import last_checks, wanted_checks
from llmpedia.probe.documents import Document
from llmpedia.probe.pipeline.review_sheet import ReviewItem, read_sheet, write_sheet
from llmpedia.probe.pipeline.run import ORDER, facts_of_commit
from llmpedia.probe.pipeline.state import BuildState
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import RunFolder
from llmpedia.tables import table

Row = dict[str, Any]


def waiting(run: RunFolder) -> list[Row]:
    """Groups that passed every other check and no human has decided on, in order.

    Raises:
        InputError: the build is not at its end, or wants no review.
    """
    wanted = wanted_checks(run)
    if "review" not in wanted:
        raise InputError(
            f"{run.uri}: validation.review is false in its configuration; begin a build that wants a review"
        )
    state = BuildState(run)
    checks = last_checks(run)
    before = [check for check in wanted if check != "review"]
    last = before[-1] if before else "questions"
    if not state.finished(last):
        raise InputError(
            f"{run.uri}: step {last} of {', '.join(ORDER)} is not done; finish it with llmpedia probe build"
        )
    return [
        q
        for q in state.questions
        if (q["group_id"], "review") not in checks and _passed(q["group_id"], before, checks)
    ]


def _passed(group: str, wanted: list[str], checks: dict[tuple[str, str], Row]) -> bool:
    return all((group, check) in checks and checks[group, check]["fate"] == "kept" for check in wanted)


def write_review_sheet(run: RunFolder, path: Path) -> int:
    """Write the sheet; the number of groups in it.

    Raises:
        InputError: nothing waits, or the file is there already.
    """
    groups = waiting(run)
    state = BuildState(run)
    checks = last_checks(run)
    items = []
    for group in groups:
        numbers = state.documents_of(group["subgraph_id"])
        documents = [Document(n, state.texts.url(n), state.texts.text(n)) for n in numbers]
        proofs = {
            c: checks[group["group_id"], c]["proofs"]
            for c in ("read", "web")
            if (group["group_id"], c) in checks
        }
        fields = {k: group[k] for k in ("group_id", "named_entity", "clue_based", "answers")}
        items.append(ReviewItem(**fields, documents=documents, **proofs))
    return write_sheet(items, path)


def take_review(run: RunFolder, path: Path, overrule: bool) -> dict[str, int]:
    """Commit what a filled sheet decides and was not decided yet; counts by decision. ``overrule``:
    also what was otherwise.

    Raises:
        InputError: a row cannot be used, there is no decision in it, or it contradicts an earlier
        sheet.
    """
    known = [row["group_id"] for row in BuildState(run).questions]
    with Lease(run.folder) as lease:
        run.refresh()
        read = read_sheet(path, known)
        if not read.rows:
            raise InputError(f"{path}: no decision in it; fill the decision column with accept or reject")
        rows = _news(read.rows, last_checks(run), path, overrule)
        if rows:
            tables = {"checks": table("checks", rows)}
            facts = facts_of_commit("review", tables, run.last)
            run.commit(lease, tables, {"step": "review", "items": len(rows), "last": False, **facts})
    kept = sum(row["fate"] == "kept" for row in rows)
    again = len(read.rows) - len(rows)
    return {
        "accepted": kept,
        "rejected": len(rows) - kept,
        "decided before": again,
        "not decided": read.unfilled,
    }


def _news(rows: list[Row], checks: dict[tuple[str, str], Row], path: Path, overrule: bool) -> list[Row]:
    """Decisions that were not taken yet."""
    before = {row["group_id"]: checks.get((row["group_id"], "review")) for row in rows}
    other = [row for row in rows if (b := before[row["group_id"]]) is not None and b["fate"] != row["fate"]]
    if other and not overrule:
        group = other[0]["group_id"]
        was = before[other[0]["group_id"]]
        assert was is not None  # it is one of those decided before
        message = f"group {group} is {other[0]['fate']} here and was {was['fate']} by {was['by']}"
        raise InputError(
            f"{path}: {len(other)} groups were decided otherwise ({message}); agree, or give --overrule"
        )
    return [row for row in rows if before[row["group_id"]] is None or row in other]
