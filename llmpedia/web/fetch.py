"""One page over HTTP, with every cap that keeps a hostile server from costing more than one failed
page.

Stands on httpcore, which httpx is built on: it opens connections through our guard by its public
interface, follows no redirect and inflates nothing by itself, and these are the three things that
have to be in our own hands.
"""

import asyncio
import re
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmpedia.http import retry_after
from llmpedia.web.address import Address, parse
from llmpedia.web.guard import ForbiddenAddressError, HostResolver, Policy, Resolve, pinned_backend

if TYPE_CHECKING:
    import httpcore

TYPES = frozenset({"text/html", "application/xhtml+xml", "text/plain"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Says that the same request may do better later.
_PASSING = frozenset({408, 425, 429})
# First bytes of what servers like to send under text/html.
_MAGIC = (
    b"%PDF-",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"\x89PNG",
    b"GIF8",
    b"\xff\xd8\xff",
    b"\x7fELF",
    b"Rar!",
    b"RIFF",
    b"OggS",
    b"ID3",
)
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r\f\x1b"))
_SNIFFED = 4096
# What httpcore and h11 say of a connection that ended early; their other protocol errors are a
# server that speaks no HTTP.
_CUT_OFF = ("Server disconnected", "peer closed connection")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})")


@dataclass(frozen=True)
class FetchSettings:
    """Caps of one fetch, redirects together.

    Attributes:
        policy: where it may go.
        max_bytes: on the wire, and again after inflating.
        timeout_s: for all of it.
    """

    policy: Policy
    max_bytes: int
    timeout_s: float
    most_redirects: int = 5
    connect_s: float = 5.0
    connections: int = 64
    user_agent: str = "llmpedia/0.1 (fact checking; reads single pages)"


@dataclass(frozen=True)
class Fetched:
    """A page. ``charset``: what the header says, unchecked; ``final_url``: after redirects, in its
    normal form.
    """

    url: str
    final_url: str
    status: int
    content_type: str
    charset: str | None
    body: bytes


@dataclass(frozen=True)
class Refused:
    """No page. ``passing``: network or server trouble, worth another try. ``off_limits``: where it
    led may not be used.
    """

    url: str
    reason: str
    passing: bool = False
    off_limits: bool = False
    wait_s: float | None = None

    def __str__(self) -> str:
        return f"{'failed' if self.passing else 'refused'}: {self.reason}"


Permit = Callable[[str], str | None]
"""An address -> why it may not be used, or None; asked of every redirect's target."""


class _StopError(Exception):
    """Carries a refusal out of the reading of a response."""

    def __init__(
        self, reason: str, passing: bool = False, off_limits: bool = False, wait_s: float | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.passing = passing
        self.off_limits = off_limits
        self.wait_s = wait_s


class Fetcher:
    """Fetches pages; its connections belong to the event loop of its first fetch."""

    def __init__(self, settings: FetchSettings, resolve: Resolve | None = None) -> None:
        """``resolve``: in place of the system's name lookup."""
        self._settings = settings
        self._resolver = None if resolve is not None else HostResolver()
        self._resolve = resolve or self._resolver
        self._free = asyncio.Semaphore(settings.connections)
        self._pool: httpcore.AsyncConnectionPool | None = None

    async def fetch(self, url: str, permit: Permit) -> Fetched | Refused:
        """The page at an address, through redirects; never raises for what a server or a network
        does.
        """
        async with self._free:  # waiting for one's turn is no fault of the server's
            try:
                async with asyncio.timeout(self._settings.timeout_s):
                    return await self._follow(url, permit)
            except _StopError as e:
                return Refused(url, e.reason, e.passing, e.off_limits, e.wait_s)
            except ForbiddenAddressError as e:
                return Refused(url, str(e), off_limits=True)
            except _expected() as e:
                return Refused(url, _told(e), _may_pass(e))

    async def close(self) -> None:
        """Let connections and threads go."""
        if self._pool is not None:
            pool = self._pool
            self._pool = None
            await pool.aclose()
        if self._resolver is not None:
            self._resolver.close()

    async def _follow(self, url: str, permit: Permit) -> Fetched:
        address = self._checked(parse(url))
        for _ in range(self._settings.most_redirects + 1):
            answer = await self._once(url, address)
            if isinstance(answer, Fetched):
                return answer
            address = self._checked(address.join(answer))
            why = permit(address.url)
            if why is not None:
                raise _StopError(f"redirect to {address.url[:200]}: {why}", off_limits=True)
        raise _StopError(f"more than {self._settings.most_redirects} redirects")

    def _checked(self, address: Address | str) -> Address:
        why = address if isinstance(address, str) else self._settings.policy.refusal(address)
        if why is not None or isinstance(address, str):
            raise _StopError(str(why), off_limits=True)
        return address

    async def _once(self, url: str, address: Address) -> Fetched | str:
        """The page, or where it redirects to."""
        async with self._open().stream(
            "GET", _target(address), headers=self._headers(), extensions=self._timeouts()
        ) as response:
            headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in response.headers}
            if response.status in _REDIRECTS and "location" in headers:
                # servers send raw UTF-8 here
                return headers["location"].encode("latin-1").decode("utf-8", "replace").strip()
            _check_status(response.status, headers)
            content_type = _check_type(headers)
            body = await self._read(response.aiter_stream(), headers)
            _check_body(body)
            charset = _CHARSET.search(headers.get("content-type", ""))
            named = charset.group(1).lower() if charset else None
            return Fetched(url, address.url, response.status, content_type, named, body)

    async def _read(self, stream: AsyncIterator[bytes], headers: Mapping[str, str]) -> bytes:
        most = self._settings.max_bytes
        length = headers.get("content-length", "")
        if length.isdigit() and int(length[:20]) > most:
            raise _StopError(f"{length[:20]} bytes are announced, more than {most}")
        inflate = _inflater(headers.get("content-encoding", ""), most)
        body = bytearray()
        wire = 0
        async for chunk in stream:
            wire += len(chunk)
            body += inflate(chunk, most + 1 - len(body)) if inflate else chunk
            if wire > most or len(body) > most:
                raise _StopError(f"larger than {most} bytes")
        if inflate and not inflate.whole():
            raise _StopError("gzip is cut short")
        return bytes(body)

    def _open(self) -> "httpcore.AsyncConnectionPool":
        if self._pool is None:
            import httpcore

            assert self._resolve is not None  # one of the two is set at birth
            self._pool = httpcore.AsyncConnectionPool(
                ssl_context=httpcore.default_ssl_context(),
                max_connections=self._settings.connections,
                keepalive_expiry=5.0,
                network_backend=pinned_backend(self._settings.policy, self._resolve),
            )
        return self._pool

    def _headers(self) -> list[tuple[str, str]]:
        return list(
            {
                "User-Agent": self._settings.user_agent,
                "Accept": "text/html, application/xhtml+xml, text/plain;q=0.5",
                "Accept-Encoding": "gzip",
                "Accept-Language": "en, *;q=0.5",
            }.items()
        )

    def _timeouts(self) -> dict[str, Any]:
        whole = self._settings.timeout_s
        return {
            "timeout": {"connect": self._settings.connect_s, "read": whole, "write": whole, "pool": whole}
        }


class _Inflater:
    """Gunzips piece by piece and never makes more bytes than asked for, however small the piece."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(31)

    def __call__(self, chunk: bytes, most: int) -> bytes:
        out = bytearray()
        while chunk and len(out) < most:
            if self._member.eof:  # gzip files may follow one another
                self._member = zlib.decompressobj(31)
            try:
                out += self._member.decompress(chunk, most - len(out))
            except zlib.error as e:
                raise _StopError(f"bad gzip ({e})") from e
            chunk = self._member.unconsumed_tail or self._member.unused_data
        return bytes(out)

    def whole(self) -> bool:
        """Whether the last member came to its end."""
        return self._member.eof


def _inflater(coding: str, most: int) -> _Inflater | None:
    name = coding.strip().lower()
    if name in ("gzip", "x-gzip"):
        return _Inflater()
    if name not in ("", "identity"):
        raise _StopError(f"content coding {name[:40]!r} was not asked for")
    return None


def _check_status(status: int, headers: Mapping[str, str]) -> None:
    if status != 200:
        passing = status >= 500 or status in _PASSING
        raise _StopError(
            f"HTTP {status}", passing, wait_s=retry_after(headers.get("retry-after")) if passing else None
        )


def _check_type(headers: Mapping[str, str]) -> str:
    """The media type; a missing one is left to :func:`_check_body`."""
    kind = headers.get("content-type", "").split(";")[0].strip().lower()
    if kind and kind not in TYPES:
        raise _StopError(f"content type {kind[:60]!r}")
    return kind


def _check_body(body: bytes) -> None:
    """Refuses what is no text, whatever its media type says."""
    start = body[:_SNIFFED]
    if start.lstrip().startswith(_MAGIC):
        raise _StopError("no text but a known binary format")
    # a few stray NULs are sloppiness; UTF-16 has its mark
    if not start.startswith(_WIDE) and len(start.translate(None, _CONTROL)) < 0.95 * len(start):
        raise _StopError("no text but binary data")


def _target(address: Address) -> "httpcore.URL":
    import httpcore

    return httpcore.URL(
        scheme=address.scheme.encode(),
        host=address.host.encode(),
        port=address.port,
        target=address.target.encode(),
    )


def _expected() -> tuple[type[Exception], ...]:
    """What network, server and a malformed answer can raise."""
    import httpcore

    return (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, OSError, ValueError)


def _may_pass(error: Exception) -> bool:
    """Whether another try could do better: not for a name that does not exist, a bad certificate or
    nonsense.
    """
    import httpcore

    if isinstance(error, httpcore.ProtocolError):
        return str(error).startswith(_CUT_OFF)
    if isinstance(error, socket.gaierror):
        return error.errno not in (socket.EAI_NONAME, socket.EAI_NODATA)
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return False
        cause = cause.__cause__ or cause.__context__
    return not isinstance(error, ValueError)


def _told(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no whole answer before the deadline"
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
