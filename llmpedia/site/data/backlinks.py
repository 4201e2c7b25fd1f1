"""What links here: for each entity the articles that link it, gathered in the background from the
candidates of all waves.

6 million links take 2 s to gather and 8 bytes each to keep.
"""

import logging
import threading

import numpy as np
import numpy.typing as npt

from llmpedia.errors import InputError
from llmpedia.site.data.catalogue import NONE, Catalogue
from llmpedia.site.data.row_reader import WaveTables

_BITS = 32
_log = logging.getLogger(__name__)


class Incoming:
    """Links of one catalogue; gathering begins when they are first asked for."""

    def __init__(self, tables: WaveTables, catalogue: Catalogue) -> None:
        self._tables = tables
        self._catalogue = catalogue
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._links: npt.NDArray[np.int64] | None = (
            None  # sorted: the linked entity in the upper bits, the article in the lower
        )

    def of(self, number: int, most: int) -> list[int] | None:
        """The first articles that link an entity, those nearest to the seed first; None: not
        gathered yet.
        """
        self.begin()
        if self._links is None:
            return None
        start, end = np.searchsorted(self._links, [number << _BITS, (number + 1) << _BITS])
        linking: list[int] = (self._links[start : min(end, start + most)] & ((1 << _BITS) - 1)).tolist()
        return linking

    def begin(self) -> threading.Thread:
        """Gather them, unless that has begun."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._gather, daemon=True, name="links")
                self._thread.start()
            return self._thread

    def stop(self) -> None:
        """End the gathering."""
        self._stopped = True

    def _gather(self) -> None:
        manifests = self._tables.manifests[: self._catalogue.waves]
        links = np.empty(sum(f.rows for m in manifests for f in m.files if f.table == "candidates"), np.int64)
        end = 0
        for wave in range(self._catalogue.waves):
            if self._stopped:
                return
            try:
                rows = self._tables.columns("candidates", wave, ["parent_id", "entity_id"])
            except InputError as e:  # the page of an article of this wave says so too
                _log.warning("what links here is left out: %s", e)
                return
            to, by = (rows[name].fill_null(NONE).to_numpy() for name in ("entity_id", "parent_id"))
            # Where a subject was expanded anew, the links of its last visit count.
            kept = (to != NONE) & (by != NONE) & (self._catalogue.visits[by] == wave) & (to != by)
            begin = end
            end = end + int(np.count_nonzero(kept))
            links[begin:end] = (to[kept] << _BITS) + by[kept]
        links = links[:end]
        links.sort()
        first = np.ones(
            len(links), np.bool_
        )  # an article that links an entity and one of its aliases is named once
        first[1:] = links[1:] != links[:-1]
        self._links = links[first]
