"""What an article is made of once it is read: blocks that hold paragraphs, paragraphs that hold
runs of styled text.

A run is text in one style: formatting that crosses the end of a sentence is on both sides of it, so
that every sentence can be an element of its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

# Styles of a run, bits that add up. TEMPLATE: a template shown as what it is. FILE: an image or
# other file.
BOLD, ITALIC, UNDERLINE, STRIKE, SUB, SUP, CODE, SMALL, TEMPLATE, FILE = (1 << n for n in range(10))
BREAK = "\n"


@dataclass(slots=True)
class TextRun:
    """``text``: plain, single spaces; ``BREAK`` alone is a line break. ``link``: number of the link
    to a title. ``url``: of a link to another site. ``note``: number of the footnote that stands
    here, the text is empty then.
    """

    text: str
    style: int = 0
    link: int | None = None
    url: str | None = None
    note: int | None = None


@dataclass(slots=True)
class Para:
    """Text of one block. ``label``: words shown before it, of the same sentence (an infobox row's
    name).

    ``cuts``: (start, end) of its sentences in the joined text; ``first``: the number of its first
    sentence.
    """

    runs: list[TextRun]
    literal: bool = False
    label: str = ""
    cuts: list[tuple[int, int]] = field(default_factory=list)
    first: int = 0


@dataclass(slots=True)
class TitleBlock:
    """A heading. ``level`` 2 is a section."""

    level: int
    runs: list[TextRun]
    anchor: str = ""


@dataclass(slots=True)
class ListBlock:
    """``kind``: the element. A ``dl`` has terms and definitions in ``items``; ``terms`` says which
    are terms.
    """

    kind: Literal["ul", "ol", "dl"]
    items: list[list["Block"]] = field(default_factory=list)
    terms: list[bool] = field(default_factory=list)


@dataclass(slots=True)
class TableCell:
    """Of a table. ``label``: plain words in place of blocks, of the same sentence as the next
    cell's first.
    """

    blocks: list["Block"]
    header: bool = False
    colspan: int = 1
    rowspan: int = 1
    label: str = ""


@dataclass(slots=True)
class Table:
    """``caption``: paragraphs. An infobox has a label and a value a row; a value alone spans both
    columns.
    """

    rows: list[list[TableCell]]
    caption: list["Block"] = field(default_factory=list)
    infobox: bool = False


@dataclass(slots=True)
class Quotation:
    """A block of words of others."""

    blocks: list["Block"]


@dataclass(slots=True)
class Rule:
    """A line across."""


@dataclass(slots=True)
class Notes:
    """Footnotes: (number of the note, its text) in the order of their numbers on the page."""

    items: list[tuple[int, list["Block"]]] = field(default_factory=list)


@dataclass(slots=True)
class Labels:
    """Categories."""

    items: list[list["Block"]]


Block = Para | TitleBlock | ListBlock | Table | Quotation | Rule | Notes | Labels


def paragraphs(blocks: Sequence[Block]) -> Iterator[Para]:
    """All paragraphs of blocks in the order in which they are read."""
    for block in blocks:
        if isinstance(block, Para):
            yield block
        else:
            yield from paragraphs(_inside(block))


def run_lists(blocks: Sequence[Block]) -> Iterator[list[TextRun]]:
    """The runs of all headings and paragraphs in order."""
    for block in blocks:
        if isinstance(block, Para | TitleBlock):
            yield block.runs
        else:
            yield from run_lists(_inside(block))


def _inside(block: Block) -> list[Block]:
    match block:
        case ListBlock(items=items) | Labels(items=items):
            return [b for item in items for b in item]
        case Table(rows=rows, caption=caption):
            return [*caption, *(b for row in rows for cell in row for b in cell.blocks)]
        case Quotation(blocks=blocks):
            return blocks
        case Notes(items=notes):
            return [b for _, item in notes for b in item]
    return []
