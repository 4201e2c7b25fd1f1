"""Chat completions of any OpenAI-compatible endpoint (OpenAI, vLLM, Serve and others), and the HTTP under them."""

import json
import math
import os
from typing import Any

import aiohttp

from llmpedia.config import EngineSection
from llmpedia.engines.base import TransientError
from llmpedia.errors import ConfigError, EngineError
from llmpedia.stages import Completion, Request

# Says nothing about the one request: every other would get the same.
_REFUSED = frozenset({401, 403, 404})
_MAX_RETRY_AFTER_S = 600.0
_RETRIED = frozenset({408, 409, 425, 429})


class Endpoint:
    """One HTTP session to one base URL; opened on first use, in the loop that uses it."""

    def __init__(self, base_url: str, api_key_env: str | None, timeout_s: float) -> None:
        self._base = base_url.rstrip("/")
        self._headers = _auth(api_key_env)
        self._timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=30)
        self._session: aiohttp.ClientSession | None = None

    async def post(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """(status, JSON) of an answer that is final: 2xx, or a 4xx that no retry would mend.

        Raises:
            TransientError: anything else.
            EngineError: the endpoint refuses us altogether.
        """
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0)
            self._session = aiohttp.ClientSession(timeout=self._timeout, headers=self._headers, connector=connector)
        try:
            async with self._session.post(f"{self._base}/{path}", json=body) as response:
                if response.status in _RETRIED or response.status >= 500:
                    raise TransientError(f"HTTP {response.status}", _retry_after(response.headers.get("Retry-After")))
                data = _json(await response.read(), response.status)
                data = data if isinstance(data, dict) else {"value": data}
                if response.status in _REFUSED:
                    said = f"HTTP {response.status}: {error_message(data)}"
                    raise EngineError(f"{self._base}/{path}: {said}; check base_url, model and api_key_env")
                return response.status, data
        except (aiohttp.ClientError, TimeoutError, ValueError) as e:
            raise TransientError(f"{type(e).__name__}: {e}") from e

    async def close(self) -> None:
        """Let the session go; the next request opens another."""
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()


class OpenAIEngine:
    """One chat completion a request; JSON Schema where the stage has one."""

    def __init__(self, config: EngineSection) -> None:
        assert config.base_url is not None  # config refuses it
        self._endpoint = Endpoint(config.base_url, config.api_key_env, config.request_timeout_s)
        self._extra = config.extra

    async def generate(self, request: Request) -> Completion:
        """See :class:`~llmpedia.engines.base.Engine`."""
        status, data = await self._endpoint.post("chat/completions", self._body(request))
        if status >= 400:
            return Completion(error=f"engine: HTTP {status}: {error_message(data)}")
        try:
            choice, usage = data["choices"][0], data.get("usage") or {}
            return Completion(
                text=(choice["message"].get("content") or "").encode(errors="replace").decode(),  # JSON may hold half a character
                finish_reason=choice.get("finish_reason"),
                prompt_tokens=usage.get("prompt_tokens"),
                completion_tokens=usage.get("completion_tokens"),
            )
        except (KeyError, IndexError, TypeError, AttributeError) as e:
            raise TransientError(f"answer without a choice ({type(e).__name__})") from e

    def _body(self, request: Request) -> dict[str, Any]:
        body = {"model": request.model, "messages": request.chat(), **self._extra}
        body.update({k: v for k, v in json.loads(request.sampling).items() if v is not None})
        schema = json.loads(request.constraint).get("json_schema") if request.constraint else None
        if schema is not None:
            named = {"name": request.stage, "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return body

    async def close(self) -> None:
        """Let the session go."""
        await self._endpoint.close()


def _auth(api_key_env: str | None) -> dict[str, str]:
    if api_key_env is None:
        return {}
    key = os.environ.get(api_key_env)
    if not key:
        raise ConfigError(f"api_key_env = {api_key_env!r}: this environment variable is not set; set it to the endpoint's key")
    return {"Authorization": f"Bearer {key}"}


def _json(raw: bytes, status: int) -> Any:
    """The answer's JSON; for an error that no retry would mend, its text if it is none."""
    try:
        return json.loads(raw)
    except ValueError:
        if status < 400:
            raise
        return {"error": raw.decode(errors="replace")}


def _retry_after(value: str | None) -> float | None:
    try:
        seconds = float(value) if value else math.nan
    except ValueError:
        return None
    return min(max(0.0, seconds), _MAX_RETRY_AFTER_S) if math.isfinite(seconds) else None


def error_message(data: dict[str, Any]) -> str:
    """The endpoint's own words for an error, in one line."""
    error = data.get("error")
    text = error.get("message") if isinstance(error, dict) else error or data
    return " ".join(str(text).split())[:300]
