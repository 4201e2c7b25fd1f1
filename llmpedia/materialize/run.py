"""``materialize``: start or resume a run and walk it to its caps.

A wave is written by workers (Ray Data), then resolved and committed here, while the next one is
being written.
"""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pyarrow as pa

from llmpedia.config.walk import Config
from llmpedia.engines.client import Client
from llmpedia.engines.concurrency.client import Permits
from llmpedia.engines.usage import reused_facts
from llmpedia.entities.actor import IndexClient, start_index
from llmpedia.errors import EngineError, InputError
from llmpedia.execution.clients import client_name, heed_pauses, make_client, make_engine, make_permits
from llmpedia.execution.job import Job, OnProgress, Progress, open_job
from llmpedia.execution.provenance import described, machine_of
from llmpedia.execution.ray_stream import Work
from llmpedia.execution.session import Session, Sessions
from llmpedia.execution.waves import Waves
from llmpedia.materialize.context_needs import needs_of
from llmpedia.materialize.frontier import Frontier, Plan
from llmpedia.materialize.resolve import Resolved, Resolver
from llmpedia.materialize.stages import Stages, prompts_of
from llmpedia.materialize.subject import Row
from llmpedia.materialize.wave import facts_of, seed_proposals, seed_tables, walk_proposals, walk_tables
from llmpedia.materialize.worker import ITEMS, SubjectWorker
from llmpedia.store.completion_lookup import Answers
from llmpedia.store.journal import reused_keys
from llmpedia.store.run_folder import RunFolder


def describe_run(config: Config) -> dict[str, Any]:
    """What ``run.yaml`` holds."""
    return described(config, seeds_of(config), {p.name: p.sha256 for p in prompts_of(config).values()})


def seeds_of(config: Config) -> list[str]:
    """Titles the walk starts from, in order.

    Raises:
        InputError: the titles file cannot be read or holds none.
    """
    if not config.run.titles:
        return [" ".join(str(config.run.seed).split())]
    try:
        lines = Path(config.run.titles).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as e:
        raise InputError(
            f"run.titles = {config.run.titles!r}: cannot be read ({e}); give a UTF-8 text file, "
            f"one title a line"
        ) from e
    titles = [" ".join(line.split()) for line in lines if line.strip() and not line.startswith("#")]
    if not titles:
        raise InputError(f"run.titles = {config.run.titles!r}: holds no title; write one a line")
    return titles


def materialize(
    config: Config, run_uri: str, progress: OnProgress, sessions: Sessions = Session
) -> RunFolder:
    """Walk until a cap or the end of the frontier; resumes a run that is already there.
    ``sessions``: whence it has its own.

    Raises: ConfigError, InputError, EngineError: one line; what was committed stays, and the same
        call resumes.
    """
    Stages.of(config)  # an unknown persona is refused before anything is written
    config = config.model_copy(update={"reuse": [_source(config, uri) for uri in config.reuse]})
    description = describe_run(config)
    with open_job(run_uri, description, machine_of(config)) as job:
        if not is_finished(config, job.run):
            progress(Progress("starting Ray and the engine", 0))
            with sessions(config, needs_of(config), embeds=config.run.mode != "titles") as session:
                _Walk(config, job, session, progress).run()
    return job.run


def is_finished(config: Config, run: RunFolder) -> bool:
    """Whether a run has come to its caps or the end of its frontier."""
    return run.last_wave >= 0 and Frontier(run, config).plan(run.last_wave + 1) is None


def _source(config: Config, uri: str) -> str:
    """A run to take answers from, wherever a worker's own folder is; its key of a request says
    nothing of the engine.

    Raises:
        InputError: it is not there, or of another engine.
    """
    run = RunFolder.open(uri)
    theirs = run.description().get("identity", {}).get("engine")
    ours = config.identity()["engine"]
    if theirs != ours:
        raise InputError(
            f"reuse = {uri!r}: was answered by another engine ({theirs}, here {ours}); leave it out"
        )
    return run.uri


class _Walk:
    """The walk over waves: seeds, then plan, write, resolve, commit."""

    def __init__(self, config: Config, job: Job, session: Session, progress: OnProgress) -> None:
        self._config = config
        self._job = job
        self._run = job.run
        self._session = session
        self._progress = progress
        self._stages = Stages.of(config)
        self._index = start_index(config, job.run.uri)
        self._resolving: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None

    def run(self) -> None:
        if self._run.last_wave < 0:
            asyncio.run(self._commit_seeds())
        waves = Waves[Plan](self._config, [self._session.limiter], self._work, self._finish, self._tell)
        waves.run(self._run.last_wave + 1, Frontier(self._run, self._config).plan, self._give_up)

    def _work(self, plan: Plan) -> Work:
        settings = self._config.model_dump_json()
        return Work(
            SubjectWorker,
            (settings, self._run.uri, plan.wave, plan.upto, self._index, self._session.limiter),
            ITEMS,
        )

    def _finish(self, plan: Plan, visits: list[Row]) -> None:
        asyncio.run(self._resolve(plan, visits))

    def _tell(self, phase: str) -> None:
        self._progress(Progress(phase, self._run.totals["articles"]))

    def _give_up(self, interrupted: bool) -> None:
        """Stop resolving; the next start takes it up. Not for a failure, unless with batches: one
        can take a day.
        """
        if self._resolving is not None and (interrupted or self._config.engine.is_batched):
            loop, task = self._resolving
            with contextlib.suppress(RuntimeError):  # it has just ended
                loop.call_soon_threadsafe(task.cancel)

    async def _commit_seeds(self) -> None:
        proposals = seed_proposals(seeds_of(self._config))
        index = IndexClient(self._index, -1)
        async with _Resolving(self._config, self._session, self._stages, self._run.uri, 0, index) as resolver:
            resolved = await resolver.resolve(proposals, 0)
        failed = [p.first for p in proposals if p.first["reason"] is not None]
        if failed:
            raise EngineError(
                f"seed {failed[0]['name']!r}: {failed[0]['reason']}; start again once this is mended"
            )
        self._commit(seed_tables(proposals, resolved), None)

    async def _resolve(self, plan: Plan, visits: list[Row]) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._resolving = asyncio.get_running_loop(), task
        totals = self._run.totals
        resolved = Resolved()
        if self._config.run.mode != "titles":
            index = IndexClient(self._index, plan.wave - 1)
            async with _Resolving(
                self._config, self._session, self._stages, self._run.uri, plan.wave, index
            ) as resolver:
                resolved = await resolver.resolve(walk_proposals(plan, visits), totals["entities"])
        self._commit(walk_tables(plan, visits, resolved, totals["candidates"]), plan)

    def _commit(self, tables: dict[str, pa.Table], plan: Plan | None) -> None:
        facts = facts_of(tables, plan, self._config, self._run.last)
        if self._config.reuse:
            facts["reused"] = reused_facts(
                tables["completions"], reused_keys(self._run.folder, len(self._run.manifests))
            )
        self._job.commit(tables, facts)


class _Resolving:
    """A resolver whose connections live as long as the ``async with``."""

    def __init__(
        self, config: Config, session: Session, stages: Stages, run_uri: str, wave: int, index: Any
    ) -> None:
        self._engine = make_engine(config, run_uri, wave, "driver")
        self._permits = make_permits(config, session.limiter, f"driver/{client_name(wave, '')}", wave)
        heed_pauses(self._engine, self._permits)
        others = Answers(config.reuse) if config.reuse else None
        client = make_client(self._engine, config, run_uri, wave, "driver", self._permits, others)
        self._embedder = session.embedder
        embedder: Client = client
        if self._embedder is not None:
            # One endpoint, one cap; permits of the batch engine are no cap, and embeddings always
            # go online.
            online = not config.engine.is_local and not config.engine.is_batched
            shared = online and config.embedding.base_url == config.engine.base_url
            permits = self._permits if shared else Permits(config.engine.concurrency)
            heed_pauses(self._embedder, permits)
            embedder = make_client(self._embedder, config, run_uri, wave, "embedder", permits)
        self._resolver = Resolver(config, stages, index, client, embedder)

    async def __aenter__(self) -> Resolver:
        return self._resolver

    async def __aexit__(self, *error: object) -> None:
        await self._permits.close()
        await self._engine.close()
        if self._embedder is not None:
            await self._embedder.close()
