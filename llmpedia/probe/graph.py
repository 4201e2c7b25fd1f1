"""Subgraphs: a conflict between two documents grown to the accounts of a fact and the documents behind each (paper, section 3.2).

A fact is a subject and one attribute of it. From the two documents of a seed conflict each account spreads over support edges,
one step a time, so that a document belongs to the account it is nearest to; one that is as near to two belongs to none. A
document in conflict with all accounts so far begins a further one. The counts are the exposures of the paper's section 5.1.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from llmpedia.entities.keys import canonical_key
from llmpedia.probe.build_settings import SubgraphsSection

Row = dict[str, Any]
FactKey = tuple[str, str]


@dataclass
class Fact:
    """What was found on one attribute of one subject. ``seeds``: (pair_id, a, b) of its conflicts, in order."""

    key: FactKey
    support: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    conflict: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    values: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    seeds: list[tuple[int, int, int]] = field(default_factory=list)

    def add(self, pair: Row, relation: Row) -> None:
        """Take an edge in."""
        a, b = pair["a"], pair["b"]
        edges = self.support if relation["relation"] == "support" else self.conflict
        edges[a].add(b)
        edges[b].add(a)
        self.values[a][relation["value_a"]] += 1
        self.values[b][relation["value_b"]] += 1
        if relation["relation"] == "conflict":
            self.seeds.append((pair["pair_id"], a, b))

    def sides(self, a: int, b: int) -> list[list[int]]:
        """Documents of each account, those of ``a`` and ``b`` first."""
        side_of = self._spread({a: 0, b: 1})
        count = 2
        for document in sorted(self.conflict):
            opposed = {side_of[n] for n in self.conflict[document] if n in side_of}
            if document not in side_of and len(opposed - {None}) == count:
                side_of = self._spread({n: s for n, s in side_of.items() if s is not None} | {document: count})
                count += 1
        return [sorted(n for n, side in side_of.items() if side == number) for number in range(count)]

    def _spread(self, first: dict[int, int]) -> dict[int, int | None]:
        """Document -> number of its side, over support edges; None where two sides come equally near."""
        side_of: dict[int, int | None] = dict(first)
        edge = dict(first)
        while edge:
            reached: dict[int, set[int]] = defaultdict(set)
            for document, side in edge.items():
                for neighbour in self.support.get(document, ()):
                    if neighbour not in side_of:
                        reached[neighbour].add(side)
            edge = {n: min(sides) for n, sides in reached.items() if len(sides) == 1}
            side_of.update({n: edge.get(n) for n in reached})
        return side_of

    def value(self, documents: Iterable[int]) -> str:
        """What most of the edges at these documents give; the first in order of text among equals."""
        told: Counter[str] = Counter()
        for document in documents:
            told.update(self.values[document])
        return min(told.items(), key=lambda item: (-item[1], item[0]))[0]


def fact_key(pair: Row, relation: Row) -> FactKey:
    """The fact that a pair is about; where its slot is not known, by the attribute's name."""
    return pair["subject"], pair["slot"] or canonical_key(relation["attribute"] or "")


def facts_of(pairs: Iterable[Row], relations: Iterable[Row]) -> list[Fact]:
    """All facts with an edge, in order of their first one. Rows of the two tables, both in order of ``pair_id``."""
    found: dict[FactKey, Fact] = {}
    for pair, relation in zip(pairs, relations, strict=True):
        if relation["relation"] in ("support", "conflict"):
            key = fact_key(pair, relation)
            found.setdefault(key, Fact(key)).add(pair, relation)
    return list(found.values())


def subgraphs(facts: Iterable[Fact], settings: SubgraphsSection) -> list[Row]:
    """Rows of the table ``subgraphs``, one a conflict: those with the better supported weaker account first."""
    rows: list[Row] = []
    for fact in facts:
        for pair_id, a, b in fact.seeds:
            sides = fact.sides(a, b)
            strong = [s for n, s in enumerate(sides) if n < 2 or len(s) >= settings.least_support]
            told = [{"value": fact.value(documents), "documents": documents} for documents in strong]
            sizes = [len(documents) for documents in strong]
            row = {"seed_pair": pair_id, "subject": fact.key[0], "slot": fact.key[1], "sides": told}
            rows.append({**row, "n_maj": max(sizes), "n_min": min(sizes), "ends": (a, b)})
    rows.sort(key=lambda r: (-r["n_min"], -r["n_maj"], r["seed_pair"]))
    return _with_fates(rows, settings)


def _with_fates(rows: list[Row], settings: SubgraphsSection) -> list[Row]:
    kept: dict[FactKey, list[list[Row]]] = defaultdict(list)
    taken = 0
    for number, row in enumerate(rows):
        ends, key = row.pop("ends"), (row["subject"], row["slot"])
        row["subgraph_id"] = number
        if any(_told_apart(ends, sides) for sides in kept[key]):
            row["fate"] = "duplicate"
        elif row["n_min"] < settings.least_support:
            row["fate"] = "low_support"
        elif settings.seeds is not None and taken >= settings.seeds:
            row["fate"] = "cap"
        else:
            row["fate"] = "kept"
            kept[key].append(row["sides"])
            taken += 1
    return rows


def _told_apart(ends: tuple[int, int], sides: list[Row]) -> bool:
    """Whether two documents are on different sides."""
    places = [next((n for n, side in enumerate(sides) if end in side["documents"]), None) for end in ends]
    return None not in places and places[0] != places[1]
