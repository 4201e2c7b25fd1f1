"""Claims of an article as a reader sees them: every verdict with its explanation, its source and
the passage it rests on.

An audit keeps a page whole; the passage shown is the one that bears most on the claim, found as the
judge's passages are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from llmpedia.site.data.audits import AuditOf, ClaimOf
from llmpedia.text.passages import cut_passages, rankings

Row = dict[str, Any]

WORDS = {
    "supported": "Supported",
    "refuted": "Refuted",
    "insufficient": "Not verifiable",
    "not_adjudicated": "Not judged",
}
TIERS = {"wikipedia": "Wikipedia", "web": "the web"}
OUTCOMES = {
    "found": "an article of this title",
    "redirected": "an article that this title leads to",
    "disambiguation": "only a list of meanings",
    "missing": "no such article",
    "invalid": "no article can have this title",
    "pages": "pages that tell of it",
    "snippets": "only snippets of a search",
    "nothing": "nothing that can be used",
    "fetch_failed": "it could not be looked up",
}
_WORST_FIRST = ("refuted", "supported", "insufficient", "not_adjudicated")
_PASSAGE_WORDS = 60
_PASSAGE_CHARS = 600
_MOST_CHARS = 400_000  # of one source; what comes later is not searched for a passage


@dataclass(frozen=True)
class ShownPassage:
    """``href`` is null where the address is none that a link may lead to. ``text`` is null where no
    word agrees, and where the source's text is ``left_out``.
    """

    title: str
    href: str | None
    url: str
    revision: str | None
    fetched_at: str
    text: str | None
    left_out: bool


@dataclass(frozen=True)
class Ruling:
    """A verdict of one tier. ``outcome``: what looking for evidence came to."""

    tier: str
    verdict: str
    word: str
    explanation: str | None
    reason: str | None
    error_type: str | None
    confidence: float | None
    coerced: bool
    outcome: str | None
    completion: str | None
    passages: tuple[ShownPassage, ...]


@dataclass(frozen=True)
class ShownClaim:
    """``number`` counts the claims of all audits of the article from 1; ``verdict`` is that of all
    tiers together.
    """

    number: int
    audit: str
    text: str
    verdict: str
    word: str
    rulings: tuple[Ruling, ...]


@dataclass(frozen=True)
class CheckedClaim:
    """What one audit says of the article. ``error``: why there are no claims; ``evidence``: a line
    a tier.
    """

    audit: str
    error: str | None
    evidence: tuple[str, ...]
    claims: tuple[ShownClaim, ...]


def checked(audits: Sequence[AuditOf]) -> list[CheckedClaim]:
    """All that audits say of an article, its claims numbered through."""
    views: list[CheckedClaim] = []
    number = 0
    for audit in audits:
        claims = _claims(audit, number)
        number += len(claims)
        lines = tuple(
            f"Looked for on {_tier(row['tier'])}: {OUTCOMES.get(row['outcome'], row['outcome'])}"
            + (f" ({row['detail']})" if row["detail"] else "")
            for row in audit.evidence
        )
        views.append(CheckedClaim(audit.audit, audit.row["claims_error"], lines, claims))
    return views


def together(verdicts: Iterable[str]) -> str:
    """One verdict of several tiers: refuted by any, else supported by any, else whatever was said
    at all.
    """
    labels = set(verdicts)
    return next((verdict for verdict in _WORST_FIRST if verdict in labels), "not_adjudicated")


def _claims(audit: AuditOf, before: int) -> tuple[ShownClaim, ...]:
    texts = [claim.text for claim in audit.claims]
    passages = {
        row["tier"]: [_passages(source, texts) for source in row["sources"] or ()] for row in audit.evidence
    }
    outcomes = {row["tier"]: row["outcome"] for row in audit.evidence}
    return tuple(
        _claim(audit.audit, before, n, claim, passages, outcomes) for n, claim in enumerate(audit.claims)
    )


def _claim(
    audit: str,
    before: int,
    n: int,
    claim: ClaimOf,
    passages: dict[str, list[list[ShownPassage]]],
    outcomes: dict[str, str],
) -> ShownClaim:
    rulings = tuple(
        _ruling(row, n, passages.get(row["tier"], []), outcomes.get(row["tier"])) for row in claim.verdicts
    )
    verdict = together(ruling.verdict for ruling in rulings)
    return ShownClaim(before + n + 1, audit, claim.text, verdict, WORDS[verdict], rulings)


def _ruling(row: Row, n: int, passages: list[list[ShownPassage]], outcome: str | None) -> Ruling:
    shown = tuple(passage for source in passages if (passage := source[n]).text is not None)
    return Ruling(
        tier=_tier(row["tier"]),
        verdict=row["verdict"],
        word=WORDS.get(row["verdict"], str(row["verdict"])),
        explanation=row["explanation"],
        reason=row["reason"],
        error_type=row["error_type"] and row["error_type"].replace("_", " "),
        confidence=row["confidence"],
        coerced=bool(row["coerced"]),
        outcome=outcome and OUTCOMES.get(outcome, outcome),
        completion=row["completion"],
        passages=shown or tuple(source[n] for source in passages),
    )


def _passages(source: Row, claims: Sequence[str]) -> list[ShownPassage]:
    """For each claim, this source with the passage that bears most on it."""
    pieces = [
        p.text.strip()
        for p in cut_passages((source["text"] or "")[:_MOST_CHARS], _PASSAGE_WORDS, _PASSAGE_CHARS)
    ]
    return [_passage(source, pieces[ranked[0]] if ranked else None) for ranked in rankings(pieces, claims)]


def _passage(source: Row, text: str | None) -> ShownPassage:
    url = source["url"] or ""
    provenance = (source["revision"], source["fetched_at"] or "")
    return ShownPassage(
        source["title"] or url, safe_link(url), url, *provenance, text, source["text"] is None
    )


def safe_link(url: str) -> str | None:
    """The address if it leads to a page of the web, and to nothing else."""
    try:
        parts = urlsplit(url)
    except ValueError:  # such as a bracket that is never closed
        return None
    return url if parts.scheme in ("http", "https") and parts.netloc else None


def _tier(tier: str) -> str:
    return TIERS.get(tier, tier)
