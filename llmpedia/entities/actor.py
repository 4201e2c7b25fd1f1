"""The index as a Ray actor, and what talks to it."""

from typing import Any

from llmpedia.config.walk import Config
from llmpedia.entities.index import EntityIndex, Known, Neighbour, Vectors


def start_index(config: Config, run_uri: str) -> Any:
    """Handle of a run's index actor; Ray restarts it, and it ends with the driver."""
    import ray

    entities = config.entities
    placed = {"num_cpus": 0.1, "num_gpus": config.ray.index_gpus}
    actor = ray.remote(**placed, max_restarts=-1, max_task_retries=-1, max_concurrency=2)(EntityIndex)
    return actor.remote(run_uri, entities.similarity_threshold, entities.neighbours, entities.lead_words)


class IndexClient:
    """The index actor as coroutines, pinned to what the caller may see. Ray restarts the actor and
    repeats the call.
    """

    def __init__(self, actor: Any, upto: int) -> None:
        self._actor = actor
        self._upto = upto

    async def screen(self, keys: list[str]) -> list[int | None]:
        """See :meth:`EntityIndex.screen`."""
        numbers: list[int | None] = await self._actor.screen.remote(keys, self._upto)
        return numbers

    async def neighbours(self, vectors: Vectors) -> list[list[Neighbour]]:
        """See :meth:`EntityIndex.neighbours`."""
        neighbours: list[list[Neighbour]] = await self._actor.neighbours.remote(vectors, self._upto)
        return neighbours

    async def describe(self, entity_ids: list[int]) -> list[Known]:
        """See :meth:`EntityIndex.describe`."""
        known: list[Known] = await self._actor.describe.remote(entity_ids, self._upto)
        return known
