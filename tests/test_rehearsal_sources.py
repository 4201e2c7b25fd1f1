"""The sources of the rehearsal world over HTTP: MediaWiki, search, web pages."""

import aiohttp
import pytest
from rehearsed import run, small_world

from llmpedia.rehearsal.facts import facts_of
from llmpedia.rehearsal.sources import has_page
from llmpedia.rehearsal.web_routes import WebRoutes


@pytest.fixture(scope="module")
def world():
    return small_world()


def get(world, path, **params):
    async def use(base, server):
        address = base.removesuffix("/v1") + path
        async with aiohttp.ClientSession() as session, session.get(address, params=params) as r:
            return await (r.json() if r.content_type == "application/json" else r.text())

    return run(use, world)


def query(world, **params):
    return get(world, "/w/api.php", action="query", format="json", formatversion="2", **params)["query"]


def entity(world, has, **wanted):
    return next(e for e in range(3000) if has_page(world, e) == has and world.group_kind(e) == "plain" and world.others(e))


def test_page_states_what_is_actual_and_nothing_absent(world):
    e = entity(world, True)
    (page,) = query(world, titles=world.name(e), prop="extracts|revisions")["pages"]
    for fact in facts_of(world, e):
        assert (fact.sentence(world.name(e)) in page["extract"]) == (fact.truth == "true")
        assert fact.actual is None or fact.actual in page["extract"]
    assert page["revisions"][0]["slots"]["main"]["content"].startswith(f"'''{world.name(e)}'''")


def test_other_name_is_a_redirect_and_no_name_is_missing(world):
    e = entity(world, True)
    answer = query(world, titles=f"{world.others(e)[0]}|Nobody Anywhere", redirects="1")
    assert answer["redirects"] == [{"from": world.others(e)[0], "to": world.name(e)}]
    assert answer["pages"][1] == {"ns": 0, "title": "Nobody Anywhere", "missing": True}
    (gap,) = query(world, titles=world.name(entity(world, False)))["pages"]
    assert gap["missing"]


def test_bare_homonym_is_a_disambiguation_page(world):
    e = next(e for e in range(3000) if world.group_kind(e) == "bare" and len(world.fellows(e)) == 2)
    (page,) = query(world, titles=world.name(e), prop="pageprops|extracts")["pages"]
    assert page["pageprops"] == {"disambiguation": ""}
    assert all(world.others(f)[0] in page["extract"] for f in world.fellows(e))


def test_search_finds_names_in_a_query_and_its_pages_can_be_fetched(world):
    name = world.name(entity(world, True))
    (first, *_) = get(world, "/search", q=f"when was {name} founded")["results"]
    assert first["title"] == name
    assert f"<h1>{name}</h1>" in get(world, first["url"].partition("127.0.0.1:")[2].partition("/")[1] + "page/" + name)
    assert query(world, list="search", srsearch=name)["search"][0]["title"] == name


def test_lag_is_refused_where_maxlag_asks_for_it(world):
    async def use(base, server):
        app = WebRoutes(world, lagging=1.0)
        from aiohttp.test_utils import make_mocked_request

        response = await app.mediawiki(make_mocked_request("GET", "/w/api.php?action=query&titles=X&maxlag=5"))
        return response.text, response.headers

    text, headers = run(use, world)
    assert '"maxlag"' in text
    assert headers["Retry-After"] == "5"
