"""Two texts on one subject, sentence by sentence: what both say, what they say in other words, what
only one of them says.

A sentence is held against the one that is most like it, in the same place first, elsewhere if it is
nearly the same. The time it takes is bounded: texts of very many sentences are compared paragraph
by paragraph, and sentences that could take long as wholes.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from llmpedia.text.tokens import unit_pattern

Kind = Literal["same", "changed", "only"]

MOST_SENTENCES = 300
"""Of one text; of a longer one only wholes are compared."""
_ALIKE = 0.5
_ALIKE_ELSEWHERE = 0.75
# Pairs of equal words that may be looked at, which is what the time goes by: of two sentences, and
# of two texts.
_MOST_MEETINGS = 2_000
_MEETINGS_OF_TEXTS = 20_000
# Scripts that put no space between words are taken character by character.
_WORD = unit_pattern("_")
_TOKEN = re.compile(rf"{unit_pattern().pattern}|[^\w\s]")
_BRIDGE = 2  # characters of a word between two that differ that is not worth being told apart


@dataclass(frozen=True)
class Piece:
    """Words of a sentence. ``changed``: they are not in the other one."""

    text: str
    changed: bool


@dataclass(frozen=True)
class Said:
    """A sentence. ``other``: the number of the sentence it is held against; null: there is none
    like it.
    """

    kind: Kind
    pieces: tuple[Piece, ...]
    other: int | None


def compared(
    ours: Sequence[str], theirs: Sequence[str], places: Sequence[int], their_places: Sequence[int]
) -> tuple[list[Said], list[Said]]:
    """Both texts' sentences. ``places``: the part that each stands in; parts of the two that belong
    together have one number.

    A text of more than ``MOST_SENTENCES`` is only searched for sentences that are the same.
    """
    pairs = _same(ours, theirs, places, their_places)
    wholes = max(len(ours), len(theirs)) > MOST_SENTENCES
    if not wholes:
        pairs |= _alike(ours, theirs, places, their_places, pairs)
    left: list[Said | None] = [None] * len(ours)
    right: list[Said | None] = [None] * len(theirs)
    budget = _MEETINGS_OF_TEXTS
    for i, j in sorted(pairs.items()):
        pair, cost = _pair(ours[i], theirs[j], budget)
        budget -= cost
        left[i] = Said(pair[0], pair[1], j)
        right[j] = Said(pair[0], pair[2], i)
    return [s or _only(t) for s, t in zip(left, ours, strict=True)], [
        s or _only(t) for s, t in zip(right, theirs, strict=True)
    ]


def words_of(text: str) -> list[str]:
    """The words of a text without regard to case."""
    return _WORD.findall(text.casefold())


def _only(text: str) -> Said:
    return Said("only", (Piece(text, True),), None)


def _same(
    ours: Sequence[str], theirs: Sequence[str], places: Sequence[int], their_places: Sequence[int]
) -> dict[int, int]:
    """Sentences of the same words: first those in the same place, then the others, each in order."""
    pairs: dict[int, int] = {}
    taken: set[int] = set()

    def take(key: Callable[[str, int], Any]) -> None:
        free = defaultdict[Any, list[int]](list)
        for j in reversed(range(len(theirs))):
            if j not in taken:
                free[key(theirs[j], their_places[j])].append(j)
        for i in (i for i in range(len(ours)) if i not in pairs):
            if candidates := free.get(key(ours[i], places[i])):
                pairs[i] = candidates.pop()
                taken.add(pairs[i])

    take(lambda text, place: (_form(text), place))
    take(lambda text, place: _form(text))
    return pairs


def _form(text: str) -> tuple[str, ...] | str:
    return tuple(words_of(text)) or text


def _alike(
    ours: Sequence[str],
    theirs: Sequence[str],
    places: Sequence[int],
    their_places: Sequence[int],
    taken: dict[int, int],
) -> dict[int, int]:
    """Of the sentences not yet taken, pairs that share most of their words; the most alike first,
    none twice.
    """
    left = [i for i in range(len(ours)) if i not in taken]
    right = [j for j in range(len(theirs)) if j not in taken.values()]
    if not left or not right:
        return {}
    similar = _shares([words_of(ours[i]) for i in left], [words_of(theirs[j]) for j in right])
    together = np.array(places)[left][:, None] == np.array(their_places)[right][None, :]
    fitting = similar >= np.where(together, _ALIKE, _ALIKE_ELSEWHERE)
    order = np.argsort(-(similar + together)[fitting], kind="stable")
    pairs: dict[int, int] = {}
    free_left = set(left)
    free_right = set(right)
    for a, b in np.argwhere(fitting)[order].tolist():
        if left[a] in free_left and right[b] in free_right:
            pairs[left[a]] = right[b]
            free_left.remove(left[a])
            free_right.remove(right[b])
    return pairs


def _shares(ours: Sequence[Sequence[str]], theirs: Sequence[Sequence[str]]) -> npt.NDArray[np.float32]:
    """Dice coefficient of every two sentences; a word counts once in a sentence."""
    numbers: dict[str, int] = {}
    for words in (*ours, *theirs):
        for word in words:
            numbers.setdefault(word, len(numbers))

    def matrix(sentences: Sequence[Sequence[str]]) -> npt.NDArray[np.float32]:
        counts = np.zeros((len(sentences), len(numbers)), np.float32)
        for row, words in enumerate(sentences):
            counts[row, [numbers[word] for word in words]] = 1
        return counts

    a = matrix(ours)
    b = matrix(theirs)
    shares: npt.NDArray[np.float32] = (
        2 * (a @ b.T) / np.maximum(a.sum(axis=1)[:, None] + b.sum(axis=1)[None, :], 1)
    )
    return shares


def _pair(
    ours: str, theirs: str, budget: int
) -> tuple[tuple[Kind, tuple[Piece, ...], tuple[Piece, ...]], int]:
    """(kind, pieces of ours, pieces of theirs), and what telling them apart has cost."""
    if ours == theirs:
        return ("same", (Piece(ours, False),), (Piece(theirs, False),)), 0
    a = list(_TOKEN.finditer(ours))
    b = list(_TOKEN.finditer(theirs))
    counted = Counter(token.group() for token in b)
    cost = sum(counted[token.group()] for token in a)
    if cost > min(budget, _MOST_MEETINGS):
        return ("changed", (Piece(ours, True),), (Piece(theirs, True),)), 0
    matcher = SequenceMatcher(None, [t.group() for t in a], [t.group() for t in b], autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    kept = [block for block in blocks if not _bridges(a, block.a, block.size, len(a))]
    mine = tuple(_pieces(ours, a, [(block.a, block.size) for block in kept]))
    others = tuple(_pieces(theirs, b, [(block.b, block.size) for block in kept]))
    return ("changed" if any(piece.changed for piece in (*mine, *others)) else "same", mine, others), cost


def _bridges(tokens: Sequence[re.Match[str]], at: int, size: int, end: int) -> bool:
    return size == 1 and 0 < at < end - 1 and len(tokens[at].group()) <= _BRIDGE


def _pieces(text: str, tokens: Sequence[re.Match[str]], shared: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    """The text cut where shared tokens begin and end; white space between an own and a shared one
    is nobody's.
    """
    at = 0
    before = 0
    for start, size in (*shared, (len(tokens), 0)):
        if start > before:
            first = tokens[before].start()
            until = tokens[start - 1].end()
            if first > at:
                yield Piece(text[at:first], False)
            yield Piece(text[first:until], True)
            at = until
        before = start + size
        until = tokens[before - 1].end() if size else len(text)
        if until > at:
            yield Piece(text[at:until], False)
            at = until
