"""What a scorer needs of a model: log-probabilities of given answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Task:
    """A context and the answers to score after it; none is empty."""

    context: Ids
    answers: tuple[Ids, ...]


# For each answer of a task, the natural log-probability of each of its tokens.
Logprobs = list[list[float]]


class Backend(Protocol):
    """Where log-probabilities come from."""

    async def logprobs(self, tasks: Sequence[Task]) -> list[Logprobs | str]:
        """One entry a task: its values, or why it has none."""
        ...

    def describe(self) -> dict[str, Any]:
        """What decides the values."""
        ...

    async def ready(self) -> None:
        """Prove that values come.

        Raises:
            EngineError: they do not, with the reason.
        """
        ...

    async def check_health(self) -> None:
        """Raises once no more values can come from this process."""
        ...
