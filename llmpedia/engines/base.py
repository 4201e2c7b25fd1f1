"""The engine interface: one request in, one completion out."""

from typing import Protocol

from llmpedia.stages import Completion, Request


class TransientError(Exception):
    """A try failed for a reason that may pass: overload, a dying replica, a cut connection.

    ``wait_s``: the wait asked for. ``rate_limited``: it was refused because too much is asked at once (HTTP 429).
    """

    def __init__(self, message: str, wait_s: float | None = None, rate_limited: bool = False) -> None:
        super().__init__(message)
        self.wait_s, self.rate_limited = wait_s, rate_limited


class Engine(Protocol):
    """What a client talks to. A request that can never succeed comes back as a completion with ``error``."""

    async def generate(self, request: Request) -> Completion:
        """One try at one request.

        Raises:
            TransientError: worth another try.
        """
        ...

    async def close(self) -> None:
        """Let connections go."""
        ...
