"""The Batch API behind the engine interface: requests are collected, submitted as batches, and
answered a day later at most.

Callers do not know. When no new request has come for ``batch.settle_s`` they all wait, so what has
been collected goes out as one batch a model; a wave thus goes stage by stage in lockstep by itself,
through the same code as online.

No request is paid for twice. Before a batch is created, an intent with its ids is in the journal;
the batch carries the intent's mark in its metadata, and its id is in the journal before the first
poll. An intent without a batch, from before a crash or after a cut connection, is settled by
looking for its mark among the account's batches.
"""

import asyncio
import dataclasses
import hashlib
import time
from collections import Counter
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from llmpedia.config.engine import EndpointSection
from llmpedia.config.walk import BatchSection
from llmpedia.engines.batch_api import (
    ENDED,
    BatchApi,
    BatchLine,
    Outcome,
    SchemaRefusedError,
    custom_id,
    shards,
)
from llmpedia.engines.models import load_models
from llmpedia.errors import EngineError, TransientError
from llmpedia.http import Endpoint
from llmpedia.stages import Completion, Request
from llmpedia.store.journal import Record

# Nothing is held back in front of the engine: a whole wave must be able to wait in it.
CONCURRENCY = 1_000_000

_CLOCK_SKEW_S = 3600
# A batch that is refused for its enqueued tokens while no other of ours is open is halved, down to
# this many tokens.
_LEAST_TOKENS = 10_000


class Durable(Protocol):
    """Where records of batches go; :class:`~llmpedia.engines.client.GroupCommit`."""

    async def durable(self, record: Record) -> None:
        """Write the record; on disk on return."""
        ...


@dataclass(frozen=True)
class _Job:
    """A batch. ``plain_json``: custom_ids bound by no schema where one was asked for.

    ``ours``: submitted by this process, not found in the journal or in the account.
    """

    mark: str
    batch_id: str
    custom_ids: tuple[str, ...]
    model: str
    tokens: int
    plain_json: frozenset[str]
    ours: bool


@dataclass(frozen=True)
class _Waiting:
    request: Request
    answer: asyncio.Future[Completion]


class OpenAIBatchEngine:
    """Chat completions through batches, for one wave of one run."""

    def __init__(
        self,
        engine: EndpointSection,
        batch: BatchSection,
        run: str,
        wave: int,
        commit: Durable,
        records: Iterable[Record],
    ) -> None:
        """``run``, ``wave``: metadata of the batches; ``records``: what the wave's journal tells of
        batches, earliest first.
        """
        self._endpoint = Endpoint(engine.base_url, engine.api_key_env, engine.request_timeout_s)
        self._models = load_models(engine.models_file)
        self._api = BatchApi(self._endpoint)
        self._extra = engine.extra
        self._batch = batch
        self._commit = commit
        self._plain_json: set[str] = (
            set()
        )  # models that take no schema, and custom_ids whose one schema was refused
        self._metadata = {"run": run[-512:], "wave": f"{wave:05d}"}
        self._waiting: dict[str, _Waiting] = {}
        self._new: dict[str, Request] = {}
        self._owners: dict[str, _Job] = {}  # custom_id -> the last batch that holds it
        self._intents: dict[str, Record] = {}  # mark -> an intent that may or may not have become a batch
        self._marks: Counter[str] = Counter()
        self._sending: set[str] = set()  # custom_ids on their way into a batch
        self._watched: set[str] = set()
        self._open: Counter[str] = Counter()  # model -> prompt tokens of batches under way
        self._most_tokens: dict[str, int] = {}  # model -> of one file, learned from refusals
        self._refusals = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._collecting: asyncio.Task[None] | None = None
        self._settling = asyncio.Lock()
        self._ended = asyncio.Condition()
        for record in records:
            self._remember(record)

    def _remember(self, record: Record) -> None:
        mark = record["mark"]
        if record["batch_id"] is None:
            self._marks[mark.partition("-")[0]] += 1
            self._intents[mark] = record
        else:
            self._intents.pop(mark, None)
            self._own(_job(record, ours=False))

    def _own(self, job: _Job) -> None:
        self._owners.update(dict.fromkeys(job.custom_ids, job))

    async def generate(self, request: Request) -> Completion:
        """See :class:`~llmpedia.engines.base.Engine`; takes as long as its batch.

        Raises:
            TransientError: another batch may answer it.
            EngineError: the service refuses the batch, with its reason.
        """
        name = custom_id(request)
        waiting = self._waiting.get(name)
        if waiting is None:
            waiting = self._waiting[name] = _Waiting(request, asyncio.get_running_loop().create_future())
            self._collect({name: request})
        return await asyncio.shield(waiting.answer)

    async def check_health(self) -> None:
        """See :class:`~llmpedia.engines.base.ChecksHealth`: a batch of one line is paid, and may
        take a day.
        """
        await self._api.ping()

    async def close(self) -> None:
        """Stop waiting and let the connections go; batches under way go on, and the next start
        finds them.
        """
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._endpoint.close()

    def _collect(self, requests: dict[str, Request]) -> None:
        self._new.update(requests)
        if self._collecting is None or self._collecting.done():
            self._collecting = self._spawn(self._collector(), [])

    async def _collector(self) -> None:
        while self._new:
            seen = 0
            while seen < len(self._new) < self._batch.most_requests:
                seen = len(self._new)
                await asyncio.sleep(self._batch.settle_s)
            requests = self._new
            self._new = {}
            self._spawn(self._flush(requests), requests)

    def _spawn(self, work: Coroutine[Any, Any, None], names: Iterable[str]) -> asyncio.Task[None]:
        """Run in the background; if it fails, those who wait for ``names`` get the exception:
        nobody waits for ever.
        """

        async def run() -> None:
            try:
                await work
            except Exception as e:
                for name in names:
                    self._resolve(name, e)

        task = asyncio.create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _resolve(self, name: str, outcome: Completion | Exception) -> None:
        waiting = self._waiting.pop(name, None)
        if waiting is None or waiting.answer.done():
            return
        if isinstance(outcome, Exception):
            waiting.answer.set_exception(outcome)
            waiting.answer.exception()  # the caller may have gone
        else:
            waiting.answer.set_result(outcome)

    async def _flush(self, requests: dict[str, Request]) -> None:
        """Take requests to the batches that already hold them, and the others to new ones."""
        try:
            await self._settle_intents()
        except TransientError as e:
            raise self._later(e) from e
        jobs = {job.mark: job for name in requests if (job := self._owners.get(name)) is not None}
        for job in jobs.values():
            if job.mark not in self._watched:
                self._watched.add(job.mark)
                self._open[job.model] += job.tokens
                self._spawn(self._watch(job), job.custom_ids)
        # Some may have been answered meanwhile by a batch that was watched for others, and asked
        # again since.
        fresh = [
            r
            for name, r in requests.items()
            if name in self._waiting and not (name in self._owners or name in self._sending)
        ]
        self._sending.update(custom_id(r) for r in fresh)
        lines = await asyncio.to_thread(lambda: [self._line(r) for r in fresh])
        limits = {m: self._limit(m) for m in {line.model for line in lines}}
        most_tokens = {m: n for m, n in limits.items() if n is not None}
        for shard in shards(lines, self._batch.most_requests, self._batch.most_bytes, most_tokens):
            self._spawn(self._submit(shard), [line.custom_id for line in shard])

    def _line(self, request: Request) -> BatchLine:
        plain = bool({request.model, custom_id(request)} & self._plain_json)
        return BatchLine.of(request, self._extra, self._models, plain)

    def _limit(self, model: str) -> int | None:
        """Prompt tokens of one file at most."""
        limits = [
            n for n in (self._batch.most_enqueued_tokens, self._most_tokens.get(model)) if n is not None
        ]
        return min(limits, default=None)

    def _later(self, error: TransientError) -> TransientError:
        """The same wait for all, so that they meet in one batch again."""
        self._refusals += 1
        return TransientError(str(error), error.wait_s if error.wait_s is not None else self._pause())

    def _pause(self) -> float:
        return min(self._batch.longest_poll_s, self._batch.first_poll_s * 2.0 ** min(30, self._refusals))

    async def _settle_intents(self) -> None:
        """Find out which intents became batches, by their marks; those that did not are dropped."""
        async with self._settling:
            if not self._intents:
                return
            since = min(r["submitted"] for r in self._intents.values()) - _CLOCK_SKEW_S
            marked = {(b.get("metadata") or {}).get("mark"): b for b in await self._api.recent(since)}
            for mark, intent in list(self._intents.items()):
                batch = marked.get(mark)
                if batch is not None:
                    record = _submitted(intent, batch["id"])
                    await self._commit.durable(record)
                    self._own(_job(record, ours=False))
                del self._intents[mark]

    async def _submit(self, shard: list[BatchLine]) -> None:
        model = shard[0].model
        tokens = sum(line.tokens for line in shard)
        async with self._ended:
            await self._ended.wait_for(lambda: self._room(model, tokens))
            self._open[model] += tokens
        job = None
        try:
            job = await self._create(shard, tokens)
            self._own(job)
        except TransientError as e:
            raise self._later(e) from e
        finally:
            self._sending.difference_update(line.custom_id for line in shard)
            if job is None:
                await self._end(model, tokens)
        self._refusals = 0
        self._watched.add(job.mark)
        await self._watch(job)

    def _room(self, model: str, tokens: int) -> bool:
        most = self._batch.most_enqueued_tokens
        enqueued = self._open[model]
        return most is None or not enqueued or enqueued + tokens <= most

    async def _end(self, model: str, tokens: int) -> None:
        async with self._ended:
            self._open[model] -= tokens
            self._ended.notify_all()

    async def _create(self, shard: list[BatchLine], tokens: int) -> _Job:
        file_id = await self._api.upload(shard)
        names = sorted(line.custom_id for line in shard)
        sha = hashlib.sha256("\n".join(names).encode()).hexdigest()
        mark = (
            f"{sha}-{self._marks[sha]}" if self._marks[sha] else sha
        )  # the same requests may need another batch
        self._marks[sha] += 1
        intent: Record = {
            "key": f"intent:{mark}",
            "stage": "batch",
            "mark": mark,
            "batch_id": None,
            "input_file_id": file_id,
        }
        intent |= {
            "custom_ids": names,
            "model": shard[0].model,
            "tokens": tokens,
            "submitted": int(time.time()),
        }
        intent["plain_json"] = [line.custom_id for line in shard if line.plain_json]
        await self._commit.durable(intent)
        async with self._settling:  # nobody may look for this intent while it is being sent
            self._intents[mark] = intent
            try:
                batch = await self._api.create(file_id, {**self._metadata, "mark": mark})
            except EngineError:
                del self._intents[mark]  # refused: there is no batch
                raise
            del self._intents[mark]
        record = _submitted(intent, batch["id"])
        await self._commit.durable(record)
        return _job(record, ours=True)

    async def _watch(self, job: _Job) -> None:
        """Wait for a batch's end and hand out what it brought."""
        try:
            batch, outcomes = await self._ending(job)
        finally:
            self._watched.discard(job.mark)
            await self._end(job.model, job.tokens)
        if batch["status"] == "failed":
            await self._failed(job, batch)
            return
        lost = TransientError(f"lost: batch {job.batch_id} ended {batch['status']} without an answer to it")
        for name in job.custom_ids:
            if name not in self._waiting or self._owners.get(name) is not job:
                continue  # stays with the batch, for whoever asks later
            outcome = outcomes.get(name, lost)
            if isinstance(outcome, EngineError) and job.ours:
                self._resolve(name, outcome)
                continue
            del self._owners[name]
            outcome = self._unbound(job, name, outcome)
            if isinstance(outcome, Completion):
                self._resolve(name, outcome)
            else:
                # an EngineError may have been mended since the earlier start; a refused request
                # costs nothing
                self._resolve(name, TransientError(str(outcome), self._batch.first_poll_s))

    def _unbound(self, job: _Job, name: str, outcome: Outcome) -> Outcome:
        """The fallback from a schema to plain JSON, as online: noted on the completion, or to be
        tried next.
        """
        plain = name in job.plain_json
        if isinstance(outcome, SchemaRefusedError):
            if plain:
                return outcome.refused
            self._plain_json.add(name if outcome.alone else job.model)
        elif plain and isinstance(outcome, Completion) and outcome.error is None:
            return dataclasses.replace(outcome, fallback="json_object")
        return outcome

    async def _ending(self, job: _Job) -> tuple[dict[str, Any], dict[str, Outcome]]:
        """The ended batch and its outcomes; an unreachable service is waited for."""
        wait = self._batch.first_poll_s
        if job.ours:
            await asyncio.sleep(wait)
        while True:
            asked_for = 0.0
            try:
                batch = await self._api.retrieve(job.batch_id)
                if batch.get("status") in ENDED:
                    return batch, await self._api.outcomes(batch)
            except TransientError as e:
                asked_for = e.wait_s or 0.0
            await asyncio.sleep(max(wait, asked_for))
            wait = min(max(wait, self._batch.longest_poll_s), wait * 1.5)

    async def _failed(self, job: _Job, batch: dict[str, Any]) -> None:
        """Nothing of a failed batch was run or billed: submit again, unless the reason would be the
        same again.
        """
        errors = (batch.get("errors") or {}).get("data") or [{}]
        first = next((e for e in errors if e.get("code") == "token_limit_exceeded"), errors[0])
        refused = first.get("code") == "token_limit_exceeded"
        if job.ours and not refused:
            line = f" line {first['line']}:" if first.get("line") is not None else ""
            raise EngineError(
                f"batch {job.batch_id} failed: {first.get('code')}:{line} {first.get('message')}; "
                f"mend this, then start again: "
                "the run resumes and submits it anew"
            )
        if refused:
            if not self._open[job.model]:
                self._most_tokens[job.model] = max(_LEAST_TOKENS, job.tokens // 2)
            self._refusals += 1
            await asyncio.sleep(self._pause())
        mine = [n for n in job.custom_ids if self._owners.get(n) is job]
        for name in mine:
            del self._owners[name]
        again = {name: self._waiting[name].request for name in mine if name in self._waiting}
        if again:
            self._collect(again)


def _submitted(intent: Record, batch_id: str) -> Record:
    return {**intent, "key": f"batch:{intent['mark']}", "batch_id": batch_id}


def _job(record: Record, ours: bool) -> _Job:
    names = tuple(record["custom_ids"])
    plain = frozenset(record["plain_json"])
    return _Job(record["mark"], record["batch_id"], names, record["model"], record["tokens"], plain, ours)
