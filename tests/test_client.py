"""llmpedia/engines/client.py: nothing is asked twice, nothing is built on what is not on disk."""

import asyncio
import time
from collections import Counter

import pytest
from builders import make_request, one_line

from llmpedia.config import RetriesSection
from llmpedia.engines.base import TransientError
from llmpedia.engines.client import Client, GroupCommit
from llmpedia.errors import EngineError, InputError
from llmpedia.stages import Completion
from llmpedia.store.files import Folder
from llmpedia.store.journal import JournalWriter, as_completion, read_wave


class ScriptedEngine:
    """Answers ``text`` with "re: text" after ``latency``; ``outcomes``: text -> errors that come first, one a try."""

    def __init__(self, outcomes: dict | None = None, latency: float = 0.0) -> None:
        self.outcomes = {text: list(errors) for text, errors in (outcomes or {}).items()}
        self.latency, self.asked = latency, Counter()
        self.open = self.most_open = 0

    async def generate(self, request):
        text = request.messages[-1][1]
        self.asked[text] += 1
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            await asyncio.sleep(self.latency)
            errors = self.outcomes.get(text)
            if errors:
                raise errors.pop(0)
        finally:
            self.open -= 1
        return Completion(f"re: {text}", "stop")

    async def close(self):
        pass


class Bench:
    """A client over a scripted engine and a journal on disk."""

    def __init__(self, folder, engine, attempts=3, first_wait_s=0.01, max_wait_s=0.05, concurrency=8):
        self.folder, self.engine = Folder(folder), engine
        self._retries = RetriesSection(attempts=attempts, first_wait_s=first_wait_s, max_wait_s=max_wait_s)
        self._concurrency = concurrency

    def client(self) -> Client:
        commit = GroupCommit(JournalWriter(self.folder, 0, "w"))
        return Client(self.engine, self.journaled(), commit, self._retries, self._concurrency)

    def journaled(self) -> dict:
        return read_wave(self.folder, 0)

    def answers(self, *texts, client=None):
        """Completions (or exceptions) of the texts, asked at once."""

        async def ask():
            answering = client or self.client()
            return await asyncio.gather(*(answering.complete(make_request(t)) for t in texts), return_exceptions=True)

        return asyncio.run(ask())


def failing(n, wait_s=None) -> list[TransientError]:
    return [TransientError("HTTP 503", wait_s) for _ in range(n)]


def test_a_journaled_request_is_not_asked_again(tmp_path):
    bench = Bench(tmp_path, ScriptedEngine())
    first, again = bench.answers("q"), bench.answers("q")
    assert (again, bench.engine.asked) == (first, {"q": 1})


def test_a_journaled_error_is_not_asked_again(tmp_path):
    bench = Bench(tmp_path, ScriptedEngine({"q": failing(3)}))
    first, _ = bench.answers("q", "other")
    assert bench.answers("q") == [first]
    assert bench.engine.asked["q"] == 3


def test_equal_requests_in_flight_are_asked_once(tmp_path):
    bench = Bench(tmp_path, ScriptedEngine(latency=0.02))
    assert bench.answers("q", "q", "q") == [Completion("re: q", "stop")] * 3
    assert bench.engine.asked == {"q": 1}


def test_a_request_answered_before_is_not_asked_again_by_the_same_client(tmp_path):
    bench = Bench(tmp_path, ScriptedEngine())

    async def twice():
        client = bench.client()
        return [await client.complete(make_request("q")) for _ in range(2)]

    first, second = asyncio.run(twice())
    assert (second, bench.engine.asked) == (first, {"q": 1})


def test_a_caller_who_gives_up_does_not_take_the_answer_from_the_others(tmp_path):
    bench = Bench(tmp_path, ScriptedEngine(latency=0.05))

    async def one_gives_up():
        client = bench.client()
        gone, stays = (asyncio.create_task(client.complete(make_request("q"))) for _ in range(2))
        await asyncio.sleep(0.01)
        gone.cancel()
        return await stays

    assert asyncio.run(one_gives_up()).text == "re: q"


def test_requests_in_flight_never_exceed_the_cap_and_reach_it(tmp_path):
    bench = Bench(tmp_path, ScriptedEngine(latency=0.01), concurrency=3)
    bench.answers(*(f"q{n}" for n in range(20)))
    assert bench.engine.most_open == 3


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
    assert time.monotonic() - started >= (0.02 + 0.04 + 0.08 + 0.16 + 0.3 + 0.3) / 2  # jitter takes half at most


def test_a_request_that_fails_while_others_succeed_carries_an_error(tmp_path):
    bench = Bench(tmp_path, ScriptedEngine({"bad": failing(9)}))
    bad, good = bench.answers("bad", "good")
    assert (bad.text, good.error, bench.engine.asked["bad"]) == ("", None, 3)
    assert "failed 3 times" in bad.error
    assert "HTTP 503" in bad.error


def test_no_answer_to_anybody_is_an_engine_error(tmp_path):
    bench = Bench(tmp_path, ScriptedEngine({"a": failing(9), "b": failing(9)}))
    found = bench.answers("a", "b")
    assert [type(e) for e in found] == [EngineError, EngineError]
    assert "no answer in 3 tries (HTTP 503)" in str(found[0])
    assert "\n" not in str(found[0])


def test_what_the_engine_never_answered_is_not_in_the_journal(tmp_path):
    bench = Bench(tmp_path, ScriptedEngine({"a": failing(3)}))
    bench.answers("a")
    assert bench.journaled() == {}
    assert bench.answers("a") == [Completion("re: a", "stop")]


def test_an_engine_that_is_down_is_asked_no_more(tmp_path):
    texts = [f"q{n}" for n in range(50)]
    bench = Bench(tmp_path, ScriptedEngine({t: failing(9) for t in texts}), concurrency=2)
    assert {type(e) for e in bench.answers(*texts)} == {EngineError}
    assert bench.engine.asked.total() <= 2 * 3


def test_the_record_is_on_disk_before_the_answer_is_given(tmp_path):
    bench = Bench(tmp_path, ScriptedEngine())

    async def look():
        client, seen = bench.client(), []

        async def one(text):
            answer = await client.complete(make_request(text))
            record = bench.journaled().get(make_request(text).key)
            seen.append(record is not None and as_completion(record) == answer)

        await asyncio.gather(*(one(f"q{n}") for n in range(10)))
        return seen

    assert asyncio.run(look()) == [True] * 10


def test_answers_that_arrive_together_share_a_piece(tmp_path):
    bench = Bench(tmp_path, ScriptedEngine(), concurrency=50)
    bench.answers(*(f"q{n}" for n in range(50)))
    assert len(bench.folder.list("journal", recursive=True)) < 10
    assert len(bench.journaled()) == 50


def test_a_journal_that_cannot_be_written_ends_the_request(tmp_path):
    (tmp_path / "journal").write_text("a file where the folder should be")
    bench = Bench(tmp_path, ScriptedEngine())
    with pytest.raises(InputError) as caught:
        raise bench.answers("q")[0]
    one_line(caught, tmp_path / "journal", "cannot be written")
