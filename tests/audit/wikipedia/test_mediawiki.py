"""Tier 1 against a fake wiki on a real port: faults and shapes that a healthy wiki does not give."""

import asyncio
import json

import pytest
from aiohttp import web

from llmpedia.audit.evidence import Outcome
from llmpedia.audit.settings import WikipediaSection
from llmpedia.audit.wikipedia.mediawiki import MediaWiki
from llmpedia.errors import ConfigError, EngineError, TransientError
from tests.support.harness import free_port

AGENT = "llmpedia-test/1 (https://example.org)"
SETTINGS = WikipediaSection(contact="a@example.org", timeout_s=5, batch=50)
SITE = {
    "general": {"case": "first-letter"},
    "namespaces": {"0": {"id": 0, "name": "", "content": True}, "1": {"id": 1, "name": "Talk"}},
    "namespacealiases": [],
    "interwikimap": [{"prefix": "de"}],
}


def page(title, text="A text.", **more) -> dict:
    revision = {"revid": 7, "slots": {"main": {"content": text}}}
    return {
        "pageid": 1,
        "ns": 0,
        "title": title,
        "revisions": [revision],
        "canonicalurl": f"http://w/{title}",
        **more,
    }


def pages(*titles) -> dict:
    return {"query": {"pages": [page(t) for t in titles]}}


def errors(code, text="words") -> dict:
    return {"errors": [{"code": code, "text": text}]}


class FakeWiki:
    """Answers siteinfo by itself and all else by ``answer(titles, params)``: JSON, or a response."""

    def __init__(self, answer, site=None):
        self._answer = answer
        self._site = site or (lambda: {"query": SITE})
        self.asked = []
        self.methods = []
        self.headers = []
        self.sites = 0

    async def _serve(self, request):
        params = {**request.query, **(await request.post())}
        self.headers.append(request.headers)
        if params.get("meta") == "siteinfo":
            self.sites += 1
            return self._response(self._site())
        self.asked.append(params["titles"].split("|"))
        self.methods.append(request.method)
        said = self._answer(self.asked[-1], params)
        return self._response(await said if asyncio.iscoroutine(said) else said)

    def _response(self, said):
        return (
            web.Response(text=json.dumps(said), content_type="application/json")
            if isinstance(said, dict)
            else said
        )

    async def use(self, what, settings=SETTINGS):
        """The outcome of ``await what(provider)``."""
        app = web.Application()
        app.router.add_route("*", "/w/api.php", self._serve)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        port = free_port()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        provider = MediaWiki(f"http://127.0.0.1:{port}/w/api.php", AGENT, settings)
        try:
            return await what(provider)
        finally:
            await provider.close()
            await runner.cleanup()

    def find(self, *subjects, **settings):
        async def what(provider):
            return await asyncio.gather(*map(provider.find, subjects), return_exceptions=True)

        return asyncio.run(self.use(what, SETTINGS.model_copy(update=settings)))


def find(answer, subject="Foo", **settings):
    [found] = FakeWiki(lambda titles, params: answer).find(subject, **settings)
    return found


def test_subjects_asked_for_at_once_share_a_request():
    wiki = FakeWiki(lambda titles, params: pages(*titles))
    wiki.find(*(f"T{i}" for i in range(30)))
    assert [len(titles) for titles in wiki.asked] == [30]


def test_no_request_holds_more_titles_than_a_batch():
    wiki = FakeWiki(lambda titles, params: pages(*titles))
    found = wiki.find(*(f"T{i}" for i in range(25)), batch=10)
    assert sorted(map(len, wiki.asked)) == [5, 10, 10]
    assert [e.sources[0].title for e in found] == [f"T{i}" for i in range(25)]


def test_a_subject_asked_for_twice_is_fetched_once():
    wiki = FakeWiki(lambda titles, params: pages(*titles))
    found = wiki.find("Foo", "Foo", "Foo_")
    assert (wiki.asked, [e.outcome for e in found]) == ([["Foo"]], [Outcome.FOUND] * 3)


def test_what_is_no_title_is_never_asked_for():
    wiki = FakeWiki(lambda titles, params: pages(*titles))
    found = wiki.find("C#", "A|B", "de:Foo", "Talk:Foo")
    assert (wiki.asked, {e.outcome for e in found}) == ([], {Outcome.INVALID})


def test_a_wiki_is_asked_of_itself_once():
    wiki = FakeWiki(lambda titles, params: pages(*titles))
    wiki.find(*(f"T{i}" for i in range(20)), batch=3)
    assert wiki.sites == 1


def test_no_more_requests_at_a_time_than_allowed():
    now = most = 0

    async def answer(titles, params):
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.02)
        now -= 1
        return pages(*titles)

    wiki = FakeWiki(answer)
    wiki.find(*(f"T{i}" for i in range(12)), batch=2, concurrency=2)
    assert most == 2
    most = 0
    wiki.find(*(f"T{i}" for i in range(12)), batch=2)
    assert (most, len(wiki.asked)) == (1, 12), "one after the other, as Wikimedia asks"


def test_a_long_query_goes_in_the_body():
    wiki = FakeWiki(lambda titles, params: pages(*titles))
    found = wiki.find(*(f"{'東' * 70}{i}" for i in range(50)))
    assert (wiki.methods, {e.outcome for e in found}) == (["POST"], {Outcome.FOUND})


def test_every_request_names_the_program():
    wiki = FakeWiki(lambda titles, params: pages(*titles))
    wiki.find("Foo")
    assert {h["User-Agent"] for h in wiki.headers} == {AGENT}


def test_an_answer_in_parts_is_put_together():
    """A batch of large pages comes in parts: the first names all pages and holds the text of some."""

    def answer(titles, params):
        if "rvcontinue" in params:
            return {"query": {"pages": [{"ns": 0, "title": "A", "pageprops": {}}, page("B")]}}
        bare = {"ns": 0, "title": "B", "pageid": 2, "canonicalurl": "http://w/B"}
        return {"continue": {"rvcontinue": "2|7", "continue": "||"}, "query": {"pages": [page("A"), bare]}}

    found = FakeWiki(answer).find("A", "B")
    assert [e.sources[0].text for e in found] == ["A text."] * 2


def test_an_answer_without_end_is_given_up():
    found = find({"continue": {"continue": "1"}, **pages("Foo")})
    assert isinstance(found, TransientError)


def test_a_title_changed_by_the_wiki_beyond_its_form_is_another_page():
    answer = {"query": {"normalized": [{"from": "Foo", "to": "Fo"}], **pages("Fo")["query"]}}
    assert find(answer).outcome == Outcome.INVALID


def test_a_title_that_comes_back_percent_encoded_is_known_again():
    normalized = [{"fromencoded": True, "from": "caf%C3%A9", "to": "Café"}]
    assert (
        find({"query": {"normalized": normalized, **pages("Café")["query"]}}, "café").outcome == Outcome.FOUND
    )


def test_a_title_that_the_answer_is_silent_on_is_not_missing():
    """A truncated or odd answer must not lower the coverage."""
    assert isinstance(find({"query": {"pages": []}}), TransientError)


@pytest.mark.parametrize(
    "answer", [{}, {"query": []}, {"query": {"pages": {"1": {"title": "Foo"}}}}, {"query": {"pages": [{}]}}]
)
def test_an_answer_of_another_shape_says_nothing(answer):
    assert isinstance(find(answer), TransientError)


ENDS = {
    "redirect to another wiki": (
        {"redirects": [{"from": "Foo", "to": "meta:X", "tointerwiki": "meta"}]},
        Outcome.INVALID,
    ),
    "title of another wiki": ({"interwiki": [{"title": "Foo", "iw": "foo"}]}, Outcome.INVALID),
    "invalid": ({"pages": [{"title": "Foo", "invalid": True, "invalidreason": "so"}]}, Outcome.INVALID),
    "hidden text": (
        {"pages": [{**page("Foo"), "revisions": [{"slots": {"main": {"texthidden": True}}}]}]},
        Outcome.INVALID,
    ),
    "disambiguation": ({"pages": [page("Foo", pageprops={"disambiguation": ""})]}, Outcome.DISAMBIGUATION),
    "other page property": ({"pages": [page("Foo", pageprops={"displaytitle": "foo"})]}, Outcome.FOUND),
    "only navigation": ({"pages": [page("Foo", "{{Navbox|a=b}}")]}, Outcome.MISSING),
}


@pytest.mark.parametrize("name", ENDS)
def test_end_of_a_title(name):
    query, outcome = ENDS[name]
    assert find({"query": query}).outcome == outcome


def test_one_title_that_the_wiki_chokes_on_does_not_spoil_its_neighbours():
    wiki = FakeWiki(
        lambda titles, params: errors("invalidtitle", "bad") if "Bad" in titles else pages(*titles)
    )
    found = wiki.find("A", "B", "Bad", "C", "D")
    assert [e.outcome for e in found] == [Outcome.FOUND] * 2 + [Outcome.INVALID] + [Outcome.FOUND] * 2
    assert "bad" in found[2].detail


def test_an_error_that_is_not_about_the_title_says_nothing_of_it():
    assert isinstance(find(errors("badvalue")), TransientError)


@pytest.mark.parametrize("code", ["maxlag", "ratelimited", "readonly", "internal_api_error_DBQueryError"])
@pytest.mark.parametrize("form", [errors, lambda code: {"error": {"code": code, "info": "words"}}])
def test_errors_that_pass_are_worth_another_try(code, form):
    answer = web.Response(text=json.dumps(form(code)), headers={"Retry-After": "3"})
    found = find(answer)
    assert (type(found), found.wait_s, found.rate_limited) == (TransientError, 3, code == "ratelimited")


@pytest.mark.parametrize(
    "answer", [errors("readapidenied"), web.Response(status=401), web.Response(status=404)]
)
def test_a_wiki_that_cannot_be_read_ends_the_tier(answer):
    assert isinstance(find(answer), EngineError)


def test_a_moved_api_is_named():
    found = find(web.Response(status=301, headers={"Location": "https://other.org/api.php"}))
    assert isinstance(found, EngineError)
    assert "https://other.org/api.php" in str(found)


def test_an_answer_that_drips_for_ever_is_cut_off():
    """The client's own limit is for each read: a byte a second would never meet it."""

    class Drip(web.StreamResponse):
        async def prepare(self, request):
            writer = await super().prepare(request)
            for _ in range(40):
                await self.write(b" ")
                await asyncio.sleep(0.1)
            return writer

    assert "no answer within 0.5 s" in str(find(Drip(), timeout_s=0.5))


def test_a_wiki_that_is_not_there_is_worth_another_try():
    provider = MediaWiki(f"http://127.0.0.1:{free_port()}/api.php", AGENT, SETTINGS)
    with pytest.raises(TransientError):
        asyncio.run(provider.find("Foo"))


def test_a_failure_is_not_remembered():
    states = iter([web.Response(status=503), {"query": SITE}])
    wiki = FakeWiki(lambda titles, params: pages(*titles), site=lambda: next(states))

    async def twice(provider):
        with pytest.raises(TransientError):
            await provider.find("Foo")
        return await provider.find("Foo")

    assert asyncio.run(wiki.use(twice)).outcome == Outcome.FOUND


def test_an_asker_that_gives_up_does_not_take_the_answer_from_others():
    async def both(provider):
        hasty, patient = (asyncio.create_task(provider.find("Foo")) for _ in range(2))
        await asyncio.sleep(0.05)
        hasty.cancel()
        return await patient

    async def slow(titles, params):
        await asyncio.sleep(0.2)
        return pages(*titles)

    assert asyncio.run(FakeWiki(slow).use(both)).outcome == Outcome.FOUND


def test_a_provider_serves_one_loop_after_another():
    provider = MediaWiki(f"http://127.0.0.1:{free_port()}/api.php", AGENT, SETTINGS)
    for _ in range(2):
        with pytest.raises(TransientError, match="ConnectError"):
            asyncio.run(provider.check())


@pytest.mark.parametrize(
    ("url", "agent"), [("en.wikipedia.org/w/api.php", AGENT), ("https://x.org/api.php", "python-httpx")]
)
def test_settings_that_no_wiki_could_be_asked_with_are_refused(url, agent):
    with pytest.raises(ConfigError, match="api_url" if agent == AGENT else "wikipedia.contact"):
        MediaWiki(url, agent, SETTINGS)
