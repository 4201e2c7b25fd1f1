"""The durable client: retries, permits of the concurrency cap, and the journal between an engine
and everything built on it.

A completion is handed out only when it is in the journal. A request that the wave's journal already
answers is never asked again; two equal requests in flight are asked once; what another run has been
answered is taken from there (``Answers``).
"""

import asyncio
import json

from llmpedia.config.walk import RetriesSection
from llmpedia.engines.base import ChecksHealth, Engine, wait_before_retry
from llmpedia.engines.concurrency.client import Permits, PermitSlot
from llmpedia.errors import EngineError, TransientError
from llmpedia.stages import Completion, Request
from llmpedia.store.completion_lookup import Answers
from llmpedia.store.journal import JournalWriter, Record, as_completion, completion_record

# Answers that arrive within this time share one synced journal piece.
_LINGER_S = 0.02


class GroupCommit:
    """Makes records durable in shared pieces; :meth:`durable` returns once its record is on disk."""

    def __init__(self, writer: JournalWriter) -> None:
        self._writer = writer
        self._waiting: list[tuple[Record, asyncio.Future[None]]] = []
        self._task: asyncio.Task[None] | None = None

    async def durable(self, record: Record) -> None:
        """Write the record.

        Raises:
            InputError: the journal cannot be written.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((record, done))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._flush())
        await done

    async def _flush(self) -> None:
        while self._waiting:
            await asyncio.sleep(_LINGER_S)
            batch = self._waiting
            self._waiting = []
            try:
                await asyncio.to_thread(self._writer.append, [r for r, _ in batch])
            except Exception as e:
                for _, done in batch:
                    if not done.done():  # whoever waited may have been cancelled
                        done.set_exception(e)
                continue
            for _, done in batch:
                if not done.done():
                    done.set_result(None)


class Client:
    """Answers requests for one wave from one process."""

    def __init__(
        self,
        engine: Engine,
        journaled: dict[str, Record],
        commit: GroupCommit,
        retries: RetriesSection,
        permits: Permits,
        others: Answers | None = None,
    ) -> None:
        """``journaled``: what the wave's journal already answers; ``permits``: how many requests
        may be in flight.

        ``others``: what other runs have been answered.
        """
        self._engine = engine
        self._journaled = journaled
        self._commit = commit
        self._retries = retries
        self._permits = permits
        self._others = others
        self._asked: dict[str, asyncio.Task[Completion]] = {}
        self._successes = 0
        self._down: EngineError | None = None

    async def complete(self, request: Request) -> Completion:
        """Answer one request, from the journal or the engine.

        Raises:
            EngineError: the engine answers nobody.
            InputError: the journal cannot be written.
        """
        hit = self._journaled.get(request.key)
        if hit is not None:
            return as_completion(hit)
        task = self._asked.get(request.key)
        if task is None:
            task = self._asked[request.key] = asyncio.create_task(self._ask(request))
        return await asyncio.shield(task)

    async def _ask(self, request: Request) -> Completion:
        if self._others is not None:
            kept = await asyncio.to_thread(self._others.find, request.key)
            if kept is not None:
                await self._commit.durable(completion_record(request, kept, reused=True))
                return kept
        async with self._permits.slot() as slot:
            completion = await self._try(request, slot)
        await self._commit.durable(completion_record(request, completion))
        return completion

    async def _try(self, request: Request, slot: PermitSlot) -> Completion:
        before = self._successes
        for attempt in range(self._retries.attempts):
            if self._down:
                raise self._down
            try:
                completion = await self._engine.generate(request)
            except TransientError as e:
                last = e
                if e.rate_limited:
                    self._permits.limited()
                if attempt + 1 < self._retries.attempts:
                    before = self._successes
                    wait_s = wait_before_retry(e, attempt, self._retries)
                    await (slot.give_way(wait_s) if e.rate_limited else asyncio.sleep(wait_s))
                continue
            self._successes += 1
            self._permits.succeeded()
            return completion
        if self._successes == before and not await self._alive(request):
            # Nobody has had an answer since the last try but one failed: the engine is down, which
            # says nothing of the request.
            self._down = EngineError(
                f"engine: no answer in {self._retries.attempts} tries ({last}); start again once it is back"
            )
            raise self._down
        return Completion(error=f"engine: failed {self._retries.attempts} times, last: {last}")

    async def _alive(self, request: Request) -> bool:
        """Whether the engine answers anything at all; tells a request that always fails from an
        outage.
        """
        try:
            if isinstance(self._engine, ChecksHealth):
                await self._engine.check_health()
            else:
                await self._engine.generate(_short(request))
        except TransientError:
            return False
        return True


def _short(request: Request) -> Request:
    """A question that any model answers at once, put to the model of a request."""
    sampling = json.dumps({**json.loads(request.sampling), "max_tokens": 16})
    return Request("health_check", request.model, (("user", "Are you there?"),), None, sampling)
