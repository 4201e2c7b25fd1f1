"""A run's story in figures: what it is, how far it came, what audits found.

From the catalogue in memory, the run's description, and each audit's small columns; made once for
each version of the run.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from llmpedia.analysis.common.statistics import drawn_width
from llmpedia.audit.audit_folder import audit_data
from llmpedia.audit.measures.verdicts import SHARES, article_scores
from llmpedia.errors import InputError
from llmpedia.site.data.run_reader import SiteRun
from llmpedia.site.pages.claim_views import TIERS

Row = dict[str, Any]


@dataclass(frozen=True)
class HopBar:
    """Entities of a hop, and how many of them are written."""

    hop: int
    entities: int
    written: int
    share: float
    written_share: float


@dataclass(frozen=True)
class TierFound:
    """Macro averages of an audit in one tier, 0 to 1; null: not defined. ``parts``: (verdict,
    offset, width) in percent.
    """

    audit: str
    tier: str
    articles: int
    shares: dict[str, float | None]
    parts: tuple[tuple[str, float, float], ...]


@dataclass(frozen=True)
class Story:
    """All of it. ``notes``: what is wrong with an audit's folder, a line each."""

    facts: tuple[tuple[str, str], ...]
    figures: tuple[tuple[str, str], ...]
    hops: tuple[HopBar, ...]
    audits: tuple[TierFound, ...]
    notes: tuple[str, ...]


def story(run: SiteRun) -> Story:
    """The story of a run as of its last refresh."""
    return _story(run, run.version)


@lru_cache(maxsize=32)
def _story(run: SiteRun, version: tuple[Any, ...]) -> Story:  # of another version it is another story
    totals = run.totals()
    audits, notes = _audited(run)
    return Story(
        facts(run),
        _figures(run, totals, audits),
        () if run.imported else _hops(totals),
        audits,
        (*run.notes, *notes),
    )


def facts(run: SiteRun) -> tuple[tuple[str, str], ...]:
    """What was asked for, as (name, value)."""
    identity = run.description.get("identity") or {}
    if run.imported:
        return _imported_facts(run, identity)
    asked = identity.get("run") or {}
    stages = identity.get("stages") or {}
    article = stages.get("article") or {}
    written = identity.get("article") or {}
    seeds = run.description.get("seeds") or []
    grounded: dict[Any, str] = {True: "on", False: "off"}
    values = {
        "Seed": ", ".join(seeds[:3]) + (f" and {len(seeds) - 3:,} more" if len(seeds) > 3 else ""),
        "Topic": asked.get("root_topic"),
        "Model": article.get("model") or (identity.get("engine") or {}).get("model"),
        "Persona": asked.get("persona") and asked["persona"].replace("_", " "),
        "Prompting": asked.get("prompting"),
        "Self-grounding": grounded.get(asked.get("self_grounding")),
        "Reasoning effort": article.get("reasoning_effort"),
        "Words asked for": written.get("words"),
    }
    return tuple((name, str(value)) for name, value in values.items() if value)


def _imported_facts(run: SiteRun, identity: Row) -> tuple[tuple[str, str], ...]:
    texts = str((run.description.get("config") or {}).get("texts") or "")
    values = {
        "Encyclopedia": (identity.get("engine") or {}).get("model"),
        "Imported from": source_name(texts),
        "Titles asked for": f"{len(run.description.get('seeds') or []):,}",
    }
    return tuple((name, str(value)) for name, value in values.items() if value)


def source_name(texts: str) -> str:
    """An address as it is; of a file, its name: folders are the maker's own."""
    return texts if "://" in texts else texts.rstrip("/").rpartition("/")[2]


def _figures(run: SiteRun, totals: Row, audits: Sequence[TierFound]) -> tuple[tuple[str, str], ...]:
    reached = max((hop for hop, (_, written, _) in totals["hops"].items() if written), default=0)
    figures = [
        ("articles", f"{totals['articles']:,}"),
        ("titles" if run.imported else "entities found", f"{totals['entities']:,}"),
        ("words", f"{totals['words']:,}"),
        ("links", f"{totals['links']:,}"),
        ("other names", f"{totals['aliases']:,}"),
    ]
    if not run.imported:
        figures.append(("hops from the seed", f"{reached:,}"))
    several = len({row.audit for row in audits}) > 1
    for row in audits:
        if (true := row.shares["true"]) is not None:
            figures.append(
                (f"of claims true by {row.tier}{f' ({row.audit})' if several else ''}", f"{true:.0%}")
            )
    return tuple(figures)


def _hops(totals: Row) -> tuple[HopBar, ...]:
    widest = max((entities for entities, _, _ in totals["hops"].values()), default=0)
    return tuple(
        HopBar(hop, entities, written, drawn_width(entities, widest), drawn_width(written, widest))
        for hop, (entities, written, _) in sorted(totals["hops"].items())
    )


def _audited(run: SiteRun) -> tuple[tuple[TierFound, ...], list[str]]:
    audits = list[TierFound]()
    notes = list[str]()
    for audit in run.site_audits:
        try:
            scores = article_scores(audit_data(audit.run))
        except InputError as e:
            notes.append(str(e))
            continue
        for tier in TIERS:
            rows = [row for row in scores if row["tier"] == tier and row["true"] is not None]
            if rows:
                audits.append(_tier_found(audit.name, tier, rows))
    return tuple(audits), notes


def _tier_found(audit: str, tier: str, rows: Sequence[Row]) -> TierFound:
    shares: dict[str, float | None] = {}
    for name in SHARES:
        known = [row[name] for row in rows if row[name] is not None]
        shares[name] = statistics.fmean(known) if known else None
    parts = []
    at = 0.0
    for verdict, name in (("supported", "true"), ("insufficient", "unverifiable"), ("refuted", "false")):
        width = round(100 * (shares[name] or 0.0), 3)
        parts.append((verdict, round(at, 3), width))
        at += width
    return TierFound(audit, TIERS[tier], len(rows), shares, tuple(parts))
