"""The rehearsal world's judge reads what it is sent: claims out of articles, verdicts from evidence, and nothing else."""

import json
import re
from collections import Counter

import pytest

from llmpedia.audit.settings import AuditConfig
from llmpedia.audit.stages import Case, ExtractClaims, Judge, Written
from llmpedia.config import parse_as
from llmpedia.rehearsal.facts import facts_of
from llmpedia.rehearsal.faults import spoiled
from llmpedia.rehearsal.model import Model, asked
from llmpedia.rehearsal.prose import article
from llmpedia.rehearsal.settings import load_settings
from llmpedia.rehearsal.sources import page, page_title, web_text
from llmpedia.rehearsal.world import World
from llmpedia.wikitext import Article

SIZE = 3000
ENGINE = {"kind": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1"}


@pytest.fixture(scope="module")
def world():
    return World(load_settings(["entities=3000", "links=20"], seed=5))


def config(**audit):
    return parse_as(AuditConfig, {"engine": ENGINE, "wikipedia": {"contact": "a@example.org"}, "audit": audit}, "test")


def put(world, stage, question, form=None):
    """What the stage makes of the world's answer."""
    body = {"messages": stage.request(question).chat(), **(form or {})}
    return stage.parse(question, Model(world).answer(body)[0])


def claims_of(world, name, most=50):
    text = Article(article(world, name, ["One", "Two"], False)).text
    return put(world, ExtractClaims(config(claims=most)), Written(name, text))


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
            assert sorted(claims_of(world, name)) == sorted({f.sentence(name) for f in facts_of(world, means)})


def test_claims_stop_at_as_many_as_asked_for(world):
    assert len(claims_of(world, world.name(3), most=4)) == 4


def test_claims_are_read_from_the_text_that_was_sent_alone(world):
    name = world.name(town(world))
    text = f"{name} is a town. At its height {name}\ncounted 12,345   people. Nothing else."
    assert put(world, ExtractClaims(config()), Written(name, text)) == (f"At its height {name} counted 12,345 people.",)


def test_article_without_a_fact_gives_its_first_sentence(world):
    assert claims_of(world, "Vannevar Bush") == ("Vannevar Bush is a subject.",)


def test_name_of_regex_characters_is_read_as_it_stands(world):
    name = "A+ (b|c) [d] $1\\ ^.*?"
    claim = f"The records of {name} are kept in {world.name(5)}."
    assert put(world, ExtractClaims(config()), Written(name, f"Yes. {claim} No.")) == (claim,)
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
    name, place = world.name(town(world)), world.name(town(world, 1))
    claims = [
        f"{name} has long been twinned with {place}.",
        f"At the last census {name} had 1,234 inhabitants.",
        f"A charter of 1600 names {name} for the first time.",
    ]
    said = [claims[0].replace(" ", "\n"), claims[1].replace(" ", "  "), claims[2].replace(" ", " \u00a0")]
    assert labels(world, claims, f"{name}\n{said[0]}\n[...]\n{said[1]}\n\n{name}\n{said[2]}") == ["supported"] * 3


def test_sentence_cut_off_is_no_statement(world):
    name, place = world.name(town(world)), world.name(town(world, 1))
    evidence = f"At the last census {name} had 1,2\n[...]\n{name} has long been twinned with {place[:3]}\n[...]\nMore of it."
    claims = [f"At the last census {name} had 1,234 inhabitants.", f"{name} has long been twinned with {place}."]
    assert labels(world, claims, evidence) == ["insufficient"] * 2


def test_sentence_about_a_longer_name_says_nothing_of_the_shorter(world):
    """Steamship Ashton is not Ashton: a name read from its end would give one the facts of the other."""
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
        ("A charter of 1600 names {n} for the first time.", "A charter of 1700 names {n} for the first time.", "temporal"),
        ("At its height {n} counted 1,200 people.", "At its height {n} counted 900 people.", "numerical"),
        ("The two anniversary of {n} was marked in public.", "The ten anniversary of {n} was marked in public.", "numerical"),
        ("{n} has long been twinned with {a}.", "{n} has long been twinned with {b}.", "spatial_geographic"),
        ("By profession {n} was known as the notary.", "By profession {n} was known as the printer.", "definitional_property"),
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
            right[several] += sum((g == "supported") == (t == "true") for g, t in zip(got, facts.values(), strict=True))
    assert right[True] > right[False] * 1.02


def test_strange_claim_is_insufficient_unless_the_evidence_has_it_word_by_word(world):
    assert labels(world, ["X is blue.", "X is red."], "They say X  is\nred.") == ["insufficient", "supported"]


def test_judge_reads_nothing_but_its_prompt(world):
    """The same claims and evidence under another planted truth get the same answer."""
    other = World(load_settings(["entities=3000", "links=20", "facts.true_head=0.0", "facts.false_head=1.0"], seed=5))
    e = next(e for e in range(SIZE) if page(world, world.name(e)) and world.group_kind(e) == "plain")
    name = world.name(e)
    assert other.name(e) == name
    case = Case(name, tuple(f.sentence(name) for f in facts_of(world, e)), "Wikipedia", page(world, name).text)
    assert put(world, Judge(config()), case) == put(other, Judge(config()), case)


@pytest.mark.parametrize("examples", [False, True])
def test_stages_are_known_by_their_words_and_by_their_names(world, examples):
    cfg = config(examples=examples)
    name = world.name(3)
    text = Article(article(world, name, ["One"], False)).text
    for stage, question in (
        (ExtractClaims(cfg), Written(name, text)),
        (Judge(cfg), Case(name, (f"{name} is blue.",), "Web", "Nothing.")),
    ):
        form = {"response_format": {"type": "json_schema", "json_schema": {"name": stage.name, "schema": {}}}}
        for rejected in (None, ("{}", "no")):
            messages = stage.request(question, rejected).chat()
            assert {asked({"messages": messages, **f}).stage for f in ({}, form)} == {stage.name}
        assert put(world, stage, question) == put(world, stage, question, form)


def verdict_text(world, n=8):
    stage, case = Judge(config()), Case("X", tuple(f"X is {i}." for i in range(n)), "Web", "Nothing.")
    return stage, case, Model(world).answer({"messages": stage.request(case).chat()})[0]


def test_judge_mistakes_have_their_share_and_are_always_the_same(world):
    settings = world.settings.model_copy(update={"faults": world.settings.faults.model_copy(update={"judge_mistakes": 0.3})})
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
    text = Model(world).answer({"messages": ExtractClaims(config()).request(Written(name, f"{name} is a town.")).chat()})[0]
    assert not re.search(r"absent|planted|actual", text)
