"""Blocks as HTML that is safe to send: every text escaped here, no tag or attribute ever copied
from an article, and the result cleaned once more by nh3 against a list of what this module writes.
"""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from llmpedia.site.wikitext.tree import (
    BOLD,
    BREAK,
    CODE,
    FILE,
    ITALIC,
    SMALL,
    STRIKE,
    SUB,
    SUP,
    TEMPLATE,
    UNDERLINE,
    Block,
    Labels,
    ListBlock,
    Notes,
    Para,
    Quotation,
    Rule,
    Table,
    TableCell,
    TextRun,
    TitleBlock,
)

if TYPE_CHECKING:
    import nh3

# Worst first: a sentence with several verdicts is shown as the first of these.
VERDICTS = ("refuted", "insufficient", "not_adjudicated", "supported")
_CLASSES = {
    "span": {"s", *VERDICTS, "tpl", "file", "plain"},
    "a": {"wl", "queued", "red", "ext", "ref", *VERDICTS},
    "table": {"infobox", "wt"},
    "sup": {"fn"},
    "section": {"notes", "cats"},
}
_STYLE_TAGS = (
    (TEMPLATE, '<span class="tpl">', "</span>"),
    (FILE, '<span class="file">', "</span>"),
    (SMALL, "<small>", "</small>"),
    (BOLD, "<b>", "</b>"),
    (ITALIC, "<i>", "</i>"),
    (UNDERLINE, "<u>", "</u>"),
    (STRIKE, "<s>", "</s>"),
    (SUB, "<sub>", "</sub>"),
    (SUP, "<sup>", "</sup>"),
    (CODE, "<code>", "</code>"),
)
_TAGS = set(
    "a b blockquote br caption code dd dl dt h2 h3 h4 h5 h6 hr i li ol p pre s section small span "
    "sub sup table tbody td th tr u "
    "ul".split()
)
_BLOCK_TAGS = set("blockquote caption dd dt h2 h3 h4 h5 h6 li p pre td th".split())
_ID = re.compile(r"(?:s|ref-|fn-|fnref-)[0-9]+|h-[a-z0-9-]+")
_INNER_LINK = re.compile(r"(?!//)[A-Za-z0-9._~/?#%&=+,;@!$'()*-][A-Za-z0-9._~/?#%&=+,;@!$'()*:-]*")
_SCHEME = re.compile(r"[^/?#]*:")
_REL = "nofollow noreferrer noopener"


@dataclass(frozen=True)
class Target:
    """Where a link to a title leads. ``red``: to no article, ``hint`` says why; ``plain``: it is
    shown as text.
    """

    kind: Literal["article", "queued", "red", "plain"]
    href: str | None
    hint: str | None


@dataclass(frozen=True)
class Mark:
    """A claim placed at a sentence. ``verdict``: supported, refuted, insufficient or
    not_adjudicated.
    """

    claim: int
    verdict: str


def cleaned(text: str) -> str:
    """HTML without anything that :class:`Writer` does not write."""
    return _cleaner().clean(text) if text else ""


@cache
def _cleaner() -> "nh3.Cleaner":
    import nh3

    attributes = {tag: {"dir"} for tag in _BLOCK_TAGS}
    attributes["*"] = set()  # else nh3 allows some everywhere
    attributes["a"] = {"href", "title", "rel", "id", "aria-label"}
    attributes["span"] = {"id", "title"}
    for tag in ("td", "th"):
        attributes[tag] |= {"colspan", "rowspan"}
    attributes["th"] |= {"scope"}
    for tag in ("h2", "h3", "h4", "h5", "h6", "li", "sup"):
        attributes[tag] = attributes.get(tag, set()) | {"id"}
    return nh3.Cleaner(
        tags=_TAGS,
        attributes=attributes,
        allowed_classes=_CLASSES,
        attribute_filter=_attribute,
        url_schemes={"http", "https"},
        link_rel=None,
        strip_comments=True,
    )


def _attribute(tag: str, name: str, value: str) -> str | None:
    if name == "id":
        return value if _ID.fullmatch(value) else None
    if name == "href":
        return value if value.startswith(("http://", "https://")) or inner_link(value) else None
    if name == "rel":
        return _REL
    return value


def inner_link(href: str) -> bool:
    """Whether an address leads to a page of this site: a path, absolute or relative, without scheme
    or host.
    """
    return _INNER_LINK.fullmatch(href) is not None and _SCHEME.match(href) is None


class Writer:
    """HTML of blocks. ``targets``: of the links by number; ``marks``: sentence -> its claims;
    ``notes``: note -> its number.
    """

    def __init__(
        self, targets: Sequence[Target], marks: Mapping[int, Sequence[Mark]], notes: Mapping[int, int]
    ) -> None:
        self._targets = targets
        self._marks = marks
        self._notes = notes
        self._used: set[str] = set()  # ids given to what may be there twice

    def blocks(self, blocks: Sequence[Block]) -> str:
        """All blocks, one after another."""
        return "\n".join(self._block(block) for block in blocks)

    def _block(self, block: Block) -> str:  # noqa: PLR0911 - one for each kind of block
        match block:
            case Para(literal=True):
                return f'<pre dir="auto">{self._para(block)}</pre>'
            case Para():
                return f'<p dir="auto">{self._para(block)}</p>'
            case TitleBlock(level=level, runs=runs, anchor=anchor):
                return f'<h{level} dir="auto" id="{anchor}">{self._runs(runs)}</h{level}>'
            case ListBlock():
                return self._listing(block)
            case Table():
                return self._table(block)
            case Quotation(blocks=blocks):
                return f'<blockquote dir="auto">{self.blocks(blocks)}</blockquote>'
            case Rule():
                return "<hr>"
            case Notes(items=items):
                return self._note_list(items)
            case Labels(items=items):
                return f'<section class="cats"><ul>{self._items("li", items)}</ul></section>'

    def _inside(self, blocks: Sequence[Block]) -> str:
        """Blocks within an item or a cell: one paragraph needs no element of its own."""
        return "\n".join(
            self._para(b) if isinstance(b, Para) and not b.literal and i == 0 else self._block(b)
            for i, b in enumerate(blocks)
        )

    def _items(self, tag: str, items: Sequence[Sequence[Block]]) -> str:
        return "".join(f'<{tag} dir="auto">{self._inside(item)}</{tag}>' for item in items)

    def _listing(self, listing: ListBlock) -> str:
        if listing.kind != "dl":
            return f"<{listing.kind}>{self._items('li', listing.items)}</{listing.kind}>"
        pairs = zip(listing.items, listing.terms, strict=True)
        return f"<dl>{''.join(self._items('dt' if term else 'dd', [item]) for item, term in pairs)}</dl>"

    def _table(self, table: Table) -> str:
        caption = f'<caption dir="auto">{self._inside(table.caption)}</caption>' if table.caption else ""
        rows = "".join(f"<tr>{''.join(map(self._cell, row))}</tr>" for row in table.rows)
        return f'<table class="{"infobox" if table.infobox else "wt"}">{caption}<tbody>{rows}</tbody></table>'

    def _cell(self, cell: TableCell) -> str:
        tag, scope = ("th", ' scope="row"' if cell.label else "") if cell.header else ("td", "")
        columns = f' colspan="{cell.colspan}"' if cell.colspan > 1 else ""
        rows = f' rowspan="{cell.rowspan}"' if cell.rowspan > 1 else ""
        inner = _escaped(cell.label) if cell.label else self._inside(cell.blocks)
        return f'<{tag} dir="auto"{scope}{columns}{rows}>{inner}</{tag}>'

    def _note_list(self, items: Sequence[tuple[int, Sequence[Block]]]) -> str:
        rows = "".join(
            f'<li dir="auto" id="fn-{number}">{self._inside(blocks)}</li>' for number, blocks in items
        )
        return f'<section class="notes"><ol>{rows}</ol></section>' if rows else ""

    def _para(self, para: Para) -> str:
        """The sentences of a paragraph, each in an element of its own, and what stands between
        them.
        """
        out: list[str] = []
        cutter = _Cutter(para.runs)
        text = "".join(run.text for run in para.runs)
        for i, (start, end) in enumerate(para.cuts):
            before = text[para.cuts[i - 1][1] if i else 0 : start]
            out.append(
                _escaped(before) if para.literal else "<br>" if BREAK in before else " " * bool(before)
            )
            until = para.cuts[i + 1][0] if i + 1 < len(para.cuts) else len(text)
            out.append(self._sentence(para.first + i, list(cutter.take(start, end, until))))
        return "".join(out) or self._runs(para.runs)

    def _sentence(self, number: int, runs: list[TextRun]) -> str:
        marks = self._marks.get(number, ())
        worst = min((VERDICTS.index(mark.verdict) for mark in marks), default=None)
        kind = "s" if worst is None else f"s {VERDICTS[worst]}"
        return (
            f'<span class="{kind}" id="s{number}">{self._runs(runs)}{"".join(map(self._mark, marks))}</span>'
        )

    def _mark(self, mark: Mark) -> str:
        words = f"claim {mark.claim}: {mark.verdict.replace('_', ' ')}"
        mark_id = self._id(f"ref-{mark.claim}")
        return (
            f'<a class="ref {mark.verdict}" href="#claim-{mark.claim}"{mark_id} '
            f'aria-label="{words}">{mark.claim}</a>'
        )

    def _id(self, name: str) -> str:
        fresh = name not in self._used
        self._used.add(name)
        return f' id="{name}"' if fresh else ""

    def _runs(self, runs: Sequence[TextRun]) -> str:
        out: list[str] = []
        at = 0
        while at < len(runs):
            run = runs[at]
            end = at + 1
            if run.note is not None:
                out.append(self._note(run.note))
            else:
                while (
                    end < len(runs)
                    and runs[end].note is None
                    and (runs[end].link, runs[end].url) == (run.link, run.url)
                ):
                    end += 1
                before, after = self._link(run)
                out += [before, *map(_styled, runs[at:end]), after]
            at = end
        return "".join(out)

    def _note(self, note: int) -> str:
        number = self._notes.get(note)
        if number is None:
            return ""
        return (
            f'<sup class="fn"{self._id(f"fnref-{number}")}><a href="#fn-{number}" '
            f'aria-label="note {number}">{number}</a></sup>'
        )

    def _link(self, run: TextRun) -> tuple[str, str]:
        if run.link is None:
            if run.url is None:
                return "", ""
            url = _escaped(run.url)
            return f'<a class="ext" href="{url}" title="{url}" rel="{_REL}">', "</a>"
        target = self._targets[run.link]
        hint = f' title="{_escaped(target.hint)}"' if target.hint else ""
        if target.kind == "plain" or target.href is None:
            return (f'<span class="plain"{hint}>', "</span>") if hint else ("", "")
        kind = "wl" if target.kind == "article" else f"wl {target.kind}"
        return f'<a class="{kind}" href="{_escaped(target.href)}"{hint}>', "</a>"


class _Cutter:
    """Gives the runs of a paragraph out, sentence after sentence."""

    def __init__(self, runs: Sequence[TextRun]) -> None:
        self._runs = runs
        self._at = self._place = 0  # the next run, and where it begins

    def take(self, start: int, end: int, until: int) -> Iterator[TextRun]:
        """The parts of runs between ``start`` and ``end``, and the notes up to ``until``, where the
        next sentence begins.
        """
        while self._at < len(self._runs):
            run = self._runs[self._at]
            place = self._place
            stop = place + len(run.text)
            if run.note is not None:
                if place > until:
                    return
                yield run
            elif place >= until:
                return
            else:
                part = run.text[max(start - place, 0) : max(min(end, stop) - place, 0)]
                if part:
                    yield TextRun(part, run.style, run.link, run.url)
                if stop > until:
                    return
            self._at = self._at + 1
            self._place = stop


@cache
def _style_tags(style: int) -> tuple[str, str]:
    tags = [(before, after) for bit, before, after in _STYLE_TAGS if style & bit]
    return "".join(before for before, _ in tags), "".join(after for _, after in reversed(tags))


def _styled(run: TextRun) -> str:
    if run.text == BREAK:
        return "<br>"
    before, after = _style_tags(run.style)
    return f"{before}{_escaped(run.text)}{after}"


def _escaped(text: str) -> str:
    return html.escape(text, quote=True)
