"""Sheets that people fill in: CSV in UTF-8 with a byte order mark, so that spreadsheet programs
open it, and read it back.

No cell that is shown can act as a formula, and none is longer than such programs keep.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llmpedia.errors import InputError

Row = dict[str, Any]
NUMBER = "number in the spreadsheet"
"""Key of a row's place, as read."""
CELL = 32_000
"""Characters; spreadsheet programs cut or spill a cell of more than 32,767."""
_SHOWN = 10
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


@dataclass(frozen=True)
class Sheet:
    """A sheet cell by cell, as it was saved: the reader of a row may be another program than this
    one.
    """

    header: list[str]
    records: list[list[str]]
    delimiter: str

    def rows(self) -> list[Row]:
        """The records that are not empty by column, each with its :data:`NUMBER`."""
        empty = dict.fromkeys(self.header, "")
        return [
            {**empty, **dict(zip(self.header, record, strict=False)), NUMBER: number}
            for number, record in enumerate(self.records, 2)
            if any(cell.strip() for cell in record)
        ]

    def dumps(self) -> bytes:
        """What a file of it holds. Cells are written as they are: new ones must be safe already."""
        file = io.StringIO(newline="")
        csv.writer(file, quoting=csv.QUOTE_ALL, delimiter=self.delimiter).writerows(
            [self.header, *self.records]
        )
        return file.getvalue().encode("utf-8-sig")


def need_free(*paths: Path) -> None:
    """Raise if a file is there.

    Raises:
        InputError: naming it.
    """
    taken = [p for p in paths if p.exists()]
    if taken:
        raise InputError(
            f"{taken[0]}: is there already, and may have been filled; move it away, or write to another file"
        )


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write rows, at least one, that have the same columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(rows[0])
        writer.writerows([safe_cell(value) for value in row.values()] for row in rows)


def safe_cell(value: Any) -> str:
    """The value as text that no spreadsheet program takes for a formula: an apostrophe goes before
    what could begin one.
    """
    text = "" if value is None else str(value)
    starts = text.lstrip()[:1] in _FORMULA if text.strip() else False
    return f"'{text}" if starts or text[:1] in ("\t", "\r", "\n") else text


def shown_cell(cell: str) -> str:
    """A cell without the apostrophe that :func:`safe_cell` put before it."""
    return cell[1:] if cell[:1] == "'" and safe_cell(cell[1:]) == cell else cell


def cells(texts: Sequence[str]) -> list[str]:
    """The texts, long ones in several cells."""
    return [text[i : i + CELL] for text in texts for i in range(0, len(text), CELL)]


def columns(name: str, texts: Sequence[str], wide: int) -> dict[str, str]:
    """The texts as columns ``name_1`` to ``name_wide``, the last ones empty."""
    return {f"{name}_{i + 1}": texts[i] if i < len(texts) else "" for i in range(wide)}


def check_columns(path: Path, row: Row, wanted: Sequence[str]) -> None:
    """Raise unless a row has all columns.

    Raises:
        InputError: naming what is lost.
    """
    lost = [c for c in wanted if c not in row]
    if lost:
        raise InputError(
            f"{path}: no column {', '.join(lost)}; keep the first line of the sheet as it was written"
        )


def read_rows(path: Path) -> list[Row]:
    """Rows as text, at least one, each with its :data:`NUMBER`; what was saved with semicolons or
    tabs is read too.

    Raises:
        InputError: it is no such file, or holds no rows.
    """
    rows = read_whole(path).rows()
    if not rows:
        raise InputError(f"{path}: holds no rows; give the sheet that was written for review")
    return rows


def read_whole(path: Path) -> Sheet:
    """All of a sheet.

    Raises:
        InputError: it is no such file.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")  # line ends as they are: cells may hold some
    except (OSError, UnicodeDecodeError) as e:
        raise InputError(
            f"{path}: cannot be read ({type(e).__name__}); save the sheet as CSV in UTF-8"
        ) from e
    delimiter = max(",;\t", key=text.partition("\n")[0].partition("\r")[0].count)
    try:
        header, *records = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)) or [[]]
    except csv.Error as e:
        raise InputError(f"{path}: is no table ({e}); save the sheet as CSV in UTF-8") from e
    return Sheet(header, records, delimiter)


def need_none(path: Path, problems: Sequence[str]) -> None:
    """Raise if rows cannot be used.

    Raises:
        InputError: counting all and naming the first ten.
    """
    if problems:
        shown = "; ".join(problems[:_SHOWN])
        more = len(problems) - _SHOWN
        rest = f"; and {more} more" if more > 0 else ""
        raise InputError(
            f"{path}: {len(problems)} rows cannot be used: {shown}{rest}; correct them in the sheet"
        )
