"""The Ray Data stage that takes a wave's subjects through ``visit_subject``: many rows in flight, one process a worker.

Input columns: those of ``ITEMS``. Output: ``VISITS``, one row a subject whatever happened to it; ``fatal`` is set where going
on is pointless (engine down, journal not writable), and the driver stops on it.
"""

import asyncio
import json
import math
from collections.abc import AsyncIterator
from typing import Any

import pyarrow as pa

from llmpedia.config import Config
from llmpedia.engines.base import Engine
from llmpedia.engines.client import Client, GroupCommit
from llmpedia.engines.openai import OpenAIEngine
from llmpedia.engines.vllm_serve import VllmEngine
from llmpedia.errors import LlmpediaError
from llmpedia.materialize.steps import Stages
from llmpedia.materialize.subject import Item, Row, dump_visit, visit_subject
from llmpedia.store.files import Folder
from llmpedia.store.journal import JournalWriter, read_wave
from llmpedia.tables import ARTICLES, CANDIDATES, COMPLETIONS

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

_OPEN_CANDIDATE = pa.struct([f for f in CANDIDATES if f.name not in ("candidate_id", "parent_id")])

VISITS = pa.schema(
    [
        ("subject_id", pa.int64()),
        ("article", pa.struct(list(ARTICLES))),
        ("error_stage", pa.string()),
        ("error", pa.string()),
        ("lead", pa.string()),
        ("candidates", pa.list_(_OPEN_CANDIDATE)),
        ("completions", pa.list_(pa.struct(list(COMPLETIONS)))),
        ("fatal", pa.string()),
    ]
)


def make_engine(config: Config) -> Engine:
    """The client side of the engine that ``config`` asks for."""
    return OpenAIEngine(config.engine) if config.engine.kind == "openai" else VllmEngine(config.engine)


def make_client(engine: Engine, config: Config, run_uri: str, wave: int, writer: str, share: int) -> Client:
    """A durable client for one wave; ``share``: how many processes share the concurrency cap."""
    folder = Folder(run_uri)
    commit = GroupCommit(JournalWriter(folder, wave, writer))
    return Client(engine, read_wave(folder, wave), commit, config.retries, max(1, config.engine.concurrency // share))


def batches_in_flight(config: Config) -> int:
    """Batches one worker has open, so that its share of the concurrency cap stays full."""
    share = config.engine.concurrency / config.waves.workers
    return min(64, max(1, math.ceil(share / config.waves.rows_per_batch)))


class SubjectWorker:
    """One process of the stage."""

    def __init__(self, config_json: str, run_uri: str, wave: int, upto: int, index: Any) -> None:
        """``upto``: commits the canonical screen may see; ``index``: handle of the EntityIndex actor."""
        import ray

        self._config = Config.model_validate_json(config_json)
        self._stages = Stages.of(self._config)
        self._upto, self._index = upto, index
        writer = ray.get_runtime_context().get_worker_id()[:12]
        self._client = make_client(make_engine(self._config), self._config, run_uri, wave, writer, self._config.waves.workers)

    async def __call__(self, batch: pa.Table) -> AsyncIterator[pa.Table]:
        """Subjects in, visits out."""
        rows = await asyncio.gather(*(self._row(Item(**row)) for row in batch.to_pylist()))
        yield pa.Table.from_pylist(rows, schema=VISITS)

    async def _row(self, item: Item) -> Row:
        try:
            return dump_visit(await visit_subject(item, self._config, self._stages, self._client, self._screen))
        except LlmpediaError as e:
            return failed_row(item.subject_id, e)

    async def _screen(self, keys: list[str]) -> list[int | None]:
        found: list[int | None] = await self._index.screen.remote(keys, self._upto)
        return found


def failed_row(subject_id: int, error: LlmpediaError) -> Row:
    """A row that stops the run: {"kind", "message"} of the error."""
    fatal = json.dumps({"kind": type(error).__name__, "message": str(error)})
    nothing: Row = dict.fromkeys(VISITS.names)
    return {**nothing, "subject_id": subject_id, "lead": "", "candidates": [], "completions": [], "fatal": fatal}
