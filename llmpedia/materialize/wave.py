"""From a wave's visits to its commit: proposals in order, resolved, as tables that add up."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from llmpedia.config.walk import Config
from llmpedia.entities.keys import canonical_key
from llmpedia.materialize.frontier import Plan
from llmpedia.materialize.resolve import Proposal, Resolved
from llmpedia.materialize.subject import Row
from llmpedia.store.run_folder import Manifest
from llmpedia.store.verify import imbalances
from llmpedia.tables import CAP_FATES, TABLES, table


def seed_proposals(titles: Iterable[str]) -> list[Proposal]:
    """The seeds as candidates without a parent, at hop 0."""
    rows = []
    for position, title in enumerate(titles):
        row: Row = dict.fromkeys(TABLES["candidates"].names)
        del row["candidate_id"], row["parent_id"]
        row |= {"position": position, "key": canonical_key(title), "name": title, "mentions": 0}
        rows.append(Proposal([row], None, None, "", 0))
    return rows


def walk_proposals(plan: Plan, visits: list[Row]) -> list[Proposal]:
    """The open candidates of a wave in (subject order, link order)."""
    return [
        Proposal([row], item.subject_id, item.name, visit["lead"], item.hop + 1)
        for item, visit in zip(plan.items, visits, strict=True)
        for row in visit["candidates"]
        if row["fate"] is None
    ]


def seed_tables(proposals: list[Proposal], resolved: Resolved) -> dict[str, pa.Table]:
    """Tables of wave 0."""
    rows = [{"parent_id": None, **p.first} for p in proposals]
    return _tables([], [], rows, resolved, resolved.completions, 0)


def walk_tables(
    plan: Plan, visits: list[Row], resolved: Resolved, next_candidate: int
) -> dict[str, pa.Table]:
    """Tables of a walked wave."""
    subjects = []
    articles = []
    candidates = []
    completions: dict[str, Row] = {}
    for position, (item, visit) in enumerate(zip(plan.items, visits, strict=True)):
        rows = visit["candidates"]
        capped = any(row["fate"] in CAP_FATES for row in rows)
        subjects.append(
            {
                "subject_id": item.subject_id,
                "position": position,
                "name": item.name,
                "hop": item.hop,
                "visit": item.visit,
                "error_stage": visit["error_stage"],
                "error": visit["error"],
                "expanded": visit["error"] is None and item.expand == "full" and not capped,
                "candidates": len(rows),
            }
        )
        articles += [visit["article"]] if visit["article"] else []
        candidates += [{"parent_id": item.subject_id, **row} for row in rows]
        for row in visit["completions"]:
            completions.setdefault(row["key"], row)
    for row in resolved.completions:
        completions.setdefault(row["key"], row)
    return _tables(subjects, articles, candidates, resolved, list(completions.values()), next_candidate)


def _tables(
    subjects: list[Row],
    articles: list[Row],
    candidates: list[Row],
    resolved: Resolved,
    completions: list[Row],
    next_id: int,
) -> dict[str, pa.Table]:
    numbered = [{"candidate_id": next_id + n, **row} for n, row in enumerate(candidates)]
    number = {(row["parent_id"], row["key"]): row["candidate_id"] for row in reversed(numbered)}
    aliases = [
        {
            "key": a["key"],
            "name": a["name"],
            "entity_id": a["entity_id"],
            "candidate_id": number[a["parent_id"], a["key"]],
        }
        for a in resolved.aliases
    ]
    tables = {
        "entities": resolved.entities,
        "subjects": subjects,
        "articles": articles,
        "candidates": numbered,
        "aliases": aliases,
        "completions": completions,
    }
    return {name: table(name, rows) for name, rows in tables.items()}


def facts_of(
    tables: dict[str, pa.Table], plan: Plan | None, config: Config, previous: Manifest | None
) -> dict[str, Any]:
    """What the manifest says of the wave: counts, caps, running totals. Raises ``AssertionError``
    if rows do not add up.
    """
    fates = Counter(map(str, tables["candidates"]["fate"].to_pylist()))
    counts = {
        "subjects": len(plan.items) if plan else 0,
        "articles": tables["articles"].num_rows,
        "errored": sum(1 for e in tables["subjects"]["error"].to_pylist() if e is not None),
        "candidates": tables["candidates"].num_rows,
        "fates": dict(sorted(fates.items())),
    }
    rows = {
        "subjects": tables["subjects"].select(["visit", "error"]).to_pylist(),
        "articles": [{}] * tables["articles"].num_rows,
        "entities": [{}] * tables["entities"].num_rows,
        "aliases": tables["aliases"].select(["key"]).to_pylist(),
        "candidates": tables["candidates"].select(["key", "fate"]).to_pylist(),
    }
    wrong = list(imbalances(counts, rows))
    if wrong:
        raise AssertionError(f"the wave does not add up: {'; '.join(wrong)}")
    before = previous.facts["totals"] if previous else {}
    totals = {name: before.get(name, 0) + rows_.num_rows for name, rows_ in tables.items()}
    return {
        "hop": plan.hop if plan else 0,
        "screened_upto": plan.upto if plan else -1,
        "caps": config.caps.model_dump(),
        "counts": counts,
        "totals": totals,
    }
