"""Long pages against claims: the passages of one page that bear on its claims, within a budget.

Any part of a page can be reached, its end and its tables too, and no claim starves: passages are
taken claim by claim in turn. Relevance is BM25 (Robertson and Zaragoza 2009, with k1 = 1.2 and b =
0.75) over the passages of this page alone.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from llmpedia.text.scripts import HANGUL, UNSPACED

MARK = "\n[...]\n"

# A passage may take this part of the budget, so that the lead, which is always in, never shuts out
# the rest.
_SHARE = 4
_K1 = 1.2
_B = 0.75
# Scripts in which not every word is set apart by spaces.
_DENSE = UNSPACED + HANGUL
_MARKS = r"!-/:-@\[-`{-~\u00a0-\u00bf\u2000-\u206f\u3000-\u303f\uff00-\uff0f\uff1a-\uff20"
_WORD = re.compile(rf"[{_DENSE}]{{1,2}}|[^\s{_DENSE}]+")
# Runs without spaces and punctuation, as "\w+" would part Indic words at their vowel signs. Group
# 1: a number, group 2: dense.
_TOKEN = re.compile(rf"(\d+(?:[.,]\d+)*)|([{_DENSE}]+)|[^\s\d{_DENSE}{_MARKS}]+")
# A heading, with its marks or as a short line of its own that is no sentence, item, row or "name:
# value".
_HEADING = re.compile(
    r"\s*(?:(={1,6})[^\n]*\1|(?<![^\n])[^\s|:\-•*][^\n\t|:]{0,60}(?<![\s.!?,;。]))[ \t]*\n\s*"
)
_HEADING_CHARS = 200
# Where a text may be cut, best first: at the ends of paragraphs, lines, sentences, words.
_CUTS = (
    re.compile(r"\n[ \t]*\n\s*"),
    re.compile(r"\n"),
    re.compile(r"(?<=[^A-Z\s][.!?])[\"'”’)\]]*\s+|(?<=[。！？])"),
    re.compile(rf"\s+|(?<=[{_DENSE}]{{2}})"),
)


@dataclass(frozen=True)
class Passage:
    """``text`` is the page from ``start`` up to ``end`` (characters)."""

    start: int
    end: int
    text: str


def select_passages(text: str, claims: Sequence[str], budget_chars: int, passage_words: int) -> list[Passage]:
    """The passages of a page to judge its claims by, in page order; rendered they are at most
    ``budget_chars`` long.

    The first passage (lead, infobox) is always in. Then come, claim by claim in turn, each claim's
    most relevant passage, its second, and so on; what is left of the budget is filled in page
    order. A passage holds about ``passage_words`` words (two characters count as one where a script
    has no spaces) and at most a quarter of the budget. A text within the budget comes back whole,
    as one passage.
    """
    if len(text) <= budget_chars:
        return [Passage(0, len(text), text)]
    passages = cut_passages(text, passage_words, max(budget_chars // _SHARE, 1))
    chosen = _Chosen(passages, budget_chars)
    ranked = rankings([p.text for p in passages], claims)
    for place in range(len(passages)):
        for ranking in ranked:
            if place < len(ranking):
                chosen.take(ranking[place])
    for i in range(len(passages)):
        chosen.take(i)
    return chosen.passages()


def render_passages(passages: Sequence[Passage]) -> str:
    """One text, with a line ``[...]`` wherever something was left out between two passages."""
    parts: list[str] = []
    for i, passage in enumerate(passages):
        if i > 0 and passage.start > passages[i - 1].end:
            parts[-1] = parts[-1].rstrip()
            parts.append(MARK)
        parts.append(passage.text)
    return "".join(parts)


class _Chosen:
    """The passages taken so far, and what they leave of the budget once rendered."""

    def __init__(self, passages: list[Passage], budget_chars: int) -> None:
        self._all = passages
        self._left = budget_chars
        self._in: set[int] = set()
        self.take(0)

    def take(self, i: int) -> None:
        """Take a passage if it fits. It brings a mark where it stands apart, and spares one where
        it closes a gap.
        """
        if i in self._in:
            return
        marks = (i > 0 and i - 1 not in self._in) - (i + 1 in self._in)
        cost = len(self._all[i].text) + marks * len(MARK)
        if cost <= self._left:
            self._in.add(i)
            self._left -= cost

    def passages(self) -> list[Passage]:
        return [self._all[i] for i in sorted(self._in)]


def cut_passages(text: str, passage_words: int, max_chars: int) -> list[Passage]:
    """The whole text in passages that follow each other without a gap, none longer than
    ``max_chars``.

    Cut between paragraphs where it can be, else between lines, sentences or words; inside a word
    only if it alone is longer than ``max_chars``. A paragraph or table that fits into a passage is
    not parted, nor a heading from what follows it.
    """
    pieces = list(_pieces(text, 0, len(text), (passage_words, max_chars), 0))
    words = {0: 0}
    for left, right in pieces:
        words[right] = words[left] + _words(text[left:right])
    bounds = [0]
    heading = None
    for left, right in pieces:
        start = bounds[-1]
        if left > start and (words[right] - words[start] > passage_words or right - start > max_chars):
            # Headings at the end go with this piece, unless there is nothing else or no room for
            # them.
            movable = heading is not None and start < heading and right - heading <= max_chars
            heading = heading if movable else None
            bounds.append(left if heading is None else heading)
        if right - left > _HEADING_CHARS or not _HEADING.fullmatch(text, left, right):
            heading = None
        elif heading is None:
            heading = left
    return [Passage(a, b, text[a:b]) for a, b in pairwise([*bounds, len(text)])]


def _pieces(text: str, start: int, end: int, size: tuple[int, int], level: int) -> Iterator[tuple[int, int]]:
    """Start and end of the parts of a text that fit a size (words, characters), cut no finer than
    it takes.
    """
    max_words, max_chars = size
    if end - start <= max_chars and (level == len(_CUTS) or _words(text[start:end]) <= max_words):
        yield start, end
    elif level == len(_CUTS):
        yield from pairwise([*range(start, end, max_chars), end])
    else:
        cuts = [c for m in _CUTS[level].finditer(text, start, end) if start < (c := m.end()) < end]
        for a, b in pairwise([start, *cuts, end]):
            yield from _pieces(text, a, b, size, level + 1)


def _words(text: str) -> int:
    return len(_WORD.findall(text))


def rankings(texts: Sequence[str], claims: Sequence[str]) -> list[list[int]]:
    """For each claim the texts that share a word with it, by falling BM25 score, then by place."""
    counts = [Counter(tokens(t)) for t in texts]
    spread = Counter(token for c in counts for token in c)
    lengths = [c.total() for c in counts]
    mean = sum(lengths) / max(len(lengths), 1) or 1.0
    norms = [_K1 * (1 - _B + _B * n / mean) for n in lengths]
    return [_ranking(sorted(set(tokens(claim))), counts, spread, norms) for claim in claims]


def _ranking(
    asked: list[str], counts: list[Counter[str]], spread: Counter[str], norms: list[float]
) -> list[int]:
    scores = dict.fromkeys(range(len(counts)), 0.0)
    for token in asked:
        weight = math.log(1 + (len(counts) - spread[token] + 0.5) / (spread[token] + 0.5))
        for i, count in enumerate(counts):
            if n := count.get(token):
                scores[i] += weight * n * (_K1 + 1) / (n + norms[i])
    return sorted((i for i, s in scores.items() if s > 0), key=lambda i: (-scores[i], i))


def tokens(text: str) -> Iterator[str]:
    """Words without regard to case, numbers without thousands' commas, pairs of characters where
    words are not set apart.
    """
    for match in _TOKEN.finditer(unicodedata.normalize("NFKC", text).casefold()):
        number, dense = match.groups()
        if number:
            yield number.replace(",", "")
        elif dense and len(dense) > 1:
            yield from map("".join, pairwise(dense))
        else:
            yield match.group()
