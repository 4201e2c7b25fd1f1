"""llmpedia/engines/client.py: what is tried again, what is a request's own error, and what is an
outage.
"""

import json
import time

import pytest

from llmpedia.errors import EngineError, TransientError
from llmpedia.stages import Completion
from tests.support.client_bench import Bench, ScriptedEngine, failing, key


def test_a_transient_failure_is_tried_again(tmp_path):
    bench = Bench(tmp_path, ScriptedEngine({"q": failing(2)}))
    assert bench.answers("q") == [Completion("re: q", "stop")]
    assert bench.engine.asked == {"q": 3}


def test_the_wait_that_the_endpoint_asks_for_is_obeyed(tmp_path):
    bench = Bench(tmp_path, ScriptedEngine({"q": failing(1, wait_s=0.4)}), first_wait_s=0.0)
    started = time.monotonic()
    bench.answers("q")
    assert time.monotonic() - started >= 0.4


def test_waits_grow_up_to_the_longest(tmp_path):
    bench = Bench(tmp_path, ScriptedEngine({"q": failing(6)}), attempts=7, first_wait_s=0.02, max_wait_s=0.3)
    started = time.monotonic()
    bench.answers("q")
    assert (
        time.monotonic() - started >= (0.02 + 0.04 + 0.08 + 0.16 + 0.3 + 0.3) / 2
    )  # jitter takes half at most


def test_a_request_that_fails_while_others_succeed_carries_an_error(tmp_path):
    bench = Bench(tmp_path, ScriptedEngine({"bad": failing(9)}))
    bad, good = bench.answers("bad", "good")
    assert (bad.text, good.error, bench.engine.asked["bad"]) == ("", None, 3)
    assert "failed 3 times" in bad.error
    assert "HTTP 503" in bad.error


def test_a_request_that_always_fails_carries_an_error_where_the_engine_answers_a_probe(tmp_path):
    bench = Bench(tmp_path, ScriptedEngine({"bad": failing(9)}))
    assert bench.answers("bad") == [Completion(error="engine: failed 3 times, last: HTTP 503")]
    assert (bench.engine.asked, set(bench.journaled())) == ({"bad": 3}, {key("bad")})
    (probe,) = bench.engine.probes
    assert (probe.model, probe.constraint) == ("m", None)
    assert json.loads(probe.sampling) == {"temperature": 0.5, "max_tokens": 16}


def test_no_probe_is_asked_where_others_have_had_answers_since_the_last_wait(tmp_path):
    bench = Bench(tmp_path, ScriptedEngine({"bad": failing(9, wait_s=0.1)}, latency=0.06), concurrency=2)
    bad, *good = bench.answers("bad", *(f"q{n}" for n in range(9)))
    assert ("failed 3 times" in bad.error, {c.error for c in good}, bench.engine.probes) == (True, {None}, [])


@pytest.mark.parametrize("attempts", [1, 3])
def test_no_answer_to_anybody_nor_to_a_probe_is_an_engine_error(tmp_path, attempts):
    bench = Bench(tmp_path, ScriptedEngine(answers=0), attempts=attempts)
    found = bench.answers("a", "b")
    assert [type(e) for e in found] == [EngineError, EngineError]
    assert f"no answer in {attempts} tries (connection refused)" in str(found[0])
    assert "\n" not in str(found[0])


def test_what_the_engine_never_answered_is_not_in_the_journal(tmp_path):
    bench = Bench(tmp_path, ScriptedEngine(answers=0))
    assert [type(e) for e in bench.answers("a")] == [EngineError]
    assert (bench.journaled(), len(bench.engine.probes)) == ({}, 1)
    bench.engine.answers = None
    assert bench.answers("a") == [Completion("re: a", "stop")]


def test_an_engine_that_is_down_is_asked_no_more(tmp_path):
    texts = [f"q{n}" for n in range(50)]
    bench = Bench(tmp_path, ScriptedEngine(answers=0), concurrency=2)
    assert {type(e) for e in bench.answers(*texts)} == {EngineError}
    assert bench.engine.asked.total() <= 2 * 3
    assert len(bench.engine.probes) <= 2


def test_an_engine_that_dies_in_mid_wave_loses_no_request(tmp_path):
    """What was in flight became an answer with an error where others had been answered earlier; the
    subject was lost.
    """
    texts = [f"q{n}" for n in range(12)]
    bench = Bench(tmp_path, ScriptedEngine(answers=5), concurrency=4)
    found = dict(zip(texts, bench.answers(*texts), strict=True))
    answered = [t for t, outcome in found.items() if outcome == Completion(f"re: {t}", "stop")]
    assert ({type(found[t]) for t in texts if t not in answered}, len(answered)) == ({EngineError}, 5)
    assert set(bench.journaled()) == {key(t) for t in answered}


def test_a_request_refused_by_a_busy_engine_that_dies_later_is_not_lost(tmp_path):
    """Answers that others had between its first failure and the outage do not turn the outage into
    its own error.
    """
    bench = Bench(tmp_path, ScriptedEngine({"a": failing(1)}, answers=1))
    refused, good = bench.answers("a", "good")
    assert (type(refused), good.text) == (EngineError, "re: good")
    assert set(bench.journaled()) == {key("good")}
    bench.engine.answers = None
    assert bench.answers("a") == [Completion("re: a", "stop")]


class CheckedEngine(ScriptedEngine):
    """Knows by itself whether it is up."""

    def __init__(self, up: bool, **scripted) -> None:
        super().__init__(**scripted)
        self.up = up
        self.checks = 0

    async def check_health(self):
        self.checks += 1
        if not self.up:
            raise TransientError("connection refused")


@pytest.mark.parametrize(
    ("up", "outcome"),
    [(True, Completion(error="engine: failed 3 times, last: HTTP 503")), (False, EngineError)],
)
def test_an_engine_that_checks_its_own_health_is_asked_no_question(tmp_path, up, outcome):
    """Through the Batch API a question is a paid batch of one line, which may take a day."""
    bench = Bench(tmp_path, CheckedEngine(up, outcomes={"bad": failing(9)}))
    (answer,) = bench.answers("bad")
    assert answer == outcome or type(answer) is outcome
    assert (bench.engine.checks, bench.engine.probes) == (1, [])
