"""Chat completions of any OpenAI-compatible endpoint (OpenAI, vLLM, Serve and others)."""

import dataclasses
import json
from typing import Any

from llmpedia.config.engine import EndpointSection
from llmpedia.engines.models import Models, load_models
from llmpedia.errors import TransientError
from llmpedia.http import Endpoint, error_message
from llmpedia.stages import Completion, Request


class OpenAIEngine:
    """One chat completion a request; JSON Schema where the stage has one."""

    def __init__(self, config: EndpointSection) -> None:
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
    message = error_message(data).lower()
    return "response_format" in message or "json_schema" in message


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
