"""Claims at the sentences they were taken from: verbatim, in other words, with "it" for the
subject; and none where none fits.
"""

import re
import time
from itertools import pairwise

import pytest

from llmpedia.rehearsal.settings import WorldSettings
from llmpedia.rehearsal.world.facts import facts_of
from llmpedia.rehearsal.world.prose import article, outline
from llmpedia.rehearsal.world.world import World
from llmpedia.site.pages.claim_alignment import place
from llmpedia.site.wikitext.page import ArticlePage

SENTENCES = [
    "Ada Lovelace was an English mathematician and writer.",
    "She was born in London on 10 December 1815, the only child of Lord Byron.",
    "Her mother, Anne Isabella Milbanke, promoted her interest in mathematics.",
    "In 1843 she translated an article by Luigi Menabrea on the Analytical Engine.",
    "Her notes, about three times as long, hold what many call the first computer program.",
    "She died of uterine cancer on 27 November 1852, at the age of thirty-six.",
    "She was buried beside her father in Hucknall, Nottinghamshire.",
]

# How a judge may put the facts of the rehearsal's world in its own words.
PARAPHRASES = {
    "{s} was born in {o}.": "The year of birth of {s} is {o}.",
    "The family of {s} came from {o}.": "{s}'s family originated in {o}.",
    "By profession {s} was known as the {o}.": "{s} worked as a {o}.",
    "There were {o} children in the house of {s}.": "{s} had {o} children.",
    "{s} is buried in {o}.": "The burial place of {s} is {o}.",
    "At the last census {s} had {o} inhabitants.": "{s} has a population of {o}.",
    "The highest point of {s} lies {o} metres above the sea.": "{s} reaches an elevation of {o} m.",
    "A charter of {o} names {s} for the first time.": "{s} was first mentioned in {o}.",
    "{s} has long been twinned with {o}.": "{o} is the twin town of {s}.",
    "{s} was first shown to the public in {o}.": "{s} was published in {o}.",
    "The first audience of {s} gathered in {o}.": "{s} premiered in {o}.",
    "In its final form {s} has {o} parts.": "{s} consists of {o} parts.",
    "Most accounts date the beginning of {s} to {o}.": "{s} began in {o}.",
    "The records of {s} are kept in {o}.": "{o} holds the records of {s}.",
    "At its height {s} counted {o} people.": "{s} had {o} members at its peak.",
    "A thorough change of {s} followed in {o}.": "{s} was thoroughly changed in {o}.",
    "The colour by which {s} is remembered is {o}.": "{s} is associated with the colour {o}.",
    "The {o} anniversary of {s} was marked in public.": "The {o} anniversary of {s} was publicly celebrated.",
}


@pytest.fixture(scope="module")
def planted():
    """(subject, facts, sentences of its article) of entities of a world; facts whose sentence no
    name with a stop cuts in two.
    """
    world = World(WorldSettings(seed=7, entities=2000))
    out = []
    facts = 0
    for e in range(0, 2000, 20):
        name = world.name(e)
        page = ArticlePage(article(world, name, outline(world, name, 4, 6, None), False), name)
        told = facts_of(world, e)
        whole = [fact for fact in told if any(fact.sentence(name) in sentence for sentence in page.sentences)]
        out.append((name, whole, page.sentences))
        facts += len(told)
    assert sum(len(whole) for _, whole, _ in out) > 0.95 * facts
    return out


def at(sentences, claim):
    """Where a claim stands; a sentence may hold another one if the first ends with a name like
    "X.".
    """
    return next(i for i, sentence in enumerate(sentences) if claim in sentence)


def shares(pairs):
    """(share at the right place, share at a wrong one)."""
    return sum(g == w for g, w in pairs) / len(pairs), sum(g is not None and g != w for g, w in pairs) / len(
        pairs
    )


@pytest.mark.parametrize(
    ("claim", "number"),
    [
        ("Ada Lovelace was an English mathematician.", 0),
        ("Ada Lovelace was born in London.", 1),
        ("Ada Lovelace was born on December 10, 1815.", 1),
        ("Ada Lovelace was the only child of Lord Byron.", 1),
        ("Ada Lovelace's mother was Anne Isabella Milbanke.", 2),
        ("Ada Lovelace published a translation of an article about the Analytical Engine in 1843.", 3),
        ("Ada Lovelace died of uterine cancer in 1852.", 5),
        ("Ada Lovelace died at the age of thirty-six.", 5),
        ("Ada Lovelace was buried in Hucknall.", 6),
        ("Ada Lovelace died in 1853.", None),
        ("Ada Lovelace was buried in Paris.", None),
        ("Ada Lovelace married William King in 1835.", None),
        ("Ada Lovelace liked horses.", None),
        ("", None),
        ("The of and.", None),
    ],
)
def test_claim_goes_where_it_was_taken_from(claim, number):
    others = [
        "Ada Lovelace was an English mathematician.",
        "Ada Lovelace was born in London.",
        "Ada Lovelace was buried in Hucknall.",
    ]
    assert place([claim, *others], SENTENCES)[0] == number


def test_sentences_of_facts_are_found_verbatim(planted):
    for name, facts, sentences in planted:
        claims = [fact.sentence(name) for fact in facts]
        assert place(claims, sentences) == [at(sentences, claim) for claim in claims]


@pytest.mark.parametrize(("pronoun", "least"), [(False, 0.98), (True, 0.94)])
def test_facts_in_other_words_are_found_and_hardly_ever_misplaced(planted, pronoun, least):
    pairs = []
    for name, facts, sentences in planted:
        claims = [PARAPHRASES[fact.template].format(s=name, o=fact.claimed) for fact in facts]
        right = [at(sentences, fact.sentence(name)) for fact in facts]
        shown = [re.sub(re.escape(name), "it", s) if pronoun and i else s for i, s in enumerate(sentences)]
        pairs += zip(place(claims, shown), right, strict=True)
    right, wrong = shares(pairs)
    assert right >= least and wrong <= 0.005


def test_facts_of_another_subject_are_hardly_ever_placed(planted):
    pairs = []
    for (name, facts, sentences), (_, others, _) in pairwise(planted):
        own = {(fact.template, fact.claimed) for fact in facts}
        strange = [f for f in others if (f.template, f.claimed) not in own]
        pairs += [
            (got, None)
            for got in place(
                [PARAPHRASES[f.template].format(s=name, o=f.claimed) for f in strange], sentences
            )
        ]
    assert shares(pairs)[1] <= 0.08


def test_nothing_is_placed_in_nothing():
    assert (place([], SENTENCES), place(["A claim."], []), place(["A."], [""])) == ([], [None], [None])


def test_first_of_equal_sentences_is_taken_and_the_shorter_of_two_that_hold_the_claim():
    assert place(["Bob founded Acme."], ["Bob founded Acme.", "Bob founded Acme."]) == [0]
    assert place(
        ["Bob founded Acme."], ["Bob founded Acme and sold many other things later.", "Bob founded Acme."]
    ) == [1]


@pytest.mark.parametrize(
    ("claim", "sentences", "number"),
    [
        ("彼は東京で生まれた。", ["彼は作家である。", "東京で生まれた。"], 1),
        (
            "Das Schloss wurde 1890 erbaut.",
            ["Das Schloss steht.", "Im Jahr 1890 wurde das Schloss erbaut."],
            1,
        ),
        ("It has 6 parts.", ["It has six parts.", "It is long."], 0),
        ("It has 12,500 members.", ["It has 12500 members.", "It has 12 members."], 0),
    ],
)
def test_numbers_and_scripts_meet_whatever_their_form(claim, sentences, number):
    assert place([claim], sentences) == [number]


def test_long_articles_are_placed_in_time(planted):
    name, facts, sentences = planted[0]
    start = time.process_time()
    place([fact.sentence(name) for fact in facts] * 10, sentences * 50)
    assert time.process_time() - start < 2.0
