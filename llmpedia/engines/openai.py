"""Chat completions of any OpenAI-compatible endpoint (OpenAI, vLLM, Serve and others), and the HTTP
under them.
"""

import dataclasses
import json
import os
from collections.abc import Callable
from typing import Any

import aiohttp

from llmpedia.config.walk import EngineSection
from llmpedia.engines.base import TransientError
from llmpedia.engines.concurrency.limiter import pause_of, retry_after
from llmpedia.engines.models import Models, load_models
from llmpedia.errors import ConfigError, EngineError
from llmpedia.stages import Completion, Request

# Says nothing about the one request: every other would get the same.
_REFUSED = frozenset({401, 403, 404})
_RETRIED = frozenset({408, 409, 425, 429})
_TOO_MANY = 429

# Told of the seconds in which the endpoint wants no new request.
OnPause = Callable[[float], None]


class Endpoint:
    """One HTTP session to one base URL; opened on first use, in the loop that uses it."""

    def __init__(self, base_url: str, api_key_env: str | None, timeout_s: float) -> None:
        self._base = base_url.rstrip("/")
        self._headers = authorization(api_key_env)
        self._timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=30)
        self._session: aiohttp.ClientSession | None = None
        self.on_pause: OnPause | None = None

    async def post(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """(status, JSON) of an answer that is final: 2xx, or a 4xx that no retry would mend.

        Raises:
            TransientError: anything else.
            EngineError: the endpoint refuses us altogether.
        """
        try:
            async with self._open().post(f"{self._base}/{path}", json=body) as response:
                self._heed(response)
                data = _json(await response.read(), response.status)
                data = data if isinstance(data, dict) else {"value": data}
                if response.status in _REFUSED:
                    said = f"HTTP {response.status}: {error_message(data)}"
                    raise EngineError(f"{self._base}/{path}: {said}; check base_url, model and api_key_env")
                return response.status, data
        except (aiohttp.ClientError, TimeoutError, ValueError) as e:
            raise TransientError(f"{type(e).__name__}: {e}") from e

    async def fetch(self, method: str, path: str, **what: Any) -> tuple[int, bytes]:
        """(status, content) of an answer that is final, refusals among them; ``what``: as aiohttp's
        ``request`` takes it.

        Raises:
            TransientError: anything else.
        """
        try:
            async with self._open().request(method, f"{self._base}/{path}", **what) as response:
                self._heed(response)
                return response.status, await response.read()
        except (aiohttp.ClientError, TimeoutError) as e:
            raise TransientError(f"{type(e).__name__}: {e}") from e

    def _heed(self, response: aiohttp.ClientResponse) -> None:
        """Pass on the pause that the headers ask for; a status worth another try is raised."""
        pause = pause_of(response.headers)
        if pause > 0 and self.on_pause is not None:
            self.on_pause(pause)
        if response.status in _RETRIED or response.status >= 500:
            wait = retry_after(response.headers.get("Retry-After"))
            raise TransientError(f"HTTP {response.status}", wait, response.status == _TOO_MANY)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0)
            self._session = aiohttp.ClientSession(
                timeout=self._timeout, headers=self._headers, connector=connector
            )
        return self._session

    async def close(self) -> None:
        """Let the session go; the next request opens another."""
        if self._session is not None:
            session = self._session
            self._session = None
            await session.close()


class OpenAIEngine:
    """One chat completion a request; JSON Schema where the stage has one."""

    def __init__(self, config: EngineSection) -> None:
        assert config.base_url is not None  # config refuses it
        self.endpoint = Endpoint(config.base_url, config.api_key_env, config.request_timeout_s)
        self._extra = config.extra
        self._models = load_models(config.models_file)
        self._plain_json: set[str] = set()

    async def generate(self, request: Request) -> Completion:
        """See :class:`~llmpedia.engines.base.Engine`."""
        fallback = request.model in self._plain_json
        body = chat_body(request, self._extra, self._models, fallback)
        status, data = await self.endpoint.post("chat/completions", body)
        if status == 400 and bound_by(body) == "json_schema" and schema_refused(data):
            if not schema_at_fault(data):
                self._plain_json.add(request.model)
            body = chat_body(request, self._extra, self._models, True)
            status, data = await self.endpoint.post("chat/completions", body)
        if status >= 400:
            return refusal(status, data)
        return dataclasses.replace(
            read_chat(data), fallback="json_object" if bound_by(body) == "json_object" else None
        )

    async def close(self) -> None:
        """Let the session go."""
        await self.endpoint.close()


def chat_body(request: Request, extra: dict[str, Any], models: Models, plain_json: bool) -> dict[str, Any]:
    """What a chat endpoint is sent, online or in a batch; ``extra``: ``engine.extra``.

    ``models``: what each model takes. ``plain_json``: where a schema would bind the answer, ask for
    any JSON object instead.
    """
    model = models.of(request.model)
    body = {
        "model": request.model,
        "messages": request.chat(),
        **extra,
        **model.sampling(json.loads(request.sampling)),
    }
    schema = json.loads(request.constraint).get("json_schema") if request.constraint else None
    if schema is not None and (plain_json or not model.json_schema):
        body["response_format"] = {"type": "json_object"}
    elif schema is not None:
        named = {"name": request.stage, "schema": schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    return body


def bound_by(body: dict[str, Any]) -> str | None:
    """What the answer to a body is bound by: ``json_schema``, ``json_object`` or None."""
    kind: str | None = body.get("response_format", {}).get("type")
    return kind


def schema_refused(data: dict[str, Any]) -> bool:
    """Whether a 400 is about the schema that was to bind the answer."""
    said = error_message(data).lower()
    return "response_format" in said or "json_schema" in said


def schema_at_fault(data: dict[str, Any]) -> bool:
    """Whether it is this one schema, and not schemas, that the endpoint does not take: others may
    fare better.
    """
    return "invalid schema" in error_message(data).lower()


def read_chat(data: dict[str, Any]) -> Completion:
    """The completion in a chat endpoint's answer.

    Raises:
        TransientError: there is none in it.
    """
    try:
        choice = data["choices"][0]
        usage = data.get("usage") or {}
        return Completion(
            text=(choice["message"].get("content") or "")
            .encode(errors="replace")
            .decode(),  # JSON may hold half a character
            finish_reason=choice.get("finish_reason"),
            prompt_tokens=usage.get("prompt_tokens"),
            completion_tokens=usage.get("completion_tokens"),
            cached_tokens=(usage.get("prompt_tokens_details") or {}).get("cached_tokens"),
        )
    except (KeyError, IndexError, TypeError, AttributeError) as e:
        raise TransientError(f"answer without a choice ({type(e).__name__})") from e


def refusal(status: int, data: dict[str, Any]) -> Completion:
    """The completion of a request that can never succeed, in the same words online and in a batch."""
    return Completion(error=f"engine: HTTP {status}: {error_message(data)}")


def authorization(api_key_env: str | None) -> dict[str, str]:
    """The header that holds a key.

    Raises:
        ConfigError: there is none in the environment.
    """
    if api_key_env is None:
        return {}
    key = os.environ.get(api_key_env)
    if not key:
        raise ConfigError(
            f"api_key_env = {api_key_env!r}: this environment variable is not set; set it to the "
            f"endpoint's key"
        )
    return {"Authorization": f"Bearer {key}"}


def _json(raw: bytes, status: int) -> Any:
    """The answer's JSON; for an error that no retry would mend, its text if it is none."""
    try:
        return json.loads(raw)
    except ValueError:
        if status < 400:
            raise
        return {"error": raw.decode(errors="replace")}


def error_message(data: dict[str, Any]) -> str:
    """The endpoint's own words for an error, in one line."""
    error = data.get("error")
    text = error.get("message") if isinstance(error, dict) else error or data
    return " ".join(str(text).split())[:300]
