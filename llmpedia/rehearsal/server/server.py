"""The world behind HTTP on loopback: OpenAI-compatible chat completions and embeddings, with faults
and latency.

``GET /stats`` gives the counters as JSON, ``POST /stats`` gives them and starts anew. Other
interfaces add their own routes to the application that :meth:`Server.app` makes.
"""

import asyncio
import base64
import contextlib
import gc
import hashlib
import json
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

from aiohttp import web

from llmpedia.errors import InputError
from llmpedia.rehearsal.model.model import WorldModel, asked
from llmpedia.rehearsal.server.batch_service import BatchService
from llmpedia.rehearsal.server.embeddings import vector_texts, vectors
from llmpedia.rehearsal.server.faults import fault_of, latency_s, source_fault_of, spoiled
from llmpedia.rehearsal.server.stats import Stats
from llmpedia.rehearsal.server.web_routes import WebRoutes, lagged, lags
from llmpedia.rehearsal.settings import WorldSettings
from llmpedia.rehearsal.world.seeded_random import share
from llmpedia.rehearsal.world.world import World

_MAX_BODY = 256 << 20
_KEPT_VECTORS = 8192


class Server:
    """Routes of one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.model = WorldModel(world)
        self.stats = Stats()
        self._texts: dict[str, str] = {}

    def app(self) -> web.Application:
        """An application with the world's routes."""
        app = web.Application(client_max_size=_MAX_BODY)
        app.router.add_post("/v1/chat/completions", self.chat)
        app.router.add_post("/v1/embeddings", self.embeddings)
        app.router.add_get("/v1/models", self.models)
        app.router.add_get("/stats", self.show_stats)
        app.router.add_post("/stats", self.reset_stats)
        app.add_routes([*BatchService(self.answer_line).routes(), *self._source_routes()])
        return app

    def _source_routes(self) -> list[web.RouteDef]:
        async def mediawiki(request: web.Request) -> web.StreamResponse:
            return await self._serve_source(request, "mediawiki", sources.mediawiki)

        async def search(request: web.Request) -> web.StreamResponse:
            return await self._serve_source(request, "search", sources.search)

        async def page(request: web.Request) -> web.StreamResponse:
            return await self._serve_source(request, "page", sources.page)

        sources = WebRoutes(self.world)
        wiki = [web.get("/w/api.php", mediawiki), web.post("/w/api.php", mediawiki)]
        return [*wiki, web.get("/search", search), web.get("/page/{title}", page)]

    def answer_line(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """(HTTP status, body) of one line of a batch: what the routes answer, without their faults."""
        if isinstance(body.get("messages"), list) and body["messages"]:
            self.stats.requests["batch"] += 1
            return 200, _completion(body, *_within(body, *self.model.answer(body)))
        names = _names(body)
        if names is None:
            return 400, {"error": {"message": "neither messages nor input", "code": 400}}
        self.stats.requests["batch"] += 1
        return 200, json.loads(self._embedded(body, names))

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """``POST /v1/chat/completions``."""
        return await self._serve(request, self._chat)

    async def embeddings(self, request: web.Request) -> web.StreamResponse:
        """``POST /v1/embeddings``."""
        return await self._serve(request, self._embeddings)

    async def _serve(self, request: web.Request, handle: Any) -> web.StreamResponse:
        self.stats.arrive()
        try:
            raw = await request.read()
            try:
                body = json.loads(raw)
                if not isinstance(body, dict):
                    raise ValueError("not an object")
            except ValueError as e:
                return _error(400, f"the body is not a JSON object: {e}")
            number = _digest(raw)
            answer: web.StreamResponse = await handle(request, body, number)
        finally:
            self.stats.leave()
        return answer

    async def _serve_source(
        self, request: web.Request, stage: str, handle: Callable[..., web.Response]
    ) -> web.StreamResponse:
        """A request to a source: counted, with the faults and the latency of sources."""
        self.stats.arrive()
        try:
            form = {k: v for k, v in (await request.post()).items() if isinstance(v, str)}
            params = {**request.query, **form}
            number = _digest(json.dumps([request.path, sorted(params.items())]).encode())
            seen = self.stats.count(stage, number)
            fault = source_fault_of(self.world.settings, number, seen, stage == "mediawiki" and lags(params))
            answer = await self._fail(request, fault, number, seen)
            if fault == "garbled" and stage == "page":
                answer = await _broken_off(request)
            elif fault == "lagging":
                answer = lagged(params)
            elif answer is None:
                answer = handle(request, params)
                self.stats.answered(number)
        finally:
            self.stats.leave()
        return answer

    async def _chat(self, request: web.Request, body: dict[str, Any], number: int) -> web.StreamResponse:
        if not isinstance(body.get("messages"), list) or not body["messages"]:
            return _error(400, "messages: a list of turns is needed")
        question = asked(body)
        seen = self.stats.count(question.stage, number)
        fault = fault_of(self.world.settings, question.stage, number, seen)
        failed = await self._fail(request, fault, number, seen)
        if failed is not None:
            return failed
        text = self.model.answer_to(question)
        reason = "stop"
        if fault is not None:
            text, reason = spoiled(
                fault, question.stage, text, share(self.world.settings.seed, "where", number, seen)
            )
        self.stats.answered(number)
        return _json(_completion(body, *_within(body, text, reason)))

    async def _embeddings(
        self, request: web.Request, body: dict[str, Any], number: int
    ) -> web.StreamResponse:
        names = _names(body)
        if names is None:
            return _error(400, "input: a text or a list of texts is needed, none of them empty")
        seen = self.stats.count("embedding", number)
        failed = await self._fail(
            request, fault_of(self.world.settings, "embedding", number, seen), number, seen
        )
        if failed is not None:
            return failed
        self.stats.answered(number)
        return web.Response(body=self._embedded(body, names), content_type="application/json")

    def _embedded(self, body: dict[str, Any], names: list[str]) -> bytes:
        """The answer to an embeddings request, as JSON."""
        if body.get("encoding_format") == "base64":
            rows = [
                f'"{base64.b64encode(v.tobytes()).decode()}"'
                for v in vectors(self.world, names).astype("<f4")
            ]
        else:
            rows = self._vector_texts(names)
        data = ",".join(
            f'{{"object":"embedding","index":{i},"embedding":{row}}}' for i, row in enumerate(rows)
        )
        tokens = sum(map(len, names)) // 4
        usage = f'"usage":{{"prompt_tokens":{tokens},"total_tokens":{tokens}}}'
        tail = f'"model":{json.dumps(body.get("model"))},{usage}'
        return f'{{"object":"list","data":[{data}],{tail}}}'.encode()

    def _vector_texts(self, names: list[str]) -> list[str]:
        new = [n for n in dict.fromkeys(names) if n not in self._texts]
        if len(self._texts) + len(new) > _KEPT_VECTORS:
            self._texts.clear()
            new = list(dict.fromkeys(names))
        self._texts.update(zip(new, vector_texts(self.world, new), strict=True))
        return [self._texts[n] for n in names]

    async def _fail(
        self, request: web.Request, fault: str | None, number: int, seen: int
    ) -> web.StreamResponse | None:
        """Wait the latency out; then the answer of a fault of requests, None where an answer is
        due.
        """
        settings = self.world.settings
        if fault is not None:
            self.stats.faults[fault] += 1
        if fault == "http_429":
            return _error(429, "too many requests", {"Retry-After": f"{settings.faults.retry_after_s:g}"})
        if fault == "hang":
            await _hang(request, settings.faults.hang_s)
            return _reset(request)
        wait = latency_s(settings, number, seen)
        if wait:
            await asyncio.sleep(wait)
        if fault == "http_500":
            return _error(500, "the model is not well")
        if fault == "reset":
            return _reset(request)
        if fault == "garbled":
            return web.Response(text='{"choices": [{"message": {"cont', content_type="application/json")
        return None

    async def models(self, _: web.Request) -> web.StreamResponse:
        """``GET /v1/models``."""
        return _json(
            {
                "object": "list",
                "data": [{"id": "rehearsal", "object": "model", "created": 0, "owned_by": "llmpedia"}],
            }
        )

    async def show_stats(self, _: web.Request) -> web.StreamResponse:
        """``GET /stats``."""
        return _json(self.stats.snapshot())

    async def reset_stats(self, _: web.Request) -> web.StreamResponse:
        """``POST /stats``: the counters so far; they start anew, but for the bodies seen."""
        answer = _json(self.stats.snapshot())
        self.stats = Stats(bodies=self.stats.bodies, in_flight=self.stats.in_flight)
        return answer


def _digest(data: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def _within(body: dict[str, Any], text: str, reason: str) -> tuple[str, str]:
    """The answer, cut off at the budget of tokens that the request gives."""
    limit = body.get("max_tokens") or body.get("max_completion_tokens")
    return (
        (text[: 4 * limit], "length") if isinstance(limit, int) and len(text) > 4 * limit else (text, reason)
    )


def _names(body: dict[str, Any]) -> list[str] | None:
    """The texts to embed; None where the body does not give any."""
    names = body.get("input")
    names = [names] if isinstance(names, str) else names
    return (
        names if isinstance(names, list) and names and all(isinstance(n, str) and n for n in names) else None
    )


def _completion(body: dict[str, Any], text: str, reason: str) -> dict[str, Any]:
    """The body of an answer; a token is four characters."""
    prompt = sum(len(m["content"]) for m in body["messages"] if isinstance(m.get("content"), str)) // 4
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": len(text) // 4,
        "total_tokens": prompt + len(text) // 4,
    }
    named = {
        "id": "chatcmpl-rehearsal",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model"),
    }
    return {**named, "choices": [choice], "usage": usage}


def _json(data: Any) -> web.Response:
    return web.Response(
        body=json.dumps(data, ensure_ascii=False).encode(errors="replace"), content_type="application/json"
    )


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> web.Response:
    text = json.dumps({"error": {"message": message, "type": "rehearsal", "code": status}})
    return web.Response(text=text, status=status, headers=headers, content_type="application/json")


async def _hang(request: web.Request, seconds: float) -> None:
    """Say nothing for so long, or until the client has gone: one that has gone is in flight no
    more.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end and request.transport is not None and not request.transport.is_closing():
        await asyncio.sleep(0.1)


def _reset(request: web.Request) -> web.Response:
    """Cut the connection so that the client gets a reset, not an end."""
    transport = request.transport
    if transport is not None:
        sock = transport.get_extra_info("socket")
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    return web.Response(status=500)


async def _broken_off(request: web.Request) -> web.StreamResponse:
    """A page whose connection closes before the length that its head gives: HTML that is not whole
    looks like any other.
    """
    response = web.StreamResponse(
        headers={"Content-Length": "10000", "Content-Type": "text/html; charset=utf-8"}
    )
    await response.prepare(request)
    await response.write(b"<!DOCTYPE html><html><head><title>")
    if request.transport is not None:
        request.transport.close()
    return response


async def run_server(settings: WorldSettings, port: int) -> None:
    """Serve a world on 127.0.0.1 until cancelled.

    Raises:
        InputError: the port cannot be had.
    """
    server = Server(World(settings))
    gc.collect()
    gc.freeze()  # the world never dies: keep the collector from walking it
    runner = web.AppRunner(server.app(), access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port, backlog=1024).start()
    except OSError as e:
        await runner.cleanup()
        raise InputError(f"--port {port}: cannot be had ({e.strerror}); give another one") from e
    try:
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
