"""Subgraphs: a conflict between two documents grown to the accounts of a fact and the documents
behind each (paper, section 3.2).

A fact is a subject and one attribute of it. From the two documents of a seed conflict each account
spreads over support edges, one step a time, so that a document belongs to the account it is nearest
to; one that is as near to two, or in conflict with a document of its own side, belongs to none. A
document in conflict with an account begins a further one, unless it gives the value of another. The
counts are the exposures of the paper's section 5.1.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from llmpedia.entities.keys import canonical_key
from llmpedia.probe.questions.answer_leakage import same_value
from llmpedia.probe.settings.build import SubgraphsSection

Row = dict[str, Any]
FactKey = tuple[str, str]


@dataclass
class FactGraph:
    """What was found on one attribute of one subject. ``seeds``: (pair_id, a, b) of its conflicts,
    in order.
    """

    key: FactKey
    support: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    conflict: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    values: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    seeds: list[tuple[int, int, int]] = field(default_factory=list)

    def add(self, pair: Row, relation: Row) -> None:
        """Take an edge in."""
        a = pair["a"]
        b = pair["b"]
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
            if side_of.get(document) is None:
                side = self._further(document, side_of, count)
                if side is not None:
                    count = max(count, side + 1)
                    side_of = self._spread(
                        {n: s for n, s in side_of.items() if s is not None} | {document: side}
                    )
        return [sorted(n for n, side in side_of.items() if side == number) for number in range(count)]

    def _further(self, document: int, side_of: dict[int, int | None], count: int) -> int | None:
        """The side of a document in conflict with some account: of those it was not compared with
        the one of the same value, else a new one; None where what was found of it does not fit
        together.
        """
        opposed = {side_of.get(n) for n in self.conflict[document]} - {None}
        if not opposed:
            return None
        value = self.value([document])
        same = [
            number
            for number in range(count)
            if same_value(value, self.value(n for n, side in side_of.items() if side == number))
        ]
        if not same:
            return count
        return same[0] if len(same) == 1 and same[0] not in opposed else None

    def _spread(self, first: dict[int, int]) -> dict[int, int | None]:
        """Document -> number of its side, over support edges; None where two sides come equally
        near, or the one that comes nearest holds a document that it is in conflict with.
        """
        side_of: dict[int, int | None] = dict(first)
        edge = dict(first)
        while edge:
            reached: dict[int, set[int]] = defaultdict(set)
            for document, side in edge.items():
                for neighbour in self.support.get(document, ()):
                    if neighbour not in side_of:
                        reached[neighbour].add(side)
            edge = {
                n: min(sides)
                for n, sides in reached.items()
                if len(sides) == 1 and not self._against(n, min(sides), side_of)
            }
            side_of.update({n: edge.get(n) for n in reached})
        return side_of

    def _against(self, document: int, side: int, side_of: dict[int, int | None]) -> bool:
        return any(side_of.get(n) == side for n in self.conflict.get(document, ()))

    def value(self, documents: Iterable[int]) -> str:
        """What most of the edges at these documents give; the first in order of text among equals."""
        values: Counter[str] = Counter()
        for document in documents:
            values.update(self.values[document])
        return min(values.items(), key=lambda item: (-item[1], item[0]))[0]


def fact_key(pair: Row, relation: Row) -> FactKey:
    """The fact that a pair is about; where its slot is not known, by the attribute's name."""
    return pair["subject"], pair["slot"] or canonical_key(relation["attribute"] or "")


def facts_of(pairs: Iterable[Row], relations: Iterable[Row]) -> list[FactGraph]:
    """All facts with an edge, in order of their first one. Rows of the two tables, both in order of
    ``pair_id``.
    """
    facts: dict[FactKey, FactGraph] = {}
    for pair, relation in zip(pairs, relations, strict=True):
        if relation["relation"] in ("support", "conflict"):
            key = fact_key(pair, relation)
            facts.setdefault(key, FactGraph(key)).add(pair, relation)
    return list(facts.values())


def subgraphs(facts: Iterable[FactGraph], settings: SubgraphsSection) -> list[Row]:
    """Rows of the table ``subgraphs``, one a conflict: those with the better supported weakest
    account first, then duplicates.
    """
    rows: list[Row] = []
    duplicates: list[Row] = []
    for fact in facts:
        grown: list[dict[int, int]] = []  # of each subgraph of the fact: document -> side
        for pair_id, a, b in fact.seeds:
            row: Row = {"seed_pair": pair_id, "subject": fact.key[0], "slot": fact.key[1]}
            if any(side_of[a] != side_of[b] for side_of in grown if a in side_of and b in side_of):
                duplicates.append({**row, "sides": [], "n_maj": None, "n_min": None, "fate": "duplicate"})
                continue
            sides = fact.sides(a, b)
            grown.append(
                {document: number for number, documents in enumerate(sides) for document in documents}
            )
            sizes = [len(documents) for documents in sides]
            accounts = [{"value": fact.value(documents), "documents": documents} for documents in sides]
            rows.append({**row, "sides": accounts, "n_maj": max(sizes), "n_min": min(sizes)})
    rows.sort(key=lambda r: (-r["n_min"], -r["n_maj"], r["seed_pair"]))
    return [{**row, "subgraph_id": n} for n, row in enumerate([*_with_fates(rows, settings), *duplicates])]


def _with_fates(rows: list[Row], settings: SubgraphsSection) -> list[Row]:
    taken = 0
    for row in rows:
        if row["n_min"] < settings.least_support:
            row["fate"] = "low_support"
        elif settings.seeds is not None and taken >= settings.seeds:
            row["fate"] = "cap"
        else:
            row["fate"] = "kept"
            taken += 1
    return rows
