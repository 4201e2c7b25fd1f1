"""llmpedia/entities/index.py: exact neighbours of committed entities, the same after every start."""

import math

import numpy as np
import pytest

from llmpedia.entities.index import EntityIndex, Known, Neighbour
from llmpedia.errors import InputError
from tests.support.builders.runs import Child, Corpus, Visit, one_line


def at(degrees: float) -> list[float]:
    """A unit vector of the plane."""
    return [math.cos(math.radians(degrees)), math.sin(math.radians(degrees))]


def cosine(value: float) -> list[float]:
    """The unit vector whose cosine with ``at(0)`` is the value."""
    return [value, math.sqrt(1 - value * value)]


def batch(*vectors) -> np.ndarray:
    return np.array(vectors, dtype=np.float32)


def seeds(folder, *vectors) -> str:
    """A run whose seeds are E0, E1, ... with these vectors; its folder."""
    names = [f"E{n}" for n in range(len(vectors))]
    return Corpus(folder / "run", vectors=dict(zip(names, vectors, strict=True))).seed(*names).run.uri


def index(uri, threshold=0.9, neighbours=5, lead_words=30) -> EntityIndex:
    return EntityIndex(uri, threshold, neighbours, lead_words)


def ids(hits) -> list:
    """Entity of a committed neighbour, "qN" of an earlier query."""
    return [h.entity_id if h.query is None else f"q{h.query}" for h in hits]


@pytest.mark.parametrize(
    ("value", "near"), [(0.9, True), (0.9000004, True), (0.8999996, True), (0.899999, False), (0.5, False)]
)
def test_a_committed_neighbour_is_at_the_threshold_or_over_it(tmp_path, value, near):
    found = index(seeds(tmp_path, at(0))).neighbours(batch(cosine(value)), 0)
    assert ids(found[0]) == ([0] if near else [])


@pytest.mark.parametrize(
    ("value", "near"), [(0.9, True), (0.9000004, True), (0.8999996, True), (0.899999, False), (0.5, False)]
)
def test_an_earlier_name_is_a_neighbour_at_the_threshold_or_over_it(tmp_path, value, near):
    found = index(seeds(tmp_path, at(180))).neighbours(batch(at(0), cosine(value)), 0)
    assert ids(found[1]) == (["q0"] if near else [])


def test_the_nearest_come_first_whether_committed_or_not(tmp_path):
    found = index(seeds(tmp_path, at(9), at(3))).neighbours(batch(at(6.5), at(1), at(0)), 0)
    assert ids(found[2]) == ["q1", 1, "q0", 0]


def test_a_neighbour_tells_its_cosine_to_six_decimals(tmp_path):
    found = index(seeds(tmp_path, at(0))).neighbours(batch(cosine(0.95), cosine(0.95)), 0)
    assert found[1] == [Neighbour(1.0, None, 0), Neighbour(0.95, 0, None)]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_neighbours_are_so_many_at_most(tmp_path, most):
    found = index(seeds(tmp_path, at(3), at(2)), neighbours=most).neighbours(batch(at(1), at(0)), 0)
    assert ids(found[1]) == ["q0", 1, 0][:most]


def test_ties_go_to_the_lower_number_committed_first(tmp_path):
    found = index(seeds(tmp_path, at(0), at(90), at(0))).neighbours(batch(at(0), at(0), at(0)), 0)
    assert ids(found[2]) == [0, 2, "q0", "q1"]


@pytest.mark.parametrize("copies", [2, 40])
def test_ties_at_the_cut_go_to_the_lower_number(tmp_path, copies):
    found = index(seeds(tmp_path, *[at(5)] * copies), neighbours=1).neighbours(batch(at(0)), 0)
    assert ids(found[0]) == [0]


def test_the_last_bits_of_a_cosine_do_not_decide_at_the_cut(tmp_path):
    """Cosines that are equal to six decimals tie, though the later ones are larger by a bit."""
    tied = [cosine(0.95 + n * 1e-7) for n in range(5)]
    found = index(seeds(tmp_path, *tied), neighbours=1).neighbours(batch(at(0)), 0)
    assert ids(found[0]) == [0]


def test_only_earlier_names_of_the_wave_are_neighbours(tmp_path):
    found = index(seeds(tmp_path, at(180))).neighbours(batch(at(0), at(1), at(2)), 0)
    assert [ids(hits) for hits in found] == [[], ["q0"], ["q1", "q0"]]


def test_a_long_wave_is_searched_whole(tmp_path):
    """Over a block's length, against the plain product."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(2100, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    found = index(seeds(tmp_path, [1.0] + [0.0] * 7), threshold=0.8, neighbours=3000).neighbours(vectors, 0)
    product = vectors.astype(np.float64) @ vectors.astype(np.float64).T
    wanted = [set(np.nonzero(row[:n] >= 0.8)[0].tolist()) for n, row in enumerate(product)]
    assert [{h.query for h in hits if h.query is not None} for hits in found] == wanted


def test_no_names_have_no_neighbours(tmp_path):
    assert index(seeds(tmp_path, at(0))).neighbours(np.zeros((0, 2), np.float32), 0) == []


def test_a_run_without_embeddings_has_no_committed_neighbours(tmp_path):
    uri = Corpus(tmp_path / "run").seed("A").run.uri
    assert index(uri).neighbours(batch(at(0)), 0) == [[]]


@pytest.fixture
def corpus(tmp_path):
    """Root; then A and an alias of it; then B. All apart."""
    vectors = {"Root": at(0), "A": at(90), "B": at(180)}
    corpus = Corpus(tmp_path / "run", vectors=vectors).seed("Root")
    corpus.walk(
        Visit("Root", [Child("A"), Child("The A", "duplicate", "A")], lead="Root is the first of all roots.")
    )
    return corpus.walk(Visit("A", [Child("B")]))


@pytest.mark.parametrize(
    ("upto", "found"), [(0, [0, None, None, None]), (1, [0, 1, 1, None]), (2, [0, 1, 1, 2])]
)
def test_the_screen_sees_keys_and_aliases_up_to_the_wave_asked_for(corpus, upto, found):
    assert index(corpus.run.uri).screen(["root", "a", "thea", "b"], upto) == found


def test_the_index_follows_the_commits(corpus):
    open_index = index(corpus.run.uri)
    corpus.vectors["C"] = at(270)
    corpus.walk(Visit("B", [Child("C")]))
    assert open_index.screen(["c"], 3) == [3]
    assert ids(open_index.neighbours(batch(at(270)), 3)[0]) == [3]


def test_a_wave_that_is_not_committed_is_refused(corpus):
    with pytest.raises(InputError) as caught:
        index(corpus.run.uri).screen(["root"], 7)
    one_line(caught, "wave 7 is not committed", "last is 2")


def test_an_entity_is_described_by_parent_sentence_and_short_lead(corpus):
    known = index(corpus.run.uri, lead_words=3).describe([1, 0], 2)
    assert known == [Known("A", "Root", "On A.", ""), Known("Root", None, "On Root.", "Root is the")]


def test_a_fresh_index_answers_as_one_that_grew_with_the_run(tmp_path):
    rng = np.random.default_rng(1)
    names = [f"N{n}" for n in range(60)]
    rows = rng.normal(size=(60, 3)).astype(np.float32)
    vectors = dict(zip(names, (rows / np.linalg.norm(rows, axis=1, keepdims=True)).tolist(), strict=True))
    corpus = Corpus(tmp_path / "run", vectors=vectors).seed(*names[:20])
    grown = index(corpus.run.uri)
    queries = batch(*vectors.values())
    for wave in (1, 2):
        corpus.walk(Visit(names[wave], [Child(n) for n in names[20 * wave : 20 * wave + 20]]))
        grown.screen([], wave)
    fresh = index(corpus.run.uri)
    keys = [n.lower() for n in names]
    assert fresh.neighbours(queries, 2) == grown.neighbours(queries, 2)
    assert [fresh.screen(keys, w) for w in range(3)] == [grown.screen(keys, w) for w in range(3)]
    assert fresh.describe(list(range(60)), 2) == grown.describe(list(range(60)), 2)
