"""Bounded queues, deadlines, retries, and the counters that tell of them."""

import asyncio
import pickle

import pytest
from builders import make_request
from prometheus_client.parser import text_string_to_metric_families
from serving_builders import ITEMS, KEY, VERIFY, ScriptedEngine, ScriptedScorer, Served, ask, error, serve_config

from llmpedia.config import RetriesSection
from llmpedia.engines.base import TransientError
from llmpedia.engines.permits import Permits
from llmpedia.errors import EngineError
from serving.counts import Counts, render
from serving.judge import Passing
from serving.refusals import RefusalError

RETRIES = RetriesSection(attempts=3, first_wait_s=0.0, max_wait_s=1.0)


def complete(*errors, retries=RETRIES):
    engine = ScriptedEngine(errors=errors)
    return engine, asyncio.run(
        Passing(engine, retries, Permits(4)).complete(make_request(stage="claims", text="Subject: x\n<article>\nA.\n</article>"))
    )


def test_transient_errors_are_tried_again():
    engine, completion = complete(TransientError("cut"), TransientError("cut"))
    assert completion.error is None
    assert len(engine.asked) == 3


def test_errors_that_last_are_a_value_in_the_durable_clients_words():
    engine, completion = complete(*[TransientError("cut")] * 9)
    assert completion.error == "engine: failed 3 times, last: cut"
    assert len(engine.asked) == 3


def test_an_engine_that_takes_no_more_is_503_with_its_own_wait():
    with pytest.raises(RefusalError) as caught:
        complete(*[TransientError("HTTP 429", 0.4, True)] * 9)
    assert (caught.value.status, caught.value.headers["Retry-After"]) == (503, "1")


def test_a_longer_wait_than_retries_allow_is_not_waited():
    with pytest.raises(RefusalError) as caught:
        complete(TransientError("HTTP 429", 3600.0, True))
    assert caught.value.headers["Retry-After"] == "3600"


def test_an_engine_that_refuses_this_server_is_502_and_its_words_stay_here(caplog):
    served = Served(engine=ScriptedEngine(errors=[EngineError("http://inside/v1: HTTP 401: no")]))
    status, kind, message = error(ask("/v1/verify", VERIFY, served))
    assert (status, kind) == (502, "engine")
    assert "inside" not in message
    assert "HTTP 401" in caplog.text


def test_chat_is_tried_again_too():
    served = Served(engine=ScriptedEngine(errors=[TransientError("cut")]))
    assert ask("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}, served).status_code == 200
    served = Served(
        serve_config(judge={"engine": {"kind": "openai", "model": "m", "base_url": "http://x"}, "retries": {"attempts": 1}})
    )
    served.engine.errors = [TransientError("cut")]
    assert error(ask("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}, served))[:2] == (503, "engine")


async def flood(served, wait, n, path="/v1/perplexity", body=ITEMS):
    """n requests while nothing is answered; then all are."""
    asked = [asyncio.create_task(served.ask(path, body)) for _ in range(n)]
    await asyncio.sleep(0.3)
    wait.set()
    return await asyncio.gather(*asked)


def test_over_capacity_is_503_at_once_and_the_rest_is_answered():
    async def scenario():
        wait = asyncio.Event()
        served = Served(serve_config(queue={"max_queued": 4, "retry_after_s": 3}), scorer=ScriptedScorer(wait))
        return served, await flood(served, wait, 20)

    served, responses = asyncio.run(scenario())
    refused = [r for r in responses if r.status_code == 503]
    assert (len(refused), sum(r.status_code == 200 for r in responses)) == (16, 4)
    assert {r.headers["Retry-After"] for r in refused} == {"3"}
    assert "queue.max_queued = 4" in error(refused[0])[2]
    assert len(served.scorer.asked) == 4 * len(ITEMS["items"])


def test_a_full_scorer_keeps_nobody_from_the_judge():
    async def scenario():
        wait = asyncio.Event()
        served = Served(serve_config(queue={"max_queued": 2}), scorer=ScriptedScorer(wait))
        scoring = asyncio.create_task(flood(served, wait, 5))
        await asyncio.sleep(0.1)
        judged = await served.ask("/v1/verify", VERIFY)
        await scoring
        return judged

    assert asyncio.run(scenario()).status_code == 200


def test_places_are_free_again_whatever_became_of_who_held_them():
    async def scenario():
        wait = asyncio.Event()
        served = Served(serve_config(queue={"max_queued": 1, "timeout_s": 0.1}), scorer=ScriptedScorer(wait))
        late = await served.ask("/v1/perplexity", ITEMS)
        gone = asyncio.create_task(served.ask("/v1/perplexity", ITEMS))
        await asyncio.sleep(0.02)
        gone.cancel()
        await asyncio.wait([gone])
        wait.set()
        return late, await served.ask("/v1/perplexity", ITEMS)

    late, after = asyncio.run(scenario())
    assert (late.status_code, after.status_code) == (504, 200)


def test_a_deadline_is_504_and_named():
    served = Served(serve_config(queue={"timeout_s": 0.05}), engine=ScriptedEngine(wait=asyncio.Event()))
    status, kind, message = error(ask("/v1/verify", VERIFY, served))
    assert (status, kind) == (504, "timeout")
    assert "0.05 s (queue.timeout_s)" in message


def test_a_time_out_inside_is_no_deadline():
    """A defect that raises TimeoutError must not be told as a slow request."""
    served = Served(engine=ScriptedEngine(errors=[TimeoutError("inner")]))
    assert error(ask("/v1/verify", VERIFY, served))[0] == 500


LABELS = ("route", "status", "outcome", "le", "replica")


def samples(text):
    """Series -> value, labels in one order."""
    values = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f'{name}="{sample.labels[name]}"' for name in LABELS if name in sample.labels)
            values[f"{sample.name}{{{labels}}}"] = sample.value
    return values


def test_whatever_is_answered_is_counted():
    async def scenario():
        served = Served()
        for path, body, key in [
            ("/v1/verify", VERIFY, KEY),
            ("/v1/verify", VERIFY, None),
            ("/v1/verify", {}, KEY),
            ("/x", None, KEY),
        ]:
            await served.ask(path, body, key)
        return samples((await served.ask("/metrics")).text)

    told = asyncio.run(scenario())
    for status in (200, 401, 422):
        assert told[f'llmpedia_requests_total{{route="/v1/verify",status="{status}",replica="r1"}}'] == 1
    assert told['llmpedia_requests_total{route="other",status="404",replica="r1"}'] == 1
    assert told['llmpedia_refused_total{route="/v1/verify",status="401",replica="r1"}'] == 1
    assert told['llmpedia_results_total{route="/v1/verify",outcome="supported",replica="r1"}'] == 1
    assert told['llmpedia_results_total{route="/v1/verify",outcome="insufficient",replica="r1"}'] == 1
    assert told['llmpedia_request_seconds_count{route="/v1/verify",replica="r1"}'] == 3
    assert told['llmpedia_request_seconds_bucket{route="/v1/verify",le="+Inf",replica="r1"}'] == 3
    assert told['llmpedia_in_flight{replica="r1"}'] == 1


def test_times_fall_into_their_buckets():
    counts = Counts()
    for seconds in (0.01, 0.02, 0.3, 500.0):
        counts.answered("/v1/grade", 200, seconds)
    told = samples(render({"a": counts.families()}, 0))
    below = {
        le: told[f'llmpedia_request_seconds_bucket{{route="/v1/grade",le="{le}",replica="a"}}']
        for le in ("0.01", "0.025", "0.5", "120.0", "+Inf")
    }
    assert below == {"0.01": 1, "0.025": 2, "0.5": 3, "120.0": 3, "+Inf": 4}
    assert told['llmpedia_request_seconds_sum{route="/v1/grade",replica="a"}'] == pytest.approx(500.33)


def test_prometheus_reads_it_and_replicas_stay_apart():
    replicas = {}
    for name, n in (("a", 1), ("b", 2)):
        counts = Counts()
        for _ in range(n):
            counts.answered("/v1/grade", 200, 0.1)
        replicas[name] = counts.families()
    families = {f.name: f for f in text_string_to_metric_families(render(replicas, 1))}
    assert {s.labels["replica"]: s.value for s in families["llmpedia_requests"].samples} == {"a": 1, "b": 2}
    assert families["llmpedia_request_seconds"].type == "histogram"
    assert families["llmpedia_replicas_silent"].samples[0].value == 1


def test_names_that_text_could_break_are_escaped_and_read_back():
    counts = Counts()
    counts.results("/v1/grade", ['a "quoted"\\\nname'])
    families = {f.name: f for f in text_string_to_metric_families(render({'r"1"': counts.families()}, 0))}
    (sample,) = families["llmpedia_results"].samples
    assert sample.labels == {"route": "/v1/grade", "outcome": 'a "quoted"\\\nname', "replica": 'r"1"'}


def test_metrics_travel_between_replicas():
    """Ray sends them pickled."""
    counts = Counts()
    counts.answered("/v1/grade", 401, 0.1)
    again = pickle.loads(pickle.dumps(counts.families()))
    assert render({"a": again}, 0) == render({"a": counts.families()}, 0)
