"""Verify, grade and perplexity."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field, model_validator

from llmpedia.audit.evidence import Evidence, Outcome, Source, Tier
from llmpedia.errors import InputError
from llmpedia.perplexity.scores import Question, QuestionScore
from llmpedia.probe.benchmark.grade import Response
from serving.dependencies import Parts
from serving.errors import RefusalError, documented
from serving.schemas import (
    Asked,
    ClaimVerdict,
    Contradicting,
    GradedAccount,
    GradedResponse,
    Scored,
    ScoredAnswer,
    ScoredItem,
    Verified,
)
from serving.settings import LimitsSection

PROBLEMS = documented(400, 401, 403, 413, 422, 501, 502, 503, 504)
_FOUND: dict[Tier, Outcome] = {"wikipedia": Outcome.FOUND, "web": Outcome.PAGES}
_TEXT = r"\S"  # something but white space


def add_verify(api: APIRouter, limits: LimitsSection, parts: Parts) -> None:
    """``POST /v1/verify``."""
    short = Field(max_length=limits.text_chars)
    text = Field(max_length=limits.text_chars, pattern=_TEXT)

    class EvidenceText(Asked):
        """One source: a title or a URL, and its text."""

        title: Annotated[str | None, short] = None
        url: Annotated[str | None, short] = None
        text: Annotated[str, Field(max_length=limits.evidence_chars)]

        @model_validator(mode="after")
        def _named(self) -> "EvidenceText":
            if not (self.title or "").strip() and not (self.url or "").strip():
                raise ValueError("title and url are both missing; name where the text comes from")
            return self

    class VerifyRequest(Asked):
        """Claims on a subject, and what they are judged by."""

        subject: Annotated[str, text]
        claims: Annotated[list[Annotated[str, text]], Field(min_length=1, max_length=limits.claims)]
        evidence: Annotated[list[EvidenceText], Field(min_length=1, max_length=limits.evidence)]
        tier: Tier = "wikipedia"

    @api.post("/v1/verify", summary="Verdicts on claims under evidence", responses=PROBLEMS, tags=["judge"])
    async def verify(body: VerifyRequest) -> Verified:
        judge = parts.require_judge()
        sources = [Source(e.url or "", e.title or "", None, "", None, "page", e.text) for e in body.evidence]
        evidence = Evidence(body.tier, body.subject, _FOUND[body.tier], tuple(sources))
        async with parts.judge_gate.held():
            rows = await judge.verify(body.subject, tuple(body.claims), evidence)
        parts.counts.results("/v1/verify", (row["verdict"] for row in rows))
        kept = ClaimVerdict.model_fields.keys() - {"claim"}
        verdicts = [
            ClaimVerdict(claim=body.claims[row["claim"]], **{k: row[k] for k in kept}) for row in rows
        ]
        return Verified(subject=body.subject, tier=body.tier, verdicts=verdicts)


def add_grade(api: APIRouter, limits: LimitsSection, parts: Parts) -> None:
    """``POST /v1/grade``."""
    text = Field(max_length=limits.text_chars, pattern=_TEXT)

    class GradeRequest(Asked):
        """A closed-book response, and the accounts that verified sources give."""

        question: Annotated[str, text]
        accounts: Annotated[list[Annotated[str, text]], Field(min_length=1, max_length=limits.accounts)]
        response: Annotated[str, Field(max_length=limits.text_chars)]

    @api.post("/v1/grade", summary="Which accounts a response covers", responses=PROBLEMS, tags=["judge"])
    async def grade(body: GradeRequest) -> GradedResponse:
        judge = parts.require_judge()
        try:
            response = Response(body.question, tuple(body.accounts), body.response)
        except InputError:
            rule = "accounts: each needs text of its own, and no two may be the same; correct them"
            raise RefusalError(422, "invalid_request", rule) from None
        async with parts.judge_gate.held():
            graded = await judge.grade(response)
        parts.counts.results("/v1/grade", [graded.outcome or "not_graded"])
        grading = graded.grading
        if grading is None:
            return GradedResponse(
                outcome=None,
                accounts=[],
                contradictions=[],
                error=graded.error,
                error_stage=graded.error_stage,
            )
        words = grading.evidence or ("",) * len(grading.covered)
        accounts = zip(body.accounts, grading.covered, words, strict=True)
        return GradedResponse(
            outcome=graded.outcome,
            accounts=[GradedAccount(account=a, covered=c, evidence=e) for a, c, e in accounts],
            contradictions=[Contradicting(**asdict(c)) for c in grading.contradictions],
            error=None,
            error_stage=None,
        )


def add_perplexity(api: APIRouter, limits: LimitsSection, parts: Parts) -> None:
    """``POST /v1/perplexity``."""

    class Item(Asked):
        """A question, and the answers to score after it."""

        question: Annotated[str, Field(max_length=limits.text_chars, pattern=_TEXT)]
        answers: Annotated[
            list[Annotated[str, Field(max_length=limits.text_chars)]],
            Field(min_length=1, max_length=limits.answers),
        ]

    class PerplexityRequest(Asked):
        """``per_token``: with each token's log-probability."""

        items: Annotated[list[Item], Field(min_length=1, max_length=limits.items)]
        per_token: bool = False

    @api.post(
        "/v1/perplexity", summary="Conditional answer perplexity", responses=PROBLEMS, tags=["perplexity"]
    )
    async def perplexity(body: PerplexityRequest) -> Scored:
        scorer = parts.require_scorer()
        async with parts.scorer_gate.held():
            scores = await scorer.score([Question(i.question, tuple(i.answers)) for i in body.items])
        parts.counts.results(
            "/v1/perplexity", ("not_scored" if a.error else "scored" for s in scores for a in s.answers)
        )
        return Scored(model=parts.model, items=[_item(score, body.per_token) for score in scores])


def _item(score: QuestionScore, per_token: bool) -> ScoredItem:
    fields = ScoredAnswer.model_fields.keys() - {"logprobs"}
    answers = [
        ScoredAnswer(
            **{k: getattr(a, k) for k in fields},
            logprobs=list(a.logprobs) if per_token and a.logprobs is not None else None,
        )
        for a in score.answers
    ]
    return ScoredItem(
        ppl=score.ppl, best_ppl=score.best_ppl, worst_ppl=score.worst_ppl, error=score.error, answers=answers
    )
