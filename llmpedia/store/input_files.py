"""What a user names as a source: a file, a folder or a URI; and the records of JSONL and Parquet
files in it.
"""

import gzip
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from llmpedia.errors import InputError

DAMAGE = (OSError, EOFError, gzip.BadGzipFile, pa.ArrowException)
"""What a file raises as it is read where it is not whole."""
_COMPRESSION = {".gz": "gzip", ".zst": "zstd", ".dz": "gzip"}


@dataclass(frozen=True)
class Files:
    """Files of a source, in order of their paths. ``root``: the folder that their names are told
    from.
    """

    filesystem: pafs.FileSystem
    root: str
    paths: tuple[str, ...]

    def name(self, path: str) -> str:
        """A file's path as the source holds it: the same wherever the source lies."""
        return path.removeprefix(self.root).lstrip("/")


def open_place(where: str) -> tuple[pafs.FileSystem, str]:
    """The filesystem of a local path or a URI, and the path in it.

    Raises:
        OSError, ValueError: there is no such filesystem.
    """
    return (
        pafs.FileSystem.from_uri(where)
        if "://" in where
        else (pafs.LocalFileSystem(), str(Path(where).absolute()))
    )


def find_files(setting: str, where: str, wanted: Callable[[str], bool], what: str) -> Files:
    """The file a setting names, or those files of a folder, at any depth, whose path is ``wanted``.
    ``what``: one of them.

    Raises:
        InputError: there is nothing of that name.
    """
    try:
        fs, path = open_place(where)
        info = fs.get_file_info(path)
        if info.type == pafs.FileType.Directory:
            infos = fs.get_file_info(pafs.FileSelector(path, recursive=True))
            paths = sorted(f.path for f in infos if f.type == pafs.FileType.File and wanted(f.path))
            return Files(fs, path, tuple(paths))
    except (OSError, ValueError) as e:
        raise InputError(f"{setting} = {where!r}: cannot be read ({reason(e)})") from e
    if info.type != pafs.FileType.File:
        raise InputError(f"{setting} = {where!r}: no such file ({path}); give {what}, or a folder of them")
    return Files(fs, path.rpartition("/")[0], (path,))


def uncompressed(path: str) -> str:
    """A file's path in lower case without the ending that names its compression."""
    name = path.lower()
    for ending in _COMPRESSION:
        name = name.removesuffix(ending)
    return name


def open_bytes(fs: pafs.FileSystem, path: str) -> pa.NativeFile:
    """A file from its beginning, decompressed as its name says; raises one of :data:`DAMAGE` where
    it ends too early.
    """
    return fs.open_input_stream(path, compression=_COMPRESSION.get(Path(path).suffix.lower()))


def json_records(fs: pafs.FileSystem, path: str) -> Iterator[Any]:
    """Records of a JSONL file; a line that is no JSON comes as the error, one without anything not
    at all.
    """
    with open_bytes(fs, path) as stream:
        for line in io.BufferedReader(stream):
            if line.strip():
                yield _record(line)


def parquet_batches(
    fs: pafs.FileSystem, path: str, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """A Parquet file in batches. ``columns``: only these."""
    with fs.open_input_file(path) as file:
        table = pq.ParquetFile(file, pre_buffer=False)
        yield from table.iter_batches(batch_size=1024, use_threads=False, columns=columns)


def at(record: Any, path: str) -> Any:
    """What lies under a key of a record, or under ``a.b`` in the one below it; None: nothing."""
    for key in path.split("."):
        record = record.get(key) if isinstance(record, dict) else None
    return record


def half_character(text: Any) -> bool:
    """Whether a text holds what JSON can write and UTF-8 cannot."""
    return isinstance(text, str) and any("\ud800" <= c <= "\udfff" for c in text)


def reason(error: BaseException) -> str:
    """An error in one short line."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def _record(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as e:
        return e
