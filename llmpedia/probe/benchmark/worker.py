"""The Ray Data stages of a probe's run: questions to a model, responses to a judge; many in flight,
one process a worker.

Input columns: those of ``PROBE_ITEMS``. Output: ``stream.VISITS``.
"""

import json
from abc import abstractmethod
from typing import Any

import pyarrow as pa

from llmpedia.execution.clients import worker_client
from llmpedia.execution.ray_stream import Row
from llmpedia.execution.worker import Worker, writer_id
from llmpedia.probe.benchmark.closed_book import ClosedBook, respond
from llmpedia.probe.benchmark.grade import Grade, Response, grade
from llmpedia.probe.settings.base import ProbeConfig
from llmpedia.stages import completion_row

PROBE_ITEMS = pa.schema([("subject_id", pa.int64()), ("item", pa.string())])


class _QuestionWorker(Worker):
    """One process of a stage."""

    def __init__(self, config_json: str, uri: str, wave: int, limiter: Any) -> None:
        self.config = ProbeConfig.model_validate_json(config_json)
        self.client = worker_client(self.config, uri, wave, writer_id(), limiter)

    async def visit(self, row: Row) -> str:
        """See :class:`Worker`."""
        item = json.loads(row["item"])
        answer, asked = await self.asked(item)
        completions = [completion_row(item["subject_id"], r, c) for r, c in asked]
        answer_row = {"benchmark_id": item["benchmark_id"], "attempt": item["attempt"], **answer}
        return json.dumps({"row": answer_row, "completions": completions})

    @abstractmethod
    async def asked(self, item: Row) -> tuple[Row, list[Any]]:
        """What becomes of an item: the rest of its row, and what was asked for it."""


class RespondWorker(_QuestionWorker):
    """Questions to a model."""

    async def asked(self, item: Row) -> tuple[Row, list[Any]]:
        """See :class:`_QuestionWorker`."""
        response = await respond(self.client, ClosedBook(self.config), item["question"])
        row = {
            "text": response.text,
            "finish_reason": response.finish_reason,
            "truncated": response.truncated,
            "error": response.error,
        }
        return {**row, "completion": response.key}, response.completions


class GradeWorker(_QuestionWorker):
    """Responses to a judge."""

    async def asked(self, item: Row) -> tuple[Row, list[Any]]:
        """See :class:`_QuestionWorker`."""
        response = Response(item["question"], tuple(item["answers"]), item["text"])
        graded = await grade(self.client, Grade(self.config), response)
        grading = graded.grading
        row = {
            "response": item["response"],
            "outcome": graded.outcome,
            "covered": list(grading.covered) if grading else None,
            "evidence": list(grading.evidence) if grading else None,
            "contradictions": [c.__dict__ for c in grading.contradictions] if grading else None,
            "error_stage": graded.error_stage,
            "error": graded.error,
            "completion": graded.completions[-1][0].key if graded.completions else None,
        }
        return row, graded.completions
