"""What stands before every route: who asks, and how much is sent. Plain ASGI, so that bytes are
counted as they come.
"""

import asyncio
import hashlib
import hmac
import ipaddress
import logging
import os
import traceback

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from llmpedia.errors import ConfigError
from serving.errors import RefusalError
from serving.metrics import route_of
from serving.settings import AuthSection, ServeConfig

log = logging.getLogger(__name__)

# Answered without a key: they hold no data and cost nothing.
OPEN = frozenset({"/healthz", "/readyz", "/openapi.json", "/docs"})
_SHORTEST_KEY = 16


def key_digests(auth: AuthSection) -> tuple[str, ...]:
    """SHA-256 of each key, which is all that the application keeps of them; none where they are
    disabled.

    Raises:
        ConfigError: no key is set, or one that could be guessed or not be sent.
    """
    if auth.disabled:
        return ()
    setting = f"auth.keys_env = {auth.keys_env!r}"
    keys = [key for key in map(str.strip, os.environ.get(auth.keys_env, "").split(",")) if key]
    if not keys:
        raise ConfigError(
            f"{setting}: this environment variable holds no key; set it, or auth.disabled to true on loopback"
        )
    for number, key in enumerate(keys, 1):
        if len(key) < _SHORTEST_KEY or not (key.isascii() and key.isprintable() and " " not in key):
            raise ConfigError(
                f"{setting}: key {number}: {_SHORTEST_KEY} or more letters, digits and marks are "
                f"asked for; change it"
            )
    return tuple(_digest(key.encode()) for key in keys)


def _digest(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest()


def is_loopback(host: str | None) -> bool:
    """Whether an address, or the name ``localhost``, is this machine's own."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host or "")
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_loopback or (mapped is not None and mapped.is_loopback)


class Guard:
    """ASGI middleware: the key, the size of the body; a defect becomes a 500 whose log tells places
    and no contents.
    """

    def __init__(self, app: ASGIApp, config: ServeConfig, digests: tuple[str, ...]) -> None:
        self._app = app
        self._config = config
        self._digests = digests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._admitted(scope, receive, noted)
        except RefusalError as refusal:
            await refusal.response()(scope, receive, send)
        except Exception as e:
            log.error("%s %s: %s at\n%s", scope["method"], route_of(scope), type(e).__name__, _places(e))
            if begun:
                raise RuntimeError(f"{type(e).__name__} after the answer had begun") from None
            await RefusalError(500, "internal", "a defect of the server; its log tells where").response()(
                scope, receive, send
            )

    async def _admitted(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        if self._config.auth.disabled:
            self._require_loopback(scope, headers)
        elif route_of(scope) not in OPEN:
            self._require_key(headers)
        if scope["method"] not in ("GET", "HEAD"):
            receive = _again(await self._body(headers, receive), receive)
        await self._app(scope, receive, send)

    def _require_key(self, headers: dict[bytes, bytes]) -> None:
        scheme, _, key = headers.get(b"authorization", b"").partition(b" ")
        given = _digest(key.strip())
        known = False
        for digest in self._digests:  # all of them, so that the time taken tells nothing
            known |= hmac.compare_digest(digest, given)
        if scheme.lower() != b"bearer" or not known:
            message = "a valid API key is needed: Authorization: Bearer KEY"
            raise RefusalError(401, "unauthorized", message, {"WWW-Authenticate": "Bearer"})

    def _require_loopback(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        """The client is on this machine, and asked for it by name: a web page whose name was
        rebound to it did not.
        """
        client = scope.get("client")
        asked = headers.get(b"host", b"").decode("latin-1")
        name = asked.rpartition(":")[0] if not asked.endswith("]") and ":" in asked else asked
        if not (client and is_loopback(client[0]) and is_loopback(name.strip("[]"))):
            raise RefusalError(
                403, "forbidden", "API keys are disabled (auth.disabled), so only loopback is served"
            )

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        most = self._config.limits.body_bytes
        parts = []
        size = 0
        length = headers.get(b"content-length", b"")
        if length.isdigit() and (len(length) > 18 or int(length) > most):
            raise self._too_large()
        try:
            async with asyncio.timeout(self._config.queue.timeout_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise RefusalError(
                            400, "invalid_request", "the connection closed before the body had come"
                        )
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise self._too_large()
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            raise RefusalError(408, "timeout", "the body did not come within queue.timeout_s") from None

    def _too_large(self) -> RefusalError:
        most = self._config.limits.body_bytes
        return RefusalError(
            413,
            "too_large",
            f"the body is larger than {most} bytes (limits.body_bytes); send fewer items a request",
        )


def _again(body: bytes, receive: Receive) -> Receive:
    """A receive that gives the body that was read, then whatever comes."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _places(error: BaseException) -> str:
    """Where it happened, without the message: that may hold what was sent."""
    return "".join(traceback.format_tb(error.__traceback__))
