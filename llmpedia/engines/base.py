"""The engine interface: one request in, one completion out."""

import random
from typing import Protocol, runtime_checkable

from llmpedia.config.walk import RetriesSection
from llmpedia.errors import TransientError
from llmpedia.stages import Completion, Request


class Engine(Protocol):
    """What a client talks to. A request that can never succeed comes back as a completion with
    ``error``.
    """

    async def generate(self, request: Request) -> Completion:
        """One try at one request.

        Raises:
            TransientError: worth another try.
        """
        ...

    async def close(self) -> None:
        """Let connections go."""
        ...


@runtime_checkable
class ChecksHealth(Protocol):
    """An engine with a way of its own to tell whether it answers at all; others are asked a short
    question.
    """

    async def check_health(self) -> None:
        """Return if anything at all is answered, without asking for what is paid.

        Raises:
            TransientError: nothing is, at present.
            EngineError: it refuses us altogether.
        """
        ...


def wait_before_retry(error: TransientError, attempt: int, retries: RetriesSection) -> float:
    """Seconds to wait after try number ``attempt`` (from 0) has failed: as long as was asked for,
    else ever longer.
    """
    if error.wait_s is not None:
        return error.wait_s
    longest = min(retries.max_wait_s, retries.first_wait_s * 2.0**attempt)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - jitter
