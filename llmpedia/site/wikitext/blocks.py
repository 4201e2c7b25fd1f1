"""Lines of Wikitext, with tokens, as blocks: headings, paragraphs, lists, tables, quotations.

Markdown is read where the line would be nothing else in Wikitext: ``## Heading``, ``- item``, ``1.
item``, ``> words``, tables.
"""

import re
from collections.abc import Iterator
from itertools import groupby

from llmpedia.site.wikitext.inline import Inline
from llmpedia.site.wikitext.source import TOKEN, SourcePart, WikitextSource, split_template
from llmpedia.site.wikitext.tables import markdown_table, read_html_table, read_infobox, read_table
from llmpedia.site.wikitext.tree import (
    BOLD,
    Block,
    ListBlock,
    Notes,
    Para,
    Quotation,
    Rule,
    TextRun,
    TitleBlock,
)
from llmpedia.wikitext import HEADING

_MARKDOWN_HEADING = re.compile(r"(#{2,6})[ \t]+(\S.*?)[ \t]*#*[ \t]*")
_RULE = re.compile(r"-{4,}(.*)|(?:-{3}|\*{3}|_{3})")
_ITEM = re.compile(r"([*#:;]+)(.*)", re.S)
_BOLD_START = re.compile(
    r"\*\*(?=[^\s*])[^*]{1,300}(?<=\S)\*\*|\*(?=[^\s*])[^*]{1,300}(?<=[^\s*])\*(?![\w*])"
)
_DASH_ITEM = re.compile(r"([ \t]{0,12})(?:[-+•‣–]|(\d{1,3})[.)])[ \t]+(\S.*)")
_DEFINITION = re.compile(r"\s+:\s+|:\s+")
_DEEPEST = 8
_HARMLESS_SPACE = " \t\u3000"


class Blocks:
    """Reads the blocks of one article."""

    def __init__(self, source: WikitextSource) -> None:
        self._source = source
        self._inline = Inline(source)

    def article(self) -> list[Block]:
        """The blocks of the whole article."""
        return self._read(self._source.text)

    def read(self, text: str) -> list[Block]:
        """The blocks of a part, as of a cell: a heading there is no section, but bold text."""
        return [Para([*_bold(b.runs)]) if isinstance(b, TitleBlock) else b for b in self._read(text)]

    def _read(self, text: str) -> list[Block]:
        lines = text.split("\n")
        out: list[Block] = []
        waiting: list[str] = []
        at = 0
        while at < len(lines):
            block = self._block(lines, at, bool(waiting))
            if block is None and lines[at].strip():
                waiting.append(lines[at])
                at += 1
                continue
            out += self._paragraph(waiting)
            waiting = []
            blocks, n = block or ([], 1)
            out += blocks
            at += n
        return out + self._paragraph(waiting)

    def _paragraph(self, lines: list[str]) -> list[Block]:
        runs = self._inline.runs("\n".join(lines)) if lines else []
        return [Para(runs)] if runs else []

    def _block(  # noqa: PLR0911 - one for each kind of block
        self, lines: list[str], at: int, in_paragraph: bool
    ) -> tuple[list[Block], int] | None:
        """The blocks that begin with a line, and how many lines they take; None for a line of a
        paragraph or an empty one.
        """
        line = lines[at].strip(_HARMLESS_SPACE)
        first = line[:1]
        if first == "\x02" and (token := TOKEN.fullmatch(line)) and token[1] in "BP":
            return self._part(token[1], int(token[2])), 1
        if first == "=" and (heading := HEADING.fullmatch(line)) and (words := self._inline.runs(heading[2])):
            return [TitleBlock(len(heading[1]), words)], 1
        if first in "-*_" and first and (rule := _RULE.fullmatch(line)):
            return [Rule(), *self._paragraph([rule[1]] if rule[1] else [])], 1
        if first == "#" and (title := self._markdown_heading(lines, at)):
            return [title], 1
        if first and first in "*#:;" and not (first == "*" and _BOLD_START.match(line)):
            return self._items(lines, at)
        if first == ">":
            return self._quoted(lines, at)
        if not in_paragraph or first in "-+•‣":
            dashes = self._dashes(lines, at)
            if dashes:
                return dashes
        table = markdown_table(lines, at, self.read) if "|" in line else None
        return ([table[0]], table[1]) if table else None

    def _part(self, letter: str, number: int) -> list[Block]:  # noqa: PLR0911 - one for each kind of part
        if letter == "P":
            return [Para(self._inline.literal(self._source.literals[number][1].strip("\n")), literal=True)]
        part = self._source.parts[number]
        match part.kind:
            case "table":
                return [read_table(part.text, self.read)]
            case "html_table":
                return [read_html_table(part.text, self.read)]
            case "infobox":
                return [read_infobox(part.text, self.read)]
            case "blockquote":
                return [Quotation(self.read(part.text))]
            case "notes":
                return [Notes()]
        return self._template(part)

    def _template(self, part: SourcePart) -> list[Block]:
        """A template that is a quotation or a list: its parameters in order."""
        _, parameters = split_template(part.text)
        values = [
            value if key is None or key.lower() in ("text", "quote", "1") else f"{key}: {value}"
            for key, value in parameters
        ]
        if part.kind == "quotation":
            return [Quotation([block for value in values for block in self.read(value)])]
        if len(values) == 1:
            return self.read(values[0])
        return [ListBlock("ul", [self.read(value) for value in values])] if values else []

    def _markdown_heading(self, lines: list[str], at: int) -> TitleBlock | None:
        """``## Words``, unless it stands among lines of a numbered list."""
        match = _MARKDOWN_HEADING.fullmatch(lines[at].strip())
        beside = [lines[i].lstrip()[:1] for i in (at - 1, at + 1) if 0 <= i < len(lines)]
        if not match or "#" in beside:
            return None
        return TitleBlock(len(match[1]), self._inline.runs(match[2]))

    def _items(self, lines: list[str], at: int) -> tuple[list[Block], int]:
        items = []
        for i in range(at, len(lines)):
            match = _ITEM.match(lines[i].strip(_HARMLESS_SPACE))
            if not match or (match[1] == "**" and _BOLD_START.match(lines[i])):
                break
            items.append((match[1][:_DEEPEST], match[2]))
        return list(self._lists(items)), len(items)

    def _lists(self, items: list[tuple[str, str]]) -> Iterator[Block]:
        """Lists of (marks, text), by the first mark; items with more marks are lists in the item
        before.
        """
        for kind, group in groupby(items, key=lambda item: {"*": "ul", "#": "ol"}.get(item[0][0], "dl")):
            listing = ListBlock(kind)  # type: ignore[arg-type]
            deeper: list[tuple[str, str]] = []
            for marks, text in [*group, ("", "")]:
                if len(marks) > 1:
                    deeper.append((marks[1:], text))
                    continue
                if deeper:
                    if not listing.items:
                        self._add(listing, [], term=False)
                    listing.items[-1] += self._lists(deeper)
                    deeper = []
                for term, part in self._definition(marks, text) if marks else ():
                    self._add(listing, self._paragraph([part]), term)
            yield listing

    @staticmethod
    def _add(listing: ListBlock, blocks: list[Block], term: bool) -> None:
        listing.items.append(blocks)
        listing.terms.append(term)

    @staticmethod
    def _definition(marks: str, text: str) -> list[tuple[bool, str]]:
        """``; term : definition`` is two items."""
        if marks != ";":
            return [(False, text)]
        parts = _DEFINITION.split(text, maxsplit=1)
        return [(True, parts[0]), *((False, part) for part in parts[1:])]

    def _quoted(self, lines: list[str], at: int) -> tuple[list[Block], int] | None:
        if not re.match(r">\s*\S", lines[at].strip()):
            return None
        n = next((i for i in range(at, len(lines)) if not lines[i].lstrip().startswith(">")), len(lines)) - at
        return [Quotation(self._paragraph([line.lstrip().lstrip(">") for line in lines[at : at + n]]))], n

    def _dashes(self, lines: list[str], at: int) -> tuple[list[Block], int] | None:
        """Items of Markdown; numbers only where two or more count up from 1. Deeper by two spaces
        or more.
        """
        items: list[tuple[str, str]] = []
        depths: list[int] = []
        counted = 0
        for i in range(at, len(lines)):
            item = _DASH_ITEM.fullmatch(lines[i].rstrip().expandtabs(4))
            if not item:
                break
            while depths and len(item[1]) < depths[-1]:
                depths.pop()
            if not depths or len(item[1]) >= depths[-1] + 2:
                depths.append(len(item[1]))
            numbered = item[2] is not None
            if numbered and len(depths) == 1:
                counted += 1
                if int(item[2]) != counted:
                    break
            items.append((("*" * (len(depths) - 1) + ("#" if numbered else "*"))[-_DEEPEST:], item[3]))
        if not items or (items[0][0] == "#" and len(items) == 1):
            return None
        return list(self._lists(items)), len(items)


def _bold(runs: list[TextRun]) -> Iterator[TextRun]:
    return (TextRun(run.text, run.style | BOLD, run.link, run.url, run.note) for run in runs)
