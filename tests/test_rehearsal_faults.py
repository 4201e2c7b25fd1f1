"""Each fault of the rehearsal world as a client meets it, its rate, and the counters."""

import asyncio
import time

import aiohttp
import pytest
from builders import make_config
from rehearsed import QUESTIONS, ask, body_of, fetch, run, small_world

from llmpedia.engines.base import TransientError
from llmpedia.engines.openai import read_chat
from llmpedia.materialize.steps import Phrases, Stages, Subject
from llmpedia.stages import AnswerError, answer_text


@pytest.fixture(scope="module")
def world():
    return small_world()


def test_429_tells_how_long_to_wait(world):
    ((status, headers, data),), stats = fetch(world, body_of("outline"), "faults.http_429=1.0", "faults.retry_after_s=1.5")
    assert (status, headers["Retry-After"], data["error"]["code"]) == (429, "1.5", 429)
    assert (stats["faults"], stats["repeats_of_answered_bodies"]) == ({"http_429": 1}, {})


@pytest.mark.parametrize(
    ("fault", "failure"),
    [
        ("reset", aiohttp.ClientError),
        ("garbled", ValueError),
        ("hang", TimeoutError),
    ],
)
def test_connection_fails_as_told(world, fault, failure):
    (caught,), _ = fetch(world, body_of("outline"), f"faults.{fault}=1.0", timeout=0.5)
    assert isinstance(caught, failure)


def test_request_that_hangs_leaves_with_its_client(world):
    async def use(base, server):
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=0.2)) as session:
            with pytest.raises(TimeoutError):
                await session.post(f"{base}/chat/completions", json=body_of("outline"))
        assert server.stats.in_flight == 1
        await asyncio.sleep(0.4)
        return server.stats.in_flight

    assert run(use, world, "faults.hang=1.0") == 0


def test_500_is_one(world):
    ((status, _, data),), _ = fetch(world, body_of("outline"), "faults.http_500=1.0")
    assert (status, data["error"]["code"]) == (500, 500)


@pytest.mark.parametrize("stage", QUESTIONS)
@pytest.mark.parametrize("fault", ["malformed", "truncated"])
def test_spoiled_answer_cannot_be_used(world, stage, fault):
    ((status, _, data),), _ = fetch(world, body_of(stage), f"faults.{fault}=1.0")
    assert status == 200
    with pytest.raises(AnswerError):
        getattr(Stages.of(make_config()), stage).parse(QUESTIONS[stage], answer_text(read_chat(data)))


@pytest.mark.parametrize("answer", ["keyed", "rows"])
def test_ner_answer_omits_phrases(world, answer):
    phrases = tuple(world.name(e) for e in range(25))
    asked = Phrases("Vannevar Bush", phrases)
    decided, _ = ask(world, "ner", asked, overrides=("faults.omitted=1.0",), entities={"ner_answer": answer})
    assert 22 <= len(decided) <= 24


def test_faults_have_their_rates_and_a_retry_can_succeed(world):
    answers, _ = fetch(world, body_of("outline"), "faults.http_500=0.3", "faults.http_429=0.2", times=200)
    statuses = [a[0] for a in answers]
    assert 30 <= statuses.count(500) <= 90
    assert 20 <= statuses.count(429) <= 65
    assert statuses == [
        a[0] for a in fetch(world, body_of("outline"), "faults.http_500=0.3", "faults.http_429=0.2", times=200)[0]
    ]


@pytest.mark.parametrize("kind", ["constant", "lognormal"])
def test_latency_and_requests_in_flight_are_measured(world, kind):
    async def use(base, server):
        async with aiohttp.ClientSession() as session:
            started = time.monotonic()

            async def one(n):
                async with session.post(f"{base}/chat/completions", json={"messages": [{"role": "user", "content": str(n)}]}):
                    pass

            await asyncio.gather(*(one(n) for n in range(20)))
            return time.monotonic() - started, server.stats.snapshot()

    took, stats = run(use, world, f"latency.kind={kind}", "latency.mean_s=0.2")
    assert took >= 0.15
    assert stats["peak_in_flight"] >= 15
    assert stats["mean_in_flight_while_busy"] > 3


@pytest.mark.parametrize("body", [[], {}, {"messages": []}, {"messages": "x"}])
def test_bad_request_is_400(world, body):
    ((status, _, _),), _ = fetch(world, body)
    assert status == 400


def test_transient_faults_are_transient_to_the_engine(world):
    with pytest.raises(TransientError):
        ask(world, "outline", Subject("x"), overrides=("faults.garbled=1.0",))
