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
from llmpedia.engines.embeddings import EndpointEmbedding
from llmpedia.engines.openai import OpenAIEngine
from llmpedia.engines.openai_batch import CONCURRENCY, OpenAIBatchEngine
from llmpedia.engines.permits import Permits, SharedPermits
from llmpedia.engines.vllm_serve import VllmEngine
from llmpedia.errors import LlmpediaError
from llmpedia.materialize.steps import Stages
from llmpedia.materialize.subject import Item, Row, dump_visit, visit_subject
from llmpedia.store.files import Folder
from llmpedia.store.journal import JournalWriter, read_batches, read_wave

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

# A visit is nested (dozens of candidates, several completions). As Arrow structs its way through Ray's object store cost as much
# as the whole visit, so it travels as one JSON string; what is stored is plain columns again.
VISITS = pa.schema([("subject_id", pa.int64()), ("visit", pa.string()), ("fatal", pa.string())])


def make_engine(config: Config, run_uri: str, wave: int, writer: str) -> Engine:
    """The client side of the engine that ``config`` asks for; ``writer``: tells apart what writes to the wave's journal."""
    if config.engine.kind == "openai":
        return OpenAIEngine(config.engine)
    if config.engine.kind == "vllm":
        return VllmEngine(config.engine)
    folder = Folder(run_uri)
    commit = GroupCommit(JournalWriter(folder, wave, f"{writer}-batches"))
    return OpenAIBatchEngine(config.engine, config.batch, run_uri, wave, commit, read_batches(folder, wave))


def make_client(engine: Engine, config: Config, run_uri: str, wave: int, writer: str, permits: Permits) -> Client:
    """A durable client for one wave; ``permits``: this process's part of the concurrency cap."""
    folder = Folder(run_uri)
    commit = GroupCommit(JournalWriter(folder, wave, writer))
    return Client(engine, read_wave(folder, wave), commit, config.retries, permits)


def client_name(wave: int, writer: str) -> str:
    """What the limiter knows a client by; all clients of a wave's workers begin with ``client_name(wave, "")``."""
    return f"wave={wave:05d}/{writer}"


def make_permits(config: Config, limiter: Any, name: str, wave: int) -> Permits:
    """A process's permits under the run's concurrency cap; for batches there is nothing to hold back.

    The older of two waves comes first: in step they would both end, and leave the engine idle, at the same time.
    """
    return Permits(CONCURRENCY) if config.engine.kind == "openai_batch" else SharedPermits(limiter, name, wave)


def heed_pauses(engine: Engine, permits: Permits) -> None:
    """Have the pauses that the engine's endpoint asks for kept by everyone who shares its permits."""
    if isinstance(engine, OpenAIEngine | EndpointEmbedding):
        engine.endpoint.on_pause = permits.pause


def batches_in_flight(config: Config) -> int:
    """Batches one worker has open: three times its even share of the concurrency cap in subjects.

    A batch stays open until its last subject is done, subjects pause between two requests, and other workers leave shares
    over; with half as much, a fifth of the cap lay idle (benchmarks/concurrency.py). For the Batch API the whole wave.
    """
    if config.engine.kind == "openai_batch":
        return math.ceil(config.waves.size / config.waves.rows_per_batch)
    share = 3 * config.engine.concurrency / config.waves.workers
    return min(64, max(1, math.ceil(share / config.waves.rows_per_batch)))


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


def failed_row(subject_id: int, error: LlmpediaError) -> Row:
    """A row that stops the run: {"kind", "message"} of the error."""
    fatal = json.dumps({"kind": type(error).__name__, "message": str(error)})
    return {"subject_id": subject_id, "visit": None, "fatal": fatal}
