"""The words of many documents in little memory: how alike two of them are, whether one copies the
other, which words are rare.

Of a text only hashes of its distinct words and of its figures are kept. Likeness is the Jaccard
similarity of the sets of words, estimated from 64 MinHash values (standard error 0.06 at the most);
where it decides that two documents are copies it is counted.
"""

import re
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, cast
from zlib import crc32

import numpy as np
import numpy.typing as npt

from llmpedia.text.tokens import unit_pattern, word_hashes

Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.floating[Any]]

_PERMUTATIONS = 64
_DOUBT = 0.2  # an estimate so far below the limit is more than five standard errors off
_TABLE_BITS = 24
RARE_WORDS = 32  # kept of a document, rarest first

# Letters, or single characters of scripts that set no spaces between words; and numbers with their
# commas and points.
_WORD = unit_pattern(r"\d_")
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


@cache
def _permutations() -> tuple[Hashes, Hashes]:
    """Factors and summands that take each hash to another one; the high bits, which decide what is
    least, mix best.
    """
    rng = np.random.default_rng(_PERMUTATIONS)
    odd = rng.integers(0, 2**31, _PERMUTATIONS, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    return odd[:, None], rng.integers(0, 2**32, _PERMUTATIONS, dtype=np.uint32)[:, None]


@dataclass
class Rows:
    """Values of many owners, one after the other. ``starts``: where each one's begin, and the end."""

    values: npt.NDArray[Any]
    starts: Ints

    def of(self, owners: Ints) -> tuple[npt.NDArray[Any], Ints]:
        """The values of some owners and, for each value, its owner's place among them."""
        counts = self.starts[owners + 1] - self.starts[owners]
        place = np.repeat(np.arange(len(owners)), counts)
        within = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.values[np.repeat(self.starts[owners], counts) + within], place


class TextSketches:
    """Documents by their words, in the order in which they came."""

    def __init__(self) -> None:
        self._words = array("I")
        self._ends = array("q", [0])
        self._figures = array("Q")
        self._sketches: list[Hashes] = []

    def add(self, text: str) -> None:
        """Take in one more document."""
        plain = text.lower()
        words = hashed(set(_WORD.findall(plain)))
        self._words.frombytes(words.tobytes())
        self._ends.append(len(self._words))
        figures = hashed({f.replace(",", "") for f in _FIGURE.findall(plain)})
        self._figures.append(crc32(figures.tobytes()) | len(figures) << 32)
        if len(words):
            odd, shift = _permutations()
            self._sketches.append((words * odd + shift).min(axis=1))
        else:  # like no other
            self._sketches.append(np.full(_PERMUTATIONS, len(self._sketches), np.uint32))

    def sealed(self) -> "SealedTexts":
        """All of them, to be compared."""
        words = Rows(np.frombuffer(self._words, np.uint32), np.frombuffer(self._ends, np.int64))
        sketches = np.stack(self._sketches) if self._sketches else np.zeros((0, _PERMUTATIONS), np.uint32)
        return SealedTexts(words, np.frombuffer(self._figures, np.uint64), sketches)


@dataclass
class SealedTexts:
    """Documents to be compared, named by their places."""

    words: Rows
    figures: npt.NDArray[np.uint64]
    sketches: Hashes

    def likeness(self, a: Ints, b: Ints) -> Floats:
        """The estimated similarity of each pair."""
        estimates = np.empty(len(a), np.float32)
        for at in range(0, len(a), 100_000):
            part = slice(at, at + 100_000)
            estimates[part] = (self.sketches[a[part]] == self.sketches[b[part]]).mean(axis=1)
        return estimates

    def copies(self, a: Ints, b: Ints, likeness: Floats, limit: float) -> npt.NDArray[np.bool_]:
        """Of which pairs the documents have the same figures and words alike from ``limit`` on,
        counted.
        """
        same: npt.NDArray[np.bool_] = (self.figures[a] == self.figures[b]) & (likeness >= limit - _DOUBT)
        for i in np.flatnonzero(same):
            one = self._of(int(a[i]))
            other = self._of(int(b[i]))
            shared = len(np.intersect1d(one, other, assume_unique=True))
            same[i] = shared >= limit * (len(one) + len(other) - shared) and shared > 0
        return same

    def rare(self, most: int) -> Rows:
        """Of each document the rarest words that at least two and at most ``most`` documents hold.

        Documents are counted by the first 24 bits of a word's hash: where a rare word shares them
        with a frequent one, which happens to a few in a hundred in a corpus of a million words, it
        is taken for frequent.
        """
        place = (self.words.values >> np.uint32(32 - _TABLE_BITS)).astype(np.int64)
        spread = np.bincount(place, minlength=1 << _TABLE_BITS)[place]
        owners = np.repeat(np.arange(len(self.words.starts) - 1), np.diff(self.words.starts))
        kept = np.flatnonzero((spread >= 2) & (spread <= most))
        return rarest(
            owners[kept], self.words.values[kept], spread[kept], RARE_WORDS, len(self.words.starts) - 1
        )

    def _of(self, document: int) -> Hashes:
        return cast(Hashes, self.words.values[self.words.starts[document] : self.words.starts[document + 1]])


def hashed(words: Iterable[str]) -> Hashes:
    """Hashes of words, each once, in order; the same in every process."""
    return np.unique(word_hashes(words))


def rarest(owners: Ints, values: npt.NDArray[Any], spread: Ints, most: int, count: int) -> Rows:
    """Of each of ``count`` owners its values of least spread, at most ``most``; ties by value."""
    order = np.lexsort((values, spread, owners))
    owners = owners[order]
    first = np.searchsorted(owners, np.arange(count))
    kept = np.arange(len(owners)) - first[owners] < most
    starts = np.concatenate(([0], np.cumsum(np.bincount(owners[kept], minlength=count))))
    return Rows(values[order][kept], starts.astype(np.int64))
