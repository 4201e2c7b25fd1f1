"""From log-probabilities to numbers: one account, and the question it belongs to
(docs/design/overview.md, section 6, ElephantBench appendix J).

All logarithms are natural. ``nll`` is a mean over the answer's tokens, ``ppl`` its exponential; a
question's ``ppl`` is the exponential of the mean of its accounts' ``nll``, so that each account
weighs the same whatever its length.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

_LOWEST = -700.0  # its exponential is still a float
_ROUNDING = 1e-6


class ErrorKind(StrEnum):
    """Why an item or an answer has no score. Stored in front of the words, as ``kind: words``."""

    ITEM = "item"
    EMPTY_ANSWER = "empty_answer"
    EMPTY_CONTEXT = "empty_context"
    OVERLENGTH = "overlength"
    SCORER = "scorer"

    def message(self, words: str) -> str:
        """The error as it is stored."""
        return f"{self}: {words}"


def kind_of(error: str) -> str:
    """The kind that a stored error begins with."""
    return error.partition(":")[0]


@dataclass(frozen=True)
class Question:
    """A question and the answers that are scored after it."""

    question: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class AnswerScore:
    """One account. ``error`` set: it was not scored, and the numbers are null.

    ``bytes``: of the answer in UTF-8. ``boundary_merge``: the tokenizer would join prompt and
    answer in one token, so the answer was tokenized alone. ``context_tokens``: tokens before the
    answer. ``key``: of model, precision, context and answer.
    """

    context_tokens: int | None = None
    tokens: int | None = None
    bytes: int | None = None
    total_nll: float | None = None
    nll: float | None = None
    ppl: float | None = None
    bits_per_byte: float | None = None
    boundary_merge: bool | None = None
    logprobs: tuple[float, ...] | None = None
    key: str | None = None
    error: str | None = None


@dataclass(frozen=True)
class QuestionScore:
    """A question over its accounts; null numbers and an ``error`` unless every account was scored."""

    answers: tuple[AnswerScore, ...]
    ppl: float | None
    best_ppl: float | None
    worst_ppl: float | None
    error: str | None


def score_answer(
    answer: str, context_tokens: int, merged: bool, logprobs: Sequence[float], key: str
) -> AnswerScore:
    """The account's numbers from its tokens' log-probabilities; what cannot be one is an error."""
    counts = {"context_tokens": context_tokens, "tokens": len(logprobs), "boundary_merge": merged, "key": key}
    size = len(answer.encode())
    if not all(_LOWEST < p <= _ROUNDING for p in logprobs):
        error = ErrorKind.SCORER.message(
            "a log-probability is above 0, not finite or below any that a model gives"
        )
        return AnswerScore(**counts, bytes=size, error=error)  # type: ignore[arg-type]
    total = -math.fsum(logprobs)
    nll = total / len(logprobs)
    return AnswerScore(
        **counts,  # type: ignore[arg-type]
        bytes=size,
        total_nll=total,
        nll=nll,
        ppl=math.exp(nll),
        bits_per_byte=total / math.log(2) / size,
        logprobs=tuple(logprobs),
    )


def score_question(answers: Sequence[AnswerScore]) -> QuestionScore:
    """The question's numbers from its accounts'."""
    nlls = [a.nll for a in answers if a.nll is not None]
    if not answers:
        return QuestionScore((), None, None, None, "no answers")
    if len(nlls) < len(answers):
        failed = f"{len(answers) - len(nlls)} of {len(answers)} answers not scored"
        return QuestionScore(tuple(answers), None, None, None, failed)
    mean = math.fsum(nlls) / len(nlls)
    return QuestionScore(tuple(answers), math.exp(mean), math.exp(min(nlls)), math.exp(max(nlls)), None)
