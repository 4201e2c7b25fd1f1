"""The Ray Data stage that takes a wave's subjects through ``visit_subject``: many rows in flight,
one process a worker.

Input columns: those of ``ITEMS``. Output: ``stream.VISITS``.
"""

import json
from typing import Any

import pyarrow as pa

from llmpedia.config.walk import Config
from llmpedia.execution.clients import worker_client
from llmpedia.execution.worker import Worker, writer_id
from llmpedia.materialize.stages import Stages
from llmpedia.materialize.subject import Row, SubjectItem, dump_visit, visit_subject
from llmpedia.store.completion_lookup import Answers

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


class SubjectWorker(Worker):
    """One process of the stage."""

    def __init__(
        self, config_json: str, run_uri: str, wave: int, upto: int, index: Any, limiter: Any
    ) -> None:
        """``upto``: commits the canonical screen may see; ``index``, ``limiter``: handles of these
        actors.
        """
        self._config = Config.model_validate_json(config_json)
        self._stages = Stages.of(self._config)
        self._upto = upto
        self._index = index
        others = Answers(self._config.reuse) if self._config.reuse else None
        self._client = worker_client(self._config, run_uri, wave, writer_id(), limiter, others)

    async def visit(self, row: Row) -> str:
        """See :class:`Worker`."""
        return json.dumps(
            dump_visit(
                await visit_subject(
                    SubjectItem(**row), self._config, self._stages, self._client, self._screen
                )
            )
        )

    async def _screen(self, keys: list[str]) -> list[int | None]:
        numbers: list[int | None] = await self._index.screen.remote(keys, self._upto)
        return numbers
