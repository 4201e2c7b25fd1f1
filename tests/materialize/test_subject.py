"""Whole visits of one subject: every way a model misbehaves ends in a defined error or fate."""

import asyncio
import json

import pytest

from llmpedia.config.walk import parse_config
from llmpedia.materialize.stages import Stages
from llmpedia.materialize.subject import SubjectItem, dump_visit, visit_subject
from llmpedia.stages import Completion
from llmpedia.tables import Fate

OUTLINE = '{"sections": ["Life", "Works"]}'
LEFT_OUT = "these phrases were left out or decided both ways"


def article(*links):
    return (
        f"'''Japan''' met {', '.join(f'[[{x}]]' for x in links)}.\n\n== Life ==\nLong.\n\n== Works ==\nMany."
    )


class Scripted:
    """Answers by stage: a list is used up in order, a function gets the request."""

    def __init__(self, answers):
        self.answers = {k: list(v) if isinstance(v, list) else v for k, v in answers.items()}
        self.asked = []

    async def complete(self, request):
        self.asked.append(request)
        answer = self.answers[request.stage]
        answer = (
            answer.pop(0) if isinstance(answer, list) else answer(request) if callable(answer) else answer
        )
        return answer if isinstance(answer, Completion) else Completion(answer, "stop")

    @property
    def stages(self):
        return [r.stage for r in self.asked]


def accept(request):
    """NER that accepts every phrase it is asked."""
    return json.dumps(dict.fromkeys(phrases(request), True))


def phrases(request, message=-1):
    return request.messages[message][1].partition("Candidates:\n")[2].split("\n")


def visit(answers, known=(), item=None, **sections):
    config = parse_config({"article": {"sections": [2, 3]}, **sections}, "test")
    client = Scripted({"outline": OUTLINE, "ner": accept, **answers})

    async def screen(keys):
        return [dict(known).get(key) for key in keys]

    item = SubjectItem(
        **{"subject_id": 7, "name": "Japan", "hop": 1, "visit": "generate", "expand": "full", **(item or {})}
    )
    return asyncio.run(visit_subject(item, config, Stages.of(config), client, screen)), client


def fates(done):
    return {row["name"]: row["fate"] for row in done.candidates}


BAD = {
    "empty": ("", "empty answer"),
    "thinks forever": ("<think>" + OUTLINE, "truncated: the <think> block never ends"),
    "cut off": (Completion(OUTLINE, "length"), "truncated: the token budget ended before the answer did"),
    "refusal": ("I'm sorry, I can't do that.", "no JSON object in the answer"),
    "malformed": ('{"sections": ["Life", }', "no JSON object in the answer"),
}
ORDER = ["self_grounding", "outline", "article", "ner"]
CASES = [(stage, case) for stage in ORDER for case in BAD if (stage, case) != ("article", "malformed")]


@pytest.mark.parametrize(("stage", "case"), CASES)
def test_stage_that_fails_twice_ends_the_visit_with_its_error(stage, case):
    bad, error = BAD[case]
    error = "refusal" if (stage, case) == ("article", "refusal") else error
    good = {
        "self_grounding": '{"summary": "s", "aliases": [], "salient_facts": []}',
        "outline": OUTLINE,
        "article": article("Karnak"),
    }
    done, client = visit({**good, stage: [bad, bad]}, run={"self_grounding": True})
    assert client.stages == [*ORDER[: ORDER.index(stage) + 1], stage]
    assert [r.stage for r, _ in done.completions] == client.stages
    if stage == "ner":
        (row,) = done.candidates
        assert (done.error, done.article["links"], row["fate"], row["reason"]) == (
            None,
            1,
            Fate.STAGE_ERROR,
            f"ner: {error}",
        )
        assert row["ner_completion"] == client.asked[-1].key
    else:
        assert (done.error_stage, done.error, done.article, done.candidates) == (stage, error, None, [])


@pytest.mark.parametrize("stage", ["outline", "article"])
def test_stage_that_recovers_leaves_no_error(stage):
    done, client = visit(
        {"article": article("Karnak"), stage: ["", OUTLINE if stage == "outline" else article("Karnak")]}
    )
    assert (done.error_stage, done.error, fates(done)) == (None, None, {"Karnak": None})
    column = "outline_completion" if stage == "outline" else "completion"
    assert done.article[column] == client.asked[client.stages.index(stage) + 1].key


def test_thought_fences_and_prose_around_answers_do_no_harm():
    outline = f"<think>{{}}</think>Sure:\n```json\n{OUTLINE}\n```"
    text = f"<think>[[No]]</think>\n```wikitext\n{article('Karnak')}\n```"
    done, _ = visit(
        {
            "outline": outline,
            "article": text,
            "ner": 'Here you are: {"Karnak": false} I hope that helps {you}.',
        }
    )
    assert (done.article["wikitext"], fates(done)) == (article("Karnak"), {"Karnak": Fate.NER_REJECTED})


@pytest.mark.parametrize(
    ("text", "missing", "extra"),
    [
        ("Lead.\n== Life ==\na\n== Works ==\nb", [], []),
        ("Lead.\n== LIFE ==\na\n=== Deep ===\nc\n== [[Works]] ==\nb", [], []),
        ("Lead.\n== Life ==\na", ["Works"], []),
        ("Lead.\n== Life story ==\na\n== Works ==\nb", ["Life"], ["Life story"]),
        ("Lead.\n=== Life ===\na\n== Works ==\nb\n== Works ==\nc", ["Life"], []),
        ("Only a lead.", ["Life", "Works"], []),
    ],
)
def test_article_with_other_headings_is_kept_and_they_are_listed(text, missing, extra):
    done, _ = visit({"article": text})
    assert (done.article["wikitext"], done.article["sections_missing"], done.article["sections_extra"]) == (
        text,
        missing,
        extra,
    )


def test_every_link_ends_in_its_fate():
    links = [
        "Karnak",
        "History of Japan",
        "JAPAN",
        "Bank of Japan",
        "Nile",
        "granite",
        "NILE",
        "Category:Places",
    ]
    ner = '{"Karnak": true, "Bank of Japan": true, "granite": false}'
    loop = Fate.SELF_OR_LOOP
    done, client = visit({"article": article(*links), "ner": ner}, {"nile": 3})
    assert fates(done) == dict(
        zip(links[:6], [None, loop, loop, None, Fate.KNOWN, Fate.NER_REJECTED], strict=True)
    )
    assert phrases(client.asked[-1]) == ["Karnak", "Bank of Japan", "granite"]
    assert [row["entity_id"] for row in done.candidates if row["fate"] == Fate.KNOWN] == [3]
    assert (done.article["links"], done.article["other_links"]) == (7, 1)


@pytest.mark.parametrize(
    ("first", "again", "asks", "fate"),
    [
        ('{"granite": false}', '{"Karnak": true}', 2, None),
        ('{"granite": false}', '{"Karnak": false}', 2, Fate.NER_REJECTED),
        ('{"granite": false}', '{"granite": false}', 3, Fate.NER_OMITTED),
        ('{"granite": false, "Temple of Karnak": true}', '{"Temple of Karnak": true}', 3, Fate.NER_OMITTED),
        ('{"granite": false, "Karnak": true, "Karnak": false}', '{"Karnak": true}', 2, None),
        (
            '{"granite": false, "Karnak": true, "Karnak": false}',
            '{"Karnak": false, "Karnak": true}',
            2,
            Fate.NER_OMITTED,
        ),
        ('{"granite": false, "Karnak": "false"}', '{"Karnak": "false"}', 3, Fate.NER_OMITTED),
    ],
)
def test_undecided_phrase_is_asked_once_more_then_omitted(first, again, asks, fate):
    done, _ = visit({"article": article("Karnak", "granite"), "ner": [first, again, again]})
    asked = [r for r, _ in done.completions if r.stage == "ner"]
    assert fates(done) == {"Karnak": fate, "granite": Fate.NER_REJECTED}
    assert phrases(asked[1], -3) == ["Karnak"]
    assert [role for role, _ in asked[1].messages[-3:]] == ["user", "assistant", "user"]
    assert (asked[1].messages[-2][1], LEFT_OUT in asked[1].messages[-1][1]) == (first, True)
    assert ([row["ner_completion"] for row in done.candidates], len(asked)) == (
        [asked[-1].key, asked[0].key],
        asks,
    )


def test_a_chunk_that_is_undecided_whole_is_asked_by_another_request():
    """The second question was the same request as the first, so that its answer was the first
    answer again.
    """
    both = '{"Karnak": true, "Karnak": false, "Nile": true, "nile": false}'
    done, client = visit(
        {"article": article("Karnak", "Nile"), "ner": [both, '{"Karnak": true, "Nile": false}']}
    )
    first, second = client.asked[-2:]
    assert (phrases(first), phrases(second, -3), first.key != second.key) == (
        ["Karnak", "Nile"],
        ["Karnak", "Nile"],
        True,
    )
    assert second.messages == (*first.messages, ("assistant", both), second.messages[-1])
    assert fates(done) == {"Karnak": None, "Nile": Fate.NER_REJECTED}
    assert {row["ner_completion"] for row in done.candidates} == {second.key}


def test_failure_of_the_second_asking_keeps_the_decided():
    done, _ = visit(
        {"article": article("Karnak", "granite"), "ner": ['{"granite": true}', Completion(error="HTTP 500")]}
    )
    assert fates(done) == {"Karnak": Fate.NER_OMITTED, "granite": None}


def test_ner_asks_in_chunks_and_one_failing_chunk_spares_the_others():
    def ner(request):
        return Completion(error="engine: HTTP 400") if "P3" in phrases(request) else accept(request)

    done, _ = visit({"article": article(*(f"P{i}" for i in range(5))), "ner": ner}, entities={"ner_chunk": 2})
    assert [phrases(r) for r, _ in done.completions[2:]] == [["P0", "P1"], ["P2", "P3"], ["P4"]]
    assert [row["fate"] for row in done.candidates] == [None, None, Fate.STAGE_ERROR, Fate.STAGE_ERROR, None]


@pytest.mark.parametrize(
    ("raw", "fate", "confidence"),
    [
        ('{"is_ne": true, "confidence": 0.75}', None, 0.75),
        ('{"is_ne": true, "confidence": 0.74}', Fate.NER_LOW_CONFIDENCE, 0.74),
        ('{"is_ne": false, "confidence": 0.9}', Fate.NER_REJECTED, 0.9),
        ('{"is_ne": true}', Fate.NER_OMITTED, None),
    ],
)
def test_calibrated_ner_needs_confidence(raw, fate, confidence):
    ner = f'{{"Karnak": {raw}, "granite": {{"is_ne": true, "confidence": 1.0}}}}'
    done, _ = visit(
        {"article": article("Karnak", "granite"), "ner": lambda _: ner}, run={"prompting": "calibrated"}
    )
    assert fates(done) == {"Karnak": fate, "granite": None}
    assert done.candidates[0]["ner_confidence"] == confidence


@pytest.mark.parametrize("cap", ["depth_cap", "subject_cap"])
def test_open_candidates_end_at_the_cap_and_ner_is_not_asked(cap):
    done, client = visit({"article": article("Karnak", "Nile", "Japan")}, {"nile": 3}, {"expand": cap})
    assert fates(done) == {"Karnak": Fate(cap), "Nile": Fate.KNOWN, "Japan": Fate.SELF_OR_LOOP}
    assert client.stages == ["outline", "article"]


def test_titles_are_written_and_not_expanded():
    done, client = visit({"article": article("X")}, item={"expand": "none"})
    assert (done.article["links"], done.candidates, client.stages) == (1, [], ["outline", "article"])


def test_expand_visit_reads_the_stored_article():
    done, client = visit({}, item={"visit": "expand", "wikitext": article("Karnak")})
    assert (done.article, fates(done), client.stages) == (None, {"Karnak": None}, ["ner"])


def test_article_without_links_asks_no_ner():
    done, client = visit({"article": article()})
    assert (done.error, done.candidates, client.stages) == (None, [], ["outline", "article"])


def test_dumped_completions_are_rows_in_stage_order():
    done, client = visit({"article": ["", article("Karnak")]})
    rows = dump_visit(done)["completions"]
    assert [(r["stage"], r["key"], r["subject_id"]) for r in rows] == [
        (r.stage, r.key, 7) for r in client.asked
    ]
    assert json.loads(rows[0]["messages"]) == client.asked[0].chat()
