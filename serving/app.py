"""The served application: ``serve run serving.app:build config=configs/serve.yaml`` (see ``configs/serve-deploy.yaml``).

One ingress (HTTP, any number of replicas), a scorer, and the judge's engine where that is vLLM. What is decided, and how, is
imported from ``llmpedia``, so that it is decided as in batch.
"""

from typing import Any

from prometheus_client import Metric

from llmpedia.audit.article import verdict_need
from llmpedia.config import EngineSection
from llmpedia.engines import vllm_serve
from llmpedia.engines.checks import check_context
from llmpedia.engines.permits import Permits
from llmpedia.errors import ConfigError
from llmpedia.execution.clients import heed_pauses
from llmpedia.perplexity.replica import placement
from serving.api import make_api
from serving.counts import Counts, render
from serving.engines import DeployedEngine, EndpointEngine
from serving.gate import Gate
from serving.guard import is_loopback, key_digests
from serving.judge import ChatEngine, ServedJudge
from serving.parts import Parts
from serving.refusals import RefusalError
from serving.scoring import DeployedScorer, Scorer
from serving.settings import JudgeSection, PerplexitySection, ServeConfig, load_serve_config

_SCRAPE_S = 5.0
# Beside what the gates hold: probes, scrapes, and requests that are about to be refused.
_MORE = 32
_DRAIN_S = 10.0


def build(args: dict[str, Any]) -> Any:
    """The application. ``args``: ``config``, a file, and ``a.b: c``, settings that differ from it.

    Raises:
        ConfigError: one line; nothing has been started.
    """
    config = load_serve_config(args)
    digests = key_digests(config.auth)
    engine = scorer = None
    if config.judge is not None:
        judging = config.judge.judging()
        try:
            check_context(judging, [verdict_need(judging, config.limits.claims)])
        except ConfigError as e:  # in the words of an audit's settings
            raise ConfigError(f"judge.{str(e).replace('stages.', 'judge.stages.')}") from e
        engine = _engine(config, config.judge.engine) if config.judge.engine.kind == "vllm" else None
    if config.perplexity is not None:
        scorer = _scorer(config, config.perplexity)
    return _ingress(config).bind(config.model_dump_json(), digests, engine, scorer)


def _engine(config: ServeConfig, engine: EngineSection) -> Any:
    options = vllm_serve.deployment(engine).options(**_patience(config))
    return options.bind(vllm_serve.engine_args(engine))


def _scorer(config: ServeConfig, section: PerplexitySection) -> Any:
    from ray import serve

    batching, settings = config.batching, section.config()
    deployment = serve.deployment(Scorer).options(
        name="Scorer",
        # Fewer, and batches would never fill.
        max_ongoing_requests=batching.questions * batching.batches,
        autoscaling_config=_scaling(config, section.engine.replicas, config.replicas.scorer_load),
        **_patience(config),
        **placement(settings),
    )
    return deployment.bind(settings.model_dump_json(), batching.model_dump_json())


def _ingress(config: ServeConfig) -> Any:
    from ray import serve
    from ray.serve.config import BackpressureConfig

    most = 2 * config.queue.max_queued + _MORE
    return serve.deployment(serve.ingress()(Ingress)).options(
        name="Ingress",
        max_ongoing_requests=most,
        backpressure_config=BackpressureConfig(retry_after_s=config.queue.retry_after_s),
        autoscaling_config=_scaling(config, config.replicas.ingress, config.replicas.ingress_load),
        ray_actor_options={"num_cpus": 0},  # so that two models fit on two cores
        **{**_patience(config), "max_queued_requests": most},
    )


def _patience(config: ServeConfig) -> dict[str, Any]:
    """Queues are bounded; a replica that goes finishes what it has begun."""
    return {
        "max_queued_requests": config.queue.max_queued,
        "graceful_shutdown_timeout_s": config.queue.timeout_s + _DRAIN_S,
        "graceful_shutdown_wait_loop_s": 0.5,
        "health_check_period_s": 5,
        "health_check_timeout_s": 60,
    }


def _scaling(config: ServeConfig, replicas: tuple[int, int], load: int) -> dict[str, Any]:
    least, most = replicas
    return {
        "min_replicas": least,
        "max_replicas": most,
        "target_ongoing_requests": load,
        "upscale_delay_s": config.replicas.upscale_s,
        "downscale_delay_s": config.replicas.downscale_s,
    }


class Ingress:
    """One replica of the HTTP side."""

    def __init__(self, config_json: str, digests: tuple[str, ...], engine: Any, scorer: Any) -> None:
        """``digests``: of the API keys. ``engine``, ``scorer``: handles, null where there is no such deployment."""
        self._config = ServeConfig.model_validate_json(config_json)
        self._digests, self._engine, self._scorer = digests, engine, scorer
        self._counts = Counts()
        if self._config.auth.disabled:
            _require_loopback(_host())

    def __serve_build_asgi_app__(self) -> Any:
        """Called by Ray Serve once the replica is made."""
        config = self._config
        gates = Gate("judge", config.queue), Gate("perplexity", config.queue)
        scorer = DeployedScorer(self._scorer, gates[1]) if self._scorer is not None else None
        judge = _judge(config.judge, self._engine) if config.judge is not None else None
        model = config.perplexity.engine.model if config.perplexity is not None else None
        return make_api(config, self._digests, Parts(judge, scorer, model, *gates, self._counts, self._scrape))

    async def counts(self) -> tuple[str, list[Metric]]:
        """This replica's name and counts."""
        from ray import serve

        return serve.get_replica_context().replica_tag, self._counts.families()

    async def _scrape(self) -> str:
        """The counts of all replicas, each asked by the one that was."""
        from ray import serve

        context = serve.get_replica_context()
        everyone = serve.get_deployment_handle(context.deployment, context.app_name).broadcast("counts")
        try:
            told = await everyone.results_async(timeout_s=_SCRAPE_S, return_exceptions=True)
        except TimeoutError:
            raise RefusalError(503, "timeout", f"a replica did not tell its counts within {_SCRAPE_S:g} s; ask again") from None
        answered = dict(t for t in told if not isinstance(t, BaseException))
        return render(answered, silent=len(told) - len(answered))


def _judge(section: JudgeSection, handle: Any) -> ServedJudge:
    engine: ChatEngine
    permits = Permits(section.engine.concurrency)
    if handle is not None:
        engine = DeployedEngine(section.engine, handle)
    else:
        engine = EndpointEngine(section.engine)
        heed_pauses(engine, permits)
    return ServedJudge(section, engine, permits)


def _host() -> str | None:
    """The address that Serve's HTTP proxies are bound to; Serve tells it nowhere but here."""
    from ray.serve.context import _get_global_client

    client = _get_global_client()
    assert client is not None  # this runs in a replica
    host: str | None = client.http_config.host
    return host


def _require_loopback(host: str | None) -> None:
    """Raise where anybody could ask without a key.

    Raises:
        ConfigError: Serve listens on more than loopback.
    """
    if host is not None and not is_loopback(host):
        raise ConfigError(
            f"auth.disabled = true: Serve listens on {host}, where others may ask; set it to false and auth.keys_env, or "
            "http_options.host to 127.0.0.1"
        )
