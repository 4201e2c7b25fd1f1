"""Groups of a probe's build before a human reader: the sheet of ``llmpedia probe sheet``, a page a
group.

The build itself is not written: ``llmpedia probe review BUILD SHEET`` takes what was decided.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llmpedia.errors import InputError
from llmpedia.probe.pipeline.review_sheet import READER_COLUMNS, REASONS, row_problem, span_place
from llmpedia.site.pages.claim_views import safe_link
from llmpedia.site.pages.views import Bit
from llmpedia.site.review.sheet import Choice, Given, SheetFile, SheetItem, State, locked, put_together
from llmpedia.site.review.store import Desk, Opened, item_views, sheet_views
from llmpedia.store.run_folder import RunFolder

Context = dict[str, Any]
Row = dict[str, Any]

_ACCEPT = "accept"
_WORDS = {
    "entity_mismatch": ("not one and the same thing", "2 s"),
    "unsupported_answer": ("a document does not say it", "3 d"),
    "answer_leak": ("a question gives it away", "4 f"),
    "question_mismatch": ("the two ask for different things", "5 g"),
    "personal_or_harmful": ("", "6 h"),
    "other": ("say what in the comment", "7 j"),
}
_DOCUMENT = re.compile(r"Account (\d+), document (\d+): (.*?)(?:\n(.*))?", re.S)


class GroupForm:
    """Asks whether a group is accepted, and if not, why. ``known``: groups of the build."""

    id_column = "group_id"
    columns: Sequence[str] = (
        "group_id",
        "question",
        "second_question",
        "accounts",
        "read_quotes",
        "web_quotes",
        "seal",
    )
    reader_columns: Sequence[str] = READER_COLUMNS

    def __init__(self, known: Collection[str]) -> None:
        self._known = known

    def choices(self, row: Row) -> list[Choice]:
        """Accepted, each reason against it, none of them."""
        reasons = [Choice(name, f"Reject: {name.replace('_', ' ')}", *_WORDS[name]) for name in REASONS]
        return [Choice(_ACCEPT, "Accept", "", "1 a"), *reasons, Choice("", "Not decided yet", "", "0 x")]

    def state(self, row: Row) -> State:
        """See :class:`Form`. A row that was changed is told of before anything is decided on it."""
        decision, reason = (row[name].strip().lower() for name in ("decision", "reason"))
        blank = not decision and not reason
        problem = row_problem({**row, "decision": _ACCEPT} if blank else row, self._known)
        return State("" if blank else _ACCEPT if decision == _ACCEPT else reason, problem)

    def cells(self, row: Row, given: Given) -> dict[str, str]:
        """See :class:`Form`."""
        rejected = given.answer not in ("", _ACCEPT)
        cell_texts = {
            "decision": "reject" if rejected else given.answer,
            "reason": given.answer if rejected else "",
        }
        return {**cell_texts, "comment": given.comment, "reviewer": given.reviewer if given.answer else ""}


@dataclass(frozen=True)
class ProbeSheet:
    """A sheet, opened, with its build; ``spans``: group -> what its accounts quote, one list an
    account.
    """

    name: str
    build: RunFolder
    opened: Opened
    spans: Mapping[str, Sequence[Sequence[str]]]


def open_groups(desk: Desk, name: str) -> ProbeSheet | None:
    """The sheet of a build; None: it was not begun.

    Raises:
        InputError: it is damaged.
    """
    if _sheet_name(name) not in desk.names():
        return None
    build = desk.probes[name]
    rows = build.read("questions", columns=["group_id", "answers"]).to_pylist()
    spans = {row["group_id"]: [answer["spans"] or () for answer in row["answers"] or ()] for row in rows}
    file = SheetFile(desk.folder, _sheet_name(name), GroupForm(spans.keys()))
    return ProbeSheet(name, build, Opened(file, probe_base(name), file.items()), spans)


def probe_base(name: str) -> str:
    """Address of a build's review."""
    return f"/probe/{name}/review"


def begin_groups(desk: Desk, name: str) -> None:
    """Write the sheet, as the command does; one that is there stays.

    Raises:
        InputError: no group waits for a review, or it cannot be written.
    """
    from llmpedia.probe.pipeline.review import write_review_sheet  # brings all of a build along

    with locked(desk.folder):
        if (desk.folder / _sheet_name(name)).exists():
            return
        desk.probes[name].refresh()
        with put_together(desk.folder) as folder:
            write_review_sheet(desk.probes[name], folder / _sheet_name(name))


def waiting_groups(build: RunFolder) -> tuple[list[str], str | None]:
    """Groups that wait for a review, or why none can be had."""
    from llmpedia.probe.pipeline.review import waiting

    try:
        build.refresh()
        return [row["group_id"] for row in waiting(build)], None
    except InputError as e:
        return [], str(e)


def _sheet_name(name: str) -> str:
    return f"{name}.probe-review.csv"


# --- pages


def build_page(desk: Desk, name: str) -> Context:
    """A build whose sheet was not begun."""
    waits, problem = waiting_groups(desk.probes[name])
    if not waits and problem is None:
        problem = "no group waits: every one that passed the checks was decided on"
    return {
        "title": f"Review: {name}",
        "name": name,
        "build": desk.probes[name],
        "waits": waits,
        "problem": problem,
        "desk": desk,
    }


def groups_page(sheet: ProbeSheet) -> Context:
    """All groups of a sheet with what was decided."""
    opened = sheet.opened
    new = set(waiting_groups(sheet.build)[0]) - {item.id for item in opened.items}
    notes = (
        [f"{len(new)} groups wait that this sheet does not hold; read it in, move it away, and begin anew."]
        if new
        else []
    )
    return {
        **sheet_views(opened, notes),
        "title": f"Review: {sheet.name}",
        "heading": sheet.name,
        "back": None,
        "command": f"llmpedia probe review {sheet.build.uri} {opened.file.path}",
        "lines": [
            {
                "item": item,
                "label": item.row["question"],
                "text": item.row["accounts"].replace("\n", " · "),
                "answer": _answer(item.state.answer),
                "kind": "supported" if item.state.answer == _ACCEPT else "refuted",
                "judge": None,
            }
            for item in opened.items
        ],
        "tables": [],
        "problem": None,
    }


def _answer(answer: str) -> str:
    return "Accepted" if answer == _ACCEPT else f"Rejected: {answer.replace('_', ' ')}" if answer else ""


@dataclass(frozen=True)
class ShownDocument:
    """A document's words around what is quoted of it. ``account``: from 1; null for a cell that
    goes on with the one before.
    """

    account: int | None
    url: str
    href: str | None
    bits: list[Bit]


def group_page(sheet: ProbeSheet, item: SheetItem, given: Given | None, notice: str | None) -> Context:
    """One group: its questions, its accounts, each with its documents and quotes."""
    row = item.row
    documents = list(_documents(row, sheet.spans.get(item.id, [])))
    values = [line.partition(". ")[2] or line for line in row["accounts"].split("\n") if line.strip()]
    quotes = [
        ("the documents themselves", _quotes(row["read_quotes"])),
        ("the web", _quotes(row["web_quotes"])),
    ]
    return {
        **item_views(sheet.opened, item, given, notice),
        "title": f"{row['question']} – to review",
        "heading": sheet.name,
        "accounts": [
            {
                "number": n,
                "value": value,
                "documents": [d for d in documents if d.account == n],
                "quotes": [(where, quoted[n]) for where, quoted in quotes if n in quoted],
            }
            for n, value in enumerate(values, 1)
        ],
        "loose": [d for d in documents if d.account is None or not 0 < d.account <= len(values)],
    }


def _documents(row: Row, spans: Sequence[Sequence[str]]) -> Iterator[ShownDocument]:
    """Of the sheet's cells; a long one goes on in the next cell, which names no account."""
    for name in row:
        if not (isinstance(name, str) and re.fullmatch(r"documents_\d+", name) and row[name].strip()):
            continue
        match = _DOCUMENT.fullmatch(row[name])
        if match is None:
            yield ShownDocument(None, "", None, marked(row[name], [span for of in spans for span in of]))
            continue
        account = int(match[1])
        quoted = spans[account - 1] if 0 < account <= len(spans) else []
        url = match[3].strip()
        yield ShownDocument(account, url, safe_link(url), marked(match[4] or "", quoted))


def marked(text: str, spans: Sequence[str]) -> list[Bit]:
    """A text in pieces; what is quoted of it are hits."""
    places = sorted(place for span in spans if (place := span_place(span, text)))
    bits: list[Bit] = []
    at = 0
    for start, end in places:
        if start >= at:
            bits += [Bit(text[at:start], hit=False), Bit(text[start:end], hit=True)]
            at = end
    return [bit for bit in (*bits, Bit(text[at:], hit=False)) if bit.text]


def _quotes(cell: str) -> dict[int, str]:
    """Account -> what a check quoted for it."""
    parts = re.split(r"^(\d{1,4})\. ", cell, flags=re.M)
    return {int(number): text.strip() for number, text in zip(parts[1::2], parts[2::2], strict=True)}
