"""Keys, sizes and logs of the served application."""

import asyncio
import hmac
import logging

import pytest

from llmpedia.errors import ConfigError
from serving.app import _require_loopback
from serving.auth import OPEN, is_loopback, key_digests
from serving.settings import AuthSection
from tests.support.builders.runs import one_line
from tests.support.builders.serving import (
    BODIES,
    KEY,
    OTHER,
    VERIFY,
    ScriptedEngine,
    Served,
    ask,
    error,
    serve_config,
)

OPEN_TO_ALL = {"auth": {"disabled": True}}
SECRET = "only-in-the-body-of-this-request"


@pytest.mark.parametrize("path", [*BODIES, "/metrics", "/nope"])
def test_without_a_key_nothing_is_told(path):
    response = ask(path, BODIES.get(path), key=None)
    assert error(response)[:2] == (401, "unauthorized")
    assert response.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("key", [KEY, OTHER])
def test_each_of_several_keys_opens(key):
    assert ask("/v1/verify", VERIFY, key=key).status_code == 200


@pytest.mark.parametrize(
    "given",
    ["Bearer wrong-key-of-the-tests", "Bearer ", "Bearer", f"Basic {KEY}", KEY, f"Bearer {KEY}x", "\xff"],
)
def test_what_is_no_key_opens_nothing(given):
    assert (
        ask("/v1/verify", VERIFY, key=None, headers={"Authorization": given.encode("latin-1")}).status_code
        == 401
    )


def test_the_scheme_may_be_written_in_any_case():
    assert ask("/v1/verify", VERIFY, key=None, headers={"Authorization": f"bearer {KEY}"}).status_code == 200


def test_every_key_is_compared_whichever_fits(monkeypatch):
    """An early exit would tell by its time which key was near."""
    compared = []
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append(a) or a == b)
    served = Served(keys=(KEY, OTHER, "third-key-of-the-tests"))
    assert ask("/v1/verify", VERIFY, served).status_code == 200
    assert len(compared) == len(set(compared)) == 3


@pytest.mark.parametrize("path", sorted(OPEN))
def test_probes_and_documents_need_no_key(path):
    assert ask(path, key=None).status_code == 200


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ("", ["holds no key"]),
        (" , ", ["holds no key"]),
        ("short", ["key 1", "16 or more"]),
        (f"{KEY},short", ["key 2"]),
        (f"{KEY} x", ["key 1"]),
        ("schl\u00fcssel-aus-der-schublade", ["key 1"]),
    ],
)
def test_keys_that_cannot_serve_are_refused_before_anything_starts(monkeypatch, value, parts):
    monkeypatch.setenv("TEST_KEYS", value)
    with pytest.raises(ConfigError) as caught:
        key_digests(AuthSection(keys_env="TEST_KEYS"))
    one_line(caught, "auth.keys_env", "'TEST_KEYS'", *parts)
    assert "short" not in str(caught.value)


def test_of_keys_only_digests_are_kept(monkeypatch):
    monkeypatch.setenv("TEST_KEYS", f"{KEY}, {OTHER},")
    digests = key_digests(AuthSection(keys_env="TEST_KEYS"))
    assert len(digests) == 2
    assert KEY not in str(digests)


def test_disabled_keys_are_for_loopback_only():
    served = Served(serve_config(**OPEN_TO_ALL))
    assert ask("/v1/verify", VERIFY, served, key=None).status_code == 200
    for client in (("192.0.2.7", 1), ("testclient", 1), None):
        assert error(ask("/v1/verify", VERIFY, served, key=None, client=client))[:2] == (403, "forbidden")


@pytest.mark.parametrize(
    ("host", "status"),
    [("evil.example:8000", 403), ("localhost", 200), ("127.0.0.1:8000", 200), ("[::1]:8000", 200)],
)
def test_a_web_page_whose_name_leads_here_is_refused(host, status):
    """DNS rebinding: the browser is on loopback, the page is not."""
    served = Served(serve_config(**OPEN_TO_ALL))
    assert ask("/v1/verify", VERIFY, served, key=None, headers={"Host": host}).status_code == status


OWN = ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "localhost"]
OTHERS = ["0.0.0.0", "::", "10.0.0.1", "::ffff:10.0.0.1", "example.org", ""]


@pytest.mark.parametrize(("host", "own"), [*((h, True) for h in OWN), *((h, False) for h in OTHERS)])
def test_what_is_loopback(host, own):
    assert is_loopback(host) is own


def test_disabled_keys_do_not_start_where_serve_listens_to_others():
    with pytest.raises(ConfigError) as caught:
        _require_loopback("0.0.0.0")
    one_line(caught, "auth.disabled", "0.0.0.0", "http_options.host")
    _require_loopback("127.0.0.1")


@pytest.mark.parametrize("told", [True, False], ids=["told", "chunked"])
def test_a_body_over_the_limit_is_413_and_names_it(told):
    async def pieces():
        for _ in range(30):
            yield b"x" * 100

    served = Served(serve_config(limits={"body_bytes": 1024}))
    content = b"x" * 3000 if told else pieces()
    status, kind, message = error(ask("/v1/verify", served=served, content=content))
    assert (status, kind) == (413, "too_large")
    assert "1024 bytes (limits.body_bytes)" in message


def test_a_body_over_the_limit_is_not_read_to_its_end():
    read = []

    async def pieces():
        for n in range(1000):
            read.append(n)
            yield b"x" * 1000

    assert (
        ask(
            "/v1/verify", served=Served(serve_config(limits={"body_bytes": 10_000})), content=pieces()
        ).status_code
        == 413
    )
    assert len(read) < 20


def test_a_wrong_length_header_counts_for_nothing():
    response = ask("/v1/verify", content=b"{}", headers={"Content-Length": "9" * 30})
    assert response.status_code == 413
    assert ask("/v1/verify", content=b"{}", headers={"Content-Length": "abc"}).status_code == 422


def test_a_body_that_does_not_come_ends_with_408():
    async def pieces():
        yield b"{"
        await asyncio.sleep(60)

    served = Served(serve_config(queue={"timeout_s": 0.05}))
    assert error(ask("/v1/verify", served=served, content=pieces()))[:2] == (408, "timeout")


def test_the_key_is_asked_before_the_body_is_read():
    read = []

    async def pieces():
        read.append(1)
        yield b""

    assert ask("/v1/verify", key=None, content=pieces()).status_code == 401
    assert read == []


class Defective(ScriptedEngine):
    async def generate(self, request):
        raise ValueError(f"a defect that tells {request.messages}")


def test_a_defect_is_a_500_that_tells_nothing_and_logs_places_only(caplog):
    caplog.set_level(logging.DEBUG)
    body = {**VERIFY, "claims": [SECRET]}
    response = ask("/v1/verify", body, Served(engine=Defective()))
    assert error(response)[:2] == (500, "internal")
    assert "ValueError" in caplog.text
    assert "test_auth" in caplog.text
    for text in (response.text, caplog.text):
        assert SECRET not in text
        assert KEY not in text


@pytest.mark.parametrize(
    "spoil",
    [
        {"tier": SECRET},
        {"claims": [SECRET] * 11},
        {SECRET: 1},
        {"subject": [SECRET]},
        {"evidence": [{SECRET: SECRET}]},
    ],
)
def test_what_is_refused_is_neither_repeated_nor_logged(caplog, spoil):
    """FastAPI's own 422 holds the whole input."""
    caplog.set_level(logging.DEBUG)
    response = ask("/v1/verify", {**VERIFY, **spoil})
    assert response.status_code == 422
    assert SECRET not in response.text
    assert SECRET not in caplog.text
