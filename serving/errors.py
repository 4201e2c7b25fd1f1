"""Requests that are not served: an HTTP status and one line that never repeats what was sent."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

Kind = Literal[
    "unauthorized",
    "forbidden",
    "invalid_request",
    "too_large",
    "over_capacity",
    "timeout",
    "not_served",
    "engine",
    "internal",
]


class RefusalError(Exception):
    """``kind`` and ``message`` go to the client, as the body ``{"error": {"type": ..., "message":
    ...}}``.
    """

    def __init__(
        self, status: int, kind: Kind, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
        self.headers = dict(headers or {})

    def response(self) -> Response:
        """As it is sent."""
        body = json.dumps({"error": {"type": self.kind, "message": self.message}}, ensure_ascii=False).encode(
            errors="replace"
        )
        return Response(body, self.status, self.headers, media_type="application/json")


class Why(BaseModel):
    """Why a request was not served. ``type``: its kind; ``message``: one line, with the limit or
    setting that it met.
    """

    model_config = ConfigDict(extra="forbid")

    type: Kind
    message: str


class Problem(BaseModel):
    """The body of every answer but 2xx."""

    model_config = ConfigDict(extra="forbid")

    error: Why


_MEANINGS = {
    400: "The body is not UTF-8 or cannot be read, or the engine can never serve it",
    401: "No API key, or a wrong one",
    403: "Served to loopback only",
    404: "This model is not served",
    413: "The body is larger than limits.body_bytes",
    422: "The body is not what is asked for; the message names field and limit",
    501: "This part is not served",
    502: "The engine refuses this server",
    503: "Over capacity, or a part is not up; ask again after Retry-After seconds",
    504: "Not done within queue.timeout_s",
}


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For OpenAPI."""
    return {status: {"model": Problem, "description": _MEANINGS[status]} for status in statuses}
