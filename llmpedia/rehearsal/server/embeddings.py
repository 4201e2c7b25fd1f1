"""Embeddings of names: 384 numbers, unit length to four decimals, a function of the name and the
world alone.

A vector is a base, an entity's own part and a surface's own part, the latter two at right angles to
the base. Surfaces of one entity lie at cosines of about 0.97, members of one group (siblings,
homonyms) at about 0.94, other names at about 0.
"""

from functools import cache

import numpy as np
import numpy.typing as npt

from llmpedia.rehearsal.world.names import fold
from llmpedia.rehearsal.world.seeded_random import mixed, number
from llmpedia.rehearsal.world.world import World

DIMENSION = 384
_OWN = 0.03**0.5
_SCALE = 10_000

Vectors = npt.NDArray[np.float32]


@cache
def _decimals() -> list[str]:
    """The text of each component from -1 to 1 in steps of 1e-4: twenty times faster than printing
    floats.
    """
    return [f"{i / _SCALE:g}" for i in range(-_SCALE, _SCALE + 1)]


def vectors(world: World, names: list[str]) -> Vectors:
    """float32 [n, 384], rows of unit length to four decimals."""
    seed = world.settings.seed
    keys = np.empty((3, len(names)), np.uint64)
    for i, name in enumerate(names):
        entity = world.entity(name)
        if entity is None:
            base = ("stranger", fold(name))
            place = ("stranger's own", fold(name))
        elif world.group_kind(entity) == "plain":
            base = ("alone", str(entity))
            place = ("own", str(entity))
        else:
            base = ("group", str(world.group(entity)))
            place = ("own", str(entity))
        keys[:, i] = number(seed, *base), number(seed, *place), number(seed, "surface", name)
    base_part, own_part, surface_part = _directions(keys)
    out = base_part
    for part in (own_part, surface_part):
        across = part - (part * base_part).sum(axis=1, keepdims=True) * base_part
        out = out + _OWN * _unit(across)
    # On a grid, so that the last bits do not hang on the machine or the batch, and both encodings
    # say the same.
    return (np.rint(_unit(out) * _SCALE) / _SCALE).astype(np.float32)


def _directions(keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.float32]:
    """A unit vector a key: float32 [..., 384]."""
    with np.errstate(over="ignore"):
        counters = np.arange(DIMENSION // 2, dtype=np.uint64) * np.uint64(0xD1342543DE82EF95)
        bits = mixed(keys[..., None] + counters)
    return _unit(bits.view(np.uint32).astype(np.float32) / np.float32(1 << 31) - np.float32(1.0))


def _unit(rows: npt.NDArray[np.float32]) -> Vectors:
    out: Vectors = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    return out


def vector_texts(world: World, names: list[str]) -> list[str]:
    """Each vector as the JSON text of a list."""
    if not names:
        return []
    decimals = _decimals()
    steps = (np.rint(vectors(world, names) * _SCALE).astype(np.int64) + _SCALE).tolist()
    return [f"[{','.join([decimals[i] for i in row])}]" for row in steps]
