"""The sanitization funnel as group-bys over fates (paper, tables 3 and 15 to 19).

Where a subject was expanded anew after a cap was raised, the candidates of its last visit count. Candidates that end at a cap
before NER are a line of their own: the paper's runs had no such cap.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from llmpedia.store.runfolder import RunFolder
from llmpedia.tables import CAP_FATES, Fate

Rows = list[dict[str, Any]]

_NER_DROPS = (Fate.NER_REJECTED, Fate.NER_LOW_CONFIDENCE, Fate.NER_OMITTED, Fate.STAGE_ERROR)
_SIMILARITY_DROPS = (Fate.WAVE_DUPLICATE, Fate.DUPLICATE, Fate.ARBITRATION_FAILED)
_TOP = 30


@dataclass
class Counts:
    """One pass over a run. ``fates``: (child's hop, fate, asked NER) -> candidates."""

    name: str
    fates: Counter[tuple[int, str, bool]] = field(default_factory=Counter)
    articles: int = 0
    links: int = 0
    entities: Counter[int] = field(default_factory=Counter)
    with_article: Counter[int] = field(default_factory=Counter)
    errored: Counter[int] = field(default_factory=Counter)
    expanded: Counter[int] = field(default_factory=Counter)
    aliases: Counter[int] = field(default_factory=Counter)
    names: dict[int, str] = field(default_factory=dict)


def count(run: RunFolder) -> Counts:
    """Everything the tables need, wave by wave."""
    counts = Counts(run.uri.rstrip("/").rpartition("/")[2] or run.uri)
    last: dict[int, tuple[int, int, bool, bool]] = {}
    for wave in range(run.last_wave + 1):
        subjects = run.read("subjects", [wave], ["subject_id", "hop", "error", "expanded"])
        for row in subjects.to_pylist():
            last[row["subject_id"]] = (wave, row["hop"], row["expanded"], row["error"] is None)
        counts.entities.update(run.read("entities", [wave], ["hop"])["hop"].to_pylist())
        counts.aliases.update(run.read("aliases", [wave], ["entity_id"])["entity_id"].to_pylist())
        articles = run.read("articles", [wave], ["links"])
        counts.articles += articles.num_rows
        counts.links += pc.sum(articles["links"]).as_py() or 0
    for _, hop, expanded, written in last.values():
        counts.expanded[hop] += expanded
        counts.with_article[hop] += written
        counts.errored[hop] += not written
    _count_fates(run, last, counts)
    top = {n for n, _ in counts.aliases.most_common(_TOP)}
    entities = run.read("entities", columns=["entity_id", "name"])
    wanted = entities.filter(pc.is_in(entities["entity_id"], pa.array(sorted(top), pa.int64())))
    counts.names = dict(zip(wanted["entity_id"].to_pylist(), wanted["name"].to_pylist(), strict=True))
    return counts


def _count_fates(run: RunFolder, last: dict[int, tuple[int, int, bool, bool]], counts: Counts) -> None:
    for wave in range(run.last_wave + 1):
        rows = run.read("candidates", [wave], ["parent_id", "fate", "ner_completion"])
        asked = pc.is_valid(rows["ner_completion"]).to_pylist()
        for parent, fate, was_asked in zip(rows["parent_id"].to_pylist(), rows["fate"].to_pylist(), asked, strict=True):
            if parent is not None and last[parent][0] == wave:
                counts.fates[last[parent][1] + 1, fate, was_asked] += 1


def funnel_tables(runs: Sequence[RunFolder]) -> dict[str, Rows]:
    """Name -> rows, a row a run (or a run and hop)."""
    all_counts = [count(run) for run in runs]
    return {
        "table_03_funnel": [_funnel(c) for c in all_counts],
        "table_15_survival": [_survival(c) for c in all_counts],
        "table_16_coverage": [_coverage(c) for c in all_counts],
        "table_17_coverage_by_hop": [row for c in all_counts for row in _coverage_by_hop(c)],
        "table_18_aliases": [_absorption(c) for c in all_counts],
        "top_absorbing_entities": [row for c in all_counts for row in _top_absorbing(c)],
        "table_19_queue_insert": [_queue_insert(c) for c in all_counts],
        "fates_by_hop": [row for c in all_counts for row in _fates_by_hop(c)],
    }


def _stages(c: Counts) -> dict[str, int]:
    """Candidates that enter and leave each stage; each is the one before less named drops."""
    fates: Counter[str] = Counter()
    for (_, fate, _), n in c.fates.items():
        fates[fate] += n
    known_late = sum(n for (_, fate, asked), n in c.fates.items() if fate == Fate.KNOWN and asked)
    capped_early = sum(n for (_, fate, asked), n in c.fates.items() if fate in CAP_FATES and not asked)
    pre_ner = sum(fates.values()) - fates[Fate.SELF_OR_LOOP] - fates[Fate.LOW_LINK_SCORE]
    after_canonical = pre_ner - (fates[Fate.KNOWN] - known_late)
    ner_input = after_canonical - capped_early
    after_ner = ner_input - sum(fates[f] for f in _NER_DROPS)
    after_similarity = after_ner - known_late - sum(fates[f] for f in _SIMILARITY_DROPS)
    return {
        "pre_ner": pre_ner,
        "after_canonical": after_canonical,
        "capped_before_ner": capped_early,
        "ner_input": ner_input,
        "after_ner": after_ner,
        "known_after_ner": known_late,
        "after_similarity": after_similarity,
        "queued": fates[Fate.QUEUED],
    }


def _funnel(c: Counts) -> dict[str, Any]:
    s = _stages(c)
    return {
        "run": c.name,
        "generated_articles": c.articles,
        "raw_links": c.links,
        "pre_ner_input": s["pre_ner"],
        "after_canonical_dedup": s["after_canonical"],
        "after_ner": s["after_ner"],
        "after_similarity": s["after_similarity"],
        "queue_inserted_children": s["queued"],
        "raw_to_queue_pct": _percent(s["queued"], c.links),
    }


def _survival(c: Counts) -> dict[str, Any]:
    s = _stages(c)
    return {
        **_funnel(c),
        "capped_before_ner": s["capped_before_ner"],
        "known_after_ner": s["known_after_ner"],
        "raw_to_pre_ner_pct": _percent(s["pre_ner"], c.links),
        "canonical_survival_pct": _percent(s["after_canonical"], s["pre_ner"]),
        "ner_survival_pct": _percent(s["after_ner"], s["ner_input"]),
        "similarity_survival_pct": _percent(s["after_similarity"], s["after_ner"]),
    }


def _coverage(c: Counts) -> dict[str, Any]:
    total, expanded = c.entities.total(), c.expanded.total()
    return {
        "run": c.name,
        "entities": total,
        "with_article": c.with_article.total(),
        "errored": c.errored.total(),
        "filtered_in": total,
        "expanded_out": expanded,
        "terminal_pct": _percent(total - expanded, total),
    }


def _coverage_by_hop(c: Counts) -> Rows:
    return [
        {
            "run": c.name,
            "hop": hop,
            "entities": n,
            "with_article": c.with_article[hop],
            "errored": c.errored[hop],
            "expanded": c.expanded[hop],
            "terminal": n - c.expanded[hop],
            "terminal_pct": _percent(n - c.expanded[hop], n),
        }
        for hop, n in sorted(c.entities.items())
    ]


def _absorption(c: Counts) -> dict[str, Any]:
    return {
        "run": c.name,
        "entities_with_aliases": len(c.aliases),
        "aliases": c.aliases.total(),
        "aliases_per_entity": round(c.aliases.total() / len(c.aliases), 2) if c.aliases else None,
    }


def _top_absorbing(c: Counts) -> Rows:
    top = sorted(c.aliases.items(), key=lambda pair: (-pair[1], pair[0]))[:_TOP]
    return [{"run": c.name, "entity_id": n, "name": c.names.get(n), "aliases": k} for n, k in top]


def _queue_insert(c: Counts) -> dict[str, Any]:
    """The paper's loss is a race of workers for one key; here only caps come between acceptance and queue."""
    s = _stages(c)
    return {
        "run": c.name,
        "similarity_accepted": s["after_similarity"],
        "inserted": s["queued"],
        "subject_cap": s["after_similarity"] - s["queued"],
        "loss_pct": _percent(s["after_similarity"] - s["queued"], s["after_similarity"]),
    }


def _fates_by_hop(c: Counts) -> Rows:
    merged: Counter[tuple[int, str]] = Counter()
    for (hop, fate, _), n in c.fates.items():
        merged[hop, fate] += n
    hops = sorted({hop for hop, _ in merged})
    return [{"run": c.name, "hop": hop, **{str(f): merged[hop, f] for f in Fate}} for hop in hops]


def _percent(part: int, whole: int) -> float | None:
    """Null where there is nothing to divide by."""
    return round(100 * part / whole, 2) if whole else None
