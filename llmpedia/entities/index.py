"""The committed entities: keys, names, contexts and a FAISS index of name embeddings. Owned by one
Ray actor.

All of its state is read from the run's committed tables, so it can die at any moment and comes back
the same. Search is exact; cosines are rounded to six decimals, so that ties and the threshold do
not hang on the last bits of a matrix product.

Two calls may run at once: a search of a large wave takes seconds, and the screens of the next wave
must not wait for it.
"""

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from llmpedia.errors import InputError
from llmpedia.store.run_folder import RunFolder
from llmpedia.wikitext import first_words

Vectors = npt.NDArray[np.float32]
Cosines = npt.NDArray[np.float64]

_BLOCK = 1024


@dataclass(frozen=True)
class Neighbour:
    """``entity_id`` of a committed entity, or ``query``: number of an earlier name of the same
    wave. The other is None.
    """

    cosine: float
    entity_id: int | None
    query: int | None


@dataclass
class Known:
    """What the arbiter is told of a committed entity."""

    name: str
    parent: str | None
    sentence: str | None
    lead: str | None


@dataclass
class _Columns:
    names: list[str] = field(default_factory=list)
    parents: list[int | None] = field(default_factory=list)
    sentences: list[str | None] = field(default_factory=list)
    leads: dict[int, str] = field(default_factory=dict)


class EntityIndex:
    """Every method that reads takes ``upto``: the wave whose commit it must have seen. One search
    at a time.
    """

    def __init__(self, run_uri: str, threshold: float, neighbours: int, lead_words: int) -> None:
        """``threshold``: least cosine of a neighbour; ``neighbours``: most of them; ``lead_words``:
        length of a lead.
        """
        self._run = RunFolder.open(run_uri)
        self._threshold = threshold
        self._neighbours = neighbours
        self._lead_words = lead_words
        self._keys: dict[str, tuple[int, int]] = {}
        self._columns = _Columns()
        self._vectors: Any = None
        self._fresh: list[Vectors] = []
        self._loaded = -1
        self._loading = threading.Lock()
        self._searching = threading.Lock()
        self._load()

    def _need(self, upto: int) -> None:
        with self._loading:
            if self._loaded < upto:
                self._run.refresh()
                self._load()
        if self._loaded < upto:
            raise InputError(f"{self._run.uri}: wave {upto} is not committed (last is {self._loaded})")

    def _load(self) -> None:
        for wave in range(self._loaded + 1, self._run.last_wave + 1):
            entities = self._run.read("entities", [wave])
            aliases = self._run.read("aliases", [wave], ["key", "entity_id"])
            for rows in (entities, aliases):
                ids = rows["entity_id"].to_pylist()
                self._keys.update({k: (n, wave) for k, n in zip(rows["key"].to_pylist(), ids, strict=True)})
            self._columns.names += entities["name"].to_pylist()
            self._columns.parents += entities["parent_id"].to_pylist()
            self._columns.sentences += entities["sentence"].to_pylist()
            articles = self._run.read("articles", [wave], ["subject_id", "lead"])
            for n, lead in zip(articles["subject_id"].to_pylist(), articles["lead"].to_pylist(), strict=True):
                self._columns.leads[n] = first_words(lead, self._lead_words)
            if entities.num_rows and entities["embedding"].null_count == 0:
                self._fresh.append(np.stack(entities["embedding"].to_numpy()).astype(np.float32))
            self._loaded = wave

    def _add_fresh(self) -> None:
        """What was loaded since the last search joins the index here: faiss must not be added to
        while it is searched.
        """
        with self._loading:
            fresh = self._fresh
            self._fresh = []
        for vectors in fresh:
            if self._vectors is None:
                self._vectors = _new_index(vectors.shape[1])
            self._vectors.add(vectors)

    def screen(self, keys: list[str], upto: int) -> list[int | None]:
        """The entity each key names in commits up to ``upto`` and no later; None if there is none."""
        self._need(upto)
        numbers = (self._keys.get(k) for k in keys)
        return [hit[0] if hit and hit[1] <= upto else None for hit in numbers]

    def neighbours(self, vectors: Vectors, upto: int) -> list[list[Neighbour]]:
        """For each unit vector its nearest committed entities and earlier vectors at or above the
        threshold.

        Args:
            vectors: float32, [n, d].
            upto: must be the last committed wave.

        Returns:
            n lists, nearest first, at most ``neighbours`` long.
        """
        self._need(upto)
        neighbours: list[list[Neighbour]] = [[] for _ in range(len(vectors))]
        with self._searching:
            self._add_fresh()
            self._search_committed(vectors, neighbours)
        for start in range(0, len(vectors), _BLOCK):
            block = _rounded(vectors[start : start + _BLOCK] @ vectors[: start + _BLOCK].T)
            rows, columns = np.nonzero(block >= self._threshold)
            for r, c in zip(rows.tolist(), columns.tolist(), strict=True):
                if c < start + r:
                    neighbours[start + r].append(Neighbour(float(block[r, c]), None, c))
        return [sorted(hits, key=_nearest_first)[: self._neighbours] for hits in neighbours]

    def _search_committed(self, vectors: Vectors, neighbours: list[list[Neighbour]]) -> None:
        if self._vectors is None or not len(vectors):
            return
        last = self._neighbours - 1
        k = min(last + 2, self._vectors.ntotal)
        cosines, ids = self._search(vectors, k)
        # faiss cuts by the last bits; as long as a row's cut goes through a tie, look further, so
        # that the lower number wins
        while (
            k < self._vectors.ntotal
            and ((cosines[:, -1] >= self._threshold) & (cosines[:, -1] == cosines[:, last])).any()
        ):
            k = min(2 * k, self._vectors.ntotal)
            cosines, ids = self._search(vectors, k)
        for hits, cosine_row, id_row in zip(neighbours, cosines.tolist(), ids.tolist(), strict=True):
            hits += [
                Neighbour(c, n, None)
                for c, n in zip(cosine_row, id_row, strict=True)
                if n >= 0 and c >= self._threshold
            ]

    def _search(self, vectors: Vectors, k: int) -> tuple[Cosines, npt.NDArray[np.int64]]:
        cosines, ids = self._vectors.search(np.ascontiguousarray(vectors), k)
        return _rounded(cosines), ids

    def describe(self, entity_ids: list[int], upto: int) -> list[Known]:
        """Name, parent's name, sentence and lead of committed entities."""
        self._need(upto)
        names = self._columns.names
        out = []
        for n in entity_ids:
            parent = self._columns.parents[n]
            lead = self._columns.leads.get(n)
            out.append(
                Known(names[n], None if parent is None else names[parent], self._columns.sentences[n], lead)
            )
        return out


def _rounded(cosines: Vectors) -> Cosines:
    """To six decimals, in double precision: single precision has no 0.9."""
    return cosines.astype(np.float64).round(6)


def _nearest_first(hit: Neighbour) -> tuple[float, int, int]:
    if hit.entity_id is not None:
        return (-hit.cosine, 0, hit.entity_id)
    assert hit.query is not None
    return (-hit.cosine, 1, hit.query)


def _new_index(dimension: int) -> Any:
    """An exact inner-product index: on the GPUs if faiss sees any, else on the CPU."""
    import faiss

    # Below its default threshold faiss scans vector by vector, 13 to 25 times slower than the
    # matrix product.
    faiss.cvar.distance_compute_blas_threshold = 1
    index = faiss.IndexFlatIP(dimension)
    return faiss.index_cpu_to_all_gpus(index) if getattr(faiss, "get_num_gpus", lambda: 0)() else index
