"""The two places a served judge's engine can be: any OpenAI-compatible endpoint, or vLLM in the
same application.
"""

import asyncio
import dataclasses
import json
import time
import uuid
from typing import Any

from llmpedia.config.engine import EndpointSection, EngineSection
from llmpedia.engines.models import load_models
from llmpedia.engines.openai import OpenAIEngine, chat_body
from llmpedia.engines.vllm_serve import VllmEngine, answer_of
from llmpedia.errors import TransientError
from llmpedia.http import error_message
from llmpedia.stages import Completion, Request
from serving.errors import RefusalError

_READY_S = 5.0
_REFUSED = (401, 403)


class EndpointEngine(OpenAIEngine):
    """An endpoint: chats go to it with its own key and come back as it answers them."""

    def __init__(self, config: EndpointSection) -> None:
        super().__init__(config)
        self._config = config

    async def chat(self, request: Request, response_format: dict[str, Any] | None) -> dict[str, Any]:
        """See :class:`~serving.judge.ChatEngine`."""
        body = chat_body(request, self._config.extra, load_models(self._config.models_file), False)
        if response_format is not None:
            body["response_format"] = response_format
        status, data = await self.endpoint.post("chat/completions", body)
        if status >= 400:
            raise RefusalError(400, "invalid_request", f"engine: HTTP {status}: {error_message(data)}")
        return data

    async def ready(self) -> str | None:
        """See :class:`~serving.judge.ChatEngine`."""
        try:
            async with asyncio.timeout(_READY_S):
                status, _ = await self.endpoint.fetch("GET", "models")
        except (TransientError, TimeoutError) as e:
            return f"the endpoint does not answer ({type(e).__name__})"
        return f"the endpoint refuses this server (HTTP {status})" if status in _REFUSED else None


class DeployedEngine(VllmEngine):
    """vLLM in a deployment of this application."""

    def __init__(self, config: EngineSection, handle: Any) -> None:
        super().__init__(config, handle)
        self._deployed = handle

    async def chat(self, request: Request, response_format: dict[str, Any] | None) -> dict[str, Any]:
        """See :class:`~serving.judge.ChatEngine`."""
        bound = _bound(response_format)
        completion = await self.generate(dataclasses.replace(request, constraint=bound))
        if completion.error is not None:
            raise RefusalError(400, "invalid_request", completion.error)
        return _as_chat(request.model, completion)

    async def ready(self) -> str | None:
        """See :class:`~serving.judge.ChatEngine`."""
        return await unready(self._deployed)


async def unready(handle: Any) -> str | None:
    """Why a deployment would not answer now; None: one of its replicas says that it is well."""
    try:
        async with asyncio.timeout(_READY_S):
            await answer_of(handle.check_health.remote())
    except Exception as e:
        return f"no replica answers ({type(e).__name__})"
    return None


def _bound(response_format: dict[str, Any] | None) -> str | None:
    """The constraint that stands for a ``response_format``."""
    kind = (response_format or {"type": "text"})["type"]
    if kind == "text":
        return None
    schema = (response_format or {})["json_schema"]["schema"] if kind == "json_schema" else {"type": "object"}
    return json.dumps({"json_schema": schema})


def _as_chat(model: str, completion: Completion) -> dict[str, Any]:
    message = {"role": "assistant", "content": completion.text}
    prompt = completion.prompt_tokens
    answer = completion.completion_tokens
    assert prompt is not None and answer is not None  # our own engine tells both
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": completion.finish_reason}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer},
    }
