"""The rehearsal world's judge reads what it is sent: claims out of articles, verdicts from
evidence, and nothing else.
"""

import asyncio
import json
import re
from collections import Counter

import pytest

from llmpedia.audit.settings import AuditConfig
from llmpedia.audit.stages import Case, ExtractClaims, Judge, WrittenArticle
from llmpedia.config.walk import parse_as
from llmpedia.engines.openai import OpenAIEngine
from llmpedia.probe.benchmark.grade import Grade, Response, grade, outcome
from llmpedia.probe.settings.base import ProbeConfig
from llmpedia.rehearsal.model.model import WorldModel, asked
from llmpedia.rehearsal.server.faults import fault_of, spoiled
from llmpedia.rehearsal.settings import load_settings
from llmpedia.rehearsal.world.facts import facts_of
from llmpedia.rehearsal.world.prose import article
from llmpedia.rehearsal.world.sources import page, page_title, web_text
from llmpedia.rehearsal.world.world import World
from llmpedia.stages import AnswerError
from llmpedia.wikitext import Article
from tests.support.builders.audit import Direct
from tests.support.rehearsed import run

SIZE = 3000
ENGINE = {"kind": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1"}


@pytest.fixture(scope="module")
def world():
    return World(load_settings(["entities=3000", "links=20"], seed=5))


def config(**audit):
    return parse_as(
        AuditConfig, {"engine": ENGINE, "wikipedia": {"contact": "a@example.org"}, "audit": audit}, "test"
    )


def put(world, stage, question, form=None):
    """What the stage makes of the world's answer."""
    body = {"messages": stage.request(question).chat(), **(form or {})}
    return stage.parse(question, WorldModel(world).answer(body)[0])


def claims_of(world, name, most=50):
    text = Article(article(world, name, ["One", "Two"], False)).text
    return put(world, ExtractClaims(config(claims=most)), WrittenArticle(name, text))


def judged(world, claims, evidence, subject="X"):
    return put(world, Judge(config()), Case(subject, tuple(claims), "Wikipedia: X", evidence))


def labels(world, claims, evidence):
    verdicts = judged(world, claims, evidence)
    return [verdicts[i].label for i in range(len(claims))]


def town(world, n=0):
    """The n-th place that stands alone."""
    return [e for e in range(SIZE) if world.kind(e) == "place" and world.group_kind(e) == "plain"][n]


def test_claims_are_the_facts_of_the_article_whatever_the_subject_is_called(world):
    for e in range(0, SIZE, 29):
        for name in (world.name(e), *world.others(e)):
            means = world.entity(name)
            assert sorted(claims_of(world, name)) == sorted(
                {f.sentence(name) for f in facts_of(world, means)}
            )


def test_claims_stop_at_as_many_as_asked_for(world):
    assert len(claims_of(world, world.name(3), most=4)) == 4


def test_claims_are_read_from_the_text_that_was_sent_alone(world):
    name = world.name(town(world))
    text = f"{name} is a town. At its height {name}\ncounted 12,345   people. Nothing else."
    assert put(world, ExtractClaims(config()), WrittenArticle(name, text)) == (
        f"At its height {name} counted 12,345 people.",
    )


def test_article_without_a_fact_gives_its_first_sentence(world):
    assert claims_of(world, "Vannevar Bush") == ("Vannevar Bush is a subject.",)


def test_name_of_regex_characters_is_read_as_it_stands(world):
    name = "A+ (b|c) [d] $1\\ ^.*?"
    claim = f"The records of {name} are kept in {world.name(5)}."
    assert put(world, ExtractClaims(config()), WrittenArticle(name, f"Yes. {claim} No.")) == (claim,)
    assert labels(world, [claim], f"It is so. {claim}") == ["supported"]


def test_page_of_the_encyclopedia_supports_the_true_refutes_the_false_and_is_silent_on_the_absent(world):
    """Names under which no page is found by itself too: other names, homonyms, another spelling."""
    deserved = {"true": "supported", "false": "refuted", "absent": "insufficient"}
    seen = Counter()
    for e in range(0, SIZE, 11):
        for name in (world.name(e), *world.others(e)):
            found = page(world, name)
            if found is None or found.senses:
                continue
            facts = {f.sentence(name): deserved[f.truth] for f in facts_of(world, world.entity(name))}
            assert dict(zip(facts, labels(world, facts, Article(found.text).text), strict=True)) == facts
            seen.update(facts.values())
    assert min(seen.values()) > 80


def test_white_space_headings_and_gaps_of_the_evidence_do_not_matter(world):
    name = world.name(town(world))
    place = world.name(town(world, 1))
    claims = [
        f"{name} has long been twinned with {place}.",
        f"At the last census {name} had 1,234 inhabitants.",
        f"A charter of 1600 names {name} for the first time.",
    ]
    said = [claims[0].replace(" ", "\n"), claims[1].replace(" ", "  "), claims[2].replace(" ", " \u00a0")]
    assert (
        labels(world, claims, f"{name}\n{said[0]}\n[...]\n{said[1]}\n\n{name}\n{said[2]}")
        == ["supported"] * 3
    )


def test_sentence_cut_off_is_no_statement(world):
    name = world.name(town(world))
    place = world.name(town(world, 1))
    evidence = (
        f"At the last census {name} had 1,2\n[...]\n{name} has long been twinned with "
        f"{place[:3]}\n[...]\nMore of it."
    )
    claims = [
        f"At the last census {name} had 1,234 inhabitants.",
        f"{name} has long been twinned with {place}.",
    ]
    assert labels(world, claims, evidence) == ["insufficient"] * 2


def test_sentence_about_a_longer_name_says_nothing_of_the_shorter(world):
    """Steamship Ashton is not Ashton: a name read from its end would give one the facts of the
    other.
    """
    large = World(load_settings(["entities=20000"], seed=5))
    names = ((large.name(e), large.name(e).partition(" ")[2]) for e in range(large.size))
    longer, shorter = next((n, s) for n, s in names if large.entity(s) not in (None, large.entity(n)))
    claim, other = (f"{n} has long been twinned with {large.name(7)}." for n in (shorter, longer))
    assert labels(large, [claim, other], f"It is old. {other}") == ["insufficient", "supported"]
    assert labels(large, [claim], f"It is old. {longer} is. {claim}") == ["supported"]


def test_other_name_of_a_place_is_the_same_place(world):
    e = next(e for e in range(SIZE) if world.group_kind(e) == "plain" and world.others(e))
    name = world.name(town(world))
    said = f"The records of {name} are kept in {world.others(e)[0]}."
    assert labels(world, [f"The records of {name} are kept in {world.name(e)}."], said) == ["supported"]


@pytest.mark.parametrize(
    ("claim", "said", "kind"),
    [
        (
            "A charter of 1600 names {n} for the first time.",
            "A charter of 1700 names {n} for the first time.",
            "temporal",
        ),
        ("At its height {n} counted 1,200 people.", "At its height {n} counted 900 people.", "numerical"),
        (
            "The two anniversary of {n} was marked in public.",
            "The ten anniversary of {n} was marked in public.",
            "numerical",
        ),
        ("{n} has long been twinned with {a}.", "{n} has long been twinned with {b}.", "spatial_geographic"),
        (
            "By profession {n} was known as the notary.",
            "By profession {n} was known as the printer.",
            "definitional_property",
        ),
    ],
)
def test_refutation_names_the_kind_of_error_and_quotes_the_evidence(world, claim, said, kind):
    filled = {"n": world.name(town(world)), "a": world.name(town(world, 1)), "b": world.name(town(world, 2))}
    verdict = judged(world, [claim.format(**filled)], f"It is old. {said.format(**filled)} More.")[0]
    assert (verdict.label, verdict.error_type, verdict.coerced) == ("refuted", kind, False)
    assert f'"{said.format(**filled)}"' in verdict.explanation


def test_most_of_several_pages_decide_and_the_first_where_they_are_at_odds(world):
    name = world.name(town(world))

    def said(*years):
        return "\n\n".join(f"A charter of {y} names {name} for the first time." for y in years)

    claim = [said(1600)]
    assert labels(world, claim, said(1700, 1600, 1600)) == ["supported"]
    assert labels(world, claim, said(1700, 1600)) == ["refuted"]
    assert labels(world, claim, said(1600, 1700)) == ["supported"]


def test_web_pages_together_are_right_more_often_than_one(world):
    right = Counter()
    for e in range(0, 600, 2):
        name = page_title(world, e)
        facts = {f.sentence(name): f.truth for f in facts_of(world, e) if f.truth != "absent"}
        pages = [web_text(world, e, n) for n in range(3)]
        for several, evidence in ((False, pages[0]), (True, "\n\n".join(pages))):
            got = labels(world, facts, evidence) if facts else []
            right[several] += sum(
                (g == "supported") == (t == "true") for g, t in zip(got, facts.values(), strict=True)
            )
    assert right[True] > right[False] * 1.02


def test_strange_claim_is_insufficient_unless_the_evidence_has_it_word_by_word(world):
    assert labels(world, ["X is blue.", "X is red."], "They say X  is\nred.") == ["insufficient", "supported"]


def test_judge_reads_nothing_but_its_prompt(world):
    """The same claims and evidence under another planted truth get the same answer."""
    other = World(
        load_settings(["entities=3000", "links=20", "facts.true_head=0.0", "facts.false_head=1.0"], seed=5)
    )
    e = next(e for e in range(SIZE) if page(world, world.name(e)) and world.group_kind(e) == "plain")
    name = world.name(e)
    assert other.name(e) == name
    case = Case(
        name, tuple(f.sentence(name) for f in facts_of(world, e)), "Wikipedia", page(world, name).text
    )
    assert put(world, Judge(config()), case) == put(other, Judge(config()), case)


@pytest.mark.parametrize("examples", [False, True])
def test_stages_are_known_by_their_words_and_by_their_names(world, examples):
    cfg = config(examples=examples)
    name = world.name(3)
    text = Article(article(world, name, ["One"], False)).text
    for stage, question in (
        (ExtractClaims(cfg), WrittenArticle(name, text)),
        (Judge(cfg), Case(name, (f"{name} is blue.",), "Web", "Nothing.")),
    ):
        form = {"response_format": {"type": "json_schema", "json_schema": {"name": stage.name, "schema": {}}}}
        for rejected in (None, ("{}", "no")):
            messages = stage.request(question, rejected).chat()
            assert {asked({"messages": messages, **f}).stage for f in ({}, form)} == {stage.name}
        assert put(world, stage, question) == put(world, stage, question, form)


def verdict_text(world, n=8):
    stage = Judge(config())
    case = Case("X", tuple(f"X is {i}." for i in range(n)), "Web", "Nothing.")
    return stage, case, WorldModel(world).answer({"messages": stage.request(case).chat()})[0]


def test_judge_mistakes_have_their_share_and_are_always_the_same(world):
    settings = world.settings.model_copy(
        update={"faults": world.settings.faults.model_copy(update={"judge_mistakes": 0.3})}
    )
    world_ = World(settings)
    claims = [f"The records of X are kept in {world.name(i)}." for i in range(300)]
    got = [labels(world_, claims, "Nothing.") for _ in range(2)]
    assert got[0] == got[1]
    assert 60 <= sum(label != "insufficient" for label in got[0]) <= 120
    assert set(got[0]) == {"supported", "refuted", "insufficient"}


def test_every_way_of_spoiling_a_verdict_costs_that_verdict_alone(world):
    stage, case, text = verdict_text(world)
    kept = {u: stage.parse(case, spoiled("verdict_syntax", "verdict", text, u)[0]) for u in (0.1, 0.5, 0.9)}
    assert [len(v) for v in kept.values()] == [7, 7, 7]
    ways = [json.loads(spoiled("verdict_syntax", "verdict", text, u)[0])["verdicts"] for u in (0.1, 0.5, 0.9)]
    assert [len(w) for w in ways] == [7, 8, 8]
    assert any(v["verdict"] == "partly supported" for v in ways[1])
    assert sorted(v["idx"] for v in ways[2]) != list(range(1, 9))


def test_answers_hold_no_word_of_the_truth(world):
    name = world.name(town(world))
    text = WorldModel(world).answer(
        {"messages": ExtractClaims(config()).request(WrittenArticle(name, f"{name} is a town.")).chat()}
    )[0]
    assert not re.search(r"absent|planted|actual", text)


def grader(**grading):
    return Grade(parse_as(ProbeConfig, {"engine": ENGINE, "grading": grading}, "test"))


def graded(
    world, response, accounts=("1871", "1874"), question="When was the lighthouse of Marrow Point built?"
):
    return put(world, grader(), Response(question, accounts, response))


@pytest.mark.parametrize(
    ("response", "accounts", "covered"),
    [
        ("In 1871; others say 1874.", ("1871", "1874"), (True, True)),
        ("It was 1874.", ("1871", "1874"), (False, True)),
        ("I do not know.", ("1871", "1874"), (False, False)),
        ("In 18710 or 1871.5, before\n1874", ("1871", "1874"), (False, True)),
        (
            "They counted 12345 people.",
            ("The census of 1921 counted 12,345 people.", "In 1921 it was 13,000."),
            (True, False),
        ),
        (
            "The census of 1921.",
            ("The census of 1921 counted 12,345 people.", "In 1921 it was 13,000."),
            (False, False),
        ),
        ("Built by  ANNA\nBerg, they say.", ("Anna Berg", "Berg", "Ann"), (True, True, False)),
        ("It is <b>12,345</b>.", ("12", "345", "12,345"), (False, False, True)),
    ],
)
def test_account_is_covered_where_its_text_or_its_own_figures_stand(world, response, accounts, covered):
    assert graded(world, response, accounts).covered == covered


@pytest.mark.parametrize(
    ("response", "strange", "becomes"),
    [
        ("In 1871, or rather 1880.", ["1880"], "failed"),
        ("In 1871, 12 years after 1859.", ["1859"], "failed"),
        ("In 1871, at a height of 30 metres.", [], "partial"),
        ("In 1871, the year of the flood of 1870.", [], "partial"),
    ],
)
def test_figure_of_the_accounts_kind_that_nobody_gave_contradicts(world, response, strange, becomes):
    grading = graded(world, response, question="After the flood of 1870, when was it built?")
    assert ([c.value for c in grading.contradictions], outcome(grading)) == (strange, becomes)


@pytest.mark.parametrize("examples", [False, True])
def test_grade_is_known_by_its_words_and_by_its_name(world, examples):
    stage = grader(examples=examples)
    question = Response("Subject: when?", ("1871", "1874"), "1874.")
    form = {"response_format": {"type": "json_schema", "json_schema": {"name": "grade", "schema": {}}}}
    for rejected in (None, ("{}", "no")):
        messages = stage.request(question, rejected).chat()
        assert {asked({"messages": messages, **f}).stage for f in ({}, form)} == {"grade"}
        assert stage.parse(question, WorldModel(world).answer({"messages": messages})[0]).covered == (
            False,
            True,
        )


def test_mistakes_of_the_judge_turn_grades_too_and_are_always_the_same(world):
    faults = world.settings.faults.model_copy(update={"judge_mistakes": 0.3})
    mistaken = World(world.settings.model_copy(update={"faults": faults}))
    got = [[graded(mistaken, f"In 1871. {'So' * n}").covered for n in range(200)] for _ in range(2)]
    assert got[0] == got[1]
    wrong = sum(covered != right for c in got[0] for covered, right in zip(c, (True, False), strict=True))
    assert 80 <= wrong <= 160


def test_every_way_of_spoiling_a_grade_makes_it_unusable(world):
    stage = grader()
    question = Response("q", ("1871", "1874"), "1874.")
    text = WorldModel(world).answer({"messages": stage.request(question).chat()})[0]
    for u, why in (
        (0.1, "one decision under each"),
        (0.5, "has no decision"),
        (0.9, "one decision under each"),
    ):
        with pytest.raises(AnswerError, match=why):
            stage.parse(question, spoiled("verdict_syntax", "grade", text, u)[0])


def test_wrong_syntax_is_a_fault_of_verdicts_and_grades_alone():
    settings = load_settings(["faults.verdict_syntax=1.0"])
    hit = {
        stage
        for stage in ("verdict", "grade", "claims", "ner", "outline", "other")
        if fault_of(settings, stage, 1, 0)
    }
    assert hit == {"verdict", "grade"}


def test_grades_over_http_are_right_or_errors_of_the_judge(world):
    responses = [
        Response("When?", ("1871", "1874"), f"{n}: in 1871{', or 1874' * (n % 2)}.") for n in range(60)
    ]

    async def use(base, server):
        engine = OpenAIEngine(grader().config.engine.model_copy(update={"base_url": base}))
        try:
            return await asyncio.gather(*(grade(Direct(engine), grader(), r) for r in responses))
        finally:
            await engine.close()

    faults = ("verdict_syntax=0.3", "malformed=0.1", "truncated=0.1", "http_500=0.1")
    done = run(use, world, *(f"faults.{fault}" for fault in faults))
    right = [g.outcome == ("partial", "complete")[n % 2] for n, g in enumerate(done) if g.error is None]
    assert all(right) and 20 <= len(right) < 60
    assert {g.error_stage for g in done if g.error is not None} == {"grade"}
    assert any(g.outcome and len(g.completions) == 2 for g in done)
