"""The rehearsal world on a real socket: answers of every stage through the pipeline's own engine
and parsers.
"""

import aiohttp
import numpy as np
import pytest

from llmpedia.engines.embeddings import EndpointEmbedding, _unpack
from llmpedia.engines.openai import OpenAIEngine
from llmpedia.materialize.resolve import _context
from llmpedia.materialize.stages import Likeness, Phrases, Stages, Subject
from llmpedia.rehearsal.server.embeddings import vectors
from llmpedia.rehearsal.server.server import Server
from llmpedia.stages import Request
from llmpedia.wikitext import Article
from tests.support.builders.runs import make_config
from tests.support.rehearsed import QUESTIONS, ask, run, small_world


@pytest.fixture(scope="module")
def world():
    return small_world()


def first(world, kind, size=2):
    """The most popular group of a kind."""
    return next(
        world.fellows(e) for e in range(3000) if world.group_kind(e) == kind and len(world.fellows(e)) >= size
    )


def aliased(world):
    return next(e for e in range(3000) if world.group_kind(e) == "plain" and world.others(e))


def test_outline_has_as_many_headings_as_asked_for(world):
    for e in range(20):
        headings, _ = ask(world, "outline", Subject(world.name(e)), article={"sections": [3, 4]})
        assert 3 <= len(headings) <= 4


def test_article_stands_under_the_outlines_headings_with_its_name_in_bold(world):
    text, _ = ask(world, "article", Subject(world.name(3), ("Early life", "Travels")))
    assert text.startswith(f"'''{world.name(3)}'''")
    assert [h.title for h in Article(text).headings] == ["Early life", "Travels"]


def test_calibrated_article_scores_every_link(world):
    text, _ = ask(world, "article", Subject(world.name(3), ("One",)), run={"prompting": "calibrated"})
    scores = [link.score for link in Article(text).links]
    assert None not in scores
    assert 0.4 <= min(scores) < max(scores) <= 1.0


def test_unheard_of_subject_gets_an_article_with_links_into_the_world(world):
    text, _ = ask(world, "article", Subject("Vannevar Bush", ("One",)))
    assert text.startswith("'''Vannevar Bush'''")
    assert sum(world.entity(link.target) is not None for link in Article(text).links) >= 8


@pytest.mark.parametrize("answer", ["keyed", "rows"])
@pytest.mark.parametrize("prompting", ["baseline", "calibrated"])
def test_ner_tells_names_from_words_in_every_form(world, answer, prompting):
    subject = world.name(aliased(world))
    phrases = (
        world.name(50),
        "engineer",
        f"History of {subject}",
        world.others(aliased(world))[0],
        "1 May",
        "Some Stranger",
    )
    decided, _ = ask(
        world, "ner", Phrases(subject, phrases), entities={"ner_answer": answer}, run={"prompting": prompting}
    )
    assert [p for p in phrases if decided[p].accepted] == [world.name(50), "Some Stranger"]
    assert all((d.confidence is not None) == (prompting == "calibrated") for d in decided.values())


def line(world, e, name=None, parent="Some Parent", lead="A lead."):
    return _context(name or world.name(e), parent, f"There is {world.name(e)}.", lead)


def test_arbitration_knows_variants_and_keeps_siblings_apart(world):
    e = aliased(world)
    (a, b, *_) = first(world, "sibling")
    known = (line(world, a), f"{world.name(e)}. {world.name(e)} is a town. It is old.", line(world, 1))
    assert ask(world, "arbitration", Likeness(line(world, e, world.others(e)[0]), known))[0] == 1
    assert ask(world, "arbitration", Likeness(line(world, b), known))[0] is None


def test_arbitration_reads_a_bare_homonym_in_its_article(world):
    found = {}
    for e in range(3000):
        for m in world.mentions_of(world.name(e)):
            if (
                m.entity is not None
                and len(world.senses(m.surface)) > 1
                and m.surface == world.name(m.entity)
            ):
                found.setdefault(m.surface, {})[m.entity] = world.name(e)
    surface, parents = next((s, p) for s, p in found.items() if len(p) == 2)
    for sense, parent in parents.items():
        for other in parents:
            known = (line(world, other, world.others(other)[0]),)
            value, _ = ask(world, "arbitration", Likeness(line(world, sense, surface, parent), known))
            assert value == (0 if other == sense else None)


def test_fact_sheet_is_one_and_names_aliases(world):
    sheet, _ = ask(world, "self_grounding", Subject(world.name(aliased(world))))
    assert sheet.aliases == list(world.others(aliased(world)))
    assert ask(world, "self_grounding", Subject("Vannevar Bush"))[0].salient_facts == []


@pytest.mark.parametrize("stage", QUESTIONS)
@pytest.mark.parametrize("mode", [{}, {"mode": "topic", "root_topic": "Optics"}])
def test_stage_is_known_by_its_words_and_by_its_name_and_behind_a_rejection(world, stage, mode):
    asked = Stages.of(make_config(run={**mode, "examples": True})).named(stage)
    model = Server(world).model
    question = QUESTIONS[stage]
    answers = set()
    for rejected in (None, ("{}", "no phrase is decided")):
        messages = asked.request(question, rejected).chat()
        for form in (
            {},
            {"response_format": {"type": "json_schema", "json_schema": {"name": stage, "schema": {}}}},
        ):
            answers.add(model.answer({"messages": messages, **form})[0])
    (text,) = answers
    asked.parse(question, text)


def test_same_body_gets_the_same_answer_and_what_no_stage_asks_a_yes(world):
    async def use(base, server):
        engine = OpenAIEngine(make_config().engine.model_copy(update={"base_url": base}))
        probe = Request("probe", "m", (("user", "Are you there?"),), None, "{}")
        first = await engine.generate(probe)
        assert await engine.generate(probe) == first
        await engine.close()
        return first.text, server.stats.snapshot()

    text, stats = run(use, world)
    assert text == "Yes"
    assert (stats["requests_by_stage"], stats["repeats_of_answered_bodies"]) == ({"other": 2}, {"other": 1})


def test_cosines_tell_entities_apart_as_planted(world):
    near = []
    family = []
    for e in range(0, 3000, 3):
        if world.others(e) and world.group_kind(e) != "bare":
            near.append((world.name(e), world.others(e)[-1]))
        if world.group_kind(e) in ("sibling", "qualified") and len(world.fellows(e)) > 1:
            a, b = world.fellows(e)[:2]
            family.append((world.name(a), world.name(b)))
    for pairs, low, high in ((near, 0.95, 1.0), (family, 0.90, 0.97)):
        left, right = (vectors(world, list(names)) for names in zip(*pairs, strict=True))
        assert np.allclose(np.linalg.norm(left, axis=1), 1.0, atol=1e-4)
        cosines = (left * right).sum(axis=1)
        assert low <= cosines.min() <= cosines.max() <= high
    apart = vectors(world, [world.name(e) for e in range(400) if world.group_kind(e) == "plain"])
    assert np.abs(apart @ apart.T - np.eye(len(apart))).max() < 0.35


def test_embeddings_come_over_http_as_computed_whatever_the_batch(world):
    names = [world.name(1), "Vannevar Bush", world.name(2)]

    async def use(base, server):
        config = make_config(embedding={"base_url": base})
        engine = EndpointEmbedding(config)
        asked = Request("embedding", "m", tuple(("input", n) for n in names), None, "{}")
        done = await engine.generate(asked)
        await engine.close()
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{base}/embeddings", json={"input": names[1]}) as r,
        ):
            return done.text, (await r.json())["data"][0]["embedding"]

    packed, alone = run(use, world)
    assert np.allclose(_unpack(packed, 3), vectors(world, names), atol=1e-6)
    assert np.allclose(alone, vectors(world, names)[1], atol=1e-6)
    assert (vectors(world, names[1:2])[0] == vectors(world, names)[1]).all()
