"""llmpedia/engines/client.py: nothing is asked twice, nothing is built on what is not on disk."""

import asyncio

import pytest

from llmpedia.errors import InputError
from llmpedia.stages import Completion
from llmpedia.store.journal import as_completion
from tests.support.builders.runs import make_request, one_line
from tests.support.client_bench import Bench, ScriptedEngine, failing


def test_a_journaled_request_is_not_asked_again(tmp_path):
    bench = Bench(tmp_path, ScriptedEngine())
    first = bench.answers("q")
    again = bench.answers("q")
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


def test_the_record_is_on_disk_before_the_answer_is_given(tmp_path):
    bench = Bench(tmp_path, ScriptedEngine())

    async def look():
        client = bench.client()
        seen = []

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
