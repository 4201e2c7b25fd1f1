"""Tests of what stands around every answer of the app."""

import asyncio

import pytest

pytest.importorskip("starlette")
from starlette.responses import PlainTextResponse

from llmpedia.site.app.middleware import HEADERS, HostGuard, host_name


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("LOCALHOST:80", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]:8080", "[::1]"),
        ("localhost.", "localhost"),
        ("", ""),
    ],
)
def test_the_name_of_a_host_is_without_its_port(header, name):
    assert host_name(header) == name


@pytest.mark.parametrize(
    ("host", "status"), [(b"localhost:1", 200), (b"evil.example", 421), (b"broken.example", 500)]
)
def test_every_answer_has_the_headers(host, status):
    """Also that to a foreign name, and that of an app that fails."""

    async def app(scope, receive, send):
        if host == b"broken.example":
            raise RuntimeError("a defect")
        await PlainTextResponse("here")(scope, receive, send)

    sent = []

    async def send(message):
        sent.append(message)

    guard = HostGuard(app, {"localhost", "broken.example"}, lambda: PlainTextResponse("broken", 500))
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", host)]}
    asyncio.run(guard(scope, None, send))
    assert sent[0]["status"] == status
    assert {name.lower().encode() for name in HEADERS} <= {name for name, _ in sent[0]["headers"]}
