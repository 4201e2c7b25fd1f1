"""What the worker processes of all jobs have in common: a batch of items in, a visit an item out,
whatever happens to it.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator

import pyarrow as pa

from llmpedia.errors import LlmpediaError
from llmpedia.execution.ray_stream import VISITS, Row, failed_row


class Worker(ABC):
    """One process of a Ray Data stage. Input: a table with a ``subject_id``; output:
    ``stream.VISITS``.
    """

    async def __call__(self, batch: pa.Table) -> AsyncIterator[pa.Table]:
        """Items in, visits out."""
        rows = await asyncio.gather(*(self._row(row) for row in batch.to_pylist()))
        yield pa.Table.from_pylist(rows, schema=VISITS)

    async def _row(self, row: Row) -> Row:
        try:
            return {"subject_id": row["subject_id"], "visit": await self.visit(row), "fatal": None}
        except LlmpediaError as e:
            return failed_row(row["subject_id"], e)

    @abstractmethod
    async def visit(self, row: Row) -> str:
        """What becomes of an item, as JSON.

        Raises:
            LlmpediaError: it ends the run.
        """


def writer_id() -> str:
    """What tells the journal pieces of this process apart."""
    import ray

    return str(ray.get_runtime_context().get_worker_id()[:12])
