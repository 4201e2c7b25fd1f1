"""llmpedia/probe/questions/web_tools.py: searches and pages as engines, over a real web on this
machine.
"""

import asyncio

import pytest

from llmpedia.errors import ConfigError, EngineError, TransientError
from llmpedia.probe.questions import web_tools
from llmpedia.probe.questions.web_tools import WebPage, WebTools, hits_of, page_engine, page_of, search_engine
from llmpedia.stages import Request
from llmpedia.web.cache import Cache
from tests.support.builders.runs import one_line
from tests.support.builders.web import Web, build_config, durable, html, tools_over

TEXT = "The tower at Marrow Point was built in 1871 to plans of the harbour board."
PLACE = "nasa.gov/marrow"
RESULTS = {"marrow": [(PLACE, "Lights", "A snippet")]}


def over(results, pages, what, caches=(None, None), **changed):
    """What ``what(search engine, page engine, web)`` gives."""

    async def run():
        async with Web(results, pages) as served:
            search, page = served.engines(caches, **changed)
            try:
                return await what(search, page, served)
            finally:
                await search.close()
                await page.close()

    return asyncio.run(run())


def read(pages, place=PLACE, **changed):
    """What a page engine makes of one page."""

    async def what(search, page, served):
        url = served.url(place)
        return page_of(await page.generate(Request("web_page", page.name, (("user", url),), None, "{}")))

    return over(RESULTS, pages, what, **changed)


def test_a_search_gives_the_engines_results():
    async def what(search, page, served):
        hits = hits_of(
            await search.generate(Request("web_search", search.name, (("user", "marrow"),), None, "{}"))
        )
        return [(h.url, h.title, h.snippet) for h in hits] == [(served.url(PLACE), "Lights", "A snippet")]

    assert over(RESULTS, {}, what)


def test_a_page_is_read_with_its_address_after_redirects():
    page = read({PLACE: ("to", "nih.gov/here"), "nih.gov/here": html(TEXT, "Lights of the coast")})
    assert isinstance(page, WebPage)
    assert (page.final_url.rpartition("/")[2], page.url.rpartition("/")[2], page.title) == (
        "here",
        "marrow",
        "Lights of the coast",
    )
    assert TEXT in page.text


@pytest.mark.parametrize(
    ("page", "why"),
    [
        (404, "refused: HTTP 404"),
        ("<html><body>short</body></html>", "unusable: too_short"),
        (("to", "fox.com/x"), "refused: redirect to"),
    ],
)
def test_what_is_no_page_to_quote_is_an_answer_and_no_error(page, why):
    said = read({PLACE: page})
    assert isinstance(said, str) and said.startswith(why)


@pytest.mark.parametrize(
    ("place", "why"), [("wiki2.org/x", "blocked: mirror"), ("fox.com/x", "ineligible: ")]
)
def test_an_address_that_may_not_be_used_is_not_asked(place, why):
    async def what(search, page, served):
        answer = page_of(
            await page.generate(Request("web_page", page.name, (("user", served.url(place)),), None, "{}"))
        )
        return answer, sum(served.asked.values())

    said, asked = over(RESULTS, {place: html(TEXT)}, what)
    assert (said.startswith(f"refused: {why}"), asked) == (True, 0)


def test_wikipedia_bears_questions_out_though_it_is_barred_as_evidence_on_articles():
    page = read({"en.wikipedia.org/wiki/Marrow": html(TEXT)}, "en.wikipedia.org/wiki/Marrow")
    assert isinstance(page, WebPage)


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://de.wikipedia.org/wiki/X", True),
        ("https://en.wikisource.org/wiki/X", True),
        ("https://www.wikidata.org/wiki/Q1", True),
        ("https://wiki2.org/en/X", False),
        ("https://tools.toolforge.org/x", False),
        ("https://www.reddit.com/r/x", False),
        ("https://www.britannica.com/x", True),
    ],
)
def test_only_wikimedias_own_projects_are_let_through_the_block_list(url, allowed):
    tools = WebTools.of(build_config(web={"backend": "searxng", "base_url": "http://s.test"}).web, None, None)
    assert (tools.refusal(url) is None) == allowed


def test_a_server_that_fails_is_worth_another_try():
    with pytest.raises(TransientError, match="HTTP 503"):
        read({PLACE: 503})


def test_a_page_that_fails_for_good_is_no_outage_while_the_search_engine_answers(tmp_path):
    async def what(search, page, served):
        tools = tools_over(search, page, tmp_path)
        return await tools.page.complete(tools.page_request(served.url(PLACE)))

    error = over(RESULTS, {PLACE: 500}, what).error
    assert error.startswith("engine: failed 2 times") and error.endswith("failed: HTTP 500")


@pytest.mark.parametrize("tool", ["search", "page"])
def test_a_search_engine_that_is_down_ends_the_run(tmp_path, tool):
    """And so does a page that fails then: the network may be what is down."""

    async def what(search, page, served):
        tools = tools_over(search, page, tmp_path)
        request = (
            tools.search_request("marrow") if tool == "search" else tools.page_request(served.url(PLACE))
        )
        return await getattr(tools, tool).complete(request)

    with pytest.raises(EngineError):
        over(None, {PLACE: 500}, what)
    assert list(tmp_path.rglob("*.jsonl")) == []


def test_a_restart_reads_the_journal_and_asks_nothing(tmp_path):
    async def what(search, page, served):
        answers = []
        for _ in range(2):
            tools = tools_over(search, page, tmp_path)
            found = await tools.search.complete(tools.search_request("marrow"))
            answers.append((found, await tools.page.complete(tools.page_request(hits_of(found)[0].url))))
        return answers, served.asked

    (first, second), asked = over(RESULTS, {PLACE: html(TEXT)}, what)
    assert first == second
    assert asked == {"?marrow": 1, PLACE: 1}


def test_the_cache_keeps_answers_and_no_failure(tmp_path):
    async def what(search, page, served):
        request = Request("web_page", page.name, (("user", served.url(PLACE)),), None, "{}")
        with pytest.raises(TransientError):
            await page.generate(request)
        served.pages[PLACE] = html(TEXT)
        answers = [await page.generate(request) for _ in range(2)]
        searched = [
            await search.generate(Request("web_search", "", (("user", "marrow"),), None, "{}"))
            for _ in range(2)
        ]
        return answers[0] == answers[1], searched[0] == searched[1], served.asked

    caches = Cache(tmp_path / "s.sqlite", 1.0), Cache(tmp_path / "p.sqlite", 1.0)
    assert over(RESULTS, {PLACE: 500}, what, caches) == (True, True, {PLACE: 2, "?marrow": 1})


def test_a_check_of_health_is_never_answered_from_the_cache(tmp_path):
    async def what(search, page, served):
        await search.check_health()
        await page.check_health()
        served.results = None
        for engine in (search, page):
            with pytest.raises(TransientError):
                await engine.check_health()
        return served.asked["?Earth"]

    caches = Cache(tmp_path / "s.sqlite", 1.0), Cache(tmp_path / "p.sqlite", 1.0)
    assert over(RESULTS, {}, what, caches) == 4


def test_a_server_may_not_make_the_check_wait_for_minutes(monkeypatch):
    monkeypatch.setattr(web_tools, "_LONGEST_WAIT_S", 7.0)

    async def what(search, page, served):
        served.pages[PLACE] = 503
        real = page._fetcher.fetch

        async def asks_for_an_hour(url, permit):
            answer = await real(url, permit)
            return type(answer)(answer.url, answer.reason, answer.passing, answer.off_limits, 600.0)

        page._fetcher.fetch = asks_for_an_hour
        with pytest.raises(TransientError) as caught:
            await page.generate(Request("web_page", page.name, (("user", served.url(PLACE)),), None, "{}"))
        return caught.value.wait_s

    assert over(RESULTS, {}, what) == 7.0


def test_the_names_tell_settings_apart_that_give_different_answers():
    def names(**web):
        tools = WebTools.of(
            build_config(web={"backend": "searxng", "base_url": "http://s.test", **web}).web, None, None
        )
        return tools.search_name, tools.page_name

    told = {
        names(),
        names(results=50),
        names(threshold=70),
        names(paper_exact=True),
        names(max_bytes=50_000),
        names(timeout_s=9.0),
    }
    assert len(told) == 6


def test_engines_and_tools_of_the_same_settings_have_the_same_names():
    config = build_config(web={"backend": "searxng", "base_url": "http://s.test"})
    tools = WebTools.of(config.web, None, None)
    made = [make(config.web, config.cache) for make in (search_engine, page_engine)]
    assert [engine.name for engine in made] == [tools.search_name, tools.page_name]


def test_a_missing_key_is_told_before_any_work(monkeypatch):
    monkeypatch.delenv("BRAVE_API_KEY", raising=False)
    with pytest.raises(ConfigError) as caught:
        WebTools.of(build_config(web={"backend": "brave"}).web, None, None)
    one_line(caught, "brave", "BRAVE_API_KEY")


def test_half_a_character_in_a_result_can_be_journaled(tmp_path):
    async def what(search, page, served):
        served.results["marrow"] = [(PLACE, "cut \ud83d here", "")]
        return hits_of(
            await durable(search, tmp_path).complete(
                Request("web_search", "s", (("user", "marrow"),), None, "{}")
            )
        )

    assert over(dict(RESULTS), {}, what)[0].title == "cut ? here"
