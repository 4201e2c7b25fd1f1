"""Answers' log-probabilities by vLLM's prompt log-probabilities, for models that need tensor
parallelism.

Requests that ask for them do not read vLLM's prefix cache, and must not: cached positions come back
as uninitialised memory (vllm-project/vllm#42019). The rows of logits lie outside the memory that
vLLM measures at start (vllm-project/vllm#5907), hence small steps and room on the card.
"""

import asyncio
import os
import uuid
from collections.abc import Sequence
from typing import Any

from llmpedia.config.engine import EngineSection
from llmpedia.engines.packaged_weights import resolve_model
from llmpedia.engines.vllm_serve import engine_args
from llmpedia.perplexity.backend import Ids, Logprobs, Task

_STEP_TOKENS = 2048
_MEMORY = 0.85


class VllmBackend:
    """An engine of its own; the process ends with it, so that whoever holds it starts another."""

    def __init__(self, engine: EngineSection) -> None:
        from vllm import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        defaults = {
            "max_num_batched_tokens": max(_STEP_TOKENS, engine.sequences),
            "gpu_memory_utilization": _MEMORY,
            "enable_prefix_caching": False,
        }
        args = {**defaults, **engine_args(engine), "model": resolve_model(engine.model)}
        self._engine = AsyncLLM.from_engine_args(AsyncEngineArgs(**args))
        self._dtype = engine.dtype

    def describe(self) -> dict[str, Any]:
        """See :class:`~llmpedia.perplexity.backend.Backend`."""
        return {"backend": "vllm", "dtype": self._dtype}

    async def logprobs(self, tasks: Sequence[Task]) -> list[Logprobs | str]:
        """See :class:`~llmpedia.perplexity.backend.Backend`."""
        return list(await asyncio.gather(*map(self._task, tasks)))

    async def ready(self) -> None:
        """It is, once it has started."""

    async def check_health(self) -> None:
        """Raises once the engine process is gone."""
        await self._engine.check_health()

    def close(self) -> None:
        """End the engine's processes."""
        self._engine.shutdown()

    async def _task(self, task: Task) -> Logprobs | str:
        from vllm.exceptions import VLLMClientError

        try:
            return list(await asyncio.gather(*(self._one(task.context, answer) for answer in task.answers)))
        except (ValueError, VLLMClientError) as e:  # vLLM's words for a request that can never be served
            return f"engine: rejected: {' '.join(str(e).split())[:300]}"

    async def _one(self, context: Ids, answer: Ids) -> list[float]:
        from vllm import SamplingParams, TokensPrompt
        from vllm.v1.engine.exceptions import EngineDeadError

        params = SamplingParams(max_tokens=1, temperature=0.0, prompt_logprobs=0)
        prompt = TokensPrompt(prompt_token_ids=[*context, *answer])
        final = None
        try:
            async for out in self._engine.generate(prompt, params, request_id=uuid.uuid4().hex):
                final = out
        except EngineDeadError:
            os._exit(1)
        assert final is not None
        entries = final.prompt_logprobs[len(context) :]
        return [float(entry[token].logprob) for entry, token in zip(entries, answer, strict=True)]
