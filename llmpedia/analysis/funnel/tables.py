"""The sanitization funnel as group-bys over fates (paper, tables 3 and 15 to 19, figures 6 to 31).

Candidates that end at a cap before NER are a line of their own: the paper's runs had no such cap.
Shares are in percent; one with nothing to divide by is null. A candidate's ``hop`` is the child's,
the parent's plus 1; ``parent_hop`` is the parent's.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llmpedia.analysis.common.statistics import percent
from llmpedia.analysis.common.systems import System, run_names
from llmpedia.analysis.funnel.counts import (
    FATES,
    SIMILARITY_DROPS,
    STAGES,
    SURVIVALS,
    Funnel,
    FunnelCounts,
    count,
    spread_by_hop,
)
from llmpedia.analysis.output.formats import TableRow, TableRows
from llmpedia.store.kinds import RunKind
from llmpedia.store.run_folder import RunFolder
from llmpedia.tables import CAP_FATES, Fate

if TYPE_CHECKING:
    from llmpedia.analysis.output.page import ReportPart


_REASONS = {
    Fate.NER_REJECTED: ("ner", "not_named_entity"),
    Fate.NER_LOW_CONFIDENCE: ("ner", "low_confidence"),
    Fate.NER_OMITTED: ("ner", "omitted"),
    Fate.STAGE_ERROR: ("ner", "stage_error"),
    Fate.DUPLICATE: ("similarity", "confirmed_duplicate"),
    Fate.WAVE_DUPLICATE: ("similarity", "within_wave"),
    Fate.ARBITRATION_FAILED: ("similarity", "failed"),
}
"""Fate -> stage that rejects, and why (paper, figures 12 and 13)."""
_TITLES = {
    "table_03_funnel": "Candidates left after each stage",
    "table_15_survival": "Survival of each stage",
    "survival_by_hop": "Survival by hop: mean and one sigma over expanded subjects",
    "reject_reasons": "Why candidates were rejected",
    "fates_by_hop": "Fates by hop",
    "fate_shares_by_hop": "Fates by hop, in percent of the hop's candidates",
    "table_16_coverage": "Coverage: subjects expanded, and terminal ones",
    "table_17_coverage_by_hop": "Coverage by hop",
    "table_18_aliases": "Aliases absorbed",
    "top_absorbing_entities": "Entities that absorbed most aliases",
    "table_19_queue_insert": "Losses between acceptance and queue",
}
_WALK = "llmpedia materialize CONFIG --run RUN"


def funnel_tables(runs: Sequence[RunFolder]) -> dict[str, TableRows]:
    """Name -> rows, a row a run (or a run and hop)."""
    return _tables(
        [count(run, name) for run, name in zip(runs, run_names([run.uri for run in runs]), strict=True)]
    )


def funnel_part(systems: Sequence[System]) -> "ReportPart":
    """The tables with their figures, of those that are walks; an imported encyclopedia has no
    candidates.
    """
    from llmpedia.analysis.funnel.figures import FIGURES_OF, MOST_RUNS, funnel_figures
    from llmpedia.analysis.output.page import ReportPart

    walks = [system for system in systems if is_walk(system.run)]
    if not walks:
        row = {"what": "table, figures", "reason": "no run is a walk", "command": _WALK}
        return ReportPart({}, [{"table": name, **row} for name in _TITLES])
    tables = _tables([count(system.run, system.name) for system in walks])
    figures = funnel_figures(tables)
    figures_of = {
        table: [f for f in figures if f.startswith(prefixes)] for table, prefixes in FIGURES_OF.items()
    }
    row = {"what": "table", "reason": "no run has committed what it is made of", "command": _WALK}
    missing = [{"table": name, **row} for name, rows in tables.items() if not rows]
    if undrawn := [system.run.uri for system in walks[MOST_RUNS:]]:
        reason = f"a figure tells at most {MOST_RUNS} runs apart, and these are the first ones"
        lacking = {"table": "table_03_funnel", "what": f"figures: {len(undrawn)} more runs", "reason": reason}
        missing.append({**lacking, "command": f"llmpedia report {' '.join(undrawn)} --out OTHER_DIR"})
    return ReportPart(tables, missing, _TITLES, figures, figures_of, "Sanitization funnel")


def is_walk(run: RunFolder) -> bool:
    """Whether it was materialized here."""
    return run.kind == RunKind.WALK


def _tables(counted: Sequence[FunnelCounts]) -> dict[str, TableRows]:
    return {
        "table_03_funnel": [funnel_row(c.name, c.funnel()) for c in counted],
        "table_15_survival": [survival_row(c.name, c.funnel()) for c in counted],
        "survival_by_hop": [row for c in counted for row in _survival_by_hop(c)],
        "reject_reasons": [row for c in counted for row in _reject_reasons(c)],
        "table_16_coverage": [_coverage(c) for c in counted],
        "table_17_coverage_by_hop": [row for c in counted for row in _coverage_by_hop(c)],
        "table_18_aliases": [
            absorption_row(c.name, int((c.aliases > 0).sum()), int(c.aliases.sum())) for c in counted
        ],
        "top_absorbing_entities": [row for c in counted for row in _top_absorbing(c)],
        "table_19_queue_insert": [_queue_insert(c) for c in counted],
        "fate_shares_by_hop": [row for c in counted for row in _fate_shares_by_hop(c)],
        "fates_by_hop": [row for c in counted for row in _fates_by_hop(c)],
    }


def funnel_row(name: str, f: Funnel) -> TableRow:
    """A row of table 3."""
    return {
        "run": name,
        "generated_articles": f.articles,
        "raw_links": f.links,
        "pre_ner_input": f.pre_ner,
        "after_canonical_dedup": f.after_canonical,
        "after_ner": f.after_ner,
        "after_similarity": f.after_similarity,
        "queue_inserted_children": f.queued,
        "raw_to_queue_pct": percent(f.queued, f.links),
    }


def survival_row(name: str, f: Funnel) -> TableRow:
    """A row of table 15: each survival is of what enters the stage."""
    return {
        **funnel_row(name, f),
        "capped_before_ner": f.capped_before_ner,
        "known_after_ner": f.known_after_ner,
        "raw_to_pre_ner_pct": percent(f.pre_ner, f.links),
        "canonical_survival_pct": percent(f.after_canonical, f.pre_ner),
        "ner_survival_pct": percent(f.after_ner, f.ner_input),
        "similarity_survival_pct": percent(f.after_similarity, f.after_ner),
    }


def _survival_by_hop(c: FunnelCounts) -> TableRows:
    """Candidates of all visited subjects of a hop; survivals are of its expanded ones alone, which
    ``subjects`` counts.
    """
    spreads = {name: spread_by_hop(c, name) for name in SURVIVALS}
    hops, left = c.visited
    rows: TableRows = []
    for hop in sorted({int(h) for h in hops}):
        sums = dict(zip(STAGES, map(int, left[hops == hop].sum(axis=0)), strict=True))
        row: TableRow = {"run": c.name, "parent_hop": hop, "subjects": int(c.expanded[hop]), **sums}
        for name, by_hop in spreads.items():
            counts = by_hop[hop]
            shown = {"pct": counts.mean, "sd": counts.sd}
            row |= {f"{name}_{k}": None if v is None else round(v, 2) for k, v in shown.items()} | {
                f"{name}_n": counts.n
            }
        rows.append(row)
    return rows


def _reject_reasons(c: FunnelCounts) -> TableRows:
    """A row a reason, of all rejections of its stage; none for a stage that rejected nothing."""
    rejected = {fate: c.of(fate) for fate in _REASONS}
    of_stage = {
        stage: sum(n for fate, n in rejected.items() if _REASONS[fate][0] == stage)
        for stage in ("ner", "similarity")
    }
    return [
        {"run": c.name, "stage": stage, "reason": reason, "candidates": n, "pct": percent(n, of_stage[stage])}
        for fate, n in rejected.items()
        for stage, reason in [_REASONS[fate]]
        if of_stage[stage]
    ]


def coverage_row(name: str, entities: int, expanded: int) -> TableRow:
    """A row of tables 16 and 17: what was filtered in and not expanded is terminal."""
    left = {
        "expanded": expanded,
        "terminal": entities - expanded,
        "terminal_pct": percent(entities - expanded, entities),
    }
    return {"run": name, "entities": entities, **left}


def _coverage(c: FunnelCounts) -> TableRow:
    row = coverage_row(c.name, int(c.entities.sum()), int(c.expanded.sum()))
    return {
        "run": c.name,
        "entities": row["entities"],
        "with_article": int(c.written.sum()),
        "errored": int(c.errored.sum()),
        "filtered_in": row["entities"],
        "expanded_out": row["expanded"],
        "terminal_pct": row["terminal_pct"],
    }


def _coverage_by_hop(c: FunnelCounts) -> TableRows:
    rows = []
    for hop in (h for h, n in enumerate(c.entities) if n):
        row = coverage_row(c.name, int(c.entities[hop]), int(c.expanded[hop]))
        visited = {"with_article": int(c.written[hop]), "errored": int(c.errored[hop])}
        rows.append({"run": c.name, "hop": hop, "entities": row.pop("entities"), **visited, **row})
    return rows


def absorption_row(name: str, entities: int, aliases: int) -> TableRow:
    """A row of table 18; ``entities``: those that have an alias."""
    mean = round(aliases / entities, 2) if entities else None
    return {"run": name, "entities_with_aliases": entities, "aliases": aliases, "aliases_per_entity": mean}


def _top_absorbing(c: FunnelCounts) -> TableRows:
    return [{"run": c.name, "entity_id": n, "name": name, "aliases": k} for n, name, k in c.top]


def queue_row(name: str, accepted: int, inserted: int) -> TableRow:
    """What table 19 is about: candidates that similarity accepted and the queue did not take."""
    loss = percent(accepted - inserted, accepted)
    return {"run": name, "similarity_accepted": accepted, "inserted": inserted, "loss_pct": loss}


def _queue_insert(c: FunnelCounts) -> TableRow:
    """Only a cap comes between acceptance and queue here.

    The paper's loss is a race of workers for one key. Here such candidates meet before similarity
    (``wave_duplicates``, of which the first to come decides), so that none is lost; ``raced_pct``
    is their share had each been accepted by itself.
    """
    f = c.funnel()
    twice = c.of(Fate.WAVE_DUPLICATE)
    row = queue_row(c.name, f.after_similarity, f.queued)
    loss = row.pop("loss_pct")
    raced = {"wave_duplicates": twice, "raced_pct": percent(twice, f.after_similarity + twice)}
    return {**row, "subject_cap": f.after_similarity - f.queued, "loss_pct": loss, **raced}


def _fates_by_hop(c: FunnelCounts) -> TableRows:
    by_fate = c.cells.sum(axis=2)
    return [
        {"run": c.name, "hop": hop, **{str(f): int(n) for f, n in zip(FATES, by_fate[hop], strict=True)}}
        for hop in range(len(by_fate))
        if by_fate[hop].any()
    ]


def _fate_shares_by_hop(c: FunnelCounts) -> TableRows:
    """Each hop adds up to 100; ``before_pct``: loops and low scores, no candidates in the paper's
    sense.
    """
    place = FATES.index
    rows: TableRows = []
    for hop, cells in enumerate(c.cells):
        whole = int(cells.sum())
        early = cells[:, 0]
        late = cells[:, 1]
        parts = {
            "inserted": cells[place(Fate.QUEUED)].sum(),
            "capped": sum(cells[place(f)].sum() for f in CAP_FATES),
            "similarity_rejected": sum(cells[place(f)].sum() for f in SIMILARITY_DROPS)
            + late[place(Fate.KNOWN)],
            "ner_rejected": sum(
                cells[place(f)].sum() for f, (stage, _) in _REASONS.items() if stage == "ner"
            ),
            "known": early[place(Fate.KNOWN)],
            "before": cells[place(Fate.SELF_OR_LOOP)].sum() + cells[place(Fate.LOW_LINK_SCORE)].sum(),
        }
        if whole:
            shares = {f"{name}_pct": percent(int(n), whole) for name, n in parts.items()}
            rows.append({"run": c.name, "hop": hop, "candidates": whole, **shares})
    return rows
