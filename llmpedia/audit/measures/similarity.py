"""How close a generated article is to another text on the subject, as a rule Wikipedia's (paper,
section 4.2 and table 7).

Both sides are plain text: markup is taken out before. All values are from 0 to 1 (the semantic
cosine from -1 to 1), and null where a side is empty or too short for the measure. Words are runs of
letters, digits and underscores, case folded.

Two readings that change numbers. TF-IDF is fitted once on all texts of all pairs given, without a
stop list; fitted on each pair alone, its cosine is another number (0.92 against 0.83 in one trial),
so values of different corpora do not compare. Of n-grams both readings are given: ``jaccard_n`` =
shared / all distinct n-grams of the two texts, ``overlap_n`` = shared / distinct n-grams of the
text that has fewer. The paper's program has the second (its "n-gram overlap"), which does not fall
merely because one text is longer, and fits TF-IDF on each pair.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from llmpedia.audit.measures.verdicts import Row, Rows, macro
from llmpedia.errors import EngineError

if TYPE_CHECKING:
    import numpy as np

Encoder = Callable[[list[str]], "np.ndarray[Any, Any]"]
"""Texts -> vectors of shape [texts, dimensions]. Where it reads only a text's beginning, so does
the semantic cosine.
"""

LENGTHS = (1, 2, 3)
_MEASURES = (
    "tfidf_cosine",
    *(f"{kind}_{n}" for n in LENGTHS for kind in ("jaccard", "overlap")),
    "semantic_cosine",
)
_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """The text's words, case folded."""
    return _WORD.findall(text.casefold())


def similarities(pairs: Sequence[tuple[str, str]], encode: Encoder | None) -> Rows:
    """A row for each (generated, reference) pair, in order. Without an encoder ``semantic_cosine``
    is null.

    Raises:
        EngineError: the encoder returned another number of vectors than texts.
    """
    words = [(words_of(generated), words_of(reference)) for generated, reference in pairs]
    tfidf = _tfidf(words)
    semantic = _semantic(pairs, encode)
    return [
        {
            "tfidf_cosine": tfidf[i],
            **_overlaps(generated, reference),
            "semantic_cosine": semantic[i],
            "words": len(generated),
            "reference_words": len(reference),
        }
        for i, (generated, reference) in enumerate(words)
    ]


def _overlaps(generated: list[str], reference: list[str]) -> Row:
    overlaps: Row = {}
    for n in LENGTHS:
        a = ngrams(generated, n)
        b = ngrams(reference, n)
        shared = len(a & b)
        defined = bool(a and b)
        overlaps[f"jaccard_{n}"] = shared / (len(a) + len(b) - shared) if defined else None
        overlaps[f"overlap_{n}"] = shared / min(len(a), len(b)) if defined else None
    return overlaps


def ngrams(words: list[str], n: int) -> set[tuple[str, ...]]:
    """The distinct n-grams of a text's words."""
    return set(zip(*(words[i:] for i in range(n)), strict=False))


def _tfidf(words: list[tuple[list[str], list[str]]]) -> list[float | None]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    if not any(side for pair in words for side in pair):
        return [None] * len(words)
    # The analyzer passes our own words through, so that every measure counts the same ones.
    vectors = TfidfVectorizer(analyzer=lambda side: side).fit_transform(
        [side for pair in words for side in pair]
    )
    cosines = vectors[0::2].multiply(vectors[1::2]).sum(axis=1).A1  # rows have length 1
    return [min(float(c), 1.0) if a and b else None for c, (a, b) in zip(cosines, words, strict=True)]


def _semantic(pairs: Sequence[tuple[str, str]], encode: Encoder | None) -> list[float | None]:
    import numpy as np

    if encode is None or not pairs:
        return [None] * len(pairs)
    texts = [side for pair in pairs for side in pair]
    vectors = np.asarray(encode(texts), dtype=float)
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise EngineError(
            f"encoder: {len(texts)} texts gave an array of shape {vectors.shape}; must be one vector a text"
        )
    lengths = np.linalg.norm(vectors, axis=1)
    # A vector of length 0 or with a hole is a failed embedding, which says nothing about the text.
    good = np.isfinite(lengths) & (lengths > 0) & np.array([bool(t.strip()) for t in texts])
    both = good[0::2] & good[1::2]
    unit = np.where(good[:, None], vectors, 0.0) / np.where(good, lengths, 1.0)[:, None]
    cosines = np.einsum("ij,ij->i", unit[0::2], unit[1::2]).clip(-1.0, 1.0)
    return [float(c) if defined else None for c, defined in zip(cosines, both, strict=True)]


def similarity_summary(rows: Rows, constants: Mapping[str, Any], seed: int) -> Row:
    """One row: each measure's macro average over pairs, with its number, spread and interval."""
    summary: Row = {**constants, "pairs": len(rows)}
    for name in _MEASURES:
        summary |= macro((row[name] for row in rows), seed).columns(name)
    return summary
