"""What the steps of a build hand on: documents, sentences, knowledge points, mentions, and who is
seen with which attribute.
"""

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum

# A sentence ends at its stop before white space and what may begin the next one, or at a line's
# end.
_ENDS = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[^\W_a-z])|(?<=[。！？])|\n+")
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Z]|Dr|Mr|Mrs|Ms|St|No|Prof|Gen|Col|Capt|Lt|Sgt|Rev|Hon|vs|cf|ca|c|fl|approx|vol|pp|p)|\.[a-zA-Z])\.$"
)
LONGEST_SENTENCE = 1200  # characters, as in the released program


class DocumentFate(StrEnum):
    """Where a document of the corpus ended; each ends in exactly one."""

    KEPT = "kept"
    UNREADABLE = "unreadable"
    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    EXACT_DUPLICATE = "exact_duplicate"
    NEAR_DUPLICATE = "near_duplicate"
    QUALITY = "quality"


@dataclass(frozen=True, slots=True)
class Document:
    """A text of the corpus. ``number``: its place in the corpus, from 0."""

    number: int
    url: str
    text: str


def document_id(url: str, text: str) -> str:
    """sha256 (hex) of address and text: the same document has the same id in every build."""
    return hashlib.sha256(f"{url}\n{text}".encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class KnowledgePoint:
    """What a document is about: a path of the taxonomy, and the sentences (first to last, from 0)
    that say so.
    """

    path: tuple[str, ...]
    confidence: float
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity or event that a text names, from ``start`` to ``end`` (characters). ``key``: its
    canonical key.
    """

    start: int
    end: int
    surface: str
    key: str
    kind: str
    label: str


@dataclass(frozen=True, slots=True)
class Sighting:
    """A sentence that names ``subject`` (a canonical key; ``surface`` as written) and speaks of the
    attribute ``slot``.
    """

    sentence: int
    subject: str
    surface: str
    slot: str


def sentences(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence in characters, in order; none is empty or longer than
    :data:`LONGEST_SENTENCE`.
    """
    cuts = []
    start = 0
    for end in _ENDS.finditer(text):
        if "\n" in end.group() or not _ABBREVIATION.search(text, max(start, end.start() - 12), end.start()):
            cuts.append((start, end.start()))
            start = end.end()
    cuts.append((start, len(text)))
    return [piece for cut in cuts for piece in _trimmed(text, *cut)]


def _trimmed(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The part without white space at its ends, in pieces where it is too long; empty for nothing
    but white space.
    """
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return [(at, min(end, at + LONGEST_SENTENCE)) for at in range(start, end, LONGEST_SENTENCE)]


def held(span: str, text: str) -> bool:
    """Whether a text holds a span verbatim but for white space and case."""
    folded = " ".join(span.split()).casefold()
    return bool(folded) and folded in " ".join(text.split()).casefold()
