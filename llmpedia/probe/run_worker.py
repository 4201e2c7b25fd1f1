"""The Ray Data stages of a probe's run: questions to a model, responses to a judge; many in flight, one process a worker.

Input columns: those of ``PROBE_ITEMS``. Output: ``stream.VISITS``.
"""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import Any

import pyarrow as pa

from llmpedia.errors import LlmpediaError
from llmpedia.execution.clients import client_name, heed_pauses, make_client, make_engine, make_permits
from llmpedia.execution.stream import VISITS, Row, failed_row
from llmpedia.probe.closed_book import ClosedBook, respond
from llmpedia.probe.grading import Grade, Response, grade
from llmpedia.probe.settings import ProbeConfig
from llmpedia.stages import completion_row

PROBE_ITEMS = pa.schema([("subject_id", pa.int64()), ("item", pa.string())])


class _Worker(ABC):
    """One process of a stage."""

    def __init__(self, config_json: str, uri: str, wave: int, limiter: Any) -> None:
        import ray

        self.config = config = ProbeConfig.model_validate_json(config_json)
        writer = ray.get_runtime_context().get_worker_id()[:12]
        engine = make_engine(config, uri, wave, writer)
        permits = make_permits(config, limiter, client_name(wave, writer), wave)
        heed_pauses(engine, permits)
        self.client = make_client(engine, config, uri, wave, writer, permits)

    async def __call__(self, batch: pa.Table) -> AsyncIterator[pa.Table]:
        """Items in, visits out."""
        rows = await asyncio.gather(*(self._row(json.loads(row["item"])) for row in batch.to_pylist()))
        yield pa.Table.from_pylist(rows, schema=VISITS)

    async def _row(self, item: Row) -> Row:
        try:
            row, asked = await self.visit(item)
        except LlmpediaError as e:
            return failed_row(item["subject_id"], e)
        completions = [completion_row(item["subject_id"], r, c) for r, c in asked]
        told = {"row": {"benchmark_id": item["benchmark_id"], "attempt": item["attempt"], **row}, "completions": completions}
        return {"subject_id": item["subject_id"], "visit": json.dumps(told), "fatal": None}

    @abstractmethod
    async def visit(self, item: Row) -> tuple[Row, list[Any]]:
        """What becomes of an item: the rest of its row, and what was asked for it."""


class RespondWorker(_Worker):
    """Questions to a model."""

    async def visit(self, item: Row) -> tuple[Row, list[Any]]:
        """See :class:`_Worker`."""
        told = await respond(self.client, ClosedBook(self.config), item["question"])
        row = {"text": told.text, "finish_reason": told.finish_reason, "truncated": told.truncated, "error": told.error}
        return {**row, "completion": told.key}, told.completions


class GradeWorker(_Worker):
    """Responses to a judge."""

    async def visit(self, item: Row) -> tuple[Row, list[Any]]:
        """See :class:`_Worker`."""
        response = Response(item["question"], tuple(item["answers"]), item["text"])
        graded = await grade(self.client, Grade(self.config), response)
        found = graded.grading
        row = {
            "response": item["response"],
            "outcome": graded.outcome,
            "covered": list(found.covered) if found else None,
            "evidence": list(found.evidence) if found else None,
            "contradictions": [c.__dict__ for c in found.contradictions] if found else None,
            "error_stage": graded.error_stage,
            "error": graded.error,
            "completion": graded.completions[-1][0].key if graded.completions else None,
        }
        return row, graded.completions
