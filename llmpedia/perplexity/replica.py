"""A scorer in a Ray Serve deployment: what a scoring job streams to, and what the scoring endpoint
is made of.
"""

import asyncio
import hashlib
import json
import os
from dataclasses import asdict
from functools import partial
from typing import Any

from llmpedia.engines import vllm_serve
from llmpedia.errors import EngineError
from llmpedia.execution.session import Served
from llmpedia.perplexity.scorer import PerplexityScorer
from llmpedia.perplexity.scores import Question
from llmpedia.perplexity.settings import PerplexityConfig

DEPLOYMENT = "Scorer"
_WAITING = 2  # units at a replica: one that computes, one that is ready to


class ScorerReplica:
    """One scorer. A unit is scored as it comes, so that what lies in a batch together does not
    depend on who else asks.
    """

    def __init__(self, config_json: str) -> None:
        """``config_json``: a :class:`PerplexityConfig`."""
        config = PerplexityConfig.model_validate_json(config_json)
        if config.engine.is_deployed:
            vllm_serve.check_groups(config.engine.tensor_parallel)
        _use_threads(config)
        self._scorer = PerplexityScorer.load(config)
        self._ready = asyncio.Lock()
        self._proved = False

    async def check_health(self) -> None:
        """Raises once no more scores can come from this process."""
        await self._scorer.check_health()

    async def describe(self) -> dict[str, Any]:
        """What decides the scores."""
        return self._scorer.describe()

    async def score(self, raw: str) -> str:
        """[{question, answers}] to a list of :class:`~llmpedia.perplexity.scores.QuestionScore`, or
        {"fatal": why}; JSON both.
        """
        questions = [Question(q["question"], tuple(q["answers"])) for q in json.loads(raw)]
        try:
            async with self._ready:
                if not self._proved:
                    await self._scorer.ready()
                self._proved = True
            return json.dumps([asdict(score) for score in await self._scorer.score(questions)])
        except EngineError as e:
            return json.dumps({"fatal": str(e)})


def _use_threads(config: PerplexityConfig) -> None:
    """Ray sets one thread a process where a deployment asks for one CPU."""
    if config.engine.is_in_process and config.engine.accelerator == "cpu":
        import torch

        torch.set_num_threads(threads_of(config))


def threads_of(config: PerplexityConfig) -> int:
    """Threads of one replica on a CPU."""
    return config.scorer.threads or max(1, (os.cpu_count() or 1) // config.engine.replicas[1])


def placement(config: PerplexityConfig) -> dict[str, Any]:
    """Serve options that place one scorer."""
    if config.engine.is_deployed or config.engine.accelerator != "cpu":
        return vllm_serve.placement(config.engine)
    threads = threads_of(config) if config.engine.is_in_process else 1
    return {
        "ray_actor_options": {"num_cpus": 1, "runtime_env": {"env_vars": {"OMP_NUM_THREADS": str(threads)}}}
    }


def app_name(config: PerplexityConfig, run_uri: str) -> str:
    """Serve application of a job's scorers; the job finds it again after a restart, and no other
    job does.
    """
    whole = hashlib.sha256(f"{config.identity_hash()} {run_uri}".encode()).hexdigest()
    return f"{vllm_serve.app_name(config.engine)}-scorer-{whole[:12]}"


def units_at_once(config: PerplexityConfig) -> int:
    """Units that one replica is given: vLLM and servers mix requests themselves, a torch scorer
    computes one at a time.
    """
    if config.engine.is_in_process:
        return _WAITING
    return max(_WAITING, config.engine.sequences // config.waves.rows_per_batch)


def served(config: PerplexityConfig, run_uri: str) -> Served:
    """The application of a job's scorers."""
    name = app_name(config, run_uri)
    return Served(partial(_start, config, name), partial(_stop, name))


def _start(config: PerplexityConfig, name: str) -> bool:
    from ray import serve

    least, most = config.engine.replicas
    at_once = units_at_once(config)
    replica = serve.deployment(ScorerReplica).options(
        name=DEPLOYMENT,
        max_ongoing_requests=at_once,
        autoscaling_config={"min_replicas": least, "max_replicas": most, "target_ongoing_requests": at_once},
        health_check_period_s=5,
        health_check_timeout_s=60,
        graceful_shutdown_timeout_s=10,
        **placement(config),
    )
    return vllm_serve.deploy(
        name, replica.bind(config.model_dump_json(exclude={"items"})), config.engine.start_timeout_s
    )


def _stop(name: str) -> None:
    from ray import serve

    serve.delete(name)
