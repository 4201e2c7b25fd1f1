"""Titles of a MediaWiki: which subjects can be asked for, and which would silently become another
page.

A wiki answers ``C#`` with its article on the letter C, and ``A|B`` with two articles: evidence on
the wrong subject, and no error. Such a subject is refused here and never asked for, although
Wikipedia may well have an article on it under a spelled-out title ("C Sharp (programming
language)"): nothing in the subject's name leads there, so the honest outcome is ``invalid``.

Three judges, each for what only it can know: :func:`safe_title` for what no MediaWiki takes as it
stands; :class:`Site`, read from the wiki's own siteinfo, for prefixes (``Talk:``, ``de:``) and the
first letter; and the API's answer for the rest. The rules are those of MediaWiki 1.39
(``MediaWikiTitleCodec::splitTitleString``, ``MediaWikiTitleCodec::getTitleInvalidRegex``).
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

MAX_TITLE_BYTES = 255

# U+180E is white space to MediaWiki, though no longer to Unicode.
_SPACES = re.compile(r"[\s_\u180e]+")
# MediaWiki drops marks of writing direction from a title; they are invisible and part of no name.
_DIRECTION = re.compile("[\u200e\u200f\u202a-\u202e]")
_REFUSED = (
    (re.compile("#"), "'#' begins a section: the wiki would answer with another article"),
    (re.compile(r"\|"), "'|' parts two titles: the wiki would answer with other articles"),
    (re.compile(r"[<>\[\]{}]"), "a title holds none of < > [ ] { }"),
    (re.compile(r"[\x00-\x1f\x7f-\x9f]"), "it holds a control character"),
    (
        re.compile("[\ud800-\udfff\ufffd-\uffff]"),
        "it holds a character that is none (U+FFFD, half of a pair)",
    ),
    (re.compile("^:"), "a title begins with no colon"),
    (re.compile(r"(^|/)\.\.?(/|$)"), "'.' and '..' are relative paths"),
    (re.compile("~~~"), "'~~~' stands for a signature"),
    (re.compile("%[0-9A-Fa-f]{2}"), "'%' with two hexadecimal digits is an encoded character"),
    (re.compile(r"&(#\d+|#[xX][0-9A-Fa-f]+|[A-Za-z0-9\x80-\U0010ffff]+);"), "it holds an HTML entity"),
)


@dataclass(frozen=True)
class Title:
    """A subject as it can be asked for: NFC, single spaces, at most 255 bytes of UTF-8."""

    text: str


@dataclass(frozen=True)
class RefusedTitle:
    """Why no article can be had under a subject, in words."""

    reason: str


def safe_title(subject: str) -> Title | RefusedTitle:
    """A subject as a title, or why no MediaWiki takes it as it stands. Prefixes are for
    :meth:`Site.leads_out`.
    """
    text = _SPACES.sub(" ", _DIRECTION.sub("", unicodedata.normalize("NFC", subject))).strip()
    if not text:
        return RefusedTitle("it is empty")
    for pattern, reason in _REFUSED:
        if pattern.search(text):
            return RefusedTitle(reason)
    size = len(text.encode())
    return (
        Title(text)
        if size <= MAX_TITLE_BYTES
        else RefusedTitle(f"it has {size} bytes; a title has at most {MAX_TITLE_BYTES}")
    )


@dataclass(frozen=True)
class Site:
    """What a wiki says of itself.

    ``prefixes``: what before a colon leads out of its articles -> where to. ``content``: numbers of
    the namespaces that hold articles. ``first_letter``: whether titles differ not by the case of
    their first letter.
    """

    prefixes: Mapping[str, str]
    content: frozenset[int]
    first_letter: bool

    @classmethod
    def read(cls, query: Mapping[str, Any]) -> Self:
        """From ``query`` of
        ``meta=siteinfo&siprop=general|namespaces|namespacealiases|interwikimap``, formatversion 2.

        Raises:
            KeyError, TypeError, AttributeError: it is no such answer.
        """
        spaces = list(query["namespaces"].values())
        content = frozenset(s["id"] for s in spaces if s["id"] == 0 or s.get("content"))
        named = [(s["id"], n) for s in spaces for n in (s["name"], s.get("canonical", ""))]
        named += [(a["id"], a["alias"]) for a in query["namespacealiases"]]
        prefixes = {_prefix(i["prefix"]): "another wiki" for i in query["interwikimap"]}
        prefixes |= {_prefix(n): "another namespace" for number, n in named if n and number not in content}
        return cls(prefixes, content, query["general"]["case"] == "first-letter")

    def leads_out(self, title: Title) -> RefusedTitle | None:
        """Why a title leads out of the encyclopedia's articles, if it does. "2001: A Space Odyssey"
        does not.
        """
        prefix, colon, _ = title.text.partition(":")
        where = self.prefixes.get(_prefix(prefix)) if colon else None
        return RefusedTitle(f"'{prefix}:' leads to {where}") if where else None

    def same(self, asked: str, page: str) -> bool:
        """Whether two titles differ in Unicode form, underscores and the case of the first letter
        at most.
        """
        one, other = (_SPACES.sub(" ", unicodedata.normalize("NFC", t)).strip() for t in (asked, page))
        if not self.first_letter:
            return one == other
        return one[1:] == other[1:] and one[:1].casefold() == other[:1].casefold()


def _prefix(name: str) -> str:
    """The form in which prefixes are compared: MediaWiki tells neither case nor underscores apart."""
    return _SPACES.sub(" ", name).strip().lower()
