"""Reading a model's Wikitext: links, headings, lead, plain text, the sentence that holds a link.

A scanner of our own: the parsers on PyPI take 3 to 4 ms an article, a twentieth of the whole budget
of one, and miss links that models write (docs/design/wikitext.md). It never fails: text that is not
well formed yields fewer links, and what is dropped is counted.
"""

import html
import re
from dataclasses import dataclass
from functools import cached_property

# Namespaces and sister projects whose links name no article. A colon in a title stays ("2001: A
# Space Odyssey").
_NAMESPACES = frozenset(
    "file image category template wikipedia wp module mediawiki timedtext wikt wiktionary "
    "wikiquote wikisource wikibooks "
    "wikinews wikiversity wikivoyage wikidata wikispecies".split()
)
# Words that titles begin with as well ("Project: Hail Mary"): namespaces only with no space after
# the colon.
_SHARED_WORDS = frozenset(
    "media user project help portal special talk draft book commons meta species".split()
)
# Language prefixes count only in lower case and with no space after the colon: "It: Chapter Two" is
# a film.
_LANGUAGES = frozenset(
    "ar az be bg bn bs ca ceb cs cy da de el en eo es et eu fa fi fr gl he hi hr hu hy id is it ja "
    "ka kk kn ko la lt lv mk ml "
    "mr ms my nl nn no pa pl pt ro ru sh simple sk sl sq sr sv sw ta te th tl tr uk ur uz vi war zh".split()
)
_HIDDEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<nowiki>.*?(?:</nowiki>|\Z)|<ref[^>/]*/>|<ref[^>]*>.*?(?:</ref>|\Z)", re.S | re.I
)
_TOKENS = re.compile(r"\[\[|\]\]|\n\s*\n|\n(?==)")
# The title begins and ends with a visible character (or is missing), so that runs of blanks are not
# tried in every split.
HEADING = re.compile(r"^(={2,6})[ \t]*+([^ \t\n](?:[^\n]*[^ \t\n])?|(?<=[ \t]))[ \t]*\1[ \t]*$", re.M)
# 0.85, .85, 0,85, 1.0, 85%; never a bare number, which titles hold ("Apollo (1)").
_SCORE = re.compile(r"\s*\(\s*(?:(0?[.,]\d{1,3}|1[.,]0{1,3})|(100|\d{1,2})\s*%)\s*\)\s*$")
_SCORE_AFTER = re.compile(r"\s?\(\s*(?:(0?[.,]\d{1,3}|1[.,]0{1,3})|(100|\d{1,2})\s*%)\s*\)")
_ANCHOR = re.compile(r"#(?=\w).*$", re.S)
_TEMPLATE = re.compile(r"\{\{[^{}]*\}\}|\{\|[^{}]*?\|\}", re.S)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_EXTERNAL = re.compile(r"\[https?://[^\s\]]++\s*+([^\]]*+)\]")
# What is left in brackets once titles are replaced: files, categories, other wikis. Group 1: a
# caption.
_OTHER_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)*([^\[\]|]*)\]\]")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
SENTENCE_END = re.compile(
    r"(?<=[^\W\d_A-Z][.!?])\s+(?=[^\sa-z])|(?<=[)\"'\d][.!?])\s+(?=[^\sa-z])|(?<=[。।！？])|\n+"
)
_MARK = re.compile("\x02(\\d+)\x03")
_BAD_TITLE = re.compile(r"[\[\]{}|<>\n\x02\x03]")
MAX_TITLE_BYTES = 255
_MAX_NESTING = 20


@dataclass(frozen=True)
class Link:
    """A link to an article title.

    ``score``: the calibrated confidence that stood with it, 0 to 1, or None. ``sentence``: plain
    text around its place.
    """

    target: str
    label: str
    score: float | None
    sentence: str


@dataclass(frozen=True)
class Heading:
    """``level`` 2 is a section."""

    level: int
    title: str


class Article:
    """One Wikitext, read once. All properties are plain text without markup."""

    def __init__(self, wikitext: str) -> None:
        self._text = _HIDDEN.sub(" ", CONTROL.sub(" ", wikitext.replace("\r\n", "\n")))

    @cached_property
    def _scanned(self) -> tuple[list[tuple[int, int, str, str, float | None]], int]:
        return scan_links(self._text)

    @property
    def other_links(self) -> int:
        """Links that name no article, and ``[[`` that are never closed."""
        return self._scanned[1]

    @cached_property
    def links(self) -> list[Link]:
        """Links to article titles in order of appearance, repeated ones included."""
        links, _ = self._scanned
        sentences = self._sentences()
        return [
            Link(target, label, score, sentences.get(i, ""))
            for i, (_, _, target, label, score) in enumerate(links)
        ]

    @cached_property
    def headings(self) -> list[Heading]:
        """All headings in order."""
        return [Heading(len(m.group(1)), Article(m.group(2)).text) for m in HEADING.finditer(self._text)]

    @cached_property
    def text(self) -> str:
        """Plain text of the whole article, headings left out."""
        return _plain(self._marked(marks=False))

    @cached_property
    def lead(self) -> str:
        """Plain text before the first heading."""
        first = HEADING.search(self._text)
        return Article(self._text[: first.start()]).text if first else self.text

    @property
    def words(self) -> int:
        """Words of the plain text, split at white space."""
        return len(self.text.split())

    def _marked(self, marks: bool) -> str:
        """The text with each link replaced by its label, after a mark that carries its number."""
        out = []
        at = 0
        for i, (start, end, _, label, _) in enumerate(self._scanned[0]):
            if start < at:
                continue
            out += [self._text[at:start], f"\x02{i}\x03" if marks else "", label]
            at = end
        out.append(self._text[at:])
        return "".join(out)

    def _sentences(self) -> dict[int, str]:
        sentences: dict[int, str] = {}
        text = _strip_markup(self._marked(marks=True), keep_templates=True)
        for sentence in SENTENCE_END.split(text):
            numbers = _MARK.findall(sentence)
            if numbers:
                plain = " ".join(_MARK.sub("", sentence).split())
                sentences.update((int(n), plain) for n in numbers)
        return sentences


def first_words(text: str, n: int) -> str:
    """The first ``n`` words of a text, split at white space."""
    return " ".join(text.split()[:n])


def scan_links(text: str) -> tuple[list[tuple[int, int, str, str, float | None]], int]:
    """(start, end, target, label, score) of links to titles, in order; and how many links name
    none. ``end``: behind a score.
    """
    links: list[tuple[int, int, str, str, float | None]] = []
    stack: list[int] = []
    other = 0
    for token in _TOKENS.finditer(text):
        if token.group() == "[[":
            stack.append(token.start())
            if len(stack) > _MAX_NESTING:
                stack.pop(0)
                other += 1
        elif token.group() != "]]":
            other += len(stack)
            stack.clear()
        elif stack:
            start = stack.pop()
            link = _read(text[start + 2 : token.start()])
            if link is None:
                other += 1
                continue
            end = token.end()
            after = _SCORE_AFTER.match(text, end) if link[2] is None else None
            if after:
                link = (link[0], link[1], _score(after))
                end = after.end()
            links.append((start, end, *link))
    return sorted(links), other + len(stack)


def _read(inner: str) -> tuple[str, str, float | None] | None:
    """(target, label, score) of what stands between ``[[`` and ``]]``; None if it names no article."""
    raw, bar, label = inner.lstrip("[").partition("|")
    target, score = _split_score(_tidy(raw))
    if bar:
        label, label_score = _split_score(_tidy(label.rpartition("|")[2]))
        score = score if score is not None else label_score
    target = _tidy(_ANCHOR.sub("", target))
    if target and not _names_no_article(target):
        target = _tidy(target.lstrip(":"))
    if (
        not target
        or _names_no_article(target)
        or _BAD_TITLE.search(target)
        or len(target.encode()) > MAX_TITLE_BYTES
    ):
        return None
    return target, label or target, score


def _split_score(text: str) -> tuple[str, float | None]:
    match = _SCORE.search(text)
    if not match:
        return text, None
    return text[: match.start()], _score(match)


def _score(match: re.Match[str]) -> float:
    return float(match.group(1).replace(",", ".")) if match.group(1) else int(match.group(2)) / 100


def _names_no_article(target: str) -> bool:
    colon = target.startswith(":")
    prefix, sep, rest = target.lstrip(":").partition(":")
    if not sep:
        return False
    word = prefix.strip().casefold().replace("_", " ")
    base = word.removesuffix(" talk")
    if base in _NAMESPACES:
        return True
    return not rest.startswith(" ") and (
        base in _SHARED_WORDS or (prefix in _LANGUAGES and bool(rest or colon))
    )


def _tidy(text: str) -> str:
    return " ".join(html.unescape(text).replace("_", " ").replace("'''", "").replace("''", "").split())


def _strip_markup(text: str, keep_templates: bool) -> str:
    if keep_templates:
        text = _OTHER_LINK.sub(r"\n\1\n", text.replace("{{", "\n").replace("}}", "\n"))
    else:
        for _ in range(20):  # nested templates and tables, innermost first; deeper nesting stays as text
            text, n = _TEMPLATE.subn(" ", text)
            if not n:
                break
    text = _EXTERNAL.sub(r"\1", HEADING.sub("\n", text))
    text = _OTHER_LINK.sub(" ", text)
    text = _TAG.sub(" ", text.replace("'''", "").replace("''", ""))
    return html.unescape(text)


def _plain(text: str) -> str:
    return " ".join(_strip_markup(text, keep_templates=False).split())
