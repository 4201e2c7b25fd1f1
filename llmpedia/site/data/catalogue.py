"""What a site holds in memory of a run: a few numbers an entity, as arrays; everything else stays
in its Parquet files.

Reads small columns only: a run of 120,000 articles has some 400,000 entities, whose names take 10
MB and embeddings 600.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from llmpedia.errors import InputError
from llmpedia.site.data.row_reader import WaveTables

T = TypeVar("T", bound=np.generic)
Ints = npt.NDArray[np.int32]
Waves = list[tuple[int, pa.Table]]  # a table's rows with the wave they are of

NONE = -1
_COLUMNS = {
    "entities": ["entity_id", "key", "name", "hop", "parent_id"],
    "subjects": ["subject_id", "expanded"],
    "articles": ["subject_id", "words", "links"],
    "aliases": ["key", "name", "entity_id"],
}
_READERS = 4


@dataclass(frozen=True)
class Catalogue:
    """Arrays by entity; -1 stands for none. Made anew when waves are added, never changed."""

    waves: int
    names: pa.Array
    hops: Ints
    parents: Ints
    visits: Ints  # wave of its last visit
    firsts: Ints  # wave of its first visit
    articles: Ints  # wave of its article
    expanded: npt.NDArray[np.bool_]
    words: Ints
    links: Ints
    alias_names: pa.Array
    alias_of: Ints  # sorted: the entity of each alias
    numbers: dict[str, int]  # canonical key of an entity or an alias -> entity
    by_parent: Ints  # entities in order of their parents
    parents_sorted: Ints

    def children(self, number: int) -> list[int]:
        """Entities whose parent it is, in order."""
        start, end = np.searchsorted(self.parents_sorted, [number, number + 1])
        numbers: list[int] = self.by_parent[start:end].tolist()
        return numbers

    def aliases(self, number: int) -> list[str]:
        """Its other names in the order of their commits."""
        start, end = np.searchsorted(self.alias_of, [number, number + 1])
        names: list[str] = self.alias_names[int(start) : int(end)].to_pylist()
        return names


def read_catalogue(tables: WaveTables, waves: int, before: Catalogue | None = None) -> Catalogue:
    """The catalogue of the first ``waves`` commits; ``before`` holds the earlier ones already.

    Raises:
        InputError: a file is missing or damaged.
    """
    old = before or _nothing()
    parts = [(name, wave) for wave in range(old.waves, waves) for name in _COLUMNS]
    with ThreadPoolExecutor(_READERS) as pool:
        read = list(pool.map(lambda part: tables.columns(part[0], part[1], _COLUMNS[part[0]]), parts))
    by_table: dict[str, Waves] = {name: [] for name in _COLUMNS}
    for (name, wave), rows in zip(parts, read, strict=True):
        if rows.num_rows:
            by_table[name].append((wave, rows))
    arrays = _joined(tables.uri, waves, by_table, old)
    del by_table, read
    pa.default_memory_pool().release_unused()  # what the files took is several times what is kept of them
    return arrays


def _nothing() -> Catalogue:
    none = np.empty(0, np.int32)
    no = pa.array([], pa.string())
    return Catalogue(
        0, no, none, none, none, none, none, np.empty(0, np.bool_), none, none, no, none, {}, none, none
    )


def _joined(uri: str, waves: int, new: dict[str, Waves], old: Catalogue) -> Catalogue:
    entities = _column(new["entities"])
    aliases = _column(new["aliases"])
    known = len(old.names)
    ids = entities("entity_id", pa.int64()).to_numpy()
    if not np.array_equal(ids, np.arange(known, known + len(ids))):
        raise InputError(
            f"{uri}: entities are not numbered in order; llmpedia verify {uri} says what is wrong"
        )
    total = known + len(ids)
    parents = np.concatenate([old.parents, _ints(entities("parent_id", pa.int64()))])
    by_parent = np.argsort(parents, kind="stable").astype(np.int32)
    alias_of = np.concatenate([old.alias_of, _ints(aliases("entity_id", pa.int64()))])
    order = np.argsort(alias_of, kind="stable")
    numbers = dict(old.numbers)
    numbers.update(
        zip(
            aliases("key", pa.string()).to_pylist(), aliases("entity_id", pa.int64()).to_pylist(), strict=True
        )
    )
    numbers.update(zip(entities("key", pa.string()).to_pylist(), range(known, total), strict=True))
    try:
        visits, firsts, expanded = _visits(new["subjects"], old, total)
        articles, words, links = _articles(new["articles"], old, total)
    except IndexError as e:
        raise InputError(
            f"{uri}: a subject is no entity of it; llmpedia verify {uri} says what is wrong"
        ) from e
    return Catalogue(
        waves=waves,
        names=pa.concat_arrays([old.names, entities("name", pa.string())]),
        hops=np.concatenate([old.hops, _ints(entities("hop", pa.int32()))]),
        parents=parents,
        visits=visits,
        firsts=firsts,
        articles=articles,
        expanded=expanded,
        words=words,
        links=links,
        alias_names=pa.concat_arrays([old.alias_names, aliases("name", pa.string())]).take(pa.array(order)),
        alias_of=alias_of[order],
        numbers=numbers,
        by_parent=by_parent,
        parents_sorted=parents[by_parent],
    )


def _column(parts: Waves) -> Callable[[str, pa.DataType], pa.Array]:
    """A function that gives a column of all parts as one array."""

    def column(name: str, kind: pa.DataType) -> pa.Array:
        chunks: list[Any] = [chunk for _, rows in parts for chunk in rows[name].chunks]
        return pa.concat_arrays(chunks) if chunks else pa.array([], kind)

    return column


def _ints(column: Any) -> Ints:
    """A column as numbers, with -1 for null."""
    ints: Ints = column.fill_null(NONE).to_numpy().astype(np.int32)
    return ints


def _grown(old: npt.NDArray[T], total: int, value: Any) -> npt.NDArray[T]:
    return np.concatenate([old, np.full(total - len(old), value, old.dtype)])


def _visits(new: Waves, old: Catalogue, total: int) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
    visits = _grown(old.visits, total, NONE)
    firsts = _grown(old.firsts, total, NONE)
    expanded = _grown(old.expanded, total, False)
    for wave, rows in new:
        n = _ints(rows["subject_id"])
        firsts[n] = np.where(firsts[n] == NONE, wave, firsts[n])
        visits[n] = wave
        expanded[n] = rows["expanded"].to_numpy()
    return visits, firsts, expanded


def _articles(new: Waves, old: Catalogue, total: int) -> tuple[Ints, Ints, Ints]:
    waves = _grown(old.articles, total, NONE)
    words = _grown(old.words, total, 0)
    links = _grown(old.links, total, 0)
    for wave, rows in new:
        n = _ints(rows["subject_id"])
        waves[n] = wave
        words[n] = _ints(rows["words"])
        links[n] = _ints(rows["links"])
    return waves, words, links
