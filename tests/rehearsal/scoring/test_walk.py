"""The score finds planted mistakes, each in its own figure."""

import pytest

from llmpedia.rehearsal.scoring.walk import render, score
from llmpedia.rehearsal.settings import load_settings
from llmpedia.rehearsal.world.world import World
from tests.support.builders.runs import Child, Corpus, Visit, make_config

SEED = "Vannevar Bush"


@pytest.fixture(scope="module")
def world():
    return World(load_settings(["entities=3000"], seed=5))


def alone(world, n=0, aliased=False):
    """The n-th entity that stands alone (and has another name)."""
    found = (e for e in range(3000) if world.group_kind(e) == "plain" and (world.others(e) or not aliased))
    return next(e for i, e in enumerate(found) if i == n)


def group(world, kind):
    return next(
        world.fellows(e) for e in range(3000) if world.group_kind(e) == kind and len(world.fellows(e)) > 1
    )


def corpus(tmp_path, *children, config=None, visited=True):
    """A seed that links the children; all queued ones are visited and link nothing."""
    made = Corpus(tmp_path / "run", config).seed(SEED).walk(Visit(SEED, list(children)))
    names = [c.name for c in children if c.fate == "queued"]
    return made.walk(*(Visit(n) for n in names)) if visited and names else made


def test_right_run_scores_clean(tmp_path, world):
    e = alone(world, aliased=True)
    name = world.name(e)
    other = world.others(e)[0]
    figures = score(
        corpus(tmp_path, Child(name), Child(other, "duplicate", name), Child("engineer", "ner_rejected")).run,
        world,
    )
    assert (figures["walk"]["lost"], figures["walk"]["twice"], figures["doubled"]["doubled"]) == (0, 0, 0)
    assert figures["doubled"]["strangers"] == 1
    assert figures["accounted"]["unaccounted"] == 0
    assert figures["accounted"]["candidates"] == 4
    assert (figures["ner"]["precision"], figures["ner"]["recall"]) == (1.0, 1.0)
    assert (figures["dedup: variant"]["right"], figures["dedup: variant"]["f1"]) == (1, 1.0)
    assert "dedup: bare homonym" in render(figures)


def test_variant_taken_for_new_is_doubled_and_missed(tmp_path, world):
    e = alone(world, aliased=True)
    figures = score(corpus(tmp_path, Child(world.name(e)), Child(world.others(e)[0])).run, world)
    assert figures["doubled"]["doubled"] == 1
    assert (figures["dedup: variant"]["missed"], figures["dedup: variant"]["recall"]) == (1, 0.0)


@pytest.mark.parametrize(("kind", "named"), [("sibling", "sibling"), ("qualified", "qualified homonym")])
def test_merged_members_of_a_group_are_wrong_in_their_kind(tmp_path, world, kind, named):
    a, b = (world.name(e) for e in group(world, kind)[:2])
    figures = score(corpus(tmp_path, Child(a), Child(b, "duplicate", a)).run, world)
    assert (figures[f"dedup: {named}"]["wrong"], figures[f"dedup: {named}"]["precision"]) == (1, 0.0)
    assert figures["dedup: variant"]["wrong"] == 0


def bare_parents(world):
    """A bare homonym and, for each of its two senses, an entity whose article links it in that
    sense.
    """
    found = {}
    for e in range(3000):
        for m in world.mentions_of(world.name(e)):
            if (
                m.entity is not None
                and len(world.senses(m.surface)) > 1
                and m.surface == world.name(m.entity)
            ):
                found.setdefault(m.surface, {}).setdefault(m.entity, world.name(e))
    return next((s, *p.values()) for s, p in found.items() if len(p) == 2)


def test_bare_homonym_merged_by_its_key_is_wrong(tmp_path, world):
    surface, one, other = bare_parents(world)
    made = Corpus(tmp_path / "run").seed(one, other)
    made.walk(Visit(one, [Child(surface)]), Visit(other, [Child(surface, "wave_duplicate", surface)]))
    assert score(made.run, world)["dedup: bare homonym"]["wrong"] == 1


def test_entity_that_no_cap_explains_is_lost(tmp_path, world):
    children = [Child(world.name(alone(world, n))) for n in range(3)]
    assert score(corpus(tmp_path, *children, visited=False).run, world)["walk"]["lost"] == 3


def test_entities_behind_a_cap_are_waiting(tmp_path, world):
    children = [Child(world.name(alone(world, n))) for n in range(3)]
    figures = score(
        corpus(tmp_path, *children, config=make_config(caps={"articles": 1}), visited=False).run, world
    )
    assert (figures["walk"]["lost"], figures["walk"]["waiting"]) == (0, 3)


def test_entity_passed_over_is_lost_in_spite_of_the_cap(tmp_path, world):
    a, b, c, d = (world.name(alone(world, n)) for n in range(4))
    made = Corpus(tmp_path / "run", make_config(caps={"articles": 4})).seed(SEED)
    made.walk(Visit(SEED, [Child(a), Child(b), Child(c), Child(d)])).walk(Visit(a)).walk(Visit(c)).walk(
        Visit(d)
    )
    assert score(made.run, world)["walk"]["lost"] == 1


def test_subject_generated_twice_is_counted(tmp_path, world):
    a = world.name(alone(world))
    made = corpus(tmp_path, Child(a)).walk(Visit(a))
    assert score(made.run, world)["walk"]["twice"] == 1


def test_wrong_ner_decisions_are_counted(tmp_path, world):
    a = world.name(alone(world))
    b = world.name(alone(world, 1))
    figures = score(corpus(tmp_path, Child(a), Child(b, "ner_rejected"), Child("engineer")).run, world)
    assert (figures["ner"]["right"], figures["ner"]["wrong"], figures["ner"]["missed"]) == (1, 1, 1)


def test_link_without_a_candidate_is_unaccounted(tmp_path, world):
    def forget(rows):
        del rows["candidates"][1]

    a = world.name(alone(world))
    b = world.name(alone(world, 1))
    made = (
        Corpus(tmp_path / "run")
        .seed(SEED)
        .walk(Visit(SEED, [Child(a), Child(b, "ner_rejected")]), damage=forget)
    )
    figures = score(made.run, world)["accounted"]
    assert (figures["links without a candidate"], figures["subjects.candidates"], figures["unaccounted"]) == (
        1,
        1,
        2,
    )
