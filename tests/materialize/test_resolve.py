"""llmpedia/materialize/resolve.py: which names of a wave are new entities; decided in order,
whatever order answers come in.
"""

import asyncio
import base64
import json
import math
import random
import re

import numpy as np
import pytest

from llmpedia.entities.index import EntityIndex
from llmpedia.entities.keys import canonical_key
from llmpedia.materialize.resolve import Proposal, Resolver
from llmpedia.materialize.stages import Stages
from llmpedia.materialize.subject import _candidate
from llmpedia.stages import Completion
from tests.support.builders.runs import Child, Corpus, Visit, make_config

# name -> direction in degrees: names within 25 degrees are neighbours (cosine 0.90)
ANGLES = {
    "Root": 0,
    "Germany": 60,
    "Deutschland": 62,
    "Germania": 64,
    "Alemania": 66,
    "Mars": 180,
    "Venus": 240,
}


def vector(name: str) -> list[float]:
    angle = math.radians(ANGLES[name])
    return [math.cos(angle), math.sin(angle)]


class Model:
    """Answers arbitration by the candidate's name and embeds by ``ANGLES``; keeps what it was
    asked.
    """

    def __init__(self, answers=None, unembedded=(), seed=None):
        self.answers = answers or {}
        self.unembedded = unembedded
        self.random = seed and random.Random(seed)
        self.asked: list[str] = []

    async def complete(self, request):
        if self.random:
            await asyncio.sleep(self.random.uniform(0, 0.02))
        if request.stage == "embedding":
            names = [text for _, text in request.messages]
            if set(names) & set(self.unembedded):
                return Completion(error="embedding: HTTP 500")
            rows = np.array([vector(n) for n in names], dtype="<f4")
            return Completion(base64.b64encode(rows.tobytes()).decode(), "stop")
        text = next(content for role, content in request.messages if role == "user")
        self.asked.append(text)
        answer = self.answers.get(re.match(r"Candidate: (\w+)\.", text).group(1), "none")
        return (
            answer
            if isinstance(answer, Completion)
            else Completion(json.dumps({"duplicate_of": answer}), "stop")
        )


class LocalIndex:
    """The index without its actor."""

    def __init__(self, uri, config):
        entities = config.entities
        self._index = EntityIndex(
            uri, entities.similarity_threshold, entities.neighbours, entities.lead_words
        )
        self._upto = self._index._loaded

    async def screen(self, keys):
        return self._index.screen(keys, self._upto)

    async def neighbours(self, vectors):
        return self._index.neighbours(vectors, self._upto)

    async def describe(self, ids):
        return self._index.describe(ids, self._upto)


class Bench:
    """A run that holds Root (0) and Germany (1), an alias of it, and an article on Germany."""

    def __init__(self, folder, **sections):
        sections.setdefault("embedding", {"batch": 1})
        self.config = make_config(**sections)
        corpus = Corpus(folder, self.config, {n: vector(n) for n in ANGLES}).seed("Root")
        corpus.walk(Visit("Root", [Child("Germany"), Child("BRD", "duplicate", "Germany")]))
        self.uri = corpus.walk(Visit("Germany", lead="Germany is a country in Europe.")).run.uri

    def resolve(self, *names, model=None):
        """What became of the names, each proposed by another parent: (rows, resolved)."""
        self.model = model or Model()
        proposals = [
            Proposal(
                [_candidate(0, canonical_key(n), n, f"It met {n} once.")], 10 + i, f"P{i}", f"P{i} is one.", 3
            )
            for i, n in enumerate(names)
        ]
        rows = [p.first for p in proposals]
        index = LocalIndex(self.uri, self.config)
        resolver = Resolver(self.config, Stages.of(self.config), index, self.model, self.model)
        return rows, asyncio.run(resolver.resolve(proposals, 2))

    def fates(self, *names, model=None) -> list[tuple]:
        rows, _ = self.resolve(*names, model=model)
        return [(str(r["fate"]), r["entity_id"]) for r in rows]


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path / "run")


def test_a_name_without_neighbours_is_a_new_entity_and_nobody_is_asked(bench):
    assert bench.fates("Mars", "Venus") == [("queued", 2), ("queued", 3)]
    assert bench.model.asked == []


def test_a_new_entity_is_a_row_with_its_parent_hop_sentence_and_vector(bench):
    _, resolved = bench.resolve("Mars")
    (row,) = resolved.entities
    embedding = row.pop("embedding")
    plain = {
        "entity_id": 2,
        "key": "mars",
        "name": "Mars",
        "hop": 3,
        "parent_id": 10,
        "sentence": "It met Mars once.",
    }
    assert row == plain
    assert embedding == pytest.approx(vector("Mars"), abs=1e-6)


def test_a_name_that_the_arbiter_calls_a_committed_entity_is_its_alias(bench):
    rows, resolved = bench.resolve("Deutschland", model=Model({"Deutschland": "A"}))
    assert (rows[0]["fate"], rows[0]["entity_id"]) == ("duplicate", 1)
    assert resolved.aliases == [
        {"key": "deutschland", "name": "Deutschland", "entity_id": 1, "parent_id": 10}
    ]
    assert resolved.entities == []


def test_a_neighbour_that_the_arbiter_keeps_apart_is_a_new_entity(bench):
    assert bench.fates("Deutschland") == [("queued", 2)]
    assert len(bench.model.asked) == 1


def test_the_arbiter_is_told_the_lead_of_a_committed_entity_and_the_parents_words(bench):
    bench.resolve("Deutschland")
    assert (
        "Deutschland. Named in the article on P0 (P0 is one.): It met Deutschland once."
        in bench.model.asked[0]
    )
    assert "A: Germany. Germany is a country in Europe." in bench.model.asked[0]


def test_a_decision_names_its_completion_and_the_nearest_cosine(bench):
    rows, resolved = bench.resolve("Deutschland", "Mars")
    assert rows[0]["arbitration_completion"] == resolved.completions[0]["key"]
    assert rows[0]["similarity"] == pytest.approx(math.cos(math.radians(2)), abs=1e-6)
    assert (rows[1]["arbitration_completion"], rows[1]["similarity"]) == (None, None)


def test_a_completion_belongs_to_the_parent_of_its_candidate(bench):
    _, resolved = bench.resolve("Mars", "Deutschland")
    assert [(c["stage"], c["subject_id"]) for c in resolved.completions] == [("arbitration", 11)]


def test_a_duplicate_of_an_earlier_name_of_the_wave_is_its_alias(bench):
    # Germania's neighbours: Deutschland at 2 degrees (A), then Germany at 4 (B)
    rows, resolved = bench.resolve("Deutschland", "Germania", model=Model({"Germania": "A"}))
    assert [(r["fate"], r["entity_id"]) for r in rows] == [("queued", 2), ("duplicate", 2)]
    assert [(a["name"], a["entity_id"]) for a in resolved.aliases] == [("Germania", 2)]


def test_a_duplicate_of_a_duplicate_is_an_alias_of_the_entity(bench):
    model = Model({"Deutschland": "A", "Germania": "A", "Alemania": "A"})
    assert bench.fates("Deutschland", "Germania", "Alemania", model=model) == [("duplicate", 1)] * 3


@pytest.mark.parametrize("chain", [2, 3])
def test_a_duplicate_of_a_rejected_name_is_rejected_with_it(bench, chain):
    names = ["Deutschland", "Germania", "Alemania"][:chain]
    rows, resolved = bench.resolve(
        *names, model=Model({"Deutschland": "?", "Germania": "A", "Alemania": "A"})
    )
    assert [(r["fate"], r["entity_id"]) for r in rows] == [("arbitration_failed", None)] * chain
    assert rows[-1]["reason"] == f"same as {names[-2]}, which was rejected"
    assert (resolved.entities, resolved.aliases) == ([], [])


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("Z", "duplicate_of is 'Z'"),
        (Completion("hm", "stop"), "no JSON"),
        (Completion("{", "length"), "truncated"),
    ],
    ids=["no such letter", "no JSON", "cut"],
)
def test_a_malformed_arbitration_rejects(bench, answer, says):
    rows, resolved = bench.resolve("Deutschland", model=Model({"Deutschland": answer}))
    assert (rows[0]["fate"], resolved.entities) == ("arbitration_failed", [])
    assert rows[0]["reason"].startswith("arbitration: ")
    assert says in rows[0]["reason"]


def test_a_malformed_arbitration_is_asked_once_more_and_both_answers_kept(bench):
    rows, resolved = bench.resolve("Deutschland", model=Model({"Deutschland": "Z"}))
    assert len(resolved.completions) == 2
    assert rows[0]["arbitration_completion"] == resolved.completions[1]["key"]


def test_an_arbiter_that_failed_rejects(bench):
    rows, _ = bench.resolve("Deutschland", model=Model({"Deutschland": Completion(error="engine: HTTP 500")}))
    assert (rows[0]["fate"], rows[0]["reason"]) == ("arbitration_failed", "arbitration: engine: HTTP 500")


def test_a_name_that_cannot_be_embedded_is_rejected_and_the_others_are_not(bench):
    rows, _ = bench.resolve("Mars", "Venus", model=Model(unembedded=["Mars"]))
    assert [(r["fate"], r["reason"]) for r in rows] == [
        ("arbitration_failed", "embedding: HTTP 500"),
        ("queued", None),
    ]


def test_neighbours_are_told_apart_although_a_name_before_them_has_no_vector(bench):
    model = Model({"Germania": "A"}, unembedded=["Mars"])
    assert bench.fates("Mars", "Deutschland", "Germania", model=model)[1:] == [
        ("queued", 2),
        ("duplicate", 2),
    ]


def test_a_key_twice_in_a_wave_is_one_entity(bench):
    rows, resolved = bench.resolve("Mars", "Venus", "Mars")
    assert [(r["fate"], r["entity_id"]) for r in rows] == [
        ("queued", 2),
        ("queued", 3),
        ("wave_duplicate", 2),
    ]
    assert [(e["name"], e["parent_id"]) for e in resolved.entities] == [("Mars", 10), ("Venus", 11)]


def test_a_key_twice_shares_what_became_of_the_first(bench):
    assert bench.fates("Deutschland", "Deutschland", model=Model({"Deutschland": "A"})) == [
        ("duplicate", 1),
        ("wave_duplicate", 1),
    ]
    rows, _ = bench.resolve("Deutschland", "Deutschland", model=Model({"Deutschland": "Z"}))
    assert [r["fate"] for r in rows] == ["arbitration_failed"] * 2
    assert rows[0]["reason"] == rows[1]["reason"]


@pytest.mark.parametrize("name", ["Germany", "germany", "BRD"], ids=["key", "spelling", "alias"])
def test_a_key_that_was_committed_meanwhile_is_known(bench, name):
    assert bench.fates(name) == [("known", 1)]


def test_the_subject_cap_is_met_exactly_in_the_middle_of_a_wave(tmp_path):
    bench = Bench(tmp_path / "run", caps={"subjects": 3})
    rows, resolved = bench.resolve("Mars", "Venus", "Venus", "Deutschland", model=Model({"Deutschland": "A"}))
    fates = [("queued", 2), ("subject_cap", None), ("subject_cap", None), ("duplicate", 1)]
    assert [(r["fate"], r["entity_id"]) for r in rows] == fates
    assert len(resolved.entities) == 1


@pytest.mark.parametrize("batch", [1, 2, 64])
def test_the_order_in_which_answers_arrive_changes_nothing(tmp_path, batch):
    bench = Bench(tmp_path / "run", embedding={"batch": batch})
    names = ["Mars", "Deutschland", "Germania", "Mars", "Alemania", "Venus", "Deutschland"]
    outcomes = []
    for seed in range(6):
        rows, resolved = bench.resolve(*names, model=Model({"Germania": "A", "Alemania": "Z"}, seed=seed))
        entities = [{**e, "embedding": e["embedding"].tolist()} for e in resolved.entities]
        outcomes.append((rows, entities, resolved.aliases, resolved.completions))
    assert all(outcome == outcomes[0] for outcome in outcomes)
