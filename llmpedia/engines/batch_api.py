"""The wire side of the Batch API: input files, the calls, and what each line of the answer files
means.
"""

import asyncio
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import aiohttp

from llmpedia.engines.models import Models
from llmpedia.engines.openai import (
    bound_by,
    chat_body,
    read_chat,
    refusal,
    schema_at_fault,
    schema_refused,
)
from llmpedia.errors import EngineError, TransientError
from llmpedia.http import Endpoint, error_message
from llmpedia.stages import Completion, Request

URL = "/v1/chat/completions"
ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_CHARS_PER_TOKEN = 4
# A status in a line that says nothing about the one request: every other would get the same.
_REFUSED = frozenset({401, 403, 404})
_RETRIED = frozenset({408, 409, 425, 429})


class SchemaRefusedError(TransientError):
    """A request was refused for the schema that was to bind its answer. ``alone``: for this one
    schema, not for schemas.
    """

    def __init__(self, message: str, alone: bool, refused: Completion) -> None:
        """``refused``: what it comes to if no schema was sent."""
        super().__init__(message)
        self.alone = alone
        self.refused = refused


# What a line of an answer file says of its request: an answer, another try, or the end of the run.
Outcome = Completion | TransientError | EngineError


def custom_id(request: Request) -> str:
    """What a request is called in a batch: 60 hex digits of its key (the service takes 64
    characters).
    """
    return request.key[:60]


@dataclass(frozen=True)
class BatchLine:
    """One line of an input file.

    ``tokens``: of the prompt, estimated at 4 characters a token. ``plain_json``: any JSON object
    will do, instead of a schema.
    """

    custom_id: str
    model: str
    raw: bytes
    tokens: int
    plain_json: bool

    @classmethod
    def of(cls, request: Request, extra: dict[str, Any], models: Models, plain_json: bool) -> "BatchLine":
        """The line of a request; see :func:`~llmpedia.engines.openai.chat_body`."""
        name = custom_id(request)
        body = chat_body(request, extra, models, plain_json)
        line = {"custom_id": name, "method": "POST", "url": URL, "body": body}
        chars = sum(len(content) for _, content in request.messages)
        raw = (json.dumps(line, ensure_ascii=False) + "\n").encode()
        return cls(name, body["model"], raw, chars // _CHARS_PER_TOKEN + 1, bound_by(body) == "json_object")


def shards(
    lines: Iterable[BatchLine], most_requests: int, most_bytes: int, most_tokens: dict[str, int]
) -> Iterator[list[BatchLine]]:
    """Lines cut into files: one model each, within the limits; ``most_tokens``: prompt tokens of a
    file by model, if limited.

    A line over a limit by itself gets a file of its own: the service has the last word.
    """
    shard: list[BatchLine] = []
    size = tokens = 0
    for line in sorted(lines, key=lambda one: (one.model, one.custom_id)):
        limit = most_tokens.get(line.model)
        full = len(shard) >= most_requests or size + len(line.raw) > most_bytes
        if shard and (
            full or line.model != shard[0].model or (limit is not None and tokens + line.tokens > limit)
        ):
            yield shard
            shard = []
            size = 0
            tokens = 0
        shard.append(line)
        size = size + len(line.raw)
        tokens = tokens + line.tokens
    if shard:
        yield shard


class BatchApi:
    """The calls. All raise TransientError for what may pass, and EngineError for a refusal, with
    the service's words.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    async def upload(self, lines: list[BatchLine]) -> str:
        """Store an input file; its id."""
        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        content = b"".join(line.raw for line in lines)
        form.add_field("file", content, filename="llmpedia.jsonl", content_type="application/jsonl")
        return str((await self._json("POST", "files", data=form))["id"])

    async def create(self, input_file_id: str, metadata: dict[str, str]) -> dict[str, Any]:
        """Submit a file; the batch. ``metadata``: what :meth:`recent` finds it by."""
        body = {
            "input_file_id": input_file_id,
            "endpoint": URL,
            "completion_window": "24h",
            "metadata": metadata,
        }
        return await self._json("POST", "batches", json=body)

    async def retrieve(self, batch_id: str) -> dict[str, Any]:
        """A batch as it stands."""
        return await self._json("GET", f"batches/{batch_id}")

    async def ping(self) -> None:
        """Return if the service answers; asks for one row of a list, which costs nothing."""
        await self._json("GET", "batches", params={"limit": "1"})

    async def recent(self, since: float) -> list[dict[str, Any]]:
        """The account's batches created at ``since`` (Unix seconds) or later, newest first."""
        recent_batches: list[dict[str, Any]] = []
        params = {"limit": "100"}
        while True:
            page = await self._json("GET", "batches", params=params)
            batches = page.get("data") or []
            recent_batches += [b for b in batches if b.get("created_at", since) >= since]
            if not batches or not page.get("has_more") or batches[-1].get("created_at", since) < since:
                return recent_batches
            params = {"limit": "100", "after": batches[-1]["id"]}

    async def outcomes(self, batch: dict[str, Any]) -> dict[str, Outcome]:
        """custom_id -> what the output and error files of an ended batch say; an id in neither is
        missing.
        """
        by_id: dict[str, Outcome] = {}
        for file_id in (batch.get("output_file_id"), batch.get("error_file_id")):
            if file_id:
                raw = await self._content(file_id)
                for name, outcome in (await asyncio.to_thread(read_lines, raw)).items():
                    by_id.setdefault(name, outcome)
        return by_id

    async def _content(self, file_id: str) -> bytes:
        status, raw = await self._endpoint.fetch("GET", f"files/{file_id}/content")
        if status == 404:
            return b""  # kept for 30 days only: what it held is lost and asked again
        if status >= 400:
            raise EngineError(
                f"GET files/{file_id}/content: {_said(status, raw)}; mend this, then start again: "
                f"the run resumes"
            )
        return raw

    async def _json(self, method: str, path: str, **what: Any) -> dict[str, Any]:
        status, raw = await self._endpoint.fetch(method, path, **what)
        if status >= 400:
            raise EngineError(
                f"{method} {path}: {_said(status, raw)}; check base_url and that api_key_env holds "
                f"a key of the project that "
                "submitted this run's batches, then start again: the run resumes"
            )
        try:
            data = json.loads(raw)
        except ValueError as e:
            raise TransientError(f"{method} {path}: no JSON ({e})") from e
        if not isinstance(data, dict):
            raise TransientError(f"{method} {path}: no JSON object")
        return data


def read_lines(raw: bytes) -> dict[str, Outcome]:
    """custom_id -> outcome of each line of an output or error file; a line that cannot be read says
    nothing.
    """
    by_id: dict[str, Outcome] = {}
    for text in raw.split(b"\n"):
        try:
            line = json.loads(text)
            by_id.setdefault(str(line["custom_id"]), _outcome(line.get("response"), line.get("error")))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return by_id


def _outcome(response: dict[str, Any] | None, error: dict[str, Any] | None) -> Outcome:
    if response is None:
        error = error or {}
        return TransientError(f"{error.get('code')}: {error.get('message')}")
    status = int(response["status_code"])
    body = response.get("body") or {}
    if status in _RETRIED or status >= 500:
        return TransientError(f"HTTP {status}: {error_message(body)}")
    if status >= 400:
        return _refused(status, body)
    try:
        return read_chat(body)
    except TransientError as e:
        return e


def _refused(status: int, body: dict[str, Any]) -> Outcome:
    if status in _REFUSED:
        return EngineError(
            f"HTTP {status}: {error_message(body)}; check model and the key's rights, then start again"
        )
    if status == 400 and schema_refused(body):
        return SchemaRefusedError(error_message(body), schema_at_fault(body), refusal(status, body))
    return refusal(status, body)


def _said(status: int, raw: bytes) -> str:
    try:
        data = json.loads(raw)
    except ValueError:
        data = raw.decode(errors="replace")
    return f"HTTP {status}: {error_message(data if isinstance(data, dict) else {'error': data})}"
