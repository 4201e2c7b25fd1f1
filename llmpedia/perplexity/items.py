"""Questions and answers out of JSONL and Parquet, as they lie: the published records of
ElephantBench, or plain ones.

Every line or row is an item, numbered from 0 over all files in order of their names; one that
cannot be used keeps its number and says why.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow.fs as pafs

from llmpedia.errors import InputError
from llmpedia.perplexity.scores import ErrorKind
from llmpedia.perplexity.settings import ItemsSection
from llmpedia.store.input_files import (
    DAMAGE,
    at,
    find_files,
    half_character,
    json_records,
    parquet_batches,
    reason,
    uncompressed,
)

_BLOCK = 1 << 20


@dataclass(frozen=True)
class ScoringItem:
    """One question with its answers. ``error``: why it cannot be used; the rest is then what could
    be read.
    """

    number: int
    item_id: str | None
    question: str | None
    answers: tuple[str, ...]
    error: str | None = None


@dataclass(frozen=True)
class ItemSource:
    """Files with items, in order. ``sha256``: of all their bytes."""

    filesystem: pafs.FileSystem
    files: tuple[str, ...]
    sha256: str


def open_source(settings: ItemsSection) -> ItemSource:
    """Find the files and read them once for their hash.

    Raises:
        InputError: nothing to read.
    """
    where = settings.source
    files = find_files("items.source", where, lambda path: bool(_kind(path)), "a JSONL or Parquet file")
    if not files.paths or not all(map(_kind, files.paths)):
        raise InputError(
            f"items.source = {where!r}: no JSONL or Parquet there; give a file named .jsonl, "
            f".jsonl.gz, .parquet, ..."
        )
    whole = hashlib.sha256()
    try:
        for file in files.paths:
            with files.filesystem.open_input_stream(file, compression=None) as stream:
                while block := stream.read(_BLOCK):
                    whole.update(block)
    except OSError as e:
        raise InputError(f"items.source = {where!r}: cannot be read ({reason(e)})") from e
    return ItemSource(files.filesystem, files.paths, whole.hexdigest())


def read_items(source: ItemSource, settings: ItemsSection) -> Iterator[ScoringItem]:
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
        except DAMAGE as e:
            raise InputError(f"{file}: damaged after {number} items ({reason(e)}); restore it") from e


def _kind(path: str) -> str | None:
    jsonl = uncompressed(path).endswith((".jsonl", ".ndjson"))
    return "jsonl" if jsonl else "parquet" if path.lower().endswith(".parquet") else None


def _records(fs: pafs.FileSystem, path: str) -> Iterator[Any]:
    """Records of one file; a line that is no JSON comes as the error."""
    if _kind(path) == "parquet":
        for batch in parquet_batches(fs, path):
            yield from batch.to_pylist()
    else:
        yield from json_records(fs, path)


def _item(number: int, record: Any, settings: ItemsSection) -> ScoringItem:
    if not isinstance(record, dict):
        kind = (
            f"not JSON: {record}"
            if isinstance(record, Exception)
            else f"a {type(record).__name__}, not an object"
        )
        return ScoringItem(number, None, None, (), ErrorKind.ITEM.message(kind))
    published = isinstance(record.get("eval"), dict)
    item_id = at(record, settings.id or ("benchmark_id" if published else "id"))
    question_field = settings.question or ("eval.question" if published else "question")
    answers_field = settings.answers or ("eval.gold_answers" if published else "answers")
    question = at(record, question_field)
    answers = at(record, answers_field)
    name = None if item_id is None else str(item_id)
    if any(half_character(text) for text in (name, question, *_values(answers))):
        return ScoringItem(
            number,
            None,
            None,
            (),
            ErrorKind.ITEM.message("a text holds half a character, which UTF-8 cannot"),
        )
    if not isinstance(question, str) or not question.strip():
        return ScoringItem(number, name, None, (), ErrorKind.ITEM.message(f"{question_field} is no text"))
    given = _values(answers)
    values = [v for v in given if isinstance(v, str)]
    if not values or len(values) < len(given):
        return ScoringItem(
            number,
            name,
            question,
            (),
            ErrorKind.ITEM.message(
                f"{answers_field} is no list of answers (text, or objects with a text value)"
            ),
        )
    return ScoringItem(number, name, question, tuple(values))


def _values(answers: Any) -> list[Any]:
    """The answers' texts, or whatever stands in their place."""
    return (
        [a.get("value") if isinstance(a, dict) else a for a in answers] if isinstance(answers, list) else []
    )
