"""A run is a folder: ``run.yaml`` once, then one atomic manifest a wave, and the tables each
manifest names.

A wave's tables become visible by its manifest alone, written last. Readers see committed waves
only. Every manifest holds its own sha256 and its predecessor's, so that a lost or altered one is
found on opening, never taken for a shorter run.
"""

import hashlib
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from llmpedia.errors import InputError
from llmpedia.store import journal
from llmpedia.store.commit_times import write_moment
from llmpedia.store.files import Folder, wave_of
from llmpedia.store.kinds import RunKind
from llmpedia.store.lease import Lease
from llmpedia.tables import TABLES

FORMAT = 1
RUN_FILE = "run.yaml"
_GROUP_BYTES = 2 << 20


@dataclass(frozen=True)
class TableFile:
    """One table of one wave. ``content``: sha256 of the rows as an Arrow stream, whatever the
    Parquet writer.
    """

    table: str
    name: str
    rows: int
    bytes: int
    sha256: str
    content: str


@dataclass(frozen=True)
class Manifest:
    """What one commit holds. ``facts``: hop, counts, caps and totals; see docs/run-format.md."""

    wave: int
    previous: str
    facts: Mapping[str, Any]
    files: tuple[TableFile, ...]
    sha256: str

    @classmethod
    def make(cls, wave: int, previous: str, facts: Mapping[str, Any], files: Iterable[TableFile]) -> Self:
        """A manifest with its own checksum filled in."""
        unsigned = cls(wave, previous, facts, tuple(files), "")
        return cls(wave, previous, facts, unsigned.files, unsigned.digest())

    def digest(self) -> str:
        """sha256 (hex) of everything but the checksum itself."""
        return hashlib.sha256(json.dumps(self._data(), sort_keys=True).encode()).hexdigest()

    def dumps(self) -> bytes:
        """The file's content."""
        return (json.dumps({**self._data(), "sha256": self.sha256}, indent=1, sort_keys=True) + "\n").encode()

    def _data(self) -> dict[str, Any]:
        files = [f.__dict__ for f in self.files]
        return {
            "format": FORMAT,
            "wave": self.wave,
            "previous": self.previous,
            "facts": dict(self.facts),
            "files": files,
        }

    @classmethod
    def loads(cls, raw: bytes, path: str) -> Self:
        """Read and check one.

        Raises:
            InputError: damaged; the message names the file.
        """
        try:
            data = json.loads(raw)
            if data["format"] != FORMAT:
                raise InputError(
                    f"{path}: format {data['format']}, this version reads {FORMAT}; use the "
                    f"version that wrote it"
                )
            manifest = cls(
                data["wave"],
                data["previous"],
                data["facts"],
                tuple(TableFile(**f) for f in data["files"]),
                data["sha256"],
            )
        except (ValueError, KeyError, TypeError) as e:
            raise InputError(
                f"{path}: manifest is not readable ({type(e).__name__}: {e}); restore it from a copy"
            ) from e
        if manifest.digest() != manifest.sha256:
            raise InputError(
                f"{path}: manifest has a wrong checksum; it was altered after it was written; "
                f"restore it from a copy"
            )
        return manifest


class RunFolder:
    """The committed state of a run. Opening checks every manifest; ``verify`` checks the rest."""

    def __init__(self, uri: str) -> None:
        self.folder = Folder(uri)
        self.manifests: list[Manifest] = []

    @property
    def uri(self) -> str:
        """As given."""
        return self.folder.uri

    @property
    def last_wave(self) -> int:
        """Number of the last committed wave; -1 before the first."""
        return len(self.manifests) - 1

    @classmethod
    def open(cls, uri: str) -> Self:
        """Open an existing run.

        Raises:
            InputError: no run there, or a damaged one.
        """
        run = cls(uri)
        if not run.folder.exists(RUN_FILE):
            inside = (
                f"one of {uri.rstrip('/')}/models/"
                if run.folder.exists("models")
                else "the folder of a run, such as runs/demo"
            )
            raise InputError(f"{uri}: no {RUN_FILE} there; give {inside}")
        run.refresh()
        return run

    @classmethod
    def create_or_open(cls, uri: str, description: dict[str, Any]) -> Self:
        """Open the run if it exists and is the same one; begin it otherwise.

        Raises:
            InputError: another run lies there, or a damaged one.
        """
        run = cls(uri)
        begun = set(run.folder.list("", recursive=True)) - {RUN_FILE, "lease.json"}
        if begun and run.folder.exists(RUN_FILE):
            _same_run(run.description(), description, uri)
        elif begun:
            raise InputError(
                f"{uri}: holds files but no {RUN_FILE}; choose an empty folder, or restore {RUN_FILE}"
            )
        else:
            run.folder.write(
                RUN_FILE, yaml.safe_dump(description, sort_keys=False, allow_unicode=True).encode()
            )
        run.refresh()
        return run

    def description(self) -> dict[str, Any]:
        """What ``run.yaml`` says."""
        try:
            data: dict[str, Any] = yaml.safe_load(self.folder.read(RUN_FILE))
            return {"identity_hash": data["identity_hash"], **data}
        except (yaml.YAMLError, TypeError, KeyError) as e:
            raise InputError(
                f"{self.folder.path(RUN_FILE)}: damaged ({type(e).__name__}); restore it from a copy"
            ) from e

    @property
    def last(self) -> "Manifest | None":
        """The manifest of the last commit; None before the first."""
        return self.manifests[-1] if self.manifests else None

    @property
    def totals(self) -> dict[str, Any]:
        """Running totals as of the last commit; empty before the first."""
        return self.manifests[-1].facts["totals"] if self.manifests else {}

    @cached_property
    def kind(self) -> RunKind:
        """What it holds, as ``run.yaml`` says.

        Raises:
            InputError: it is damaged, or names a kind that this version does not know.
        """
        name = self.description().get("kind", RunKind.WALK)
        if name not in set(RunKind):
            raise InputError(
                f"{self.folder.path(RUN_FILE)}: kind {name!r} is not known; this version reads "
                f"{', '.join(RunKind)}: take the one that wrote it"
            )
        return RunKind(name)

    def refresh(self) -> None:
        """Read manifests committed since the last look.

        Raises:
            InputError: one is damaged or missing.
        """
        # In this order: whatever lies here now has its manifest by the time that waves are listed,
        # or still has a journal.
        tables = self.folder.list("tables", recursive=True)
        journaled = journal.waves_with_pieces(self.folder)
        names = self.folder.list("waves")
        for wave in range(len(self.manifests), len(names)):
            path = manifest_name(wave)
            if path not in names:
                raise InputError(
                    f"{self.folder.path(path)}: missing, though later waves are there; restore it from a copy"
                )
            manifest = Manifest.loads(self.folder.read(path), self.folder.path(path))
            previous = self.manifests[-1].sha256 if self.manifests else ""
            if manifest.previous != previous or manifest.wave != wave:
                raise InputError(
                    f"{self.folder.path(path)}: does not follow the manifest before it; restore the right one"
                )
            self.manifests.append(manifest)
        for name in tables:
            wave = wave_of(name) or 0
            answered = name.startswith("tables/completions/") and wave not in journaled
            if wave > len(self.manifests) or (wave == len(self.manifests) and answered):
                path = self.folder.path(manifest_name(wave))
                raise InputError(
                    f"{path}: manifest missing, though its wave's tables are there; restore it from a copy"
                )

    def uncommitted(self) -> list[str]:
        """Table files that no manifest names: what a commit cut short has left. The next commit
        overwrites them.
        """
        named = {f.name for m in self.manifests for f in m.files}
        return [n for n in self.folder.list("tables", recursive=True) if n not in named]

    def clean(self) -> None:
        """Remove what a crash left behind: uncommitted tables and journals of committed waves. Only
        for the lease's owner.
        """
        for name in self.uncommitted():
            self.folder.remove(name)
        for wave in journal.waves_with_pieces(self.folder):
            if wave <= self.last_wave:
                self.folder.remove(journal.wave_folder(wave))

    def commit(self, lease: Lease, tables: Mapping[str, pa.Table], facts: Mapping[str, Any]) -> Manifest:
        """Make the next wave visible: tables first, the manifest last; then its journal goes.

        Raises:
            InputError: a write failed or the lease was lost; nothing is visible then.
        """
        wave = len(self.manifests)
        lease.check()
        files = [
            self._write_table(name, wave, tables[name])
            for name in TABLES
            if name in tables and tables[name].num_rows
        ]
        previous = self.manifests[-1].sha256 if self.manifests else ""
        manifest = Manifest.make(wave, previous, facts, files)
        lease.check()
        write_moment(self.folder, wave, lease.moment())
        self.folder.write(manifest_name(wave), manifest.dumps())
        self.manifests.append(manifest)
        self.folder.remove(journal.wave_folder(wave))
        return manifest

    def _write_table(self, table: str, wave: int, rows: pa.Table) -> TableFile:
        name = table_name(table, wave)
        data = parquet_bytes(rows)
        self.folder.write(name, data)
        return TableFile(
            table, name, rows.num_rows, len(data), hashlib.sha256(data).hexdigest(), content_hash(data)
        )

    def read(
        self, table: str, waves: Iterable[int] | None = None, columns: list[str] | None = None
    ) -> pa.Table:
        """Committed rows of a table in commit order, with a ``wave`` column.

        Raises:
            InputError: a file that a manifest names is missing or damaged.
        """
        schema = TABLES[table] if columns is None else pa.schema([TABLES[table].field(c) for c in columns])
        schema = schema.append(pa.field("wave", pa.int32()))
        parts = [schema.empty_table()]
        for wave in range(len(self.manifests)) if waves is None else waves:
            for file in self.manifests[wave].files:
                if file.table == table:
                    rows = _widened(self._read_file(file, columns), schema)
                    parts.append(
                        rows.append_column("wave", pa.array([wave] * rows.num_rows, pa.int32())).cast(schema)
                    )
        return pa.concat_tables(parts)

    def _read_file(self, file: TableFile, columns: list[str] | None) -> pa.Table:
        path = self.folder.path(file.name)
        try:
            rows = self._columns(file.name, columns) if columns else parquet_rows(self.folder.read(file.name))
        except FileNotFoundError as e:
            raise InputError(f"{path}: missing, though its wave is committed; restore it from a copy") from e
        except (pa.ArrowException, OSError) as e:
            raise InputError(f"{path}: damaged ({type(e).__name__}); restore it from a copy") from e
        if rows.num_rows != file.rows:
            raise InputError(
                f"{path}: holds {rows.num_rows} rows, its manifest says {file.rows}; restore it from a copy"
            )
        return rows

    def _columns(self, name: str, columns: list[str]) -> pa.Table:
        """Columns of a file without the bytes of its others, which embeddings make many."""
        with self.folder.filesystem.open_input_file(self.folder.path(name)) as file:
            there = pq.ParquetFile(file, pre_buffer=False)
            return there.read([c for c in columns if c in there.schema_arrow.names], use_threads=False)

    def fingerprint(self) -> str:
        """sha256 (hex) over the committed content in order; equal for two runs from the same
        completions.
        """
        whole = hashlib.sha256()
        for manifest in self.manifests:
            for file in manifest.files:
                whole.update(f"{manifest.wave} {file.table} {file.rows} {file.content}\n".encode())
        return whole.hexdigest()


def _widened(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows with the columns that files of earlier versions lack, as nulls."""
    missing = [f for f in schema if f.name != "wave" and f.name not in rows.column_names]
    for f in missing:
        rows = rows.append_column(f, pa.nulls(rows.num_rows, f.type))
    return rows.select([f.name for f in schema if f.name != "wave"]) if missing else rows


def manifest_name(wave: int) -> str:
    """Where the manifest of a wave lies."""
    return f"waves/{wave:05d}.json"


def table_name(table: str, wave: int) -> str:
    """Where a table of a wave lies."""
    return f"tables/{table}/wave={wave:05d}/part.parquet"


def parquet_bytes(rows: pa.Table) -> bytes:
    """The table as a Parquet file."""
    sink = io.BytesIO()
    # Groups of some MB, so that who wants the rows of one subject need not decode a wave of
    # thousands.
    group = max(256, rows.num_rows * _GROUP_BYTES // max(1, rows.nbytes))
    pq.write_table(rows, sink, compression="zstd", row_group_size=min(group, 1 << 20))
    return sink.getvalue()


def parquet_rows(data: bytes, columns: list[str] | None = None) -> pa.Table:
    """The rows of a Parquet file.

    Without pyarrow's thread pools: once started, they make about one interpreter in twenty abort as
    it exits.
    """
    return pq.ParquetFile(pa.BufferReader(data), pre_buffer=False).read(columns=columns, use_threads=False)


def content_hash(data: bytes) -> str:
    """sha256 (hex) of the rows of a Parquet file as an Arrow stream of one batch, without metadata."""
    rows = parquet_rows(data).combine_chunks()
    sink = io.BytesIO()
    schema = pa.schema([pa.field(f.name, f.type) for f in rows.schema])
    with pa.ipc.new_stream(sink, schema) as stream:
        stream.write_table(rows.cast(schema))
    return hashlib.sha256(sink.getvalue()).hexdigest()


def _same_run(there: dict[str, Any], here: dict[str, Any], uri: str) -> None:
    if there["identity_hash"] != here["identity_hash"]:
        changed = _first_difference(there.get("identity", {}), here["identity"], "")
        raise InputError(
            f"{uri}: is a run of other settings ({changed}); give another folder, or the settings "
            f"in its {RUN_FILE}"
        )
    if there.get("seeds") != here["seeds"]:
        raise InputError(f"{uri}: its seed titles differ from the ones given now; give another folder")
    for name, sha in here["prompts"].items():
        if there.get("prompts", {}).get(name) != sha:
            raise InputError(f"{uri}: prompt {name} has changed since the run began; give another folder")


def _first_difference(there: Any, here: Any, path: str) -> str:
    if isinstance(there, dict) and isinstance(here, dict):
        for key in [*here, *there]:
            if there.get(key) != here.get(key):
                return _first_difference(there.get(key), here.get(key), f"{path}.{key}".lstrip("."))
    return f"{path} was {there!r}, is {here!r}"
