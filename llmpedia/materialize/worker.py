"""The Ray Data stage that takes a wave's subjects through ``visit_subject``: many rows in flight, one process a worker.

Input columns: those of ``ITEMS``. Output: ``stream.VISITS``.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pyarrow as pa

from llmpedia.config import Config
from llmpedia.errors import LlmpediaError
from llmpedia.execution.clients import client_name, heed_pauses, make_client, make_engine, make_permits
from llmpedia.execution.stream import VISITS, failed_row
from llmpedia.materialize.steps import Stages
from llmpedia.materialize.subject import Item, Row, dump_visit, visit_subject

ITEMS = pa.schema(
    [
        ("subject_id", pa.int64()),
        ("name", pa.string()),
        ("hop", pa.int32()),
        ("visit", pa.string()),
        ("expand", pa.string()),
        ("wikitext", pa.string()),
    ]
)


class SubjectWorker:
    """One process of the stage."""

    def __init__(self, config_json: str, run_uri: str, wave: int, upto: int, index: Any, limiter: Any) -> None:
        """``upto``: commits the canonical screen may see; ``index``, ``limiter``: handles of these actors."""
        import ray

        self._config = Config.model_validate_json(config_json)
        self._stages = Stages.of(self._config)
        self._upto, self._index = upto, index
        writer = ray.get_runtime_context().get_worker_id()[:12]
        engine = make_engine(self._config, run_uri, wave, writer)
        permits = make_permits(self._config, limiter, client_name(wave, writer), wave)
        heed_pauses(engine, permits)
        self._client = make_client(engine, self._config, run_uri, wave, writer, permits)

    async def __call__(self, batch: pa.Table) -> AsyncIterator[pa.Table]:
        """Subjects in, visits out."""
        rows = await asyncio.gather(*(self._row(Item(**row)) for row in batch.to_pylist()))
        yield pa.Table.from_pylist(rows, schema=VISITS)

    async def _row(self, item: Item) -> Row:
        try:
            visit = await visit_subject(item, self._config, self._stages, self._client, self._screen)
            return {"subject_id": item.subject_id, "visit": json.dumps(dump_visit(visit)), "fatal": None}
        except LlmpediaError as e:
            return failed_row(item.subject_id, e)

    async def _screen(self, keys: list[str]) -> list[int | None]:
        found: list[int | None] = await self._index.screen.remote(keys, self._upto)
        return found
