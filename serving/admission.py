"""A bounded number of requests at once, each for a bounded time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from serving.errors import RefusalError
from serving.settings import QueueSection


class Gate:
    """``part``: what the requests wait for, in words."""

    def __init__(self, part: str, queue: QueueSection) -> None:
        self._part = part
        self._queue = queue
        self._held = 0

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """A place for one request.

        Raises:
            RefusalError: there is none, or the time is over.
        """
        if self._held >= self._queue.max_queued:
            raise self.full()
        self._held += 1
        try:
            async with asyncio.timeout(self._queue.timeout_s) as limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            message = (
                f"not done within {self._queue.timeout_s:g} s (queue.timeout_s); send fewer "
                f"items a request, or ask again"
            )
            raise RefusalError(504, "timeout", message) from None
        finally:
            self._held -= 1

    def full(self, wait_s: int | None = None) -> RefusalError:
        """Told to who comes when too much is asked at once; ``wait_s``: more than the usual wait."""
        wait_s = max(self._queue.retry_after_s, wait_s or 0)
        message = (
            f"{self._part}: too much is asked at once (queue.max_queued = "
            f"{self._queue.max_queued}); ask again in {wait_s} s"
        )
        return RefusalError(503, "over_capacity", message, {"Retry-After": str(wait_s)})
