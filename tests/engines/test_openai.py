"""llmpedia/engines/openai.py against a real HTTP server: what is worth another try, what is final,
what is sent.
"""

import asyncio
import json

import pytest
from aiohttp import web

from llmpedia.config.engine import OpenAISection
from llmpedia.engines.client import Client, GroupCommit
from llmpedia.engines.concurrency.client import Permits
from llmpedia.engines.openai import OpenAIEngine
from llmpedia.errors import ConfigError, EngineError, TransientError
from llmpedia.stages import Completion, Constraint
from llmpedia.store.files import Folder
from llmpedia.store.journal import JournalWriter, read_wave
from tests.support.builders.runs import OPENAI, make_config, make_request, one_line
from tests.support.endpoint import ERROR, Server, chat, reply


async def cut(request):
    """The connection ends in the middle of the answer."""
    response = web.StreamResponse(headers={"Content-Length": "100"})
    await response.prepare(request)
    await response.write(b'{"choices": [')
    request.transport.close()
    return response


async def too_slow(request):
    await asyncio.sleep(5)


TRANSIENT = {
    "429": (reply(ERROR, 429), "HTTP 429"),
    "408": (reply(ERROR, 408), "HTTP 408"),
    "500": (reply(ERROR, 500), "HTTP 500"),
    "503 with HTML": (reply("<html>busy</html>", 503), "HTTP 503"),
    "cut connection": (cut, "ClientPayloadError"),
    "time out": (too_slow, "TimeoutError"),
    "not JSON": (reply("<html>welcome</html>"), "JSONDecodeError"),
    "empty": (reply(""), "JSONDecodeError"),
    "JSON without a choice": (reply({"choices": []}), "IndexError"),
    "JSON of another shape": (reply([1, 2]), "KeyError"),
    "a choice without a message": (reply({"choices": [{}]}), "KeyError"),
}


@pytest.mark.parametrize(("handler", "says"), TRANSIENT.values(), ids=TRANSIENT)
def test_what_may_pass_is_transient(handler, says):
    with pytest.raises(TransientError, match=says):
        Server(handler).generate(request_timeout_s=1)


def test_nobody_listening_is_transient():
    engine = OpenAIEngine(make_config().engine)

    async def generate():
        try:
            return await engine.generate(make_request())
        finally:
            await engine.close()

    with pytest.raises(TransientError, match="Connect"):
        asyncio.run(generate())


@pytest.mark.parametrize(
    ("header", "wait_s"),
    [
        ("2.5", 2.5),
        ("600", 600.0),
        ("86400", 600.0),
        ("1e30", 600.0),
        ("-1", 0.0),
        (None, None),
        ("", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("inf", None),
        ("-inf", None),
        ("nan", None),
    ],
)
def test_retry_after_is_told_with_the_error_up_to_ten_minutes(header, wait_s):
    """A worker slept for as long as an endpoint asked for, "inf" included."""
    with pytest.raises(TransientError) as caught:
        Server(reply(ERROR, 429, **({} if header is None else {"Retry_After": header}))).generate()
    assert caught.value.wait_s == wait_s


@pytest.mark.parametrize("status", [400, 413, 422])
def test_what_no_retry_would_mend_is_an_answer_with_the_endpoints_words(status):
    answer = Server(reply(ERROR, status)).generate()
    assert answer == Completion(error=f"engine: HTTP {status}: no such model")


@pytest.mark.parametrize("status", [401, 403, 404])
def test_an_endpoint_that_refuses_us_altogether_is_no_answer(status):
    """A wrong key was an answer with an error, to every request of a run that went on to its end."""
    with pytest.raises(EngineError) as caught:
        Server(reply(ERROR, status)).generate()
    one_line(caught, "http://127.0.0.1:", "/v1/chat/completions", f"HTTP {status}: no such model")
    one_line(caught, "base_url", "model", "api_key_env")


BODIES = [
    "404: Not Found",
    "<html>\nNot Found</html>",
    "",
    '"Not Found"',
    '["Not Found"]',
    "null",
    '{"error": null}',
]


@pytest.mark.parametrize("body", BODIES)
def test_a_final_error_is_final_whatever_its_body(body):
    answer = Server(reply(body, 400)).generate()
    assert answer.error.startswith("engine: HTTP 400")
    assert ("Not Found" in answer.error, "\n" in answer.error) == ("Not Found" in body, False)


@pytest.mark.parametrize("body", BODIES)
def test_a_refusal_is_one_whatever_its_body(body):
    with pytest.raises(EngineError) as caught:
        Server(reply(body, 404)).generate()
    assert ("Not Found" in one_line(caught, "HTTP 404", "base_url")) == ("Not Found" in body)


def through_client(server, folder, sampling="{}"):
    """What a client with three tries makes of one request, and how many answers it journals."""
    retries = make_config(retries={"attempts": 3, "first_wait_s": 0.0}).retries

    async def complete(openai):
        client = Client(openai, {}, GroupCommit(JournalWriter(Folder(folder), 0, "w")), retries, Permits(4))
        return await asyncio.gather(client.complete(make_request(sampling=sampling)), return_exceptions=True)

    (found,) = server.ask(complete)
    return found, len(read_wave(Folder(folder), 0))


@pytest.mark.parametrize(
    ("status", "tries", "probes", "outcome"),
    [
        (400, 1, 0, Completion),
        (401, 1, 0, EngineError),
        (403, 1, 0, EngineError),
        (404, 1, 0, EngineError),
        (500, 3, 1, EngineError),
        (429, 3, 1, EngineError),
    ],
)
def test_only_what_may_pass_is_tried_again(tmp_path, status, tries, probes, outcome):
    server = Server(reply(ERROR, status))
    found, journaled = through_client(server, tmp_path)
    assert (type(found), journaled) == (outcome, outcome is Completion)
    assert [body["messages"][0]["content"] for body in server.bodies] == ["hello"] * tries + [
        "Are you there?"
    ] * probes


def test_a_request_that_breaks_the_endpoint_each_time_is_told_from_an_outage(tmp_path):
    """Each try of it is a 500; the probe, for a short answer under the same settings, is answered."""

    async def handle(request):
        probe = (await request.json())["max_tokens"] == 16
        return await reply(*((chat("Yes"),) if probe else (ERROR, 500)))(request)

    server = Server(handle)
    found, journaled = through_client(server, tmp_path, '{"temperature": 0.5, "max_tokens": 999}')
    assert (found.error, journaled) == ("engine: failed 3 times, last: HTTP 500", 1)
    assert [(b["temperature"], b["max_tokens"]) for b in server.bodies] == [(0.5, 999)] * 3 + [(0.5, 16)]


def test_an_answer_comes_with_its_finish_and_usage():
    assert Server(reply(chat("text", "length"))).generate() == Completion("text", "length", 3, 5)


@pytest.mark.parametrize("missing", ["content", "usage"])
def test_an_answer_without_content_or_usage_is_still_an_answer(missing):
    body = chat(None) if missing == "content" else {k: v for k, v in chat("text").items() if k != "usage"}
    answer = Server(reply(body)).generate()
    assert (answer.text, answer.error, answer.prompt_tokens) == (
        ("", None, 3) if missing == "content" else ("text", None, None)
    )


def test_an_answer_with_half_a_character_can_be_journaled(tmp_path):
    """JSON may hold a lone surrogate, which no file and no Parquet column can."""
    answer = Server(reply('{"choices": [{"message": {"content": "half \\ud83d of it"}}]}')).generate()
    assert answer.text.encode().decode() == answer.text
    assert answer.text.startswith("half ")


def test_a_schema_is_sent_as_response_format():
    schema = {"type": "object", "properties": {"z": {}, "a": {}}}
    server = Server(reply(chat("{}")))
    server.generate(make_request(stage="ner", constraint=Constraint(json_schema=schema).dumps()))
    sent = server.bodies[0]["response_format"]
    assert sent == {"type": "json_schema", "json_schema": {"name": "ner", "schema": schema, "strict": True}}
    assert list(sent["json_schema"]["schema"]["properties"]) == ["z", "a"]


def test_free_text_is_asked_for_without_response_format():
    server = Server(reply(chat("text")))
    server.generate()
    assert "response_format" not in server.bodies[0]


def test_messages_sampling_and_extra_are_sent_and_nulls_are_not():
    server = Server(reply(chat("text")))
    sampling = json.dumps({"temperature": 0.5, "max_tokens": 9, "seed": 1, "reasoning_effort": None})
    server.generate(make_request("hi", sampling=sampling), extra={"top_p": 0.9})
    assert server.bodies[0] == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "temperature": 0.5,
        "max_tokens": 9,
        "seed": 1,
        "top_p": 0.9,
    }


def test_the_key_is_sent_and_never_kept(monkeypatch):
    monkeypatch.setenv("TEST_KEY", "secret")
    server = Server(reply(chat("text")))
    answer = server.generate(api_key_env="TEST_KEY")
    assert server.headers[0]["Authorization"] == "Bearer secret"
    assert "secret" not in repr(answer)


def test_a_key_that_is_not_set_is_named(monkeypatch):
    monkeypatch.delenv("TEST_KEY", raising=False)
    with pytest.raises(ConfigError) as caught:
        OpenAIEngine(OpenAISection(**{**OPENAI, "api_key_env": "TEST_KEY"}))
    one_line(caught, "api_key_env", "'TEST_KEY'", "not set")
