"""Chats passed to the judge's engine: the part of OpenAI's route that every engine here takes."""

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field, field_validator, model_validator
from starlette.responses import Response

from serving.dependencies import Parts
from serving.errors import RefusalError, documented
from serving.judge import chat_request
from serving.routes import PROBLEMS
from serving.schemas import Asked
from serving.settings import LimitsSection

_Stop = Annotated[str, Field(min_length=1, max_length=64)]
_FORM = {"type": "object", "properties": {"choices": {"type": "array"}}, "required": ["choices"]}
_WHOLE = {
    "description": "The engine's answer, in the form of OpenAI",
    "content": {"application/json": {"schema": _FORM}},
}
_ANSWERS: dict[int | str, dict[str, Any]] = {**PROBLEMS, **documented(404), 200: _WHOLE}
_SAMPLING = ("temperature", "top_p", "max_tokens", "frequency_penalty", "presence_penalty", "seed", "stop")


class JsonSchema(Asked):
    """A schema, under the name that OpenAI asks for."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    schema_: Annotated[dict[str, Any], Field(alias="schema")]
    strict: bool | None = None


class ResponseFormat(Asked):
    """What binds the answer."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None

    @model_validator(mode="after")
    def _whole(self) -> "ResponseFormat":
        if (self.type == "json_schema") != (self.json_schema is not None):
            raise ValueError("json_schema goes with type json_schema, and with no other")
        return self


def add_chat(api: APIRouter, limits: LimitsSection, parts: Parts) -> None:
    """``POST /v1/chat/completions``."""

    class Message(Asked):
        """One turn."""

        role: Literal["system", "user", "assistant"]
        content: Annotated[str, Field(max_length=limits.evidence_chars)]

    class ChatRequest(Asked):
        """A chat. ``model``: one that this server names, null for its judge's; one choice, and not
        streamed.
        """

        model: Annotated[str | None, Field(max_length=256)] = None
        messages: Annotated[list[Message], Field(min_length=1, max_length=limits.messages)]
        temperature: Annotated[float, Field(ge=0, le=2)] | None = None
        top_p: Annotated[float, Field(gt=0, le=1)] | None = None
        max_tokens: Annotated[int, Field(ge=1, le=limits.completion_tokens)] = limits.completion_tokens
        frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
        presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
        seed: Annotated[int, Field(ge=0, lt=2**31)] | None = None
        stop: _Stop | Annotated[list[_Stop], Field(max_length=4)] | None = None
        response_format: ResponseFormat | None = None
        stream: Literal[False] = False
        n: Literal[1] = 1

        @field_validator("stream", mode="before")
        @classmethod
        def _whole(cls, value: Any) -> Any:
            if value is True:
                raise ValueError("answers are not streamed here; leave it out")
            return value

    @api.post(
        "/v1/chat/completions", summary="Passed to the judge's engine", responses=_ANSWERS, tags=["judge"]
    )
    async def chat(body: ChatRequest) -> Response:
        judge = parts.require_judge()
        model = body.model or judge.models()[0]
        if model not in judge.models():
            raise RefusalError(
                404, "invalid_request", f"model: only {', '.join(judge.models())} can be asked here"
            )
        messages = tuple((m.role, m.content) for m in body.messages)
        request = chat_request(model, messages, {k: getattr(body, k) for k in _SAMPLING})
        bound = (
            body.response_format.model_dump(by_alias=True, exclude_none=True)
            if body.response_format
            else None
        )
        async with parts.judge_gate.held():
            answer = await judge.chat(request, bound)
        return _passed_on(answer)


def _passed_on(answer: dict[str, Any]) -> Response:
    """The engine's answer as it came, if it is one that JSON and UTF-8 can hold."""
    try:
        if not isinstance(answer["choices"], list):
            raise ValueError("choices: not a list")
        text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
    except (KeyError, ValueError) as e:
        raise RefusalError(
            502, "engine", f"the engine's answer is no chat completion ({type(e).__name__})"
        ) from e
    return Response(text.encode(errors="replace"), media_type="application/json")
