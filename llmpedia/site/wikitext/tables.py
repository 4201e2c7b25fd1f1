"""Tables in Wikitext, HTML and Markdown as rows of cells, and infoboxes as rows of a label and a
value.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from llmpedia.site.wikitext.inline import shown_text
from llmpedia.site.wikitext.source import split_template
from llmpedia.site.wikitext.tree import Block, Para, Table, TableCell, paragraphs

_ATTRIBUTES = re.compile(r"\s*(?:[\w-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s|\"'\x02]+)\s*)+\|(?!\|)")
_SPAN = re.compile(r"\b(col|row)span\s*=\s*[\"']?\s*(\d{1,3})", re.I)
_WIDEST = 50
_HTML_ROW = re.compile(r"<tr\b[^<>]{0,300}>", re.I)
_HTML_CELL = re.compile(r"<(t[dh]|caption)\b([^<>]{0,300})>", re.I)
_HTML_REST = re.compile(r"</?(?:t[rdh]|caption|thead|tbody|tfoot|colgroup|col)\b[^<>]{0,300}>", re.I)
_MARKDOWN_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_TITLES = ("name", "title", "above", "official name", "official_name", "conventional_long_name", "box_title")

Blocks = Callable[[str], list[Block]]


@dataclass
class _Draft:
    """A cell before its text is read."""

    header: bool
    attributes: str = ""
    lines: list[str] = field(default_factory=list)

    def cell(self, blocks: Blocks) -> TableCell:
        spans = {m[1].lower(): min(max(int(m[2]), 1), _WIDEST) for m in _SPAN.finditer(self.attributes)}
        return TableCell(blocks("\n".join(self.lines)), self.header, spans.get("col", 1), spans.get("row", 1))


def read_table(text: str, blocks: Blocks) -> Table:
    """What stands between ``{|`` and ``|}``. Text where no cell is open is a cell too, and so is
    text behind a single ``|``.
    """
    rows: list[list[_Draft]] = [[]]
    caption = _Draft(False)
    current = _Draft(False)  # attributes of the table: nothing of it is shown
    for number, line in enumerate(text.split("\n")):
        mark = line.lstrip()
        if mark.startswith("|-"):
            rows.append([])
            rest = mark.lstrip("|-").strip()
            current = _Draft(False, "", [rest])
            rows[-1] += [current] if rest and "=" not in rest else []
        elif mark.startswith("|+"):
            current = caption
            attributes = _ATTRIBUTES.match(mark, 2)
            caption.lines.append(mark[attributes.end() if attributes else 2 :])
        elif mark[:1] in ("|", "!"):
            rows[-1] += _cells(mark)
            current = rows[-1][-1]
        elif current is caption or (rows[-1] and current is rows[-1][-1]):
            current.lines.append(line)
        elif line.strip() and (number or "=" not in line):
            current = _Draft(False, "", [line])
            rows[-1].append(current)
    return Table(
        [[draft.cell(blocks) for draft in row] for row in rows if row], blocks("\n".join(caption.lines))
    )


def _cells(line: str) -> list[_Draft]:
    """The cells of one line."""
    header = line.startswith("!")
    out = []
    for text in re.split(r"\|\||!!" if header else r"\|\|", line[1:]):
        attributes = _ATTRIBUTES.match(text)
        rest = text[attributes.end() :] if attributes else text
        given = attributes.group() if attributes else ""
        for i, part in enumerate(rest.split("|")):
            out.append(_Draft(header, given if i == 0 else "", [part.strip()]))
    return out


def read_html_table(text: str, blocks: Blocks) -> Table:
    """What stands between ``<table>`` and ``</table>``."""
    table = Table([])
    for row in _HTML_ROW.split(text):
        pieces = _HTML_CELL.split(row)  # text, then name, attributes, text of each cell
        first = _HTML_REST.sub("", pieces[0]).strip()
        drafts = [_Draft(False, "", [first])] if first else []
        for name, attributes, content in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
            words = _HTML_REST.sub("", content).strip()
            if name.lower() == "caption":
                table.caption += blocks(words)
            else:
                drafts.append(_Draft(name.lower() == "th", attributes, [words]))
        if drafts:
            table.rows.append([draft.cell(blocks) for draft in drafts])
    return table


def markdown_table(lines: list[str], at: int, blocks: Blocks) -> tuple[Table, int] | None:
    """The table of Markdown that begins with a line and how many lines it takes: a row of names, a
    rule, rows.
    """
    if "|" not in "".join(lines[at + 1 : at + 2]) or not _MARKDOWN_RULE.fullmatch(lines[at + 1]):
        return None
    end = next((i for i in range(at + 2, len(lines)) if "|" not in lines[i]), len(lines))
    rows = [
        [part.strip() for part in line.strip().strip("|").split("|")]
        for line in [lines[at], *lines[at + 2 : end]]
    ]
    return Table(
        [[TableCell(blocks(part), header=i == 0) for part in row] for i, row in enumerate(rows)]
    ), end - at


def read_infobox(text: str, blocks: Blocks) -> Table:
    """Caption and rows of what stands between the marks of an infobox; the label belongs to the
    value's first sentence.
    """
    _, parameters = split_template(text)
    title = next((i for i, (key, _) in enumerate(parameters) if key and key.lower() in _TITLES), None)
    table = Table([], blocks(parameters[title][1]) if title is not None else [], infobox=True)
    for i, (key, value) in enumerate(parameters):
        value_blocks = blocks(value) if i != title else []
        if not value_blocks:
            continue
        label = label_of(shown_text(key)) if key else ""
        if label:
            first = next(paragraphs(value_blocks), None)
            if first is None:
                value_blocks.append(first := Para([]))
            first.label = label
        heads = [TableCell([], header=True, label=label)] if label else []
        table.rows.append([*heads, TableCell(value_blocks, colspan=1 if label else 2)])
    return table


def label_of(key: str) -> str:
    """``birth_date`` as Birth date."""
    words = " ".join(key.replace("_", " ").split())
    return words[:1].upper() + words[1:]
