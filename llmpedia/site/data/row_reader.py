"""Rows of single subjects out of a run's Parquet files, one file a table and wave.

A page needs a few rows of a file that holds thousands. Row groups are chosen by their statistics,
and of those only the ones with a hit are decoded; what was decoded last is kept.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from llmpedia.errors import InputError
from llmpedia.store.run_folder import Manifest, RunFolder, TableFile
from llmpedia.tables import TABLES

Row = dict[str, Any]

_MOST_BYTES = 64 << 20
_MOST_FOOTERS = 1024


class WaveTables:
    """Committed tables by wave. Safe to use from several threads."""

    def __init__(self, run: RunFolder, most_bytes: int = _MOST_BYTES) -> None:
        """``most_bytes``: of decoded row groups to keep."""
        self._run = run
        self._most = most_bytes
        self._kept: OrderedDict[tuple[str, int], pa.Table] = OrderedDict()
        self._footers: OrderedDict[str, pq.FileMetaData] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def uri(self) -> str:
        """Of the run."""
        return self._run.uri

    @property
    def manifests(self) -> list[Manifest]:
        """Of the commits."""
        return self._run.manifests

    def columns(self, table: str, wave: int, names: list[str]) -> pa.Table:
        """Whole columns of a wave's table; empty where the wave has none. Not kept.

        Raises:
            InputError: the file is missing or damaged.
        """
        schema = pa.schema([TABLES[table].field(name) for name in names])
        file = self._file(table, wave)
        if file is None:
            return schema.empty_table()
        with self._opened(file, keep=False) as parquet:
            return _read(parquet, schema, None)

    def rows(self, table: str, wave: int, column: str, values: Sequence[Any]) -> list[Row]:
        """The rows of a wave's table with one of the values in a column, in the table's order.

        Raises:
            InputError: the file is missing or damaged.
        """
        file = self._file(table, wave)
        if file is None or not values:
            return []
        wanted = pa.array(values, TABLES[table].field(column).type)
        matches: list[Row] = []
        with self._opened(file) as parquet:
            for group in _groups(parquet.metadata, column, min(values), max(values)):
                matches += self._of_group(parquet, file, group, column, wanted)
        return matches

    def _of_group(
        self, parquet: pq.ParquetFile, file: TableFile, group: int, column: str, wanted: pa.Array
    ) -> list[Row]:
        place = (file.name, group)
        schema = TABLES[file.table]
        with self._lock:
            rows = self._kept.get(place)
            if rows is not None:
                self._kept.move_to_end(place)
        several = rows is None and parquet.metadata.num_row_groups > 1
        if (
            several
            and not _hits(_read(parquet, pa.schema([schema.field(column)]), [group]), column, wanted).size
        ):
            return []
        if rows is None:
            rows = _read(parquet, schema, [group])
            self._keep(place, rows)
        matches: list[Row] = rows.take(pa.array(_hits(rows, column, wanted))).to_pylist()
        return matches

    def _keep(self, place: tuple[str, int], rows: pa.Table) -> None:
        with self._lock:
            if place not in self._kept:
                self._kept[place] = rows
                self._bytes += rows.nbytes
            while self._bytes > self._most and len(self._kept) > 1:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes

    def _file(self, table: str, wave: int) -> TableFile | None:
        return next((f for f in self._run.manifests[wave].files if f.table == table), None)

    @contextmanager
    def _opened(self, file: TableFile, keep: bool = True) -> Iterator[pq.ParquetFile]:
        """The file for reading; its footer is parsed once if it is to be kept."""
        path = self._run.folder.path(file.name)
        with self._lock:
            footer = self._footers.get(file.name)
        try:
            # Without pyarrow's thread pools, see store.run_folder.parquet_rows.
            with (
                self._run.folder.filesystem.open_input_file(path) as source,
                pq.ParquetFile(source, metadata=footer, pre_buffer=False) as parquet,
            ):
                if footer is None:
                    _check(parquet.metadata, file, path)
                    if keep:
                        self._keep_footer(file.name, parquet.metadata)
                yield parquet
        except FileNotFoundError as e:
            raise InputError(f"{path}: missing, though its wave is committed; restore it from a copy") from e
        except (pa.ArrowException, OSError) as e:
            raise InputError(f"{path}: damaged ({type(e).__name__}); restore it from a copy") from e

    def _keep_footer(self, name: str, footer: pq.FileMetaData) -> None:
        with self._lock:
            self._footers[name] = footer
            if len(self._footers) > _MOST_FOOTERS:
                self._footers.popitem(last=False)


OpenTables = Callable[[RunFolder], WaveTables]  # what opens the tables of a run or of an audit


def _check(footer: pq.FileMetaData, file: TableFile, path: str) -> None:
    if footer.num_rows != file.rows:
        raise InputError(
            f"{path}: holds {footer.num_rows} rows, its manifest says {file.rows}; restore it from a copy"
        )


def _hits(rows: pa.Table, column: str, wanted: pa.Array) -> Any:
    return np.flatnonzero(pc.is_in(rows[column], wanted).to_numpy())


def _groups(footer: pq.FileMetaData, column: str, least: Any, most: Any) -> list[int]:
    """Row groups that may hold a value between two."""
    place = next((i for i in range(footer.num_columns) if footer.schema.column(i).path == column), None)
    if place is None:  # a column that files of earlier versions lack
        return []
    groups = []
    for group in range(footer.num_row_groups):
        statistics = footer.row_group(group).column(place).statistics
        if (
            statistics is None
            or not statistics.has_min_max
            or (statistics.min <= most and statistics.max >= least)
        ):
            groups.append(group)
    return groups


def _read(parquet: pq.ParquetFile, schema: pa.Schema, groups: list[int] | None) -> pa.Table:
    """Columns of row groups, or of all; those that files of earlier versions lack as nulls."""
    written = set(parquet.schema_arrow.names)
    there = [name for name in schema.names if name in written]
    if groups is None:
        rows = parquet.read(columns=there, use_threads=False)
    else:
        rows = parquet.read_row_groups(groups, columns=there, use_threads=False)
    for field in (f for f in schema if f.name not in there):
        rows = rows.append_column(field, pa.nulls(rows.num_rows, field.type))
    rows.validate(full=True)  # a damaged file may decode to text that is no UTF-8
    return rows.select(schema.names)
