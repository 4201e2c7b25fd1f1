"""Models and personas of the rehearsal world: ``rehearsal`` writes what it always did, others
differ by as much as is planted.
"""

import hashlib
import json
import re
from collections import deque
from itertools import combinations

import pytest

from llmpedia.analysis.personas.framing import Words, load_lexicons
from llmpedia.entities.keys import canonical_key
from llmpedia.errors import ConfigError
from llmpedia.materialize.stages import Phrases, Stages, Subject
from llmpedia.rehearsal.model import persona_framing, prose_other
from llmpedia.rehearsal.model.fact_reader import Reader
from llmpedia.rehearsal.model.judge import JudgeModel
from llmpedia.rehearsal.model.model import WorldModel
from llmpedia.rehearsal.scoring.audit import deserved
from llmpedia.rehearsal.scoring.walk import writer_of
from llmpedia.rehearsal.settings import load_settings
from llmpedia.rehearsal.world.model_profiles import Minds, OtherMind, overlap
from llmpedia.rehearsal.world.world import World
from llmpedia.wikitext import Article
from tests.support.builders.runs import Corpus, make_config
from tests.support.rehearsed import SMALL, small_world

# Of 240 answers of the model before it had any fellow.
GOLDEN = "1e6b2b0377a330af024155d22c764d260e8cfbc2ea9d2d7a35d456e08759673c"
TOPIC = {"mode": "topic", "root_topic": "US Civil Rights Movement"}
DIMENSIONS = {lexicon.name: lexicon.words for lexicon in load_lexicons().dimensions}


@pytest.fixture(scope="module")
def world():
    return small_world()


def answers(world, model, name, **run):
    """Outline and article, as a walk with these settings asks for them."""
    stages = Stages.of(make_config(run=run))
    speaker = WorldModel(world)

    def said(request):
        return speaker.answer({"model": model, "messages": request.chat()})[0]

    headings = json.loads(said(stages.named("outline").request(Subject(name))))["sections"]
    return headings, said(stages.named("article").request(Subject(name, ("One", "Two", "Three"))))


def links(wikitext):
    return [canonical_key(link.target) for link in Article(wikitext).links]


def test_the_model_called_rehearsal_answers_as_ever(world):
    speaker = WorldModel(world)
    told = hashlib.sha256()
    runs = ({}, {"prompting": "calibrated"}, {"mode": "topic", "root_topic": "Ancient Babylon"})
    for stages in (Stages.of(make_config(run=run | {"self_grounding": True})) for run in runs):
        for e in range(0, 3000, 150):
            name = world.name(e)
            asked = {
                "self_grounding": Subject(name),
                "outline": Subject(name),
                "article": Subject(name, ("One", "Two", "Three")),
                "ner": Phrases(name, tuple(m.surface for m in world.mentions_of(name))),
            }
            for stage, question in asked.items():
                messages = stages.named(stage).request(question).chat()
                told.update(speaker.answer({"model": "rehearsal", "messages": messages})[0].encode())
    assert told.hexdigest() == GOLDEN


def test_only_a_name_that_goes_on_after_rehearsal_has_a_mind_of_its_own(world):
    name = world.name(5)
    same = {
        answers(world, model, name)[1]
        for model in ("rehearsal", "rehearsal-", "rehearsal-thinking", "gpt-5", "small", "")
    }
    assert len(same) == 1
    assert answers(world, "rehearsal-b-thinking", name) == answers(world, "rehearsal-b", name)
    assert (
        len(
            same | {answers(world, model, name)[1] for model in ("rehearsal-b", "rehearsal-c", "rehearsal-x")}
        )
        == 4
    )


def reached(world, mind):
    """All entities that a walk of a mind from a stranger comes to."""
    found = set()
    left = deque(["Vannevar Bush"])
    while left:
        for mention in mind.mentions_of(left.popleft()):
            if mention.entity is not None and mention.entity not in found:
                found.add(mention.entity)
                left.append(world.name(mention.entity))
    return found


def test_walks_to_the_end_overlap_as_planted():
    models = {f"rehearsal-{n}": {"known_head": 0.35, "known_tail": 0.35, "links": 1.0} for n in "xyz"}
    world = World(load_settings(["entities=1200", "links=40"], seed=5, models=models))
    minds = [Minds(world).of(model) for model in models]
    found = [reached(world, mind) for mind in minds]
    assert overlap(minds[:2]) == pytest.approx(0.35 / (2 - 0.35), abs=0.03)
    assert overlap(minds) == pytest.approx(0.35**3 / (1 - 0.65**3), abs=0.02)
    for (a, mind_a), (b, mind_b) in combinations(zip(found, minds, strict=True), 2):
        assert len(a & b) / len(a | b) == pytest.approx(overlap([mind_a, mind_b]), abs=0.03)
    assert len(set.intersection(*found)) / len(set.union(*found)) == pytest.approx(overlap(minds), abs=0.02)
    assert all(mind.known[e] for mind, known in zip(minds, found, strict=True) for e in known)


def test_links_are_shared_with_rehearsal_as_planted():
    told = {"rehearsal-x": {"known_tail": 1.0, "shared_links": 0.3, "links": 1.0}}
    world = World(load_settings(["entities=20000", "links=40"], seed=5, models=told))
    mind = Minds(world).of("rehearsal-x")
    shared = 0
    own = 0
    for e in range(0, 20000, 200):
        base = {m.surface for m in world.mentions_of(world.name(e))}
        shared += len(base & {m.surface for m in mind.mentions_of(world.name(e))})
        own += len(base)
    assert 0.28 < shared / own < 0.45  # popular entities are linked by chance too


def test_facts_are_right_as_often_as_planted(world):
    told = world.settings.models
    for model in ("rehearsal-b", "rehearsal-c"):
        mind = Minds(world).of(model)
        knows = told[model]
        ends = (range(60), range(2400, 3000))
        for entities, right in zip(ends, (knows.right_head, knows.right_tail), strict=True):
            facts = [f for e in entities for f in mind.facts(e) if f.truth != "absent"]
            depth = sum(map(world.depth, entities)) / len(entities)
            expected = knows.right_head + (knows.right_tail - knows.right_head) * depth
            assert sum(f.truth == "true" for f in facts) / len(facts) == pytest.approx(expected, abs=0.06)
            assert abs(expected - right) < 0.15
    assert told["rehearsal-b"].right_tail > told["rehearsal-c"].right_head


def test_what_a_fact_is_follows_from_what_the_sources_say(world):
    for e in range(0, 3000, 40):
        sourced = {f.template: f.actual for f in Minds(world).of("rehearsal").facts(e)}
        for fact in Minds(world).of("rehearsal-c").facts(e):
            assert fact.actual == sourced[fact.template]
            assert fact.truth == (
                "absent" if fact.actual is None else "true" if fact.claimed == fact.actual else "false"
            )


def test_article_of_another_model_holds_its_links_and_facts(world):
    mind = Minds(world).of("rehearsal-b")
    boxes = 0
    for e in range(0, 3000, 60):
        name = world.name(e)
        text = answers(world, "rehearsal-b", name)[1]
        assert set(links(text)) == {canonical_key(m.surface) for m in mind.mentions_of(name)}
        told = json.loads(JudgeModel(world).claims(name, f"\n<article>\n{text}\n</article>", 50))["claims"]
        assert sorted(told) == sorted({f.sentence(name) for f in mind.facts(e)})
        assert Article(text).lead.startswith(name)
        boxes += text.startswith("{{Infobox ")
        if text.startswith("{{Infobox "):
            box = text[: text.index("\n}}")]
            assert "[[" in box or len(mind.mentions_of(name)) < 2
            assert box.count("\n") >= 2
    assert boxes / 50 == pytest.approx(mind.knowledge.infoboxes, abs=0.2)


def test_homonym_means_what_the_other_models_article_means():
    world = World(load_settings(["entities=3000", "links=20", "shares.bare=0.4"], seed=5))
    mind = Minds(world).of("rehearsal-b")
    several = 0
    for e in range(500):
        for m in mind.mentions_of(world.name(e)):
            if m.entity is not None and len(world.senses(m.surface)) > 1:
                assert mind.sense(m.surface, world.name(e)) == m.entity
                several += m.entity != world.senses(m.surface)[0]
    assert several > 20


def test_walk_of_another_model_is_scored_by_its_own_links_and_facts(tmp_path, world):
    config = make_config(engine={"model": "rehearsal"}, stages={"article": {"model": "rehearsal-c"}})
    mind = writer_of(Corpus(tmp_path / "run", config).seed("Vannevar Bush").run, world)
    assert isinstance(mind, OtherMind)
    assert mind.model == "rehearsal-c"
    deserved_of = {"true": "supported", "false": "refuted", "absent": "insufficient"}
    plain = Minds(world).of("rehearsal")
    other_truths = 0
    for e in (e for e in range(300) if world.group_kind(e) == "plain"):
        for fact in mind.facts(e):
            claim = fact.sentence(world.name(e))
            assert deserved(Reader(world), mind, world.name(e), claim) == deserved_of[fact.truth]
            other_truths += deserved(Reader(world), plain, world.name(e), claim) != deserved_of[fact.truth]
    assert other_truths > 100
    assert not isinstance(writer_of(Corpus(tmp_path / "plain").seed("Vannevar Bush").run, world), OtherMind)


def test_models_use_other_headings_and_lengths(world):
    by_model = {
        m: [answers(world, m, world.name(e)) for e in range(0, 3000, 100)]
        for m in ("rehearsal", "rehearsal-b", "rehearsal-c")
    }
    for one, other in combinations(by_model.values(), 2):
        jaccard = [len({*a} & {*b}) / len({*a} | {*b}) for (a, _), (b, _) in zip(one, other, strict=True)]
        assert 0.02 < sum(jaccard) / len(jaccard) < 0.35
    linked = {m: sum(len(links(text)) for _, text in rows) for m, rows in by_model.items()}
    assert linked["rehearsal-b"] / linked["rehearsal"] == pytest.approx(0.8, abs=0.1)
    assert linked["rehearsal-c"] / linked["rehearsal"] == pytest.approx(0.7, abs=0.1)


@pytest.fixture(scope="module")
def wordy():
    return World(load_settings(["entities=20000", "links=50"], seed=5))


@pytest.mark.parametrize("model", ["rehearsal", "rehearsal-b", "rehearsal-c"])
@pytest.mark.parametrize("persona", ["left_leaning", "conservative"])
def test_persona_plants_its_words_at_their_rates_and_changes_no_link_or_fact(wordy, model, persona):
    planted = wordy.settings.framing[persona]
    names = [wordy.name(e) for e in range(0, 20000, 200)]
    plain = [answers(wordy, model, n, **TOPIC)[1] for n in names]
    told = [answers(wordy, model, n, **TOPIC, persona=persona)[1] for n in names]
    counted = [(Words.of(a), Words.of(b)) for a, b in zip(told, plain, strict=True)]
    for dimension, words in DIMENSIONS.items():
        gained = [a.rate(words) - b.rate(words) for a, b in counted]
        assert sum(gained) / len(gained) / 1e6 == pytest.approx(planted.get(dimension, 0.0), abs=0.4), (
            dimension
        )
        if dimension not in planted:
            assert not any(gained), dimension
    mind = Minds(wordy).of(model)
    for name, text, before in zip(names, told, plain, strict=True):
        assert links(text) == links(before)
        assert all(f.sentence(name) in text for f in mind.facts(wordy.entity(name)))


@pytest.mark.parametrize(
    "run",
    [
        TOPIC,
        {"persona": "left_leaning"},
        {**TOPIC, "root_topic": "Quantum Physics", "persona": "left_leaning"},
    ],
)
def test_no_word_is_planted_by_a_neutral_persona_in_general_mode_or_on_a_calm_topic(world, run):
    neutral = run | {"persona": "scientific_neutral"}
    for name in (world.name(e) for e in range(0, 3000, 300)):
        assert answers(world, "rehearsal", name, **run) == answers(world, "rehearsal", name, **neutral)
        assert answers(world, "rehearsal", name, **run)[1] == answers(world, "rehearsal", name)[1]


def test_persona_turns_headings_but_not_the_one_on_the_topic(world):
    turned = 0
    for name in (world.name(e) for e in range(0, 3000, 100)):
        plain, told = (
            answers(world, "rehearsal", name, **TOPIC, persona=p)[0]
            for p in ("scientific_neutral", "conservative")
        )
        assert len(told) == len(plain) == len(set(told))
        assert (
            [h for h in told if "US Civil Rights" in h] == [h for h in plain if "US Civil Rights" in h] != []
        )
        turned += sum(a != b for a, b in zip(plain, told, strict=True))
    assert turned > 10


def test_topic_with_a_full_stop_in_its_name_is_read_whole(world):
    stages = Stages.of(
        make_config(
            run={"mode": "topic", "root_topic": "U.S. Steel vs. St. Louis", "persona": "conservative"}
        )
    )
    for request in (
        stages.named("outline").request(Subject("X")),
        stages.named("article").request(Subject("X", ("One",))),
    ):
        assert (
            persona_framing.stance_of(world.settings, request.chat()[0]["content"]).topic
            == "U.S. Steel vs. St. Louis"
        )


def test_words_of_templates_are_in_no_lexicon():
    counted = {word for words in DIMENSIONS.values() for word in words}
    own = [
        *persona_framing._ENDS,
        *persona_framing._ENDS.values(),
        *prose_other._REMARKS,
        *(h for hs in persona_framing._HEADINGS.values() for h in hs),
    ]
    assert not {w for text in own for w in re.findall(r"[a-z]+", text.casefold())} & counted
    assert all(len(end.split()) == len(turned.split()) for end, turned in persona_framing._ENDS.items())
    assert all(len(persona_framing.planted_words(dimension)) >= 10 for dimension in DIMENSIONS)


@pytest.mark.parametrize(
    ("override", "named"),
    [
        ("models.small.links=1.0", "models.small"),
        ("models.rehearsal-b.lengths=1.0", "lengths"),
        ("framing.pirate.left_progressive=1.0", "framing.pirate"),
        ("framing.conservative.salty=1.0", "framing.conservative.salty"),
        ("framing.conservative.left_progressive=70.0", "framing.conservative"),
    ],
)
def test_setting_that_plants_nothing_is_refused_in_one_line(override, named):
    with pytest.raises(ConfigError, match=re.escape(named)) as caught:
        load_settings([*SMALL, override])
    assert "\n" not in str(caught.value)
