"""Written entities by name: the order of an index, whatever the script, and the letter each stands
under.
"""

import threading
import unicodedata
from functools import cached_property

import numpy as np
import numpy.typing as npt

from llmpedia.site.data.catalogue import NONE, Catalogue
from llmpedia.site.text.normalize import tokens

OTHER = "#"
_BLOCKS = {"CJK": "漢", "HIRAGANA": "あ", "KATAKANA": "あ", "HANGUL": "한"}


def letter_of(key: str) -> str:
    """The letter that a folded name stands under; one for all of Chinese, of kana and of hangul;
    ``#`` for what is no letter.
    """
    first = key[:1]
    if not first.isalpha():
        return OTHER
    if first.isascii():
        return first.upper()
    return _BLOCKS.get(unicodedata.name(first, "").split(" ")[0], first.upper()[:1])


class Listing:
    """The index of a catalogue; made when it is first asked for."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._lock = threading.Lock()

    def part(self, hop: int | None, letter: str | None, start: int, most: int) -> tuple[list[int], int]:
        """Numbers of the written entities from place ``start`` of the order by name, and how many
        there are.
        """
        numbers, letters = self._at(hop)
        if letter is not None:
            numbers = numbers[letters == letter]
        page: list[int] = numbers[max(0, start) : max(0, start) + most].tolist()
        return page, len(numbers)

    def letters(self, hop: int | None) -> dict[str, int]:
        """Letter -> written entities of a hop under it, in order."""
        names, counts = np.unique(self._at(hop)[1], return_counts=True)
        return dict(zip(names.tolist(), counts.tolist(), strict=True))

    def _at(self, hop: int | None) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.str_]]:
        with self._lock:
            numbers, letters = self._ordered
        if hop is None:
            return numbers, letters
        kept = self._catalogue.hops[numbers] == hop
        return numbers[kept], letters[kept]

    @cached_property
    def _ordered(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.str_]]:
        """Numbers of the written entities by name, and the letter of each."""
        numbers = np.flatnonzero(self._catalogue.articles != NONE)
        keys = [tokens(name) for name in self._catalogue.names.take(numbers).to_pylist()]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        return numbers[order], np.array([letter_of(keys[i]) for i in order], dtype="U1")
