"""A stage's machinery: reading answers, asking again, keys of requests."""

import asyncio
import dataclasses
import json

import pytest

from llmpedia.config.walk import parse_config
from llmpedia.materialize.stages import Stages, Subject
from llmpedia.stages import (
    AnswerError,
    Completion,
    Constraint,
    Request,
    answer_text,
    ask,
    parse_object,
    parse_only_object,
    without_thought,
)

GOOD = '{"sections": ["Life", "Works"]}'
REQUEST = Request("outline", "m", (("system", "s"), ("user", "u")), None, "{}")


class Scripted:
    """Answers in order; an answer too many is an IndexError."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def complete(self, request):
        self.asked.append(request)
        answer = self.answers.pop(0)
        return answer if isinstance(answer, Completion) else Completion(answer, "stop")


def outline(*answers, malformed=1, rejected=None):
    config = parse_config({"article": {"sections": [2, 3]}, "retries": {"malformed": malformed}}, "test")
    client = Scripted(*answers)
    return asyncio.run(ask(client, Stages.of(config).named("outline"), Subject("Ada"), rejected)), client


def retold(why):
    return "user", f"That answer cannot be used: {why}. Answer again, exactly in the form asked for."


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (" text\n", "text"),
        ("<think>hm</think>text", "text"),
        ("\n<think>a\nb\n</think>\n\ntext", "text"),
        ("<think></think>text", "text"),
        ("text <think>hm</think>", "text <think>hm</think>"),
        ("<think>a</think>text<think>b</think>", "text<think>b</think>"),
        ("hm\nhm\n</think>\n\ntext", "text"),
        ("</think>text", "text"),
        ("hm</think>text</think>more", "text</think>more"),
        ("hm</think>text <think>a</think>", "text <think>a</think>"),
    ],
)
def test_answer_is_what_follows_the_closed_think_block(text, answer):
    """Where the chat template opens the block in the prompt, the answer holds its end alone."""
    assert answer_text(Completion(text, "stop")) == answer


@pytest.mark.parametrize(
    ("text", "finish", "error"),
    [
        ("", "stop", "empty answer"),
        (" \n", "stop", "empty answer"),
        ("<think>hm</think> ", "stop", "empty answer"),
        ("hm</think> ", "stop", "empty answer"),
        ("hm</think><think>b", "stop", "truncated: the <think> block never ends"),
        ("<think>hm", "stop", "truncated: the <think> block never ends"),
        ("<think>a</think><think>b", "stop", "truncated: the <think> block never ends"),
        ("text", "length", "truncated: the token budget ended before the answer did"),
        ("", "length", "truncated: the token budget ended before the answer did"),
    ],
)
def test_text_that_is_no_whole_answer_is_an_error(text, finish, error):
    with pytest.raises(AnswerError) as caught:
        answer_text(Completion(text, finish))
    assert str(caught.value) == error


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1]}',
        '```json\n{"a": [1]}\n```',
        '```\n{"a": [1]}```',
        'Sure! Here it is:\n{"a": [1]}\nDo you want more?',
        'As {asked}, with {braces}: {"a": [1]}',
        '[{"a": [1]}, {"b": 2}]',
        '{"a": [1]} {"b": 2}',
    ],
)
def test_first_json_object_is_found_in_fences_and_prose(text):
    assert parse_object(text) == {"a": [1]}


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        "[1, 2]",
        '"{"',
        "{'a': 1}",
        '{"a": 1',
        '{"a": tru}',
        '{"a":' * 5000,
        pytest.param('{"a": ' + "1" * 5000 + "}", id="number of 5000 digits"),
    ],
)
def test_text_without_a_json_object_is_an_error(text):
    """A number of more than 4300 digits was a ValueError that ended the run."""
    with pytest.raises(AnswerError, match="no JSON object in the answer"):
        parse_object(text)


@pytest.mark.parametrize(
    "text", ['{"a": [1]}', '```json\n{"a": [1]}\n```', 'Here:\n{"a": [1]}\nMore?', '{"a": [1]}']
)
def test_only_object_is_found_in_fences_and_prose(text):
    assert parse_only_object(text) == {"a": [1]}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "7",
        '"text"',
        "[1]",
        '{"a": 1',
        '{"a": 1} {"b": 2}',
        'It says {"a": 1}, so: {"a": 2}',
        '{"a": "it says {"a": 1}"}',
        "As {asked}: {}",
        '{"a":' * 5000,
        pytest.param('{"a": ' + "1" * 5000 + "}", id="number of 5000 digits"),
    ],
)
def test_answer_that_quotes_another_object_cannot_be_used(text):
    """The first object of a judge's answer could be one that it quotes from the text under
    judgement.
    """
    with pytest.raises(AnswerError):
        parse_only_object(text)


def test_text_without_its_thought_may_be_empty():
    assert (without_thought("<think>hm</think> \n"), without_thought(" a ")) == ("", "a")


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        (r"\ud83d\ude00", "\U0001f600"),
        (r"\uD83D\uDE00!", "\U0001f600!"),
        (r"a\ud83db", "a\ufffdb"),
        (r"a\ude00b", "a\ufffdb"),
        (r"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (r"\ud83d\ude00\ude00", "\U0001f600\ufffd"),
        (r"\ude00\ud83d", "\ufffd\ufffd"),
        (r"\ud83d\u00e9", "\ufffdé"),
        (r"\ud7ff\ue000", "\ud7ff\ue000"),
        (r"C:\\ud83d", r"C:\ud83d"),
        (r"\\ud83d\ude00", "\\ud83d\ufffd"),
        (r"\\\ud83d", "\\\ufffd"),
    ],
)
def test_half_a_character_is_replaced_and_nothing_else(escaped, text):
    value = parse_object(f'{{"{escaped}": ["{escaped}"]}}')
    assert (value, value.pairs) == ({text: [text]}, [(text, [text])])
    assert text.encode()


def test_repeated_keys_are_remembered_at_every_level():
    value = parse_object('{"a": {"x": 1, "x": 2}, "a": true}')
    assert [key for key, _ in value.pairs] == ["a", "a"]
    assert value.pairs[0][1].pairs == [("x", 1), ("x", 2)]


def test_good_answer_is_asked_for_once():
    reply, client = outline(GOOD)
    assert (reply.value, reply.error, len(client.asked)) == (("Life", "Works"), None, 1)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("", "empty answer"),
        ("<think>", "truncated: the <think> block never ends"),
        ("I'm sorry.", "no JSON object in the answer"),
        ('{"sections": ["Life"]}', "1 different headings, 2 to 3 are asked for"),
        (Completion("{", "length"), "truncated: the token budget ended before the answer did"),
    ],
)
def test_bad_answer_is_asked_again_with_the_reason(bad, why):
    reply, client = outline(bad, GOOD)
    assert (reply.value, reply.error) == (("Life", "Works"), None)
    first, again = (r.messages for r in client.asked)
    text = bad.text if isinstance(bad, Completion) else bad
    assert again == (*first, ("assistant", text or "(empty)"), retold(why))


def test_a_question_may_carry_an_earlier_answer_and_why_it_would_not_do():
    plain = outline(GOOD)[1].asked[0]
    client = outline("no", GOOD, rejected=("early", "too short"))[1]
    assert client.asked[0].messages == (*plain.messages, ("assistant", "early"), retold("too short"))
    assert client.asked[1].messages == (
        *plain.messages,
        ("assistant", "no"),
        retold("no JSON object in the answer"),
    )
    assert len({r.key for r in (plain, *client.asked)}) == 3


def test_second_bad_answer_is_the_error_and_both_are_kept():
    reply, client = outline("no", '{"sections": 1}')
    assert (reply.value, reply.error) == (None, 'the answer is not {"sections": ["...", "..."]}')
    assert [c.text for _, c in reply.completions] == ["no", '{"sections": 1}']
    assert reply.key == client.asked[1].key != client.asked[0].key


def test_malformed_zero_asks_once():
    reply, client = outline("no", malformed=0)
    assert (reply.error, len(client.asked)) == ("no JSON object in the answer", 1)


def test_engine_error_is_not_asked_again():
    reply, client = outline(Completion(error="engine: HTTP 400: too long"))
    assert (reply.value, reply.error, len(client.asked)) == (None, "engine: HTTP 400: too long", 1)


def test_engine_error_after_a_bad_answer_is_the_error():
    reply, _ = outline("no", Completion(error="engine: HTTP 400"))
    assert (reply.value, reply.error, len(reply.completions)) == (None, "engine: HTTP 400", 2)


def test_long_bad_answer_is_retold_in_part():
    _, client = outline("x" * 10_000, GOOD)
    assert client.asked[1].messages[-2] == ("assistant", "x" * 500)


@pytest.mark.parametrize(
    "change",
    [
        {"stage": "ner"},
        {"model": "n"},
        {"messages": (("user", "s"), ("user", "u"))},
        {"messages": (("system", "su"), ("user", ""))},
        {"constraint": "{}"},
        {"sampling": '{"seed": 1}'},
    ],
)
def test_request_key_changes_with_everything_that_is_sent(change):
    assert dataclasses.replace(REQUEST, **change).key != REQUEST.key


def test_equal_requests_have_one_key():
    assert dataclasses.replace(REQUEST).key == REQUEST.key


def test_chat_is_role_and_content():
    assert REQUEST.chat() == [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]


@pytest.mark.parametrize(
    ("constraint", "dumped"),
    [
        (Constraint(), None),
        (Constraint(json_schema={}), {"json_schema": {}}),
        (Constraint(grammar='root ::= "é"'), {"grammar": 'root ::= "é"'}),
    ],
)
def test_constraint_is_dumped_whole(constraint, dumped):
    text = constraint.dumps()
    assert (text if text is None else json.loads(text)) == dumped


def test_stage_settings_reach_its_requests_only():
    config = parse_config(
        {"stages": {"article": {"temperature": 0.7, "max_tokens": 99, "reasoning_effort": "low"}}}, "test"
    )
    stages = Stages.of(config)
    article, outline = (
        json.loads(stage.request(Subject("Ada")).sampling)
        for stage in (stages.named("article"), stages.named("outline"))
    )
    assert article.items() >= {"temperature": 0.7, "max_tokens": 99, "reasoning_effort": "low"}.items()
    assert outline.items() >= {"temperature": 0.0, "max_tokens": 1024, "reasoning_effort": None}.items()
