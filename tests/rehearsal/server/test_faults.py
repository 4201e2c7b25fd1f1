"""Each fault of the rehearsal world as a client meets it, its rate, and the counters."""

import asyncio
import json
import time

import aiohttp
import pytest

from llmpedia.engines.openai import read_chat
from llmpedia.errors import ConfigError, TransientError
from llmpedia.materialize.stages import Phrases, Stages, Subject
from llmpedia.rehearsal.settings import load_settings
from llmpedia.stages import AnswerError, answer_text
from tests.support.builders.runs import make_config
from tests.support.rehearsed import QUESTIONS, ask, body_of, fetch, run, small_world


@pytest.fixture(scope="module")
def world():
    return small_world()


def test_429_tells_how_long_to_wait(world):
    ((status, headers, data),), stats = fetch(
        world, body_of("outline"), "faults.http_429=1.0", "faults.retry_after_s=1.5"
    )
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
        Stages.of(make_config()).named(stage).parse(QUESTIONS[stage], answer_text(read_chat(data)))


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
        a[0]
        for a in fetch(world, body_of("outline"), "faults.http_500=0.3", "faults.http_429=0.2", times=200)[0]
    ]


@pytest.mark.parametrize("kind", ["constant", "lognormal"])
def test_latency_and_requests_in_flight_are_measured(world, kind):
    async def use(base, server):
        async with aiohttp.ClientSession() as session:
            started = time.monotonic()

            async def one(n):
                async with session.post(
                    f"{base}/chat/completions", json={"messages": [{"role": "user", "content": str(n)}]}
                ):
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


def visit(world, paths, *overrides, times=1, timeout=5.0):
    """Per path and try: (status, headers, content) or the exception; and the counters."""

    async def use(base, server):
        out = []
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=timeout)) as session:
            for path in [p for p in paths for _ in range(times)]:
                try:
                    async with session.get(base.removesuffix("/v1") + path) as r:
                        out.append((r.status, dict(r.headers), await r.read()))
                except (aiohttp.ClientError, TimeoutError) as e:
                    out.append(e)
        return out, server.stats.snapshot()

    return run(use, world, *overrides)


WIKI = "/w/api.php?action=query&titles=X&maxlag=5"
SOURCES = {"mediawiki": WIKI, "search": "/search?q=X", "page": "/page/X"}


@pytest.mark.parametrize("stage", SOURCES)
def test_source_fails_as_told(world, stage):
    def one(fault, *more):
        (answer,), stats = visit(world, [SOURCES[stage]], f"sources.{fault}=1.0", *more, timeout=0.5)
        # the client itself tries once more where a connection that it kept is reset
        assert (set(stats["faults"]), set(stats["requests_by_stage"])) == ({fault}, {stage})
        return answer

    status, headers, _ = one("http_429", "faults.retry_after_s=1.5")
    assert (status, headers["Retry-After"]) == (429, "1.5")
    assert one("http_500")[0] == 500
    assert isinstance(one("reset"), aiohttp.ClientError)
    assert isinstance(one("hang"), TimeoutError)


@pytest.mark.parametrize("stage", ["mediawiki", "search"])
def test_garbled_source_answers_no_json(world, stage):
    ((_, _, content),), _ = visit(world, [SOURCES[stage]], "sources.garbled=1.0")
    with pytest.raises(ValueError):
        json.loads(content)


def test_garbled_page_is_broken_off(world):
    """Half an HTML page reads like a whole one: only the missing rest tells."""
    (caught,), _ = visit(world, [SOURCES["page"]], "sources.garbled=1.0")
    assert isinstance(caught, aiohttp.ClientPayloadError)


def test_lag_is_refused_where_maxlag_asks_for_it_and_nowhere_else(world):
    patient = [WIKI.replace("maxlag=5", "maxlag=60"), WIKI.replace("&maxlag=5", ""), SOURCES["search"]]
    answers, stats = visit(world, [WIKI, *patient], "sources.lagging=1.0")
    (status, headers, content), *others = answers
    assert (status, headers["Retry-After"], json.loads(content)["error"]["code"]) == (200, "5", "maxlag")
    assert all(b"maxlag" not in content for _, _, content in others)
    assert stats["faults"] == {"lagging": 1}


def test_source_faults_have_their_rates_and_a_retry_can_succeed(world):
    sets = ("sources.http_500=0.3", "sources.http_429=0.2")
    statuses = [a[0] for a in visit(world, [WIKI], *sets, times=200)[0]]
    assert 30 <= statuses.count(500) <= 90
    assert 20 <= statuses.count(429) <= 65
    assert statuses == [a[0] for a in visit(world, [WIKI], *sets, times=200)[0]]


def test_repeats_of_answered_source_requests_are_counted(world):
    _, stats = visit(world, [WIKI, SOURCES["search"]], times=2)
    assert stats["requests_by_stage"] == {"mediawiki": 2, "search": 2}
    assert stats["repeats_of_answered_bodies"] == {"mediawiki": 1, "search": 1}


def test_repeats_after_a_fault_are_none(world):
    _, stats = visit(world, [WIKI], "sources.lagging=1.0", times=2)
    assert stats["repeats_of_answered_bodies"] == {}


def test_sources_are_as_slow_as_the_model(world):
    started = time.monotonic()
    visit(world, [WIKI], "latency.kind=constant", "latency.mean_s=0.2")
    assert time.monotonic() - started >= 0.2


def test_faults_of_sources_leave_the_model_alone(world):
    ((status, _, _),), _ = fetch(world, body_of("outline"), "sources.http_500=1.0")
    assert status == 200


def test_shares_of_source_faults_sum_to_one_at_most():
    with pytest.raises(ConfigError, match="source requests"):
        load_settings(["sources.reset=0.6", "sources.lagging=0.5"])


def test_verdict_fault_spares_other_stages(world):
    ((status, _, data),), stats = fetch(world, body_of("outline"), "faults.verdict_syntax=1.0")
    assert status == 200
    assert stats["faults"] == {}
    Stages.of(make_config()).named("outline").parse(QUESTIONS["outline"], answer_text(read_chat(data)))
