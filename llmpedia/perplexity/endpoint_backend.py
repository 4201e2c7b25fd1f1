"""Answers' log-probabilities from a running server, by the ``completions`` route: vLLM's
``prompt_logprobs``, else ``echo``.

Many servers take these fields and give log-probabilities of generated tokens only; a score made of
those would be a number without meaning. So a server is asked for a known prompt first, and refused
unless it tells every token of it, twice the same.
"""

import asyncio
import math
from collections.abc import Sequence
from typing import Any

from llmpedia.config.engine import EndpointSection
from llmpedia.config.walk import RetriesSection
from llmpedia.errors import EngineError, TransientError
from llmpedia.http import Endpoint, error_message
from llmpedia.perplexity.backend import Ids, Logprobs, Task

_WAYS: tuple[dict[str, Any], ...] = ({"prompt_logprobs": 0}, {"echo": True, "logprobs": 1})
_SAME = 0.05  # nats; servers in half precision do not repeat themselves to the last bit


class EndpointBackend:
    """A server at ``engine.base_url``."""

    def __init__(self, engine: EndpointSection, retries: RetriesSection, probe: Ids) -> None:
        """``probe``: at least three tokens of the model's vocabulary."""
        self._engine = engine
        self._retries = retries
        self._probe = probe
        self._endpoint = Endpoint(engine.base_url, engine.api_key_env, engine.request_timeout_s)
        self._gate = asyncio.Semaphore(engine.concurrency)
        self._way: dict[str, Any] | None = None

    def describe(self) -> dict[str, Any]:
        """See :class:`~llmpedia.perplexity.backend.Backend`. A server does not tell its precision."""
        return {"backend": "endpoint", "base_url": self._engine.base_url, "dtype": None}

    async def ready(self) -> None:
        """Find the way this server tells a prompt's log-probabilities.

        Raises:
            EngineError: it does not.
        """
        reasons = []
        for way in _WAYS:
            try:
                first, second = [await self._ask(self._probe, way) for _ in range(2)]
            except ValueError as e:
                reasons.append(f"{' and '.join(way)}: {e}")
                continue
            if max(abs(a - b) for a, b in zip(first, second, strict=True)) > _SAME:
                raise EngineError(
                    f"engine.base_url = {self._engine.base_url!r}: gives other log-probabilities "
                    f"for the same prompt; "
                    "turn prefix caching off for them at the server"
                )
            self._way = way
            return
        raise EngineError(
            f"engine.base_url = {self._engine.base_url!r}: does not tell the log-probabilities of "
            f"a given prompt's tokens "
            f"({'; '.join(reasons)}); use a vLLM server, or engine.kind torch or vllm"
        )

    async def check_health(self) -> None:
        """The server's health is its own matter; a request that fails says so."""

    async def close(self) -> None:
        """Let connections go."""
        await self._endpoint.close()

    async def logprobs(self, tasks: Sequence[Task]) -> list[Logprobs | str]:
        """See :class:`~llmpedia.perplexity.backend.Backend`."""
        if self._way is None:
            await self.ready()
        return list(await asyncio.gather(*map(self._task, tasks)))

    async def _task(self, task: Task) -> Logprobs | str:
        assert self._way is not None
        asked = [self._ask((*task.context, *answer), self._way) for answer in task.answers]
        results = await asyncio.gather(*asked, return_exceptions=True)
        values: Logprobs = []
        for one in results:
            if isinstance(one, ValueError):
                return f"engine: {one}"
            if isinstance(one, BaseException):
                raise one
            values.append(one[len(task.context) - 1 :])
        return values

    async def _ask(self, ids: Ids, way: dict[str, Any]) -> list[float]:
        """Log-probabilities of every token but the first.

        Raises:
            EngineError: no answer in all tries.
            ValueError: the answer does not tell them.
        """
        body = {
            "model": self._engine.model,
            "prompt": list(ids),
            "max_tokens": 1,
            "temperature": 0,
            **self._engine.extra,
            **way,
        }
        status, data = await self._post(body)
        if status >= 400:
            raise ValueError(f"HTTP {status}: {error_message(data)}")
        return read_prompt_logprobs(data, ids)

    async def _post(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        last: TransientError | None = None
        for attempt in range(self._retries.attempts):
            try:
                async with self._gate:
                    return await self._endpoint.post("completions", body)
            except TransientError as e:
                last = e
                wait = min(self._retries.max_wait_s, self._retries.first_wait_s * 2.0**attempt)
                await asyncio.sleep(e.wait_s if e.wait_s is not None else wait)
        raise EngineError(
            f"engine: no answer in {self._retries.attempts} tries ({last}); start again once it is back"
        )


def read_prompt_logprobs(data: dict[str, Any], ids: Ids) -> list[float]:
    """Log-probabilities of ``ids[1:]`` out of a server's answer, in either form.

    Raises:
        ValueError: they are not all there; the message says what is.
    """
    choice = (data.get("choices") or [{}])[0]
    entries = choice.get("prompt_logprobs")
    if entries is None:
        entries = (choice.get("logprobs") or {}).get("token_logprobs")
        values = entries[: len(ids)] if isinstance(entries, list) else None
    else:
        values = (
            [_entry(entry, token) for entry, token in zip(entries, ids, strict=False)]
            if isinstance(entries, list)
            else None
        )
    if values is None:
        raise ValueError("no log-probabilities in the answer")
    if len(values) < len(ids) or values[0] is not None:
        raise ValueError(
            f"{len(values)} log-probabilities for a prompt of {len(ids)}: those of generated tokens only"
        )
    if len(entries) > len(ids) + 1:  # one more is the generated token's
        raise ValueError(
            f"{len(entries)} log-probabilities for a prompt of {len(ids)}: the server adds tokens to it"
        )
    if not all(isinstance(v, int | float) and math.isfinite(v) and v <= 0 for v in values[1:]):
        raise ValueError("a log-probability is missing or none")
    return [float(v) for v in values[1:]]


def _entry(entry: Any, token: int) -> Any:
    """The token's own value among a position's."""
    token_entry = entry.get(str(token)) if isinstance(entry, dict) else None
    return token_entry.get("logprob") if isinstance(token_entry, dict) else token_entry
