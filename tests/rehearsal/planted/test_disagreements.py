"""Planted disagreements: facts of their own, values that cannot be confused, and the settings'
shares.
"""

import json
from itertools import combinations
from pathlib import Path

import pytest

from llmpedia.errors import ConfigError
from llmpedia.rehearsal.planted.disagreements import planted
from llmpedia.rehearsal.planted.document_reader import compatible
from llmpedia.rehearsal.planted.kinds import ATTRIBUTES, kinds
from llmpedia.rehearsal.settings import load_settings
from llmpedia.rehearsal.world.names import fold
from llmpedia.rehearsal.world.world import World

TAXONOMY = Path(__file__).parents[3] / "llmpedia" / "probe" / "candidates" / "taxonomy.json"


def world(*overrides, seed=5):
    return World(load_settings(["entities=3000", *overrides], seed=seed))


def of(name, value, facts=300):
    return planted(
        world(f"disagreements.facts={facts}", "disagreements.agreeing=0", f"disagreements.{name}={value}")
    )


def test_the_same_settings_plant_the_same_facts():
    assert planted(world()) == planted(world())
    assert planted(world()) != planted(world(seed=6))


def test_no_two_facts_share_subject_and_attribute_and_some_share_a_subject():
    facts = planted(world("disagreements.facts=400"))
    keys = [(fold(f.subject.name), f.slot.name) for f in facts]
    assert len(set(keys)) == len(keys) == 460
    assert 10 < len(keys) - len({name for name, _ in keys}) < 80


def test_subjects_are_no_entities_and_descriptions_tell_them_apart():
    own = world("disagreements.facts=400")
    subjects = {fold(f.subject.name): f.subject for f in planted(own)}
    assert not [s.name for s in subjects.values() if own.entity(s.name) is not None]
    told = [
        (s.noun, s.region, s.mark) for s in [*subjects.values(), *(f.trap for f in planted(own) if f.trap)]
    ]
    assert len(set(told)) == len(told)


def test_knowledge_points_are_paths_of_the_taxonomy():
    taxonomy = json.loads(TAXONOMY.read_text())["taxonomy"]
    paths = [path.split(" > ") for kind in kinds() for path in kind.nouns.values()]
    assert [p for p in paths if p[2] not in taxonomy[p[0]][p[1]]] == []


def test_attributes_are_called_as_the_shipped_slots_call_them():
    from llmpedia.probe.candidates.attributes import load_slots

    slots = load_slots(None)
    assert {name: slots.words(name) for name in ATTRIBUTES} == ATTRIBUTES
    assert {slot.name for kind in kinds() for slot in kind.slots} == set(ATTRIBUTES)


def test_no_value_of_a_fact_can_hold_with_another_but_its_own_other_form():
    for fact in planted(world("disagreements.facts=400", "disagreements.three_accounts=0.5")):
        kind = fact.slot.value
        values = [(a.value, a.also) for a in fact.accounts] + [(v, v) for v in fact.strange]
        assert all(
            compatible(kind, value, also) and compatible(kind, also, value) for value, also in values
        ), values
        crossed = [(x, y) for a, b in combinations(values, 2) for x in a for y in b if compatible(kind, x, y)]
        assert crossed == []


@pytest.mark.parametrize("name", ["three_accounts", "traps", "compatible", "unverified", "context"])
def test_shares_are_kept(name):
    has = {
        "three_accounts": lambda f: len(f.accounts) == 3,
        "traps": lambda f: f.trap is not None,
        "compatible": lambda f: f.compatible is not None,
        "unverified": lambda f: not f.verifiable,
        "context": lambda f: f.elsewhere is not None,
    }[name]
    for wanted in (0.0, 0.4, 1.0):
        facts = [f for f in of(name, wanted) if name != "context" or f.slot.contexts]
        assert sum(map(has, facts)) / len(facts) == pytest.approx(
            wanted, abs=0.0 if wanted in (0.0, 1.0) else 0.09
        )


def test_document_counts_are_within_bounds_and_no_minority_is_larger():
    for fact in of("majority", "[3, 5]"):
        first, *others = (a.documents for a in fact.accounts)
        assert 3 <= first <= 5
        assert all(1 <= n <= min(4, first) for n in others)


def test_the_account_on_no_page_is_never_the_majority():
    facts = of("unverified", 1.0)
    assert all(f.accounts[0].page and [a.page for a in f.accounts].count(False) == 1 for f in facts)


def test_a_namesake_has_the_name_and_another_description():
    traps = [(f.subject, f.trap) for f in of("traps", 1.0)]
    assert all(a.noun != b.noun and a.region != b.region and b.name.startswith(a.name) for a, b in traps)
    bare = sum(a.name == b.name for a, b in traps)
    assert 0.3 < bare / len(traps) < 0.7


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("disagreements.majority=[3, 2]", "majority: [3, 2]: must be [least, most]"),
        ("disagreements.majority=[1.5, 2]", "disagreements.majority.0"),
        ("disagreements.traps=2", "disagreements.traps"),
        ("recall.m=[0.8, 0.3]", "recall.m: complete + partial: more than 1"),
    ],
)
def test_bad_settings_are_one_line(override, said):
    with pytest.raises(ConfigError) as e:
        load_settings([override])
    assert said in str(e.value)
    assert "\n" not in str(e.value)
