"""Copies among documents: of the same folded text, and near ones by MinHash and locality-sensitive
hashing (datasketch).

A signature is made of one document alone, anywhere; who is a copy of whom is decided in order of
the documents, so that of two the first one stays. Memory: about 4 KB a kept document at 128
permutations.
"""

import hashlib
from typing import Any

import numpy as np

from llmpedia.probe.documents import DocumentFate
from llmpedia.probe.settings.build import CorpusSection
from llmpedia.text.tokens import unit_pattern, word_hashes

_SCHEME = "affine32"
_SEED = 1
# Missing a pair is weighed four times a pair looked at in vain: the estimate is taken of each
# candidate all the same.
_WEIGHTS = (0.2, 0.8)
# In scripts without spaces a character stands for a word.
_WORD = unit_pattern()
# Odd constants, the first one that of Fibonacci hashing: they spread the words of a shingle over 64
# bits.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)


def folded_key(text: str) -> bytes:
    """16 bytes that stand for a text but for white space and case."""
    folded = " ".join(text.split()).casefold()
    return hashlib.blake2b(folded.encode(), digest_size=16).digest()


class Signatures:
    """MinHash signatures of texts, as bytes."""

    def __init__(self, settings: CorpusSection) -> None:
        from datasketch import MinHash

        self._words = settings.shingle_words
        self._empty = MinHash(settings.permutations, seed=_SEED, scheme=_SCHEME, hashfunc=int)

    def of(self, text: str) -> bytes | None:
        """A text's signature; None where it holds no word."""
        shingles = shingle_hashes(text, self._words)
        if not len(shingles):
            return None
        signature = self._empty.copy()
        signature.update_batch(shingles)
        return bytes(signature.hashvalues.tobytes())


def shingle_hashes(text: str, words: int) -> Any:
    """32-bit hashes of the distinct runs of so many words, in order of size; of all words where
    there are fewer.
    """
    codes = word_hashes(_WORD.findall(text.casefold())).astype(np.uint64)
    words = min(words, len(codes))
    if not words:
        return codes.astype(np.uint32)
    count = len(codes) - words + 1
    run = np.zeros(count, np.uint64)
    for k in range(words):
        run = (run ^ codes[k : k + count]) * _STEP
        run ^= run >> np.uint64(29)
    run *= _MIX
    return np.unique((run >> np.uint64(32)).astype(np.uint32))


class Seen:
    """The documents kept so far, and which of them a further one is a copy of. To be asked in
    order.
    """

    def __init__(self, settings: CorpusSection) -> None:
        self._least = settings.near_duplicate
        self._index = _index(settings.near_duplicate, settings.permutations)
        self._signatures: dict[int, Any] = {}
        self._folded: dict[bytes, tuple[DocumentFate, int]] = {}

    def original(
        self, number: int, folded: bytes, signature: bytes | None
    ) -> tuple[DocumentFate, int] | None:
        """What kind of copy a document is and of which one, which is never a copy itself; None: of
        none, and it is remembered.

        Of several that it resembles, the first one. Who has the text of a near copy is a near copy
        of the same document.
        """
        known = self._folded.get(folded)
        if known is not None:
            return known
        near = self._near(number, signature)
        fate = None if near is None else (DocumentFate.NEAR_DUPLICATE, near)
        self._folded[folded] = fate or (DocumentFate.EXACT_DUPLICATE, number)
        return fate

    def _near(self, number: int, signature: bytes | None) -> int | None:
        from datasketch import LeanMinHash

        if signature is None:
            return None
        values = np.frombuffer(signature, np.uint32)
        lean = LeanMinHash(seed=_SEED, hashvalues=values, scheme=_SCHEME)
        for other in sorted(self._index.query(lean)):
            if np.count_nonzero(values == self._signatures[other]) >= self._least * len(values):
                return int(other)
        self._index.insert(number, lean, check_duplication=False)
        self._signatures[number] = values
        return None


def _index(threshold: float, permutations: int) -> Any:
    from datasketch import MinHashLSH

    try:
        return MinHashLSH(threshold, permutations, weights=_WEIGHTS)
    except (
        ValueError
    ):  # it would choose a single band for a threshold that high, and it refuses a single band
        return MinHashLSH(num_perm=permutations, params=(2, permutations // 2))
