"""llmpedia/engines/openai.py against a real HTTP server: what is worth another try, what is final, what is sent."""

import asyncio
import json

import pytest
from aiohttp import web
from builders import OPENAI, make_config, make_request, one_line

from llmpedia.config import EngineSection
from llmpedia.engines.base import TransientError
from llmpedia.engines.client import Client, GroupCommit
from llmpedia.engines.openai import OpenAIEngine
from llmpedia.errors import ConfigError
from llmpedia.stages import Completion, Constraint
from llmpedia.store.files import Folder
from llmpedia.store.journal import JournalWriter

USAGE = {"prompt_tokens": 3, "completion_tokens": 5}
ERROR = {"error": {"message": "no such\nmodel", "code": 404}}


def chat(content, finish_reason="stop") -> dict:
    return {"choices": [{"message": {"content": content}, "finish_reason": finish_reason}], "usage": USAGE}


def reply(body, status=200, **headers):
    """A handler that gives one answer; text goes as it is."""
    text = body if isinstance(body, str) else json.dumps(body)

    async def handle(request):
        return web.Response(text=text, status=status, headers={k.replace("_", "-"): v for k, v in headers.items()})

    return handle


async def cut(request):
    """The connection ends in the middle of the answer."""
    response = web.StreamResponse(headers={"Content-Length": "100"})
    await response.prepare(request)
    await response.write(b'{"choices": [')
    request.transport.close()
    return response


async def too_slow(request):
    await asyncio.sleep(5)


class Server:
    """One handler on a real port; keeps what it was sent."""

    def __init__(self, handler):
        self._handler, self.bodies, self.headers = handler, [], []

    async def _serve(self, request):
        self.bodies.append(await request.json())
        self.headers.append(request.headers)
        return await self._handler(request)

    def ask(self, use, **engine):
        """The outcome of ``await use(engine)`` with an engine that talks to this server."""

        async def run():
            app = web.Application()
            app.router.add_post("/v1/chat/completions", self._serve)
            runner = web.AppRunner(app, shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            port = site._server.sockets[0].getsockname()[1]
            openai = OpenAIEngine(EngineSection(**{**OPENAI, "base_url": f"http://127.0.0.1:{port}/v1/", **engine}))
            try:
                return await use(openai)
            finally:
                await openai.close()
                await runner.cleanup()

        return asyncio.run(run())

    def generate(self, request=None, **engine) -> Completion:
        return self.ask(lambda openai: openai.generate(request or make_request()), **engine)


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
    [("2.5", 2.5), (None, None), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("-1", 0.0)],
    ids=["seconds", "none", "date", "negative"],
)
def test_retry_after_is_told_with_the_error(header, wait_s):
    with pytest.raises(TransientError) as caught:
        Server(reply(ERROR, 429, **({"Retry_After": header} if header else {}))).generate()
    assert caught.value.wait_s == wait_s


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_what_no_retry_would_mend_is_an_answer_with_the_endpoints_words(status):
    answer = Server(reply(ERROR, status)).generate()
    assert answer == Completion(error=f"engine: HTTP {status}: no such model")


@pytest.mark.parametrize("body", ["404: Not Found", "<html>\nNot Found</html>", "", '"Not Found"'])
def test_a_final_error_is_final_whatever_its_body(body):
    answer = Server(reply(body, 404)).generate()
    assert answer.error.startswith("engine: HTTP 404")
    assert ("Not Found" in answer.error, "\n" in answer.error) == (bool(body), False)


@pytest.mark.parametrize(("status", "tries"), [(400, 1), (401, 1), (404, 1), (500, 3), (429, 3)])
def test_only_what_may_pass_is_tried_again(tmp_path, status, tries):
    server, retries = Server(reply(ERROR, status)), make_config(retries={"attempts": 3, "first_wait_s": 0.0}).retries

    async def complete(openai):
        client = Client(openai, {}, GroupCommit(JournalWriter(Folder(tmp_path), 0, "w")), retries, 4)
        return await asyncio.gather(client.complete(make_request()), return_exceptions=True)

    server.ask(complete)
    assert len(server.bodies) == tries


def test_an_answer_comes_with_its_finish_and_usage():
    assert Server(reply(chat("text", "length"))).generate() == Completion("text", "length", 3, 5)


@pytest.mark.parametrize("missing", ["content", "usage"])
def test_an_answer_without_content_or_usage_is_still_an_answer(missing):
    body = chat(None) if missing == "content" else {k: v for k, v in chat("text").items() if k != "usage"}
    answer = Server(reply(body)).generate()
    assert (answer.text, answer.error, answer.prompt_tokens) == (("", None, 3) if missing == "content" else ("text", None, None))


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
        OpenAIEngine(EngineSection(**{**OPENAI, "api_key_env": "TEST_KEY"}))
    one_line(caught, "api_key_env", "'TEST_KEY'", "not set")
