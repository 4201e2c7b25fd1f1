"""The probe of servers: one that tells a prompt's log-probabilities is used, one that tells
generated tokens' is refused.
"""

import asyncio
import json

import pytest
from aiohttp import web

from llmpedia.config.engine import OpenAISection
from llmpedia.config.walk import RetriesSection
from llmpedia.errors import EngineError
from llmpedia.perplexity.backend import Task
from llmpedia.perplexity.endpoint_backend import EndpointBackend, read_prompt_logprobs

PROBE = (11, 12, 13, 14)
RETRIES = RetriesSection(attempts=3, first_wait_s=0.01, max_wait_s=0.02)


def value(ids, i) -> float:
    """A made-up log-probability of token i given those before."""
    return -((sum(ids[: i + 1]) % 97) + 1) / 10


def vllm(body):
    ids = body["prompt"]
    told = [
        None,
        *(
            {str(t): {"logprob": value(ids, i), "rank": 3}, "99": {"logprob": -0.1}}
            for i, t in enumerate(ids)
            if i
        ),
    ]
    return {"choices": [{"text": "x", "prompt_logprobs": told if "prompt_logprobs" in body else None}]}


def echoing(body):
    ids = body["prompt"]
    told = [None, *(value(ids, i) for i in range(1, len(ids))), -0.5]
    return {"choices": [{"text": "x", "logprobs": {"token_logprobs": told} if body.get("echo") else None}]}


def generated_only(body):
    return {"choices": [{"text": "x", "logprobs": {"token_logprobs": [-0.5]}, "prompt_logprobs": None}]}


def silent(body):
    return {"choices": [{"text": "x", "logprobs": None}]}


def zeros(body):
    return {"choices": [{"logprobs": {"token_logprobs": [0.0] * (len(body["prompt"]) + 1)}}]}


class Drifting:
    """Reads its prefix cache where it must not: other values each time."""

    def __init__(self):
        self.n = 0

    def __call__(self, body):
        self.n += 1
        return {
            "choices": [
                {
                    "prompt_logprobs": [None]
                    + [{str(t): {"logprob": -float(self.n)}} for t in body["prompt"][1:]]
                }
            ]
        }


class Failing:
    """Every second request meets a 500."""

    def __init__(self):
        self.n = 0

    def __call__(self, body):
        self.n += 1
        if self.n % 2:
            raise web.HTTPInternalServerError
        return vllm(body)


def use(answer, work):
    """The outcome of ``work(backend)`` against a server that answers ``answer(body)``."""

    async def run():
        async def handle(request):
            return web.json_response(answer(json.loads(await request.read())))

        app = web.Application()
        app.router.add_post("/v1/completions", handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = site._server.sockets[0].getsockname()[1]
        backend = EndpointBackend(OpenAISection(base_url=f"http://127.0.0.1:{port}/v1"), RETRIES, PROBE)
        try:
            return await work(backend)
        finally:
            await backend.close()
            await runner.cleanup()

    return asyncio.run(run())


@pytest.mark.parametrize("server", [vllm, echoing, Failing()])
def test_values_are_those_of_the_answers_tokens(server):
    task = Task((5, 6, 7), ((8, 9), (10,)))
    got = use(server, lambda b: b.logprobs([task]))
    want = [[value((5, 6, 7, 8, 9), 3), value((5, 6, 7, 8, 9), 4)], [value((5, 6, 7, 10), 3)]]
    assert got == [want]


@pytest.mark.parametrize("server", [generated_only, silent, zeros])
def test_a_server_that_does_not_tell_the_prompts_is_refused(server):
    with pytest.raises(EngineError, match="does not tell the log-probabilities of a given prompt"):
        use(server, lambda b: b.ready())


def test_a_server_that_does_not_repeat_itself_is_refused():
    with pytest.raises(EngineError, match="other log-probabilities for the same prompt"):
        use(Drifting(), lambda b: b.ready())


def test_a_refused_request_is_its_tasks_error():
    def strict(body):
        if len(body["prompt"]) > 6:
            raise web.HTTPBadRequest(text=json.dumps({"error": {"message": "too long"}}))
        return vllm(body)

    got = use(strict, lambda b: b.logprobs([Task((5, 6, 7), ((8, 9, 1, 2),)), Task((5,), ((6,),))]))
    assert got == ["engine: HTTP 400: too long", [[value((5, 6), 1)]]]


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"choices": []},
        {"choices": [{"prompt_logprobs": [None, {"2": {"logprob": None}}]}]},
        {"choices": [{"prompt_logprobs": [None, {"9": {"logprob": -1}}]}]},
        {"choices": [{"prompt_logprobs": [{"1": -1.0}, {"2": -1.0}]}]},
        {"choices": [{"logprobs": {"token_logprobs": [None, 0.5]}}]},
        {"choices": [{"logprobs": {"token_logprobs": [None, -1.0, -1.0, -1.0]}}]},
    ],
)
def test_an_answer_that_does_not_tell_every_token_is_no_score(told):
    with pytest.raises(ValueError, match="log-probabilit"):
        read_prompt_logprobs(told, (1, 2))
