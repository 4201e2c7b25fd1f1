"""Random numbers that are functions of what they are drawn for, the same in every process and
version.

numpy's generators may change their streams between versions, and a world must not: splitmix64 over
arrays, BLAKE2 and ``random.random`` (whose sequence is documented as fixed) elsewhere.
"""

import hashlib
import random

import numpy as np
import numpy.typing as npt

U64 = npt.NDArray[np.uint64]
MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def number(*parts: object) -> int:
    """64 bits that depend on every part."""
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(
        hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "little"
    )


def share(*parts: object) -> float:
    """A number in [0, 1) that depends on every part."""
    return number(*parts) / (1 << 64)


def dice(*parts: object) -> random.Random:
    """A generator for these parts. Use only its ``random()``."""
    return random.Random(number(*parts))  # noqa: S311 - a world, not a secret


def mixed(keys: U64) -> U64:
    """splitmix64 of each key: 64 well mixed bits."""
    with np.errstate(over="ignore"):
        z = keys + np.uint64(_GOLDEN)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        out: U64 = z ^ (z >> np.uint64(31))
    return out


def stream(key: int, n: int) -> U64:
    """``n`` numbers of 64 bits of the stream ``key``."""
    with np.errstate(over="ignore"):
        return mixed(np.uint64(key & MASK) + np.arange(n, dtype=np.uint64) * np.uint64(_GOLDEN))


def shares(key: int, n: int) -> npt.NDArray[np.float64]:
    """``n`` numbers in [0, 1) of the stream ``key``."""
    out: npt.NDArray[np.float64] = (stream(key, n) >> np.uint64(11)) / float(1 << 53)
    return out


def remixed(h: int) -> int:
    """Another 64 bits from 64 bits."""
    h = (h + _GOLDEN) & MASK
    h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & MASK
    return h ^ (h >> 31)
