"""Pages of an encyclopedia over real HTTP: manners, robots.txt, what is kept, and where it may not go."""

import asyncio
from collections import Counter
from datetime import datetime

import pytest
from aiohttp import web
from builders import one_line
from web_builders import FILLER

from llmpedia.audit.imported.robots import Robots
from llmpedia.audit.imported.run import ImportSettings, import_texts
from llmpedia.audit.imported.site import SiteSettings, SiteTexts
from llmpedia.audit.imported.sources import Absent, Text
from llmpedia.errors import EngineError
from llmpedia.store.verify import verify

LETTER = "curator@example.org"


class Encyclopedia:
    """Serves robots.txt and ``/page/NAME``; ``pages``: name -> text, status, (status, headers), or a list of such, in turn."""

    def __init__(self, pages, robots=404):
        self.pages, self.robots, self.asked, self.agents = pages, robots, Counter(), set()

    async def __aenter__(self):
        app = web.Application()
        app.router.add_get("/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_):
        await self._runner.cleanup()

    async def _answer(self, request):
        path = request.raw_path
        self.asked[path] += 1
        self.agents.add(request.headers["User-Agent"])
        answer = self.robots if path == "/robots.txt" else self.pages.get(path.removeprefix("/page/"), 404)
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if isinstance(answer, int):
            return web.Response(status=answer)
        if isinstance(answer, tuple):
            return web.Response(status=answer[0], headers=answer[1])
        plain = path == "/robots.txt" or path.endswith(".txt")
        body = answer if plain else f"<html><body><article><p>{answer}</p><p>{FILLER}</p></article></body></html>"
        return web.Response(text=body, content_type="text/plain" if plain else "text/html")


def run_site(folder, pages, titles, robots=404, loopback=True, every_s=0.0):
    """What the titles came to, the server, and how long each wait was, by a clock that nothing but waits moves."""
    waits = []

    async def note(seconds):
        waits.append(seconds)

    async def main():
        async with Encyclopedia(pages, robots) as server:
            pattern = f"http://127.0.0.1:{server.port}/page/{{title}}"
            site = SiteTexts(
                SiteSettings(pattern, LETTER, folder, every_s=every_s, allow_loopback=loopback),
                sleep=note,
                clock=lambda: sum(waits),
            )
            try:
                return {title: await site.get(title) for title in titles}, server
            finally:
                await site.close()

    found, server = asyncio.run(main())
    return found, server, waits


def test_a_page_is_read_and_says_where_it_came_from(tmp_path):
    found, server, _ = run_site(tmp_path, {"Ada_Lovelace": "Ada wrote on engines."}, ["Ada Lovelace"])
    text = found["Ada Lovelace"]
    assert "Ada wrote on engines." in text.text
    assert (text.form, text.source) == ("html", f"http://127.0.0.1:{server.port}/page/Ada_Lovelace")
    assert datetime.fromisoformat(text.fetched_at).utcoffset().total_seconds() == 0
    assert len(text.sha256) == 64


def test_titles_are_quoted_so_that_each_has_a_page_of_its_own(tmp_path):
    pages = {"AC%2FDC": "A band.", "C%23": "A language.", "%C3%85land": "Islands.", "..%2Fx": "Dots.", "What%3F": "A question."}
    found, _, _ = run_site(tmp_path, pages, ["AC/DC", "C#", "Åland", "../x", "What?"])
    assert {t: type(f) for t, f in found.items()} == dict.fromkeys(found, Text)


def test_the_server_is_told_who_asks(tmp_path):
    _, server, _ = run_site(tmp_path, {}, ["A"])
    (agent,) = server.agents
    assert agent.startswith("llmpedia/")
    assert LETTER in agent


def test_no_two_requests_within_the_time_between_them(tmp_path):
    _, server, waits = run_site(tmp_path, dict.fromkeys("ABC", "Text."), ["A", "B", "C"], every_s=1.0)
    assert sum(server.asked.values()) == 4
    assert waits == [1.0, 1.0, 1.0]


def test_a_longer_delay_that_robots_txt_asks_for_is_kept(tmp_path):
    _, _, waits = run_site(tmp_path, {"A": "Text.", "B": "x"}, ["A", "B"], robots="User-agent: *\nCrawl-delay: 9", every_s=1.0)
    assert waits == [9.0, 9.0]


def test_retry_after_is_waited_out(tmp_path):
    pages = {"A": [(429, {"Retry-After": "33"}), (503, {}), "Text."]}
    found, server, waits = run_site(tmp_path, pages, ["A"])
    assert isinstance(found["A"], Text)
    assert server.asked["/page/A"] == 3
    assert waits == [33.0, 4.0]  # as long as the server asks, else longer each time


def test_what_robots_txt_forbids_is_not_asked_for(tmp_path):
    rules = "User-agent: *\nDisallow: /\n\nUser-agent: LLMpedia/1.0\nDisallow: /page/*secret\nAllow: /page/\n"
    found, server, _ = run_site(tmp_path, {"A": "Text.", "B_secret": "x"}, ["A", "B secret"], robots=rules)
    assert isinstance(found["A"], Text)
    assert found["B secret"] == Absent("refused: robots.txt does not allow it")
    assert server.asked["/page/B_secret"] == 0


@pytest.mark.parametrize(("robots", "reason"), [(503, "HTTP 503"), ((302, {"Location": "http://10.0.0.1/"}), "an IP address")])
def test_without_a_readable_robots_txt_nothing_is_read(tmp_path, robots, reason):
    with pytest.raises(EngineError) as caught:
        run_site(tmp_path, {"A": "Text."}, ["A"], robots=robots)
    one_line(caught, "robots.txt", reason, "try again later")


def test_what_is_kept_is_not_asked_for_again(tmp_path):
    async def main():
        pages = {"A": "Text.", "B": 404}
        async with Encyclopedia(pages) as server:
            settings = SiteSettings(
                f"http://127.0.0.1:{server.port}/page/{{title}}", LETTER, tmp_path, every_s=0, allow_loopback=True
            )
            found = []
            for _ in range(2):
                site = SiteTexts(settings)
                found.append([await site.get("A"), await site.get("B")])
                await site.close()
                pages["B"] = "Now there."
            return found, server.asked

    (first, second), asked = asyncio.run(main())
    assert first[0] == second[0]
    assert (first[1], type(second[1])) == (Absent("refused: HTTP 404"), Text)
    assert (asked["/page/A"], asked["/page/B"]) == (1, 2)


def test_an_outage_ends_the_import_and_is_no_news_of_titles(tmp_path):
    titles = [f"T{n}" for n in range(20)]
    with pytest.raises(EngineError) as caught:
        run_site(tmp_path, {"T0": "Text.", **dict.fromkeys(titles[1:], 500)}, titles)
    one_line(caught, "127.0.0.1", "HTTP 500", "same command again")


def test_a_page_that_is_refused_is_no_outage(tmp_path):
    titles = [f"T{n}" for n in range(8)]
    found, _, _ = run_site(tmp_path, dict.fromkeys(titles, 403), titles)
    assert set(found.values()) == {Absent("refused: HTTP 403")}


def test_another_host_is_not_followed(tmp_path):
    found, _, _ = run_site(tmp_path, {"A": (302, {"Location": "http://example.org/page/A"})}, ["A"])
    assert "it is on example.org" in found["A"].reason
    assert "name it in the pattern" in found["A"].reason


def test_this_machine_is_out_of_reach_unless_it_is_allowed(tmp_path):
    with pytest.raises(EngineError) as caught:
        run_site(tmp_path, {"A": "Text."}, ["A"], loopback=False)
    one_line(caught, "robots.txt")


def test_a_page_that_cannot_be_read_says_why(tmp_path):
    found, _, _ = run_site(tmp_path, {"A.txt": "short"}, ["A.txt"])
    assert found["A.txt"] == Absent("unusable: too_short")


def test_a_site_becomes_a_run_that_is_the_same_again(tmp_path):
    async def main():
        async with Encyclopedia({"A": "Text [[A]].", "B.txt": f"== Plain == {FILLER}"}) as server:
            (tmp_path / "titles.txt").write_text("A\nB.txt\nC\n")
            pattern = f"http://127.0.0.1:{server.port}/page/{{title}}"
            more = {"contact": LETTER, "every_s": 0.0, "cache": str(tmp_path / "cache"), "allow_loopback": True}
            settings = ImportSettings(pattern, str(tmp_path / "titles.txt"), "other", **more)
            runs = [
                await asyncio.to_thread(import_texts, settings, str(tmp_path / name), lambda p: None)
                for name in ("one", "two", "two")
            ]
            return runs, server.asked

    runs, asked = asyncio.run(main())
    assert len({run.fingerprint() for run in runs}) == 1
    assert verify(runs[0]).findings == []
    assert (asked["/page/A"], asked["/page/B.txt"], asked["/page/C"]) == (1, 1, 3)
    assert [row["form"] for row in runs[0].read("imports").to_pylist()] == ["html", "text"]


ROBOTS = {
    "empty": ("", {"/a": True}),
    "all": ("User-agent: *\nDisallow: /", {"/a": False}),
    "nothing is disallowed by an empty rule": ("User-agent: *\nDisallow:", {"/a": True}),
    "the longest rule decides": ("User-agent: *\nDisallow: /a\nAllow: /a/b", {"/a/c": False, "/a/b": True}),
    "allowing wins a tie": ("User-agent: *\nDisallow: /a\nAllow: /a", {"/a": True}),
    "ours before everybody's": ("User-agent: *\nDisallow: /\nUser-agent: llmpedia\nDisallow: /x", {"/a": True, "/x": False}),
    "another's name is not ours": ("User-agent: llm\nDisallow: /\nUser-agent: llmpediabot\nDisallow: /", {"/a": True}),
    "a name with a version is ours": (
        "User-Agent: llmpedia/1.0 # us\nDisallow: /a\nUser-agent: *\nDisallow: /",
        {"/a": False, "/b": True},
    ),
    "two slashes": ("User-agent: *\nDisallow: //a", {"//a": False, "/a": True}),
    "names share a group": ("User-agent: x\nUser-agent: llmpedia\nDisallow: /a", {"/a": False}),
    "groups of one name are joined": ("User-agent: *\nDisallow: /a\nUser-agent: *\nDisallow: /b", {"/a": False, "/b": False}),
    "wildcard": ("User-agent: *\nDisallow: /*?*id=", {"/a?x=1&id=2": False, "/a?x=1": True}),
    "end": ("User-agent: *\nDisallow: /*.pdf$", {"/a.pdf": False, "/a.pdf?x": True}),
    "end without wildcard": ("User-agent: *\nDisallow: /a$", {"/a": False, "/ab": True}),
    "comment and case": ("USER-AGENT: * # all\ndisallow: /a # no\n", {"/a": False, "/b": True}),
    "escapes": (
        "User-agent: *\nDisallow: /%7Ejoe\nDisallow: /a%2fb\nDisallow: /ä",
        {"/~joe": False, "/a/b": True, "/%C3%A4": False},
    ),
    "rules before any name": ("Disallow: /\nUser-agent: *\nDisallow: /b", {"/a": True, "/b": False}),
}


@pytest.mark.parametrize(("text", "told"), ROBOTS.values(), ids=ROBOTS)
def test_robots_txt(text, told):
    robots = Robots.parse(text)
    assert {target: robots.allows(target) for target in told} == told


def test_hostile_robots_txt_takes_no_time():
    robots = Robots.parse("User-agent: *\nDisallow: /" + "*a" * 5000 + "$")
    assert robots.allows("/" + "a" * 4000 + "b")


@pytest.mark.parametrize(
    ("asked", "delay_s"), [("9", 9.0), ("0.5", 0.5), ("-1", 0.0), ("inf", 0.0), ("1e300", 0.0), ("soon", 0.0)]
)
def test_a_delay_is_one_that_can_be_waited(asked, delay_s):
    assert Robots.parse(f"User-agent: *\nCrawl-delay: {asked}").delay_s == delay_s
    assert Robots().delay_s == 0.0
