"""The Ray Data stage of a scoring job: a batch of items is one unit of work for one scorer, retried until a scorer answers.

Input columns: those of ``PPL_ITEMS``. Output: ``stream.VISITS``.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pyarrow as pa

from llmpedia.errors import EngineError
from llmpedia.execution.stream import VISITS, Row, failed_row
from llmpedia.perplexity.replica import DEPLOYMENT, app_name
from llmpedia.perplexity.settings import PerplexityJobConfig

PPL_ITEMS = pa.schema([("subject_id", pa.int64()), ("question", pa.string()), ("answers", pa.list_(pa.string()))])


class ScoreWorker:
    """One process of the stage; it holds no model, the deployment does, from wave to wave."""

    def __init__(self, config_json: str) -> None:
        from ray import serve

        self._config = PerplexityJobConfig.model_validate_json(config_json)
        self._handle = serve.get_deployment_handle(DEPLOYMENT, app_name(self._config))

    async def __call__(self, batch: pa.Table) -> AsyncIterator[pa.Table]:
        """Items in, visits out."""
        items = batch.to_pylist()
        try:
            told = await self._scores(items)
            rows = [_visit(item["subject_id"], told, n) for n, item in enumerate(items)]
        except EngineError as e:
            rows = [failed_row(item["subject_id"], e) for item in items]
        yield pa.Table.from_pylist(rows, schema=VISITS)

    async def _scores(self, items: list[Row]) -> list[Row] | str:
        """The unit's scores, or why it has none though scorers answer.

        Raises:
            EngineError: no scorer answers.
        """
        raw = json.dumps([{"question": i["question"], "answers": i["answers"]} for i in items])
        retries = self._config.retries
        for attempt in range(retries.attempts):
            try:
                told: Any = json.loads(await asyncio.wait_for(self._ask(raw), self._config.engine.request_timeout_s))
            except Exception as e:  # whatever a replica dies of; another takes its place
                last = f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"
                await asyncio.sleep(min(retries.max_wait_s, retries.first_wait_s * 2.0**attempt))
                continue
            if isinstance(told, dict):
                raise EngineError(told["fatal"])
            return list(told)
        if not await self._alive():
            raise EngineError(f"engine: no scores in {retries.attempts} tries ({last}); start again once it is back")
        return f"scorer: failed {retries.attempts} times, last: {last}"

    async def _ask(self, raw: str) -> str:
        return str(await self._handle.score.remote(raw))

    async def _alive(self) -> bool:
        """Whether a scorer scores anything at all; tells a unit that always fails from an outage."""
        try:
            await asyncio.wait_for(self._ask('[{"question": "Are you there?", "answers": ["Yes"]}]'), 60)
        except Exception:  # as above
            return False
        return True


def _visit(number: int, told: list[Row] | str, n: int) -> Row:
    visit = {"error": told} if isinstance(told, str) else told[n]
    return {"subject_id": number, "visit": json.dumps(visit), "fatal": None}
