"""Fetching: nothing reaches a forbidden address, and a hostile server costs one failed page."""

import asyncio
import gzip
import ipaddress
import os
import time
from collections import Counter

import pytest

from llmpedia.web.extractor import Extractor, ExtractorSettings
from llmpedia.web.fetch import Fetched, Fetcher, FetchSettings, Refused
from llmpedia.web.guard import HostResolver, Policy, is_public
from tests.support.hostile import (
    ARTICLE,
    FORBIDDEN,
    HOME,
    Case,
    Forbidden,
    HostileServer,
    Names,
    bomb,
    cases,
    page,
    raw,
    redirect,
    status,
    trickle,
)

LOOPBACK = ipaddress.ip_network(f"{HOME}/32")
HOSTS = {"site.test": [HOME], "twin.test": ["127.0.0.2", HOME]}


@pytest.fixture
def forbidden(monkeypatch):
    return Forbidden(monkeypatch)


def anywhere(url):
    return None


def settings(port, networks=(LOOPBACK,), **caps):
    policy = Policy(allowed_networks=networks, allowed_ports=frozenset({port}))
    return FetchSettings(
        policy=policy,
        **{"max_bytes": 200_000, "most_redirects": 3, "timeout_s": 10.0, "connect_s": 10.0, **caps},
    )


def fetch(forbidden, *answers, path="/0", permit=anywhere, networks=(LOOPBACK,), host="site.test", **caps):
    """What comes of fetching the first of the answers."""

    async def run():
        async with HostileServer([Case("", a) for a in answers]) as server:
            forbidden.ports.add(server.port)
            fetcher = Fetcher(settings(server.port, networks, **caps), Names(HOSTS))
            try:
                return await fetcher.fetch(f"http://{host}:{server.port}{path}", permit)
            finally:
                await fetcher.close()

    return asyncio.run(run())


def direct(url, policy=None, names=None):
    """What comes of fetching an address under the policy of everyday use."""

    async def run():
        fetcher = Fetcher(
            FetchSettings(policy or Policy(), max_bytes=2_000_000, timeout_s=10.0, connect_s=5.0),
            names or Names(HOSTS),
        )
        try:
            return await fetcher.fetch(url, anywhere)
        finally:
            await fetcher.close()

    return asyncio.run(run())


def test_a_page_is_fetched(forbidden):
    got = fetch(forbidden, page(ARTICLE, "text/html; charset=UTF-8"))
    assert (got.status, got.content_type, got.charset, got.body) == (
        200,
        "text/html",
        "utf-8",
        ARTICLE.encode(),
    )


def test_gzip_is_inflated(forbidden):
    body = gzip.compress(ARTICLE.encode()[:100]) + gzip.compress(ARTICLE.encode()[100:])
    assert fetch(forbidden, page(body, extra="Content-Encoding: gzip\r\n")).body == ARTICLE.encode()


def test_a_redirect_is_followed_and_named(forbidden):
    got = fetch(forbidden, redirect("/1?a=b"), page(ARTICLE))
    assert isinstance(got, Fetched)
    assert got.final_url.endswith("/1?a=b")


def test_a_redirect_is_asked_about(forbidden):
    got = fetch(
        forbidden,
        redirect("/1"),
        page(ARTICLE),
        permit=lambda url: "blocked: mirror" if url.endswith("/1") else None,
    )
    assert (got.off_limits, got.reason.endswith("blocked: mirror")) == (True, True)


@pytest.mark.parametrize("url", FORBIDDEN)
def test_no_connection_to_a_forbidden_address(forbidden, url):
    assert isinstance(direct(url), Refused)
    assert forbidden.tried == [] or {a[0] for a in forbidden.tried} == {"93.184.215.14"}


@pytest.mark.parametrize("url", FORBIDDEN)
def test_no_redirect_to_a_forbidden_address(forbidden, url):
    assert isinstance(fetch(forbidden, redirect(url)), Refused)
    assert forbidden.tried == [] or {a[0] for a in forbidden.tried} == {"93.184.215.14"}


def test_the_watch_sees_a_connection_that_the_guard_lets_through(forbidden):
    """Without it the two tests above could not fail."""
    direct("http://private.test/", Policy(allowed_networks=(ipaddress.ip_network("10.0.0.0/8"),)))
    assert [a[0] for a in forbidden.tried] == ["10.1.2.3"]


def test_a_name_that_rebinds_is_refused_the_second_time(forbidden):
    names = Names()
    first = direct("http://rebinding.test/", names=names)
    second = direct("http://rebinding.test/", names=names)
    assert (first.passing, second.off_limits, [a[0] for a in forbidden.tried]) == (
        True,
        True,
        ["93.184.215.14"],
    )


def test_the_address_that_was_checked_is_the_one_connected_to(forbidden):
    """Guards against a second lookup between check and connection."""
    asked = []

    async def resolve(host, port):
        asked.append(host)
        return ["93.184.215.14"]

    direct("http://site.test/", names=resolve)
    assert (asked, [a[0] for a in forbidden.tried]) == (["site.test"], ["93.184.215.14"])


def test_one_private_address_among_several_spoils_the_name(forbidden):
    assert direct("http://mixed.test/").off_limits
    assert forbidden.tried == []


def test_the_next_address_is_tried_where_one_does_not_answer(forbidden):
    assert isinstance(
        fetch(forbidden, page(ARTICLE), host="twin.test", networks=(ipaddress.ip_network("127.0.0.0/8"),)),
        Fetched,
    )


def test_the_environments_proxies_are_not_used(forbidden, monkeypatch):
    """A proxy would resolve names itself, past the guard."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.9:3128")
    assert isinstance(fetch(forbidden, page(ARTICLE)), Fetched)


@pytest.mark.parametrize(
    "ip",
    """127.0.0.1 10.0.0.1 172.31.255.255 192.168.0.1 169.254.169.254 100.64.0.1 100.100.100.200 0.0.0.0 192.0.0.192 198.18.0.1
    168.63.129.16 192.88.99.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 ::1 :: fe80::1 fc00::1 fd00:ec2::254
    ff02::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::10.0.0.1 64:ff9b:1::1 2002:7f00:1:: 2001::1 2001:db8::1 3fff::1 ::7f00:1
    100::1 5f00::1""".split(),
)
def test_special_addresses_are_not_public(ip):
    assert not is_public(ipaddress.ip_address(ip))


@pytest.mark.parametrize(
    "ip",
    [
        "8.8.8.8",
        "93.184.215.14",
        "2606:4700::1111",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "100.63.255.255",
        "172.32.0.1",
    ],
)
def test_ordinary_addresses_are_public(ip):
    assert is_public(ipaddress.ip_address(ip))


@pytest.mark.parametrize(
    "url", ["http://site.test:22/", "https://site.test:8443/", "http://8.8.8.8/", "https://user:x@site.test/"]
)
def test_other_ports_bare_addresses_and_user_information_are_refused(forbidden, url):
    assert direct(url, names=Names({"site.test": ["93.184.215.14"]})).off_limits
    assert forbidden.tried == []


REFUSED = {
    "pdf": (page(b"%PDF-1.7", "application/pdf"), "content type"),
    "pdf as html": (page(b"  %PDF-1.7\n1 0 obj", "text/html"), "binary format"),
    "binary as html": (page(bytes(range(256)) * 20, "text/html"), "binary data"),
    "brotli": (page(b"xx", extra="Content-Encoding: br\r\n"), "not asked for"),
    "bad gzip": (page(b"xxxx" * 9, extra="Content-Encoding: gzip\r\n"), "bad gzip"),
    "short gzip": (
        page(gzip.compress(ARTICLE.encode())[:99], extra="Content-Encoding: gzip\r\n"),
        "cut short",
    ),
    "announced": (page("x", length=10**9), "announced"),
    "too large": (page(b"x" * 200_001), "announced"),
    "too large, unannounced": (
        raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + b"x" * 300_000),
        "larger than",
    ),
    "bomb": (page(bomb(20), extra="Content-Encoding: gzip\r\n"), "larger than"),
    "404": (status(404), "HTTP 404"),
    "loop": (redirect("/0"), "redirects"),
    "impossible length": (page("x", length=-5), "Content-Length"),
    "huge header": (page("x", extra=f"X: {'x' * 500_000}\r\n"), "too long"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_will_not_get_better_is_refused_for_good(forbidden, name):
    answer, word = REFUSED[name]
    got = fetch(forbidden, answer)
    assert (got.passing, word in got.reason) == (False, True), got


PASSING = {
    "drip": trickle(b"<html>", b"x", 0.05),
    "503": status(503),
    "429": status(429),
    "cut off": page(ARTICLE, length=100_000),
    "nothing": raw(b""),
}


@pytest.mark.parametrize("name", PASSING)
def test_trouble_that_may_pass_is_told_apart(forbidden, name):
    got = fetch(forbidden, PASSING[name], timeout_s=1.0 if name == "drip" else 10.0)
    assert (got.passing, str(got).startswith("failed: ")) == (True, True), got


def test_the_wait_that_a_server_asks_for_is_kept(forbidden):
    assert fetch(forbidden, status(429, "Retry-After: 7\r\n")).wait_s == 7


def test_a_name_that_does_not_exist_is_no_passing_trouble(forbidden):
    assert not direct("http://no-such-name.test/").passing


def test_a_server_that_is_not_there_may_come_back(forbidden):
    assert direct("http://site.test/", Policy(allowed_networks=(LOOPBACK,))).passing


def test_the_deadline_holds_for_a_server_that_keeps_talking(forbidden):
    """Guards against timeouts that count from the last byte."""
    started = time.monotonic()
    fetch(forbidden, trickle(b"<html>", b"x", 0.01), timeout_s=0.5)
    assert time.monotonic() - started < 2


def test_the_systems_lookup_gives_ip_addresses():
    assert "127.0.0.1" in asyncio.run(HostResolver()("127.0.0.1", 80))


# HOSTILE_PAGES=1000 runs the long one.
PAGES = int(os.environ.get("HOSTILE_PAGES", "250"))


async def read_all(numbered, port):
    """Kind of outcome of each case, with 24 under way at a time."""
    fetcher = Fetcher(settings(port, max_bytes=2_000_000, timeout_s=4.0), Names())
    reader = Extractor(ExtractorSettings(extractors=2, extract_s=5.0))
    gate = asyncio.Semaphore(24)

    async def one(i):
        async with gate:
            got = await fetcher.fetch(f"http://{HOME}:{port}/{i}", anywhere)
            return (
                str(got)
                if isinstance(got, Refused)
                else (await reader.read(got.body, got.content_type, got.charset)).kind
            )

    try:
        return await asyncio.gather(*(one(i) for i in range(len(numbered))))
    finally:
        await fetcher.close()
        await reader.close()


@pytest.fixture(scope="module")
def hostile_run():
    """Outcomes of many hostile pages, and the connections that the guard would have let out."""

    async def run(forbidden, drawn):
        async with HostileServer(drawn) as server:
            forbidden.ports.add(server.port)
            return await read_all(drawn, server.port), server.asked

    with pytest.MonkeyPatch.context() as patch:
        forbidden = Forbidden(patch)
        drawn = cases(PAGES, seed=1)
        outcomes, asked = asyncio.run(run(forbidden, drawn))
        return drawn, outcomes, {drawn[i].name for i in asked}, forbidden.tried


def test_hostile_pages_raise_nothing_and_reach_nothing(hostile_run):
    drawn, outcomes, asked, tried = hostile_run
    assert (len(outcomes), asked) == (PAGES, {c.name for c in drawn})
    assert {a[0] for a in tried} <= {"93.184.215.14"}


def test_sound_pages_among_hostile_ones_are_read(hostile_run):
    drawn, outcomes, _, _ = hostile_run
    sound = {
        "sound",
        "gzip sound",
        "plain text",
        "utf-16",
        "NULs",
        "no content type",
        "wrong charset",
        "no such charset",
    }
    assert Counter(o for c, o in zip(drawn, outcomes, strict=True) if c.name in sound).keys() == {"ok"}


def test_hostile_pages_give_no_text(hostile_run):
    drawn, outcomes, _, _ = hostile_run
    bad = {
        "gzip bomb",
        "endless body",
        "slow drip",
        "redirect loop",
        "5 MB announced",
        "nested divs",
        "pdf as html",
        "binary",
        "empty",
    }
    assert [(c.name, o) for c, o in zip(drawn, outcomes, strict=True) if c.name in bad and o == "ok"] == []
