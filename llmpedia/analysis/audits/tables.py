"""Audits in the form of the paper's tables 2, 4, 5, 6, 7, 8, 11 and 20.

All but tables 5, 7 and 11 are selections of summary rows (``llmpedia.audit.measures.verdicts``), of
one or more audits, told apart by the constants in them: ``model``, and where a table needs them
``topic``, ``persona``, ``self_grounding``, ``prompting``, ``reasoning``. Shares are in percent with
one decimal. What the data does not allow is left out and named in ``missing``.
"""

import statistics
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from llmpedia.analysis.common.statistics import jaccard_of_sets, percent_of_share
from llmpedia.analysis.output.formats import TableRow, TableRows
from llmpedia.audit.evidence import TIERS
from llmpedia.audit.review import Agreement
from llmpedia.audit.stages import LABELS, NOT_ADJUDICATED

_SHARES = {"prec_pct": "precision", "true_pct": "true", "false_pct": "false", "unv_pct": "unverifiable"}
_SYSTEM = ("self_grounding", "prompting", "reasoning")
_CONDITION = ("topic", "model", "persona")
_NO_PART = {
    "hops": "no audit has a sample by hop",
    "random": "no audit has a random sample",
    "frontier": "no random article that Wikipedia lacks was looked up on the web",
    "frontier sample": "no audit has a frontier sample with the web tier",
}


@dataclass(frozen=True)
class Findings:
    """What audits and runs have found. All but ``summaries`` may be empty.

    ``similarities``: rows of ``similarity_summary``, each with its ``model``. ``corpora``: a row a
    model with ``mean_links, mean_sections, mean_words``. ``subjects``: model -> canonical keys of
    its corpus; ``entities``: topic -> model -> the same.
    ``reviews``: tier -> agreement of a reader with the judge. ``operating_reasoning``: the level
    that table 2 is about.
    """

    summaries: TableRows
    similarities: TableRows = field(default_factory=list)
    corpora: TableRows = field(default_factory=list)
    subjects: Mapping[str, AbstractSet[str]] = field(default_factory=dict)
    entities: Mapping[str, Mapping[str, AbstractSet[str]]] = field(default_factory=dict)
    reviews: Mapping[str, Agreement] = field(default_factory=dict)
    operating_reasoning: str = "minimal"


@dataclass(frozen=True)
class AuditTables:
    """``tables``: name -> rows, never empty. ``missing``: a row for each table, column or line that
    is not there, and why.
    """

    tables: dict[str, TableRows]
    missing: TableRows


def audit_tables(findings: Findings) -> AuditTables:
    """All tables that the findings allow."""
    missing: TableRows = []
    tables = {
        "table_02_ablation": _ablation(findings, missing, "table_02_ablation", findings.operating_reasoning),
        "table_04_topics": _topics(findings, missing),
        "table_05_models": _models(findings, missing),
        "table_06_hops": _hops(findings, missing),
        "table_07_trap": _trap(findings, missing),
        "table_08_ablation_full": _ablation(findings, missing, "table_08_ablation_full", None),
        "table_11_agreement": _agreement(findings, missing),
        "table_20_personas": _personas(findings, missing),
    }
    return AuditTables({name: rows for name, rows in tables.items() if rows}, missing)


def entity_jaccard(keys: Mapping[str, AbstractSet[str]]) -> float | None:
    """Mean over pairs of models of shared / all canonical keys (paper, table 4, CaJ); null with
    fewer than two models.
    """
    likenesses = [jaccard_of_sets(a, b) for a, b in combinations(keys.values(), 2)]
    known = [likeness for likeness in likenesses if likeness is not None]
    return statistics.fmean(known) if known else None


def _miss(missing: TableRows, table: str, what: str, reason: str) -> TableRows:
    missing.append({"table": table, "what": what, "reason": reason})
    return []


def _shares(row: TableRow) -> TableRow:
    return {shown: percent_of_share(row[name]) for shown, name in _SHARES.items()}


def _checked(row: TableRow) -> TableRow:
    """What every line says of its own ground."""
    names = ("articles", "extraction_failed", "fetch_failed", "claims", NOT_ADJUDICATED)
    return {"n": row["true_n"], **{name: row[name] for name in names}}


def _random(findings: Findings, tier: str, needed: Sequence[str]) -> TableRows:
    """Rows of the random samples that have all of the constants."""
    return [
        row
        for row in findings.summaries
        if (row["by"], row["sample"], row["tier"]) == ("sample+tier", "random", tier)
        and all(row.get(name) is not None for name in needed)
    ]


def _general(row: TableRow) -> bool:
    """Of an audit of a general encyclopedia: tables 2, 5, 7 and 8 leave topics out."""
    return row.get("topic") is None


def _unique(rows: TableRows, key: Sequence[str], missing: TableRows, table: str) -> TableRows:
    """Rows whose key no other row has, in the order of keys; which audit is meant by a double one
    cannot be told.
    """
    groups: dict[tuple[Any, ...], TableRows] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(k) for k in key), []).append(row)
    for values, same in groups.items():
        if len(same) > 1:
            named = ", ".join(f"{k} = {v}" for k, v in zip(key, values, strict=True))
            _miss(missing, table, named, f"{len(same)} audits have these values; give one of them")
    return [groups[values][0] for values in sorted(groups, key=str) if len(groups[values]) == 1]


def _ablation(findings: Findings, missing: TableRows, table: str, reasoning: str | None) -> TableRows:
    """Tables 2 (one reasoning level) and 8 (all): a row a cell of the grid."""
    cells = [
        r
        for r in _random(findings, "wikipedia", _SYSTEM)
        if _general(r) and reasoning in (None, r["reasoning"])
    ]
    if not cells:
        level = f" with reasoning = {reasoning}" if reasoning else ""
        return _miss(missing, table, "table", f"no audit of a random sample says {', '.join(_SYSTEM)}{level}")
    return [
        {**{k: r[k] for k in _SYSTEM}, **_shares(r), **_checked(r)}
        for r in _unique(cells, _SYSTEM, missing, table)
    ]


def _personas(findings: Findings, missing: TableRows) -> TableRows:
    """Table 20: a row for each topic, model and persona."""
    table = "table_20_personas"
    rows = _random(findings, "wikipedia", _CONDITION)
    if not rows:
        return _miss(missing, table, "table", f"no audit of a random sample says {', '.join(_CONDITION)}")
    return [
        {
            **{k: r[k] for k in _CONDITION},
            "covered": r["found"],
            **{shown: percent_of_share(r[name]) for shown, name in _SHARES.items() if name != "true"},
            "wiki_pct": percent_of_share(r["coverage"]),
            "words": round(r["words_mean"]),
            **_checked(r),
        }
        for r in _unique(rows, _CONDITION, missing, table)
    ]


def _topics(findings: Findings, missing: TableRows) -> TableRows:
    """Table 4: a row for each topic and model, the mean over personas; CaJ is the topic's and
    stands in all its rows.
    """
    table = "table_04_topics"
    groups: dict[tuple[str, str], TableRows] = {}
    for row in _unique(_random(findings, "wikipedia", _CONDITION), _CONDITION, [], table):
        groups.setdefault((row["topic"], row["model"]), []).append(row)
    if not groups:
        return _miss(missing, table, "table", f"no audit of a random sample says {', '.join(_CONDITION)}")
    overlap = {topic: entity_jaccard(findings.entities.get(topic, {})) for topic, _ in groups}
    for topic in (t for t, value in overlap.items() if value is None):
        _miss(
            missing, table, f"entity_jaccard of {topic}", "the topic's entities are not known for two models"
        )
    return [
        {
            "topic": topic,
            "model": model,
            "personas": len(rows),
            **{
                shown: percent_of_share(_mean(rows, name))
                for shown, name in _SHARES.items()
                if name != "true"
            },
            "wiki_pct": percent_of_share(_mean(rows, "coverage")),
            "entity_jaccard": None if overlap[topic] is None else round(overlap[topic] or 0.0, 2),
            NOT_ADJUDICATED: sum(r[NOT_ADJUDICATED] for r in rows),
        }
        for (topic, model), rows in groups.items()
    ]


def _mean(rows: TableRows, name: str) -> float | None:
    """Null where any of the rows has none: a mean over fewer personas would be another quantity."""
    values = [r[name] for r in rows]
    return None if None in values else statistics.fmean(values)


def _models(findings: Findings, missing: TableRows) -> TableRows:
    """Table 5: a line a measure, a column a model. Shared: the sample of given titles; independent:
    each one's random sample.
    """
    table = "table_05_models"
    samples = {"shared": "titles", "independent": "random"}
    cells = {
        name: _by_model(findings, sample, "wikipedia", missing, table) for name, sample in samples.items()
    }
    models = sorted({model for rows in cells.values() for model in rows})
    if len(models) < 2:
        return _miss(missing, table, "table", f"{len(models)} models have audits; a comparison needs two")
    lines: TableRows = []
    corpora = {row["model"]: row for row in findings.corpora}
    for name in ("mean_links", "mean_sections", "mean_words"):
        lines += _line("corpus", name, {m: corpora.get(m, {}).get(name) for m in models}, missing, table)
    lines += _overlap(findings, models, missing, table)
    for part, rows in cells.items():
        for shown, name in {"wiki_pct": "coverage", **_SHARES}.items():
            lines += _line(
                part,
                shown,
                {m: percent_of_share(rows[m][name]) if m in rows else None for m in models},
                missing,
                table,
            )
        lines += _line(
            part,
            NOT_ADJUDICATED,
            {m: rows[m][NOT_ADJUDICATED] if m in rows else None for m in models},
            missing,
            table,
        )
    return lines


def _by_model(
    findings: Findings, sample: str, tier: str, missing: TableRows, table: str
) -> dict[str, TableRow]:
    wanted = ("sample+tier", sample, tier)
    rows = [
        r
        for r in findings.summaries
        if (r["by"], r["sample"], r["tier"]) == wanted and r.get("model") is not None
    ]
    rows = [r for r in rows if _general(r)]
    return {row["model"]: row for row in _unique(rows, ("model",), missing, table)}


def _line(part: str, measure: str, values: TableRow, missing: TableRows, table: str) -> TableRows:
    """A line of a table that has a column for each model; without any value, none."""
    if all(value is None for value in values.values()):
        return _miss(missing, table, f"{part}: {measure}", "no model has it")
    return [{"part": part, "measure": measure, **values}]


def _overlap(findings: Findings, models: list[str], missing: TableRows, table: str) -> TableRows:
    """Subjects in any and in all corpora, the same in every model's column."""
    lost = [m for m in models if m not in findings.subjects]
    if lost:
        return _miss(missing, table, "overlap", f"the subjects of {', '.join(lost)} are not given")
    corpora = [findings.subjects[m] for m in models]
    union = len(set().union(*corpora))
    shared = len(set(corpora[0]).intersection(*corpora))
    values = {
        "union": union,
        "intersection": shared,
        "intersection_pct": percent_of_share(shared / union) if union else None,
    }
    return [
        {"part": "overlap", "measure": name, **dict.fromkeys(models, value)} for name, value in values.items()
    ]


def _hops(findings: Findings, missing: TableRows) -> TableRows:
    """Table 6: the hop sample by hop and tier, the random sample by tier, the frontier; in each,
    one audit after the other.

    ``frontier``: the random sample's articles that Wikipedia lacks, as in the paper; ``frontier
    sample``: drawn as such.
    """
    table = "table_06_hops"
    by_hop = [r for r in findings.summaries if (r["by"], r["sample"]) == ("sample+hop+tier", "hop")]
    by_hop.sort(
        key=lambda r: (*(str(r.get(k)) for k in ("model", "run", "audit")), TIERS.index(r["tier"]), r["hop"])
    )
    parts = {
        "hops": by_hop,
        "random": [r for r in findings.summaries if (r["by"], r["sample"]) == ("sample+tier", "random")],
        "frontier": [r for r in findings.summaries if r["by"] == "frontier"],
        "frontier sample": [
            r
            for r in findings.summaries
            if (r["by"], r["sample"], r["tier"]) == ("sample+tier", "frontier", "web")
        ],
    }
    for part in (p for p, rows in parts.items() if not rows):
        _miss(missing, table, part, _NO_PART[part])
    return [
        {
            **{k: r[k] for k in ("run", "audit", "model", "topic", "persona") if r.get(k) is not None},
            "bucket": f"hop {r['hop']}" if part == "hops" else part,
            "tier": r["tier"],
            "found": r["found"],
            "coverage_pct": percent_of_share(r["coverage"]),
            **_shares(r),
            **_checked(r),
        }
        for part, rows in parts.items()
        for r in rows
    ]


def _trap(findings: Findings, missing: TableRows) -> TableRows:
    """Table 7: a line a measure, a column a system, over the sample of given titles."""
    table = "table_07_trap"
    by_tier = {tier: _by_model(findings, "titles", tier, missing, table) for tier in TIERS}
    systems = sorted({model for rows in by_tier.values() for model in rows})
    if not systems:
        return _miss(missing, table, "table", "no audit has a sample of given titles")
    alike = {row["model"]: row for row in findings.similarities}
    lines: TableRows = []
    for tier, rows in by_tier.items():
        for shown, name in _SHARES.items():
            lines += _line(
                tier,
                shown,
                {s: percent_of_share(rows[s][name]) if s in rows else None for s in systems},
                missing,
                table,
            )
        lines += _line(
            tier,
            NOT_ADJUDICATED,
            {s: rows[s][NOT_ADJUDICATED] if s in rows else None for s in systems},
            missing,
            table,
        )
    for shown, name in {
        "tfidf_cosine": "tfidf_cosine",
        "bigram_overlap": "overlap_2",
        "trigram_overlap": "overlap_3",
    }.items():
        lines += _line(
            "similarity", shown, {s: _rounded(alike.get(s, {}).get(name)) for s in systems}, missing, table
        )
    semantic = {s: _rounded(alike.get(s, {}).get("semantic_cosine")) for s in systems}
    lines += _line("similarity", "semantic_cosine", semantic, missing, table)
    any_tier = {**by_tier["web"], **by_tier["wikipedia"]}
    for name in ("words_mean", "words_median"):
        lines += _line("words", name, {s: round(any_tier[s][name]) for s in systems}, missing, table)
    return lines


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _agreement(findings: Findings, missing: TableRows) -> TableRows:
    """Table 11, and the drift of class totals of appendix E: a row a class, columns a tier."""
    for tier in (t for t in TIERS if t not in findings.reviews):
        _miss(missing, "table_11_agreement", tier, "no filled review sheet of this tier")
    if not findings.reviews:
        return []
    tiers = [t for t in TIERS if t in findings.reviews]
    lines = [
        {
            "class": name,
            **{k: v for tier in tiers for k, v in _reviewed(tier, findings.reviews[tier].rows[i]).items()},
        }
        for i, name in enumerate((*LABELS, "overall"))
    ]
    lines[-1] |= {f"{tier}_kappa": _rounded(findings.reviews[tier].kappa) for tier in tiers}
    return lines


def _reviewed(tier: str, row: TableRow) -> TableRow:
    shares = {
        f"{tier}_{to}": percent_of_share(row[of])
        for to, of in (("pct", "agreement"), ("low_pct", "low"), ("high_pct", "high"))
    }
    return shares | {f"{tier}_{name}": row[name] for name in ("agreed", "judged", "human", "drift")}
