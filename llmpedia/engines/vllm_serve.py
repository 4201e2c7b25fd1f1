"""vLLM's AsyncLLM in a Ray Serve deployment of our own, shared by all stages of all waves.

Why not ``ray.data.llm``: its engine stage starts anew in every execution and leaks placement groups
with tensor parallelism; its Serve stage fails the pipeline when the engine dies
(docs/design/engine.md). A request travels as one JSON string, since Arrow merges the dicts of
different rows.
"""

import asyncio
import json
import logging
import os
import time
import uuid
from collections import Counter
from collections.abc import Iterable
from typing import Any

from llmpedia.config.engine import EngineSection
from llmpedia.engines.packaged_weights import resolve_model
from llmpedia.errors import EngineError, TransientError
from llmpedia.stages import Completion, Request

DEPLOYMENT = "engine"
_KV_CACHE_GB_ON_CPU = "1"


def app_name(config: EngineSection) -> str:
    """Serve application of a model; a restarted driver finds a running engine by it."""
    return "llmpedia-" + "".join(c if c.isalnum() else "-" for c in config.model).strip("-").lower()


class EngineReplica:
    """One engine. Dies with its engine process, so that Serve replaces it at once instead of after
    three failed checks.
    """

    def __init__(self, engine_args: dict[str, Any]) -> None:
        from vllm import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        check_groups(engine_args["tensor_parallel_size"])
        # Resolved here, since this may be another machine than the driver's.
        args = {**engine_args, "model": resolve_model(engine_args["model"])}
        self._engine = AsyncLLM.from_engine_args(AsyncEngineArgs(**args))
        self._tokenizer = self._engine.get_tokenizer()
        self._context = int(engine_args["max_model_len"])

    async def check_health(self) -> None:
        """Raises once the engine process is gone."""
        await self._engine.check_health()

    async def generate(self, raw: str) -> str:
        """One request (JSON) to one completion (JSON)."""
        from vllm.v1.engine.exceptions import EngineDeadError

        try:
            return json.dumps(await self._generate(json.loads(raw)))
        except EngineDeadError:
            os._exit(1)

    async def _generate(self, request: dict[str, Any]) -> dict[str, Any]:
        from vllm import SamplingParams, TokensPrompt
        from vllm.exceptions import VLLMClientError
        from vllm.sampling_params import StructuredOutputsParams

        ids = self._tokenizer.apply_chat_template(
            request["messages"],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=False,
            **request["template"],
        )
        sampling = request["sampling"]
        room = self._context - len(ids)
        if room < sampling["max_tokens"]:
            need = f"{len(ids)} prompt tokens + {sampling['max_tokens']} of the stage"
            return {
                "error": (
                    f"engine: context_overflow: {need} are more than engine.context_tokens = {self._context}"
                )
            }
        try:
            bound = _structured(StructuredOutputsParams, request["constraint"])
            params = SamplingParams(**sampling, structured_outputs=bound)
            final = None
            async for out in self._engine.generate(
                TokensPrompt(prompt_token_ids=ids), params, request_id=uuid.uuid4().hex
            ):
                final = out
        except (ValueError, VLLMClientError) as e:  # vLLM's words for a request that can never be served
            return {"error": f"engine: rejected: {' '.join(str(e).split())[:300]}"}
        assert final is not None
        answer = final.outputs[0]
        return {
            "text": answer.text,
            "finish_reason": answer.finish_reason,
            "prompt_tokens": len(ids),
            "completion_tokens": len(answer.token_ids),
        }


def _structured(kind: Any, constraint: dict[str, Any] | None) -> Any:
    if constraint is None:
        return None
    schema = constraint.get("json_schema")
    # as text: a parsed schema may come back with its keys in another order, and their order binds
    # the answer's
    return kind(json=json.dumps(schema)) if schema is not None else kind(grammar=constraint["grammar"])


class VllmEngine:
    """The client side. ``handle``: of the deployment, null finds the one that :func:`start` has
    started.
    """

    def __init__(self, config: EngineSection, handle: Any = None) -> None:
        from ray import serve

        self._handle = serve.get_deployment_handle(DEPLOYMENT, app_name(config)) if handle is None else handle
        self._timeout = config.request_timeout_s

    async def generate(self, request: Request) -> Completion:
        """See :class:`~llmpedia.engines.base.Engine`. Every failure of the call itself is
        transient: the replica comes back.
        """
        from ray.serve.exceptions import BackPressureError

        sampling = {k: v for k, v in json.loads(request.sampling).items() if v is not None}
        template = sampling.pop("chat_template_kwargs", {})
        if (
            "reasoning_effort" in sampling
        ):  # a matter of the template, which takes no notice of what it does not know
            template = {"reasoning_effort": sampling.pop("reasoning_effort"), **template}
        constraint = json.loads(request.constraint) if request.constraint else None
        raw = json.dumps(
            {"messages": request.chat(), "constraint": constraint, "sampling": sampling, "template": template}
        )
        try:
            answer = await asyncio.wait_for(answer_of(self._handle.generate.remote(raw)), self._timeout)
        except Exception as e:
            message = f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"
            raise TransientError(message, rate_limited=isinstance(e, BackPressureError)) from e
        return Completion(**json.loads(answer))

    async def close(self) -> None:
        """Nothing to let go."""


async def answer_of(response: Any) -> Any:
    """What a call of a deployment's handle comes to; whoever stops waiting stops the call."""
    try:
        return await response
    except asyncio.CancelledError:
        response.cancel()
        raise


def engine_args(config: EngineSection) -> dict[str, Any]:
    """What vLLM is started with; ``engine.extra`` wins."""
    args: dict[str, Any] = {
        "model": config.model,
        "dtype": config.dtype,
        "max_model_len": config.context_tokens,
        "max_num_seqs": config.sequences,
        "seed": config.seed,
        "tensor_parallel_size": config.tensor_parallel,
        "pipeline_parallel_size": config.pipeline_parallel,
        # Weak models fall into endless blanks where a schema lets them.
        "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
    }
    if config.accelerator == "cpu":
        args["enforce_eager"] = True
    elif config.gpus > 1:
        args["distributed_executor_backend"] = "ray"
    return {**args, **config.extra}


def placement(config: EngineSection) -> dict[str, Any]:
    """Serve options that place one replica.

    On several GPUs the replica's actor asks for nothing and sits in the first of one-GPU bundles;
    vLLM's ranks take the GPUs (vLLM refuses bundles with more). Tensor parallel ranks must share a
    node; pipeline stages may lie on several.
    """
    if config.accelerator == "cpu":
        threads = str(os.cpu_count() or 1)
        env = {"VLLM_CPU_KVCACHE_SPACE": _KV_CACHE_GB_ON_CPU, "OMP_NUM_THREADS": threads}
        env = {k: os.environ.get(k, v) for k, v in env.items()}
        return {"ray_actor_options": {"num_cpus": 1, "runtime_env": {"env_vars": env}}}
    if config.gpus == 1:
        kind = {} if config.accelerator == "gpu" else {"accelerator_type": config.accelerator}
        return {"ray_actor_options": {"num_cpus": 1, "num_gpus": 1, **kind}}
    return {
        "ray_actor_options": {"num_cpus": 0, "num_gpus": 0},
        "placement_group_bundles": bundles(config),
        "placement_group_strategy": "STRICT_PACK" if config.pipeline_parallel == 1 else "PACK",
    }


def bundles(config: EngineSection) -> list[dict[str, float]]:
    """One bundle a GPU of one replica."""
    bundle: dict[str, float] = {"GPU": 1, "CPU": 1}
    if config.accelerator != "gpu":
        bundle[f"accelerator_type:{config.accelerator}"] = 0.001
    return [dict(bundle) for _ in range(config.gpus)]


def check_groups(tensor_parallel: int) -> None:
    """In a replica: raise unless each tensor-parallel group of its bundles lies on one node.

    vLLM deals ranks out node by node and does not look. With pipeline stages over nodes of which
    others hold a part, a group could straddle two, and every layer would wait for the network as
    long as the engine lives.
    """
    import ray

    group = ray.util.get_current_placement_group()
    if group is not None:
        whole_groups(ray.util.placement_group_table(group)["bundles_to_node_id"].values(), tensor_parallel)


def whole_groups(nodes: Iterable[str], tensor_parallel: int) -> None:
    """Raise ``EngineError`` unless each node, named once a GPU, holds whole groups."""
    held = Counter(nodes)
    if any(n % tensor_parallel for n in held.values()):
        spread = " + ".join(map(str, sorted(held.values())))
        raise EngineError(
            f"engine.tensor_parallel = {tensor_parallel}: its GPUs came to lie on {len(held)} "
            f"nodes as {spread}, which tears a "
            "group apart; free whole nodes, or set engine.tensor_parallel to what each of them has free"
        )


def start(config: EngineSection) -> bool:
    """Have the engine running; True if it was started here, False if it already ran.

    Raises:
        EngineError: it does not come up, with its own last words.
    """
    return deploy(app_name(config), deployment(config).bind(engine_args(config)), config.start_timeout_s)


def deployment(config: EngineSection) -> Any:
    """The engine as a Serve deployment, to be bound to :func:`engine_args`."""
    from ray import serve

    least, most = config.replicas
    return serve.deployment(EngineReplica).options(
        name=DEPLOYMENT,
        max_ongoing_requests=config.sequences * 2,
        autoscaling_config={
            "min_replicas": least,
            "max_replicas": most,
            "target_ongoing_requests": config.sequences,
        },
        health_check_period_s=5,
        health_check_timeout_s=60,
        graceful_shutdown_timeout_s=10,
        **placement(config),
    )


def deploy(name: str, app: Any, timeout_s: float) -> bool:
    """Have a Serve application without a route running; True if it was started here, False if it
    already ran.

    Raises:
        EngineError: it does not come up, with its own last words.
    """
    from ray import serve

    logging.getLogger("ray.serve").setLevel(logging.ERROR)
    serve.start(proxy_location="Disabled")
    if _status(name) == "RUNNING":
        return False
    try:
        serve.run_many(
            [serve.RunTarget(target=app, name=name, route_prefix=None)], wait_for_applications_running=False
        )
        _await_running(name, timeout_s)
    except (
        BaseException
    ):  # one that is interrupted would keep its nodes, and have the cluster add those it waits for
        serve.delete(name)
        raise
    return True


def _await_running(name: str, timeout_s: float) -> None:
    from ray import serve

    end = time.monotonic() + timeout_s
    while (status := _status(name)) != "RUNNING":
        late = time.monotonic() > end
        if late or status in ("DEPLOY_FAILED", "UNHEALTHY"):
            app = serve.status().applications[name]
            words = _last_words([app.message, *(d.message for d in app.deployments.values())])
            if late:
                words = (
                    "its GPUs are still waited for; ray status tells what for" if _unplaced(name) else words
                )
                raise EngineError(
                    f"engine: {name} did not start within engine.start_timeout_s = {timeout_s:g}: {words}"
                )
            raise EngineError(f"engine: {name} did not start ({status}): {words}")
        time.sleep(0.5)


def _unplaced(name: str) -> bool:
    """Whether a placement group of the application's replicas has yet to find its nodes."""
    import ray

    groups = ray.util.placement_group_table().values()
    return any(g["state"] == "PENDING" and g["name"].startswith(f"SERVE_REPLICA::{name}#") for g in groups)


def _last_words(messages: list[str]) -> str:
    """The line of a remote traceback that says what went wrong."""
    lines = [line.strip() for m in messages for line in m.splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower() and "errors.pydantic.dev" not in line]
    return (telling or lines or ["no message"])[-1][:400]


def _status(name: str) -> str | None:
    from ray import serve

    app = serve.status().applications.get(name)
    return None if app is None else str(app.status.value)


def stop(config: EngineSection) -> None:
    """Take the engine down."""
    from ray import serve

    serve.delete(app_name(config))
