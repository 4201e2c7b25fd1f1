"""Many askers, few requests: what is asked within a moment is answered together."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, TypeVar

T = TypeVar("T")


class CoalescedRequests(Generic[T]):
    """Answers for single keys out of calls for many, in one event loop.

    ``answer`` maps every key that it is given to a result or to the exception that its askers get;
    what it raises, all get. A key that is already on its way is not asked again. While ``parallel``
    calls are in flight, others gather.
    """

    def __init__(
        self,
        answer: Callable[[list[str]], Awaitable[Mapping[str, T | Exception]]],
        size: int,
        linger_s: float,
        parallel: int,
    ) -> None:
        self._answer = answer
        self._size = size
        self._linger_s = linger_s
        self._slots = asyncio.Semaphore(parallel)
        self._asked: dict[str, asyncio.Future[T]] = {}
        self._gathered: list[str] = []
        self._running: set[asyncio.Task[None]] = set()

    async def ask(self, key: str) -> T:
        """The answer for one key; whatever ``answer`` gives or raises as an error is raised."""
        if key not in self._asked:
            self._asked[key] = asyncio.get_running_loop().create_future()
            self._gathered.append(key)
            if len(self._gathered) % self._size == 1 or self._size == 1:
                task = asyncio.create_task(self._run())
                self._running.add(task)
                task.add_done_callback(self._running.discard)
        # Shielded: an asker that gives up must not take the answer from others.
        return await asyncio.shield(self._asked[key])

    async def _run(self) -> None:
        await asyncio.sleep(self._linger_s)
        async with self._slots:
            keys = self._gathered[: self._size]
            self._gathered = self._gathered[self._size :]
            if keys:
                self._settle(keys, await self._results(keys))

    async def _results(self, keys: list[str]) -> Mapping[str, T | Exception]:
        try:
            return await self._answer(keys)
        except Exception as e:
            return dict.fromkeys(keys, e)

    def _settle(self, keys: list[str], results: Mapping[str, T | Exception]) -> None:
        for key in keys:
            future = self._asked.pop(key)
            result = results[key]
            if isinstance(result, Exception):
                future.set_exception(result)
                future.exception()  # taken note of, should all askers have given up
            else:
                future.set_result(result)
