"""The torch backend on a GPU: tokens/s, share of the card's measured bf16 peak, agreement of bf16
with fp32.

    python benchmarks/perplexity_gpu.py [--shape 7b] [--questions 256] [--batch-tokens 16384]

Needs torch and transformers and nothing else: no download, no pydantic, no Ray. Weights are random,
in the shape of a 7B model, so that speed is real and values mean nothing; agreement is between the
same random weights in two precisions.
"""

import argparse
import random
import sys
import time
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # a bare machine has no installed package

from llmpedia.perplexity.backend import Task
from llmpedia.perplexity.torch_backend import TorchBackend

SHAPES: dict[str, dict[str, int]] = {
    "7b": {
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "vocab_size": 32000,
    },
    "1b": {
        "hidden_size": 2048,
        "intermediate_size": 5632,
        "num_hidden_layers": 16,
        "num_attention_heads": 16,
        "vocab_size": 32000,
    },
    "tiny": {
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "vocab_size": 1000,
    },
}
# tokens; as benchmarks/perplexity.py has them
HEAD = 90
QUESTION = (15, 60)
ANSWER = (2, 30)


def tasks(n: int, vocabulary: int) -> list[Task]:
    """Questions of random tokens with two accounts each."""
    rng = random.Random(0)

    def draw(k: int) -> tuple[int, ...]:
        return tuple(rng.randrange(vocabulary) for _ in range(k))

    head = draw(HEAD)
    return [
        Task(head + draw(rng.randint(*QUESTION)), (draw(rng.randint(*ANSWER)), draw(rng.randint(*ANSWER))))
        for _ in range(n)
    ]


def make_model(shape: dict[str, int], dtype: torch.dtype, device: str) -> Any:
    """Random weights, the same for every precision."""
    torch.manual_seed(0)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        with torch.device(device):
            model = LlamaForCausalLM(
                LlamaConfig(**shape, attn_implementation="sdpa", max_position_embeddings=4096)
            )
    finally:
        torch.set_default_dtype(before)
    return model.to(dtype)


def sync(device: str) -> None:
    """Wait for the card."""
    if device == "cuda":
        torch.cuda.synchronize()


def peak_tflops(device: str, size: int) -> float:
    """TFLOP/s of the best of ten square bf16 products."""
    a, b = (torch.randn(size, size, dtype=torch.bfloat16, device=device) for _ in range(2))
    seconds = []
    for _ in range(10):
        sync(device)
        started = time.perf_counter()
        a @ b
        sync(device)
        seconds.append(time.perf_counter() - started)
    return 2 * size**3 / min(seconds) / 1e12


def rate(backend: TorchBackend, some: list[Task], device: str) -> tuple[float, list[float]]:
    """Seconds for all tasks, and each answer's mean log-probability."""
    backend.compute(some[:32])
    sync(device)
    started = time.perf_counter()
    found = backend.compute(some)
    sync(device)
    return time.perf_counter() - started, [sum(v) / len(v) for task in found for v in task]


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shape", choices=sorted(SHAPES), default="7b")
    parser.add_argument("--questions", type=int, default=256)
    parser.add_argument("--batch-tokens", type=int, default=16384)
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    shape = SHAPES[args.shape]
    some = tasks(args.questions, shape["vocab_size"])
    answers = sum(len(t.answers) for t in some)
    once = sum(len(t.context) - HEAD + sum(len(a) - 1 for a in t.answers) for t in some)
    plain = sum(len(t.context) + len(a) - 1 for t in some for a in t.answers)
    peak = peak_tflops(device, 8192 if device == "cuda" else 1024)
    print(f"{name}, torch {torch.__version__}, {args.shape} shape, bf16 peak {peak:.1f} TFLOP/s")
    print(
        f"{args.questions} questions, {answers} answers; difference to fp32 in nats a token: mean, greatest"
    )
    print("\n| | answers/s | tokens/s through the model | share of the bf16 peak | difference to fp32 |")
    print("| --- | --- | --- | --- | --- |")
    values: dict[str, list[float]] = {}
    for label, dtype, share in (
        ("fp32, shared", torch.float32, True),
        ("bf16, shared", torch.bfloat16, True),
        ("bf16, one row an answer", torch.bfloat16, False),
    ):
        model = make_model(shape, dtype, device)
        layers = sum(
            p.numel() for n, p in model.named_parameters() if "embed" not in n and "lm_head" not in n
        )
        asked = sum(len(a) for t in some for a in t.answers)
        backend = TorchBackend(model, some[0].context[:HEAD], args.batch_tokens, share)
        shared = backend.describe()["share_prefix"]
        seconds, values[label] = rate(backend, some, device)
        tokens = once if shared else plain
        work = 2 * (layers * tokens + shape["hidden_size"] * shape["vocab_size"] * asked)
        apart = [abs(a - b) for a, b in zip(values[label], values["fp32, shared"], strict=True)]
        told = f"{sum(apart) / len(apart):.4f}, {max(apart):.4f}" if dtype != torch.float32 else "0"
        row = label if shared == share else f"{label} (refused by the backend's own check)"
        share_of_peak = work / seconds / peak / 1e12
        print(
            f"| {row} | {answers / seconds:.0f} | {tokens / seconds:.0f} | {share_of_peak:.1%} | {told} |",
            flush=True,
        )
        del model, backend
        if device == "cuda":
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
