"""The journal: every completion is durable before anything is built on it.

``journal/wave=00007/TIME-WRITER.jsonl`` are small immutable pieces: one JSON record a line, and a
last line with their count and sha256. A piece is written atomically, so one that does not add up
was damaged afterwards; it is named, never skipped. Pieces go when their wave is committed: the
completions table then holds what they held.
"""

import hashlib
import json
import time
from collections.abc import Iterator
from typing import Any

from llmpedia.errors import InputError
from llmpedia.stages import Completion, Request
from llmpedia.store.files import Folder, wave_of

Record = dict[str, Any]


def wave_folder(wave: int) -> str:
    """Where the pieces of a wave lie."""
    return f"journal/wave={wave:05d}"


def completion_record(request: Request, completion: Completion, reused: bool = False) -> Record:
    """The journal's form of one answered request. ``reused``: another run had been answered it, and
    nobody was asked.
    """
    record = {
        "key": request.key,
        "stage": request.stage,
        "model": request.model,
        "messages": request.messages,
        "constraint": request.constraint,
        "sampling": request.sampling,
        "completion": completion.__dict__,
    }
    return {**record, "reused": True} if reused else record


class JournalWriter:
    """Appends pieces for one wave. One writer a process; ``writer`` tells them apart."""

    def __init__(self, folder: Folder, wave: int, writer: str) -> None:
        self._folder = folder
        self._wave = wave
        self._writer = writer
        self._last = 0

    def append(self, records: list[Record]) -> None:
        """Write one piece; durable on return.

        Raises:
            InputError: it cannot be written.
        """
        self._last = max(self._last + 1, time.time_ns())
        body = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records).encode()
        trailer = json.dumps({"records": len(records), "sha256": hashlib.sha256(body).hexdigest()}).encode()
        self._folder.write(
            f"{wave_folder(self._wave)}/{self._last:020d}-{self._writer}.jsonl", body + trailer + b"\n"
        )


def read_piece(folder: Folder, name: str) -> list[Record]:
    """The records of one piece.

    Raises:
        InputError: the piece is torn; the message names it.
    """
    raw = folder.read(name)
    body, _, last = raw.rstrip(b"\n").rpartition(b"\n")
    body += b"\n" if body else b""
    try:
        trailer = json.loads(last)
        count = trailer["records"]
        whole = trailer["sha256"] == hashlib.sha256(body).hexdigest()
    except (ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        raise InputError(
            f"{folder.path(name)}: journal piece is torn (its checksum does not match); restore "
            f"it, or delete it to have its "
            "requests asked again"
        )
    records: list[Record] = [json.loads(line) for line in body.splitlines()]
    if len(records) != count:
        raise InputError(
            f"{folder.path(name)}: journal piece holds {len(records)} records, not {count}; restore it"
        )
    return records


def read_wave(folder: Folder, wave: int) -> dict[str, Record]:
    """Key -> record of a wave's journal; of two records with one key the earlier piece wins.

    Raises:
        InputError: a piece is torn.
    """
    records: dict[str, Record] = {}
    for record in _records(folder, wave):
        if "completion" in record:
            records.setdefault(record["key"], record)
    return records


def reused_keys(folder: Folder, wave: int) -> set[str]:
    """Keys of a wave's journal that other runs had been answered.

    Raises:
        InputError: a piece is torn.
    """
    return {record["key"] for record in _records(folder, wave) if record.get("reused")}


def read_batches(folder: Folder, wave: int) -> list[Record]:
    """Records of a wave's journal that tell of batches (see ``engines.openai_batch``), earliest
    first.

    Raises:
        InputError: a piece is torn.
    """
    return [record for record in _records(folder, wave) if "completion" not in record]


def _records(folder: Folder, wave: int) -> Iterator[Record]:
    for name in folder.list(wave_folder(wave)):
        yield from read_piece(folder, name)


def waves_with_pieces(folder: Folder) -> list[int]:
    """Waves that have a journal."""
    return sorted({w for name in folder.list("journal", recursive=True) if (w := wave_of(name)) is not None})


def as_completion(record: Record) -> Completion:
    """The completion in a record."""
    return Completion(**record["completion"])
