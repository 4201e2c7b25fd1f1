"""The rehearsal world: a pure function of its settings, varied, and silent about its truth."""

import re
import unicodedata
from collections import Counter

import pytest

from llmpedia.entities.keys import canonical_key, is_self_or_loop
from llmpedia.errors import ConfigError
from llmpedia.rehearsal.settings import WorldSettings, load_settings
from llmpedia.rehearsal.world.facts import facts_of
from llmpedia.rehearsal.world.names import respelled
from llmpedia.rehearsal.world.prose import article, fact_sheet, outline
from llmpedia.rehearsal.world.world import World
from llmpedia.wikitext import Article

SIZE = 20_000


@pytest.fixture(scope="module")
def world():
    return World(WorldSettings(seed=3, entities=SIZE))


def text_of(world, name, calibrated=False):
    headings = outline(world, name, 4, 6, None)
    return "\n".join([*headings, article(world, name, headings, calibrated), fact_sheet(world, name)])


def test_same_settings_make_the_same_world(world):
    again = World(WorldSettings(seed=3, entities=SIZE))
    for e in range(0, SIZE, 97):
        assert (again.name(e), again.others(e), again.group(e)) == (
            world.name(e),
            world.others(e),
            world.group(e),
        )
        assert text_of(again, again.name(e)) == text_of(world, world.name(e))


def test_another_seed_makes_another_world(world):
    other = World(WorldSettings(seed=4, entities=SIZE))
    assert sum(other.name(e) == world.name(e) for e in range(SIZE)) < SIZE / 1000


def test_two_entities_share_a_key_only_as_bare_homonyms(world):
    named = Counter()
    bare = 0
    for e in range(SIZE):
        keys = {canonical_key(n) for n in (world.name(e), *world.others(e))}
        assert len(keys) == 1 + len(world.others(e))
        named.update(keys)
        bare += world.group_kind(e) == "bare"
    shared = [k for k, n in named.items() if n > 1]
    assert {named[k] for k in shared} == {2}
    assert bare - 1 <= 2 * len(shared) <= bare


def test_names_are_varied(world):
    names = [world.name(e) for e in range(SIZE)]
    scripts = {unicodedata.name(c).split()[0] for n in names[::7] for c in n if c.isalpha()}
    assert {"LATIN", "CYRILLIC", "GREEK", "ARABIC", "DEVANAGARI", "CJK", "HANGUL"} <= scripts
    assert 0.3 < sum(not n.isascii() for n in names) / SIZE < 0.7
    assert sum(bool(re.search(r"\d", n)) for n in names) > SIZE / 100
    assert {len(n.split()) for n in names} >= {1, 2, 3, 4, 5}
    assert len({len(n) for n in names}) > 25


def test_respelling_keeps_the_canonical_key_and_is_understood(world):
    changed = 0
    for e in range(0, SIZE, 5):
        for name in (world.name(e), *world.others(e)):
            other = respelled(name, e * 7919)
            changed += other != name
            assert canonical_key(other) == canonical_key(name)
            assert world.senses(other) == world.senses(name)
    assert changed > SIZE / 10


def test_groups_have_the_planted_shares(world):
    kinds = Counter(world.group_kind(e) for e in range(SIZE))
    assert kinds["sibling"] / SIZE == pytest.approx(0.10, abs=0.01)
    assert kinds["qualified"] / SIZE == pytest.approx(0.06, abs=0.01)
    assert kinds["bare"] / SIZE == pytest.approx(0.03, abs=0.01)


def test_members_of_a_group_are_one_family_by_name_and_near_in_rank(world):
    for e in range(0, SIZE, 11):
        fellows = world.fellows(e)
        assert e in fellows
        if world.group_kind(e) == "bare":
            assert len({world.name(f) for f in fellows}) == 1
        elif len(fellows) > 1:
            assert len({world.name(f) for f in fellows}) == len(fellows)
            words = [set(re.findall(r"\w{3,}", world.name(f))) for f in fellows]
            assert set.intersection(*words)
        assert (max(fellows) + 2) / (min(fellows) + 1) < 4


def test_links_are_as_many_as_asked_for_and_fall_off_like_zipf(world):
    links = [world.mentions_of(world.name(e)) for e in range(0, SIZE, 40)]
    assert sum(map(len, links)) / len(links) == pytest.approx(50, rel=0.1)
    entities = [m.entity for row in links for m in row if m.entity is not None]
    head = sum(e < SIZE / 100 for e in entities) / len(entities)
    assert 0.35 < head < 0.75
    assert len(set(entities)) > 4000


def test_article_holds_the_planned_links(world):
    for e in range(0, SIZE, 401):
        name = world.name(e)
        linked = {canonical_key(x.target) for x in Article(article(world, name, ["One", "Two"], False)).links}
        assert linked == {canonical_key(m.surface) for m in world.mentions_of(name)}


def test_every_kind_of_link_occurs_and_is_told_apart(world):
    seen = Counter()
    for e in range(0, SIZE, 40):
        name = world.name(e)
        for m in world.mentions_of(name):
            loop = is_self_or_loop(m.surface, name)
            seen["loop" if loop else "generic" if m.entity is None else "entity"] += 1
            if not loop and m.entity is not None:
                assert world.deserves(name, m.surface)
            elif not loop:
                assert not world.deserves(name, m.surface)
    assert seen["generic"] > 500
    assert seen["loop"] > 100
    assert seen["loop"] + seen["generic"] < 0.12 * seen.total()


def test_truth_is_not_readable_from_what_is_sent(world):
    """No number of an entity or a group, no word of the truth, in articles, outlines and fact
    sheets.
    """
    texts = [
        text_of(world, world.name(e), calibrated) for e in range(0, SIZE, 200) for calibrated in (False, True)
    ]
    found = {int(n) for t in texts for n in re.findall(r"(?<![\d,.])\d{5,}(?![\d,])", t)}
    assert found == set()
    assert not any(
        w in t.casefold().split()
        for t in texts
        for w in ("sibling", "qualified", "homonym", "variant", "plain", "rank")
    )


def test_numbers_in_names_do_not_follow_the_rank(world):
    pairs = [(e, int(n)) for e in range(SIZE) for n in re.findall(r"\d+", world.name(e))]
    concordant = sum(
        (a[0] < b[0]) == (a[1] < b[1]) for a, b in zip(pairs, pairs[37:], strict=False) if a[1] != b[1]
    )
    unequal = sum(a[1] != b[1] for a, b in zip(pairs, pairs[37:], strict=False))
    assert concordant / unequal == pytest.approx(0.5, abs=0.1)


def test_facts_thin_out_with_rank_and_stand_in_the_article(world):
    head = [f for e in range(300) for f in facts_of(world, e)]
    tail = [f for e in range(SIZE - 300, SIZE) for f in facts_of(world, e)]
    of = [
        {t: sum(f.truth == t for f in facts) / len(facts) for t in ("true", "false", "absent")}
        for facts in (head, tail)
    ]
    assert of[0]["true"] > of[1]["true"] + 0.1
    assert of[0]["absent"] < of[1]["absent"]
    assert all(
        (f.actual == f.claimed, f.actual is None) == (f.truth == "true", f.truth == "absent")
        for f in head + tail
    )
    name = world.name(7)
    text = article(world, name, ["One"], False)
    assert all(f.sentence(name) in text for f in facts_of(world, 7))


def test_bare_homonym_means_what_its_article_means(world):
    seen = set()
    for e in range(2000):
        for m in world.mentions_of(world.name(e)):
            if m.entity is not None and len(world.senses(m.surface)) > 1:
                assert world.sense(m.surface, world.name(e)) == m.entity
                seen.add((m.surface, m.entity))
    assert max(Counter(surface for surface, _ in seen).values()) == 2


def test_settings_are_read_from_overrides():
    settings = load_settings(["links=20", "faults.http_429=0.1", "latency.kind=constant"], seed=7)
    assert (settings.links, settings.faults.http_429, settings.latency.kind, settings.seed) == (
        20,
        0.1,
        "constant",
        7,
    )


@pytest.mark.parametrize(
    "override",
    ["links", "links=0", "faults.http_599=0.1", "faults.http_500=2", "links.x=1", "seed=[", "shares.bare=1"],
)
def test_impossible_setting_is_one_line(override):
    with pytest.raises(ConfigError) as caught:
        load_settings([override])
    assert "\n" not in str(caught.value)
