"""The HTTP application of one ingress replica. Knows nothing of Ray: what it asks is handed to it."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.responses import Response

from llmpedia import __version__
from serving.auth import Guard
from serving.chat import add_chat
from serving.dependencies import Parts
from serving.errors import RefusalError, documented
from serving.metrics import Counted
from serving.routes import add_grade, add_perplexity, add_verify
from serving.schemas import Ready
from serving.settings import LimitsSection, ServeConfig

_LOOK_AGAIN_S = 2.0
_BEARER = HTTPBearer(auto_error=False, description="One of the server's API keys")


def make_api(config: ServeConfig, digests: tuple[str, ...], parts: Parts) -> FastAPI:
    """The application. ``digests``: of the API keys, see :func:`~serving.auth.key_digests`."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        if parts.judge is not None:
            await parts.judge.engine.close()

    api = FastAPI(title="llmpedia", version=__version__, lifespan=lifespan, redoc_url=None)
    keyed = APIRouter(dependencies=[Security(_BEARER)])  # for OpenAPI: it is the guard that looks at keys
    add_verify(keyed, config.limits, parts)
    add_grade(keyed, config.limits, parts)
    add_perplexity(keyed, config.limits, parts)
    add_chat(keyed, config.limits, parts)
    _add_metrics(keyed, parts)
    api.include_router(keyed)
    _add_probes(api, parts)
    _add_refusals(api, config.limits)
    api.add_middleware(Guard, config=config, digests=digests)
    api.add_middleware(Counted, counts=parts.counts)
    return api


def _add_probes(api: FastAPI, parts: Parts) -> None:
    looked = _Looked(parts)

    @api.get("/healthz", summary="This process is up", tags=["probes"], response_class=PlainTextResponse)
    async def healthz() -> str:
        return "ok\n"

    @api.get(
        "/readyz", summary="What is served would answer", tags=["probes"], responses={503: {"model": Ready}}
    )
    async def readyz(response: Response) -> Ready:
        reasons = await looked.reasons()
        response.status_code = 503 if reasons else 200
        return Ready(ready=not reasons, reasons=reasons)


def _add_metrics(api: APIRouter, parts: Parts) -> None:
    text = {"description": "Prometheus text", "content": {"text/plain": {"schema": {"type": "string"}}}}
    responses: dict[int | str, dict[str, Any]] = {**documented(401, 403, 503), 200: text}
    what = "Counters of every ingress replica"

    @api.get("/metrics", summary=what, tags=["probes"], responses=responses, response_class=Response)
    async def metrics() -> Response:
        return PlainTextResponse(await parts.scrape(), media_type="text/plain; version=0.0.4")


class _Looked:
    """Whether the parts would answer, asked anew after a while, so that a probe without a key costs
    them nothing.
    """

    def __init__(self, parts: Parts) -> None:
        served = {"judge": parts.judge.engine if parts.judge else None, "perplexity": parts.scorer}
        self._parts = {name: part for name, part in served.items() if part is not None}
        self._lock = asyncio.Lock()
        self._until = 0.0
        self._reasons = dict[str, str]()

    async def reasons(self) -> dict[str, str]:
        """Part to why it would not answer."""
        async with self._lock:
            if time.monotonic() >= self._until:
                reasons = await asyncio.gather(*(part.ready() for part in self._parts.values()))
                self._reasons = {
                    name: why for name, why in zip(self._parts, reasons, strict=True) if why is not None
                }
                self._until = time.monotonic() + _LOOK_AGAIN_S
        return self._reasons


def _add_refusals(api: FastAPI, limits: LimitsSection) -> None:
    @api.exception_handler(RefusalError)
    async def refused(_: Request, refusal: RefusalError) -> Response:
        return refusal.response()

    @api.exception_handler(HTTPException)
    async def by_framework(_: Request, e: HTTPException) -> Response:
        return RefusalError(e.status_code, "invalid_request", str(e.detail), e.headers).response()

    @api.exception_handler(RequestValidationError)
    async def invalid(_: Request, e: RequestValidationError) -> Response:
        return RefusalError(422, "invalid_request", _one_line(e.errors(), limits)).response()


def _one_line(errors: Sequence[Any], limits: LimitsSection) -> str:
    """The first thing that is wrong: field, rule and limit, and never what was sent.

    A key that nobody knows is something sent, so it is not named either.
    """
    first = errors[0]
    if first["type"] == "json_invalid":
        return f"body: no JSON at character {first['loc'][-1]}"
    path = [str(part) for part in first["loc"] if part != "body"]
    if first["type"] == "extra_forbidden":
        path = path[:-1]
        message = "unknown key; see /openapi.json"
    else:
        message = first["msg"].removeprefix("Value error, ")
        message = message[0].lower() + message[1:]
    limit = _limit_of(first["type"], path, limits)
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{'.'.join(path) or 'body'}: {message}{f' ({limit})' if limit else ''}{more}"


def _limit_of(kind: str, path: list[str], limits: LimitsSection) -> str | None:
    """The setting behind a limit that was met."""
    names = [part for part in path if not part.isdigit()]
    last = names[-1] if names else ""
    if kind == "too_long" and last in type(limits).model_fields:
        return f"limits.{last} = {getattr(limits, last)}"
    if kind == "less_than_equal" and last == "max_tokens":
        return f"limits.completion_tokens = {limits.completion_tokens}"
    if kind == "string_too_long":
        name = "evidence_chars" if last in ("text", "content") else "text_chars"
        return f"limits.{name} = {getattr(limits, name)}"
    return None
