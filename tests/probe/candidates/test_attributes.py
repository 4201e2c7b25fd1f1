"""llmpedia/probe/candidates/attributes.py: a cue and a value of its kind in one sentence, and a
file that is checked.
"""

import time

import pytest
import yaml

from llmpedia.errors import ConfigError
from llmpedia.probe.candidates.attributes import SHIPPED, load_slots

SLOTS = load_slots(None)
NAMES = (
    "birth_date death_date birth_place death_place founding_date event_date publication_date "
    "creation_date creator location "
    "population area height_length_depth age members casualties votes capacity price duration "
    "distance count expansion "
    "etymology occupation colour rank"
)


def test_the_shipped_file_has_the_slots_that_a_build_knows():
    assert SLOTS.names == NAMES.split()


@pytest.mark.parametrize(
    ("slot", "sentence"),
    [
        ("birth_date", "He was born in 1890."),
        ("birth_date", "Ampere French physicist and mathematician (1775-1836)"),
        ("death_date", "Ampere French physicist and mathematician (1775-1836)"),
        ("death_date", "She passed away on 3 May."),
        ("birth_place", "He was born in Ulm."),
        ("death_place", "He died at Princeton."),
        ("founding_date", "The abbey was founded in the 9th century."),
        ("event_date", "The battle took place in June 1942."),
        ("publication_date", "The novel was first published in 1851."),
        ("creation_date", "The bridge was built between 1882 and 1885."),
        ("creator", "The bridge was designed by John Fowler."),
        ("location", "The town lies north of the river, near Kalvarija."),
        ("population", "It has 5,120 inhabitants."),
        ("area", "The island covers 40 square kilometres."),
        ("height_length_depth", "The tower is 324 metres tall."),
        ("age", "The 54-year-old mayor resigned."),
        ("members", "The union has two thousand members."),
        ("casualties", "The fire left 146 people dead."),
        ("votes", "She won 1,204 votes."),
        ("capacity", "The hall seats 400."),
        ("price", "A ticket cost $5."),
        ("duration", "The siege lasted 11 months."),
        ("distance", "It is 12 miles from the coast."),
        ("count", "The group consists of seven islands."),
        ("expansion", "FTP stands for File Transfer Protocol."),
        ("etymology", "The element was named after Poland."),
        ("occupation", "She was an English novelist."),
        ("colour", "Its colour is a deep red."),
        ("rank", "It is the third largest city."),
    ],
)
def test_a_cue_and_its_value_make_the_slot(slot, sentence):
    assert slot in SLOTS.of(sentence)


@pytest.mark.parametrize(
    ("slot", "sentence"),
    [
        ("birth_date", "He was born in Ulm."),  # no date
        ("birth_place", "Born in 1890, he was poor."),  # the sentence's first word is no name
        ("birth_date", "The stubborn man left in 1890."),  # no whole word
        ("birth_date", "Airborne troops landed in 1944."),
        ("population", "The population is large."),
        ("price", "The cost was high."),
    ],
)
def test_one_without_the_other_makes_none(slot, sentence):
    assert slot not in SLOTS.of(sentence)


def test_a_cue_of_several_words_holds_over_a_line_end_and_in_any_case():
    assert "event_date" in SLOTS.of("The games TOOK\n place in 1936.")


def test_what_a_sentence_tells_is_compared_without_thousands_commas():
    assert SLOTS.values_in("population", "In 1901 it had 5,120 inhabitants.") == {"1901", "5120"}
    assert SLOTS.values_in("population", "It had two million.") == {"two", "million"}
    assert SLOTS.values_in("birth_place", "He was born in Ulm, near Augsburg.") == {"ulm", "augsburg"}
    assert SLOTS.values_in("expansion", "FTP stands for File Transfer Protocol.") == set()


def test_pronouns_are_whole_words():
    assert SLOTS.refers("In 1890 he was born.")
    assert not SLOTS.refers("Heinrich Hertz was born in Hamburg.")


def test_an_open_attribute_has_words_of_its_own():
    assert SLOTS.words("birth_date") == "date of birth"
    assert SLOTS.words("firsttenant") == "firsttenant"


def test_a_sentence_costs_well_under_a_tenth_of_a_millisecond():
    """27 expressions searched one after the other cost several times as much."""
    text = (
        "The weather stayed calm while they walked along the old river toward the mill and "
        "talked of other matters in haste."
    )
    best = min(_seconds(text) for _ in range(20))
    assert best < 100e-6


def _seconds(text):
    begin = time.perf_counter()
    for _ in range(100):
        SLOTS.of(text)
    return (time.perf_counter() - begin) / 100


def written(tmp_path, **changed):
    data = yaml.safe_load(SHIPPED.read_text()) | changed
    path = tmp_path / "slots.yaml"
    path.write_text(yaml.safe_dump(data, allow_unicode=True))
    return str(path)


def test_a_file_of_another_language_replaces_the_shipped_one(tmp_path):
    slots = {"geburtsdatum": {"words": "Geburtsdatum", "value": "jahr", "cues": ["geboren", "kam zur Welt"]}}
    found = load_slots(written(tmp_path, slots=slots, values={"jahr": r"\b\d{4}\b"}, pronouns=["er"]))
    assert found.of("Er kam zur Welt im Jahr 1890.") == ["geburtsdatum"]
    assert found.of("He was born in 1890.") == []


def test_cues_of_scripts_without_spaces_are_found_inside_a_run(tmp_path):
    slots = {"population": {"words": "人口", "value": "number", "cues": ["人口"]}}
    assert load_slots(written(tmp_path, slots=slots, values={"number": r"\d+"})).of("该市人口为5120人。") == [
        "population"
    ]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"slots": {"Birth": {"words": "birth", "value": "any", "cues": ["born"]}}},
            "slots.Birth: a name holds small letters",
        ),
        ({"slots": {"birth": {"words": "birth", "value": "any", "cues": []}}}, "slots.birth.cues"),
        (
            {"slots": {"birth": {"words": "birth", "value": "any", "cues": [" "]}}},
            "slots.birth.cues: ' ' holds no character",
        ),
        ({"slots": {"birth": {"words": "birth", "value": "any", "cues": [True]}}}, "slots.birth.cues.0"),
        (
            {"slots": {"birth": {"words": "birth", "value": "year", "cues": ["born"]}}},
            "slots.birth.value = 'year': is no kind",
        ),
        (
            {"slots": {"birth": {"words": "b", "value": "any", "cues": ["b"], "patterns": ["("]}}},
            "slots.birth.patterns: '('",
        ),
        ({"slots": {"birth": {"value": "any", "cues": ["born"]}}}, "slots.birth.words"),
        ({"values": {"date": "["}}, "values.date: '[': is no regular expression"),
        ({"colours": []}, "colours"),
    ],
)
def test_a_file_at_fault_is_refused_in_one_line_that_names_slot_and_rule(tmp_path, changed, said):
    with pytest.raises(ConfigError, match=r"slots\.yaml tells how") as refused:
        load_slots(written(tmp_path, **changed))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_or_no_yaml_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        load_slots(str(tmp_path / "none.yaml"))
    (tmp_path / "bad.yaml").write_text("slots: [")
    with pytest.raises(ConfigError, match="not valid YAML"):
        load_slots(str(tmp_path / "bad.yaml"))
