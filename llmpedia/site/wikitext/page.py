"""A model's article as a page: its sentences in order, its contents, and HTML that is safe to send.

Wikitext as models write it, and the Markdown that weak ones write instead. Nothing of the text is
lost: what cannot be read as markup is shown as it stands. It never fails and takes time in
proportion to the text; a text too long for any article is shown without its markup.

The steps: :mod:`~llmpedia.site.wikitext.source` sets links, notes, templates and tables apart,
:mod:`~llmpedia.site.wikitext.blocks` reads lines, :mod:`~llmpedia.site.wikitext.inline` running
text, :mod:`~llmpedia.site.wikitext.html` writes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from llmpedia.site.text.sentences import sentence_cuts
from llmpedia.site.text.slugs import ascii_words
from llmpedia.site.wikitext.blocks import Blocks
from llmpedia.site.wikitext.html import VERDICTS, Mark, Target, Writer, cleaned
from llmpedia.site.wikitext.inline import Inline, clean_text
from llmpedia.site.wikitext.source import WikitextSource, read_source
from llmpedia.site.wikitext.tree import (
    BREAK,
    Block,
    Labels,
    Notes,
    Para,
    Table,
    TextRun,
    TitleBlock,
    paragraphs,
    run_lists,
)

__all__ = ["VERDICTS", "ArticlePage", "Html", "Mark", "PageHeading", "PagePart", "Target"]

# Ten times the longest article that a model writes; more is a loop.
_LONGEST = 100_000


@dataclass(frozen=True)
class PageHeading:
    """``level`` 2 is a section. ``anchor``: the id of the heading, unique on the page."""

    level: int
    title: str
    anchor: str


@dataclass(frozen=True)
class Html:
    """The parts of a page: the infobox, what stands before the first heading, the rest with notes
    and categories.
    """

    infobox: str
    lead: str
    body: str


@dataclass(frozen=True)
class PagePart:
    """What stands together: in the infobox, before the first heading, under one, among the
    categories.

    ``paragraphs``: (first sentence, end) of each, by their numbers in :attr:`Page.sentences`.
    """

    kind: Literal["infobox", "lead", "section", "categories"]
    heading: PageHeading | None
    paragraphs: tuple[tuple[int, int], ...]


class ArticlePage:
    """One article, parsed once.

    ``sentences``: plain text of each, in the order of the page: infobox, lead, body, notes,
    categories; headings are in ``contents`` alone. ``links``: the targets of the links in the order
    of the text, as ``llmpedia.wikitext`` reads them.
    """

    def __init__(self, wikitext: str, title: str) -> None:
        self.title = title
        self.sentences: list[str] = []
        blocks, source = _read(wikitext)
        self.links = [link.target for link in source.links]
        self._note_numbers: dict[int, int] = {}
        self._infobox: list[Block] = next(([b] for b in blocks if isinstance(b, Table) and b.infobox), [])
        rest = [b for b in blocks if not (self._infobox and b is self._infobox[0])]
        first = next((i for i, b in enumerate(rest) if isinstance(b, TitleBlock)), len(rest))
        self._lead = rest[:first]
        self._body = rest[first:]
        self._add_notes(source)
        categories: list[list[Block]] = [[Para(runs)] for runs in Inline(source).categories()]
        if categories:
            self._body.append(Labels(categories))
        self.contents = self._anchored()
        for para in paragraphs([*self._infobox, *self._lead, *self._body]):
            self._number(para)

    def html(self, resolve: Callable[[str], Target], marks: Mapping[int, Sequence[Mark]]) -> Html:
        """The page's HTML. ``resolve``: asked once for each link, in the order of the text;
        ``marks``: sentence -> its claims.

        The addresses that ``resolve`` gives must lead to pages of this site: a path without scheme
        or host.
        """
        writer = Writer([resolve(target) for target in self.links], marks, self._note_numbers)
        infobox, lead, body = (
            cleaned(writer.blocks(blocks)) for blocks in (self._infobox, self._lead, self._body)
        )
        return Html(infobox, lead, body)

    def parts(self) -> list[PagePart]:
        """All sentences by the part they stand in, in their order; a part without any is left out,
        a section never.
        """
        headings = iter(self.contents)
        sections: list[
            tuple[Literal["infobox", "lead", "section", "categories"], PageHeading | None, list[Block]]
        ]
        sections = [("infobox", None, self._infobox), ("lead", None, [*self._lead])]
        for block in self._body:
            if isinstance(block, TitleBlock):
                sections.append(("section", next(headings), []))
            elif isinstance(block, Labels):
                sections.append(("categories", None, [block]))
            else:
                sections[-1][2].append(block)
        parts = [
            PagePart(
                kind, heading, tuple((p.first, p.first + len(p.cuts)) for p in paragraphs(blocks) if p.cuts)
            )
            for kind, heading, blocks in sections
        ]
        return [part for part in parts if part.paragraphs or part.kind == "section"]

    def _add_notes(self, source: WikitextSource) -> None:
        """Numbers the notes as they come and puts their list where the article has a place for it,
        else at the end.
        """
        given = [_note(text) for text in source.notes]
        for runs in run_lists([*self._infobox, *self._lead, *self._body]):
            for run in runs:
                if run.note is not None and given[run.note]:
                    self._note_numbers.setdefault(run.note, len(self._note_numbers) + 1)
        items: list[tuple[int, list[Block]]] = [
            (number, [Para(given[note])]) for note, number in self._note_numbers.items()
        ]
        place = next((b for b in [*self._lead, *self._body] if isinstance(b, Notes)), None)
        if place is None:
            self._body += [Notes(items)] if items else []
        else:
            place.items = items

    def _anchored(self) -> list[PageHeading]:
        headings: list[PageHeading] = []
        taken: dict[str, int] = {}
        for block in self._body:
            if isinstance(block, TitleBlock):
                text = "".join(run.text for run in block.runs).replace(BREAK, " ").strip()
                words = f"h-{ascii_words(text)[:60].strip('-') or 'section'}"
                block.anchor = words
                while block.anchor in taken:
                    taken[words] = taken.get(words, 1) + 1
                    block.anchor = f"{words}-{taken[words]}"
                taken.setdefault(block.anchor, 1)
                headings.append(PageHeading(block.level, text, block.anchor))
        return headings

    def _number(self, para: Para) -> None:
        text = "".join(run.text for run in para.runs)
        para.first = len(self.sentences)
        para.cuts = sentence_cuts(text, _whole(para.runs))
        if para.label and not para.cuts:
            para.cuts = [(0, 0)]
        for i, (start, end) in enumerate(para.cuts):
            words = text[start:end].replace(BREAK, " ")
            self.sentences.append(" ".join([para.label, words]).strip() if i == 0 else words)


def _read(wikitext: str) -> tuple[list[Block], WikitextSource]:
    if len(wikitext) > _LONGEST:
        parts = (" ".join(clean_text(part).split()) for part in wikitext.split("\n\n"))
        return [Para([TextRun(part)]) for part in parts if part], WikitextSource()
    source = read_source(wikitext)
    return Blocks(source).article(), source


def _note(text: str) -> list[TextRun]:
    """The text of a note alone: its links lead nowhere."""
    inner = read_source(text)
    runs = Inline(inner, note=True).runs(inner.text)
    return [TextRun(run.text, run.style) for run in runs if run.note is None]


def _whole(runs: Sequence[TextRun]) -> list[tuple[int, int]]:
    """(start, end) of the links: none is cut in two."""
    sentences = []
    at = 0
    for run in runs:
        if run.link is not None or run.url is not None:
            sentences.append((at, at + len(run.text)))
        at += len(run.text)
    return sentences
