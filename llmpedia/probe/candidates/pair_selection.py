"""Which candidate pairs are kept where a document may have only so many for a fact."""

import numpy as np

from llmpedia.probe.candidates.accounts import Flags
from llmpedia.probe.candidates.text_sketches import Floats, Ints


def chosen(a: Ints, b: Ints, score: Floats, agree: Flags, most: int) -> Flags:
    """Which pairs are kept so that no end has more than ``most``; ``a`` and ``b`` name a document
    and a fact each.

    Half of an end's pairs are for ends that agree with it and half (the larger one) for others, so
    that in a bucket where many agree the few that differ are still compared; what one half leaves
    goes to the other. First choices go before second ones, whosesoever, and only then by score:
    else the best pairs of some would take the room of the only ones of others.
    """
    _, places = np.unique(np.concatenate((a, b)), return_inverse=True)
    one = places[: len(a)]
    other = places[len(a) :]
    crowded = np.bincount(places, minlength=1) > most
    kept = ~(crowded[one] | crowded[other])  # these have room whatever happens
    asked = np.flatnonzero(~kept)
    if not len(asked):
        return kept
    turns = _turns(one, other, score, agree)[asked]
    one = one[asked]
    other = other[asked]
    score = score[asked]
    agree = agree[asked]
    order = np.lexsort((other, one, -score, turns))
    pairs = list(
        zip(order.tolist(), one[order].tolist(), other[order].tolist(), agree[order].tolist(), strict=True)
    )
    halves = (most - most // 2, most // 2)
    rooms = [[half] * len(crowded) for half in halves]
    left = [most] * len(crowded)
    taken = []
    waiting = []
    for i, x, y, same in pairs:
        room = rooms[same]
        if room[x] and room[y]:
            for end in (x, y):
                room[end] -= 1
                left[end] -= 1
            taken.append(i)
        else:
            waiting.append((i, x, y))
    for i, x, y in waiting:
        if left[x] and left[y]:
            left[x] -= 1
            left[y] -= 1
            taken.append(i)
    kept[asked[taken]] = True
    return kept


def _turns(one: Ints, other: Ints, score: Floats, agree: Flags) -> Ints:
    """How many better pairs of its kind the one of a pair's two ends has that has fewer of them."""
    ends = np.concatenate((one, other))
    mates = np.concatenate((other, one))
    kind = ends * 2 + np.concatenate((agree, agree))
    order = np.lexsort((mates, -np.concatenate((score, score)), kind))
    kind = kind[order]
    firsts = np.concatenate(([0], np.flatnonzero(np.diff(kind)) + 1))
    turn = np.empty(len(ends), np.int64)
    turn[order] = np.arange(len(ends)) - np.repeat(firsts, np.diff(np.concatenate((firsts, [len(ends)]))))
    turns: Ints = np.minimum(turn[: len(one)], turn[len(one) :])
    return turns
