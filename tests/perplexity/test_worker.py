"""A unit of a scoring job: retried, asked item by item where it fails as a whole, and never blamed
for a slow scorer.
"""

import asyncio
import json
import time

import pyarrow as pa
import pytest
from ray import serve

from llmpedia.perplexity.settings import PerplexityJobConfig
from llmpedia.perplexity.worker import PPL_ITEMS, ScoreWorker

ITEMS = [{"subject_id": n, "question": f"q{n}", "answers": ["a"]} for n in range(4)]


class Handle:
    """``answer(questions)`` is what a scorer does with a unit."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = []
        self.score = self

    def remote(self, raw):
        questions = [row["question"] for row in json.loads(raw)]
        self.asked.append(questions)

        class Response:
            def __await__(_self):
                return self._told(questions).__await__()

            def cancel(_self):
                pass

        return Response()

    async def _told(self, questions):
        told = self.answer(questions)
        return json.dumps(await told if asyncio.iscoroutine(told) else told)


def work(monkeypatch, answer, items=ITEMS, **engine):
    handle = Handle(answer)
    monkeypatch.setattr(serve, "get_deployment_handle", lambda *_: handle)
    config = PerplexityJobConfig(
        items={"source": "x"},
        engine={"kind": "torch", **engine},
        retries={"attempts": 3, "first_wait_s": 0.001, "max_wait_s": 0.002},
    )

    async def run():
        worker = ScoreWorker(config.model_dump_json(), "runs/x")
        return [
            row
            async for table in worker(pa.Table.from_pylist(items, schema=PPL_ITEMS))
            for row in table.to_pylist()
        ]

    rows = asyncio.run(run())
    assert [row["subject_id"] for row in rows] == [i["subject_id"] for i in items]
    return rows, handle


def scored(questions):
    return [{"ppl": 1.0, "question": q} for q in questions]


def visits(rows):
    return [json.loads(row["visit"]) for row in rows]


def test_a_unit_is_one_request(monkeypatch):
    rows, handle = work(monkeypatch, scored)
    assert handle.asked == [["q0", "q1", "q2", "q3"]]
    assert [v["question"] for v in visits(rows)] == ["q0", "q1", "q2", "q3"]


def test_a_replica_that_dies_is_asked_for_again(monkeypatch):
    died = []

    def answer(questions):
        if len(died) < 2:
            died.append(1)
            raise RuntimeError("died")
        return scored(questions)

    rows, handle = work(monkeypatch, answer)
    assert len(handle.asked) == 3
    assert all(v.get("error") is None for v in visits(rows))


def test_one_bad_item_does_not_take_its_unit_along(monkeypatch):
    def answer(questions):
        if "q2" in questions:
            raise RuntimeError("out of memory")
        return scored(questions)

    rows, _ = work(monkeypatch, answer)
    assert [v.get("error") for v in visits(rows)] == [
        None,
        None,
        "scorer: failed again and again, last: RuntimeError: out of memory",
        None,
    ]


def test_an_outage_ends_the_job_and_blames_no_item(monkeypatch):
    def answer(questions):
        raise RuntimeError("gone")

    rows, _ = work(monkeypatch, answer)
    assert {json.loads(row["fatal"])["kind"] for row in rows} == {"EngineError"}
    assert all(row["visit"] is None for row in rows)


def test_what_a_scorer_finds_fatal_is_told_at_once(monkeypatch):
    rows, handle = work(monkeypatch, lambda _: {"fatal": "engine.base_url: refused"})
    assert len(handle.asked) == 1
    assert json.loads(rows[0]["fatal"])["message"] == "engine.base_url: refused"


def test_a_slow_scorer_is_no_error_of_an_item(monkeypatch):
    started = time.monotonic()
    rows, _ = work(monkeypatch, lambda _: asyncio.sleep(30), request_timeout_s=1)
    assert time.monotonic() - started < 10
    assert "engine.request_timeout_s = 1" in json.loads(rows[0]["fatal"])["message"]


@pytest.mark.parametrize("units", [1, 5])
def test_units_wait_here_and_not_at_a_scorer(monkeypatch, units):
    running = [0]
    most = [0]

    async def answer(questions):
        running[0] += 1
        most[0] = max(most[0], running[0])
        await asyncio.sleep(0.01)
        running[0] -= 1
        return scored(questions)

    handle = Handle(answer)
    monkeypatch.setattr(serve, "get_deployment_handle", lambda *_: handle)
    config = PerplexityJobConfig(items={"source": "x"}, engine={"kind": "torch"})

    async def run():
        worker = ScoreWorker(config.model_dump_json(), "runs/x")
        table = pa.Table.from_pylist(ITEMS, schema=PPL_ITEMS)

        async def one():
            return [t async for t in worker(table)]

        await asyncio.gather(*(one() for _ in range(units)))

    asyncio.run(run())
    assert most[0] == min(units, 2)
