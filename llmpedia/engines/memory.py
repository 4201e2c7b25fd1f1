"""Whether a model fits its GPUs: weights, and how many sequences' keys and values fit beside them."""

import json
from pathlib import Path
from typing import Any

from llmpedia.config.engine import EngineSection
from llmpedia.engines.models import Models
from llmpedia.engines.packaged_weights import SCHEME

_GB = 1e9
# What vLLM takes of each GPU unless told otherwise, and what its activations and CUDA graphs take
# of that.
_UTILIZATION = 0.9
_OVERHEAD_GB = 3.0
_BYTES = {"float32": 4.0, "float16": 2.0, "bfloat16": 2.0, "half": 2.0, "float": 4.0}
_QUANTIZED = {
    "fp8": 1.0,
    "awq": 0.55,
    "gptq": 0.55,
    "bitsandbytes": 0.55,
    "compressed-tensors": 1.0,
    "mxfp4": 0.55,
}

Figures = dict[str, Any]


def memory_rows(engine: EngineSection, models: Models) -> list[dict[str, Any]]:
    """One row, in GB (10^9 bytes); none on CPUs, for endpoints, and where the model's config.json
    is not on this machine.

    ``sequences_at_full_length``: how many of ``context_tokens`` fit at once in one replica; null:
    memory of the GPU unknown.
    """
    if not engine.is_local or engine.accelerator == "cpu":
        return []
    shape = config_at_hand(engine.model)
    if shape is None:
        return []
    folder, config = shape
    text = config.get("text_config") or config
    try:
        weights = _stored(folder) or parameters(text) * _bytes_each(config, engine)
        kv = kv_bytes(text) * engine.context_tokens
    except (KeyError, TypeError, ZeroDivisionError):
        return []
    gpu = models.accelerators.get(engine.accelerator)
    rest = None
    if gpu is not None:
        share = float(engine.extra.get("gpu_memory_utilization", _UTILIZATION))
        rest = (gpu * share - _OVERHEAD_GB) * engine.gpus - weights / _GB
    return [
        {
            "model": engine.model,
            "gpus": engine.gpus,
            "gpu": engine.accelerator,
            "gpu_gb": gpu,
            "weights_gb": round(weights / _GB, 1),
            "kv_gb_a_sequence": round(kv / _GB, 3),
            "kv_room_gb": None if rest is None else round(rest, 1),
            "sequences_at_full_length": None if rest is None else max(0, int(rest * _GB / kv)),
            "fits": None if rest is None else rest * _GB >= kv,
        }
    ]


def config_at_hand(model: str) -> tuple[Path, Figures] | None:
    """The model's folder and config.json, if they are on this machine; nothing is fetched."""
    if model.startswith(SCHEME):
        return None
    folder = Path(model)
    if not folder.is_dir():
        from huggingface_hub import try_to_load_from_cache

        try:
            cached = try_to_load_from_cache(model, "config.json")
        except ValueError:  # no name a hub would have
            return None
        if not isinstance(cached, str):
            return None
        folder = Path(cached).parent
    try:
        data = json.loads((folder / "config.json").read_text())
    except (OSError, ValueError):
        return None
    return (folder, data) if isinstance(data, dict) else None


def _stored(folder: Path) -> float:
    """Bytes of the weights as they lie, 0 where only the configuration does."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        return float(json.loads(index.read_text()).get("metadata", {}).get("total_size", 0))
    return float(sum(f.stat().st_size for f in folder.glob("*.safetensors")))


def _bytes_each(config: Figures, engine: EngineSection) -> float:
    kind = (config.get("quantization_config") or {}).get("quant_method")
    if kind is not None:
        return _QUANTIZED.get(kind, 1.0)
    dtype = (
        engine.dtype
        if engine.dtype != "auto"
        else str(config.get("torch_dtype") or config.get("dtype") or "bfloat16")
    )
    return _BYTES.get(dtype, 2.0)


def parameters(c: Figures) -> float:
    """Weights of a decoder by its configuration: embeddings, attention, gated feed-forward layers
    or experts.
    """
    hidden = c["hidden_size"]
    layers = c["num_hidden_layers"]
    embeddings = c["vocab_size"] * hidden * (1 if c.get("tie_word_embeddings") else 2)
    experts = c.get("n_routed_experts") or c.get("num_local_experts") or c.get("num_experts") or 0
    dense = layers if not experts else c.get("first_k_dense_replace", 0)
    width = c.get("moe_intermediate_size") or c["intermediate_size"]
    expert = 3 * hidden * width * (experts + (c.get("n_shared_experts") or 0)) + hidden * experts
    return float(
        embeddings
        + layers * _attention(c)
        + dense * 3 * hidden * c["intermediate_size"]
        + (layers - dense) * expert
    )


def _attention(c: Figures) -> float:
    hidden = c["hidden_size"]
    heads = c["num_attention_heads"]
    if c.get("kv_lora_rank"):  # multi-head latent attention
        nope = c["qk_nope_head_dim"]
        rope = c["qk_rope_head_dim"]
        value = c["v_head_dim"]
        rank = c["kv_lora_rank"]
        q = c.get("q_lora_rank")
        queries = q * (hidden + heads * (nope + rope)) if q else hidden * heads * (nope + rope)
        return float(
            queries + hidden * (rank + rope) + rank * heads * (nope + value) + heads * value * hidden
        )
    head = c.get("head_dim") or hidden // heads
    return float(2 * hidden * head * (heads + (c.get("num_key_value_heads") or heads)))


def kv_bytes(c: Figures) -> float:
    """Bytes of keys and values for one token of one sequence, over all layers, at two bytes each."""
    if c.get("kv_lora_rank"):
        return float(c["num_hidden_layers"] * (c["kv_lora_rank"] + c["qk_rope_head_dim"]) * 2)
    heads = c["num_attention_heads"]
    head = c.get("head_dim") or c["hidden_size"] // heads
    return float(2 * c["num_hidden_layers"] * (c.get("num_key_value_heads") or heads) * head * 2)
