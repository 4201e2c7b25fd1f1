"""Six measures of how two articles on one subject are alike in structure and style (LLMpedia paper,
section M.1).

Counts and sets only, no model. What is not defined (the outline of a text without headings) is
None, never a number.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from llmpedia.analysis.common.statistics import jaccard_of_sets
from llmpedia.analysis.output.formats import TableRow
from llmpedia.analysis.personas.framing import Words, prose, shown_rate, tokens_of
from llmpedia.probe.documents import sentences
from llmpedia.wikitext import Article

_LISTS = Path(__file__).with_name("style_words.json")
_SECTION = 2  # level of a heading


@dataclass(frozen=True)
class StyleWords:
    """Our own lists: 100 function words, and words that praise or blame whatever they are said of."""

    function: tuple[str, ...]
    positive: tuple[str, ...]
    negative: tuple[str, ...]


def load_style_words() -> StyleWords:
    """The lists of this version."""
    data = json.loads(_LISTS.read_text(encoding="utf-8"))
    return StyleWords(tuple(data["function"]), tuple(data["positive"]), tuple(data["negative"]))


@dataclass(frozen=True)
class Style:
    """What one article brings to the comparison.

    ``outline``: its section headings, each as its tokens; ``grams``: its runs of 1, 2 and 3 tokens;
    ``function``: how often each function word stands in it; ``sentence_length``: tokens a sentence;
    ``sentiment``: praise less blame per 1,000 tokens, a rate.
    """

    outline: frozenset[tuple[str, ...]]
    grams: tuple[frozenset[tuple[str, ...]], ...]
    function: tuple[int, ...]
    sentence_length: float | None
    type_token_ratio: float
    sentiment: int

    @classmethod
    def of(cls, wikitext: str, words: Words, lists: StyleWords) -> "Style":
        """Of an article that has words."""
        tokens = words.tokens
        headings = (tuple(tokens_of(h.title)) for h in Article(wikitext).headings if h.level == _SECTION)
        return cls(
            frozenset(heading for heading in headings if heading),
            tuple(frozenset(zip(*(tokens[i:] for i in range(n)), strict=False)) for n in (1, 2, 3)),
            tuple(words.counts[word] for word in lists.function),
            sentence_length(wikitext),
            len(words.counts) / len(tokens),
            words.rate(lists.positive) - words.rate(lists.negative),
        )


def sentence_length(wikitext: str) -> float | None:
    """Mean tokens of the sentences of the prose; None where there is none."""
    text = prose(wikitext)
    lengths = [n for start, end in sentences(text) if (n := len(tokens_of(text[start:end])))]
    return sum(lengths) / len(lengths) if lengths else None


def cosine(a: Sequence[int], b: Sequence[int]) -> float | None:
    """Of two vectors of counts; None where one of them is all 0."""
    norms = sum(x * x for x in a) * sum(y * y for y in b)
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(norms) if norms else None


def style_row(a: Sequence[Style], b: Sequence[Style]) -> TableRow:
    """Means over pairs of articles on the same subjects. ``outlines``: pairs of which one at least
    has section headings.
    """
    pairs = list(zip(a, b, strict=True))
    outlines = [jaccard_of_sets(x.outline, y.outline) for x, y in pairs]
    compared = sum(value is not None for value in outlines)
    row: TableRow = {"outlines": compared, "outline_jaccard": mean(outlines)}
    for n in range(3):
        row[f"jaccard_{n + 1}"] = mean(jaccard_of_sets(x.grams[n], y.grams[n]) for x, y in pairs)
    row["function_word_cosine"] = mean(cosine(x.function, y.function) for x, y in pairs)
    for column in ("sentence_length", "type_token_ratio"):
        row |= {
            f"{column}_{side}": mean(getattr(s, column) for s in styles)
            for side, styles in (("a", a), ("b", b))
        }
    return row | {
        f"sentiment_{side}": shown_rate(sum(s.sentiment for s in x), len(x))
        for side, x in (("a", a), ("b", b))
    }


def mean(values: Iterable[float | None]) -> float | None:
    """Of those that are defined, exactly summed; None where none is."""
    defined = [value for value in values if value is not None]
    return round(math.fsum(defined) / len(defined), 4) if defined else None
