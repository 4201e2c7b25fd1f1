"""What stands around a subject: who named it and links it, what it named itself, what became of the
other names it links.

Drawn twice, in columns for a wide page and along a line for a narrow one, so that no two labels
meet; listed whole below.
"""

import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from llmpedia.site.data.run_reader import Entity, Row, SiteRun
from llmpedia.site.pages import fates
from llmpedia.site.pages.views import Context, article_views
from llmpedia.site.urls import Addresses

Kind = Literal["parent", "linking", "child", "known", "cap", "out"]
Mark = Literal["written", "waiting", "failed", "none"]

_LINKING = 60
_DRAWN_IN = 20
_DRAWN_OUT = 38
_TITLES: dict[Kind, str] = {
    "parent": "Named by",
    "linking": "Linked from",
    "child": "First named here",
    "known": "Known before",
    "cap": "No room left for it",
    "out": "Turned down",
}
_INCOMING: tuple[Kind, ...] = ("parent", "linking")
_OUTGOING: tuple[Kind, ...] = ("child", "known", "cap", "out")
_MARKS: dict[Mark, str] = {
    "written": "",
    "waiting": "not written yet",
    "failed": "its article failed",
    "none": "",
}

# Measures of the drawings, in their own units; about 7 to a letter.
_WIDE = 960
_NARROW = 340
_PITCH = 22
_HEAD = 32
_NARROW_PITCH = 30
_SPINE = 14
_LETTERS = 33
_BOX_LETTERS = 22
_BOX_LINES = 3


@dataclass(frozen=True)
class Node:
    """A name beside the subject. ``named``: how many names it brought up first; ``reason``: of a
    name that got no article.
    """

    kind: Kind
    name: str
    href: str
    mark: Mark
    named: int
    reason: str | None

    @property
    def hint(self) -> str:
        """All that is known of it, in words."""
        parts = [
            _MARKS[self.mark],
            self.reason or "",
            f"first to name {self.named:,} others" if self.named else "",
        ]
        return f"{self.name}: {'; '.join([_TITLES[self.kind].lower(), *(part for part in parts if part)])}"


@dataclass(frozen=True)
class NodeGroup:
    """Nodes of one kind. ``more``: there are others, not known how many."""

    kind: Kind
    title: str
    nodes: tuple[Node, ...]
    more: bool = False


@dataclass(frozen=True)
class Placed:
    """A node in a drawing. ``side``: of its mark on which the label stands; ``edge``: the path of
    its line.
    """

    node: Node
    x: float
    y: float
    radius: float
    label: str
    side: Literal["left", "right"]
    edge: str


@dataclass(frozen=True)
class NodeText:
    """Words in a drawing; ``more``: they tell how many names are left out."""

    x: float
    y: float
    text: str
    side: Literal["left", "right"]
    more: bool = False


@dataclass(frozen=True)
class Drawing:
    """One of the two drawings. ``box``: x, y, width and height of the subject's; ``lines``: its
    name.
    """

    name: Literal["wide", "narrow"]
    width: int
    height: float
    box: tuple[float, float, float, float]
    lines: tuple[NodeText, ...]
    nodes: tuple[Placed, ...]
    texts: tuple[NodeText, ...]
    spine: str | None


def graph_page(run: SiteRun, entity: Entity, others: Sequence[SiteRun], to: Addresses) -> Context:
    """The neighbourhood of an entity, drawn and listed."""
    linking = run.parents_of_links(entity.id, _LINKING + 1)
    incoming = _incoming(run, entity, linking or [], to)
    outgoing = _outgoing(run, entity, to)
    drawn = _cut(incoming, _DRAWN_IN), _cut(outgoing, _DRAWN_OUT)
    total = sum(len(group.nodes) for group in (*incoming, *outgoing))
    shown = sum(len(group.nodes) for groups in drawn for group, _ in groups)
    return {
        **article_views(run, entity, others, to, "graph"),
        "groups": [*incoming, *outgoing],
        "drawings": [_wide(entity, *drawn), _narrow(entity, *drawn)] if total else [],
        "total": total,
        "left_out": total - shown,
        "gathering": linking is None,
        "visited": run.subject(entity.id) is not None,
    }


# --- what there is


def _incoming(run: SiteRun, entity: Entity, linking: Sequence[Entity], to: Addresses) -> list[NodeGroup]:
    parent = run.entity(entity.parent) if entity.parent is not None else None
    rest = [e for e in linking[:_LINKING] if parent is None or e.id != parent.id]
    groups = [
        _group("parent", [_known("parent", run, parent, to)] if parent else []),
        replace(
            _group("linking", [_known("linking", run, e, to) for e in rest]), more=len(linking) > _LINKING
        ),
    ]
    return [group for group in groups if group.nodes]


def _outgoing(run: SiteRun, entity: Entity, to: Addresses) -> list[NodeGroup]:
    """Children first, also those of an earlier visit; then what the last visit linked besides, each
    entity once.
    """
    nodes: dict[Kind, list[Node]] = {kind: [] for kind in _OUTGOING}
    seen = {entity.id}
    for child in run.children(entity.id):
        nodes["child"].append(_known("child", run, child, to))
        seen.add(child.id)
    for row in run.candidates(entity.id):
        number = row["entity_id"] if row["entity_id"] is not None else run.number_of(row["name"])
        linked = run.entity(number) if number is not None else None
        if linked is None:
            refused = _refused(run, entity, row, to)
            nodes[refused.kind].append(refused)
        elif linked.id not in seen:
            seen.add(linked.id)
            nodes["known"].append(_known("known", run, linked, to, row["name"]))
    return [_group(kind, nodes[kind]) for kind in _OUTGOING if nodes[kind]]


def _group(kind: Kind, nodes: Sequence[Node]) -> NodeGroup:
    return NodeGroup(kind, _TITLES[kind], tuple(nodes))


def _known(kind: Kind, run: SiteRun, entity: Entity, to: Addresses, linked_as: str | None = None) -> Node:
    mark: Mark = "written"
    if not entity.written:
        subject = run.subject(entity.id)
        mark = "failed" if subject is not None and subject["error"] is not None else "waiting"
    as_linked = f"linked as {linked_as}" if linked_as not in (None, entity.name) else None
    href = to.article(run.name, entity.id, entity.name)
    return Node(kind, entity.name, href, mark, len(run.catalogue.children(entity.id)), as_linked)


def _refused(run: SiteRun, entity: Entity, row: Row, to: Addresses) -> Node:
    href = to.trace(run.name, entity.id, entity.name, f"candidate-{row['position']}")
    kind: Kind = "cap" if fates.meaning(row["fate"]).kind == "cap" else "out"
    return Node(kind, row["name"], href, "none", 0, fates.reason(row))


def _cut(groups: Sequence[NodeGroup], most: int) -> list[tuple[NodeGroup, int]]:
    """(group as drawn, how many are left out): each gets as much room as the others, and what those
    do not need.
    """
    room = dict.fromkeys((group.kind for group in groups), 0)
    left = most
    while left and (hungry := [g for g in groups if room[g.kind] < len(g.nodes)]):
        for group in hungry[:left]:
            room[group.kind] += 1
        left -= len(hungry[:left])
    return [(replace(g, nodes=g.nodes[: room[g.kind]]), len(g.nodes) - room[g.kind]) for g in groups]


# --- where it stands

Drawn = Sequence[tuple[NodeGroup, int]]


def _wide(entity: Entity, incoming: Drawn, outgoing: Drawn) -> Drawing:
    """Who leads here on the left, the subject, what it leads to on the right."""
    lines = _wrapped(entity.name)
    box_width = 212.0
    box_height = 20.0 * len(lines) + 24
    left = _height(incoming)
    right = _height(outgoing)
    height = max(left, right, box_height + 20) + 16
    middle = min(height / 2, max(260.0, left / 2 + 8))  # near the top of a long drawing
    x = (_WIDE - box_width) / 2
    nodes = []
    texts = []
    for groups, top, side in ((incoming, middle - left / 2, "left"), (outgoing, middle - right / 2, "right")):
        start = max(8.0, min(top, height - (left if side == "left" else right) - 8))
        at, towards = (x - 92, x) if side == "left" else (x + box_width + 92, x + box_width)
        for item, y in _rows(groups, start):
            if isinstance(item, Node):
                edge = (
                    f"M{towards:g},{middle:g} C{(at + towards) / 2:g},{middle:g} "
                    f"{(at + towards) / 2:g},{y:g} {at:g},{y:g}"
                )
                nodes.append(_placed(item, at, y, "left" if side == "left" else "right", edge))
            else:
                texts.append(NodeText(at, y, item.text, "left" if side == "left" else "right", item.more))
    name = tuple(
        NodeText(_WIDE / 2, middle + 5 + 20 * (n - (len(lines) - 1) / 2), line, "right")
        for n, line in enumerate(lines)
    )
    box = (x, middle - box_height / 2, box_width, box_height)
    return Drawing("wide", _WIDE, height, box, name, tuple(nodes), tuple(texts), None)


def _narrow(entity: Entity, incoming: Drawn, outgoing: Drawn) -> Drawing:
    """All along one line from top to bottom."""
    lines = _wrapped(entity.name)
    box_height = 20.0 * len(lines) + 20
    nodes = []
    texts = []
    y = 4.0
    box_top = y + (_height(incoming, _NARROW_PITCH) + 8 if incoming else 0)
    for groups, start in ((incoming, y), (outgoing, box_top + box_height + 6)):
        for item, place in _rows(groups, start, _NARROW_PITCH):
            if isinstance(item, Node):
                nodes.append(
                    _placed(item, _SPINE + 24, place, "right", f"M{_SPINE},{place:g} H{_SPINE + 24}")
                )
            else:
                texts.append(NodeText(_SPINE + 14, place, item.text, "right", item.more))
    height = box_top + box_height + 6 + (_height(outgoing, _NARROW_PITCH) if outgoing else 0)
    ends = [node.y for node in nodes] + [box_top + box_height / 2]
    name = tuple(NodeText(_NARROW / 2, box_top + 25 + 20 * n, line, "right") for n, line in enumerate(lines))
    box = (1.0, box_top, _NARROW - 2.0, box_height)
    return Drawing(
        "narrow",
        _NARROW,
        height,
        box,
        name,
        tuple(nodes),
        tuple(texts),
        f"M{_SPINE},{min(ends):g} V{max(ends):g}",
    )


def _height(groups: Drawn, pitch: int = _PITCH) -> float:
    return float(sum(_HEAD + pitch * (len(group.nodes) + _tells_more(group, out)) for group, out in groups))


def _tells_more(group: NodeGroup, left_out: int) -> bool:
    return left_out > 0 or group.more


def _rows(groups: Drawn, top: float, pitch: int = _PITCH) -> Iterator[tuple[Node | NodeText, float]]:
    """Titles, nodes and notes of groups from top to bottom, each with the middle of its row."""
    y = top
    for group, left_out in groups:
        yield NodeText(0, 0, group.title, "right"), y + _HEAD - 12
        y += _HEAD
        for node in group.nodes:
            yield node, y + pitch / 2
            y += pitch
        if _tells_more(group, left_out):
            many = "more" if group.more else f"{left_out:,} more"
            yield (
                NodeText(0, 0, f"and {many}, listed below" if left_out else "and more", "right", True),
                y + pitch / 2,
            )
            y += pitch


def _placed(node: Node, x: float, y: float, side: Literal["left", "right"], edge: str) -> Placed:
    radius = 4 + min(4.0, math.sqrt(node.named) / 2)
    return Placed(node, round(x, 1), round(y, 1), round(radius, 1), _short(node.name, _LETTERS), side, edge)


def _wrapped(name: str) -> list[str]:
    """A name in lines that fit into the box."""
    lines: list[str] = []
    for word in name.split() or [name]:
        if lines and _letters(lines[-1]) + 1 + _letters(word) <= _BOX_LETTERS:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    if len(lines) > _BOX_LINES:
        lines = [*lines[: _BOX_LINES - 1], " ".join(lines[_BOX_LINES - 1 :])]
    return [_short(line, _BOX_LETTERS) for line in lines]


def _short(text: str, most: int) -> str:
    """As much of a text as has room."""
    if _letters(text) <= most:
        return text
    kept = ""
    width = 1
    for char in text:
        width += _letters(char)
        if width > most:
            break
        kept += char
    return f"{kept.rstrip()}…"


def _letters(text: str) -> int:
    """How much room a text takes, in letters; those of East Asia take two."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return wide + sum(not unicodedata.combining(char) for char in text)
