"""A process's part of the concurrency cap: who waits, who goes, and the reports to the limiter.

No call to the limiter is made for a request. What is held is used until the next report, about a
second later.
"""

import asyncio
import time
from collections import deque
from types import TracebackType
from typing import Any, Self

from llmpedia.engines.concurrency.limiter import LEASE_S, ClientReport, Grant

_REPORT_S = 1.0
# Between reports of a client that has work and may do none of it, and the least between any two.
_HURRIED_S = 0.2
_ANSWER_S = 5.0
# Requests that start together make one report.
_GATHER_S = 0.01


class PermitSlot:
    """One permit to have a request in flight, held by ``async with``."""

    def __init__(self, permits: "Permits") -> None:
        self._permits = permits
        self._held = False

    async def __aenter__(self) -> Self:
        await self._take()
        return self

    async def _take(self) -> None:
        await self._permits.acquire()
        self._held = True

    def _leave(self) -> None:
        if self._held:
            self._held = False
            self._permits.release()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._leave()

    async def give_way(self, seconds: float) -> None:
        """Let others have the permit for at least ``seconds``, then take one again: the endpoint
        has asked for fewer.
        """
        self._leave()
        await asyncio.sleep(seconds)
        await self._take()


class Permits:
    """A fixed number of permits for one event loop; first come, first served."""

    def __init__(self, allotment: int) -> None:
        """``allotment``: requests in flight at most."""
        self._allotment = allotment
        self._in_use = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._paused_until = 0.0
        self._alarm: asyncio.TimerHandle | None = None

    def slot(self) -> PermitSlot:
        """For ``async with``: waits for a permit."""
        return PermitSlot(self)

    async def acquire(self) -> None:
        """Wait for a permit."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        self._hand_out()
        if not turn.done():
            self._starts_to_wait()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()
            else:
                self._queue.remove(turn)
            raise

    def release(self) -> None:
        """Give a permit back."""
        self._in_use -= 1
        self._hand_out()

    def pause(self, seconds: float) -> None:
        """No new request starts for so long; those in flight go on."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)

    def succeeded(self) -> None:
        """A request was answered."""

    def limited(self) -> None:
        """A request was refused for coming too fast."""

    async def close(self) -> None:
        """Nobody asks any more."""

    def _starts_to_wait(self) -> None:
        """Somebody waits."""

    def _may_use(self) -> int:
        return self._allotment

    def _hand_out(self) -> None:
        left = self._paused_until - time.monotonic()
        if left > 0:
            if self._queue and self._alarm is None:
                self._alarm = asyncio.get_running_loop().call_later(left, self._pause_over)
            return
        while self._queue and self._in_use < self._may_use():
            turn = self._queue.popleft()
            if not turn.done():
                self._in_use += 1
                turn.set_result(None)

    def _pause_over(self) -> None:
        self._alarm = None
        self._hand_out()


class SharedPermits(Permits):
    """Permits whose number the limiter sets. Reports begin with the first request and go on while
    there is any.
    """

    def __init__(self, limiter: Any, name: str, rank: int = 0) -> None:
        """``limiter``: handle of the Limiter actor; ``name``: no other client has it; ``rank``:
        lower ones come first.
        """
        super().__init__(0)
        self._limiter = limiter
        self._name = name
        self._rank = rank
        self._succeeded = self._limited = 0
        self._asked_pause = 0.0
        self._leased_until = 0.0
        self._task: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        self._lowered = self._again = self._grown = False

    def release(self) -> None:
        """Give a permit back."""
        super().release()
        if self._in_use == self._allotment and self._lowered:
            self._hurry.set()  # the limiter waits for this to give the rest to others

    def pause(self, seconds: float) -> None:
        """No new request starts for so long, in any process."""
        super().pause(seconds)
        self._asked_pause = max(self._asked_pause, time.monotonic() + seconds)

    def succeeded(self) -> None:
        """A request was answered."""
        self._succeeded += 1

    def limited(self) -> None:
        """A request was refused for coming too fast."""
        self._limited += 1

    async def close(self) -> None:
        """Nobody asks any more; what is held is free for others."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
            self._allotment = 0
            self._limiter.forget.remote(self._name)

    def _may_use(self) -> int:
        return self._allotment if time.monotonic() < self._leased_until else 0

    def _starts_to_wait(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._report_on())
        if len(self._queue) == 1:
            self._hurry.set()

    async def _report_on(self) -> None:
        """Report until there is nothing to tell: no request, none waiting, nothing held."""
        await asyncio.sleep(_GATHER_S)
        while self._in_use or self._queue or self._allotment or self._succeeded or self._again:
            self._hurry.clear()
            await self._report()
            self._hand_out()
            if self._again:
                continue
            starved = bool(self._queue) and (self._grown or not self._may_use())
            await asyncio.sleep(_HURRIED_S)
            if not starved:
                await self._hurried(_REPORT_S - _HURRIED_S)

    async def _hurried(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._hurry.wait(), seconds)
        except TimeoutError:
            return

    async def _report(self) -> None:
        sent = time.monotonic()
        succeeded = self._succeeded
        limited = self._limited
        pause = self._asked_pause
        self._succeeded = self._limited = 0
        self._asked_pause = 0.0
        holds = self._may_use()
        pause_s = max(0.0, pause - sent)
        report = ClientReport(
            self._name, holds, self._in_use, len(self._queue), succeeded, limited, pause_s, self._rank
        )
        try:
            grant: Grant = await asyncio.wait_for(_answer(self._limiter.report.remote(report)), _ANSWER_S)
        except (
            Exception
        ):  # it is being restarted, or Ray goes down: go on with what is held until the lease ends
            self._again = self._grown = False
            self._succeeded += succeeded
            self._limited += limited
            self._asked_pause = max(self._asked_pause, pause)
            return
        lowered = grant.allotment < holds
        self._lowered = lowered and self._in_use > grant.allotment
        self._again = lowered and not self._lowered  # say so at once: until then nobody else gets it
        self._grown = grant.allotment > holds
        self._allotment = grant.allotment
        self._leased_until = sent + LEASE_S
        if grant.pause_s > 0:
            super().pause(grant.pause_s)


async def _answer(reference: Any) -> Any:
    return await reference
