"""Hostile and odd pages in any number, served raw on loopback (Linux): for tests and for the
benchmark of fetching.

``cases(n, seed)`` draws them; :class:`HostileServer` serves them at ``/0`` to ``/n-1``.
``Forbidden`` watches the one place where a connection leaves the process and lets none out that
does not go to the server.
"""

import asyncio
import contextlib
import gzip
import io
import random
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]

# A loopback address of its own, so that all the others are forbidden.
HOME = "127.77.0.1"

PROSE = " ".join(
    f"In {1890 + i} Vannevar Bush did documented thing number {i} at the Carnegie Institution, "
    f"says record {i}."
    for i in range(30)
)
ARTICLE = (
    f"<!doctype html><html><head><title>Vannevar "
    f"Bush</title></head><body><article><p>{PROSE}</p></article></body></html>"
)

# Places that no fetch may reach, in the spellings that have passed through other guards.
FORBIDDEN = """http://169.254.169.254/latest/meta-data/ http://2852039166/ http://0xa9fea9fe/ http://0251.0376.0251.0376/
    http://127.0.0.1:22/ http://127.1/ http://localhost/ http://[::1]/ http://[::ffff:169.254.169.254]/ http://[::ffff:7f00:1]/
    http://[64:ff9b::a9fe:a9fe]/ http://[2002:7f00:1::]/ http://[fd00:ec2::254]/ http://[fe80::1]/ http://10.0.0.1/
    http://192.168.1.1/ http://172.16.0.1/ http://100.100.100.200/ http://168.63.129.16/ http://0.0.0.0/ http://224.0.0.1/
    http://255.255.255.255/ http://private.test/ http://mixed.test/ http://rebinding.test/ file:///etc/passwd gopher://127.0.0.1/
    ftp://127.0.0.1/ javascript:alert(1) data:text/html,x http://user@127.0.0.1/ //127.0.0.1:22/ http://①②⑦.⓪.⓪.①/
    http://127.0.0.1\\@evil.test/ https://127.0.0.1:9200/ http://[::]/ http://[fe80::1%25lo]/""".split()


@dataclass(frozen=True)
class Case:
    """One page. ``name``: its family."""

    name: str
    answer: Answer


class HostileServer:
    """Serves cases on ``HOME``; to be used inside the loop that fetches."""

    def __init__(self, cases: list[Case]) -> None:
        self._cases = cases
        self.asked: list[int] = []

    async def __aenter__(self) -> "HostileServer":
        self._server = await asyncio.start_server(self._serve, HOME, 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, EOFError, ValueError):
            request = await reader.readuntil(b"\r\n\r\n")
            number = int(request.split()[1].strip(b"/").split(b"?")[0])
            self.asked.append(number)
            await self._cases[number].answer(writer)
            await writer.drain()
        writer.transport.abort() if writer.transport.get_write_buffer_size() else writer.close()


class Forbidden:
    """Keeps every connection of this process from going anywhere but to the allowed ports of
    ``HOME``, and names them.
    """

    def __init__(self, monkeypatch) -> None:
        self.ports: set[int] = set()
        self.tried: list[tuple] = []
        connect = socket.socket.connect

        def watched(sock, address):
            if sock.family == socket.AF_UNIX or (address[0] == HOME and address[1] in self.ports):
                return connect(sock, address)
            self.tried.append(address)
            raise ConnectionRefusedError(f"the test lets nothing out to {address}")

        monkeypatch.setattr(socket.socket, "connect", watched)


class Names:
    """A name lookup without a network; ``rebinding.test`` gives a public address first and a
    private one from then on.
    """

    def __init__(self, hosts: dict[str, list[str]] | None = None) -> None:
        self.hosts = {
            "private.test": ["10.1.2.3"],
            "mixed.test": ["93.184.215.14", "10.1.2.3"],
            **(hosts or {}),
        }
        self._rebound = False

    async def __call__(self, host: str, port: int) -> list[str]:
        if host == "rebinding.test":
            self._rebound, first = True, not self._rebound
            return ["93.184.215.14"] if first else ["127.0.0.1"]
        if host in self.hosts:
            return self.hosts[host]
        with contextlib.suppress(
            OSError
        ):  # every spelling of an IPv4 address that the system's own lookup takes
            return [socket.inet_ntoa(socket.inet_aton(host))]
        if ":" in host or host == "localhost":
            return ["::1" if host == "localhost" else host]
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def cases(n: int, seed: int) -> list[Case]:
    """``n`` cases, all families in turn."""
    families = list(_FAMILIES.items())
    drawn = []
    for i in range(n):
        name, make = families[i % len(families)]
        drawn.append(Case(name, make(random.Random(f"{seed} {i}"), i)))
    return drawn


def raw(data: bytes) -> Answer:
    """Sends bytes as they are."""

    async def answer(writer):
        writer.write(data)

    return answer


def page(
    body: bytes | str,
    content_type: str = "text/html; charset=utf-8",
    extra: str = "",
    length: int | None = None,
) -> Answer:
    """An HTTP answer; ``length``: what it claims, where that is not the truth."""
    data = body.encode() if isinstance(body, str) else body
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: "
        f"{len(data) if length is None else length}\r\n"
    )
    return raw(f"{head}Connection: close\r\n{extra}\r\n".encode() + data)


def redirect(location: str, status: int = 302) -> Answer:
    return raw(
        f"HTTP/1.1 {status} Found\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: "
        f"close\r\n\r\n".encode()
    )


def status(code: int, headers: str = "") -> Answer:
    return raw(f"HTTP/1.1 {code} X\r\n{headers}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())


def trickle(first: bytes, piece: bytes, pause_s: float) -> Answer:
    """Never ends by itself."""

    async def answer(writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + first)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause_s)

    return answer


def bomb(megabytes: int) -> bytes:
    """Gzip of so many megabytes, about a thousandth of the size."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9) as file:
        for _ in range(megabytes):
            file.write(b"<p>0</p>" * 131072)
    return out.getvalue()


async def _flood_of_hints(writer):
    while True:
        writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(0.001)


async def _reset(writer):
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 900\r\n\r\n<p>half")
    await writer.drain()
    writer.transport.abort()


_BOMB = bomb(20)
_NONSENSE = ["http://[", "http://:0", "//", "http://a..b/", "http://%zz/", "\xff\xfe"]
_CHARSETS = ["klingon", "hex", "idna", "zip", "utf-99"]
_STATUSES = [204, 206, 400, 401, 403, 404, 410, 429, 451, 500, 503, 999]
_OPEN = ["<b>", "<font>", "<span>", "<ul><li>"]
_DOCTYPE = "<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'><!ENTITY b '&a;&a;'>]>"
_HTML_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
_GZIP = "Content-Encoding: gzip\r\n"


def _mutated(draw: random.Random, i: int) -> Answer:
    """A sound page with random bytes put in, taken out and changed."""
    data = bytearray(ARTICLE.encode())
    for _ in range(draw.randint(1, 200)):
        at = draw.randrange(len(data))
        data[at : at + draw.randint(0, 3)] = draw.randbytes(draw.randint(0, 3))
    return page(
        bytes(data), draw.choice(["text/html", "text/html; charset=utf-16", "text/html; charset=x\r\nX: y"])
    )


def _soup(draw: random.Random, i: int) -> Answer:
    """Tags, quotes and comments in any order, never closed."""
    tags = (
        "<div <p> <table> <tr><td <a href=' <!-- --> <script> </script <style> <svg><math> <title> <select>"
    )
    words = [*tags.split(), "<![CDATA[", "&#xFFFFFFFF;", "&amp", '"', "'", "\x00", "text"]
    return page("<html><body>" + "".join(draw.choice(words) for _ in range(draw.randint(50, 3000))))


_FAMILIES: dict[str, Callable[[random.Random, int], Answer]] = {
    "sound": lambda draw, i: page(ARTICLE),
    "gzip sound": lambda draw, i: page(gzip.compress(ARTICLE.encode()), extra=_GZIP),
    "gzip bomb": lambda draw, i: page(_BOMB, extra=_GZIP),
    "endless body": lambda draw, i: trickle(b"<html><body>", b"<p>x</p>" * 8192, 0),
    "slow drip": lambda draw, i: trickle(b"<html><body>", b"x", 0.05),
    "redirect loop": lambda draw, i: redirect(f"/{i}"),
    "redirect to a forbidden place": lambda draw, i: redirect(draw.choice(FORBIDDEN), draw.choice([301, 302, 303, 307, 308])),
    "redirect to metadata": lambda draw, i: redirect("http://169.254.169.254/latest/meta-data/iam/"),
    "redirect to file": lambda draw, i: redirect("file:///etc/passwd"),
    "redirect without a place": lambda draw, i: raw(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"),
    "redirect to nonsense": lambda draw, i: redirect(draw.choice(_NONSENSE)),
    "wrong charset": lambda draw, i: page(ARTICLE.replace("documented", "naïve São").encode("cp1252")),
    "no such charset": lambda draw, i: page(ARTICLE, f"text/html; charset={draw.choice(_CHARSETS)}"),
    "5 MB announced": lambda draw, i: page(ARTICLE + "<p>x</p>" * 650_000),
    "5 MB unannounced": lambda draw, i: raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + b"<p>word </p>" * 450_000),
    "just under the cap": lambda draw, i: page("<html><body>" + f"<p>{PROSE}</p>" * 5),
    "nested divs": lambda draw, i: page("<html><body>" + "<div>" * 20_000 + PROSE + "</div>" * 20_000),
    "nested unclosed": lambda draw, i: page("<html><body>" + draw.choice(_OPEN) * 20_000 + PROSE),
    "pdf as html": lambda draw, i: page(b"%PDF-1.7\n1 0 obj<<>>endobj" + draw.randbytes(500), "text/html"),
    "pdf": lambda draw, i: page(b"%PDF-1.7\n", "application/pdf"),
    "bad gzip": lambda draw, i: page(b"this is no gzip " * 50, extra=_GZIP),
    "gzip cut short": lambda draw, i: page(gzip.compress(ARTICLE.encode())[:200], extra=_GZIP),
    "gzip twice": lambda draw, i: page(gzip.compress(gzip.compress(ARTICLE.encode())), extra="Content-Encoding: gzip, gzip\r\n"),
    "br not asked for": lambda draw, i: page(draw.randbytes(300), extra="Content-Encoding: br\r\n"),
    "length too long": lambda draw, i: page(ARTICLE, length=10**6),
    "length too short": lambda draw, i: page(ARTICLE, length=50),
    "length absurd": lambda draw, i: page("x", length=10**30),
    "length negative": lambda draw, i: page("x", length=-5),
    "empty": lambda draw, i: page(""),
    "nothing at all": lambda draw, i: raw(b""),
    "binary": lambda draw, i: page(draw.randbytes(5000), "text/html"),
    "NULs": lambda draw, i: page(ARTICLE.replace("documented", "docu\x00mented")),
    "only NULs": lambda draw, i: page(b"\x00" * 5000),
    "huge header": lambda draw, i: page(ARTICLE, extra=f"X-Huge: {'x' * 500_000}\r\n"),
    "many headers": lambda draw, i: page(ARTICLE, extra="".join(f"X-{j}: y\r\n" for j in range(5000))),
    "no HTTP": lambda draw, i: raw(draw.randbytes(2000)),
    "flood of hints": lambda draw, i: _flood_of_hints,
    "reset": lambda draw, i: _reset,
    "bad chunks": lambda draw, i: raw(_HTML_HEAD + b"Transfer-Encoding: chunked\r\n\r\nZZZ\r\nx\r\n"),
    "status": lambda draw, i: status(draw.choice(_STATUSES)),
    "many attributes": lambda draw, i: page("<html><body><p " + " ".join(f"a{j}=b" for j in range(50_000)) + f">{PROSE}</p>"),
    "one long tag": lambda draw, i: page("<html><body><" + "a" * 500_000),
    "entities": lambda draw, i: page("<html><body><p>" + "&#x41;&lt;" * 50_000),
    "doctype entities": lambda draw, i: page(_DOCTYPE + "<html><body>&b;</body></html>"),
    "meta refresh": lambda draw, i: page("<html><head><meta http-equiv='refresh' content='0;url=http://169.254.169.254/'></head></html>"),
    "plain text": lambda draw, i: page(PROSE, "text/plain"),
    "no content type": lambda draw, i: raw(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + ARTICLE.encode()),
    "utf-16": lambda draw, i: page(ARTICLE.encode("utf-16"), "text/html"),
    "mutated": _mutated,
    "soup": _soup,
}  # fmt: skip
