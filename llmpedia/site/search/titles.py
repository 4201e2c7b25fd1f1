"""Titles and aliases as they are typed: a sorted list in memory of every name from each of its
words on.
"""

from bisect import bisect_left, bisect_right
from itertools import islice

import numpy as np

from llmpedia.site.data.catalogue import NONE, Catalogue
from llmpedia.site.text.normalize import tokens

_WORDS = 12  # beginnings of a name that can be searched for
_INSIDE = 2 << 40  # ranks from here on are those of words inside a name
_WHOLE = 1 << 50
_AFTER = "\U0010ffff"


class Titles:
    """The names of the written entities of a catalogue. Some 150 bytes a word of a name; 1 s for
    120,000 articles.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        written = np.flatnonzero(catalogue.articles != NONE)
        aliased = np.flatnonzero(catalogue.articles[catalogue.alias_of] != NONE)
        names = [tokens(name) for name in catalogue.names.take(written).to_pylist()]
        others = [tokens(name) for name in catalogue.alias_names.take(aliased).to_pylist()]
        numbers = [*written.tolist(), *catalogue.alias_of[aliased].tolist()]
        entries: list[tuple[str, int, int]] = []
        for place, (name, number) in enumerate(zip([*names, *others], numbers, strict=True)):
            kind = 0 if place < len(names) else 1
            entries.append((name, kind, number))
            at = name.find(" ") + 1
            for _ in range(_WORDS - 1):
                if not at:
                    break
                entries.append((name[at:], kind + 2, number))
                at = name.find(" ", at) + 1
        entries.sort()
        self._keys = [key for key, _, _ in entries]
        self._numbers = np.array([number for _, _, number in entries], np.int32)
        kinds = np.array([kind for _, kind, _ in entries], np.int64)
        lengths = np.array([len(key) for key, _, _ in entries], np.int64)
        self._ranks = (kinds << 40) + (catalogue.hops[self._numbers].astype(np.int64) << 20) + lengths

    def find(self, query: str, most: int) -> list[int]:
        """Entities one of whose names has the query's words in a row, the last one perhaps cut
        short; the best ones first.

        Best is the whole name, then its beginning, then an alias, then words inside; of these the
        nearest to the seed.
        """
        wanted = tokens(query)
        if not wanted:
            return []
        start = bisect_left(self._keys, wanted)
        whole = bisect_right(self._keys, wanted, start)
        end = bisect_left(self._keys, wanted + _AFTER, whole)
        ranks = self._ranks[start:end].copy()
        ranks[: whole - start] -= _WHOLE * (ranks[: whole - start] < _INSIDE)
        wide = min(_WORDS * most, len(ranks))  # an entity may be found by several of its names
        best = np.argpartition(ranks, wide - 1)[:wide] if wide else np.empty(0, np.int64)
        ordered = self._numbers[start:end][best[np.lexsort((self._numbers[start:end][best], ranks[best]))]]
        return list(islice(dict.fromkeys(ordered.tolist()), most))
