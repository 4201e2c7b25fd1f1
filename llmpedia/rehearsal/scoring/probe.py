"""A probe's build against the planted disagreements. A pure function of the build's folder and the
world.

Definitions documents   of the world's corpus, by address. ``lost``: without a row; ``doubled``:
    rows beyond the first; ``strangers``:
                addresses that the world has not written. ``copies kept``: documents kept beyond one
                of those that repeat each other; ``originals removed``: documents taken for a copy
                that are none, and such of which none is left.
    true pairs  of documents that were kept and are on one planted fact: support where they give one
                account, conflict where they give two. Traps, other contexts and noise are in none.
    pairs       ``... recall``: true pairs among the candidate pairs. ``... facts``: facts with a
                true pair; ``... facts asked``: those of them with one among the candidates.
    edges       relations of the build. precision: true ones among those it found; recall over all
                true pairs, ``of asked`` over those that were candidates. A pair counts once,
                however many attributes it was compared on; as a conflict, if any comparison says
                so, as support if one says that and none conflict.
    mistaken    conflict edges that are none, by what they were taken for: the role of one of the
    documents (trap, context), or
                compatible: two forms of one account.
    accounts    of disputed facts. ``exported``; ``rightly rejected``: the web check turned down a
                question one of whose accounts is on no web page; ``wrongly exported``: such a
                question was released; ``lost``: all others, and ``lost: STAGE``.
    fates       each account and where it ended: exported, or the first stage that none of its
    documents passed, and why.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from llmpedia.probe.benchmark.release import last_checks, released, wanted_checks
from llmpedia.rehearsal.planted.corpus import PlantedDocument, true_relation, truth
from llmpedia.rehearsal.planted.disagreements import PlantedFact, planted
from llmpedia.rehearsal.world.world import World
from llmpedia.store.run_folder import RunFolder

Row = dict[str, Any]
Pair = tuple[int, int]
Account = tuple[int, int]  # number of the fact, place of the account
_KEPT = "kept"
_COPIES = frozenset({"exact_duplicate", "near_duplicate"})
_ENDS = ("corpus", "pairs", "relations", "subgraphs", "questions", "checks", "benchmark", "exported")


@dataclass
class _Build:
    """What is read of a build, once. ``relations``: pair of documents -> relation of the build;
    ``errors``: of those without one.
    """

    documents: dict[int, PlantedDocument]
    kept: list[int]
    true: dict[Pair, str]
    asked: set[Pair]
    relations: dict[Pair, str]
    errors: dict[Pair, str]
    subgraphs: list[Row]
    questions: dict[int, Row]
    checks: dict[tuple[str, str], Row]
    released: set[str]
    wanted: tuple[str, ...]
    facts: tuple[PlantedFact, ...]
    by_account: dict[Account, list[int]] = field(default_factory=lambda: defaultdict(list))


def score_probe(run: RunFolder, world: World) -> dict[str, Row]:
    """All figures: section -> name -> number, text for fates, or None where there is nothing to
    divide by.

    Raises:
        InputError: a file of the build is missing or damaged.
    """
    there = truth(world)
    rows = _rows(run, "documents")
    build = _read(run, world, rows, there)
    fates = _fates(build)
    return {
        "documents": _documents(rows, there),
        "pairs": _pairs(build),
        "edges": _edges(build),
        "mistaken conflicts": _mistaken(build),
        "accounts": _accounts(build, fates),
        "fates": {_title(build, account): fate for account, fate in fates.items()},
    }


def findings(figures: dict[str, Row]) -> list[str]:
    """What a build must not show, in words."""
    documents = figures["documents"]
    accounts = figures["accounts"]
    wrong = {f"documents {name}": documents[name] for name in ("lost", "doubled", "strangers")}
    wrong |= {f"conflicts that are none ({name})": n for name, n in figures["mistaken conflicts"].items()}
    wrong |= {"accounts wrongly exported": accounts["wrongly exported"]}
    return [f"{name}: {n}" for name, n in wrong.items() if n]


def _rows(run: RunFolder, table: str) -> list[Row]:
    rows: list[Row] = run.read(table).to_pylist()
    return rows


def _read(run: RunFolder, world: World, rows: list[Row], there: dict[str, PlantedDocument]) -> _Build:
    documents = {row["number"]: there[row["url"]] for row in rows if row["url"] in there}
    kept = [row["number"] for row in rows if row["fate"] == _KEPT and row["number"] in documents]
    asked: dict[int, Pair] = {row["pair_id"]: (row["a"], row["b"]) for row in _rows(run, "pairs")}
    relations, errors = _relations(asked, _rows(run, "relations"))
    graphs = {row["subgraph_id"]: row for row in _rows(run, "subgraphs")}
    build = _Build(
        documents,
        kept,
        _true_pairs(kept, documents),
        set(asked.values()),
        relations,
        errors,
        list(graphs.values()),
        {row["subgraph_id"]: row for row in _rows(run, "questions")},
        last_checks(run),
        {row["group_id"] for row in released(run)[0]},
        wanted_checks(run),
        planted(world),
    )
    for number in kept:
        document = documents[number]
        if document.fact is not None and document.account is not None:
            build.by_account[document.fact, document.account].append(number)
    return build


def _true_pairs(kept: list[int], documents: dict[int, PlantedDocument]) -> dict[Pair, str]:
    """Pairs of kept documents (less first) that support or contradict each other."""
    by_fact: dict[int, list[int]] = defaultdict(list)
    for number in sorted(kept):
        fact = documents[number].fact
        if fact is not None:
            by_fact[fact].append(number)
    pairs = ((a, b) for numbers in by_fact.values() for a, b in combinations(numbers, 2))
    true_relations = {(a, b): true_relation(documents[a], documents[b]) for a, b in pairs}
    return {pair: relation for pair, relation in true_relations.items() if relation != "none"}


def _relations(asked: dict[int, Pair], rows: list[Row]) -> tuple[dict[Pair, str], dict[Pair, str]]:
    """What the build says of each pair of documents, over all that they were compared on."""
    relations: dict[Pair, str] = {}
    errors: dict[Pair, str] = {}
    strength = {None: 0, "none": 1, "support": 2, "conflict": 3}
    for row in rows:
        pair = asked[row["pair_id"]]
        if row["relation"] is None:
            errors[pair] = row["error"]
        elif strength[row["relation"]] > strength[relations.get(pair)]:
            relations[pair] = row["relation"]
    return relations, errors


def _documents(rows: list[Row], there: dict[str, PlantedDocument]) -> Row:
    seen = Counter(row["url"] for row in rows)
    fates = {row["url"]: row["fate"] for row in rows}
    groups: dict[str, list[str]] = defaultdict(list)
    for url, document in there.items():
        groups[document.copy_of or url].append(url)
    copies = [urls for urls in groups.values() if len(urls) > 1]
    kept = [sum(fates.get(url) == _KEPT for url in urls) for urls in copies]
    alone = [urls[0] for urls in groups.values() if len(urls) == 1]
    return {
        "planted": len(there),
        "lost": len(there.keys() - seen.keys()),
        "doubled": sum(n - 1 for n in seen.values()),
        "strangers": len(seen.keys() - there.keys()),
        "kept": sum(fates.get(url) == _KEPT for url in there),
        "copies planted": sum(len(urls) - 1 for urls in copies),
        "copies kept": sum(max(n - 1, 0) for n in kept),
        "originals removed": sum(fates.get(url) in _COPIES for url in alone) + kept.count(0),
    }


def _pairs(build: _Build) -> Row:
    out: Row = {"candidates": len(build.asked)}
    for label in ("support", "conflict"):
        true = {pair for pair, relation in build.true.items() if relation == label}
        hit = true & build.asked
        out |= {
            f"true {label}": len(true),
            f"{label} asked": len(hit),
            f"{label} recall": _share(len(hit), len(true)),
        }
        facts = _facts_of(build, true)
        asked = _facts_of(build, hit)
        out |= {f"{label} facts": len(facts), f"{label} facts asked": len(asked)}
    return out


def _facts_of(build: _Build, pairs: Iterable[Pair]) -> set[int | None]:
    return {build.documents[a].fact for a, _ in pairs}


def _edges(build: _Build) -> Row:
    out: Row = {"errors": len(build.errors.keys() - build.relations.keys())}
    for label in ("conflict", "support"):
        true = {pair for pair, relation in build.true.items() if relation == label}
        labelled = {pair for pair, relation in build.relations.items() if relation == label}
        right = true & labelled
        out |= {
            f"{label} found": len(labelled),
            f"{label} precision": _share(len(right), len(labelled)),
            f"{label} recall": _share(len(right), len(true)),
            f"{label} recall of asked": _share(len(right), len(true & build.asked)),
            f"{label} recall of facts": _share(len(_facts_of(build, right)), len(_facts_of(build, true))),
        }
    return out


def _mistaken(build: _Build) -> Row:
    out = Counter(dict.fromkeys(("trap", "context", "compatible", "other"), 0))
    for pair, relation in build.relations.items():
        if relation == "conflict" and build.true.get(pair) != "conflict":
            out[_mistake(*(build.documents.get(n) for n in pair))] += 1
    return dict(out)


def _mistake(a: PlantedDocument | None, b: PlantedDocument | None) -> str:
    if a is None or b is None or a.fact is None or a.fact != b.fact:
        return "other"
    roles = {a.role, b.role}
    return next((role for role in ("trap", "context") if role in roles), "compatible")


def _fates(build: _Build) -> dict[Account, str]:
    """Where each account of the disputed facts ended, as ``stage: reason``."""
    facts = [fact for fact in build.facts if fact.disputed]
    return {
        (f.number, place): _fate(build, (f.number, place)) for f in facts for place in range(len(f.accounts))
    }


def _fate(build: _Build, account: Account) -> str:
    documents = set(build.by_account.get(account, ()))
    if not documents:
        return "corpus: none of its documents was kept"
    pairs = [p for p, relation in build.true.items() if relation == "conflict" and documents & set(p)]
    if not pairs:
        return "corpus: no document of another account was kept"
    asked = [p for p in pairs if p in build.asked]
    if not asked:
        return "pairs: none with another account"
    if not any(build.relations.get(p) == "conflict" for p in asked):
        relations = Counter(
            build.errors.get(p) if p not in build.relations else build.relations[p] for p in asked
        )
        return f"relations: {relations.most_common(1)[0][0]}"
    return _fate_of_graphs(build, account)


def _fate_of_graphs(build: _Build, account: Account) -> str:
    """The furthest that a subgraph with the account and another one of its fact came."""
    ends = [_fate_of_graph(build, graph) for graph in build.subgraphs if _holds(build, graph, account)]
    if not ends:
        return "subgraphs: in none with another account"
    return max(ends, key=lambda end: _ENDS.index(end.partition(":")[0]))


def _holds(build: _Build, graph: Row, account: Account) -> bool:
    """Whether a side of a subgraph is the account's and another one is another account's."""
    sides = [{_account(build, n) for n in side["documents"]} for side in graph["sides"]]
    mine = [side for side in sides if account in side]
    return bool(mine) and any(
        a is not None and a[0] == account[0] and a != account for side in sides for a in side
    )


def _account(build: _Build, number: int) -> Account | None:
    document = build.documents.get(number)
    if document is None or document.fact is None or document.account is None:
        return None
    return document.fact, document.account


def _fate_of_graph(build: _Build, graph: Row) -> str:
    if graph["fate"] != _KEPT:
        return f"subgraphs: {graph['fate']}"
    question = build.questions.get(graph["subgraph_id"])
    if question is None:
        return "questions: not asked for"
    if question["fate"] != _KEPT:
        return f"questions: {question['fate']}: {question['reason']}"
    for check in build.wanted:
        row = build.checks.get((question["group_id"], check))
        if row is None:
            return f"checks: {check}: not made"
        if row["fate"] != _KEPT:
            return f"checks: {check}: {row['fate']}: {row['reason']}"
    return "exported" if question["group_id"] in build.released else "benchmark: not released"


def _accounts(build: _Build, fates: dict[Account, str]) -> Row:
    verifiable = {fact.number: fact.verifiable for fact in build.facts}
    out = Counter(dict.fromkeys(("planted", "exported", "rightly rejected", "wrongly exported", "lost"), 0))
    for (fact, _), fate in fates.items():
        out["planted"] += 1
        if fate == "exported":
            out["exported" if verifiable[fact] else "wrongly exported"] += 1
        elif fate.startswith("checks: web: rejected") and not verifiable[fact]:
            out["rightly rejected"] += 1
        else:
            out["lost"] += 1
            out[f"lost: {fate.partition(':')[0]}"] += 1
    return dict(out)


def _title(build: _Build, account: Account) -> str:
    fact = build.facts[account[0]]
    return (
        f"{account[0]}.{account[1]} {fact.subject.name}, {fact.slot.name}: {fact.accounts[account[1]].value}"
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
