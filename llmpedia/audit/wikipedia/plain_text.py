"""Wikitext of an encyclopedia's article as plain text that keeps what carries facts.

Kept: prose, link labels, headings and list items as lines, rows of tables, parameters of infoboxes
as ``name: value``, what small templates hold (``{{birth date|1890|3|11}}`` as 1890-03-11). Dropped:
references, comments, files, categories, navigation, maintenance notices. Templates are not
expanded: their parameters stand for them.

Model articles are read by :mod:`llmpedia.wikitext`, which is faster and drops templates; this is
for evidence.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from llmpedia.audit.wikipedia.templates import template_text

if TYPE_CHECKING:
    from mwparserfromhell.wikicode import Wikicode

# A page of Wikipedia has 2 MiB at most ($wgMaxArticleSize); more is no article.
_MAX_CHARS = 2_097_152
# mwparserfromhell tries every opening mark that nothing closes to the end of the text: 5,000 of
# them take 30 s, 100 a tenth.
_MAX_UNCLOSED = 100
_MARKS = re.compile(
    r"\{\{|\}\}|\{\||\|\}|\[\[|\]\]|\[(?=http)|\]|<!--|<(/?)([a-z]+)\b[^<>/]{0,500}+(/?)", re.I
)
_CLOSES = {"}}": "{{", "|}": "{|", "]]": "[[", "]": "["}
# Tags of style say nothing here, and every tag fewer is time saved.
_STYLE_TAGS = re.compile(
    r"</?(?:b|i|em|strong|small|big|span|u|s|p|center|font|abbr|div)\b[^<>]{0,500}>", re.I
)
_SELF_CLOSED = re.compile(r"<ref\b[^<>]{0,500}/>", re.I)
# (what is left out, the text up to the last mark that ends one): beyond it no opening mark need be
# tried.
_LEFT_OUT = (
    (re.compile(r"<!--.*?-->", re.S), re.compile(r".*-->", re.S)),
    (re.compile(r"<ref\b[^<>]{0,500}>.*?</ref\s*>", re.S | re.I), re.compile(r".*</ref\s*>", re.S | re.I)),
)
_QUOTES = re.compile(r"''+")
_LEADING_MARKS = re.compile(r"^(?:(?:-|:|\|)(?: |$))+")
_MAGIC = re.compile(r"__[A-Z]{3,}__")
# Templates and tables; the empty match is the beginning of a heading.
_CUTS = re.compile(r"\{\{|\{\||\}\}|\|\}|^(?==)", re.M)
_SECTION_CHARS = 50_000
_OPENERS = re.compile(r"<!--|\{\{|\}\}|\{\||\|\}|\[\[|\]\]|<[^<>\n]*>")

_DROPPED_TAGS = frozenset(
    "ref references gallery templatestyles style script timeline graph imagemap mapframe maplink "
    "templatedata indicator score "
    "inputbox section".split()
)
_DROPPED_LINKS = frozenset("file image category media".split())
# Links to the same article in other languages stand alone, with a lower-case code and no label.
_LANGUAGE_LINK = re.compile(r"^[a-z]{2,3}(-[a-z]+)*:\S")
_BULLETS = {"li": "- ", "dd": ": ", "dt": ""}
_SINGLE_TAGS = frozenset("br hr li dt dd td th tr".split())


def wikitext_plain(wikitext: str) -> str:
    """Plain text of an article; never fails; 20 ms for a sound page of 40 KB, and broken markup
    takes no longer.
    """
    text = _SELF_CLOSED.sub("", wikitext[:_MAX_CHARS])
    for pattern, all_closed in _LEFT_OUT:
        last = all_closed.match(text)
        text = pattern.sub("", text[: last.end()]) + text[last.end() :] if last else text
    for pattern in (_QUOTES, _STYLE_TAGS, _MAGIC):
        text = pattern.sub("", text)
    return _tidy("".join(_section(part) for part in _sections(text)))


def _sections(text: str) -> Iterable[str]:
    """Parts of the text that can be read apart: long ones end at a heading outside any template or
    table.
    """
    start = depth = 0
    for match in _CUTS.finditer(text):
        if match.group():
            depth = depth + 1 if match.group().startswith("{") else max(0, depth - 1)
        elif depth == 0 and match.start() - start > _SECTION_CHARS:
            yield text[start : match.start()]
            start = match.start()
    yield text[start:]


def _unclosed(text: str) -> int:
    """How many marks of a text are opened and never closed."""
    depth: Counter[str] = Counter()
    for match in _MARKS.finditer(text):
        slash, tag, ends = match.groups()
        mark = tag.lower() if tag else match.group()
        if slash or mark in _CLOSES:
            mark = _CLOSES.get(mark, mark)
            depth[mark] -= depth[mark] > 0
        elif not ends and mark not in _SINGLE_TAGS:
            depth[mark] += 1
    return depth.total()


def _section(text: str) -> str:
    import mwparserfromhell
    from mwparserfromhell.parser import ParserError

    if _unclosed(text) > _MAX_UNCLOSED:
        return _bare(text)
    try:
        return _render(mwparserfromhell.parse(text, skip_style_tags=True))
    except (ParserError, RecursionError):
        return _bare(text)


def _bare(text: str) -> str:
    """Text that is too broken to parse, with its marks taken out and all words left in."""
    return _OPENERS.sub(" ", text)


def _render(code: "Wikicode | None") -> str:
    return "".join(_node(node) for node in code.nodes) if code is not None else ""


def _node(node: Any) -> str:
    """One node of mwparserfromhell's tree."""
    render = _RENDERERS.get(type(node).__name__)
    return render(node) if render else ""


def _wikilink(node: Any) -> str:
    target = str(node.title).strip()
    prefix, colon, _ = target.partition(":")
    if colon and prefix.strip().lower() in _DROPPED_LINKS:
        return ""
    if node.text is None:
        return "" if _LANGUAGE_LINK.match(target) else target.lstrip(":")
    return _render(node.text)


def _external(node: Any) -> str:
    return _render(node.title) if node.title is not None else str(node.url)


def _entity(node: Any) -> str:
    try:
        return str(node.normalize())
    except (ValueError, OverflowError):  # a number that is no character
        return ""


def _heading(node: Any) -> str:
    return f"\n\n{_render(node.title).strip()}"


def _tag(node: Any) -> str:
    name = str(node.tag).strip().lower()
    if name in _DROPPED_TAGS:
        return ""
    if node.wiki_markup and name in _BULLETS:
        return _BULLETS[name]
    if name in ("br", "hr"):
        return "\n"
    if name == "table":
        return _table(node.contents)
    if name == "sup":
        return _raised(_render(node.contents))
    return f"\n- {_render(node.contents)}" if name == "li" else _render(node.contents)


def _table(code: "Wikicode | None") -> str:
    """A row a line; cells that stand before the first row mark are a row too, and so is the
    caption.
    """
    rows: list[list[str]] = [[]]
    for node in code.nodes if code is not None else ():
        name = str(node.tag).strip().lower() if type(node).__name__ == "Tag" else ""
        if name == "tr":
            rows += [[_table(node.contents).strip()], []]
        elif name not in ("td", "th"):
            rows += [[_node(node).strip()], []]
        elif node.wiki_markup and str(node.contents).startswith(
            "+"
        ):  # |+ is a caption, which the parser does not know
            rows += [[str(_render(node.contents))[1:].strip()], []]
        else:
            rows[-1].append(" ".join(_render(node.contents).split()))
    return "\n" + "".join(f"{' | '.join(filter(None, row))}\n" for row in rows if any(row))


def _raised(text: str) -> str:
    """10<sup>6</sup> is not 106; 1<sup>st</sup> is 1st."""
    return f"^{text}" if text.strip().lstrip("+-−").isdecimal() else text


def _template(node: Any) -> str:
    parameters = [(str(p.name).strip() if p.showkey else None, _render(p.value).strip()) for p in node.params]
    return template_text(str(node.name), parameters)


def _argument(node: Any) -> str:
    return _render(node.default)


_RENDERERS: dict[str, Callable[[Any], str]] = {
    "Text": lambda node: str(node.value),
    "Wikilink": _wikilink,
    "ExternalLink": _external,
    "HTMLEntity": _entity,
    "Heading": _heading,
    "Tag": _tag,
    "Template": _template,
    "Argument": _argument,
}


def _tidy(text: str) -> str:
    """Single spaces, no empty items, one blank line at most."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    lines = (_LEADING_MARKS.sub(lambda m: "- " if "-" in m[0] else "", line) for line in lines)
    return re.sub(r"\n{3,}", "\n\n", "\n".join("" if line == "- " else line for line in lines)).strip()
