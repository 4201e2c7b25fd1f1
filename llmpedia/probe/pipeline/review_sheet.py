"""Validation by people: a group a row of a sheet, and the filled sheet back as rows of ``checks``
(paper, section 3.3).

A reader sees both questions, the accounts, the documents' own words with their neighbours, and what
the two checks before quoted. What is shown is sealed by a hash: a decision on other words than were
written is none.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from llmpedia.errors import InputError
from llmpedia.probe.documents import Document, sentences
from llmpedia.review_csv import (
    NUMBER,
    cells,
    check_columns,
    columns,
    need_free,
    need_none,
    read_rows,
    write_rows,
)

Row = dict[str, Any]
REASONS = (
    "entity_mismatch",
    "unsupported_answer",
    "answer_leak",
    "question_mismatch",
    "personal_or_harmful",
    "other",
)
"""Why a group is rejected: the paper's four, and what its ethics statement keeps out."""
READER_COLUMNS = ("decision", "reason", "comment", "reviewer")
_ITEM_COLUMNS = ("group_id", "question", "second_question", "accounts", "read_quotes", "web_quotes", "seal")
_DOCUMENTS = "documents"
_LEFT_OUT = " [...] "
_DECISIONS: dict[str, Literal["kept", "rejected"]] = {"accept": "kept", "reject": "rejected"}


@dataclass(frozen=True)
class ReviewItem:
    """A group to review. ``answers``: as in the table ``questions``; ``read``, ``web``: proofs of
    the checks before.
    """

    group_id: str
    named_entity: str
    clue_based: str
    answers: Sequence[Row]
    documents: Sequence[Document]
    read: Sequence[Row] = ()
    web: Sequence[Row] = ()


@dataclass(frozen=True)
class SheetRead:
    """``rows``: of the table ``checks``, a decided group each, in the sheet's order; ``unfilled``:
    rows without a decision.
    """

    rows: list[Row]
    unfilled: int


def write_sheet(items: Sequence[ReviewItem], path: Path) -> int:
    """Write a sheet with a row a group, in the order given; the number of rows.

    Raises:
        InputError: there is nothing to review, or the file is there already.
    """
    need_free(path)
    if not items:
        raise InputError(f"{path}: no group to review; take a build whose checks have kept some")
    rows = [cells(_cited(item)) for item in items]
    wide = max(map(len, rows))
    write_rows(
        path,
        [_sheet_row(item, columns(_DOCUMENTS, texts, wide)) for item, texts in zip(items, rows, strict=True)],
    )
    return len(items)


def _sheet_row(item: ReviewItem, documents: dict[str, str]) -> Row:
    shown = {
        "group_id": item.group_id,
        "question": item.named_entity,
        "second_question": item.clue_based,
        "accounts": "\n".join(f"{i}. {answer['value']}" for i, answer in enumerate(item.answers, 1)),
        **documents,
        "read_quotes": _quoted(item.read),
        "web_quotes": _quoted(item.web),
    }
    return {**shown, "seal": _seal(shown), **dict.fromkeys(READER_COLUMNS, "")}


def _quoted(proofs: Sequence[Row]) -> str:
    """A line an account."""
    lines = (
        f"{proof['account'] + 1}. {proof['url'] or 'no address'}: {proof['quote'] or 'no words'}"
        if proof["supported"]
        else f"{proof['account'] + 1}. not supported"
        for proof in proofs
    )
    return "\n".join(lines)


def _cited(item: ReviewItem) -> list[str]:
    """A text for each account and document of it: whence it is, and the sentences that bear it out,
    with their neighbours.
    """
    by_number = {document.number: document for document in item.documents}
    return [
        f"Account {i}, document {number}: {_said(by_number.get(number), answer['spans'])}"
        for i, answer in enumerate(item.answers, 1)
        for number in answer["documents"]
    ]


def _said(document: Document | None, spans: Sequence[str]) -> str:
    if document is None:
        return "its text was not kept"
    cuts = sentences(document.text)
    places = [place for span in spans if (place := span_place(span, document.text))]
    inside = {i for start, end in places for i, (a, b) in enumerate(cuts) if a < end and start < b}
    around = sorted(j for j in {i + step for i in inside for step in (-1, 0, 1)} if 0 <= j < len(cuts))
    runs: list[tuple[int, int]] = []
    for i in around:
        first = runs.pop()[0] if runs and runs[-1][1] == i - 1 else i
        runs.append((first, i))
    text = _LEFT_OUT.join(document.text[cuts[a][0] : cuts[b][1]] for a, b in runs)
    return f"{document.url}\n{text or 'it holds none of the words that were quoted'}"


def span_place(span: str, text: str) -> tuple[int, int] | None:
    """Where a text holds a span, start and end in characters; told as
    :func:`~llmpedia.probe.documents.held` tells it.
    """
    folded: list[str] = []
    places: list[int] = []
    for i, character in enumerate(text):
        for letter in " " if character.isspace() else character.casefold():
            if letter != " " or (folded and folded[-1] != " "):
                folded.append(letter)
                places.append(i)
    wanted = " ".join(span.split()).casefold()
    start = "".join(folded).find(wanted)
    return (places[start], places[start + len(wanted) - 1] + 1) if wanted and start >= 0 else None


def _seal(row: Row) -> str:
    """Hash of what is shown, but for what spreadsheet programs do to white space and what guards
    against formulas.
    """
    sealed = [
        f"{name}:{' '.join(str(row[name]).lstrip(chr(39)).split())}"
        for name in sorted(row)
        if _is_shown(name)
    ]
    return hashlib.sha256("\n".join(sealed).encode()).hexdigest()[:16]


def _is_shown(name: str) -> bool:
    return name != "seal" and (name in _ITEM_COLUMNS or name.startswith(f"{_DOCUMENTS}_"))


def read_sheet(path: Path, known: Collection[str]) -> SheetRead:
    """A filled sheet. ``known``: ids of the groups that may be decided on.

    A reader writes ``decision`` = accept, or reject with a ``reason``. A row that several readers
    have filled alike counts once.

    Raises:
        InputError: it is no such sheet, or rows cannot be used; all are counted and the first ten
        named.
    """
    table = read_rows(path)
    check_columns(path, table[0], (*_ITEM_COLUMNS, *READER_COLUMNS))
    problems: list[str] = []
    decided: dict[str, Row] = {}
    unfilled = 0
    for row in table:
        at = f"row {row[NUMBER]} (group {row['group_id']})"
        if not any(row[name].strip() for name in ("decision", "reason")):
            unfilled += 1
            continue
        why = row_problem(row, known)
        if why is None:
            why = _disagreement(decided, _check(row, path))
        if why is not None:
            problems.append(f"{at} {why}")
    need_none(path, problems)
    return SheetRead(list(decided.values()), unfilled)


def row_problem(row: Row, known: Collection[str]) -> str | None:
    """What is wrong with a row, or None."""
    decision = row["decision"].strip().lower()
    reason = row["reason"].strip().lower()
    if row["group_id"] not in known:
        return "is no group of this build that can be reviewed"
    if row["seal"] != _seal(row):
        return "shows other texts than were written; write the sheet anew, or put them back"
    if decision not in _DECISIONS:
        return f"has decision = {row['decision']!r}; must be {' or '.join(_DECISIONS)}"
    if decision == "reject" and reason not in REASONS:
        return f"has reason = {row['reason']!r}; must be one of {', '.join(REASONS)}"
    return (
        f"has decision = accept with reason = {reason}; must be empty"
        if decision == "accept" and reason
        else None
    )


def _check(row: Row, path: Path) -> Row:
    """A row of the table ``checks``."""
    comment = " ".join(row["comment"].split())
    fate = _DECISIONS[row["decision"].strip().lower()]
    why = row["reason"].strip().lower() + (f": {comment}" if comment else "")
    return {
        "group_id": row["group_id"],
        "check": "review",
        "fate": fate,
        "reason": why if fate == "rejected" else None,
        "proofs": [],
        "searches": None,
        "fetches": None,
        "by": " ".join(row["reviewer"].split()) or path.name,
        "completion": None,
    }


def _disagreement(decided: dict[str, Row], check: Row) -> str | None:
    """Take a decision in; what keeps it out, or None."""
    before = decided.setdefault(check["group_id"], check)
    if before is check:
        return None
    if before["fate"] != check["fate"]:
        return f"is {check['fate']} here and {before['fate']} before; agree on one"
    if check["by"] not in before["by"].split(", "):
        before["by"] += f", {check['by']}"
    return None
