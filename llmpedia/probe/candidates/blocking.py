"""Which documents of a large bucket are compared, since all pairs of it would be too many: a
bounded number for each.

A bucket holds the documents that speak of one attribute of one subject. Those that share rare words
are likely to speak of it in the same context. Rare words alone would leave a document with a figure
of its own among neighbours that agree with it, or with none at all, so each is also compared with
some documents of its own account and of the largest other accounts.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from llmpedia.probe.candidates.text_sketches import Ints, Rows, rarest

_WORDS = 16  # of a document, by which it looks for neighbours
_REACH = 6  # documents of the same word, to either side, that it is compared with


@dataclass
class Places:
    """Pairs of places in a bucket, each once, ``a`` before ``b``; ``shared``: rare words that
    brought them together.
    """

    a: Ints
    b: Ints
    shared: Ints

    def where(self, kept: npt.NDArray[np.bool_]) -> "Places":
        """Some of them."""
        return Places(self.a[kept], self.b[kept], self.shared[kept])

    def moved(self, by: int) -> "Places":
        """The same pairs where the bucket begins at another place."""
        return Places(self.a + by, self.b + by, self.shared)


def joined(parts: list[Places]) -> Places:
    """All pairs, each once, in order."""
    a = np.concatenate([p.a for p in parts])
    b = np.concatenate([p.b for p in parts])
    packed = np.minimum(a, b) << 32 | np.maximum(a, b)
    kept = np.flatnonzero(a != b)
    order = kept[np.argsort(packed[kept], kind="stable")]
    whole, first = np.unique(packed[order], return_index=True)
    shared = np.concatenate([p.shared for p in parts])[order]
    most = np.maximum.reduceat(shared, first) if len(first) else shared
    return Places(whole >> 32, whole & 0xFFFFFFFF, most)


def chained(parts: list[Places]) -> Places:
    """The pairs of different buckets."""
    return Places(*(np.concatenate([getattr(p, column) for p in parts]) for column in ("a", "b", "shared")))


def unshared(a: Ints, b: Ints) -> Places:
    """Pairs that nothing is known of."""
    return Places(a, b, np.zeros(len(a), np.int64))


def all_pairs(size: int) -> Places:
    """Each place with each."""
    a, b = np.triu_indices(size, 1)
    return unshared(a.astype(np.int64), b.astype(np.int64))


def by_shared(words: Rows, names: Rows, documents: Ints) -> Places:
    """Documents with a shared rare word or name; of one that many share, those near each other in
    the bucket.

    A name counts as two words besides those it is made of: it tells more of the context than words
    do.
    """
    parts = [(words, 1), (names, 2)]
    neighbours = [
        (*near(_shared(*rows.of(documents), len(documents)), _REACH), weight) for rows, weight in parts
    ]
    packed, which = np.unique(np.concatenate([a << 32 | b for a, b, _, _ in neighbours]), return_inverse=True)
    weights = np.concatenate([np.full(len(a), weight) for a, _, _, weight in neighbours])
    return Places(
        packed >> 32, packed & 0xFFFFFFFF, np.bincount(which, weights, len(packed)).astype(np.int64)
    )


def _shared(values: npt.NDArray[Any], owners: Ints, count: int) -> Rows:
    """The rarest values of each owner that another one has too."""
    _, which, spread = np.unique(values, return_inverse=True, return_counts=True)
    shared = spread[which] >= 2
    return rarest(owners[shared], which[shared], spread[which][shared], _WORDS, count)


def near(held: Rows, reach: int) -> tuple[Ints, Ints, Ints]:
    """Each owner of a value with the next ``reach`` owners of it, and the value."""
    owners = np.repeat(np.arange(len(held.starts) - 1), np.diff(held.starts))
    order = np.lexsort((owners, held.values))
    owners = owners[order]
    values = held.values[order]
    steps = [np.flatnonzero(values[:-step] == values[step:]) for step in range(1, reach + 1)]
    left = np.concatenate(steps)
    right = np.concatenate([at + step for step, at in enumerate(steps, 1)])
    return owners[left], owners[right], values[left]


def by_account(accounts: Ints, most: int) -> Places:
    """Each document with ``most`` of its account, and one of each of the largest others.

    Whom of an account goes round, so that no document of it is everybody's partner.
    """
    size = len(accounts)
    _, which, counts = np.unique(accounts, return_inverse=True, return_counts=True)
    firsts = np.full(len(counts), size)
    np.minimum.at(firsts, which, np.arange(size))
    order = np.lexsort((np.arange(size), which))  # documents account by account
    starts = np.cumsum(counts) - counts
    turn = np.empty(size, np.int64)
    turn[order] = np.arange(size) - starts[which[order]]
    parts = []
    for step in range(1, most + 1):
        parts.append(unshared(np.arange(size), order[starts[which] + (turn + step) % counts[which]]))
    for large in np.lexsort((firsts, -counts))[: most + 1]:
        others = np.flatnonzero(which != large)
        parts.append(unshared(others, order[starts[large] + np.arange(len(others)) % counts[large]]))
    return joined(parts)
