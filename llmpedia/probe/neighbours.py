"""Which documents of a large bucket are compared, since all pairs of it would be too many: a bounded number for each.

A bucket holds the documents that speak of one attribute of one subject. Those that share rare words are likely to speak of it in
the same context. Rare words alone would leave a document with a figure of its own among neighbours that agree with it, or with
none at all, so each is also compared with some documents of its own account and of the largest other accounts.
"""

from dataclasses import dataclass

import numpy as np

from llmpedia.probe.near_copies import Ints, Rows, rarest

_WORDS = 8  # of a document, by which it looks for neighbours
_REACH = 6  # documents of the same word, to either side, that it is compared with


@dataclass
class Places:
    """Pairs of places in a bucket, each once, ``a`` before ``b``."""

    a: Ints
    b: Ints

    def where(self, kept: np.ndarray) -> "Places":
        """Some of them."""
        return Places(self.a[kept], self.b[kept])


def joined(parts: list[Places]) -> Places:
    """All pairs, each once, in order."""
    a = np.concatenate([np.minimum(p.a, p.b) for p in parts])
    b = np.concatenate([np.maximum(p.a, p.b) for p in parts])
    packed = np.unique((a << 32 | b)[a < b])
    return Places(packed >> 32, packed & 0xFFFFFFFF)


def all_pairs(size: int) -> Places:
    """Each place with each."""
    a, b = np.triu_indices(size, 1)
    return Places(a.astype(np.int64), b.astype(np.int64))


def by_shared(words: Rows, documents: Ints) -> Places:
    """Documents with a shared rare word; of a word that many share, those near each other in the bucket."""
    values, owners = words.of(documents)
    _, which, spread = np.unique(values, return_inverse=True, return_counts=True)
    shared = spread[which] >= 2
    chosen = rarest(owners[shared], which[shared], spread[which][shared], _WORDS, len(documents))
    return near(chosen.values, np.repeat(np.arange(len(documents)), np.diff(chosen.starts)), _REACH)


def near(values: Ints, owners: Ints, reach: int) -> Places:
    """Owners of the same value, each with the next ``reach`` ones of it."""
    order = np.lexsort((owners, values))
    values, owners = values[order], owners[order]
    parts = [Places(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    for step in range(1, reach + 1):
        same = np.flatnonzero(values[:-step] == values[step:])
        parts.append(Places(owners[same], owners[same + step]))
    return joined(parts)


def by_account(accounts: Ints, most: int) -> Places:
    """Each document with ``most`` of its own account and with one of each of the ``most`` largest other ones.

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
        parts.append(Places(np.arange(size), order[starts[which] + (turn + step) % counts[which]]))
    for large in np.lexsort((firsts, -counts))[: most + 1]:
        others = np.flatnonzero(which != large)
        parts.append(Places(others, order[starts[large] + (np.arange(len(others))) % counts[large]]))
    return joined(parts)
