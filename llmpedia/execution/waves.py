"""Two waves at a time: a wave is written (by workers), then finished (resolved, committed), each in
a thread of its own.

Wave w+1 begins as soon as w-1 is finished, so that the engine is never short of requests while w
runs out and is finished.
"""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from typing import Any, Generic, Protocol, TypeVar

from llmpedia.config.walk import JobConfig
from llmpedia.execution.clients import client_name
from llmpedia.execution.ray_stream import Row, Work, in_order, stream

_AT_ONCE = 2  # a third wave would be planned from what the first of them has yet to commit
_LEAVE_S = 5.0  # for the threads of waves to leave Ray before it goes down under them


class WavePlan(Protocol):
    """A wave to be written."""

    @property
    def wave(self) -> int:
        """Its number."""
        ...

    @property
    def title(self) -> str:
        """What progress calls it."""
        ...

    def rows(self) -> list[Row]:
        """The items, each with a ``subject_id``, as the workers take them."""
        ...


P = TypeVar("P", bound=WavePlan)


class Waves(Generic[P]):
    """The loop over waves of one job."""

    def __init__(
        self,
        config: JobConfig,
        limiters: list[Any],
        work: Callable[[P], Work],
        finish: Callable[[P, list[Row]], None],
        tell: Callable[[str], None],
    ) -> None:
        """``work``: what a wave is written by; ``finish``: called wave by wave in order; ``tell``:
        of progress, in words.

        ``limiters``: handles of the limiters that workers share; told when a wave's workers are
        gone.
        """
        self._config = config
        self._limiters = limiters
        self._work = work
        self._finish = finish
        self._tell = tell
        self._turn = threading.Lock()
        self._stopped = threading.Event()
        self._written: dict[int, str] = {}

    def run(self, first: int, plan: Callable[[int], P | None], give_up: Callable[[bool], None]) -> None:
        """Walk from wave ``first`` on until there is nothing left to plan.

        Args:
            first: number of the first wave.
            plan: of a wave; None if it has to wait for the one before, or nothing is left.
            give_up: called when something failed (True: when it was interrupted), to end what is
            not worth waiting for.

        Raises:
            EngineError, InputError: whatever a wave met; a commit that has begun is finished.
        """
        pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="wave")
        under_way: deque[Future[None]] = deque()
        try:
            self._loop(pool, under_way, first, plan)
        except BaseException as e:
            self._stopped.set()
            give_up(isinstance(e, KeyboardInterrupt))
            with self._turn:
                pass
            wait(under_way, _LEAVE_S)
            raise
        finally:
            pool.shutdown(wait=False)

    def _loop(
        self,
        pool: ThreadPoolExecutor,
        under_way: deque[Future[None]],
        wave: int,
        plan: Callable[[int], P | None],
    ) -> None:
        while True:
            planned = plan(wave) if len(under_way) < _AT_ONCE else None
            if planned is not None:
                under_way.append(pool.submit(self._one, planned, under_way[-1] if under_way else None))
                wave += 1
            elif under_way:
                for ended in wait(
                    under_way, return_when=FIRST_COMPLETED
                ).done:  # the oldest, or one that failed
                    ended.result()
                    under_way.popleft()
            else:
                return

    def _one(self, plan: P, before: Future[None] | None) -> None:
        visits = self._write(plan)
        if before is not None:
            before.result()
        with self._turn:
            if not self._stopped.is_set():
                self._finish(plan, visits)

    def _write(self, plan: P) -> list[Row]:
        """The wave's visits in plan order, however they arrived."""
        rows = plan.rows()
        visits = dict[int, Row]()
        if (
            self._stopped.is_set()
        ):  # reading the rows took its time; nothing may start on a session that has ended
            raise CancelledError
        self._progress(plan, 0, len(rows))
        for some in stream(rows, self._work(plan), self._config, self._stopped):
            if self._stopped.is_set():
                raise CancelledError
            visits.update(some)
            self._progress(plan, len(visits), len(rows))
        del self._written[plan.wave]
        for limiter in (
            self._limiters
        ):  # the workers are gone, and what they held of the cap is for the next ones at once
            limiter.forget.remote(client_name(plan.wave, ""))
        return in_order(plan.wave, [row["subject_id"] for row in rows], visits)

    def _progress(self, plan: P, done: int, of: int) -> None:
        self._written[plan.wave] = f"{plan.title}: {done}/{of}"
        self._tell("; ".join(list(self._written.values())))
