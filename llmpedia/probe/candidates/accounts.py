"""What documents tell of a fact, as small numbers, and whether two of them tell the same."""

from zlib import crc32

import numpy as np
import numpy.typing as npt

from llmpedia.probe.candidates.text_sketches import Ints

NOTHING = 0

Flags = npt.NDArray[np.bool_]


class Accounts:
    """Sets of values, each under a number; :data:`NOTHING` is the empty one. The numbers go by
    arrival and mean nothing else.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, ...], int] = {(): NOTHING}
        self._sets: list[tuple[int, ...]] = [()]

    def add(self, values: frozenset[str]) -> int:
        """The number of a set of values."""
        hashes = tuple(sorted(crc32(v.encode(errors="surrogatepass")) for v in values))
        number = self._numbers.setdefault(hashes, len(self._sets))
        if number == len(self._sets):
            self._sets.append(hashes)
        return number

    def compared(self, a: Ints, b: Ints) -> tuple[Flags, Flags]:
        """Which pairs agree, one telling all that the other tells, and which differ; where one
        tells nothing, neither.
        """
        agree = (a == b) & (a != NOTHING)
        differ = np.zeros(len(a), bool)
        both = np.flatnonzero((a != b) & (a != NOTHING) & (b != NOTHING))
        packed, which = np.unique(np.minimum(a, b)[both] << 32 | np.maximum(a, b)[both], return_inverse=True)
        sets = self._sets
        holds = [_holds(sets[p >> 32], sets[p & 0xFFFFFFFF]) for p in packed.tolist()]
        agree[both] = np.array(holds, bool)[which]
        differ[both] = ~agree[both]
        return agree, differ


def _holds(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether one of two sets holds the other."""
    shared = len(set(one).intersection(other))
    return shared == len(one) or shared == len(other)
