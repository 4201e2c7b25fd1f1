"""Each stage's reading of its answer, and what binds it."""

import json

import pytest

from llmpedia.config.walk import parse_config
from llmpedia.materialize.stages import Decision, Fact, FactSheet, Likeness, Phrases, Stages, Subject, letter
from llmpedia.stages import AnswerError

ASKED = Phrases("S", ("Karnak", "granite", "Abu  Simbel"))
NEAR = Likeness("Deutschland", ("Germany", "Dresden"))
YES = Decision(True)
NO = Decision(False)


def stages(prompting="baseline", **entities):
    run = {"prompting": prompting}
    return Stages.of(
        parse_config({"run": run, "article": {"sections": [2, 3]}, "entities": entities}, "test")
    )


def outline(text):
    return stages().named("outline").parse(Subject("S"), text)


def sections(*titles):
    return json.dumps({"sections": titles})


@pytest.mark.parametrize(
    ("answer", "headings"),
    [
        (sections("Life", "Works"), ("Life", "Works")),
        (sections("Life", "Life", "LIFE.", "Works"), ("Life", "Works")),
        (sections("A", "B", "C", "D", "E"), ("A", "B", "C")),
        (sections("== Life ==", "[[Works]]", "* ''x''"), ("Life", "Works", "''x''")),
        (sections("", " ", "==", "Life", "Works"), ("Life", "Works")),
        (sections("Life\n and\ttimes", "दिल्ली"), ("Life and times", "दिल्ली")),
        (f"```json\n{sections('Life', 'Works')}\n```", ("Life", "Works")),
        ('{"sections": ["Life\\u0000", "W\\ud800orks"]}', ("Life", "W\ufffdorks")),
    ],
)
def test_outline_is_distinct_plain_headings_up_to_the_largest_number(answer, headings):
    """A NUL broke the grammar of guided articles; half a surrogate pair, which could not be written
    anywhere, is replaced.
    """
    assert outline(answer) == headings


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (sections("Life"), "1 different headings, 2 to 3 are asked for"),
        (sections("Life", "life", "Life!"), "1 different headings, 2 to 3 are asked for"),
        (sections(), "0 different headings, 2 to 3 are asked for"),
        ('{"sections": "Life, Works"}', 'the answer is not {"sections": ["...", "..."]}'),
        ('{"sections": ["Life", 2]}', 'the answer is not {"sections": ["...", "..."]}'),
        ('{"headings": ["Life", "Works"]}', 'the answer is not {"sections": ["...", "..."]}'),
        ('{"sections": ["Life", "Works"', "no JSON object in the answer"),
        ("I cannot plan that.", "no JSON object in the answer"),
    ],
)
def test_unusable_outline_is_an_error(answer, error):
    with pytest.raises(AnswerError) as caught:
        outline(answer)
    assert str(caught.value) == error


def facts(confidence="0.9", extra=""):
    fact = f'{{"predicate": "in", "object": "Nubia", "confidence": {confidence}}}'
    return (
        stages()
        .named("self_grounding")
        .parse(Subject("S"), f'{{"summary": "s", "aliases": [], "salient_facts": [{fact}]{extra}}}')
    )


@pytest.mark.parametrize(("confidence", "value"), [("0.9", 0.9), ("1", 1.0), ("0", 0.0)])
def test_fact_sheet_is_read(confidence, value):
    fact = Fact(predicate="in", object="Nubia", confidence=value)
    assert facts(confidence) == FactSheet(summary="s", aliases=[], salient_facts=[fact])


@pytest.mark.parametrize(
    "confidence", ['"0.9"', "true", "null", "1.1", "-0.1", "NaN", "Infinity", "1" + "0" * 400]
)
def test_fact_without_a_confidence_from_0_to_1_is_an_error(confidence):
    with pytest.raises(AnswerError, match=r"not a fact sheet: .*'confidence'"):
        facts(confidence)


def test_fact_sheet_with_another_key_is_an_error():
    with pytest.raises(AnswerError, match=r"not a fact sheet: .*'notes'"):
        facts(extra=', "notes": ""')


def test_facts_below_the_threshold_are_not_told():
    told = [Fact(predicate=p, object="x", confidence=c) for p, c in [("sure", 0.75), ("unsure", 0.74)]]
    subject = Subject("S", facts=FactSheet(summary="s", aliases=["T"], salient_facts=told))
    assert (
        stages().named("outline").values(subject)["facts_block"]
        == "What you know of it: s\nAlso known as: T\n- sure: x"
    )


WIKI = "'''S''' is a [[Place]].\n\n== Life ==\nLong."


@pytest.mark.parametrize(
    ("answer", "wikitext"),
    [
        (WIKI, WIKI),
        (f"```wikitext\n{WIKI}\n```", WIKI),
        (f"```\n{WIKI}\n```", WIKI),
        (
            "I'm sorry to say he was poor.\n== Life ==\nLong.",
            "I'm sorry to say he was poor.\n== Life ==\nLong.",
        ),
        ("'''S''' cannot be moved.", "'''S''' cannot be moved."),
        ("I Can Not Be Moved is a song.\n== Life ==\nx", "I Can Not Be Moved is a song.\n== Life ==\nx"),
    ],
)
def test_article_is_kept_as_written_without_fences(answer, wikitext):
    assert stages().named("article").parse(Subject("S"), answer) == wikitext


@pytest.mark.parametrize(
    "answer",
    [
        "I'm sorry, but I can't write about that.",
        "I\u2019m sorry, but I can\u2019t write about that.",
        "I can\u2019t help with that.",
        "**I cannot** help with that.",
        "I can not write about S.",
        "I am not able to write about S.",
        "I'm not able to write about S.",
        "As an AI language model, I have no memory.",
        "Unfortunately, I know nothing of [[S]].",
        "```\nSorry, no.\n```",
    ],
)
def test_refusal_is_no_article(answer):
    """Refusals with a typographic apostrophe were kept as articles."""
    with pytest.raises(AnswerError, match=r"^refusal$"):
        stages().named("article").parse(Subject("S"), answer)


@pytest.mark.parametrize(
    "answer", ["== Life ==", "{{Infobox|a=b}}", "<!-- nothing -->", "[[Category:X]]", "```\n```"]
)
def test_article_without_words_is_an_error(answer):
    with pytest.raises(AnswerError, match=r"^empty article$"):
        stages().named("article").parse(Subject("S"), answer)


def test_guided_article_is_bound_to_its_outline():
    config = parse_config({"article": {"guided": True, "guided_links": 2}}, "test")
    constraint = Stages.of(config).named("article").constraint(Subject('"S"', ("Life",)))
    assert "\\n\\n== Life ==\\n" in constraint.grammar and "'''\\\"S\\\"''' " in constraint.grammar


def ner(answer, prompting="baseline", asked=ASKED):
    return (
        stages(prompting).named("ner").parse(asked, answer if isinstance(answer, str) else json.dumps(answer))
    )


@pytest.mark.parametrize(
    ("answer", "decisions"),
    [
        (
            {"Karnak": True, "granite": False, "Abu  Simbel": True},
            {"Karnak": YES, "granite": NO, "Abu  Simbel": YES},
        ),
        (
            {"phrases": [{"phrase": "Karnak", "is_ne": True}, {"phrase": "granite", "is_ne": False}]},
            {"Karnak": YES, "granite": NO},
        ),
        ({"phrases": {"Karnak": True}}, {"Karnak": YES}),
        ({"Karnak": {"is_ne": True}}, {"Karnak": YES}),
        ({"KARNAK ": True, "abu simbel": False}, {"Karnak": YES, "Abu  Simbel": NO}),
        ('Here:\n```json\n{"Karnak": true}\n```\nDone.', {"Karnak": YES}),
        ('{"Karnak": true, "Karnak": true}', {"Karnak": YES}),
        ('{"Karnak": true, "granite": true, "Karnak": false}', {"granite": YES}),
        ('{"Karnak": true, "karnak": false}', {}),
        ({"Temple of Karnak": True, "granite": False}, {"granite": NO}),
        ({"Karnak": "false", "granite": False}, {"granite": NO}),
        ({"Karnak": 1, "Abu  Simbel": None, "granite": False}, {"granite": NO}),
        (
            {"phrases": [None, "Karnak", {"is_ne": True}, {"phrase": "granite", "is_ne": False}]},
            {"granite": NO},
        ),
    ],
)
def test_ner_value_holds_the_phrases_decided_one_way(answer, decisions):
    assert ner(answer) == decisions


@pytest.mark.parametrize(
    "answer", ["{}", {"Karnak": "true"}, {"Temple of Karnak": True}, {"phrases": []}, {"phrases": ["Karnak"]}]
)
def test_ner_answer_that_decides_nothing_is_an_error(answer):
    with pytest.raises(AnswerError, match="no phrase is decided"):
        ner(answer)


@pytest.mark.parametrize(
    ("raw", "decisions"),
    [
        ({"is_ne": True, "confidence": 0.8}, {"Karnak": Decision(True, 0.8)}),
        ({"is_ne": False, "confidence": 1}, {"Karnak": Decision(False, 1.0)}),
        ({"is_ne": True}, {}),
        (True, {}),
        ({"is_ne": True, "confidence": None}, {}),
        ({"is_ne": True, "confidence": "0.9"}, {}),
        ({"is_ne": True, "confidence": True}, {}),
        ({"is_ne": True, "confidence": 1.01}, {}),
        ({"is_ne": True, "confidence": float("nan")}, {}),
        ({"is_ne": "true", "confidence": 0.9}, {}),
    ],
)
def test_calibrated_decision_needs_a_confidence_from_0_to_1(raw, decisions):
    sure = {"is_ne": False, "confidence": 0.5}
    assert ner({"Karnak": raw, "granite": sure}, "calibrated") == {
        **decisions,
        "granite": Decision(False, 0.5),
    }


def test_agreeing_repeats_count_with_the_lowest_confidence():
    rows = [{"phrase": "Karnak", "is_ne": True, "confidence": c} for c in (0.9, 0.7, 0.8)]
    assert ner({"phrases": rows}, "calibrated") == {"Karnak": Decision(True, 0.7)}


@pytest.mark.parametrize("prompting", ["baseline", "calibrated"])
def test_candidate_named_phrases_is_a_candidate(prompting):
    """Its calibrated decision was taken for the list of all rows, and the whole chunk was lost."""
    decision = {"is_ne": True, "confidence": 0.9} if prompting == "calibrated" else True
    found = ner({"phrases": decision, "Karnak": decision}, prompting, Phrases("S", ("phrases", "Karnak")))
    assert found == dict.fromkeys(
        ["phrases", "Karnak"], Decision(True, 0.9 if prompting == "calibrated" else None)
    )


@pytest.mark.parametrize("prompting", ["baseline", "calibrated"])
def test_keyed_schema_requires_one_decision_a_phrase(prompting):
    schema = stages(prompting).named("ner").constraint(ASKED).json_schema
    assert (list(schema["properties"]), schema["required"]) == (list(ASKED.phrases), list(ASKED.phrases))
    assert schema["additionalProperties"] is False


def test_row_schema_allows_asked_phrases_only_and_as_many():
    rows = (
        stages("calibrated", ner_answer="rows")
        .named("ner")
        .constraint(ASKED)
        .json_schema["properties"]["phrases"]
    )
    assert (rows["minItems"], rows["maxItems"]) == (3, 3)
    assert rows["items"]["properties"]["phrase"] == {"enum": list(ASKED.phrases)}
    assert rows["items"]["required"] == ["phrase", "is_ne", "confidence"]


@pytest.mark.parametrize(("answer", "value"), [("A", 0), ("B", 1), ("none", None)])
def test_arbiter_names_a_known_entity_or_none(answer, value):
    assert stages().named("arbitration").parse(NEAR, json.dumps({"duplicate_of": answer})) == value


@pytest.mark.parametrize("answer", ["C", "a", "", "None", None, 0, ["A"], "Germany"])
def test_arbiter_that_names_nothing_asked_is_an_error(answer):
    with pytest.raises(AnswerError) as caught:
        stages().named("arbitration").parse(NEAR, json.dumps({"duplicate_of": answer}))
    assert str(caught.value) == f"duplicate_of is {answer!r}; one of A, B or none is asked for"


def test_arbiter_schema_is_the_letters_and_none():
    schema = stages().named("arbitration").constraint(NEAR).json_schema
    assert schema["properties"]["duplicate_of"] == {"enum": ["A", "B", "none"]}


def test_letters_do_not_repeat():
    assert len({letter(i) for i in range(1000)}) == 1000
