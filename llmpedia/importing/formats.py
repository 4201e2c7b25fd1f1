"""Texts of other forms as wikitext, as articles are kept; nothing of what a reader sees is lost or
read as markup.
"""

import re
from typing import Literal, get_args

Form = Literal["text", "markdown", "wikitext", "html"]
FORMS: tuple[Form, ...] = get_args(Form)
SUFFIXES: dict[str, Form] = {
    ".txt": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".wiki": "wikitext",
    ".wikitext": "wikitext",
    ".mediawiki": "wikitext",
    ".html": "html",
    ".htm": "html",
}
"""How a file's name ends -> what it holds."""

# What wikitext gives a meaning to, as character references, which it does not.
_MARKUP = {c: f"&#{ord(c)};" for c in "<[]{}|"}
_QUOTES = re.compile(r"'{2,}")
_HEADING_MARK = re.compile(r"^=", re.M)

_FENCE = re.compile(r"^[ \t]*(```|~~~).*$\n?", re.M)
_IMAGE = re.compile(r"!\[[^\]\n]*\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)")
_LINK = re.compile(r"\[([^\[\]\n]*)\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)")
_NOTE = re.compile(r"\[\^[^\]\n]+\]:?")
_ATX = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_STRONG = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1", re.S)
_EMPHASIS = re.compile(
    r"(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])|(?<!\w)_(?=\S)([^_\n]+?)(?<=\S)_(?!\w)"
)
_CODE = re.compile(r"`+")
_DEEPEST = 6


def as_wikitext(text: str, form: Form) -> str:
    """The text as an article; of HTML, the plain text that was taken from it."""
    if form == "wikitext":
        return text
    return _markdown(text) if form == "markdown" else plain(text)


def plain(text: str) -> str:
    """Text that reads the same as wikitext; paragraphs stay."""
    shown = text.replace("\r\n", "\n").replace("&", "&amp;")
    shown = "".join(_MARKUP.get(c, c) for c in shown)
    shown = _QUOTES.sub(lambda m: "&#39;" * len(m.group()), shown)
    return _HEADING_MARK.sub("&#61;", shown)


def _markdown(text: str) -> str:
    """Headings as headings, links as their labels; images, footnote marks, fences and emphasis are
    left out.

    A first-level heading is the article's title as a rule, and titles stand apart: it is left out
    where it comes first.
    """
    text = _NOTE.sub("", _LINK.sub(r"\1", _IMAGE.sub("", _FENCE.sub("", text.replace("\r\n", "\n")))))
    lines = []
    for number, line in enumerate(text.strip().split("\n")):
        heading = _ATX.match(line)
        if heading is None:
            lines.append(plain(_unmarked(line)))
        elif number or len(heading.group(1)) > 1:
            mark = "=" * min(max(2, len(heading.group(1))), _DEEPEST)
            lines.append(f"{mark} {plain(_unmarked(heading.group(2)))} {mark}")
    return "\n".join(lines).strip()


def _unmarked(line: str) -> str:
    line = _STRONG.sub(r"\2", line)
    line = _EMPHASIS.sub(lambda m: m.group(1) or m.group(2), line)
    return _CODE.sub("", line)
