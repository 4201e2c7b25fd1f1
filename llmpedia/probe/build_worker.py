"""The Ray Data stage of a build: items of one step through its visits, many in flight, one process a worker.

Input columns: those of ``BUILD_ITEMS``. Output: ``stream.VISITS``.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pyarrow as pa

from llmpedia.engines.client import Client, GroupCommit
from llmpedia.engines.permits import SharedPermits
from llmpedia.errors import LlmpediaError
from llmpedia.execution.clients import client_name, heed_pauses, make_engine, make_permits
from llmpedia.execution.stream import VISITS, Row, failed_row
from llmpedia.probe.build_settings import BuildConfig
from llmpedia.probe.build_steps import Helpers
from llmpedia.probe.steps import STEPS
from llmpedia.probe.web_tools import WebTools, page_engine, search_engine
from llmpedia.store.files import Folder
from llmpedia.store.journal import JournalWriter, read_wave

BUILD_ITEMS = pa.schema([("subject_id", pa.int64()), ("item", pa.string())])


class BuildWorker:
    """One process of the stage."""

    def __init__(self, config_json: str, run_uri: str, wave: int, step: str, limiters: dict[str, Any]) -> None:
        import ray

        config = BuildConfig.model_validate_json(config_json)
        self._step = STEPS[step](config)
        writer = ray.get_runtime_context().get_worker_id()[:12]
        self._helpers = make_helpers(config, run_uri, wave, writer, limiters)

    async def __call__(self, batch: pa.Table) -> AsyncIterator[pa.Table]:
        """Items in, visits out."""
        rows = await asyncio.gather(*(self._row(json.loads(row["item"])) for row in batch.to_pylist()))
        yield pa.Table.from_pylist(rows, schema=VISITS)

    async def _row(self, item: Row) -> Row:
        try:
            visit = await self._step.visit(item, self._helpers)
        except LlmpediaError as e:
            return failed_row(item["subject_id"], e)
        return {"subject_id": item["subject_id"], "visit": self._step.dump(item, visit), "fatal": None}


def make_helpers(config: BuildConfig, run_uri: str, wave: int, writer: str, limiters: dict[str, Any]) -> Helpers:
    """Durable clients for one wave in one process; they share one journal writer.

    ``limiters``: handles under ``model`` and, for a step that looks things up, ``web``.
    """
    folder = Folder(run_uri)
    journaled, commit = read_wave(folder, wave), GroupCommit(JournalWriter(folder, wave, writer))
    name = client_name(wave, writer)
    engine = make_engine(config, run_uri, wave, writer)
    permits = make_permits(config, limiters["model"], name, wave)
    heed_pauses(engine, permits)
    model = Client(engine, journaled, commit, config.retries, permits)
    if "web" not in limiters:
        return Helpers(model)
    shared = SharedPermits(limiters["web"], name, wave)
    engines = search_engine(config.web, config.cache), page_engine(config.web, config.cache)
    search, page = (Client(e, journaled, commit, config.retries, shared) for e in engines)
    return Helpers(model, WebTools.of(config.web, search, page))
