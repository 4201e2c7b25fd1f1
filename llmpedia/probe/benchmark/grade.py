"""One closed-book response against the verified accounts of its question (ElephantBench paper,
section 3.4 and figure 12(b)).

The judge decides account by account and lists contradictions; complete, partial or failed is
computed from that and never read from its words. Who could not be graded is no failure of memory:
it has an error and no outcome.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from llmpedia.errors import InputError
from llmpedia.probe.questions import account_keys
from llmpedia.probe.settings.base import ProbeConfig
from llmpedia.prompts import load_prompt
from llmpedia.stages import (
    AnswerError,
    Completer,
    Completion,
    Constraint,
    Pairs,
    Request,
    Stage,
    ask,
    neutral,
    object_schema,
    one_line,
    parse_only_object,
    without_thought,
)

Outcome = Literal["complete", "partial", "failed"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
"""From the best to the worst."""
_MOST_CONTRADICTIONS = (
    8  # of a response of three sentences; keeps a judge under a grammar from listing for ever
)


@dataclass(frozen=True)
class Response:
    """What a model answered to a question, and the accounts that verified sources give.

    Raises:
        InputError: no account, one without text, or two that are the same.
    """

    question: str
    accounts: tuple[str, ...]
    text: str

    def __post_init__(self) -> None:
        rule = (
            "a response is graded against one account or more, each with text of its own; "
            "correct the question"
        )
        if not self.accounts or not all(map(_folded, self.accounts)):
            raise InputError(f"accounts = {list(self.accounts)}: {rule}")
        if len(set(map(_folded, self.accounts))) < len(self.accounts):
            raise InputError(f"accounts = {list(self.accounts)}: two are the same; {rule}")


@dataclass(frozen=True)
class Contradiction:
    """A value outside of the accounts that the response puts forward as the answer."""

    value: str
    why: str


@dataclass(frozen=True)
class Grading:
    """A judge's decisions. ``covered`` and ``evidence`` (the judge's words for it, empty without a
    judge) are by account.
    """

    covered: tuple[bool, ...]
    contradictions: tuple[Contradiction, ...] = ()
    evidence: tuple[str, ...] = ()


def outcome(grading: Grading) -> Outcome:
    """What the decisions come to: a contradiction or no account covered fails, all covered is
    complete, else partial.
    """
    if grading.contradictions or not any(grading.covered):
        return "failed"
    return "complete" if all(grading.covered) else "partial"


class Grade(Stage[Response, Grading]):
    """One decision an account, keyed by its number from 1, so that none can be left out, and the
    contradictions.
    """

    name = "grade"
    config: ProbeConfig

    def __init__(self, config: ProbeConfig) -> None:
        super().__init__(config, load_prompt("probe/grade"), "")

    def values(self, question: Response) -> dict[str, str]:
        """See :class:`Stage`."""
        return {
            "question": neutral(one_line(question.question)),
            "accounts_block": account_keys.listed(question.accounts),
            "response_block": neutral(question.text),
            "count": str(len(question.accounts)),
        }

    def constraint(self, question: Response) -> Constraint:
        """See :class:`Stage`."""
        short = {"type": "string", "maxLength": 300}
        decision = object_schema({"evidence": short, "covered": {"type": "boolean"}})
        contradiction = object_schema({"value": {**short, "minLength": 1}, "why": short})
        listed = {"type": "array", "items": contradiction, "maxItems": _MOST_CONTRADICTIONS}
        decisions = object_schema(dict.fromkeys(account_keys.keys(question.accounts), decision))
        return Constraint(json_schema=object_schema({"accounts": decisions, "contradictions": listed}))

    def parse(self, question: Response, text: str) -> Grading:
        """The decisions, where there is exactly one on each account. Whatever else the answer says,
        a mark say, is not read.
        """
        answer = parse_only_object(text)
        decisions = answer.get("accounts")
        listed = answer.get("contradictions")
        if (
            not isinstance(decisions, Pairs)
            or not isinstance(listed, list)
            or len(answer.pairs) > len(answer)
        ):
            raise AnswerError('the answer is not {"accounts": {...}, "contradictions": [...]}, each once')
        rows = account_keys.decisions(decisions, question.accounts)
        accounts = set(map(_folded, question.accounts))
        return Grading(
            covered=tuple(_covered(number, row) for number, row in enumerate(rows, 1)),
            contradictions=tuple(_contradiction(row, accounts) for row in listed),
            evidence=tuple(_said(row, "evidence") for row in rows),
        )


@dataclass(frozen=True)
class Graded:
    """What became of a response: decisions, or why there are none.

    ``error_stage``: ``closed_book`` where the response is none that could be graded, ``grade``
    where the judge failed.
    ``completions``: all that were asked of the judge, in order; none where no judge was needed.
    """

    grading: Grading | None = None
    error: str | None = None
    error_stage: str | None = None
    completions: list[tuple[Request, Completion]] = field(default_factory=list)

    @property
    def outcome(self) -> Outcome | None:
        """Complete, partial or failed; None: not graded."""
        return None if self.grading is None else outcome(self.grading)


async def grade(client: Completer, stage: Grade, response: Response) -> Graded:
    """Grade one response by what follows its ``<think>`` block; failures of response and judge are
    values.

    Where nothing follows, nothing is covered, and no judge is asked. A refusal is text like any
    other and goes to the judge.
    """
    try:
        text = without_thought(response.text)
    except AnswerError as e:
        return Graded(error=str(e), error_stage="closed_book")
    if not text:
        return Graded(Grading((False,) * len(response.accounts)))
    reply = await ask(client, stage, replace(response, text=text))
    failed = stage.name if reply.value is None else None
    return Graded(reply.value, reply.error, failed, reply.completions)


def _folded(text: str) -> str:
    return one_line(text).casefold()


def _covered(number: int, row: Any) -> bool:
    """The decision, where it is a true boolean and the only one ("true" as text is no decision)."""
    covered = row.get("covered") if isinstance(row, Pairs) and len(row.pairs) == len(row) else None
    if not isinstance(covered, bool):
        raise AnswerError(
            f'account {number} has no decision; {{"evidence": "...", "covered": true or false}} is asked for'
        )
    return covered


def _contradiction(row: Any, accounts: set[str]) -> Contradiction:
    value = _said(row, "value")
    if not value:
        raise AnswerError('a contradiction is not {"value": "...", "why": "..."} with a value')
    if _folded(value) in accounts:
        raise AnswerError(f"{value!r} is an account and cannot be a contradiction")
    return Contradiction(value, _said(row, "why"))


def _said(row: Any, key: str) -> str:
    """The text under a key in one line, empty where there is none."""
    text = row.get(key) if isinstance(row, Pairs) else None
    return one_line(text) if isinstance(text, str) else ""
