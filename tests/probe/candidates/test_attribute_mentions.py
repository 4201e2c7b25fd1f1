"""llmpedia/probe/candidates/attribute_mentions.py: who is seen with which attribute."""

from llmpedia.probe.candidates.attribute_mentions import MOST_SUBJECTS, sightings
from llmpedia.probe.candidates.attributes import load_slots
from llmpedia.probe.candidates.mentions import key_of
from llmpedia.probe.documents import KnowledgePoint, Mention, sentences

SLOTS = load_slots(None)


def mention(text, name, label="ORG", after=0):
    at = text.index(name, after)
    return Mention(at, at + len(name), name, key_of(name), "entity", label)


def seen(text, *mentions, first=0, last=None, slot=None):
    cuts = sentences(text)
    point = KnowledgePoint(("A",), 1.0, first, len(cuts) - 1 if last is None else last)
    found = sightings(text, cuts, point, mentions, SLOTS)
    return [(s.sentence, s.surface) for s in found if slot in (None, s.slot)]


def test_every_name_of_a_sentence_with_a_slot_is_seen():
    text = "Vannevar Bush was born in Everett in 1890. Bush liked Boston."
    found = seen(
        text,
        mention(text, "Vannevar Bush"),
        mention(text, "Everett"),
        mention(text, "Boston"),
        slot="birth_date",
    )
    assert found == [(0, "Vannevar Bush"), (0, "Everett")]


def test_a_pronoun_takes_over_whom_the_sentence_before_was_about():
    """Not whom it last named: Ulm does not die."""
    text = "Albert Einstein was a physicist. He was born in Ulm in 1879. He died in 1955."
    found = seen(text, mention(text, "Albert Einstein"), mention(text, "Ulm"), slot="death_date")
    assert found[0] == (2, "Albert Einstein")


def test_a_sentence_that_names_nobody_is_about_the_one_before():
    text = "Kalvarija is a town. The place has 5,120 inhabitants."
    assert seen(text, mention(text, "Kalvarija"), slot="population") == [(1, "Kalvarija")]


def test_a_sentence_with_a_name_and_no_pronoun_takes_nobody_over():
    text = "Kalvarija is a town. Sejny has 5,120 inhabitants."
    assert seen(text, mention(text, "Kalvarija"), mention(text, "Sejny"), slot="population") == [(1, "Sejny")]


def test_only_sentences_of_the_evidence_count_but_subjects_come_from_before():
    text = "Kalvarija was founded in 1705. It has 5,120 inhabitants. It lies near Sejny."
    names = mention(text, "Kalvarija"), mention(text, "Sejny")
    assert set(seen(text, *names, first=1, last=1)) == {(1, "Kalvarija")}


def test_the_title_is_seen_in_every_sentence_with_a_slot():
    text = "Officially a town since 1705. It has 5,120 inhabitants."
    title = Mention(0, 0, "Kalvarija", "kalvarija", "entity", "title")
    assert seen(text, title, slot="population") == [(1, "Kalvarija")]


def test_a_persons_last_name_is_the_full_name_that_ends_with_it():
    text = "Vannevar Bush was an engineer. Bush died in 1974."
    names = mention(text, "Vannevar Bush", "PERSON"), mention(text, "Bush", "PERSON", after=20)
    assert seen(text, *names, slot="death_date") == [(1, "Vannevar Bush")]


def test_a_town_is_not_the_longer_name_that_ends_with_it():
    text = "New York is large. York was founded in 71."
    names = mention(text, "New York", "GPE"), mention(text, "York", "GPE", after=10)
    assert seen(text, *names, slot="founding_date") == [(1, "York")]


def test_a_sentence_has_four_subjects_at_most_and_each_once():
    text = "Aa, Bb, Cc, Dd, Ee and Aa were founded in 1900."
    names = [mention(text, n) for n in "Aa Bb Cc Dd Ee".split()] + [mention(text, "Aa", after=5)]
    found = seen(text, *names, slot="founding_date")
    assert len(found) == len(set(found)) == MOST_SUBJECTS


def test_evidence_beyond_the_document_is_none():
    text = "Kalvarija was founded in 1705."
    assert seen(text, mention(text, "Kalvarija"), first=3, last=9) == []
