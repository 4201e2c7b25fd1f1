"""What stands between routes and engines: endpoints with their own key, deployments whose replicas
die.
"""

import asyncio
import json

import pytest
from aiohttp import web

from llmpedia.config.engine import OpenAISection, VllmSection
from llmpedia.errors import EngineError, TransientError
from llmpedia.perplexity.scores import Question
from serving.admission import Gate
from serving.engines import DeployedEngine, EndpointEngine
from serving.errors import RefusalError
from serving.judge import chat_request
from serving.scoring import DeployedScorer
from serving.settings import QueueSection
from tests.support.builders.runs import OPENAI, make_request
from tests.support.builders.serving import scored
from tests.support.endpoint import ERROR, chat, reply

SCHEMA = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
QUESTIONS = [Question("Who?", ("Ada", "Bob")), Question("When?", ("1815",))]


def with_endpoint(use, handler=None, models=200, **engine):
    """The outcome of ``await use(engine, requests)``, with the bodies and headers that a real
    endpoint was sent.
    """
    asked = []

    async def serve(request):
        asked.append((await request.json(), request.headers))
        return await (handler or reply(chat("Yes")))(request)

    async def main():
        app = web.Application()
        app.router.add_post("/v1/chat/completions", serve)
        app.router.add_get("/v1/models", reply("{}", models))
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = site._server.sockets[0].getsockname()[1]
        endpoint = EndpointEngine(
            OpenAISection(**{**OPENAI, "base_url": f"http://127.0.0.1:{port}/v1", **engine})
        )
        try:
            return await use(endpoint)
        finally:
            await endpoint.close()
            await runner.cleanup()

    return asyncio.run(main()), asked


def chatting(response_format=None, **sampling):
    request = chat_request("m", (("user", "hi"),), {"max_tokens": 7, "top_p": None, **sampling})
    return lambda engine: engine.chat(request, response_format)


def test_a_chat_goes_to_the_endpoint_with_its_own_key_and_comes_back_whole(monkeypatch):
    monkeypatch.setenv("ENGINE_KEY", "sk-engine")
    told, asked = with_endpoint(
        chatting(SCHEMA, stop=["x"]), api_key_env="ENGINE_KEY", extra={"provider": "p"}
    )
    assert told == chat("Yes")
    (body, headers) = asked[0]
    assert headers["Authorization"] == "Bearer sk-engine"
    whole = {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "provider": "p",
        "max_tokens": 7,
        "stop": ["x"],
    }
    assert body == {**whole, "response_format": SCHEMA}


def test_what_the_endpoint_can_never_serve_is_the_clients_fault():
    with pytest.raises(RefusalError) as caught:
        with_endpoint(chatting(), reply(ERROR, 400))
    assert (caught.value.status, caught.value.message) == (400, "engine: HTTP 400: no such model")


@pytest.mark.parametrize(
    ("status", "error"), [(500, TransientError), (429, TransientError), (401, EngineError)]
)
def test_what_says_nothing_of_the_chat_is_not_its_fault(status, error):
    with pytest.raises(error):
        with_endpoint(chatting(), reply(ERROR, status))


@pytest.mark.parametrize(
    ("status", "why"),
    [(200, None), (404, None), (401, "HTTP 401"), (403, "HTTP 403"), (500, "does not answer")],
)
def test_an_endpoint_is_ready_if_it_answers_this_server(status, why):
    told, _ = with_endpoint(lambda engine: engine.ready(), models=status)
    assert (told is None) if why is None else (why in told)


def test_an_endpoint_that_is_not_there_is_not_ready():
    engine = EndpointEngine(OpenAISection(**OPENAI))
    assert "does not answer" in asyncio.run(engine.ready())


class Call:
    """What a handle's call comes to."""

    def __init__(self, outcome):
        self._outcome = outcome
        self.cancelled = False

    def __await__(self):
        if isinstance(self._outcome, asyncio.Event):
            return self._outcome.wait().__await__()
        return self._now().__await__()

    async def _now(self):
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        return self._outcome

    def cancel(self):
        self.cancelled = True


class Handle:
    """A deployment's handle; each call has the next outcome."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.asked = []
        self.calls = []
        self.score = self.generate = self.check_health = self

    def remote(self, *args):
        self.asked += args
        self.calls.append(Call(self.outcomes.pop(0)))
        return self.calls[-1]


def scores(*outcomes):
    handle = Handle(*outcomes)
    return handle, lambda: asyncio.run(
        DeployedScorer(handle, Gate("perplexity", QueueSection())).score(QUESTIONS)
    )


def told():
    return json.dumps([dataclass_dict(scored(q)) for q in QUESTIONS])


def dataclass_dict(score):
    return {**score.__dict__, "answers": [a.__dict__ for a in score.answers]}


def dead():
    from ray.exceptions import ActorDiedError

    return ActorDiedError()


def test_scores_come_back_as_they_were():
    _, ask = scores(told())
    assert ask() == [scored(q) for q in QUESTIONS]


def test_a_request_whose_replica_dies_is_put_once_more_and_is_the_same():
    handle, ask = scores(dead(), told())
    assert ask() == [scored(q) for q in QUESTIONS]
    assert len(handle.asked) == 2
    assert handle.asked[0] == handle.asked[1]


def test_a_second_death_is_503_and_not_tried_again():
    handle, ask = scores(dead(), dead(), told())
    with pytest.raises(RefusalError) as caught:
        ask()
    assert (caught.value.status, len(handle.asked)) == (503, 2)
    assert "Retry-After" in caught.value.headers


@pytest.mark.parametrize("first", [[], [dead]])
def test_a_full_queue_is_503_with_retry_after(first):
    from ray.serve.exceptions import BackPressureError

    _, ask = scores(*(make() for make in first), BackPressureError(9, 9))
    with pytest.raises(RefusalError) as caught:
        ask()
    assert (caught.value.status, caught.value.kind, caught.value.headers["Retry-After"]) == (
        503,
        "over_capacity",
        "2",
    )


def test_a_scorer_whose_model_answers_nobody_is_502_and_its_words_stay_here(caplog):
    _, ask = scores(json.dumps({"fatal": "engine: http://inside is down"}))
    with pytest.raises(RefusalError) as caught:
        ask()
    assert caught.value.status == 502
    assert "inside" not in caught.value.message
    assert "inside" in caplog.text


def test_who_stops_waiting_stops_the_call():
    async def main():
        handle = Handle(asyncio.Event())
        task = asyncio.create_task(DeployedScorer(handle, Gate("p", QueueSection())).score(QUESTIONS))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])
        return handle.calls[0].cancelled

    assert asyncio.run(main())


def deployed(*outcomes):
    handle = Handle(*outcomes)
    return handle, DeployedEngine(VllmSection(), handle)


ANSWER = json.dumps({"text": "Yes", "finish_reason": "stop", "prompt_tokens": 3, "completion_tokens": 1})


@pytest.mark.parametrize(
    ("bound", "constraint"),
    [
        (None, None),
        ({"type": "text"}, None),
        ({"type": "json_object"}, {"json_schema": {"type": "object"}}),
        (SCHEMA, {"json_schema": {"type": "object"}}),
    ],
)
def test_a_chat_with_our_own_engine_has_the_form_of_openai(bound, constraint):
    handle, engine = deployed(ANSWER)
    answer = asyncio.run(chatting(bound, temperature=0.5)(engine))
    assert answer["choices"] == [
        {"index": 0, "message": {"role": "assistant", "content": "Yes"}, "finish_reason": "stop"}
    ]
    assert answer["usage"] == {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
    asked = json.loads(handle.asked[0])
    assert asked["constraint"] == constraint
    assert asked["sampling"] == {"max_tokens": 7, "temperature": 0.5}


def test_what_our_own_engine_can_never_serve_is_400():
    _, engine = deployed(json.dumps({"error": "engine: context_overflow: too long"}))
    with pytest.raises(RefusalError) as caught:
        asyncio.run(chatting()(engine))
    assert (caught.value.status, caught.value.message) == (400, "engine: context_overflow: too long")


def test_a_full_queue_of_our_own_engine_is_told_as_a_rate_limit():
    from ray.serve.exceptions import BackPressureError

    _, engine = deployed(BackPressureError(9, 9))
    with pytest.raises(TransientError) as caught:
        asyncio.run(engine.generate(make_request()))
    assert caught.value.rate_limited


def test_a_deployment_is_ready_if_one_of_its_replicas_says_so():
    assert asyncio.run(deployed(None)[1].ready()) is None
    assert "ActorDiedError" in asyncio.run(deployed(dead())[1].ready())
