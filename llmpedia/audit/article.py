"""One article through an audit: claims out of it, evidence by its subject's name alone, verdicts
tier by tier.

Evidence is looked for whatever the claims are, so that the article cannot shape it (paper, section
4.2, stage 2), and whether or not there are claims, so that coverage is known of every sampled
subject.
"""

import asyncio
from dataclasses import asdict, dataclass, field
from typing import Any

from llmpedia.audit.evidence import USABLE, Evidence, Outcome, Tier
from llmpedia.audit.settings import AuditConfig, JudgingConfig
from llmpedia.audit.stages import NOT_ADJUDICATED, Case, ExtractClaims, Judge, Verdict, WrittenArticle
from llmpedia.engines.preflight import Need
from llmpedia.prompts import load_prompt
from llmpedia.stages import Completer, Completion, Reply, Request, ask, completion_row
from llmpedia.text.passages import render_passages, select_passages
from llmpedia.wikitext import Article

Row = dict[str, Any]
# Of a claim, for a first check that its verdict fits the judge's context.
_CHARS_A_CLAIM = 200


@dataclass(frozen=True)
class AuditItem:
    """A sampled article."""

    subject_id: int
    name: str
    wikitext: str


@dataclass(frozen=True)
class AuditStages:
    """The stages of an audit."""

    claims: ExtractClaims
    judge: Judge

    @classmethod
    def of(cls, config: AuditConfig) -> "AuditStages":
        """With the audit's settings."""
        return cls(ExtractClaims(config), Judge(config))


@dataclass(frozen=True)
class AuditHelpers:
    """Who answers: ``judge`` the stages' requests, ``evidence`` a tier's look-ups; ``providers``
    names what answers them.
    """

    judge: Completer
    evidence: dict[Tier, Completer]
    providers: dict[Tier, str]


@dataclass
class Audited:
    """What became of an item; plain data but for ``completions``."""

    item: AuditItem
    words: int = 0
    claims: tuple[str, ...] | None = None
    claims_error: str | None = None
    claims_completion: str | None = None
    evidence: list[Row] = field(default_factory=list)
    verdicts: list[Row] = field(default_factory=list)
    completions: list[tuple[Request, Completion]] = field(default_factory=list)

    def dump(self) -> Row:
        """For its way to the driver."""
        rows = [completion_row(self.item.subject_id, r, c) for r, c in self.completions]
        return {
            "words": self.words,
            "claims": self.claims,
            "claims_error": self.claims_error,
            "claims_completion": self.claims_completion,
            "evidence": self.evidence,
            "verdicts": self.verdicts,
            "completions": rows,
        }


async def audit_article(
    item: AuditItem, config: AuditConfig, stages: AuditStages, helpers: AuditHelpers
) -> Audited:
    """Take one article through; failures of judge and network are values."""
    audited = Audited(item)
    article = Article(item.wikitext)
    audited.words = article.words
    claims, tier_evidence = await asyncio.gather(
        ask(helpers.judge, stages.claims, WrittenArticle(item.name, article.text)),
        asyncio.gather(*(look_up(tier, item.name, helpers) for tier in config.audit.tiers)),
    )
    audited.completions += claims.completions
    audited.claims = claims.value
    audited.claims_error = claims.error
    audited.claims_completion = claims.key
    for evidence in tier_evidence:
        audited.evidence.append(evidence_row(item.subject_id, evidence, helpers.providers[evidence.tier]))
    usable = [e for e in tier_evidence if e.outcome in USABLE]
    if audited.claims is not None:
        judged = await asyncio.gather(
            *(judge(item.name, audited.claims, e, stages.judge, helpers.judge) for e in usable)
        )
        for rows, replies in judged:
            audited.verdicts += rows
            for reply in replies:
                audited.completions += reply.completions
    return audited


async def look_up(tier: Tier, subject: str, helpers: AuditHelpers) -> Evidence:
    """A tier's evidence on a subject; a look-up that failed for good is ``fetch_failed``, never
    "not there".
    """
    completion = await helpers.evidence[tier].complete(
        evidence_request(tier, helpers.providers[tier], subject)
    )
    if completion.error is not None:
        return Evidence(tier, subject, Outcome.FETCH_FAILED, detail=completion.error)
    return Evidence.loads(completion.text)


def evidence_request(tier: Tier, provider: str, subject: str) -> Request:
    """A look-up as a request like any other, so that it shares retries, cap and journal with
    completions.
    """
    return Request(f"evidence_{tier}", provider, (("subject", subject),), None, "{}")


def evidence_row(subject_id: int, evidence: Evidence, provider: str) -> Row:
    """A row of the evidence table."""
    data = asdict(evidence)
    del data["subject"]
    return {"subject_id": subject_id, "provider": provider, **data, "outcome": str(evidence.outcome)}


async def judge(
    name: str, claims: tuple[str, ...], evidence: Evidence, stage: Judge, client: Completer
) -> tuple[list[Row], list[Reply[Any]]]:
    """A verdict row a claim, and the replies they came from. What the judge leaves out is asked
    once more.
    """
    text = shown(evidence, claims, stage.config)
    source = source_line(evidence)
    first = await ask(client, stage, Case(name, claims, source, text))
    rows = [_row(n, evidence.tier, (first.value or {}).get(n), first) for n in range(len(claims))]
    left = [n for n, row in enumerate(rows) if row["verdict"] == NOT_ADJUDICATED]
    if first.value is None or not left:
        return rows, [first]
    again = await ask(client, stage, Case(name, tuple(claims[n] for n in left), source, text))
    for place, n in enumerate(left):
        rows[n] = _row(n, evidence.tier, (again.value or {}).get(place), again)
    return rows, [first, again]


def shown(evidence: Evidence, claims: tuple[str, ...], config: JudgingConfig) -> str:
    """The evidence as the judge reads it: whole where it fits, else the passages that bear on the
    claims, from all of it.
    """
    texts = [
        source.text if len(evidence.sources) == 1 else f"{source.title}\n{source.text}"
        for source in evidence.sources
    ]
    budget = config.audit.evidence_chars
    words = config.audit.passage_words
    return render_passages(select_passages("\n\n".join(texts), list(claims), budget, words))


def verdict_need(config: JudgingConfig, claims: int) -> Need:
    """What a verdict on so many claims takes of the judge's context."""
    chars = config.audit.evidence_chars + claims * _CHARS_A_CLAIM + len(load_prompt("audit/verdict").system)
    return Need("verdict", chars, config.stage("verdict").max_tokens or 0)


def source_line(evidence: Evidence) -> str:
    """Where the evidence comes from, in words."""
    kind = "Wikipedia" if evidence.tier == "wikipedia" else "Web"
    return f"{kind}: {', '.join(source.title or source.url for source in evidence.sources)}"


def _row(number: int, tier: Tier, verdict: Verdict | None, reply: Reply[Any]) -> Row:
    """``claim`` is the claim's number in its article until the commit gives it an id."""
    return {
        "claim": number,
        "tier": tier,
        "verdict": verdict.label if verdict else NOT_ADJUDICATED,
        "error_type": str(verdict.error_type) if verdict and verdict.error_type else None,
        "confidence": verdict.confidence if verdict else None,
        "explanation": verdict.explanation if verdict else None,
        "coerced": verdict.coerced if verdict else False,
        "reason": None
        if verdict
        else f"judge: {reply.error or 'left out, decided both ways, or no verdict that was offered'}",
        "completion": reply.key,
    }
