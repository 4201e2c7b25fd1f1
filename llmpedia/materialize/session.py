"""Ray, the engine, the embedder and the index actor of one run, up for as long as the walk needs them."""

import logging
import os
import tempfile
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from llmpedia.config import STAGE_NAMES, Config
from llmpedia.engines import checks, vllm_serve
from llmpedia.engines.base import Engine
from llmpedia.engines.embeddings import Vectors, embedding_engine
from llmpedia.engines.limits import start_limiter
from llmpedia.entities.index import EntityIndex, Known, Neighbour
from llmpedia.errors import EngineError
from llmpedia.materialize.steps import Likeness, Phrases, Stages, Subject

# What the longest prompts of a run are measured with: names and headings of a usual length.
_NAME, _HEADING = "N" * 30, "H" * 40


def needs_of(config: Config) -> list[checks.Need]:
    """What each stage of the run takes of the context."""
    stages = Stages.of(config)
    subject = Subject(_NAME, (_HEADING,) * config.article.sections[1])
    questions: dict[str, Any] = {
        "self_grounding": subject,
        "outline": subject,
        "article": subject,
        "ner": Phrases(_NAME, tuple(f"{_NAME}{i}" for i in range(config.entities.ner_chunk))),
        "arbitration": Likeness(_NAME * 10, (_NAME * 10,) * config.entities.neighbours),
    }
    skipped = set() if config.run.self_grounding else {"self_grounding"}
    needs = []
    for name in STAGE_NAMES:
        if name not in skipped:
            stage = getattr(stages, name)
            chars = sum(len(content) for _, content in stage.request(questions[name]).messages)
            needs.append(checks.Need(name, chars, stage.settings.max_tokens))
    return needs


class IndexClient:
    """The index actor as coroutines, pinned to what the caller may see. Ray restarts the actor and repeats the call."""

    def __init__(self, actor: Any, upto: int) -> None:
        self._actor, self._upto = actor, upto

    async def screen(self, keys: list[str]) -> list[int | None]:
        """See :meth:`EntityIndex.screen`."""
        found: list[int | None] = await self._actor.screen.remote(keys, self._upto)
        return found

    async def neighbours(self, vectors: Vectors) -> list[list[Neighbour]]:
        """See :meth:`EntityIndex.neighbours`."""
        found: list[list[Neighbour]] = await self._actor.neighbours.remote(vectors, self._upto)
        return found

    async def describe(self, entity_ids: list[int]) -> list[Known]:
        """See :meth:`EntityIndex.describe`."""
        found: list[Known] = await self._actor.describe.remote(entity_ids, self._upto)
        return found


class Session:
    """Everything outside this process, ended in reverse order. Ray is left alone where it was up before."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._stack = ExitStack()
        self.embedder: Engine | None = None
        self.limiter: Any = None

    def __enter__(self) -> Self:
        """Check, then start.

        Raises:
            ConfigError, EngineError: before any work, with what is available.
        """
        try:
            if self._config.engine.kind == "vllm":
                checks.check_model(self._config, needs_of(self._config))
            else:
                checks.check_context(self._config, needs_of(self._config))
            self._start_ray()
            self._start_engine()
            self.limiter = start_limiter(self._config.engine.concurrency)
            if self._config.run.mode != "titles":
                self.embedder = embedding_engine(self._config)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def _start_ray(self) -> None:
        import ray

        if ray.is_initialized():
            return
        os.environ.setdefault("RAY_AUTH_MODE", "disabled")
        import ray.data  # sets its own log levels as it is imported

        for name in ("ray", "ray.data", "ray.serve"):
            logging.getLogger(name).setLevel(logging.ERROR)
        address = self._config.ray.address or os.environ.get("RAY_ADDRESS")
        where = {"address": address} if address else self._private_ray()
        try:
            ray.init(**where, log_to_driver=False, logging_level="ERROR")
        except Exception as e:  # Ray raises bare exceptions when a node does not come up
            said = " ".join(str(e).split())[:200]
            raise EngineError(f"ray.address = {address!r}: Ray cannot be reached or started ({said}); start again") from e
        self._stack.callback(ray.shutdown)

    def _private_ray(self) -> dict[str, Any]:
        """A cluster of this machine alone, with its files in a folder that goes with it."""
        # Ray Data's pools print an error about restarts at each start that does not hold while the driver lives.
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
        folder = tempfile.TemporaryDirectory(prefix="llmpedia-ray-", ignore_cleanup_errors=True)
        return {
            "address": "local",
            "num_cpus": self._config.ray.num_cpus,
            "object_store_memory": self._config.ray.object_store_mb * 1024 * 1024,
            "include_dashboard": False,
            "_temp_dir": self._stack.enter_context(folder),
        }

    def _start_engine(self) -> None:
        import ray

        if self._config.engine.kind != "vllm":
            return
        checks.check_placement(self._config, ray.nodes())
        vllm_serve.start(self._config.engine)
        self._stack.callback(vllm_serve.stop, self._config.engine)

    def index(self, run_uri: str) -> Any:
        """The index actor of a run."""
        import ray

        entities = self._config.entities
        placed = {"num_cpus": 0.1, "num_gpus": self._config.ray.index_gpus}
        actor = ray.remote(**placed, max_restarts=-1, max_task_retries=-1)(EntityIndex)
        return actor.remote(run_uri, entities.similarity_threshold, entities.neighbours, entities.lead_words)
