"""A strict Batch API on aiohttp: files and batches as OpenAI's service takes them, with faults on
demand.

What the service is known to check is checked, and a bad input file turns its batch ``failed`` as
there, with ``errors.data``. What each line is answered comes from a function given at construction.
Everything is kept in memory.
"""

import asyncio
import inspect
import itertools
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import BodyPartReader, web

Answer = tuple[int, dict[str, Any]]
ENDPOINTS = frozenset({"/v1/chat/completions", "/v1/embeddings", "/v1/completions", "/v1/responses"})
_CHARS_PER_TOKEN = 4


@dataclass(frozen=True)
class BatchPlan:
    """What becomes of one batch. Shares are of its lines, counted from the last.

    ``expire``, ``cancel``: not run when the batch ends expired or cancelled. ``lose``: in neither
    file. ``refuse``: the answer of a body that is to be refused, else None. ``fail``: errors that
    the batch fails with. ``cut``: it is created, but the connection breaks before the answer.
    ``unavailable``: looks at it that are answered 503.
    """

    expire: float = 0.0
    cancel: float = 0.0
    lose: float = 0.0
    refuse: Callable[[dict[str, Any]], Answer | None] = lambda body: None
    fail: tuple[dict[str, Any], ...] = ()
    cut: bool = False
    unavailable: int = 0


@dataclass(frozen=True)
class Delays:
    """Seconds a batch stays in each status."""

    validating: float = 0.0
    in_progress: float = 0.0
    finalizing: float = 0.0


@dataclass
class _Batch:
    shown: dict[str, Any]
    plan: BatchPlan
    lines: list[dict[str, Any]] = field(default_factory=list)
    tokens: int = 0
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)


class BatchService:
    """The service. ``submitted`` counts every custom_id that was accepted for work, ``answered``
    every one that was run.
    """

    def __init__(
        self,
        answer: Callable[[dict[str, Any]], Answer | Awaitable[Answer]],
        *,
        delays: Delays | None = None,
        plan: Callable[[int], BatchPlan] = lambda number: BatchPlan(),
        most_lines: int = 50_000,
        most_bytes: int = 200_000_000,
        most_enqueued_tokens: int | None = None,
    ) -> None:
        """``answer``: body -> (HTTP status, body); ``plan``: of the n-th batch, from 0; the rest
        are the service's limits.
        """
        self._answer = answer
        self._plan = plan
        self._delays = delays or Delays()
        self._most_lines = most_lines
        self._most_bytes = most_bytes
        self._most_tokens = most_enqueued_tokens
        self._files: dict[str, tuple[dict[str, Any], bytes]] = {}
        self._batches: dict[str, _Batch] = {}
        self._numbers = itertools.count()
        self._tasks: set[asyncio.Task[None]] = set()
        self.submitted: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.most_enqueued = 0

    @property
    def batches(self) -> list[dict[str, Any]]:
        """Every batch as it is shown, in order of creation."""
        return [b.shown for b in self._batches.values()]

    def input(self, batch: dict[str, Any]) -> list[dict[str, Any]]:
        """The lines of a batch's input file."""
        return [json.loads(line) for line in self._files[batch["input_file_id"]][1].splitlines()]

    def routes(self) -> list[web.RouteDef]:
        """To be added to an application."""
        return [
            web.post("/v1/files", self._upload),
            web.get("/v1/files/{id}", self._file),
            web.get("/v1/files/{id}/content", self._content),
            web.post("/v1/batches", self._create),
            web.get("/v1/batches", self._list),
            web.get("/v1/batches/{id}", self._retrieve),
            web.post("/v1/batches/{id}/cancel", self._cancel),
        ]

    async def _upload(self, request: web.Request) -> web.Response:
        fields: dict[str, bytes] = {}
        name = None
        async for part in await request.multipart():
            if isinstance(part, BodyPartReader) and part.name:
                fields[part.name] = await part.read()
                name = part.filename or name
        content = fields.get("file")
        if content is None or name is None:
            return _error(400, "'file' is a required property", "file")
        if fields.get("purpose") != b"batch":
            return _error(400, f"{fields.get('purpose', b'').decode()!r} is not one of ['batch']", "purpose")
        if not name.endswith(".jsonl"):
            return _error(400, f"Invalid file format. Must be .jsonl, got {name}", "file")
        if len(content) > self._most_bytes:
            return _error(400, "File is too large.", "file")
        return web.json_response(self._store(content, name, "batch"))

    def _store(self, content: bytes, name: str, purpose: str) -> dict[str, Any]:
        file_id = f"file-{len(self._files):06d}"
        shown = {
            "id": file_id,
            "object": "file",
            "bytes": len(content),
            "created_at": int(time.time()),
            "filename": name,
        }
        shown |= {"purpose": purpose, "status": "processed"}
        self._files[file_id] = (shown, content)
        return shown

    async def _file(self, request: web.Request) -> web.Response:
        file = self._files.get(request.match_info["id"])
        return web.json_response(file[0]) if file else _no_such("File", request)

    async def _content(self, request: web.Request) -> web.Response:
        file = self._files.get(request.match_info["id"])
        return web.Response(body=file[1]) if file else _no_such("File", request)

    async def _create(self, request: web.Request) -> web.Response:
        body = await request.json()
        wrong = self._wrong(body)
        if wrong is not None:
            return wrong
        number = next(self._numbers)
        shown: dict[str, Any] = {
            "id": f"batch_{number:06d}",
            "object": "batch",
            "endpoint": body["endpoint"],
            "errors": None,
            "input_file_id": body["input_file_id"],
            "completion_window": "24h",
            "status": "validating",
            "output_file_id": None,
            "error_file_id": None,
            "created_at": int(time.time()),
            "request_counts": {"total": 0, "completed": 0, "failed": 0},
            "metadata": body.get("metadata"),
        }
        batch = self._batches[shown["id"]] = _Batch(shown, self._plan(number))
        task = asyncio.create_task(self._run(batch))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if batch.plan.cut and request.transport is not None:
            request.transport.abort()
        return web.json_response(shown)

    def _wrong(self, body: dict[str, Any]) -> web.Response | None:
        metadata = body.get("metadata") or {}
        file = self._files.get(str(body.get("input_file_id")))
        if file is None:
            return _error(400, f"No such File object: {body.get('input_file_id')}", "input_file_id")
        if file[0]["purpose"] != "batch":
            return _error(400, "The file's purpose must be batch", "input_file_id")
        if body.get("endpoint") not in ENDPOINTS:
            return _error(400, f"{body.get('endpoint')!r} is not one of {sorted(ENDPOINTS)}", "endpoint")
        if body.get("completion_window") != "24h":
            return _error(
                400, f"{body.get('completion_window')!r} is not one of ['24h']", "completion_window"
            )
        pairs = [(k, v) for k, v in metadata.items() if isinstance(v, str) and len(k) <= 64 and len(v) <= 512]
        if len(pairs) != len(metadata) or len(pairs) > 16:
            return _error(
                400,
                "metadata: at most 16 pairs of strings, keys of 64 and values of 512 characters",
                "metadata",
            )
        return None

    async def _list(self, request: web.Request) -> web.Response:
        limit = int(request.query.get("limit", "20"))
        if not 1 <= limit <= 100:
            return _error(400, f"{limit} is not between 1 and 100", "limit")
        newest = self.batches[::-1]
        after = request.query.get("after")
        start = next((i + 1 for i, b in enumerate(newest) if b["id"] == after), 0)
        page = newest[start : start + limit]
        ends = (
            {"first_id": page[0]["id"], "last_id": page[-1]["id"]}
            if page
            else {"first_id": None, "last_id": None}
        )
        return web.json_response(
            {"object": "list", "data": page, **ends, "has_more": start + limit < len(newest)}
        )

    async def _retrieve(self, request: web.Request) -> web.Response:
        batch = self._batches.get(request.match_info["id"])
        if batch is None:
            return _no_such("Batch", request)
        if batch.plan.unavailable > batch.shown.get("looks", 0):
            batch.shown["looks"] = batch.shown.get("looks", 0) + 1
            return _error(503, "The server is overloaded", None)
        return web.json_response(batch.shown)

    async def _cancel(self, request: web.Request) -> web.Response:
        batch = self._batches.get(request.match_info["id"])
        if batch is None:
            return _no_such("Batch", request)
        if batch.shown["status"] not in ("validating", "in_progress", "finalizing"):
            return _error(409, f"Cannot cancel a batch with status '{batch.shown['status']}'.", None)
        self._turn(batch, "cancelling")
        batch.cancelled.set()
        return web.json_response(batch.shown)

    def _turn(self, batch: _Batch, status: str) -> None:
        batch.shown["status"] = status
        batch.shown[f"{status}_at"] = int(time.time())

    async def _run(self, batch: _Batch) -> None:
        await asyncio.sleep(self._delays.validating)
        errors = list(batch.plan.fail) or self._validate(batch)
        if errors:
            batch.shown["errors"] = {"object": "list", "data": errors}
            self._turn(batch, "failed")
            return
        self.submitted.update(line["custom_id"] for line in batch.lines)
        batch.shown["request_counts"]["total"] = len(batch.lines)
        if not batch.cancelled.is_set():
            self._turn(batch, "in_progress")
            try:
                await asyncio.wait_for(batch.cancelled.wait(), self._delays.in_progress)
            except TimeoutError:
                await self._work(batch)
        await asyncio.sleep(self._delays.finalizing)
        plan = batch.plan
        stopped = batch.cancelled.is_set() or plan.cancel > 0
        self._turn(batch, "cancelled" if stopped else "expired" if plan.expire else "completed")

    def _validate(self, batch: _Batch) -> list[dict[str, Any]]:
        """The errors that the batch fails with; its lines are kept if there are none."""
        errors: list[dict[str, Any]] = []
        seen: set[str] = set()
        model = None
        raw = self._files[batch.shown["input_file_id"]][1].splitlines()
        if not raw:
            return [_failure("empty_file", "The input file is empty.", None)]
        if len(raw) > self._most_lines:
            return [
                _failure(
                    "too_many_tasks",
                    f"The batch has {len(raw)} requests; the maximum is {self._most_lines}.",
                    None,
                )
            ]
        for number, text in enumerate(raw, 1):
            line, wrong = _parsed(text, batch.shown["endpoint"])
            if line is not None and line["custom_id"] in seen:
                wrong = (
                    "duplicate_custom_id",
                    "The custom_id of this request is a duplicate of another request.",
                )
            elif line is not None and line["body"].get("model") != (model or line["body"].get("model")):
                wrong = ("model_mismatch", "The model of this request does not match that of the others.")
            if wrong or line is None:
                errors.append(_failure(*(wrong or ("invalid_json_line", "")), number))
                continue
            seen.add(line["custom_id"])
            model = line["body"].get("model")
            batch.lines.append(line)
        return errors or self._enqueue(batch)

    def _enqueue(self, batch: _Batch) -> list[dict[str, Any]]:
        model = batch.lines[0]["body"].get("model")
        chars = sum(
            len(str(m.get("content"))) for line in batch.lines for m in line["body"].get("messages", [])
        )
        live = [
            b
            for b in self._batches.values()
            if b.shown["status"] in ("in_progress", "finalizing", "cancelling")
        ]
        enqueued = (
            sum(b.tokens for b in live if b.lines[0]["body"].get("model") == model)
            + chars // _CHARS_PER_TOKEN
        )
        if self._most_tokens is not None and enqueued > self._most_tokens:
            message = (
                f"Enqueued token limit reached for {model}. Limit: {self._most_tokens} enqueued "
                f"tokens. Please try again once"
            )
            return [
                _failure(
                    "token_limit_exceeded", f"{message} some in_progress batches have been completed.", None
                )
            ]
        batch.tokens = chars // _CHARS_PER_TOKEN
        self.most_enqueued = max(self.most_enqueued, enqueued)
        return []

    async def _work(self, batch: _Batch) -> None:
        plan = batch.plan
        n = len(batch.lines)
        left = n - round(n * max(plan.expire, plan.cancel))
        kept = left - round(n * plan.lose)
        good: list[dict[str, Any]] = []
        bad: list[dict[str, Any]] = []
        counts = batch.shown["request_counts"]
        for i, line in enumerate(batch.lines[:left]):
            if batch.cancelled.is_set():
                break
            refused = plan.refuse(line["body"])
            status, body = refused or await self._ask(line)
            self.answered[line["custom_id"]] += 1
            counts["completed" if status < 400 else "failed"] += 1
            response = {"status_code": status, "request_id": f"req_{i}", "body": body}
            if i < kept:
                (good if status < 400 else bad).append(_line(line, response, None))
        if plan.expire:
            late = {
                "code": "batch_expired",
                "message": "This request could not be executed before the completion window expired.",
            }
            bad += [_line(line, None, late) for line in batch.lines[left:]]
        if not batch.cancelled.is_set():
            self._turn(batch, "finalizing")
        for which, lines in (("output_file_id", good), ("error_file_id", bad)):
            if lines:  # there is no file without a line, not even of a completed batch
                name = f"{batch.shown['id']}_{which[:-8]}.jsonl"
                content = "".join(
                    json.dumps(x) + "\n" for x in reversed(lines)
                ).encode()  # any order is allowed
                batch.shown[which] = self._store(content, name, "batch_output")["id"]

    async def _ask(self, line: dict[str, Any]) -> Answer:
        answer = self._answer(line["body"])
        return await answer if inspect.isawaitable(answer) else answer


def _parsed(text: bytes, endpoint: str) -> tuple[dict[str, Any] | None, tuple[str, str] | None]:
    """A line of an input file, or (code, message) of what is wrong with it."""
    try:
        line = json.loads(text)
        name, method, url, body = (line[k] for k in ("custom_id", "method", "url", "body"))
    except (ValueError, KeyError, TypeError):
        return None, ("invalid_json_line", "This line is not parseable as valid JSON.")
    if (
        not isinstance(name, str)
        or not 1 <= len(name) <= 64
        or method != "POST"
        or not isinstance(body, dict)
    ):
        return None, ("invalid_request", "custom_id, method or body of this request cannot be used.")
    if url != endpoint:
        return None, ("url_mismatch", "The URL of this request does not match the batch's endpoint.")
    return line, None


def _line(
    line: dict[str, Any], response: dict[str, Any] | None, error: dict[str, Any] | None
) -> dict[str, Any]:
    return {
        "id": f"batch_req_{line['custom_id'][:8]}",
        "custom_id": line["custom_id"],
        "response": response,
        "error": error,
    }


def _failure(code: str, message: str, line: int | None) -> dict[str, Any]:
    return {"code": code, "line": line, "message": message, "param": None}


def _error(status: int, message: str, param: str | None) -> web.Response:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": None}
    return web.json_response({"error": error}, status=status)


def _no_such(kind: str, request: web.Request) -> web.Response:
    return _error(404, f"No such {kind} object: {request.match_info['id']}", "id")
