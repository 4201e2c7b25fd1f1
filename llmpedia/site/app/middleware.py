"""What stands around every answer of the app: headers that forbid scripts and requests from
elsewhere, and who may ask.

A page on the web could have its own host name resolve to 127.0.0.1 and read the site from a browser
on this machine; the ``Host`` header gives it away, so only names that were allowed are answered.
"""

import logging
from collections.abc import Callable, Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_log = logging.getLogger(__name__)

LOCAL_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-cache",
}


class HostGuard:
    """ASGI middleware: 421 to a foreign ``Host``, and ``HEADERS`` on every answer, errors and files
    included.

    ``broken`` makes the answer where the app fails with an exception that it did not expect; the
    log has the exception.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], broken: Callable[[], Response]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._broken = broken

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        begun = False

        async def with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        host = host_name(Headers(scope=scope).get("host", ""))
        if host not in self._hosts:
            refusal = (
                f"Host {host!r} is not served here; open http://127.0.0.1 with the port, or "
                f"start browse with --allow-host"
            )
            await PlainTextResponse(refusal, status_code=421)(scope, receive, with_headers)
            return
        try:
            await self._app(scope, receive, with_headers)
        except Exception:
            if begun:
                raise
            _log.exception("%s failed", scope["path"])
            await self._broken()(scope, receive, with_headers)


def host_name(header: str) -> str:
    """The name in a ``Host`` header, without its port."""
    if header.startswith("["):
        return header.partition("]")[0].lower() + "]"
    return header.partition(":")[0].lower().rstrip(".")
