"""A run's story in figures: what it is, how far it came, what became of the names it linked, what audits found.

From the catalogue in memory, the manifests, and each audit's small columns; made once for each version of the run.
"""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from llmpedia.audit.folder import audit_data
from llmpedia.audit.metrics import SHARES, article_scores
from llmpedia.errors import InputError
from llmpedia.site.reader import SiteRun
from llmpedia.site.verdicts import TIERS
from llmpedia.tables import CAP_FATES, Fate

Row = dict[str, Any]

_STEPS = (
    ("neither the page itself nor doubtful", (Fate.SELF_OR_LOOP, Fate.LOW_LINK_SCORE)),
    ("not known before", (Fate.KNOWN,)),
    ("judged to be an entity", (Fate.NER_REJECTED, Fate.NER_LOW_CONFIDENCE, Fate.NER_OMITTED, Fate.STAGE_ERROR)),
    ("no other name of a known one", (Fate.WAVE_DUPLICATE, Fate.DUPLICATE, Fate.ARBITRATION_FAILED)),
    ("queued for an article", tuple(CAP_FATES)),
)


@dataclass(frozen=True)
class Bar:
    """A row of a chart. ``share``: percent of the chart's width; ``lost``: what the step before had more."""

    label: str
    value: int
    share: float
    lost: int | None = None


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
    """Macro averages of an audit in one tier, 0 to 1; null: not defined. ``parts``: (verdict, offset, width) in percent."""

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
    funnel: tuple[Bar, ...]
    hops: tuple[HopBar, ...]
    found: tuple[TierFound, ...]
    notes: tuple[str, ...]


def story(run: SiteRun) -> Story:
    """The story of a run as of its last refresh."""
    return _story(run, run.version)


@lru_cache(maxsize=32)
def _story(run: SiteRun, version: tuple[Any, ...]) -> Story:  # of another version it is another story
    totals = run.totals()
    found, notes = _audited(run)
    return Story(facts(run), _figures(totals, found), _funnel(run, totals), _hops(totals), found, (*run.notes, *notes))


def facts(run: SiteRun) -> tuple[tuple[str, str], ...]:
    """What was asked for, as (name, value)."""
    identity = run.description.get("identity") or {}
    asked, stages = identity.get("run") or {}, identity.get("stages") or {}
    article, written = stages.get("article") or {}, identity.get("article") or {}
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


def _figures(totals: Row, found: Sequence[TierFound]) -> tuple[tuple[str, str], ...]:
    reached = max((hop for hop, (_, written, _) in totals["hops"].items() if written), default=0)
    figures = [
        ("articles", f"{totals['articles']:,}"),
        ("entities found", f"{totals['entities']:,}"),
        ("words", f"{totals['words']:,}"),
        ("links", f"{totals['links']:,}"),
        ("other names", f"{totals['aliases']:,}"),
        ("hops from the seed", f"{reached:,}"),
    ]
    several = len({row.audit for row in found}) > 1
    for row in found:
        if (true := row.shares["true"]) is not None:
            figures.append((f"of claims true by {row.tier}{f' ({row.audit})' if several else ''}", f"{true:.0%}"))
    return tuple(figures)


def _funnel(run: SiteRun, totals: Row) -> tuple[Bar, ...]:
    """Links, names, and what is left of them after each reason to drop one; each name has one fate."""
    fates: Counter[str] = Counter()
    for manifest in run.run.manifests[: totals["waves"]]:
        counts = manifest.facts.get("counts") or {}
        if counts.get("subjects"):  # the first commit holds the seeds, which nothing links
            fates.update(counts.get("fates") or {})
    left = fates.total()
    if not left:
        return ()
    widest = max(totals["links"], left)
    bars = [Bar("links in the articles", totals["links"], _percent(totals["links"], widest))] if totals["links"] else []
    bars.append(Bar("different names in an article", left, _percent(left, widest)))
    for label, drops in _STEPS:
        lost = sum(fates[fate] for fate in drops)
        left -= lost
        bars.append(Bar(label, left, _percent(left, widest), lost))
    return tuple(bars)


def _hops(totals: Row) -> tuple[HopBar, ...]:
    widest = max((entities for entities, _, _ in totals["hops"].values()), default=0)
    return tuple(
        HopBar(hop, entities, written, _percent(entities, widest), _percent(written, widest))
        for hop, (entities, written, _) in sorted(totals["hops"].items())
    )


def _audited(run: SiteRun) -> tuple[tuple[TierFound, ...], list[str]]:
    found, notes = list[TierFound](), list[str]()
    for audit in run.site_audits:
        try:
            scores = article_scores(audit_data(audit.run))
        except InputError as e:
            notes.append(str(e))
            continue
        for tier in TIERS:
            rows = [row for row in scores if row["tier"] == tier and row["true"] is not None]
            if rows:
                found.append(_tier_found(audit.name, tier, rows))
    return tuple(found), notes


def _tier_found(audit: str, tier: str, rows: Sequence[Row]) -> TierFound:
    shares: dict[str, float | None] = {}
    for name in SHARES:
        known = [row[name] for row in rows if row[name] is not None]
        shares[name] = statistics.fmean(known) if known else None
    parts, at = [], 0.0
    for verdict, name in (("supported", "true"), ("insufficient", "unverifiable"), ("refuted", "false")):
        width = round(100 * (shares[name] or 0.0), 3)
        parts.append((verdict, round(at, 3), width))
        at += width
    return TierFound(audit, TIERS[tier], len(rows), shares, tuple(parts))


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 3) if whole else 0.0
