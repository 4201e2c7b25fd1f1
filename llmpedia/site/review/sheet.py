"""A sheet that a reader fills page by page: read anew for every page and saved row by row, so that
other hands may write it too.

A row is saved only where its reader's columns are as they were shown: what came from another tab or
a spreadsheet in between is never written over unseen. All other cells stay as they are, to the
byte.
"""

import fcntl
import hashlib
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from llmpedia.errors import InputError
from llmpedia.review_csv import CELL, NUMBER, Sheet, check_columns, read_whole, safe_cell, shown_cell
from llmpedia.store.files import Folder

Row = dict[str, Any]


@dataclass(frozen=True)
class Choice:
    """An answer that a reader can give. ``keys``: those that choose it; ``hint``: what it means
    beside its label.
    """

    value: str
    label: str
    hint: str
    keys: str


@dataclass(frozen=True)
class State:
    """What the reader's columns of a row say. ``answer``: empty where nothing was decided;
    ``problem``: why it does not count.
    """

    answer: str
    problem: str | None = None


@dataclass(frozen=True)
class Given:
    """What a reader has entered."""

    answer: str
    comment: str
    reviewer: str = ""


class Form(Protocol):
    """What a kind of sheet asks of its reader. Rows come without the apostrophes that guard against
    formulas.
    """

    id_column: str
    columns: Sequence[str]
    reader_columns: Sequence[str]

    def choices(self, row: Row) -> list[Choice]:
        """The answers that a row can be given, the last of them that it has none."""

    def state(self, row: Row) -> State:
        """What its cells say."""

    def cells(self, row: Row, given: Given) -> dict[str, str]:
        """Its reader's columns with what was entered."""


@dataclass(frozen=True)
class SheetItem:
    """A row as it is shown. ``place``: from 1; ``seen``: changes with its reader's columns."""

    place: int
    id: str
    row: Row
    seen: str
    state: State

    @property
    def decided(self) -> bool:
        """Whether it has an answer that counts."""
        return bool(self.state.answer) and self.state.problem is None

    @property
    def given(self) -> Given:
        """What was entered so far."""
        return Given(self.state.answer, self.row["comment"], self.row.get("reviewer", ""))


@dataclass(frozen=True)
class Saved:
    """``item`` as the file has it now; ``done``: it has what was entered, else it was changed by
    others meanwhile.
    """

    item: SheetItem
    done: bool


class SheetFile:
    """One sheet in a folder. Safe to use from several threads and processes."""

    def __init__(self, folder: Path, name: str, form: Form) -> None:
        self.path = folder / name
        self.form = form

    def items(self) -> list[SheetItem]:
        """All rows, in the order of the file.

        Raises:
            InputError: it cannot be read, or columns are gone.
        """
        return self._read()[1]

    def save(self, shown: tuple[int, str, str], given: Given) -> Saved:
        """Write one row. ``shown``: the item's place, id and ``seen`` as its page had them.

        Raises:
            InputError: the file cannot be read or written, or holds no such item any more.
        """
        with locked(self.path.parent):
            sheet, items = self._read()
            item = self._find(items, *shown[:2])
            raw = {name: safe_cell(text) for name, text in self.form.cells(item.row, given).items()}
            cells = {name: shown_cell(text) for name, text in raw.items()}
            if all(item.row[name] == text for name, text in cells.items()):
                return Saved(item, done=True)
            if item.seen != shown[2]:
                return Saved(item, done=False)
            record = sheet.records[item.row[NUMBER] - 2]
            record += [""] * (
                len(sheet.header) - len(record)
            )  # some programs leave out empty cells at the end
            for name, text in raw.items():
                record[sheet.header.index(name)] = text
            Folder(self.path.parent).write(self.path.name, sheet.dumps())
            row = {**item.row, **cells}
            return Saved(replace(item, row=row, seen=self._seen(row), state=self.form.state(row)), done=True)

    def opened_elsewhere(self) -> bool:
        """Whether LibreOffice has it open, which would write over what is saved here."""
        return self.path.with_name(f".~lock.{self.path.name}#").exists()

    def _read(self) -> tuple[Sheet, list[SheetItem]]:
        sheet = read_whole(self.path)
        rows = sheet.rows()
        if not rows:
            raise InputError(f"{self.path}: holds no rows; move it away to begin anew")
        check_columns(self.path, rows[0], (*self.form.columns, *self.form.reader_columns))
        return sheet, [self._item(place, row) for place, row in enumerate(rows, 1)]

    def _find(self, items: Sequence[SheetItem], place: int, name: str) -> SheetItem:
        """The item of this id: at its place, where it stands several times."""
        matches = [item for item in items if item.id == name]
        at = [item for item in matches if item.place == place]
        if not at and len(matches) != 1:
            raise InputError(
                f"{self.path}: item {name} is there {len(matches)} times and not at place {place}; "
                f"correct the sheet"
            )
        return (at or matches)[0]

    def _item(self, place: int, row: Row) -> SheetItem:
        cells = {name: shown_cell(cell) if isinstance(cell, str) else cell for name, cell in row.items()}
        return SheetItem(place, row[self.form.id_column], cells, self._seen(cells), self.form.state(cells))

    def _seen(self, row: Row) -> str:
        text = "\x00".join(row[name] for name in self.form.reader_columns)
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Alone among all that write sheets in a folder through this site; the folder is made where
    there is none.

    Raises:
        InputError: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / ".lock").open("a")
    except OSError as e:
        raise InputError(f"--sheets {folder}: cannot be written ({e.strerror}); give another folder") from e
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def put_together(folder: Path) -> Iterator[Path]:
    """A place to write sheets to that come into a folder whole or not at all; to be used under its
    lock.

    Raises:
        InputError: it cannot be written.
    """
    with TemporaryDirectory(prefix=".new-", dir=folder) as scratch:
        yield Path(scratch)
        # Longer names last: a key is there before its sheet, without which it would be of no use.
        for path in sorted(Path(scratch).iterdir(), key=lambda path: -len(path.name)):
            Folder(folder).write(path.name, path.read_bytes())


def entered(text: str) -> str:
    """What a reader wrote as a cell keeps it: lines end alike, and nothing is in it that cannot be
    seen.

    Raises:
        InputError: it is too long.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    clean = "".join(c for c in lines if c in "\n\t" or unicodedata.category(c) != "Cc").strip()
    if len(clean) >= CELL:
        raise InputError(f"comment of {len(clean)} characters: must be below {CELL}; shorten it")
    return clean
