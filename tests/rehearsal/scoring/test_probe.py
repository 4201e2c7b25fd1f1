"""The score of a probe against the planted truth: a right build is clean, and each planted mistake
stands in its own figure.
"""

from itertools import combinations

import pytest

from llmpedia.cli.main import main
from llmpedia.materialize.run import describe_run
from llmpedia.rehearsal.model.recall import answer, recalled
from llmpedia.rehearsal.planted.corpus import planted_documents, true_relation
from llmpedia.rehearsal.planted.disagreements import planted
from llmpedia.rehearsal.planted.document_reader import read
from llmpedia.rehearsal.planted.questions import clue_question, named_question
from llmpedia.rehearsal.scoring.probe import findings, score_probe
from llmpedia.rehearsal.scoring.responses import score_responses
from llmpedia.rehearsal.scoring.walk import render
from llmpedia.rehearsal.settings import load_settings
from llmpedia.rehearsal.world.world import World
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import RunFolder
from llmpedia.tables import TABLES, table
from tests.support.builders.runs import make_config

SETTINGS = [
    "entities=3000",
    "disagreements.facts=25",
    "disagreements.agreeing=5",
    "disagreements.noise=10",
    "disagreements.traps=0.6",
    "disagreements.compatible=0.6",
    "disagreements.context=1.0",
    "disagreements.unverified=0.3",
    "disagreements.near_copies=0.1",
]
CHECKS = {"read": True, "web": True, "review": False}


@pytest.fixture(scope="module")
def world():
    return World(load_settings(SETTINGS, seed=5))


def row(table_name, **values):
    return dict.fromkeys(TABLES[table_name].names) | values


class Build:
    """A build by hand, right in every part until it is spoiled."""

    def __init__(self, world) -> None:
        self.world = world
        self.corpus = planted_documents(world)
        self.facts = planted(world)
        self.tables = {name: [] for name in TABLES}
        number_of = {d.url: n for n, d in enumerate(self.corpus)}
        for n, d in enumerate(self.corpus):
            copied = d.copy_of is not None
            fate = "near_duplicate" if copied else "kept"
            first = number_of[d.copy_of] if copied else None
            self.tables["documents"].append(
                row("documents", number=n, url=d.url, fate=fate, duplicate_of=first)
            )
        kept = [(n, d) for n, d in enumerate(self.corpus) if d.copy_of is None]
        for fact in self.facts:
            own = [(n, d) for n, d in kept if d.fact == fact.number]
            self._compare(own)
            if fact.disputed:
                self._ask(fact, own)

    def _compare(self, own):
        for (a, one), (b, other) in combinations(own, 2):
            n = len(self.tables["pairs"])
            self.tables["pairs"].append(
                row("pairs", pair_id=n, a=a, b=b, route="point", subject="s", slot="x", score=1.0)
            )
            self.tables["relations"].append(row("relations", pair_id=n, relation=true_relation(one, other)))

    def _ask(self, fact, own):
        n = len(self.tables["subgraphs"])
        group = f"group {fact.number}"
        numbers = [[i for i, d in own if d.account == place] for place in range(len(fact.accounts))]
        sides = [{"value": a.value, "documents": ds} for a, ds in zip(fact.accounts, numbers, strict=True)]
        graph = row(
            "subgraphs",
            subgraph_id=n,
            seed_pair=0,
            subject="s",
            slot="x",
            sides=sides,
            n_maj=1,
            n_min=1,
            fate="kept",
        )
        about = read(next(d for _, d in own if d.account == 0).text).about
        named, clue = (ask(about, fact.slot, fact.context) for ask in (named_question, clue_question))
        answers = [{**side, "spans": ["x"]} for side in sides]
        told = {
            "named_entity": named,
            "clue_based": clue,
            "answers": answers,
            "preferred_answer": fact.accounts[0].value,
        }
        self.tables["subgraphs"].append(graph)
        self.tables["questions"].append(
            row("questions", subgraph_id=n, group_id=group, fate="kept", path=["a"], **told)
        )
        self.tables["checks"].append(row("checks", group_id=group, check="read", fate="kept", proofs=[]))
        web, why = ("kept", None) if fact.verifiable else ("rejected", "account 2: no support found")
        self.tables["checks"].append(
            row("checks", group_id=group, check="web", fate=web, reason=why, proofs=[])
        )

    def of_fact(self, number):
        """Places of the rows of ``pairs`` on a fact."""
        on = [d.fact == number for d in self.corpus]
        return [n for n, p in enumerate(self.tables["pairs"]) if on[p["a"]] and on[p["b"]]]

    def save(self, folder):
        described = {**describe_run(make_config()), "kind": "probe"}
        described["identity"] = {**described["identity"], "validation": CHECKS}
        run = RunFolder.create_or_open(str(folder), described)
        with Lease(run.folder) as lease:
            run.commit(lease, {name: table(name, rows) for name, rows in self.tables.items()}, {})
        return run

    def score(self, folder):
        return score_probe(self.save(folder), self.world)


@pytest.fixture
def build(world):
    return Build(world)


def test_a_right_build_is_clean(tmp_path, build):
    figures = build.score(tmp_path)
    assert findings(figures) == []
    documents, pairs, edges, accounts = (
        figures[name] for name in ("documents", "pairs", "edges", "accounts")
    )
    zeros = ("lost", "doubled", "strangers", "copies kept", "originals removed")
    assert [documents[name] for name in zeros] == [0] * 5
    assert documents["copies planted"] > 0
    for label in ("conflict", "support"):
        assert (
            pairs[f"{label} recall"]
            == edges[f"{label} precision"]
            == edges[f"{label} recall of facts"]
            == 1.0
        )
    unverifiable = sum(len(f.accounts) for f in build.facts if f.disputed and not f.verifiable)
    assert accounts["rightly rejected"] == unverifiable > 0
    assert (accounts["lost"], accounts["wrongly exported"]) == (0, 0)
    assert accounts["exported"] == accounts["planted"] - unverifiable
    assert "exported" in render(figures)


def test_lost_doubled_and_strange_documents_are_findings(tmp_path, build):
    rows = build.tables["documents"]
    noise = [n for n, d in enumerate(build.corpus) if d.role == "noise"]
    del rows[noise[0]]
    rows.append({**rows[-1], "number": 9999})
    rows.append({**rows[-1], "number": 9998, "url": "https://elsewhere.example/"})
    figures = build.score(tmp_path)
    assert [figures["documents"][name] for name in ("lost", "doubled", "strangers")] == [1, 1, 1]
    assert len(findings(figures)) == 3


def test_copy_that_stays_and_original_that_goes_are_told_apart(tmp_path, build):
    rows = build.tables["documents"]
    copy = next(n for n, d in enumerate(build.corpus) if d.copy_of)
    rows[copy]["fate"] = "kept"
    rows[next(n for n, d in enumerate(build.corpus) if d.role == "noise")]["fate"] = "near_duplicate"
    figures = build.score(tmp_path)["documents"]
    assert (figures["copies kept"], figures["originals removed"]) == (1, 1)


@pytest.mark.parametrize("role", ["trap", "context", "compatible"])
def test_what_is_taken_for_a_conflict_stands_under_its_name_and_is_a_finding(tmp_path, build, role):
    corpus = build.corpus
    pairs = build.tables["pairs"]
    wanted = "support" if role == "compatible" else "none"
    for pair, relation in zip(pairs, build.tables["relations"], strict=True):
        if role in {corpus[pair["a"]].role, corpus[pair["b"]].role} and relation["relation"] == wanted:
            relation["relation"] = "conflict"
            break
    figures = build.score(tmp_path)
    assert figures["mistaken conflicts"] == {"trap": 0, "context": 0, "compatible": 0, "other": 0} | {role: 1}
    assert figures["edges"]["conflict precision"] < 1.0
    assert findings(figures) == [f"conflicts that are none ({role}): 1"]


def test_conflict_of_documents_on_two_facts_is_another_mistake(tmp_path, build):
    a, b = (
        next(n for n, d in enumerate(build.corpus) if d.fact == fact and d.account == 0) for fact in (0, 1)
    )
    n = len(build.tables["pairs"])
    pair = row(
        "pairs", pair_id=n, a=min(a, b), b=max(a, b), route="mention", subject="s", slot=None, score=0.1
    )
    build.tables["pairs"].append(pair)
    build.tables["relations"].append(row("relations", pair_id=n, relation="conflict"))
    assert build.score(tmp_path)["mistaken conflicts"]["other"] == 1


def test_one_conflict_edge_is_enough_for_a_fact_but_not_for_its_pairs(tmp_path, build):
    """A pair counts once, whatever else it was compared on."""
    fact = next(f.number for f in build.facts if f.disputed and len(build.of_fact(f.number)) > 3)
    edges = [n for n in build.of_fact(fact) if build.tables["relations"][n]["relation"] == "conflict"]
    for n in edges[1:]:
        build.tables["relations"][n]["relation"] = "none"
    extra = {**build.tables["pairs"][edges[0]], "pair_id": len(build.tables["pairs"]), "slot": "y"}
    build.tables["pairs"].append(extra)
    build.tables["relations"].append(row("relations", pair_id=extra["pair_id"], relation="none"))
    figures = build.score(tmp_path)
    assert figures["edges"]["conflict recall of facts"] == 1.0
    true = figures["pairs"]["true conflict"]
    found = figures["edges"]["conflict found"]
    assert true - found == len(edges) - 1
    assert figures["edges"]["conflict recall"] == pytest.approx(found / true)


def without_pairs(build, fact):
    gone = set(build.of_fact(fact))
    for name in ("pairs", "relations"):
        build.tables[name] = [r for n, r in enumerate(build.tables[name]) if n not in gone]
    gone_graph = build.facts[fact].number
    build.tables["questions"] = [
        q for q in build.tables["questions"] if q["group_id"] != f"group {gone_graph}"
    ]


def without_documents(build, fact):
    for n, d in enumerate(build.corpus):
        if d.fact == fact and d.account == 1:
            build.tables["documents"][n]["fate"] = "quality"


def without_edges(build, fact):
    for n in build.of_fact(fact):
        build.tables["relations"][n] |= {"relation": None, "error": "no JSON object in the answer"}


def of_graph(build, fact, **changes):
    index = next(n for n, q in enumerate(build.tables["questions"]) if q["group_id"] == f"group {fact}")
    build.tables["questions"][index] |= changes
    return index


LOSSES = {
    "corpus: none of its documents was kept": without_documents,
    "pairs: none with another account": without_pairs,
    "relations: no JSON object in the answer": without_edges,
    "subgraphs: low_support": lambda b, f: b.tables["subgraphs"][of_graph(b, f)].update(fate="low_support"),
    "subgraphs: in none with another account": lambda b, f: b.tables["subgraphs"][of_graph(b, f)].update(
        sides=[]
    ),
    "questions: rejected: it leaks": lambda b, f: of_graph(
        b, f, fate="rejected", reason="it leaks", group_id=None
    ),
    "checks: read: rejected: no": lambda b, f: next(
        c for c in b.tables["checks"] if (c["group_id"], c["check"]) == (f"group {f}", "read")
    ).update(fate="rejected", reason="no"),
    "checks: web: not made": lambda b, f: b.tables.update(
        checks=[c for c in b.tables["checks"] if (c["group_id"], c["check"]) != (f"group {f}", "web")]
    ),
}


@pytest.mark.parametrize("fate", LOSSES)
def test_account_that_is_lost_tells_the_stage_and_why(tmp_path, build, fate):
    fact = next(
        f for f in build.facts if f.disputed and f.verifiable and len(f.accounts) == 2 and f.compatible != 1
    )
    LOSSES[fate](build, fact.number)
    figures = build.score(tmp_path)
    ended = {name: end for name, end in figures["fates"].items() if name.startswith(f"{fact.number}.")}
    assert len(ended) == 2
    assert fate in ended.values()
    assert figures["accounts"]["lost"] == 2
    assert figures["accounts"][f"lost: {fate.partition(':')[0]}"] >= 1


def test_released_question_with_an_account_on_no_page_is_a_finding(tmp_path, build):
    fact = next(f for f in build.facts if f.disputed and not f.verifiable)
    for check in build.tables["checks"]:
        if check["group_id"] == f"group {fact.number}":
            check |= {"fate": "kept", "reason": None}
    figures = build.score(tmp_path)
    assert figures["accounts"]["wrongly exported"] == len(fact.accounts)
    assert findings(figures) == [f"accounts wrongly exported: {len(fact.accounts)}"]


def test_the_command_ends_by_what_was_found(tmp_path, build, capsys):
    sets = [part for s in SETTINGS for part in ("--set", s)]
    build.save(tmp_path / "a")
    assert (
        main(
            [
                "rehearse",
                "score",
                str(tmp_path / "a"),
                "--seed",
                "5",
                *sets,
                "--json",
                str(tmp_path / "x.json"),
            ]
        )
        == 0
    )
    del build.tables["documents"][next(n for n, d in enumerate(build.corpus) if d.role == "noise")]
    build.save(tmp_path / "b")
    assert main(["rehearse", "score", str(tmp_path / "b"), "--seed", "5", *sets]) == 1
    assert "lost" in capsys.readouterr().out


OUTCOMES = ("complete", "partial", "failed")


def responded(world, folder, model="m", spoil=None, grade=True):
    """A model's folder: every question of a right build, answered by the world and graded as
    deserved.
    """
    build = Build(world)
    told = [(q, [a["value"] for a in q["answers"]]) for q in build.tables["questions"]]
    tables = {name: [] for name in TABLES}
    for n, (question, answers) in enumerate(told):
        for form in ("named_entity", "clue_based"):
            key = f"{n} {form}"
            text = question[form]
            shared = {"benchmark_id": key, "attempt": 1}
            tables["benchmark"].append(
                row(
                    "benchmark",
                    benchmark_id=key,
                    group_id=str(n),
                    formulation=form,
                    question=text,
                    answers=answers,
                )
            )
            tables["responses"].append(
                row("responses", text=answer(world, model, text, False), completion=key, **shared)
            )
            tables["completions"].append(row("completions", key=key, stage="closed_book", model=model))
            outcome = recalled(world, model, text).drawn
            tables["grades"].append(
                row("grades", outcome=outcome, covered=[], evidence=[], contradictions=[], **shared)
            )
    if spoil:
        spoil(tables)
    grades = tables.pop("grades")
    for name, kind, own in (("", "responses", tables), ("/grades", "grades", {"grades": grades})):
        if name and not grade:
            continue
        run = RunFolder.create_or_open(f"{folder}{name}", {**describe_run(make_config()), "kind": kind})
        with Lease(run.folder) as lease:
            run.commit(lease, {t: table(t, rows) for t, rows in own.items()}, {})
    return RunFolder.open(str(folder))


def test_right_grades_match_and_every_outcome_occurs(tmp_path, world):
    figures = score_responses(responded(world, tmp_path / "m"), world)
    told = figures["responses"]
    assert (told["mismatched"], told["ungraded"], told["strangers"], figures["mismatches"]) == (0, 0, 0, {})
    assert (
        [told[f"graded {o}"] for o in OUTCOMES]
        == [told[f"planted {o}"] for o in OUTCOMES]
        == [told[f"drawn {o}"] for o in OUTCOMES]
    )
    assert all(told[f"planted {o}"] for o in OUTCOMES)
    assert told["questions"] == 50


def test_wrong_grade_is_named_with_its_question(tmp_path, world):
    def spoil(tables):
        right = tables["grades"][0]["outcome"]
        tables["grades"][0]["outcome"] = next(o for o in OUTCOMES if o != right)
        tables["grades"][1]["outcome"] = None

    figures = score_responses(responded(world, tmp_path / "m", spoil=spoil), world)
    assert (
        figures["responses"]["mismatched"],
        figures["responses"]["ungraded"],
        len(figures["mismatches"]),
    ) == (1, 1, 2)


def test_account_that_the_benchmark_does_not_list_makes_its_value_a_contradiction(tmp_path, world):
    """What a response deserves goes by the question's accounts: the judge knows no others."""

    def spoil(tables):
        for question, graded in zip(tables["benchmark"], tables["grades"], strict=True):
            if graded["outcome"] == "complete":
                question["answers"] = [question["answers"][0], "0"]
                graded["outcome"] = "failed"

    figures = score_responses(responded(world, tmp_path / "m", spoil=spoil), world)
    assert figures["responses"]["drawn complete"] > 0
    assert (figures["responses"]["planted complete"], figures["responses"]["mismatched"]) == (0, 0)


def test_unanswered_strange_and_ungraded_questions_are_counted_apart(tmp_path, world):
    def spoil(tables):
        tables["responses"].pop()
        tables["benchmark"][0]["question"] = "Who painted the ceiling of the Sistine Chapel?"

    told = score_responses(responded(world, tmp_path / "m", spoil=spoil, grade=False), world)["responses"]
    assert (told["unanswered"], told["strangers"], told["ungraded"], told["mismatched"]) == (1, 1, 48, 0)
