"""llmpedia/analysis/personas/framing.py: preparation of texts (section M.1), tokens, hits; counted
by hand.
"""

import random

import pytest

from llmpedia.analysis.personas.framing import (
    UNIT,
    Words,
    load_lexicons,
    prose,
    rate_of,
    shown_rate,
    stripped,
    tokens_of,
)


@pytest.fixture(scope="module")
def lexicons():
    return load_lexicons()


def rates(text, lexicons):
    words = Words.of(text)
    return {d.name: shown_rate(rate) for d in lexicons.dimensions if (rate := words.rate(d.words))}


def test_the_vocabulary_is_the_papers(lexicons):
    """Tables 21 and 26: 16 and 8 dimensions, 24 in all, with 710 entries."""
    assert len(lexicons.dimensions) == 24
    assert sum(d.group == "topic_agnostic" for d in lexicons.dimensions) == 8
    assert sum(len(d.words) for d in lexicons.dimensions) == 710
    parted = {w for d in lexicons.dimensions for w in d.words if len(tokens_of(w)) > 1}
    assert parted == {
        "self-determination", "sit-in", "color-blind", "non-western", "evidence-based", "peer-reviewed", "data-driven"
    }  # fmt: skip
    assert all(w == w.lower() for d in lexicons.dimensions for w in d.words)


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("[[Marduk|the god]] of [[Babylon]]", "the god of Babylon"),
        ("[[File:x.jpg|thumb|left|a [[ziggurat|temple tower]]]] ends", "a temple tower ends"),
        ("[[Babylon|]] fell", "Babylon fell"),
        ("[[Enki (0.85)]], [[Ea|Enki (1.00)]], [[Anu]] (0.9), [[Apollo (1)]]", "Enki, Enki, Anu, Apollo (1)"),
        ("a {{Infobox | b = {{lang|akk|c}} | d = [[e]] }} f {{cite}}", "a f"),
        ("a {{Infobox | b = {{lang|c}} | never closed", "a {{Infobox | b = | never closed"),
        ("a }} b {{x}} c", "a }} b c"),
        ("one<br>two <ref name='n'>three</ref> 4 < 5 and 6 > 2", "one two three 4 < 5 and 6 > 2"),
        ("a <!-- hidden [[b]] --> c &amp;&nbsp;d <!-- open", "a c & d"),
        ("== Fall ==\n* '''Siege'''", "== Fall == * '''Siege'''"),
    ],
)
def test_texts_are_prepared_as_the_paper_says(wikitext, text):
    assert " ".join(stripped(wikitext).split()) == text


def test_random_brackets_never_stop_it():
    """What is left holds no template that is closed and no link."""
    rng = random.Random(5)
    for _ in range(300):
        text = "".join(rng.choice(["{{", "}}", "[[", "]]", "|", "a ", "<b>", "\n"]) for _ in range(60))
        left = stripped(text)
        assert "{{a }}" not in left and "[[a ]]" not in left
        assert left.count("a ") <= text.count("a ")


def test_headings_are_words_but_no_sentences():
    text = "Lead.\n== Slavery ==\nBody text.\n=== Laws ===\n"
    assert Words.of(text).tokens == ("lead", "slavery", "body", "text", "laws")
    assert prose(text) == "Lead.\nBody text."


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Jim_Crow's sit-in, 1960–61", ["jim", "crow", "s", "sit", "in", "1960", "61"]),
        ("Cafe\u0301 ÉCOLE Straße", ["café", "école", "straße"]),
        ("東京は Αθήνα", ["東京は", "αθήνα"]),
        ("'' == {| |}", []),
    ],
)
def test_tokens_are_unicode_words_in_lower_case(text, tokens):
    assert tokens_of(text) == tokens


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("A sit-in began.", 1),
        ("The sit-ins spread; another Sit‑In followed.", 2),  # a plural, and a hyphen that does not break
        ("They sit in silence.", 1),  # hyphens are gone from the joined tokens
        ("In transit in Ohio; a deposit in cash.", 0),
        ("sit. In", 1),
        ("sit", 0),
        ("in sit", 0),
    ],
)
def test_what_the_tokenizer_parts_is_sought_in_the_joined_tokens(text, hits):
    assert Words.of(text).hits("sit-in") == hits


def test_single_words_are_whole_tokens():
    words = Words.of("Jim Crow laws; crows, CROW and Jim-Crow; order orderly disorder")
    assert [words.hits(w) for w in ("jim", "crow", "order", "jim crow")] == [2, 3, 1, 2]


def test_rates_by_hand(lexicons):
    """20 tokens, so a hit is 50 per 1,000; "marginalized" and "tradition" count in each dimension
    that lists them.
    """
    text = "The marginalized kept [[custom|tradition]]; self-determination and resistance rose. " + "x " * 11
    assert len(Words.of(text).tokens) == 20
    assert rates(text, lexicons) == {
        "colonial_critical": 50.0,  # resistance
        "indigenous_agency": 50.0,  # self-determination; the target of a link is not shown
        "civil_rights_progressive": 50.0,
        "civil_rights_conservative": 50.0,
        "left_progressive": 50.0,
        "right_conservative": 50.0,
        "epistemic_hedging": 50.0,
        "decolonial_framing": 50.0,
    }


def test_a_rate_is_a_whole_number_of_millionths():
    assert rate_of(1, 3) == 333_333_333
    assert rate_of(2, 3) == 666_666_667
    assert rate_of(1, 1000) == UNIT
    assert rate_of(0, 7) == 0
    assert shown_rate(rate_of(1, 3) + rate_of(2, 3), 2) == 500.0


@pytest.mark.parametrize(
    ("name", "group", "family", "contested"),
    [
        ("Dutch Colonization in Southeast Asia", "dutch_colonization", "primary", True),
        ("US civil-rights movement", "us_civil_rights", "primary", True),
        ("Ancient Babylon", "ancient_babylon", "primary", False),
        ("One Piece", None, "extended", False),
        ("Quantum physics", None, "extended", False),
        ("Tea", None, "extended", None),
    ],
)
def test_topics_are_known_by_their_names(lexicons, name, group, family, contested):
    topic = lexicons.topic(name)
    assert (topic.group, topic.family, topic.contested) == (group, family, contested)


def test_dimensions_made_for_another_topic_are_not_relevant(lexicons):
    relevant = {lexicons.dimensions[n].name for n in lexicons.relevant(lexicons.topic("Ancient Babylon"))}
    assert {"babylon_scholarly", "left_progressive", "great_man_history"} <= relevant
    assert not relevant & {"colonial_positive", "actors_canonical"}
    assert len(relevant) == 3 + 6 + 8
    assert len(lexicons.relevant(lexicons.topic("One Piece"))) == 6 + 8
