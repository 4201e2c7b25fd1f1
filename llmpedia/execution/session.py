"""Ray, the engine, the embedder and the limiter of one job, or of several in turn, up for as long
as they need them.
"""

import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Protocol, Self

from llmpedia.config.walk import JobConfig
from llmpedia.engines import preflight, vllm_serve
from llmpedia.engines.base import Engine
from llmpedia.engines.concurrency.limiter import start_limiter
from llmpedia.engines.embeddings import embedding_engine
from llmpedia.errors import EngineError
from llmpedia.signals import own_sigterm_kept


@dataclass(frozen=True)
class Served:
    """How a Serve application of the job is started, and taken down at its end."""

    start: Callable[[], object]
    stop: Callable[[], object]


class Session:
    """Everything outside this process, ended in reverse order. Ray is left alone where it was up
    before.
    """

    def __init__(
        self, config: JobConfig, needs: list[preflight.Need], embeds: bool, served: Served | None = None
    ) -> None:
        """``needs``: what each stage takes of the engine's context; ``embeds``: whether the job
        needs embeddings.

        ``served``: what Serve is to hold; null: the engine, where the job deploys it.
        """
        self._config = config
        self._needs = needs
        self._embeds = embeds
        engine = config.engine
        if served is None and engine.is_deployed:
            served = Served(partial(vllm_serve.start, engine), partial(vllm_serve.stop, engine))
        self._served = served
        self._stack = ExitStack()
        self.embedder: Engine | None = None
        self.limiter: Any = None

    def __enter__(self) -> Self:
        """Check, then start.

        Raises:
            ConfigError, EngineError: before any work, with what is available.
        """
        try:
            preflight.check_model(self._config, self._needs)
            self._start_ray()
            self._start_engine()
            self.limiter = start_limiter(self._config.engine.concurrency)
            if self._embeds:
                self.embedder = embedding_engine(self._config)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _start_ray(self) -> None:
        # Read as Ray is imported: no thread that is left over may start a cluster of its own once
        # this one is gone.
        os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")
        # Else Ray Data asks a Prometheus at localhost:9090 each second from this process, and keeps
        # an actor for what it learns.
        os.environ.setdefault("RAY_DATA_USAGE_DISABLED", "1")
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
            with own_sigterm_kept():
                ray.init(**where, log_to_driver=False, logging_level="ERROR")
        except Exception as e:  # Ray raises bare exceptions when a node does not come up
            message = " ".join(str(e).split())[:200]
            raise EngineError(
                f"ray.address = {address!r}: Ray cannot be reached or started ({message}); start again"
            ) from e
        self._stack.callback(_shut_down)

    def _private_ray(self) -> dict[str, Any]:
        """A cluster of this machine alone, with its files in a folder that goes with it."""
        # Ray Data's pools print an error about restarts at each start that does not hold while the
        # driver lives.
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

        if self._served is None:
            return
        preflight.check_placement(self._config, ray.nodes())
        self._served.start()
        self._stack.callback(self._served.stop)


class Sessions(Protocol):
    """How a job comes by its session: :class:`Session` itself, or one that is kept up from job to
    job.
    """

    def __call__(
        self, config: JobConfig, needs: list[preflight.Need], embeds: bool
    ) -> AbstractContextManager[Session]:
        """See :class:`Session`."""
        ...


class KeptSessions:
    """The session of the last job, kept up for the next one where that needs the same Ray, engine
    and embedder.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._session: Session | None = None
        self._of = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @contextmanager
    def open(self, config: JobConfig, needs: list[preflight.Need], embeds: bool) -> Iterator[Session]:
        """A job's session; it is not ended with the job.

        Raises:
            ConfigError, EngineError: as from :class:`Session`.
        """
        of = json.dumps(
            [config.model_dump(mode="json", include={"engine", "embedding", "ray"}), embeds], sort_keys=True
        )
        if self._session is None or self._of != of:
            self._session = None
            self._stack.close()
            self._session = self._stack.enter_context(Session(config, needs, embeds))
            self._of = of
        else:
            preflight.check_model(config, needs)
        yield self._session


def _shut_down() -> None:
    import ray

    with own_sigterm_kept():
        ray.shutdown()
