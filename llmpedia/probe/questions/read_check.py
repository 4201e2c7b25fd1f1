"""The first check of a written question: every account stands in a document, read in full
(ElephantBench paper, section 3.3).

A quote that the document does not hold proves nothing, so an answer with one cannot be used.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from llmpedia.probe.documents import held
from llmpedia.probe.questions import account_keys
from llmpedia.probe.questions.answer_leakage import without_figures
from llmpedia.probe.settings.build import BuildConfig
from llmpedia.prompts import load_prompt
from llmpedia.stages import (
    AnswerError,
    Constraint,
    Pairs,
    Reply,
    Stage,
    neutral,
    object_schema,
    one_line,
    parse_only_object,
)

Row = dict[str, Any]


@dataclass(frozen=True)
class Checked:
    """Two questions, their accounts, and the documents as (number, text)."""

    named_entity: str
    clue_based: str
    accounts: tuple[str, ...]
    documents: tuple[tuple[int, str], ...]

    @cached_property
    def texts(self) -> dict[int, str]:
        """Number of a document -> its text."""
        return dict(self.documents)


@dataclass(frozen=True)
class Proof:
    """Whether an account is supported; if so, the document that says so and its words."""

    supported: bool
    document: int | None = None
    quote: str | None = None


@dataclass(frozen=True)
class ReadVerdict:
    """A proof an account, in order, and whether both questions ask for just this fact."""

    proofs: tuple[Proof, ...]
    questions_fit: bool
    reason: str

    @property
    def rejected(self) -> str | None:
        """Why the questions cannot stay; None: they can."""
        without = [str(n) for n, proof in enumerate(self.proofs, 1) if not proof.supported]
        if without:
            suffix = f": {self.reason}" if self.reason else ""
            return f"no document supports account {', '.join(without)}{suffix}"
        return None if self.questions_fit else f"the questions do not fit: {self.reason}"


class ReadCheck(Stage[Checked, ReadVerdict]):
    """One decision an account, keyed by its number from 1, so that none can be left out, and one on
    the questions.
    """

    name = "read_check"
    config: BuildConfig

    def __init__(self, config: BuildConfig) -> None:
        super().__init__(config, load_prompt("probe/read_check"), "")

    def values(self, question: Checked) -> dict[str, str]:
        """See :class:`Stage`."""
        shown = [f"<document {number}>\n{neutral(text)}\n</document>" for number, text in question.documents]
        return {
            "question": neutral(one_line(question.named_entity)),
            "second_question": neutral(one_line(question.clue_based)),
            "accounts_block": account_keys.listed(question.accounts),
            "documents_block": "\n".join(shown),
        }

    def constraint(self, question: Checked) -> Constraint:
        """See :class:`Stage`."""
        text = {"type": "string", "maxLength": 400}
        document = {"enum": [*question.texts, None]}
        proof = object_schema({"supported": {"type": "boolean"}, "document": document, "quote": text})
        proofs = object_schema(dict.fromkeys(account_keys.keys(question.accounts), proof))
        return Constraint(
            json_schema=object_schema(
                {"accounts": proofs, "questions_fit": {"type": "boolean"}, "reason": text}
            )
        )

    def parse(self, question: Checked, text: str) -> ReadVerdict:
        """The decisions, where there is exactly one on each account and every quote stands where it
        is said to.
        """
        answer = parse_only_object(text)
        proofs = answer.get("accounts")
        fit = answer.get("questions_fit")
        reason = answer.get("reason")
        if not isinstance(proofs, Pairs) or len(answer.pairs) > len(answer):
            raise AnswerError(
                'the answer is not {"accounts": {...}, "questions_fit": ..., "reason": "..."}, each once'
            )
        rows = account_keys.decisions(proofs, question.accounts)
        if not isinstance(fit, bool):
            raise AnswerError(f"questions_fit = {fit!r} is no decision; give true or false")
        reason_text = one_line(reason) if isinstance(reason, str) else ""
        if not fit and not reason_text:
            raise AnswerError("questions_fit is false without a reason; say what does not fit")
        return ReadVerdict(
            tuple(_proof(n, question.accounts[n - 1], row, question.texts) for n, row in enumerate(rows, 1)),
            fit,
            reason_text,
        )


def verdict_row(group_id: str, reply: Reply[ReadVerdict], urls: Mapping[int, str]) -> Row:
    """A row of the table ``checks``. ``urls``: number of a document -> its address."""
    verdict = reply.value
    fate, reason = ("error", reply.error) if verdict is None else ("kept", None)
    if verdict is not None and verdict.rejected is not None:
        fate = "rejected"
        reason = verdict.rejected
    proofs = [
        {
            "account": place,
            "supported": proof.supported,
            "url": None if proof.document is None else urls[proof.document],
            "quote": proof.quote,
        }
        for place, proof in enumerate(verdict.proofs if verdict else ())
    ]
    row = {"group_id": group_id, "check": "read", "fate": fate, "reason": reason, "proofs": proofs}
    return {**row, "searches": None, "fetches": None, "by": None, "completion": reply.key}


def _proof(number: int, account: str, row: Any, texts: Mapping[int, str]) -> Proof:
    """The decision on one account; what it says of a document counts only where it supports."""
    supported = row.get("supported") if isinstance(row, Pairs) and len(row.pairs) == len(row) else None
    if not isinstance(supported, bool):
        raise AnswerError(
            f'account {number} has no decision; {{"supported": true or false, "document": 1, '
            f'"quote": "..."}} is asked for'
        )
    if not supported:
        return Proof(False)
    document = row.get("document")
    quote = row.get("quote")
    if not isinstance(document, int) or isinstance(document, bool) or document not in texts:
        raise AnswerError(
            f"account {number}: document {document!r} was not shown; give one of {', '.join(map(str, texts))}"
        )
    if not isinstance(quote, str) or not held(quote, texts[document]):
        raise AnswerError(
            f"account {number}: quote {quote!r} does not stand in document {document}; copy its "
            f"words, or say false"
        )
    if without_figures(account, quote):
        raise AnswerError(
            f"account {number}: quote {quote!r} does not tell {account!r}; copy the words that do, "
            f"or say false"
        )
    return Proof(True, document, one_line(quote))
