"""The files of a corpus by kind, and the documents in them, in order of (file, place in it).

What a file's name tells is its kind: ``.parquet``; ``.jsonl``, ``.ndjson``; ``.warc``, ``.wet``;
``.html``, ``.htm``; ``.txt``; ``.dict`` with its ``.index``; all but Parquet also with ``.gz`` or
``.zst``. ``corpus.kind`` chooses those of one kind in a folder, and says what a single file is,
whatever its name. Hidden files are passed over.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs

from llmpedia.errors import InputError
from llmpedia.probe.corpus.dictd import INDEX, dictd_documents, texts_of
from llmpedia.probe.corpus.extract import LARGEST
from llmpedia.probe.corpus.raw import LARGEST_TEXT, Raw
from llmpedia.probe.corpus.warc import warc_documents
from llmpedia.probe.settings.build import CorpusSection
from llmpedia.store.input_files import (
    DAMAGE,
    at,
    find_files,
    half_character,
    json_records,
    open_bytes,
    open_place,
    parquet_batches,
    reason,
    uncompressed,
)
from llmpedia.web.page import decode

Reader = Callable[[pafs.FileSystem, str, CorpusSection], Iterator[Raw]]
_ENDINGS = {
    "jsonl": (".jsonl", ".ndjson"),
    "warc": (".warc", ".wet"),
    "html": (".html", ".htm"),
    "text": (".txt",),
    "dictd": (".dict",),
}


@dataclass(frozen=True)
class CorpusFile:
    """A file of the corpus. ``name``: its path in the source, or its own name; ``path``: on the
    source's filesystem.
    """

    name: str
    path: str
    kind: str


def kind_of(path: str) -> str | None:
    """What a file's name tells; None: nothing."""
    if path.rpartition("/")[2].startswith("."):
        return None
    if path.lower().endswith(".parquet"):
        return "parquet"
    name = uncompressed(path)
    return next((kind for kind, endings in _ENDINGS.items() if name.endswith(endings)), None)


def corpus_files(settings: CorpusSection) -> list[CorpusFile]:
    """The files to read, in order.

    Raises:
        InputError: there are none.
    """
    where = settings.source
    asked = settings.kind

    def wanted(path: str) -> bool:
        kind = kind_of(path)
        return kind is not None and asked in (None, kind)

    files = find_files("corpus.source", where, wanted, "a file of documents")
    kinds = {path: kind_of(path) for path in files.paths}
    if len(kinds) == 1 and (
        asked or where.endswith(INDEX)
    ):  # a file may be named as it likes where its kind is told
        (path,) = kinds
        kind = asked or "dictd"
        kinds = {texts_of(files.filesystem, path) if kind == "dictd" else path: kind}
    if not kinds or None in kinds.values():
        raise InputError(
            f"corpus.source = {where!r}: no documents{f' of kind {asked}' if asked else ''} there; "
            f"give a file named .parquet, "
            ".jsonl, .warc.gz, .html, .txt or .dict.dz, a folder of them, or set corpus.kind"
        )
    return [CorpusFile(files.name(path), path, str(kind)) for path, kind in kinds.items()]


def read_file(file: CorpusFile, settings: CorpusSection) -> Iterator[Raw]:
    """All documents of a file in order, each with an address: its own, or the file's name and its
    place there, from 0.

    Raises:
        InputError: the file is damaged, or not what it is said to be.
    """
    fs, _ = open_place(settings.source)
    place = 0
    try:
        for raw in READERS[file.kind](fs, file.path, settings):
            yield raw if raw.url else _at(raw, f"{file.name}#{place}")
            place += 1
    except DAMAGE as e:
        raise InputError(f"{file.path}: damaged after {place} documents ({reason(e)}); restore it") from e


def _at(raw: Raw, url: str) -> Raw:
    return Raw(url, raw.text, raw.page, raw.charset, raw.error)


def _parquet(fs: pafs.FileSystem, path: str, settings: CorpusSection) -> Iterator[Raw]:
    for batch in parquet_batches(fs, path, [settings.text, settings.url]):
        texts, urls = (_column(batch, name) for name in (settings.text, settings.url))
        if texts is None:
            raise InputError(
                f"corpus.text = {settings.text!r}: no column of {path}; name the one that holds the text"
            )
        for row in range(batch.num_rows):
            yield _told(partial(_value, urls, row), partial(_value, texts, row), settings)


def _column(batch: pa.RecordBatch, path: str) -> Any:
    """A column, or a field of one under ``a.b``; None: there is none."""
    first, *rest = [path] if path in batch.schema.names else path.split(".")
    column: Any = batch.column(first) if first in batch.schema.names else None
    for name in rest:
        known = (
            column is not None and pa.types.is_struct(column.type) and column.type.get_field_index(name) >= 0
        )
        column = column.field(name) if known else None
    return column


def _value(column: Any, row: int) -> Any:
    return None if column is None else column[row].as_py()


def _jsonl(fs: pafs.FileSystem, path: str, settings: CorpusSection) -> Iterator[Raw]:
    for record in json_records(fs, path):
        if isinstance(record, Exception):
            yield Raw(error=f"not JSON: {reason(record)}")
        elif not isinstance(record, dict):
            yield Raw(error=f"a {type(record).__name__}, not an object")
        else:
            yield _told(
                partial(_field, record, settings.url), partial(_field, record, settings.text), settings
            )


def _field(record: dict[str, Any], path: str) -> Any:
    return record[path] if path in record else at(record, path)


def _told(url: Callable[[], Any], text: Callable[[], Any], settings: CorpusSection) -> Raw:
    """A document of a row."""
    address, problem = _string(settings.url, url)
    if problem is None:
        body, problem = _string(settings.text, text)
        if problem is None and body is None:
            problem = f"{settings.text} is no text"
    address = (address or "").strip() or None
    return Raw(address, error=problem) if problem else Raw(address, text=body)


def _string(name: str, value: Callable[[], Any]) -> tuple[str | None, str | None]:
    """A value where it is text, and what is wrong with it; it may not be UTF-8, which shows as it
    is taken out.
    """
    try:
        text = value()
    except UnicodeDecodeError:
        return None, f"{name} is not UTF-8"
    if half_character(text):
        return None, f"{name} holds half a character, which UTF-8 cannot"
    return text if isinstance(text, str) else None, None


def _html(fs: pafs.FileSystem, path: str, settings: CorpusSection) -> Iterator[Raw]:
    with open_bytes(fs, path) as stream:
        yield Raw(page=stream.read(LARGEST + 1))


def _text(fs: pafs.FileSystem, path: str, settings: CorpusSection) -> Iterator[Raw]:
    with open_bytes(fs, path) as stream:
        body = stream.read(LARGEST_TEXT + 1)
    large = len(body) > LARGEST_TEXT
    yield Raw(error=f"text of more than {LARGEST_TEXT:,} bytes") if large else Raw(text=decode(body, None))


def _warc(fs: pafs.FileSystem, path: str, settings: CorpusSection) -> Iterator[Raw]:
    with open_bytes(fs, path) as stream:
        yield from warc_documents(stream)


def _dictd(fs: pafs.FileSystem, path: str, settings: CorpusSection) -> Iterator[Raw]:
    yield from dictd_documents(fs, path)


READERS: dict[str, Reader] = {
    "parquet": _parquet,
    "jsonl": _jsonl,
    "warc": _warc,
    "html": _html,
    "text": _text,
    "dictd": _dictd,
}
