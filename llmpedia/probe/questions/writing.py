"""Two questions on a conflict: one that names its subject and one that describes it (ElephantBench
paper, section 3.3).

Whatever the writer says is checked against the accounts and their documents; a subgraph that makes
no good question is an answer too (``keep`` false).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from llmpedia.entities.keys import canonical_key
from llmpedia.errors import InputError
from llmpedia.probe.documents import held
from llmpedia.probe.questions.answer_leakage import leak, same_value, says, shares
from llmpedia.probe.settings.build import BuildConfig
from llmpedia.prompts import load_prompt
from llmpedia.stages import (
    AnswerError,
    Constraint,
    Pairs,
    Stage,
    neutral,
    object_schema,
    one_line,
    parse_only_object,
)

LONGEST_QUESTION = 400  # characters
LONGEST_ANSWER = 200
FORMULATIONS = ("named_entity", "clue_based")


@dataclass(frozen=True)
class Conflict:
    """A fact and what sources say of it. ``accounts``: (value, its documents as (number, text)),
    each document once.

    Raises:
        InputError: fewer than two accounts, one without a document, or a document of two of them.
    """

    subject: str
    attribute: str
    accounts: tuple[tuple[str, tuple[tuple[int, str], ...]], ...]

    def __post_init__(self) -> None:
        numbers = [n for _, documents in self.accounts for n, _ in documents]
        if (
            len(self.accounts) < 2
            or not all(documents for _, documents in self.accounts)
            or len(set(numbers)) < len(numbers)
        ):
            rule = "a conflict has two accounts or more, each with documents of its own; correct the subgraph"
            raise InputError(f"accounts = {[[v, [n for n, _ in d]] for v, d in self.accounts]}: {rule}")

    @cached_property
    def account_of(self) -> dict[int, int]:
        """Number of a document -> place of its account, from 0."""
        return {n: place for place, (_, documents) in enumerate(self.accounts) for n, _ in documents}

    @cached_property
    def texts(self) -> dict[int, str]:
        """Number of a document -> its text."""
        return {n: text for _, documents in self.accounts for n, text in documents}


@dataclass(frozen=True)
class Answer:
    """An account as the question's answer, with the documents that give it and verbatim words of
    them.
    """

    value: str
    documents: tuple[int, ...]
    spans: tuple[str, ...]


@dataclass(frozen=True)
class WriterAnswer:
    """Two questions with their answers, in the order of the accounts; or why there are none
    (``keep`` false).
    """

    keep: bool
    reason: str
    named_entity: str = ""
    clue_based: str = ""
    answers: tuple[Answer, ...] = ()
    preferred_answer: str = ""


class WriteQuestions(Stage[Conflict, WriterAnswer]):
    """Both questions in one answer, so that they ask for the same fact."""

    name = "questions"
    config: BuildConfig

    def __init__(self, config: BuildConfig) -> None:
        super().__init__(config, load_prompt("probe/questions"), "")

    def values(self, question: Conflict) -> dict[str, str]:
        """See :class:`Stage`."""
        shown = [
            f"<document {number}, account {place}>\n{neutral(text)}\n</document>"
            for place, (_, documents) in enumerate(question.accounts, 1)
            for number, text in documents
        ]
        return {
            "subject_name": neutral(one_line(question.subject)),
            "attribute": neutral(one_line(question.attribute)),
            "accounts_block": "\n".join(
                f"{i}. {neutral(one_line(v))}" for i, (v, _) in enumerate(question.accounts, 1)
            ),
            "documents_block": "\n".join(shown),
        }

    def constraint(self, question: Conflict) -> Constraint:
        """See :class:`Stage`."""
        text = {"type": "string", "maxLength": LONGEST_QUESTION}
        answer = {
            "value": {"type": "string", "minLength": 1, "maxLength": LONGEST_ANSWER},
            "documents": {
                "type": "array",
                "items": {"type": "integer", "enum": list(question.texts)},
                "minItems": 1,
            },
            "spans": {
                "type": "array",
                "items": {**text, "minLength": 1},
                "minItems": 1,
                "maxItems": len(question.texts),
            },
        }
        answer["documents"]["maxItems"] = len(question.texts)
        answers = {"type": "array", "items": object_schema(answer), "maxItems": len(question.accounts)}
        forms = dict.fromkeys(FORMULATIONS, text)
        whole = {
            "keep": {"type": "boolean"},
            "reason": text,
            **forms,
            "answers": answers,
            "preferred_answer": text,
        }
        return Constraint(json_schema=object_schema(whole))

    def parse(self, question: Conflict, text: str) -> WriterAnswer:
        """The questions, where every check holds; each failure says what to mend."""
        answer = parse_only_object(text)
        if len(answer.pairs) > len(answer):
            raise AnswerError("the answer says a thing twice; give each key once")
        keep = answer.get("keep")
        reason = _text(answer, "reason")
        if not isinstance(keep, bool):
            raise AnswerError(f"keep = {keep!r} is no decision; give true or false")
        if not keep:
            if not reason:
                raise AnswerError("keep is false without a reason; say why no question can be made")
            return WriterAnswer(False, reason)
        named = _question(answer, "named_entity")
        clue = _question(answer, "clue_based")
        answers = _answers(answer.get("answers"), question)
        preferred = next(
            (a.value for a in answers if same_value(a.value, _text(answer, "preferred_answer"))), None
        )
        if preferred is None:
            raise AnswerError("preferred_answer is none of the answers; repeat the value of one of them")
        _check_questions(named, clue, question.subject, [a.value for a in answers])
        return WriterAnswer(True, reason, named, clue, answers, preferred)


def _text(row: Any, key: str) -> str:
    """The text under a key in one line, empty where there is none."""
    text = row.get(key) if isinstance(row, Pairs) else None
    return one_line(text) if isinstance(text, str) else ""


def _question(answer: Pairs, key: str) -> str:
    """A question in one line that is one."""
    asked = answer.get(key)
    if not isinstance(asked, str) or not asked.strip():
        raise AnswerError(f"{key} is missing; both questions are asked for where keep is true")
    asked = asked.strip()
    if "\n" in asked or "\r" in asked:
        raise AnswerError(f"{key} has more than one line; write it as one sentence")
    if not asked.endswith(("?", "？", "؟")):
        raise AnswerError(f"{key} does not end in a question mark; ask for the value")
    if len(asked) > LONGEST_QUESTION:
        raise AnswerError(f"{key} has {len(asked)} characters; write at most {LONGEST_QUESTION}")
    return asked


def _answers(rows: Any, conflict: Conflict) -> tuple[Answer, ...]:
    """One answer an account, in the order of the accounts."""
    if not isinstance(rows, list) or not rows:
        raise AnswerError('answers is not [{"value": "...", "documents": [1], "spans": ["..."]}, ...]')
    answers: dict[int, Answer] = {}
    for row in rows:
        answer = _answer(row, conflict)
        places = {conflict.account_of[n] for n in answer.documents}
        if len(places) > 1:
            raise AnswerError(
                f"answer {answer.value!r} names documents of several accounts; give each account "
                f"its own answer"
            )
        place = places.pop()
        if place in answers:
            raise AnswerError(f"account {place + 1} has two answers; give each account one")
        _check_source(answer, place, conflict)
        answers[place] = answer
    left = [str(place + 1) for place in range(len(conflict.accounts)) if place not in answers]
    if left:
        raise AnswerError(
            f"no answer for account {', '.join(left)}; every account must be among the answers, or "
            f"keep be false"
        )
    for a, b in combinations(answers.values(), 2):
        if same_value(a.value, b.value):
            raise AnswerError(
                f"answers {a.value!r} and {b.value!r} are one value; write what tells them apart, "
                f"or set keep to false"
            )
    return tuple(answers[place] for place in sorted(answers))


def _answer(row: Any, conflict: Conflict) -> Answer:
    """An answer with documents that were shown and words that stand in one of them."""
    value = _text(row, "value")
    documents = _listed(row, "documents", int)
    spans = _listed(row, "spans", str)
    if not value or (isinstance(row, Pairs) and len(row.pairs) > len(row)):
        raise AnswerError("an answer has no value, or a key twice")
    if len(value) > LONGEST_ANSWER:
        raise AnswerError(
            f"an answer has {len(value)} characters; write the value alone, in at most {LONGEST_ANSWER}"
        )
    if not documents or not spans:
        raise AnswerError(f"answer {value!r} needs documents (their numbers) and spans (their words)")
    strange = [n for n in documents if n not in conflict.texts]
    if strange:
        raise AnswerError(
            f"document {strange[0]} of answer {value!r} was not shown; give {_numbers(conflict.texts)}"
        )
    for span in spans:
        if not any(held(span, conflict.texts[n]) for n in documents):
            raise AnswerError(
                f"span {one_line(span)!r} stands in none of the documents of answer {value!r}; "
                f"copy exact words"
            )
    return Answer(value, tuple(sorted(set(documents))), tuple(dict.fromkeys(map(one_line, spans))))


def _listed(row: Any, key: str, kind: type) -> list[Any]:
    """The list under a key; empty where it is none, or holds anything else."""
    rows = row.get(key) if isinstance(row, Pairs) else None
    right = isinstance(rows, list) and all(isinstance(r, kind) and not isinstance(r, bool) for r in rows)
    return list(rows) if right and isinstance(rows, list) else []


def _numbers(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def _check_source(answer: Answer, place: int, conflict: Conflict) -> None:
    """Raise where the value is neither the account's nor in the words copied for it."""
    given = conflict.accounts[place][0]
    if not any(shares(answer.value, source) for source in (given, *answer.spans)):
        raise AnswerError(
            f"answer {answer.value!r} is neither account {place + 1} ({one_line(given)!r}) nor in its spans"
        )


def _check_questions(named: str, clue: str, subject: str, answers: list[str]) -> None:
    """Raise unless the two differ, name or hide the subject as they should, and give no answer
    away.
    """
    if canonical_key(named) == canonical_key(clue):
        raise AnswerError("both questions are the same; describe the subject in clue_based without its name")
    if says(clue, subject):
        raise AnswerError(f"clue_based names {one_line(subject)!r}; describe it without its name")
    if not shares(subject, named):
        raise AnswerError(f"named_entity does not name {one_line(subject)!r}; name it")
    for form, asked in zip(FORMULATIONS, (named, clue), strict=True):
        given_away = leak(asked, answers)
        if given_away is not None:
            raise AnswerError(f"{form}: {given_away}; ask without it")
