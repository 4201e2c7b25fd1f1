"""Where an imported encyclopedia's texts come from on this machine: a file of rows, or a folder of
one file an article.

Texts are found by the canonical key of their title. Whatever is there twice counts once, the first
one, and is told.
"""

import csv
import hashlib
import json
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from llmpedia.entities.keys import canonical_key
from llmpedia.errors import InputError
from llmpedia.importing.formats import SUFFIXES, Form
from llmpedia.web.extractor import Extractor
from llmpedia.web.settings import WebSection

_ROWS_READ = 1000
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Text:
    """A text as its source has it; of HTML what a reader sees. ``sha256``: of what was read there."""

    title: str
    text: str
    form: Form
    source: str
    sha256: str
    fetched_at: str | None = None


@dataclass(frozen=True)
class Absent:
    """No text under a title, and why."""

    reason: str


class Texts(Protocol):
    """A source. ``identity``: what decides its texts; ``notes``: what is to be told of it;
    ``may_change``: ask again later.
    """

    identity: dict[str, Any]
    notes: list[str]
    may_change: bool

    async def get(self, title: str) -> Text | Absent:
        """The text under a title."""
        ...

    async def close(self) -> None:
        """Let go of files, processes and connections."""
        ...


@dataclass(frozen=True)
class Columns:
    """Names of the columns that a file has titles and texts in."""

    title: str = "title"
    text: str = "text"


async def read_text(raw: bytes, form: Form, extractor: Extractor) -> str | Absent:
    """Bytes of a file as text. Of HTML the main text, by the same reader as pages of the web."""
    if form == "html":
        page = await extractor.read(raw, "text/html", "utf-8")
        return page.text if page.kind == "ok" else Absent(f"unusable: {page.kind}")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        return Absent(f"unusable: not UTF-8 (byte {e.start})")
    return text if text.strip() else Absent("its text is empty")


class FileTexts:
    """Rows of a JSONL, CSV or Parquet file, kept in a file of its own by key, so that any number
    fits.
    """

    may_change = False

    def __init__(self, path: Path, columns: Columns, form: Form, wanted: list[str] | None) -> None:
        """``wanted``: titles; None for all of them.

        Raises:
            InputError: the file cannot be read as rows with these columns.
        """
        self._path = path
        self._form = form
        self._folder = tempfile.TemporaryDirectory(prefix="llmpedia-import-")
        self._kept = sqlite3.connect(Path(self._folder.name) / "texts.sqlite", isolation_level=None)
        self._kept.execute("CREATE TABLE texts (key TEXT PRIMARY KEY, title TEXT, place TEXT, text TEXT)")
        self._extractor = Extractor(WebSection().extracting())
        keys = None if wanted is None else set(map(canonical_key, wanted))
        self.titles, stray, doubled = self._keep(columns, keys)
        self.notes = _notes(stray, doubled)
        self.identity = {
            "sha256": _sha256_of_file(path),
            "columns": [columns.title, columns.text],
            "form": form,
        }

    def _keep(self, columns: Columns, wanted: set[str] | None) -> tuple[list[str], int, int]:
        """Titles kept, and how many were not wanted and how many were there before."""
        titles = []
        stray = 0
        doubled = 0
        self._kept.execute("BEGIN")
        for place, title, text in _rows(self._path, columns):
            key = canonical_key(title)
            if not key or (wanted is not None and key not in wanted):
                stray += 1
                continue
            row = (key, title, place, text)
            if self._kept.execute("INSERT OR IGNORE INTO texts VALUES (?, ?, ?, ?)", row).rowcount:
                titles.append(title)
            else:
                doubled += 1
        self._kept.execute("COMMIT")
        return titles, stray, doubled

    async def get(self, title: str) -> Text | Absent:
        """See :class:`Texts`."""
        row = self._kept.execute(
            "SELECT title, place, text FROM texts WHERE key = ?", (canonical_key(title),)
        ).fetchone()
        if row is None:
            return Absent("the file has no row of this title")
        named, place, kept = row
        raw = kept.encode("utf-8", "surrogatepass")
        text = await read_text(raw, self._form, self._extractor)
        if isinstance(text, Absent):
            return text
        return Text(named, text, self._form, f"{self._path.name}: {place}", hashlib.sha256(raw).hexdigest())

    async def close(self) -> None:
        """See :class:`Texts`."""
        self._kept.close()
        self._folder.cleanup()
        await self._extractor.close()


@dataclass
class FolderTexts:
    """Files named by title, with %-escapes or underscores where a title cannot be a name;
    subfolders too.

    ``form``: of all files; null goes by each name's ending, and leaves other files alone.
    """

    path: Path
    form: Form | None
    wanted: list[str] | None
    may_change: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._extractor = Extractor(WebSection().extracting())
        self._files: dict[str, Path] = {}
        doubled = 0
        whole = hashlib.sha256()
        stray = 0
        keys = None if self.wanted is None else set(map(canonical_key, self.wanted))
        for path in sorted(
            p for p in self.path.rglob("*") if p.is_file() and (self.form or p.suffix.lower() in SUFFIXES)
        ):
            key = canonical_key(_title(path))
            if keys is not None and key not in keys:
                stray += 1
            elif self._files.setdefault(key, path) is not path:
                doubled += 1
            else:
                whole.update(
                    f"{path.relative_to(self.path)}\x00{_sha256_of_file(path)}\n".encode(
                        "utf-8", "surrogateescape"
                    )
                )
        if not self._files and not stray:
            endings = ", ".join(SUFFIXES)
            raise InputError(
                f"{self.path}: holds no text; give a folder of files that end in {endings}, or "
                f"name their --form"
            )
        self.titles = [_title(path) for path in self._files.values()]
        self.notes = _notes(stray, doubled)
        self.identity = {"sha256": whole.hexdigest(), "form": self.form}

    async def get(self, title: str) -> Text | Absent:
        """See :class:`Texts`."""
        path = self._files.get(canonical_key(title))
        if path is None:
            return Absent("the folder has no file of this title")
        form = self.form or SUFFIXES[path.suffix.lower()]
        raw = path.read_bytes()
        text = await read_text(raw, form, self._extractor)
        if isinstance(text, Absent):
            return text
        return Text(
            _title(path), text, form, str(path.relative_to(self.path)), hashlib.sha256(raw).hexdigest()
        )

    async def close(self) -> None:
        """See :class:`Texts`."""
        await self._extractor.close()


def _title(path: Path) -> str:
    return " ".join(unquote(path.stem).replace("_", " ").split())


def _notes(stray: int, doubled: int) -> list[str]:
    why = {"no such title is on the list": stray, "another text comes before under the same title": doubled}
    return [f"{n} text{'s' if n > 1 else ''} left out: {reason}" for reason, n in why.items() if n]


def _sha256_of_file(path: Path) -> str:
    whole = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            whole.update(block)
    return whole.hexdigest()


def _rows(path: Path, columns: Columns) -> Iterator[tuple[str, str, str]]:
    """(place, title, text) of each row; a null text is an empty one."""
    readers: dict[str, Callable[[Path], Iterator[tuple[str, dict[str, Any]]]]] = {
        ".jsonl": _jsonl,
        ".ndjson": _jsonl,
        ".csv": _csv,
        ".parquet": _parquet,
    }
    read = readers.get(path.suffix.lower())
    if read is None:
        raise InputError(
            f"{path}: is no {', '.join(readers)} file; give one, a folder of texts, or an address "
            f"with {{title}}"
        )
    for place, row in read(path):
        for flag, name in (("--title-column", columns.title), ("--text-column", columns.text)):
            if name not in row:
                there = ", ".join(map(str, row))
                raise InputError(
                    f"{path}, {place}: no column {name!r}; it has {there}: name the right one with {flag}"
                )
        title = row[columns.title]
        text = row[columns.text]
        if not isinstance(title, str) or not isinstance(text, str | None):
            raise InputError(
                f"{path}, {place}: title and text must be strings; correct the row, or name other columns"
            )
        yield place, " ".join(title.split()), text or ""


def _jsonl(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with path.open(encoding="utf-8-sig") as file:
        try:
            for number, line in enumerate(file, 1):
                if line.strip():
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise InputError(f"{path}, line {number}: is no JSON object; give one a line")
                    yield f"line {number}", row
        except UnicodeDecodeError as e:
            raise InputError(f"{path}: not UTF-8 text ({e.reason}); save it as UTF-8") from e
        except json.JSONDecodeError as e:
            raise InputError(f"{path}, line {number}: is no JSON ({e.msg}); give one object a line") from e


def _csv(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    before = csv.field_size_limit(
        sys.maxsize
    )  # an article is longer than the 128 KB that the module takes for a cell
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for number, row in enumerate(csv.DictReader(file, strict=True), 1):
                if None in row:
                    raise InputError(
                        f"{path}, row {number}: has more cells than the header; quote those that hold commas"
                    )
                yield f"row {number}", row
    except (UnicodeDecodeError, csv.Error) as e:
        raise InputError(
            f"{path}: cannot be read as CSV ({e}); save it as UTF-8 with a header and quoted cells"
        ) from e
    finally:
        csv.field_size_limit(before)


def _parquet(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        number = 0
        for batch in pq.ParquetFile(path, pre_buffer=False).iter_batches(_ROWS_READ, use_threads=False):
            for row in batch.to_pylist():
                yield f"row {number}", row
                number += 1
    except (pa.ArrowException, OSError) as e:
        raise InputError(
            f"{path}: cannot be read as Parquet ({' '.join(str(e).split())[:200]}); write it anew"
        ) from e
