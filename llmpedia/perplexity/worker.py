"""The Ray Data stage of a scoring job: a batch of items is one unit of work for one scorer, retried
until a scorer answers.

Input columns: those of ``PPL_ITEMS``. Output: ``stream.VISITS``.
"""

import asyncio
import json
import math
from collections.abc import AsyncIterator
from typing import Any

import pyarrow as pa

from llmpedia.engines.vllm_serve import answer_of
from llmpedia.errors import EngineError
from llmpedia.execution.ray_stream import VISITS, Row, failed_row
from llmpedia.perplexity.replica import DEPLOYMENT, app_name, units_at_once
from llmpedia.perplexity.scores import ErrorKind
from llmpedia.perplexity.settings import PerplexityJobConfig

PPL_ITEMS = pa.schema(
    [("subject_id", pa.int64()), ("question", pa.string()), ("answers", pa.list_(pa.string()))]
)
_PROBE: Row = {"question": "Are you there?", "answers": ["Yes"]}


class _FailedError(Exception):
    """A unit has no scores; the message says what the last try met."""


class ScoreWorker:
    """One process of the stage; it holds no model, the deployment does, from wave to wave."""

    def __init__(self, config_json: str, run_uri: str) -> None:
        from ray import serve

        self._config = config = PerplexityJobConfig.model_validate_json(config_json)
        self._handle = serve.get_deployment_handle(DEPLOYMENT, app_name(config, run_uri))
        # Units wait here and not at a scorer, where their time would run.
        units = units_at_once(config) * config.engine.replicas[1] / config.waves.workers
        self._gate = asyncio.Semaphore(math.ceil(units))

    async def __call__(self, batch: pa.Table) -> AsyncIterator[pa.Table]:
        """Items in, visits out."""
        items = batch.to_pylist()
        try:
            async with self._gate:
                scores = await self._scores(items)
            rows = [
                {"subject_id": i["subject_id"], "visit": json.dumps(t), "fatal": None}
                for i, t in zip(items, scores, strict=True)
            ]
        except EngineError as e:
            rows = [failed_row(item["subject_id"], e) for item in items]
        yield pa.Table.from_pylist(rows, schema=VISITS)

    async def _scores(self, items: list[Row]) -> list[Row]:
        """A score an item; one that fails whenever it is asked, though scorers answer, is an error
        in its place.

        Raises:
            EngineError: no scorer answers, or none in time.
        """
        try:
            return await self._tried(items, self._config.retries.attempts)
        except _FailedError as e:
            if not await self._alive():
                raise EngineError(
                    f"engine: no scores in {self._config.retries.attempts} tries ({e}); start again later"
                ) from e
        return [await self._alone(item) for item in items]

    async def _alone(self, item: Row) -> Row:
        try:
            return (await self._tried([item], 2))[0]
        except _FailedError as e:
            return {"error": ErrorKind.SCORER.message(f"failed again and again, last: {e}")}

    async def _tried(self, items: list[Row], attempts: int) -> list[Row]:
        retries = self._config.retries
        last = ""
        for attempt in range(attempts):
            try:
                return await self._ask(items)
            except (EngineError, asyncio.CancelledError):
                raise
            except Exception as e:  # whatever a replica dies of; another takes its place
                last = f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"
            if attempt + 1 < attempts:
                await asyncio.sleep(min(retries.max_wait_s, retries.first_wait_s * 2.0**attempt))
        raise _FailedError(last)

    async def _ask(self, items: list[Row]) -> list[Row]:
        raw = json.dumps([{"question": i["question"], "answers": i["answers"]} for i in items])
        limit = self._config.engine.request_timeout_s
        try:
            answer: Any = json.loads(await asyncio.wait_for(answer_of(self._handle.score.remote(raw)), limit))
        except TimeoutError as e:  # says nothing of the items: they may be many, or the scorer slow
            raise EngineError(
                f"engine.request_timeout_s = {limit}: {len(items)} items are not scored within it; "
                f"raise it, or lower "
                "waves.rows_per_batch (for another --run)"
            ) from e
        if isinstance(answer, dict):
            raise EngineError(answer["fatal"])
        return list(answer)

    async def _alive(self) -> bool:
        """Whether a scorer scores anything at all; tells a unit that always fails from an outage."""
        try:
            await self._tried([_PROBE], self._config.retries.attempts)
        except _FailedError:
            return False
        return True
