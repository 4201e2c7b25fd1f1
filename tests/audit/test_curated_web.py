"""Evidence from the web: which addresses are tried, and what comes of them."""

import asyncio
import ipaddress
import json

import pytest

from llmpedia.audit.curated_web import CuratedWeb
from llmpedia.audit.evidence import Evidence, Outcome
from llmpedia.errors import TransientError
from llmpedia.web.guard import Policy
from llmpedia.web.search import Hit
from llmpedia.web.settings import Reach, WebSection
from tests.support.hostile import ARTICLE, HOME, PROSE, Case, HostileServer, Names, page, redirect, status

# britannica.com scores 100, nasa.gov 95, nih.gov 94, cdc.gov 93, webmd.com 72
SITES = (
    "www.britannica.com",
    "nasa.gov",
    "nih.gov",
    "cdc.gov",
    "webmd.com",
    "fox.com",
    "en.wikipedia.org",
    "wiki2.org",
)
SHORT = page("<html><body>short</body></html>")
DOWN = status(503)
GONE = status(404)
SOUND = page(ARTICLE)


class Engine:
    """A search engine whose results are given."""

    name = "given"

    def __init__(self, hits):
        self.hits = hits
        self.queries = []

    async def search(self, query, most):
        self.queries.append(query)
        return self.hits

    async def close(self):
        pass


class Found:
    """What looking for a subject gave. ``sites``: (host, answer) in the engine's order; ``snippet``
    with each.
    """

    def __init__(self, *sites, snippet="A snippet", subject="Vannevar Bush", scores=None, **settings):
        async def run():
            async with HostileServer([Case("", answer) for _, answer in sites]) as server:
                self.port = server.port
                self.engine = Engine(
                    [Hit(self.url(host, i), f"Title {i}", snippet) for i, (host, _) in enumerate(sites)]
                )
                policy = Policy((ipaddress.ip_network(f"{HOME}/32"),), frozenset({server.port}))
                chosen = WebSection(timeout_s=5.0, extractors=1, **settings)
                names = Names({s: [HOME] for s in SITES})
                provider = CuratedWeb(chosen, Reach(policy, scores or {}), self.engine, names)
                try:
                    self.evidence = await provider.find(subject)
                finally:
                    self.asked = server.asked
                    await provider.close()

        asyncio.run(run())
        self.results = {a.url.split("/")[2].split(":")[0]: a.result for a in self.evidence.attempts}

    def url(self, host, i):
        return f"http://{host}:{self.port}/{i}"

    def scores(self):
        return [s.score for s in self.evidence.sources]


def test_a_page_is_evidence():
    found = Found(("nasa.gov", SOUND))
    source = found.evidence.sources[0]
    assert (found.evidence.outcome, source.how, source.score, source.title) == (
        Outcome.PAGES,
        "page",
        95,
        "Vannevar Bush",
    )
    assert PROSE in source.text


def test_a_page_that_failed_in_passing_is_tried_a_second_time(monkeypatch):
    """Beside usable pages nobody would come back for it, and the evidence would hang on one lost
    packet.
    """
    monkeypatch.setattr("llmpedia.audit.curated_web._AGAIN_S", 0.01)
    asked = []

    async def answer(writer):
        asked.append(1)
        await (DOWN if len(asked) == 1 else SOUND)(writer)

    found = Found(("nasa.gov", answer), ("nih.gov", SOUND))
    assert (len(asked), [s.how for s in found.evidence.sources]) == (2, ["page", "page"])


def test_the_search_is_for_the_name_alone():
    assert Found(("nasa.gov", SOUND), subject='Al "Weird" X').engine.queries == ['"Al Weird X"']


def test_the_best_three_addresses_are_tried_in_order_of_score():
    found = Found(
        ("webmd.com", SOUND), ("nih.gov", SOUND), ("www.britannica.com", SOUND), ("nasa.gov", SOUND)
    )
    assert found.scores() == [100, 95, 94]


def test_equal_scores_keep_the_engines_order():
    found = Found(
        ("nasa.gov", page(ARTICLE.replace("Bush", "One"))), ("nasa.gov", page(ARTICLE.replace("Bush", "Two")))
    )
    assert [s.title for s in found.evidence.sources] == ["Vannevar One", "Vannevar Two"]


def test_what_is_not_tried_is_named():
    found = Found(("nih.gov", SOUND), ("webmd.com", SOUND), pages=1)
    assert found.results == {"nih.gov": "used", "webmd.com": "not tried: 1 were better"}


@pytest.mark.parametrize(
    ("host", "reason"),
    [("en.wikipedia.org", "blocked: circular"), ("wiki2.org", "blocked: mirror"), ("fox.com", "ineligible")],
)
def test_an_address_that_may_not_be_used_is_not_asked(host, reason):
    found = Found((host, SOUND))
    assert (found.evidence.outcome, found.asked, found.results[host].startswith(reason)) == (
        Outcome.NOTHING,
        [],
        True,
    )


def test_the_paper_alone_knows_no_mirrors():
    found = Found(("wiki2.org", SOUND), scores={"wiki2.org": 70}, paper_exact=True)
    assert found.evidence.outcome == Outcome.PAGES


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(SHORT, "unusable: too_short"), (GONE, "refused: HTTP 404"), (DOWN, "failed: HTTP 503")],
)
def test_the_snippet_stands_in_for_a_page_that_cannot_be_used(answer, reason):
    found = Found(("nasa.gov", answer))
    source = found.evidence.sources[0]
    assert (found.evidence.outcome, source.how, source.text) == (Outcome.SNIPPETS, "snippet", "A snippet")
    assert found.results == {"nasa.gov": f"snippet used, {reason}"}


def test_one_page_among_snippets_makes_pages():
    assert Found(("nasa.gov", SHORT), ("nih.gov", SOUND)).evidence.outcome == Outcome.PAGES


def test_no_page_and_no_snippet_is_nothing():
    found = Found(("nasa.gov", SHORT), snippet="")
    assert (found.evidence.outcome, found.evidence.sources, found.evidence.detail) == (
        Outcome.NOTHING,
        (),
        "1 results, 1 eligible, none usable",
    )


def test_no_result_is_nothing():
    assert Found().evidence.outcome == Outcome.NOTHING


@pytest.mark.parametrize("others", [[], [("nih.gov", GONE)]])
def test_nothing_because_of_the_network_is_not_nothing(others):
    """Guards against counting a network failure as a subject that the web does not know."""
    with pytest.raises(TransientError, match="HTTP 503"):
        Found(("nasa.gov", DOWN), *others, snippet="")


def test_the_longest_wait_that_was_asked_for_is_passed_on():
    busy = status(429, "Retry-After: 9\r\n")
    with pytest.raises(TransientError) as e:
        Found(("nasa.gov", DOWN), ("nih.gov", busy), snippet="")
    assert e.value.wait_s == 9


@pytest.mark.parametrize("host", ["en.wikipedia.org", "fox.com"])
def test_a_redirect_to_where_nothing_may_be_quoted_gives_neither_page_nor_snippet(host):
    """Guards against Wikipedia's text under an eligible address."""
    target = []

    class Redirecting(Found):
        def url(self, name, i):
            target[:] = [f"http://{host}:{self.port}/1"]
            return super().url(name, i)

    async def answer(writer):
        await redirect(target[0])(writer)

    found = Redirecting(("nasa.gov", answer))
    assert (found.evidence.outcome, found.asked) == (Outcome.NOTHING, [0])


def test_one_final_address_is_one_page():
    """Guards against one text counted as two sources."""
    found = Found(("nasa.gov", SOUND), ("nasa.gov", redirect("/0")))
    assert (len(found.evidence.sources), [a.result for a in found.evidence.attempts][1]) == (
        1,
        f"duplicate of {found.url('nasa.gov', 0)}",
    )


def test_a_result_that_comes_twice_is_tried_once():
    class Twice(Found):
        def url(self, host, i):
            return f"http://{host}:{self.port}/0#{i}"

    assert Twice(("nasa.gov", SOUND), ("nasa.gov", SOUND)).asked == [0]


def test_the_evidence_survives_being_stored():
    evidence = Found(("nasa.gov", SOUND), ("fox.com", SOUND)).evidence
    assert Evidence.loads(evidence.dumps()) == evidence
    assert json.loads(evidence.dumps())["outcome"] == "pages"


def test_the_name_tells_settings_apart_that_find_different_things():
    settings = [WebSection(), WebSection(paper_exact=True), WebSection(pages=2), WebSection(max_bytes=99_999)]
    names = {CuratedWeb(web, search=Engine([])).name for web in settings}
    names.add(CuratedWeb(WebSection(), Reach(Policy(), {"a.b": 70}), Engine([])).name)
    assert len(names) == 5
