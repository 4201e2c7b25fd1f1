"""Parquet files of titles and texts (as Wikimedia's ``wikipedia`` data set has them) as evidence:
the plainest of the copies.

They know no redirects, so that coverage reads too low: a subject under another than the article's
own title is missing. They know no disambiguation pages and no revisions either: such a page reads
as an article, and its infoboxes and tables are gone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from llmpedia.audit.evidence import Evidence, Outcome
from llmpedia.audit.wikipedia.offline.local_copy import (
    CopyArticle,
    LocalCopy,
    evidence,
    first_upper,
    nothing,
    site_of,
)
from llmpedia.errors import InputError

# Rows unpacked at once: a row group may hold a whole file.
_BATCH_ROWS = 1024


@dataclass(frozen=True)
class ParquetColumns:
    """Names of the columns. ``url``: None if there is none."""

    title: str
    text: str
    url: str | None

    @property
    def names(self) -> list[str]:
        """Those there are."""
        return [c for c in (self.title, self.text, self.url) if c is not None]


WIKIMEDIA = ParquetColumns("title", "text", "url")


class ParquetCopy(LocalCopy):
    """Articles of a Parquet file, or of all in a folder and below it; of one title's several rows
    the first.

    The first subject waits until all titles are read (seconds a million); 16 bytes a title stay in
    memory, no text does.
    """

    def __init__(self, path: str | Path, columns: ParquetColumns = WIKIMEDIA) -> None:
        """Raises:
        InputError: there are no such files, or one cannot be read or lacks a column.
        """
        self._path = Path(path)
        self._columns = columns
        self._opened: list[Any] = []
        self._index: _Index | None = None
        rows = sum(file.metadata.num_rows for file in self._files())
        size = sum(name.stat().st_size for name in _names(self._path))
        faults = (pa.ArrowException, OSError, InputError)
        super().__init__(f"parquet:{self._path.name}:{rows}:{size}", faults, site_of((), True))

    def _files(self) -> list[Any]:
        if not self._opened:
            self._opened = [_open(name, self._columns) for name in _names(self._path)]
        return self._opened

    def look_up(self, subject: str, title: str) -> Evidence:
        """See :class:`~llmpedia.audit.wikipedia.offline.local_copy.LocalCopy`."""
        files = self._files()
        self._index = self._index or _Index(files, self._columns.title)
        for form in dict.fromkeys((first_upper(title), title)):
            for file, group, place in self._index.places(form):
                row = _row(files[file], group, place, self._columns.names)
                if row[self._columns.title] == form:
                    return self._evidence(subject, row)
        return nothing(subject, Outcome.MISSING, "the files have no such title (they know no redirects)")

    def _evidence(self, subject: str, row: dict[str, Any]) -> Evidence:
        title = row[self._columns.title]
        url = row.get(self._columns.url or "")
        article = CopyArticle(
            title,
            url or f"parquet:{quote(self._path.name)}/{quote(title)}",
            None,
            "page",
            row[self._columns.text] or "",
        )
        return evidence(subject, article, (), None)

    def let_go(self) -> None:
        """Close the files; the next subject opens them again."""
        for file in self._opened:
            file.close()
        self._opened = []


class _Index:
    """Where each title stands: its hash, in order, beside its row's number over all files."""

    def __init__(self, files: list[Any], column: str) -> None:
        self._groups = [(f, g) for f, file in enumerate(files) for g in range(file.num_row_groups)]
        hashes = [_hashes(files[f], g, column) for f, g in self._groups]
        self._ends = np.cumsum([len(h) for h in hashes])
        every = np.concatenate([*hashes, np.empty(0, np.int64)])
        self._order = np.argsort(every, kind="stable")
        self._hashes = every[self._order]

    def places(self, title: str) -> Iterator[tuple[int, int, int]]:
        """File, row group and row within it of each title that may be this one, in the order of the
        files.
        """
        left, right = (int(np.searchsorted(self._hashes, hash(title), side)) for side in ("left", "right"))
        for row in self._order[left:right]:
            at = int(np.searchsorted(self._ends, row, "right"))
            yield *self._groups[at], int(row) - (int(self._ends[at - 1]) if at else 0)


def _names(path: Path) -> list[Path]:
    names = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not names:
        raise InputError(f"{path}: holds no .parquet files; give such a file, or a folder of them")
    return names


def _open(name: Path, columns: ParquetColumns) -> Any:
    try:
        # Without pre-buffering and threads: pyarrow's thread pools make some interpreters abort as
        # they exit.
        file = pq.ParquetFile(name, memory_map=True, pre_buffer=False)
    except (pa.ArrowException, OSError) as e:
        message = " ".join(str(e).split())[:200]
        raise InputError(
            f"{name}: cannot be opened as a Parquet file ({type(e).__name__}: {message}); give a whole one"
        ) from e
    lacking = [c for c in columns.names if c not in file.schema_arrow.names]
    if lacking:
        raise InputError(
            f"{name}: lacks the column {lacking[0]!r}, it has {file.schema_arrow.names}; give "
            f"files with {columns.names}"
        )
    return file


def _hashes(file: Any, group: int, column: str) -> Any:
    titles = file.read_row_group(group, columns=[column], use_threads=False).column(0).to_pylist()
    return np.fromiter(map(hash, titles), np.int64, len(titles))


def _row(file: Any, group: int, place: int, columns: list[str]) -> dict[str, Any]:
    for batch in file.iter_batches(
        batch_size=_BATCH_ROWS, row_groups=[group], columns=columns, use_threads=False
    ):
        if place < batch.num_rows:
            row: dict[str, Any] = batch.slice(place, 1).to_pylist()[0]
            return row
        place -= batch.num_rows
    raise OSError(f"row group {group} ends before row {place}")
