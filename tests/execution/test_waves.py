"""Two waves under way at a time, finished in order; a failure ends all of it and waits for a commit
that has begun.
"""

import threading
import time
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from llmpedia.errors import EngineError
from llmpedia.execution import waves


@dataclass
class Plan:
    wave: int
    title: str = "a wave"

    def rows(self):
        return [{"subject_id": self.wave}]


class Job:
    """Waves whose writing takes as long as ``seconds`` says, without Ray."""

    def __init__(self, monkeypatch, count, seconds=lambda wave: 0.01, fails=()):
        self.count = count
        self.finished = []
        self.writing = set()
        self.most = 0
        self.seconds = seconds
        self.fails = fails
        self.done = -1
        monkeypatch.setattr(waves, "stream", self._stream)
        limiter = SimpleNamespace(forget=SimpleNamespace(remote=lambda prefix: None))
        self.waves = waves.Waves(None, [limiter], lambda plan: plan, self._finish, lambda words: None)

    def _stream(self, rows, plan, config, stopped):
        self.writing.add(plan.wave)
        self.most = max(self.most, len(self.writing))
        time.sleep(self.seconds(plan.wave))
        if plan.wave in self.fails:
            raise EngineError(f"wave {plan.wave} failed")
        yield [(plan.wave, {"wave": plan.wave})]
        self.writing.discard(plan.wave)

    def _finish(self, plan, visits):
        assert visits == [{"wave": plan.wave}]
        self.finished.append(plan.wave)
        self.done = plan.wave

    def plan(self, wave):
        """As the frontier does it: a wave needs the commit of the second before it."""
        return Plan(wave) if wave < self.count and self.done >= wave - 2 else None

    def run(self):
        self.waves.run(0, self.plan, lambda _: None)


def test_waves_are_finished_in_order_whichever_is_written_first(monkeypatch):
    job = Job(monkeypatch, 7, seconds=lambda wave: 0.05 if wave % 2 == 0 else 0.0)
    job.run()
    assert job.finished == list(range(7))
    assert job.most == 2


def test_a_failed_wave_ends_the_job_and_nothing_after_it_is_finished(monkeypatch):
    job = Job(monkeypatch, 9, fails={3})
    with pytest.raises(EngineError, match="wave 3 failed"):
        job.run()
    assert job.finished in ([0, 1], [0, 1, 2])


def test_a_failure_of_the_younger_wave_does_not_wait_for_the_older_to_be_written(monkeypatch):
    """The engine is down for both; an hour's worth of requests in the older one must not be waited
    for.
    """
    hold = threading.Event()
    monkeypatch.setattr(waves, "_LEAVE_S", 0.2)
    job = Job(monkeypatch, 4, seconds=lambda wave: hold.wait(30) if wave == 0 else 0.0, fails={1})
    begin = time.monotonic()
    with pytest.raises(EngineError, match="wave 1 failed"):
        job.run()
    assert time.monotonic() - begin < 10
    hold.set()
    assert job.finished == []


def test_whoever_waits_for_rows_is_gone_when_a_failure_is_told(monkeypatch):
    """A thread that is still at work when Ray goes down under it takes the process with it."""
    job = Job(monkeypatch, 4, fails={1})
    left = []

    def _stream(rows, plan, config, stopped):
        if plan.wave == 0:
            assert stopped.wait(10)
            time.sleep(0.3)
            left.append(plan.wave)
        yield from job._stream(rows, plan, config, stopped)

    monkeypatch.setattr(waves, "stream", _stream)
    with pytest.raises(EngineError, match="wave 1 failed"):
        job.run()
    assert left == [0]
