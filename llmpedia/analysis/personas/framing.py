"""How often articles use the words of 24 framing dimensions (LLMpedia paper, appendix M): word
lists, no model, no judge.

The same text gives the same counts, to the bit. Rates are whole millionths of a hit per 1,000
tokens, so that sums and ties of rates are exact in whatever order they are taken.
"""

import html
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from llmpedia.entities.keys import canonical_key

UNIT = 1_000_000
"""Rates in one hit per 1,000 tokens."""

_LEXICONS = Path(__file__).with_name("lexicons.json")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_BRACES = re.compile(r"\{\{|\}\}")
# The confidence that calibrated prompting asks for, in a link or behind it; "Apollo (1)" keeps its
# number.
_CONFIDENCE = r"\s?\(\s*(?:0?[.,]\d{1,3}|1[.,]0{1,3}|\d{1,3}\s*%)\s*\)"
_LINK = re.compile(rf"\[\[([^\[\]]*)\]\](?:{_CONFIDENCE})?")
_SCORE = re.compile(rf"{_CONFIDENCE}\s*$")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
# Word characters but for the underscore, which stands for a space in titles.
_TOKEN = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Lexicon:
    """A framing dimension. ``group``: the topic it was made for, ``generic`` or ``topic_agnostic``."""

    name: str
    group: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Topic:
    """A root topic. ``group``: of the dimensions made for it, if any. ``contested``: null where the
    paper does not say.

    ``family``: the analysis whose tests are corrected together. ``config``: the file whose grid
    makes its runs.
    """

    name: str
    group: str | None
    family: str
    contested: bool | None
    config: str | None


class Lexicons:
    """The dimensions in the paper's order, and what is known of topics."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.dimensions = tuple(
            Lexicon(name, d["group"], tuple(d["words"])) for name, d in data["dimensions"].items()
        )
        self._topics = [(tuple(map(canonical_key, t["names"])), t) for t in data["topics"]]
        self._groups = {t["group"] for _, t in self._topics if t["group"]}

    def topic(self, name: str) -> Topic:
        """What is known of a topic, by any form of its name; an unknown one is in the extended
        family.
        """
        key = canonical_key(name)
        for keys, known in self._topics:
            if key in keys:
                return Topic(name, known["group"], known["family"], known["contested"], known["config"])
        return Topic(name, None, "extended", None, None)

    def place(self, name: str) -> tuple[int, str]:
        """To sort topics by: the paper's in its order, then others by name."""
        key = canonical_key(name)
        return next((n for n, (keys, _) in enumerate(self._topics) if key in keys), len(self._topics)), name

    def config(self, family: str) -> str:
        """A file whose grid makes runs of a family."""
        return next(str(t["config"]) for _, t in self._topics if t["family"] == family)

    def actors(self, topic: Topic) -> list[Lexicon]:
        """Dimensions that list the people and bodies of a topic."""
        return [d for d in self.dimensions if d.group == topic.group and d.name.startswith("actors_")]

    def actors_config(self) -> str:
        """A file whose grid makes runs on a topic that has such lists."""
        topics = (self.topic(t["names"][0]) for _, t in self._topics)
        return next(str(topic.config) for topic in topics if self.actors(topic))

    def relevant(self, topic: Topic) -> list[int]:
        """Places of the dimensions that speak to a topic: all but those that were made for another
        one.
        """
        others = self._groups - {topic.group}
        return [n for n, d in enumerate(self.dimensions) if d.group not in others]


def load_lexicons() -> Lexicons:
    """The paper's vocabulary (tables 21 and 26)."""
    return Lexicons(json.loads(_LEXICONS.read_text(encoding="utf-8")))


def stripped(wikitext: str) -> str:
    """Wikitext as the paper prepares it (section M.1), line ends kept: comments, templates and tags
    go, links are as displayed.

    All else stays: headings, captions, category names, cells of tables. Two things the paper does
    not speak of: entities (``&nbsp;``) become what they stand for, and the confidence that
    calibrated prompting puts to a link goes.
    """
    text = _without_templates(_COMMENT.sub(" ", wikitext))
    replaced = 1
    while replaced:  # a link may stand in another one's display text, such as a caption's
        text, replaced = _LINK.subn(_displayed, text)
    return html.unescape(_TAG.sub(" ", text))


def _without_templates(text: str) -> str:
    """Without ``{{...}}``, however deep; braces that are never closed stay as text."""
    opened: list[int] = []
    spans: list[tuple[int, int]] = []
    for brace in _BRACES.finditer(text):
        if brace.group() == "{{":
            opened.append(brace.start())
        elif opened:
            start = opened.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, brace.end()))
    out = []
    at = 0
    for start, end in spans:
        out.append(text[at:start])
        at = end
    return " ".join([*out, text[at:]])


def _displayed(link: re.Match[str]) -> str:
    target, _, display = link.group(1).partition("|")
    return _SCORE.sub("", display.rpartition("|")[2]) or _SCORE.sub("", target)


def prose(wikitext: str) -> str:
    """The stripped text without the lines of headings, which are no sentences."""
    lines = (line.strip() for line in stripped(wikitext).splitlines())
    return "\n".join(line for line in lines if not (line.startswith("=") and line.endswith("=")))


def tokens_of(text: str) -> list[str]:
    """Runs of Unicode letters and digits, in lower case; a hyphen, an apostrophe or an underscore
    parts words.
    """
    return _TOKEN.findall(unicodedata.normalize("NFC", text).lower())


@dataclass(frozen=True)
class Words:
    """An article's tokens."""

    tokens: tuple[str, ...]

    @classmethod
    def of(cls, wikitext: str) -> "Words":
        """Of the whole article as prepared."""
        return cls(tuple(tokens_of(stripped(wikitext))))

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each token stands in it."""
        return Counter(self.tokens)

    @cached_property
    def _joined(self) -> str:
        return " " + " ".join(self.tokens)

    def hits(self, entry: str) -> int:
        """How often an entry of a word list stands in it.

        A single word is a whole token. What the tokenizer parts (a phrase, "sit-in") is sought as a
        substring of the joined tokens that begins with a token: "sit-in", "sit in" and "sit-ins"
        are found, "transit in" is not.
        """
        parts = tokens_of(entry)
        return self.counts[parts[0]] if len(parts) == 1 else self._joined.count(" " + " ".join(parts))

    def rate(self, entries: Iterable[str]) -> int:
        """Hits of all the entries per 1,000 tokens, in :data:`UNIT`; only for an article that has
        words.
        """
        return rate_of(sum(map(self.hits, entries)), len(self.tokens))


def rate_of(hits: int, tokens: int) -> int:
    """Hits per 1,000 tokens in :data:`UNIT`, rounded half up; whole numbers throughout."""
    return (2 * hits * 1000 * UNIT + tokens) // (2 * tokens)


def shown_rate(total: int, n: int = 1) -> float:
    """The mean of ``n`` rates that sum to ``total``, in hits per 1,000 tokens."""
    return round(total / (n * UNIT), 4)
