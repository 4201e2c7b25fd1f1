"""llmpedia/engines/openai_batch.py against the strict emulator on a real port: nothing lost, nothing paid for twice."""

import asyncio
import dataclasses
import json
import threading
import time
from collections import Counter
from types import SimpleNamespace

import pytest
from aiohttp import web
from builders import OPENAI, make_config, make_request, one_line

from llmpedia.config import BatchSection, EngineSection
from llmpedia.engines.base import TransientError
from llmpedia.engines.batch_api import custom_id
from llmpedia.engines.client import GroupCommit
from llmpedia.engines.openai_batch import OpenAIBatchEngine
from llmpedia.errors import EngineError
from llmpedia.rehearsal.batches import Batches, Delays, Plan
from llmpedia.stages import Completion
from llmpedia.store.files import Folder
from llmpedia.store.journal import JournalWriter, read_batches, read_wave

QUICK = {"settle_s": 0.05, "first_poll_s": 0.02, "longest_poll_s": 0.1}
WORDS = [f"word {n}" for n in range(10)]


def said(text) -> dict:
    usage = {"prompt_tokens": 3, "completion_tokens": 5}
    return {"choices": [{"message": {"content": f"re: {text}"}, "finish_reason": "stop"}], "usage": usage}


def answer(body):
    return 200, said(body["messages"][-1]["content"])


def right(text) -> Completion:
    return Completion(f"re: {text}", "stop", 3, 5)


class Bench:
    """The emulator, a journal, and engines that come and go."""

    def __init__(self, folder, answer=answer, batch=None, **service):
        self.folder, self.batch = Folder(folder), BatchSection(**{**QUICK, **(batch or {})})
        self._make = lambda: Batches(answer, **service)
        self.service = None
        self.engines = []

    def run(self, use):
        """``await use(self)`` with the emulator up."""

        async def run():
            self.service = self._make()
            app = web.Application()
            app.add_routes(self.service.routes())
            runner = web.AppRunner(app, shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self.url = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}/v1"
            try:
                return await asyncio.wait_for(use(self), 30)
            finally:
                for engine in self.engines:
                    await engine.close()
                await runner.cleanup()

        return asyncio.run(run())

    def engine(self, commit=None, **section) -> OpenAIBatchEngine:
        """A new engine over what the journal holds now, as after a start."""
        section = EngineSection(**{**OPENAI, "kind": "openai_batch", "base_url": self.url, **section})
        commit = commit or GroupCommit(JournalWriter(self.folder, 0, f"w{len(self.engines)}"))
        self.engines.append(OpenAIBatchEngine(section, self.batch, "run-1", 0, commit, read_batches(self.folder, 0)))
        return self.engines[-1]

    async def ask(self, engine, words=WORDS, tries=1, **request) -> dict:
        """Word -> completion or exception; transient ones are asked again, as the client does."""

        async def one(word):
            for left in reversed(range(tries)):
                try:
                    return await engine.generate(make_request(word, **request))
                except TransientError as e:
                    if not left:
                        return e
                    await asyncio.sleep(e.wait_s or 0)
                except EngineError as e:
                    return e
            raise AssertionError("no try")

        return dict(zip(words, await asyncio.gather(*(one(w) for w in words)), strict=True))

    def answers(self, words=WORDS, tries=1, **section) -> dict:
        return self.run(lambda bench: bench.ask(bench.engine(**section), words, tries))

    def statuses(self) -> list[str]:
        return [b["status"] for b in self.service.batches]

    def once(self) -> bool:
        """Nothing was accepted for work twice."""
        return set(self.service.submitted.values()) <= {1}


RIGHT = {w: right(w) for w in WORDS}


def plans(*given):
    """The plan of each batch; those after the last are calm."""
    return lambda n: given[n] if n < len(given) else Plan()


def test_requests_of_one_moment_go_as_one_batch_and_come_back_as_online(tmp_path):
    bench = Bench(tmp_path, delays=Delays(0.03, 0.03, 0.03))
    assert bench.answers() == RIGHT
    (batch,) = bench.service.batches
    assert (batch["status"], batch["completion_window"], batch["metadata"]["run"]) == ("completed", "24h", "run-1")
    assert batch["metadata"]["wave"] == "00000"
    lines = bench.service.input(batch)
    assert {line["custom_id"] for line in lines} == {custom_id(make_request(w)) for w in WORDS}
    assert {(line["method"], line["url"], line["body"]["model"]) for line in lines} == {("POST", "/v1/chat/completions", "m")}


def test_the_next_stage_goes_as_the_next_batch(tmp_path):
    bench = Bench(tmp_path)

    async def two_stages(bench):
        engine = bench.engine()

        async def one(word):
            first = await engine.generate(make_request(word))
            return await engine.generate(make_request(first.text, stage="article"))

        return await asyncio.gather(*(one(w) for w in WORDS))

    assert [c.text for c in bench.run(two_stages)] == [f"re: re: {w}" for w in WORDS]
    assert [b["request_counts"]["total"] for b in bench.service.batches] == [10, 10]


def test_two_equal_requests_are_one_line(tmp_path):
    bench = Bench(tmp_path)
    assert bench.answers(["a", "a", "b"]) == {"a": right("a"), "b": right("b")}
    assert sum(bench.service.submitted.values()) == 2


def test_files_hold_one_model_and_no_more_than_the_limits(tmp_path):
    bench = Bench(tmp_path, batch={"most_requests": 4}, most_lines=4)

    async def two_models(bench):
        engine = bench.engine()
        asks = [engine.generate(r) for w in WORDS for r in (make_request(w), make_request(w, sampling='{"seed": 1}'))]
        return await asyncio.gather(*asks)

    assert len(bench.run(two_models)) == 20
    assert [b["request_counts"]["total"] for b in bench.service.batches] == [4, 4, 4, 4, 4]
    assert bench.once()


def test_files_are_cut_by_bytes(tmp_path):
    bench = Bench(tmp_path, batch={"most_bytes": 900}, most_bytes=900)
    assert bench.answers() == RIGHT
    assert len(bench.service.batches) > 1
    assert set(bench.statuses()) == {"completed"}


def test_enqueued_tokens_stay_below_the_setting(tmp_path):
    words = [f"{n} " + "x" * 398 for n in range(10)]  # 100 tokens each
    bench = Bench(tmp_path, batch={"most_enqueued_tokens": 330}, most_enqueued_tokens=330, delays=Delays(in_progress=0.05))
    assert bench.answers(words) == {w: right(w) for w in words}
    assert set(bench.statuses()) == {"completed"}
    assert bench.service.most_enqueued <= 330
    assert bench.once()


def test_a_batch_over_the_services_token_limit_is_halved_and_waits(tmp_path, monkeypatch):
    monkeypatch.setattr("llmpedia.engines.openai_batch._LEAST_TOKENS", 10)
    words = [f"{n} " + "x" * 398 for n in range(10)]
    bench = Bench(tmp_path, most_enqueued_tokens=330, delays=Delays(in_progress=0.05))
    assert bench.answers(words) == {w: right(w) for w in words}
    assert set(bench.statuses()) == {"completed", "failed"}
    assert bench.once()


@pytest.mark.parametrize(
    ("plan", "status"),
    [
        (Plan(expire=0.3), "expired"),
        (Plan(cancel=0.3), "cancelled"),
        (Plan(lose=0.3), "completed"),
        (Plan(expire=1.0), "expired"),
        (Plan(cancel=1.0), "cancelled"),
    ],
)
def test_what_a_batch_leaves_is_asked_alone(tmp_path, plan, status):
    bench = Bench(tmp_path, plan=plans(plan))
    assert bench.answers(tries=2) == RIGHT
    left = 10 if 1.0 in (plan.expire, plan.cancel) else 3
    assert [(b["status"], b["request_counts"]["total"]) for b in bench.service.batches] == [(status, 10), ("completed", left)]


@pytest.mark.parametrize(("plan", "says"), [(Plan(expire=1.0), "batch_expired"), (Plan(lose=1.0), "lost")])
def test_what_is_missing_says_why(tmp_path, plan, says):
    found = Bench(tmp_path, plan=plans(plan)).answers()
    assert all(isinstance(e, TransientError) and says in str(e) for e in found.values())


def test_a_batch_cancelled_by_hand_keeps_what_it_has(tmp_path):
    bench = Bench(tmp_path, delays=Delays(in_progress=60))

    async def cancel(bench):
        asks = asyncio.create_task(bench.ask(bench.engine()))
        while bench.service is None or not bench.service.batches:
            await asyncio.sleep(0.02)
        endpoint = bench.engines[0]._endpoint
        await endpoint.fetch("POST", f"batches/{bench.service.batches[0]['id']}/cancel")
        return await asks

    assert all("cancelled" in str(e) for e in bench.run(cancel).values())


def test_a_refused_request_is_an_error_in_the_words_of_online(tmp_path):
    refused = {"error": {"message": "too\nlong", "code": "context_length_exceeded"}}
    refuse = lambda body: (400, refused) if body["messages"][0]["content"] == "word 3" else None  # noqa: E731
    bench = Bench(tmp_path, plan=lambda n: Plan(refuse=refuse))
    assert bench.answers() == {**RIGHT, "word 3": Completion(error="engine: HTTP 400: too long")}
    assert len(bench.service.batches) == 1


def test_a_completed_batch_without_an_output_file(tmp_path):
    bench = Bench(tmp_path, answer=lambda body: (400, {"error": {"message": "no"}}))
    assert set(bench.answers().values()) == {Completion(error="engine: HTTP 400: no")}
    (batch,) = bench.service.batches
    assert (batch["status"], batch["output_file_id"]) == ("completed", None)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_lines_that_may_pass_are_asked_again(tmp_path, status):
    refuse = lambda body: (status, {"error": {"message": "busy"}}) if "3" in body["messages"][0]["content"] else None  # noqa: E731
    bench = Bench(tmp_path, plan=plans(Plan(refuse=refuse)))
    assert bench.answers(tries=2) == RIGHT
    assert [b["request_counts"]["total"] for b in bench.service.batches] == [10, 1]


def bound(kind):
    return lambda body: body.get("response_format", {}).get("type") == kind


SCHEMA = json.dumps({"json_schema": {"type": "object"}})


@pytest.mark.parametrize("says", ["response_format json_schema is not supported", "Invalid schema for response_format"])
def test_a_refused_schema_falls_back_to_plain_json_as_online(tmp_path, says):
    refused = (400, {"error": {"message": says}})
    bench = Bench(tmp_path, plan=lambda n: Plan(refuse=lambda body: refused if bound("json_schema")(body) else None))

    async def ask(bench):
        engine = bench.engine()
        first = await bench.ask(engine, tries=2, constraint=SCHEMA)
        return (
            first,
            await bench.ask(engine, ["late"], tries=2, constraint=SCHEMA),
            await bench.ask(bench.engine(), constraint=SCHEMA),
        )

    first, late, again = bench.run(ask)
    plain = {w: dataclasses.replace(c, fallback="json_object") for w, c in RIGHT.items()}
    assert (first, again) == (plain, plain)
    assert late["late"].fallback == "json_object"
    assert len(bench.service.batches) == (
        4 if "Invalid" in says else 3
    )  # a model that takes no schema is not asked for one again


def test_an_answer_without_a_choice_is_asked_again(tmp_path):
    bench = Bench(tmp_path, plan=plans(Plan(refuse=lambda body: (200, {"choices": []}))))
    assert bench.answers(tries=2) == RIGHT


def test_a_model_that_is_refused_ends_the_run_and_is_asked_again_after_it(tmp_path):
    bench = Bench(tmp_path, plan=plans(Plan(refuse=lambda body: (404, {"error": {"message": "no such model"}}))))

    async def twice(bench):
        first = await bench.ask(bench.engine())
        return first, await bench.ask(bench.engine(), tries=2)

    first, again = bench.run(twice)
    assert all(isinstance(e, EngineError) and "no such model" in str(e) for e in first.values())
    assert again == RIGHT


def test_a_failed_batch_names_code_line_and_message_and_is_submitted_anew_after_it(tmp_path):
    error = {"code": "invalid_json_line", "line": 7, "message": "This line is not parseable.", "param": None}
    bench = Bench(tmp_path, plan=plans(Plan(fail=(error,))))

    async def twice(bench):
        return await bench.ask(bench.engine()), await bench.ask(bench.engine())

    first, again = bench.run(twice)
    for e in first.values():
        assert isinstance(e, EngineError)
        assert all(part in str(e) for part in ("invalid_json_line", "line 7", "not parseable", "start again"))
    assert again == RIGHT
    assert bench.once()


def test_the_service_finds_its_faults_in_the_files_of_others():
    """The emulator is strict: what this engine never sends turns a batch failed."""
    line = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m", "messages": []}}
    other = {**line, "custom_id": "b"}
    faults = {
        "empty_file": [],
        "too_many_tasks": [{**line, "custom_id": str(n)} for n in range(5)],
        "invalid_json_line": ["{oops"],
        "duplicate_custom_id": [line, line],
        "url_mismatch": [line, {**other, "url": "/v1/embeddings"}],
        "model_mismatch": [line, {**other, "body": {"model": "n"}}],
    }
    service = Batches(answer, most_lines=4)
    for code, lines in faults.items():
        text = "".join((x if isinstance(x, str) else json.dumps(x)) + "\n" for x in lines)
        shown = service._store(text.encode(), "in.jsonl", "batch")
        batch = type("B", (), {"shown": {"input_file_id": shown["id"], "endpoint": "/v1/chat/completions"}, "lines": []})()
        assert [e["code"] for e in service._validate(batch)] == [code]


@pytest.mark.parametrize(
    ("name", "purpose", "says"),
    [("in.json", "batch", "Must be .jsonl"), ("in.jsonl", "assistants", "not one of"), ("in.jsonl", "batch", "large")],
)
def test_the_service_refuses_uploads(tmp_path, name, purpose, says):
    import aiohttp

    async def upload(bench):
        form = aiohttp.FormData({"purpose": purpose})
        form.add_field("file", b"x" * 11, filename=name)
        return await bench.engine()._endpoint.fetch("POST", "files", data=form)

    status, raw = Bench(tmp_path, most_bytes=10).run(upload)
    assert (status, says in raw.decode()) == (400, True)


def test_a_refused_upload_ends_the_run_in_one_line(tmp_path):
    found = Bench(tmp_path, most_bytes=10).answers()
    assert all(isinstance(e, EngineError) and "File is too large" in str(e) and "\n" not in str(e) for e in found.values())


def test_a_key_that_does_not_see_the_batch_ends_the_run(tmp_path):
    bench = Bench(tmp_path, delays=Delays(in_progress=60))

    async def other_project(bench):
        first = asyncio.create_task(bench.ask(bench.engine()))
        while not read_batches(bench.folder, 0) or not bench.service.batches:
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.1)
        bench.service._batches.clear()
        return await first

    assert all(isinstance(e, EngineError) and "api_key_env" in str(e) for e in bench.run(other_project).values())


def test_an_unreachable_service_while_polling_drops_no_batch(tmp_path):
    bench = Bench(tmp_path, plan=lambda n: Plan(unavailable=5))
    assert bench.answers() == RIGHT
    assert len(bench.service.batches) == 1


def test_nobody_there_is_transient_for_all(tmp_path):
    bench = Bench(tmp_path)

    async def ask(bench):
        bench.url = "http://127.0.0.1:1/v1"
        return await bench.ask(bench.engine())

    found = bench.run(ask).values()
    assert all(isinstance(e, TransientError) for e in found)
    assert len({e.wait_s for e in found}) == 1  # so that they meet in one batch again


def test_ids_are_in_the_journal_before_the_first_look(tmp_path):
    bench = Bench(tmp_path)
    seen = []

    async def watch(bench):
        engine = bench.engine()
        retrieve = engine._api.retrieve

        async def spy(batch_id):
            seen.append([r["batch_id"] for r in read_batches(bench.folder, 0)])
            return await retrieve(batch_id)

        engine._api.retrieve = spy
        return await bench.ask(engine)

    assert bench.run(watch) == RIGHT
    assert seen[0] == [None, bench.service.batches[0]["id"]]
    record = read_batches(bench.folder, 0)[-1]
    assert record["key"] == f"batch:{bench.service.batches[0]['metadata']['mark']}"
    assert (record["stage"], record["model"], len(record["custom_ids"])) == ("batch", "m", 10)
    assert record["input_file_id"] == bench.service.batches[0]["input_file_id"]
    assert read_wave(bench.folder, 0) == {}  # no completion among them


class Dies:
    """A journal that is killed at its n-th record, before or after it is on disk."""

    def __init__(self, folder, at, after):
        self._commit, self._left, self._after = GroupCommit(JournalWriter(folder, 0, "dies")), at, after

    async def durable(self, record):
        self._left -= 1
        if self._left == 0 and not self._after:
            await asyncio.Event().wait()
        await self._commit.durable(record)
        if self._left == 0:
            await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("at", "after", "batches"),
    [(1, False, 1), (1, True, 1), (2, False, 1), (2, True, 1)],
    ids=["before the intent", "between intent and create", "between create and journal", "while polling"],
)
@pytest.mark.parametrize("same", [True, False], ids=["same requests", "some of them"])
def test_a_start_after_a_kill_submits_nothing_twice(tmp_path, at, after, batches, same):
    bench = Bench(tmp_path, delays=Delays(in_progress=0.2))

    async def killed_and_started(bench):
        engine = bench.engine(Dies(bench.folder, at, after))
        gone = asyncio.create_task(bench.ask(engine))
        await asyncio.sleep(0.3)
        gone.cancel()
        await engine.close()
        words = WORDS if same else WORDS[:6]
        return words, await bench.ask(bench.engine(), words)

    words, found = bench.run(killed_and_started)
    assert found == {w: right(w) for w in words}
    assert len(bench.service.batches) == batches
    assert bench.once()


def test_a_second_kill_and_requests_that_come_late(tmp_path):
    """Three engines over one journal: the batch's answers are there for whoever asks, whenever."""
    bench = Bench(tmp_path, delays=Delays(in_progress=0.3))

    async def three(bench):
        first = bench.engine()
        gone = asyncio.create_task(bench.ask(first))
        while not bench.service.batches:
            await asyncio.sleep(0.02)
        gone.cancel()
        await first.close()
        second = bench.engine()
        early = await bench.ask(second, WORDS[:3])
        late = await bench.ask(second, WORDS[3:7])
        return {**early, **late, **await bench.ask(bench.engine(), WORDS)}

    assert bench.run(three) == RIGHT
    assert (len(bench.service.batches), bench.once()) == (1, True)


def test_a_cut_connection_at_create_submits_nothing_twice(tmp_path):
    bench = Bench(tmp_path, plan=plans(Plan(cut=True)), delays=Delays(in_progress=0.2))
    assert bench.answers(tries=2) == RIGHT
    assert (len(bench.service.batches), bench.once()) == (1, True)


def test_after_a_start_the_last_batch_of_a_request_counts(tmp_path):
    """All expired and went again; the new engine takes the second batch, not the first one's end."""
    bench = Bench(tmp_path, plan=plans(Plan(expire=1.0)))

    async def again(bench):
        first = await bench.ask(bench.engine(), tries=2)
        return first, await bench.ask(bench.engine())

    assert bench.run(again) == (RIGHT, RIGHT)
    assert len(bench.service.batches) == 2
    marks = [b["metadata"]["mark"] for b in bench.service.batches]
    assert marks[1] == f"{marks[0]}-1"
    assert Counter(bench.service.answered.values()) == {1: 10}


def test_the_batch_is_found_behind_a_hundred_others(tmp_path):
    bench = Bench(tmp_path, delays=Delays(in_progress=0.1))

    async def crowded(bench):
        engine = bench.engine(Dies(bench.folder, 2, False))
        gone = asyncio.create_task(bench.ask(engine))
        await asyncio.sleep(0.3)
        gone.cancel()
        for n in range(120):
            shown = {**bench.service.batches[0], "id": f"other-{n}", "metadata": None}
            bench.service._batches[shown["id"]] = type("B", (), {"shown": shown})()
        await engine.close()
        return await bench.ask(bench.engine())

    assert bench.run(crowded) == RIGHT
    assert bench.once()


def test_a_journal_that_cannot_be_written_is_told(tmp_path):
    from llmpedia.errors import InputError

    class Full:
        async def durable(self, record):
            raise InputError("disk full; free space")

    async def ask(bench):
        with pytest.raises(InputError) as caught:
            await bench.engine(Full()).generate(make_request())
        one_line(caught, "disk full")

    Bench(tmp_path).run(ask)


def test_an_interrupted_walk_does_not_wait_for_a_batch(monkeypatch):
    from llmpedia.materialize import run

    began, closed = threading.Event(), threading.Event()

    class Resolving:
        def __init__(self, *args):
            pass

        async def __aenter__(self):
            return self

        async def resolve(self, *args):
            began.set()
            await asyncio.sleep(60)

        async def __aexit__(self, *error):
            closed.set()

    monkeypatch.setattr(run, "_Resolving", Resolving)
    monkeypatch.setattr(run, "walk_proposals", lambda *args: [])
    monkeypatch.setattr("llmpedia.execution.waves.stream", lambda *args: [[(7, {})]])
    one = SimpleNamespace(wave=1, upto=0, title="wave 1", rows=lambda: [{"subject_id": 7}])

    class Frontier:
        def __init__(self, *args):
            pass

        def plan(self, wave):
            if wave == 1:
                return one
            assert began.wait(10)
            raise KeyboardInterrupt

    monkeypatch.setattr(run, "Frontier", Frontier)
    manifests = [SimpleNamespace(facts={"totals": {"entities": 0, "articles": 0}})]
    limiter = SimpleNamespace(forget=SimpleNamespace(remote=lambda prefix: None))
    parts = {
        "_run": SimpleNamespace(last_wave=0, uri="u", manifests=manifests),
        "_session": SimpleNamespace(limiter=limiter),
        "_stages": None,
        "_index": None,
        "_progress": lambda progress: None,
    }
    walk = run._Walk.__new__(run._Walk)
    walk.__dict__.update(parts, _config=make_config(engine={"kind": "openai_batch"}, waves={"workers": 1}), _resolving=None)

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        walk.run()
    assert closed.is_set()
    assert time.monotonic() - start < 10
