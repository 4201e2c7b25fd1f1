"""Tests of who may send a form."""

import asyncio

import pytest

pytest.importorskip("fastapi")

from fastapi import HTTPException
from starlette.requests import Request

from llmpedia.site.app.review import form_of

FORM = ("content-type", "application/x-www-form-urlencoded")
OWN = [FORM, ("host", "127.0.0.1:8080"), ("origin", "http://127.0.0.1:8080")]


def sent(body: bytes, headers: list[tuple[str, str]]) -> dict[str, str]:
    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    raw = [(name.encode(), value.encode()) for name, value in headers]
    return asyncio.run(form_of(Request({"type": "http", "method": "POST", "headers": raw}, receive)))


def test_a_form_of_this_site_has_the_first_of_each_name():
    assert sent(b"answer=a&answer=b&comment=", OWN) == {"answer": "a", "comment": ""}


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"", [FORM], 403),
        (b"", [FORM, ("host", "127.0.0.1"), ("origin", "http://evil.example")], 403),
        (b"", [*OWN, ("sec-fetch-site", "cross-site")], 403),
        (b"{}", [("content-type", "application/json"), *OWN[1:]], 415),
        (b"x" * 10_000_000, OWN, 413),
        (b"\xff", OWN, 400),
    ],
)
def test_what_is_no_form_of_this_site_is_refused(body, headers, status):
    with pytest.raises(HTTPException) as refused:
        sent(body, headers)
    assert refused.value.status_code == status
