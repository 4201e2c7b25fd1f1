"""The site in a real browser: reading, searching, by keyboard, on a phone, against hostile text."""

import pytest

from tests.support.builders.runs import Child, Corpus, Visit
from tests.support.builders.site import commit_audit
from tests.support.payloads import HOST, MARK, NAMES, TEXTS
from tests.support.site_server import Watched, browser, served

PHONE = 360
ROOT = (
    "{{Infobox\n| name = Root\n| laid = 1900\n}}\n'''Root''' was laid in 1900 by three masons. It "
    "has a [[Left]], a [[Right]] "
    "and an [[army]].\n== After the war ==\nMuch came later to the [[Left]], where Émile Zola lived.\n"
    + "A long tale follows. "
    * 120
)
LEFT = (
    "'''Left''' is a part of the [[Root]]. It faces the sea.\n== Sights ==\nThere is a lighthouse from 1850."
)


def write(texts):
    def change(rows):
        for article in rows["articles"]:
            article["wikitext"] = texts.get(article["name"], article["wikitext"])

    return change


def small_run(folder, left=LEFT):
    children = [Child("Left"), Child("Right"), Child("army", "ner_rejected")]
    corpus = Corpus(folder).seed("Root")
    corpus.walk(Visit("Root", children, lead="Root was laid in 1900."), damage=write({"Root": ROOT}))
    corpus.walk(
        Visit("Left", [Child("Leaf"), Child("Root", "known", "Root")]),
        Visit("Right"),
        damage=write({"Left": left}),
    )
    commit_audit(corpus.run, {0: ["Root was laid in 1900 by three masons."]})
    return folder


def hostile_run(folder):
    """Every payload as a name, as an article, as a claim."""
    corpus = Corpus(folder).seed(*NAMES)
    texts = dict(zip(NAMES, TEXTS, strict=False))
    rest = TEXTS[len(NAMES) :]
    texts[NAMES[0]] = "\n\n".join([TEXTS[0], *rest])
    visits = [Visit(name, [Child(f"child {n} {name}")], lead=texts[name]) for n, name in enumerate(NAMES)]
    corpus.walk(*visits, damage=write(texts))
    commit_audit(corpus.run, {n: [texts[name]] for n, name in enumerate(NAMES)})
    return folder


@pytest.fixture(scope="module")
def chrome():
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    other = LEFT.replace("1850", "1851").replace("It faces the sea.", "It faces the hills.")
    with served(small_run(folder / "first"), small_run(folder / "second", other)) as server:
        yield server


@pytest.fixture
def reader(chrome, site, request):
    """A page on the site. Whatever it did wrong by the end of a test fails the test."""
    watched = Watched(chrome, site.url, **getattr(request, "param", {}))
    yield watched
    assert (watched.outside, watched.wrong) == ([], [])
    watched.context.close()


def test_from_the_start_to_an_article_and_along_its_links_and_back(reader):
    page = reader.page
    page.goto("/")
    page.click("main a[href='/r/first/']")
    page.click("main a:has-text('Root')")
    assert page.title().startswith("Root")
    page.click("article a.wl:has-text('Left')")
    assert page.title().startswith("Left")
    page.go_back()
    assert page.title().startswith("Root")
    assert page.locator(".beside table").inner_text().split() == [
        "Root",
        "laid",
        "1900",
    ] or "1900" in page.inner_text(".infobox")


def test_search_as_one_types_finds_words_of_the_text_without_their_accents(reader):
    page = reader.page
    page.goto("/r/first/")
    page.fill("#q", "emile zol")
    page.wait_for_selector("#suggestions li", timeout=20_000)
    page.press("#q", "ArrowDown")
    page.press("#q", "Enter")
    page.wait_for_url("**/a/0-root")
    page.fill("#q", "lighthouse")
    page.press("#q", "Enter")
    page.wait_for_url("**/search?q=lighthouse")
    assert "Left" in page.inner_text(".hits")


def test_a_red_link_says_why_and_leads_to_the_decision(reader):
    page = reader.page
    page.goto("/r/first/a/0-root")
    red = page.locator("a.wl.red").first
    assert red.get_attribute("title").startswith("No article")
    red.click()
    assert "no subject" in page.inner_text(".popover")
    page.click(".popover a:has-text('The decision')")
    page.wait_for_url("**/trace#candidate-*")
    assert "army" in page.inner_text("#candidate-2")


def test_a_claim_opens_beside_its_sentence_and_closes_to_where_it_was(reader):
    page = reader.page
    page.goto("/r/first/a/0-root")
    page.locator("a.ref").first.focus()
    page.keyboard.press("Enter")
    popover = page.locator(".popover")
    assert "Root was laid in 1900 by three masons." in popover.inner_text()
    page.keyboard.press("Escape")
    assert popover.count() == 0
    assert "ref" in page.evaluate("document.activeElement.className")


@pytest.mark.parametrize("reader", [{"java_script_enabled": False}], indirect=True)
def test_without_scripts_a_claim_is_a_link_to_its_place_and_the_search_is_a_form(reader):
    page = reader.page
    page.goto("/r/first/a/0-root")
    page.locator("a.ref").first.click()
    assert page.url.endswith("#claim-1")
    page.fill("#q", "left")
    page.press("#q", "Enter")
    assert "/search?q=left" in page.url and "Left" in page.inner_text(".hits")


def test_one_can_read_by_keyboard_alone(reader):
    page = reader.page
    page.goto("/r/first/a/0-root")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    for _ in range(30):
        page.keyboard.press("Tab")
        at = page.evaluate(
            "[document.activeElement.matches('article a.wl:not(.red)'), document.activeElement.innerText]"
        )
        if at == [True, "Left"]:
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/a/1-left")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"


@pytest.mark.parametrize("reader", [{"width": PHONE, "has_touch": True}], indirect=True)
def test_no_page_is_wider_than_a_phone(reader):
    todo = ["/"]
    seen = set()
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        reader.page.goto(path)
        assert not reader.overflows(), path
        links = reader.page.eval_on_selector_all(
            "a[href^='/']", "all => all.map(a => a.getAttribute('href').split('#')[0])"
        )
        todo += [
            link for link in links if link not in seen and "/second/" not in link and "random" not in link
        ]
    assert len(seen) > 15


@pytest.mark.parametrize("width", [PHONE, 640, 1280])
def test_words_without_end_make_no_page_wider(chrome, tmp_path, width):
    """A seed of 280 letters made the home page 6,600 points wide; so did a category, and the name
    of an infobox.
    """
    word = "W" * 280
    text = (
        f"{{{{Infobox|name={word}|a={word}}}}}\n{word} is. [[{word}1]]\n=== {word} ===\n* "
        f"{word}\n[[Category:{word}]]"
    )
    corpus = Corpus(tmp_path / "run").seed(word)
    corpus.walk(Visit(word, [Child(f"{word}1")], lead=word), damage=write({word: text}))
    commit_audit(corpus.run, {0: [f"{word} is."]}, name="a" * 200)
    with served(tmp_path / "run") as server:
        watched = Watched(chrome, server.url, width=width)
        for path in ("/", "/r/run/a/0", "/r/run/a/0/trace", "/r/run/a/1", "/r/run/list", "/r/run/charts"):
            watched.page.goto(path)
            assert not watched.overflows(), path
        watched.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dark_and_light_follow_the_system_and_the_switch_is_kept(chrome, site, scheme):
    watched = Watched(chrome, site.url, color_scheme=scheme)
    colour = "getComputedStyle(document.body).backgroundColor"
    watched.page.goto("/r/first/")
    before = watched.page.evaluate(colour)
    watched.page.click("#theme")
    after = watched.page.evaluate(colour)
    watched.page.goto("/r/first/list")
    assert before != after == watched.page.evaluate(colour)
    watched.context.close()


def test_a_subject_in_two_runs_is_shown_side_by_side_with_what_differs(reader):
    page = reader.page
    page.goto("/r/first/a/1-left")
    page.click("nav a:has-text('Compare')")
    text = page.inner_text("main")
    assert all(
        words in text for words in ("It faces the sea.", "It faces the hills.", "1850", "1851", "Sights")
    )
    page.click("main a:has-text('second')")
    assert "/second/" in page.url or "with=second" in page.url


def test_the_neighbourhood_leads_on_and_the_charts_count_the_run(reader):
    page = reader.page
    page.goto("/r/first/a/0-root")
    page.click("nav a:has-text('Neighbourhood')")
    page.locator("svg:visible a:has-text('Left')").first.click()
    page.wait_for_url("**/a/1-left*")
    page.click("nav a:has-text('Charts')")
    page.wait_for_selector("main h2:has-text('From links to articles')", timeout=20_000)


def test_no_payload_runs_a_script_or_reaches_another_host(chrome, tmp_path):
    with served(hostile_run(tmp_path / "run")) as server:
        watched = Watched(chrome, server.url)
        page = watched.page
        paths = ["/", "/r/run/list", "/r/run/charts", "/r/run/search?q=script"]
        for n in range(len(NAMES)):
            paths += [f"/r/run/a/{n}", f"/r/run/a/{n}/trace", f"/r/run/a/{n}/graph"]
        for path in paths:
            answer = page.goto(path)
            assert answer.status in (200, 404), path
            for element in page.locator("main [id], main a, main summary").all()[:15]:
                element.dispatch_event("mouseover")
                element.dispatch_event("focus")
            assert page.evaluate(f"window.{MARK}") is None, path
        page.fill("#q", "script")
        page.wait_for_timeout(500)
        assert page.evaluate(f"window.{MARK}") is None
        assert [u for u in watched.outside if HOST in u] == watched.outside == []
        assert [w for w in watched.wrong if "404" not in w] == []
        watched.context.close()
    assert len(NAMES) + len(TEXTS) >= 40
