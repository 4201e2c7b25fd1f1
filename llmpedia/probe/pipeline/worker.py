"""The Ray Data stage of a build: items of one step through its visits, many in flight, one process
a worker.

Input columns: those of ``BUILD_ITEMS``. Output: ``stream.VISITS``.
"""

import json
from typing import Any

import pyarrow as pa

from llmpedia.engines.client import Client, GroupCommit
from llmpedia.engines.concurrency.client import SharedPermits
from llmpedia.execution.clients import client_name, heed_pauses, make_engine, make_permits
from llmpedia.execution.ray_stream import Row
from llmpedia.execution.worker import Worker, writer_id
from llmpedia.probe.pipeline.step_registry import STEPS
from llmpedia.probe.pipeline.steps import StepHelpers
from llmpedia.probe.questions.web_tools import WebTools, page_engine, search_engine
from llmpedia.probe.settings.build import BuildConfig
from llmpedia.store.files import Folder
from llmpedia.store.journal import JournalWriter, read_wave

BUILD_ITEMS = pa.schema([("subject_id", pa.int64()), ("item", pa.string())])


class BuildWorker(Worker):
    """One process of the stage."""

    def __init__(
        self, config_json: str, run_uri: str, wave: int, step: str, limiters: dict[str, Any]
    ) -> None:
        config = BuildConfig.model_validate_json(config_json)
        self._step = STEPS[step](config)
        self._helpers = make_helpers(config, run_uri, wave, writer_id(), limiters)

    async def visit(self, row: Row) -> str:
        """See :class:`Worker`."""
        item = json.loads(row["item"])
        return self._step.dump(item, await self._step.visit(item, self._helpers))


def make_helpers(
    config: BuildConfig, run_uri: str, wave: int, writer: str, limiters: dict[str, Any]
) -> StepHelpers:
    """Durable clients for one wave in one process; they share one journal writer.

    ``limiters``: handles under ``model`` and, for a step that looks things up, ``web``.
    """
    folder = Folder(run_uri)
    journaled = read_wave(folder, wave)
    commit = GroupCommit(JournalWriter(folder, wave, writer))
    name = client_name(wave, writer)
    engine = make_engine(config, run_uri, wave, writer)
    permits = make_permits(config, limiters["model"], name, wave)
    heed_pauses(engine, permits)
    model = Client(engine, journaled, commit, config.retries, permits)
    if "web" not in limiters:
        return StepHelpers(model)
    shared = SharedPermits(limiters["web"], name, wave)
    engines = search_engine(config.web, config.cache), page_engine(config.web, config.cache)
    search, page = (Client(e, journaled, commit, config.retries, shared) for e in engines)
    return StepHelpers(model, WebTools.of(config.web, search, page))
