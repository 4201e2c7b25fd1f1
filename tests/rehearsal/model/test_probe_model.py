"""The world's model at a probe's stages: its answers pass the stages' own parsers and say what the
documents say.
"""

import json
import re
from itertools import pairwise

import pytest

from llmpedia.config.walk import parse_as
from llmpedia.probe.benchmark.closed_book import ClosedBook
from llmpedia.probe.benchmark.grade import Grade, Response, outcome
from llmpedia.probe.candidates.knowledge import LabelKnowledge
from llmpedia.probe.questions.read_check import Checked, ReadCheck
from llmpedia.probe.questions.relation import Compare, Compared
from llmpedia.probe.questions.web_check import AgentView, WebCheck
from llmpedia.probe.questions.writing import Conflict, WriteQuestions
from llmpedia.probe.settings.base import ProbeConfig
from llmpedia.probe.settings.build import BuildConfig
from llmpedia.rehearsal.model.model import WorldModel, asked
from llmpedia.rehearsal.model.recall import recalled, shares_of
from llmpedia.rehearsal.planted.corpus import planted_documents, true_relation
from llmpedia.rehearsal.planted.disagreements import planted
from llmpedia.rehearsal.planted.document_reader import read
from llmpedia.rehearsal.planted.kinds import ATTRIBUTES
from llmpedia.rehearsal.planted.pages import planted_pages, search_planted
from llmpedia.rehearsal.planted.questions import understood
from llmpedia.rehearsal.scoring.responses import deserved
from llmpedia.rehearsal.settings import load_settings
from llmpedia.rehearsal.world.world import World
from llmpedia.stages import without_thought

ENGINE = {"kind": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1"}
BUILD = parse_as(BuildConfig, {"engine": ENGINE, "corpus": {"source": "x"}}, "test")
PROBE = parse_as(ProbeConfig, {"engine": ENGINE}, "test")
SETTINGS = [
    "entities=3000",
    "disagreements.traps=0.4",
    "disagreements.compatible=0.5",
    "disagreements.noise=20",
]


@pytest.fixture(scope="module")
def world():
    return World(load_settings(SETTINGS, seed=5))


@pytest.fixture(scope="module")
def by_fact(world):
    found = {}
    for d in planted_documents(world):
        if d.fact is not None and d.copy_of is None:
            found.setdefault(d.fact, []).append(d)
    return found


@pytest.fixture(scope="module")
def disputed(world):
    return [f for f in planted(world) if f.disputed]


def put(world, stage, question, named=False):
    """What a stage makes of the answer, asked by the words of its prompt alone or with its schema."""
    body = {"model": "m", "messages": stage.request(question).chat()}
    if named:
        schema = stage.constraint(question).json_schema
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": stage.name, "schema": schema},
        }
    assert asked(body).stage == stage.name
    return stage.parse(question, WorldModel(world).answer(body)[0])


def compared(world, fact, a, b, slot=""):
    return put(
        world,
        Compare(BUILD),
        Compared(fact.subject.name, ATTRIBUTES[fact.slot.name] if slot == "" else slot, a.text, b.text),
    )


@pytest.mark.parametrize("named", [False, True])
def test_label_is_the_planted_point_and_its_evidence_the_sentence_that_states_the_fact(
    world, by_fact, disputed, named
):
    stage = LabelKnowledge(BUILD)
    for fact in disputed[:15]:
        for d in by_fact[fact.number]:
            question = stage.question(d.text)
            point = put(world, stage, question, named)
            subject = fact.trap if d.role == "trap" else fact.subject
            assert (point.path, point.confidence >= 0.9) == (subject.path, True)
            assert question.sentences[point.first] == read(d.text).stated[0].sentence
            assert point.first == point.last


def test_label_of_a_strange_text_has_little_confidence(world):
    stage = LabelKnowledge(BUILD)
    assert (
        put(world, stage, stage.question("It rained. Then it stopped. Nobody minded. It was May.")).confidence
        < 0.5
    )


def test_share_of_labels_is_wrong_if_asked_for(by_fact):
    own = World(load_settings([*SETTINGS, "faults.label_mistakes=0.5"], seed=5))
    stage = LabelKnowledge(BUILD)
    documents = [
        (own_fact, d) for own_fact in planted(own)[:20] for d in by_fact[own_fact.number] if d.role != "trap"
    ]
    wrong = [put(own, stage, stage.question(d.text)).path != f.subject.path for f, d in documents]
    assert 0.3 < sum(wrong) / len(wrong) < 0.7


def test_relation_of_every_two_documents_on_a_fact_is_the_true_one(world, by_fact, disputed):
    seen = set()
    for fact in disputed:
        own = by_fact[fact.number]
        for a, b in zip(own, own[1:] + own[:1], strict=True):
            told = compared(world, fact, a, b)
            wanted = true_relation(a, b)
            assert told.relation == told.model_relation == wanted, (a, b, told)
            seen |= {(wanted, a.role), (wanted, b.role)}
    assert {
        ("none", "trap"),
        ("none", "context"),
        ("conflict", "compatible"),
        ("support", "compatible"),
    } <= seen


def test_namesakes_are_two_subjects_and_another_edition_is_another_context(world, by_fact, disputed):
    for role in ("trap", "context"):
        fact = next(f for f in disputed if any(d.role == role for d in by_fact[f.number]))
        odd = next(d for d in by_fact[fact.number] if d.role == role)
        told = compared(world, fact, by_fact[fact.number][0], odd)
        assert (told.same_subject, told.same_context, told.compatible) == (
            role != "trap",
            role != "context",
            False,
        )


def test_documents_on_two_subjects_have_no_relation(world, by_fact, disputed):
    first, second = disputed[:2]
    told = compared(world, first, by_fact[first.number][0], by_fact[second.number][0])
    assert (told.relation, told.same_subject) == ("none", False)


def test_documents_that_do_not_speak_of_the_attribute_asked_for_have_no_relation(world, by_fact, disputed):
    fact = disputed[0]
    a, b = by_fact[fact.number][:2]
    told = compared(world, fact, a, b, "number of casualties")
    assert (told.relation, told.value_a, told.value_b, told.same_attribute) == ("none", "", "", False)


def test_whoever_else_is_asked_about_is_not_the_subject_of_the_documents(world, by_fact, disputed):
    fact = next(f for f in disputed if f.slot.value == "person")
    a, b = by_fact[fact.number][:2]
    told = put(world, Compare(BUILD), Compared(fact.accounts[0].value, "creator", a.text, b.text))
    assert (told.relation, told.same_subject) == ("none", False)


def test_an_open_attribute_is_the_one_that_both_speak_of(world, by_fact, disputed):
    a, b = by_fact[disputed[0].number][:2]
    told = compared(world, disputed[0], a, b, None)
    assert (told.attribute, told.relation) == (ATTRIBUTES[disputed[0].slot.name], true_relation(a, b))


def test_documents_on_two_attributes_of_one_subject_have_no_relation(by_fact):
    """With an open attribute the first statement of either was once taken for the same one."""
    own = World(load_settings(SETTINGS, seed=5))
    facts = planted(own)
    one, other = next((a, b) for a in facts for b in facts if a.number < b.number and a.subject == b.subject)
    told = compared(own, one, by_fact[one.number][0], by_fact[other.number][0], None)
    assert (told.same_subject, told.same_attribute, told.relation) == (True, False, "none")


def test_texts_that_cannot_be_read_have_no_relation(world):
    told = put(world, Compare(BUILD), Compared("X", "area", "X is large.", "X is small."))
    assert (told.relation, told.value_a, told.same_subject) == ("none", "", False)


def test_share_of_relations_is_wrong_if_asked_for(by_fact):
    own = World(load_settings([*SETTINGS, "faults.relation_mistakes=0.4"], seed=5))
    wrong = []
    for fact in planted(own)[:40]:
        documents = [d for d in by_fact[fact.number] if d.account is not None]
        for a, b in pairwise(documents):
            wrong.append(compared(own, fact, a, b).relation != true_relation(a, b))
    assert 0.25 < sum(wrong) / len(wrong) < 0.55


def conflict_of(fact, documents, most=3):
    """A fact's accounts with at most so many documents each, as the builder of subgraphs hands them
    on.
    """
    accounts = []
    for place, account in enumerate(fact.accounts):
        own = [(n, d.text) for n, d in enumerate(documents) if d.account == place][:most]
        accounts.append((account.value, tuple(own)))
    return Conflict(fact.subject.name, ATTRIBUTES[fact.slot.name], tuple(accounts))


@pytest.fixture(scope="module")
def written(world, by_fact, disputed):
    stage = WriteQuestions(BUILD)
    return {
        f.number: put(world, stage, conflict_of(f, by_fact[f.number]), f.number % 2 == 0) for f in disputed
    }


def test_questions_pass_every_check_and_both_ask_for_the_planted_fact(written, disputed):
    for fact in disputed:
        told = written[fact.number]
        assert told.keep, (fact, told)
        assert [a.value for a in told.answers] == [a.value for a in fact.accounts]
        named = understood(told.named_entity)
        clue = understood(told.clue_based)
        assert named.same_fact(clue)
        assert (named.name, clue.mark, named.formulation) == (
            fact.subject.name,
            fact.subject.mark,
            "named_entity",
        )


def test_account_in_another_form_alone_is_asked_for_in_that_form(world, by_fact, disputed):
    fact = next(f for f in disputed if f.compatible == 0)
    documents = [d for d in by_fact[fact.number] if d.role == "compatible" or d.account == 1]
    told = put(world, WriteQuestions(BUILD), conflict_of(fact, documents))
    assert told.answers[0].value == fact.accounts[0].also


@pytest.mark.parametrize("how", ["trap among the documents", "one account twice", "nothing to be read"])
def test_what_makes_no_question_is_not_kept(world, by_fact, disputed, how):
    fact = next(
        f for f in disputed if f.trap and f.trap.name == f.subject.name and f.accounts[0].documents > 3
    )
    own = [(n, d) for n, d in enumerate(by_fact[fact.number])]
    first = [(n, d.text) for n, d in own if d.account == 0]
    other = {
        "trap among the documents": [(n, d.text) for n, d in own if d.role == "trap"],
        "one account twice": first[2:],
        "nothing to be read": [(99, "It is large.")],
    }[how]
    conflict = Conflict(
        fact.subject.name, ATTRIBUTES[fact.slot.name], (("a", tuple(first[:2])), ("b", tuple(other[:3])))
    )
    told = put(world, WriteQuestions(BUILD), conflict)
    assert not told.keep
    assert told.reason


def test_reader_finds_every_account_and_misses_one_that_no_document_gives(world, by_fact, disputed, written):
    for fact in disputed[:20]:
        told = written[fact.number]
        documents = tuple(enumerate(d.text for d in by_fact[fact.number]))
        accounts = tuple(a.value for a in told.answers)
        question = Checked(told.named_entity, told.clue_based, accounts, documents)
        verdict = put(world, ReadCheck(BUILD), question)
        assert verdict.rejected is None, (fact, verdict)
        strange = Checked(told.named_entity, told.clue_based, (*accounts, fact.strange[2]), documents)
        assert [p.supported for p in put(world, ReadCheck(BUILD), strange).proofs] == [
            *[True] * len(accounts),
            False,
        ]


def test_reader_rejects_questions_on_two_facts(world, by_fact, disputed, written):
    one, other = (written[f.number] for f in disputed[:2])
    documents = tuple(enumerate(d.text for d in by_fact[disputed[0].number]))
    accounts = tuple(a.value for a in one.answers)
    verdict = put(world, ReadCheck(BUILD), Checked(one.named_entity, other.clue_based, accounts, documents))
    assert not verdict.questions_fit


def browse(world, question, accounts, searches=6, pages=10):
    """Play the agent's tools: the log grows by what the world's search and pages give; the last
    action, and what was done.
    """
    log = []
    done = []
    found = {}
    for step in range(24):
        shown = AgentView(question, accounts, searches, pages, 24 - step, "\n".join(log))
        action = put(world, WebCheck(BUILD), shown)
        done.append((action.action, action.query or action.url))
        if action.action == "finish":
            return action, done, found
        if action.action == "search":
            searches -= 1
            log.append(f"search: {action.query}")
            for i, page in enumerate(search_planted(world, action.query, 10), 1):
                url = f"http://localhost/page/{page.title.replace(' ', '%20')}?n={page.number}"
                log.append(f"{i}. {url} | {page.title} | {' '.join(page.text.split())[:200]}")
                found[url] = page.text
        else:
            pages -= 1
            log.append(f"page: {action.url}\n{found[action.url]}")
    raise AssertionError(done)


def test_agent_quotes_a_page_for_each_account_that_has_one(world, disputed, written):
    fates = set()
    for fact in disputed:
        accounts = tuple(a.value for a in written[fact.number].answers)
        action, done, found = browse(world, written[fact.number].named_entity, accounts)
        assert [c.supported for c in action.claims] == [a.page for a in fact.accounts], (fact, done)
        assert all(c.quote in " ".join(found[c.url].split()) for c in action.claims if c.supported)
        assert (
            len({url for what, url in done if what == "fetch"})
            == sum(what == "fetch" for what, _ in done)
            <= 10
        )
        assert done[0] == ("search", fact.subject.name)
        fates.add(all(a.page for a in fact.accounts))
    assert fates == {True, False}


def test_agent_ends_where_nothing_is_left_and_where_nothing_is_found(world, disputed, written):
    fact = disputed[0]
    accounts = tuple(a.value for a in fact.accounts)
    action, done, _ = browse(world, written[fact.number].named_entity, accounts, pages=0)
    assert [c.supported for c in action.claims] == [False] * len(accounts)
    assert [what for what, _ in done] == ["search", "finish"]
    action, done, _ = browse(world, "Who was it?", accounts)
    assert [what for what, _ in done] == ["search", "finish"]


def test_search_leaves_what_the_world_names_to_the_world(world):
    """A planted name inside of an entity's name, or beside one, finds no planted page: what is
    asked of it stays as it was.
    """
    planted_title = next(p[0].title for p in planted_pages(world).values() if " " not in p[0].title)
    entity = next(world.name(e) for e in range(3000) if len(world.name(e).split()) == 1)
    assert search_planted(world, planted_title, 10)
    assert [
        n for e in range(3000) for n in (world.name(e), *world.others(e)) if search_planted(world, n, 10)
    ] == []
    assert search_planted(world, f"{entity} {planted_title}", 10) == []


def responses(world, model, written, **more):
    for told in written.values():
        for question in (told.named_entity, told.clue_based):
            body = {"model": model, "messages": ClosedBook(PROBE).request(question).chat(), **more}
            assert asked(body).stage == "closed_book"
            yield question, tuple(a.value for a in told.answers), WorldModel(world).answer(body)[0]


def graded(world, question, accounts, text):
    body_of = Grade(PROBE)
    response = Response(question, accounts, text)
    body = {"model": "judge", "messages": body_of.request(response).chat()}
    return outcome(body_of.parse(response, WorldModel(world).answer(body)[0]))


@pytest.mark.parametrize("model", ["small", "large", "large-thinking"])
def test_responses_are_graded_as_they_were_drawn(world, written, model):
    drawn = set()
    for question, accounts, text in responses(world, model, written):
        found = recalled(world, model, question)
        assert deserved(found, list(accounts)) == found.drawn
        assert graded(world, question, accounts, without_thought(text)) == found.drawn, (
            question,
            accounts,
            text,
        )
        assert text.startswith("<think>") == model.endswith("-thinking")
        drawn.add(found.drawn)
    assert drawn == {"complete", "partial", "failed"}


def test_a_reasoning_effort_brings_a_thought(world, written):
    assert all(t.startswith("<think>") for _, _, t in responses(world, "m", written, reasoning_effort="high"))
    off = {"chat_template_kwargs": {"enable_thinking": False}}
    assert not any(t.startswith("<think>") for _, _, t in responses(world, "x-thinking", written, **off))


def test_shares_of_recall_are_those_of_the_settings(written):
    own = World(load_settings([*SETTINGS, "recall.m=[0.5, 0.3]", "recall.n=[0.0, 0.0]"], seed=5))
    drawn = [recalled(own, "m", q).drawn for t in written.values() for q in (t.named_entity, t.clue_based)]
    assert drawn.count("complete") / len(drawn) == pytest.approx(0.5, abs=0.15)
    assert drawn.count("partial") / len(drawn) == pytest.approx(0.3, abs=0.15)
    assert {recalled(own, "n", t.named_entity).drawn for t in written.values()} == {"failed"}
    assert shares_of(own, "one") != shares_of(own, "two")


def test_the_two_formulations_are_now_and_then_drawn_apart(world, written):
    pairs = [tuple(recalled(world, "m", q) for q in (t.named_entity, t.clue_based)) for t in written.values()]
    apart = sum(a != b for a, b in pairs)
    assert 0 < apart < len(pairs) / 2


def test_unknown_question_is_answered_with_ignorance(world):
    body = {
        "model": "m",
        "messages": ClosedBook(PROBE).request("Who painted the ceiling of the Sistine Chapel?").chat(),
    }
    text = WorldModel(world).answer(body)[0]
    assert re.search(r"not", text)
    assert not re.search(r"\d", text)


def test_over_http_the_pages_of_a_subject_are_found_and_hold_its_accounts(world, disputed):
    from aiohttp import ClientSession

    from tests.support.rehearsed import run

    fact = next(f for f in disputed if f.verifiable)

    async def use(base, _):
        origin = base.removesuffix("/v1")
        async with ClientSession() as session:
            async with session.get(f"{origin}/search", params={"q": fact.subject.name, "n": "10"}) as r:
                results = (await r.json())["results"]
            texts = []
            for result in results:
                async with session.get(result["url"]) as r:
                    texts.append(await r.text())
            async with session.get(f"{results[0]['url'].partition('?')[0]}?n=99") as r:
                return results, texts, r.status

    results, texts, status = run(use, world, *SETTINGS[1:])
    assert all(any(a.value in text for text in texts) for a in fact.accounts)
    assert {r["title"] for r in results} >= {fact.subject.name}
    assert status == 404


def test_answers_are_a_function_of_the_request_alone(world, by_fact, disputed):
    stage = Compare(BUILD)
    fact = disputed[0]
    a, b = by_fact[fact.number][:2]
    body = {"model": "m", "messages": stage.request(Compared(fact.subject.name, None, a.text, b.text)).chat()}
    twin = World(load_settings(SETTINGS, seed=5))
    assert WorldModel(world).answer(body) == WorldModel(twin).answer(body)
    assert json.loads(WorldModel(world).answer(body)[0])
