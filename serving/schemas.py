"""What the routes answer. What they are asked is beside each route, since its limits are those of
the settings.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from llmpedia.audit.evidence import Tier
from llmpedia.audit.stages import ErrorType
from llmpedia.config.walk import StageName
from llmpedia.probe.benchmark.grade import Outcome


class Asked(BaseModel):
    """Base of request bodies: no unknown keys, no silent conversion, and no error that repeats what
    was sent.
    """

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True, allow_inf_nan=False)


class Told(BaseModel):
    """Base of answers."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class ClaimVerdict(Told):
    """One claim. ``verdict`` not_adjudicated: the judge failed, which ``reason`` tells, and nothing
    follows for the claim.

    ``coerced``: the judge said refuted, but explained it by the evidence's silence.
    """

    claim: str
    verdict: Literal["supported", "refuted", "insufficient", "not_adjudicated"]
    error_type: ErrorType | None
    confidence: Annotated[float, Field(ge=0, le=1)] | None
    explanation: str | None
    coerced: bool
    reason: str | None


class Verified(Told):
    """A verdict a claim, in order."""

    subject: str
    tier: Tier
    verdicts: list[ClaimVerdict]


class GradedAccount(Told):
    """One account. ``evidence``: the judge's words for its decision."""

    account: str
    covered: bool
    evidence: str


class Contradicting(Told):
    """A value outside of the accounts that the response puts forward as the answer."""

    value: str
    why: str


class GradedResponse(Told):
    """``outcome`` null: not graded, ``error`` tells why: the response is none (closed_book), or the
    judge failed (grade).
    """

    outcome: Outcome | None
    accounts: list[GradedAccount]
    contradictions: list[Contradicting]
    error: str | None
    error_stage: StageName | None


class ScoredAnswer(Told):
    """One answer. Natural logarithms; ``nll`` is their mean over the answer's tokens. ``error``
    set: not scored, numbers null.
    """

    context_tokens: int | None
    tokens: int | None
    bytes: int | None
    total_nll: float | None
    nll: float | None
    ppl: float | None
    bits_per_byte: float | None
    boundary_merge: bool | None
    logprobs: list[float] | None
    error: str | None


class ScoredItem(Told):
    """One question: ``ppl`` is the exponential of the mean of its answers' ``nll``; null unless
    every answer was scored.
    """

    ppl: float | None
    best_ppl: float | None
    worst_ppl: float | None
    error: str | None
    answers: list[ScoredAnswer]


class Scored(Told):
    """An item a question, in order. ``model``: as the settings name it."""

    model: str | None
    items: list[ScoredItem]


class Ready(Told):
    """``reasons``: part to why it would not answer now; empty where all would."""

    ready: bool
    reasons: dict[str, str]
