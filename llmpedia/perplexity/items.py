"""Questions and answers out of JSONL and Parquet, as they lie: the published records of ElephantBench, or plain ones.

Every line or row is an item, numbered from 0 over all files in order of their names; one that cannot be used keeps its number
and says why.
"""

import gzip
import hashlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from llmpedia.errors import InputError
from llmpedia.perplexity.settings import ItemsSection

_COMPRESSION = {".gz": "gzip", ".zst": "zstd"}
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Item:
    """One question with its answers. ``error``: why it cannot be used; the rest is then what could be read."""

    number: int
    item_id: str | None
    question: str | None
    answers: tuple[str, ...]
    error: str | None = None


@dataclass(frozen=True)
class Source:
    """Files with items, in order. ``sha256``: of all their bytes."""

    filesystem: pafs.FileSystem
    files: tuple[str, ...]
    sha256: str


def open_source(settings: ItemsSection) -> Source:
    """Find the files and read them once for their hash.

    Raises:
        InputError: nothing to read.
    """
    where = settings.source
    try:
        fs, path = pafs.FileSystem.from_uri(where) if "://" in where else (pafs.LocalFileSystem(), str(Path(where).absolute()))
        info = fs.get_file_info(path)
        if info.type == pafs.FileType.NotFound:
            raise InputError(
                f"items.source = {where!r}: no such file ({path}); give a JSONL or Parquet file, or a folder of them"
            )
        if info.type == pafs.FileType.Directory:
            found = fs.get_file_info(pafs.FileSelector(path, recursive=True))
            files = sorted(f.path for f in found if f.type == pafs.FileType.File and _kind(f.path))
        else:
            files = [path] if info.type == pafs.FileType.File else []
        whole = hashlib.sha256()
        for file in files:
            with fs.open_input_stream(file, compression=None) as stream:
                while block := stream.read(_BLOCK):
                    whole.update(block)
    except (OSError, ValueError) as e:
        raise InputError(f"items.source = {where!r}: cannot be read ({' '.join(str(e).split())[:200]})") from e
    if not files or not all(map(_kind, files)):
        raise InputError(
            f"items.source = {where!r}: no JSONL or Parquet there; give a file named .jsonl, .jsonl.gz, .parquet, ..."
        )
    return Source(fs, tuple(files), whole.hexdigest())


def read_items(source: Source, settings: ItemsSection) -> Iterator[Item]:
    """All items, one after the other; memory holds a block of rows.

    Raises:
        InputError: a file is damaged.
    """
    number = 0
    for file in source.files:
        try:
            for record in _records(source.filesystem, file):
                yield _item(number, record, settings)
                number += 1
        except (OSError, EOFError, gzip.BadGzipFile, pa.ArrowException) as e:
            raise InputError(f"{file}: damaged after {number} items ({' '.join(str(e).split())[:200]}); restore it") from e


def _kind(path: str) -> str | None:
    name = path.lower()
    for ending in _COMPRESSION:
        name = name.removesuffix(ending)
    return "jsonl" if name.endswith((".jsonl", ".ndjson")) else "parquet" if path.lower().endswith(".parquet") else None


def _records(fs: pafs.FileSystem, path: str) -> Iterator[Any]:
    """Records of one file; a line that is no JSON comes as the error."""
    if _kind(path) == "parquet":
        with fs.open_input_file(path) as file:
            for batch in pq.ParquetFile(file, pre_buffer=False).iter_batches(batch_size=1024, use_threads=False):
                yield from batch.to_pylist()
        return
    ending = Path(path).suffix.lower()
    with fs.open_input_stream(path, compression=_COMPRESSION.get(ending)) as stream:
        for line in io.BufferedReader(stream):
            if line.strip():
                yield _line(line)


def _line(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as e:
        return e


def _item(number: int, record: Any, settings: ItemsSection) -> Item:
    if not isinstance(record, dict):
        kind = f"not JSON: {record}" if isinstance(record, Exception) else f"a {type(record).__name__}, not an object"
        return Item(number, None, None, (), f"item: {kind}")
    published = isinstance(record.get("eval"), dict)
    item_id = _at(record, settings.id or ("benchmark_id" if published else "id"))
    question_field = settings.question or ("eval.question" if published else "question")
    answers_field = settings.answers or ("eval.gold_answers" if published else "answers")
    question, answers = _at(record, question_field), _at(record, answers_field)
    name = None if item_id is None else str(item_id)
    if any(_half_character(text) for text in (name, question, *_values(answers))):
        return Item(number, None, None, (), "item: a text holds half a character, which UTF-8 cannot")
    if not isinstance(question, str) or not question.strip():
        return Item(number, name, None, (), f"item: {question_field} is no text")
    given = _values(answers)
    values = [v for v in given if isinstance(v, str)]
    if not values or len(values) < len(given):
        return Item(
            number, name, question, (), f"item: {answers_field} is no list of answers (text, or objects with a text value)"
        )
    return Item(number, name, question, tuple(values))


def _values(answers: Any) -> list[Any]:
    """The answers' texts, or whatever stands in their place."""
    return [a.get("value") if isinstance(a, dict) else a for a in answers] if isinstance(answers, list) else []


def _half_character(text: Any) -> bool:
    return isinstance(text, str) and any("\ud800" <= c <= "\udfff" for c in text)


def _at(record: Any, path: str) -> Any:
    for key in path.split("."):
        record = record.get(key) if isinstance(record, dict) else None
    return record
