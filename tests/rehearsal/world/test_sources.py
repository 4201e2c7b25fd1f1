"""The sources of the rehearsal world over HTTP: MediaWiki, search, web pages."""

import unicodedata
from urllib.parse import quote, unquote

import aiohttp
import pytest
import trafilatura
from yarl import URL

from llmpedia.audit.settings import WikipediaSection
from llmpedia.audit.wikipedia.mediawiki import MediaWiki
from llmpedia.rehearsal.model.fact_reader import Reader
from llmpedia.rehearsal.world.facts import facts_of
from llmpedia.rehearsal.world.sources import has_page, page_title, web_text
from tests.support.rehearsed import run, small_world


@pytest.fixture(scope="module")
def world():
    return small_world()


def get(world, path, **params):
    async def use(base, server):
        address = URL(base.removesuffix("/v1") + path, encoded=True) % params
        async with aiohttp.ClientSession() as session, session.get(address) as r:
            return await (r.json() if r.content_type == "application/json" else r.text())

    return run(use, world)


def query(world, **params):
    return get(world, "/w/api.php", action="query", format="json", formatversion="2", **params)["query"]


def entity(world, has, **wanted):
    return next(
        e
        for e in range(3000)
        if has_page(world, e) == has and world.group_kind(e) == "plain" and world.others(e)
    )


def test_page_states_what_is_actual_and_nothing_absent(world):
    e = entity(world, True)
    (page,) = query(
        world, titles=world.name(e), prop="extracts|revisions", rvprop="ids|content", rvslots="main"
    )["pages"]
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
    assert f"<h1>{name}</h1>" in get(world, URL(first["url"]).raw_path)
    assert query(world, list="search", srsearch=name)["search"][0]["title"] == name


def test_revision_has_what_rvprop_asks_for(world):
    e = entity(world, True)
    ids, whole = (
        query(world, titles=world.name(e), prop="revisions", rvprop=p, rvslots="main")["pages"][0][
            "revisions"
        ][0]
        for p in ("ids", "ids|timestamp|content")
    )
    assert set(ids) == {"revid", "parentid"}
    assert whole["revid"] == ids["revid"] > 0
    assert whole["timestamp"].endswith("Z")


def test_title_is_brought_into_its_normal_form(world):
    e = next(
        e for e in range(3000) if has_page(world, e) and " " in world.name(e) and world.name(e).isascii()
    )
    name = world.name(e)
    asked = name[0].lower() + name[1:].replace(" ", "_")
    answer = query(world, titles=asked)
    assert answer["normalized"] == [{"fromencoded": False, "from": asked, "to": name}]
    assert [p["title"] for p in answer["pages"]] == [name]


def test_decomposed_title_comes_back_encoded(world):
    e = next(
        e
        for e in range(3000)
        if has_page(world, e) and unicodedata.normalize("NFD", world.name(e)) != world.name(e)
    )
    asked = unicodedata.normalize("NFD", world.name(e))
    (told,) = query(world, titles=asked)["normalized"]
    assert (told["fromencoded"], unquote(told["from"]), told["to"]) == (True, asked, world.name(e))


def test_other_spelling_leads_to_the_page_by_a_redirect(world):
    """A page under a title that the answer does not explain would be one that nobody asked for."""
    e = next(
        e
        for e in range(3000)
        if has_page(world, e) and " " in world.name(e) and world.group_kind(e) == "plain"
    )
    asked = world.name(e).replace(" ", "-")
    answer = query(world, titles=asked, redirects="1")
    assert (answer["redirects"], answer["pages"][0]["title"]) == (
        [{"from": asked, "to": world.name(e)}],
        world.name(e),
    )


def test_redirect_that_is_not_followed_is_a_page_of_its_own(world):
    e = entity(world, True)
    (page,) = query(world, titles=world.others(e)[0], prop="revisions|info", rvprop="content")["pages"]
    assert page["redirect"]
    assert page["revisions"][0]["slots"]["main"]["content"] == f"#REDIRECT [[{world.name(e)}]]"


@pytest.mark.parametrize("title", ["C#", "A<B", "A>B", "[A]", "{A}", "x" * 256, "\x1fA|B"])
def test_title_that_mediawiki_refuses_is_invalid(world, title):
    (page,) = query(world, titles=title)["pages"]
    assert page["invalid"]
    assert "missing" not in page


def test_form_asks_like_a_query(world):
    name = world.name(entity(world, True))

    async def use(base, server):
        params = {"action": "query", "titles": name, "format": "json"}
        async with (
            aiohttp.ClientSession() as session,
            session.post(base.removesuffix("/v1") + "/w/api.php", data=params) as r,
        ):
            return await r.json()

    assert run(use, world) == get(world, "/w/api.php", action="query", titles=name, format="json")


def test_site_tells_its_address_names_and_namespaces(world):
    answer = query(world, meta="siteinfo", siprop="general|namespaces|namespacealiases|interwikimap")
    assert answer["general"]["base"].startswith("http://127.0.0.1:")
    assert {"articlepath", "server", "sitename"} < set(answer["general"])
    assert answer["namespaces"]["0"] | {"name": "", "content": True} == answer["namespaces"]["0"]
    assert answer["namespaces"]["14"]["name"] == answer["namespaces"]["14"]["canonical"] == "Category"
    assert {"id": 6, "alias": "Image"} in answer["namespacealiases"]
    assert all({"prefix", "url"} <= set(i) for i in answer["interwikimap"])


def test_unknown_action_is_an_error_in_the_shape_asked_for(world):
    assert get(world, "/w/api.php", action="x")["error"]["code"] == "badvalue"
    assert get(world, "/w/api.php", action="x", errorformat="plaintext")["errors"][0]["code"] == "badvalue"


def test_client_of_the_audit_finds_every_kind_of_page(world):
    e = entity(world, True)
    settings = WikipediaSection(contact="a@example.org", timeout_s=10.0, linger_s=0.01)
    bare = next(world.name(e) for e in range(3000) if len(world.senses(world.name(e))) > 1)
    names = {
        world.name(e): "found",
        world.others(e)[0]: "redirected",
        world.name(entity(world, False)): "missing",
        bare: "disambiguation",
        "C#": "invalid",
    }

    async def use(base, server):
        wiki = MediaWiki(base.removesuffix("/v1") + "/w/api.php", "test/1 (a@example.org)", settings)
        found = [await wiki.find(name) for name in names]
        await wiki.close()
        return found

    found = run(use, world)
    assert dict(zip(names, (str(f.outcome) for f in found), strict=True)) == names
    assert all(
        f.sentence(world.name(e)) in found[0].sources[0].text for f in facts_of(world, e) if f.truth == "true"
    )


def test_search_lists_several_pages_of_what_is_named_and_then_its_fellows(world):
    a, b, *_ = next(
        world.fellows(e)
        for e in range(3000)
        if world.group_kind(e) == "sibling" and len(world.fellows(e)) > 2
    )
    results = get(world, "/search", q=world.name(a), n="10")["results"]
    assert [r["title"] for r in results[:4]] == [world.name(a)] * 3 + [world.name(b)]
    assert len({r["url"] for r in results}) == len(results)


def test_bare_homonyms_have_pages_of_their_own(world):
    """A page on one of them that states the facts of the other would refute what is true."""
    one, other = next(
        world.fellows(e) for e in range(3000) if world.group_kind(e) == "bare" and len(world.fellows(e)) == 2
    )
    texts = [get(world, "/page/" + quote(world.others(e)[0], safe="")) for e in (one, other)]
    assert f"<h1>{world.others(one)[0]}</h1>" in texts[0]
    assert f"<h1>{world.others(other)[0]}</h1>" in texts[1]


def test_web_pages_are_long_enough_and_keep_what_they_state_when_extracted(world):
    for e in range(0, 3000, 300):
        for n in range(3):
            name = page_title(world, e)
            text = trafilatura.extract(get(world, "/page/" + quote(name, safe=""), n=str(n)), fast=True)
            stated = Reader(world).statements(web_text(world, e, n), [name])
            assert len(text) >= 200
            assert [s.quote for s in Reader(world).statements(text, [name])] == [s.quote for s in stated]
            assert "Terms of use" not in text


def test_page_on_nobody_is_not_found(world):
    assert get(world, "/page/Nobody%20Anywhere") == "no such page"
