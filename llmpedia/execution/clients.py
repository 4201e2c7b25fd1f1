"""The client side of engines, as every process of a job makes it: engine, durable client, permits
of the concurrency cap.
"""

import math
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from llmpedia.config.engine import EngineSection, OpenAIBatchSection, OpenAISection, VllmSection
from llmpedia.config.walk import JobConfig
from llmpedia.engines.base import Engine
from llmpedia.engines.client import Client, GroupCommit
from llmpedia.engines.concurrency.client import Permits, SharedPermits
from llmpedia.engines.embeddings import EndpointEmbedding
from llmpedia.engines.openai import OpenAIEngine
from llmpedia.engines.openai_batch import CONCURRENCY, OpenAIBatchEngine
from llmpedia.engines.vllm_serve import VllmEngine
from llmpedia.store.completion_lookup import Answers
from llmpedia.store.files import Folder
from llmpedia.store.journal import JournalWriter, read_batches, read_wave


@dataclass(frozen=True)
class Asker:
    """Who asks an engine. ``writer``: tells apart what writes to the wave's journal."""

    config: JobConfig
    run_uri: str
    wave: int
    writer: str


def make_engine(config: JobConfig, run_uri: str, wave: int, writer: str) -> Engine:
    """The client side of the engine that ``config`` asks for; ``writer``: tells apart what writes
    to the wave's journal.
    """
    return engine_of(config.engine, Asker(config, run_uri, wave, writer))


@singledispatch
def engine_of(section: EngineSection, asker: Asker) -> Engine:
    """The client side of the engine of a section: one function a kind, registered below."""
    raise NotImplementedError(f"no engine is registered for {type(section).__name__}")


@engine_of.register
def _vllm(section: VllmSection, asker: Asker) -> Engine:
    return VllmEngine(section)


@engine_of.register
def _openai(section: OpenAISection, asker: Asker) -> Engine:
    return OpenAIEngine(section)


@engine_of.register
def _openai_batch(section: OpenAIBatchSection, asker: Asker) -> Engine:
    folder = Folder(asker.run_uri)
    commit = GroupCommit(JournalWriter(folder, asker.wave, f"{asker.writer}-batches"))
    records = read_batches(folder, asker.wave)
    return OpenAIBatchEngine(section, asker.config.batch, asker.run_uri, asker.wave, commit, records)


def make_client(
    engine: Engine,
    config: JobConfig,
    run_uri: str,
    wave: int,
    writer: str,
    permits: Permits,
    others: Answers | None = None,
) -> Client:
    """A durable client for one wave; ``permits``: this process's part of the concurrency cap;
    ``others``: see ``Client``.
    """
    folder = Folder(run_uri)
    commit = GroupCommit(JournalWriter(folder, wave, writer))
    return Client(engine, read_wave(folder, wave), commit, config.retries, permits, others)


def worker_client(
    config: JobConfig, run_uri: str, wave: int, writer: str, limiter: Any, others: Answers | None = None
) -> Client:
    """The durable client of a worker process that asks one engine; ``limiter``: handle of what
    keeps its concurrency cap.
    """
    engine = make_engine(config, run_uri, wave, writer)
    permits = make_permits(config, limiter, client_name(wave, writer), wave)
    heed_pauses(engine, permits)
    return make_client(engine, config, run_uri, wave, writer, permits, others)


def client_name(wave: int, writer: str) -> str:
    """What the limiter knows a client by; all clients of a wave's workers begin with
    ``client_name(wave, "")``.
    """
    return f"wave={wave:05d}/{writer}"


def make_permits(config: JobConfig, limiter: Any, name: str, wave: int) -> Permits:
    """A process's permits under the run's concurrency cap; for batches there is nothing to hold
    back.

    The older of two waves comes first: in step they would both end, and leave the engine idle, at
    the same time.
    """
    if config.engine.is_batched:
        return Permits(CONCURRENCY)
    return SharedPermits(limiter, name, wave)


def heed_pauses(engine: Engine, permits: Permits) -> None:
    """Have the pauses that the engine's endpoint asks for kept by everyone who shares its permits."""
    if isinstance(engine, OpenAIEngine | EndpointEmbedding):
        engine.endpoint.on_pause = permits.pause


def batches_in_flight(config: JobConfig) -> int:
    """Batches one worker has open: three times its even share of the concurrency cap in subjects.

    A batch stays open until its last subject is done, subjects pause between two requests, and
    other workers leave shares over; with half as much, a fifth of the cap lay idle
    (benchmarks/concurrency.py). For the Batch API the whole wave.
    """
    if config.engine.is_batched:
        return math.ceil(config.waves.size / config.waves.rows_per_batch)
    share = 3 * config.engine.concurrency / config.waves.workers
    return min(64, max(1, math.ceil(share / config.waves.rows_per_batch)))
