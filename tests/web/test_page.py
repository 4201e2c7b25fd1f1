"""The text of a page, and what is no page."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from llmpedia.errors import EngineError
from llmpedia.web import extractor
from llmpedia.web.extractor import Extractor, ExtractorSettings
from llmpedia.web.page import decode, depth, read_page
from tests.support.hostile import ARTICLE, PROSE

NAV = "".join(f'<li><a href="/s{i}">Section link {i}</a></li>' for i in range(30))


def site(body, head=""):
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Vannevar Bush | '
        f"Site</title>{head}</head><body>"
        f'<div id="cookie-banner">We use cookies. Accept all '
        f"cookies.</div><header><nav><ul>{NAV}</ul></nav></header>{body}"
        "<footer>Copyright 2025 Example Media. Terms of use.</footer></body></html>"
    ).encode()


def kind(body):
    return read_page(body, "text/html").kind


def test_an_article_is_read():
    page = read_page(
        site(f"<main><article><h1>Vannevar Bush</h1><p>{PROSE}</p></article></main>"), "text/html"
    )
    assert (page.kind, PROSE in page.text, page.title) == ("ok", True, "Vannevar Bush | Site")


def test_navigation_is_left_out():
    assert "Section link" not in read_page(site(f"<article><p>{PROSE}</p></article>"), "text/html").text


def test_tables_are_kept():
    table = "<table><tr><th>Born</th><td>March 11, 1890</td></tr></table>"
    assert "March 11, 1890" in read_page(site(f"<article><p>{PROSE}</p>{table}</article>"), "text/html").text


def test_a_page_of_menus_is_no_article():
    """Guards against the extractor's falling back on navigation where there is no more than a line
    of text.
    """
    assert kind(site("<article><p>Vannevar Bush was an engineer.</p></article>")) == "too_short"


def test_plain_text_is_taken_as_it_is():
    assert read_page(f"<b>{PROSE}".encode(), "text/plain").text == f"<b>{PROSE}"


CAPTCHA_PAGES = {
    "cloudflare": """<html><head><title>Just a moment...</title></head><body><h2 id="challenge-running">Checking if the site
        connection is secure</h2><script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script></body></html>""",
    "recaptcha": """<html><body><form action="/captcha"><p>Our systems have detected unusual traffic from your computer network.
        Please verify you are not a robot.</p><div class="g-recaptcha" data-sitekey="x"></div></form></body></html>""",
    "datadome": """<html><body><p>Please enable JS and disable any ad blocker</p>
        <script src="https://ct.captcha-delivery.com/c.js"></script></body></html>""",
}


@pytest.mark.parametrize("name", CAPTCHA_PAGES)
def test_a_challenge_is_told(name):
    assert kind(CAPTCHA_PAGES[name].encode()) == "captcha"


def test_an_article_about_captchas_is_an_article():
    """Guards against throwing pages away for a bare word."""
    words = (
        "A CAPTCHA asks the user to verify that you are not a robot. Sites use it against "
        "unusual traffic. Just a moment. "
    )
    assert kind(site(f"<article><h1>CAPTCHA</h1><p>{words * 3}</p></article>")) == "ok"


def test_a_captcha_in_a_comment_form_does_not_spoil_an_article():
    form = '<form action="/comment"><div class="g-recaptcha"></div></form>'
    assert kind(site(f"<article><p>{PROSE[:700]}</p></article>{form}")) == "ok"


def test_a_script_that_cloudflare_puts_into_every_page_is_no_challenge():
    script = '<script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script>'
    assert kind(site(f"<article><p>{PROSE[:700]}</p></article>{script}")) == "ok"


FLAG = '<script type="application/ld+json">{"@type":"NewsArticle","isAccessibleForFree":false}</script>'


def test_a_paywall_is_told():
    wall = "<div class='paywall'>Subscribe to continue reading. Already a subscriber? Sign in.</div>"
    assert kind(site(f"<article><p>{PROSE[:300]}</p>{wall}</article>", FLAG)) == "paywall"


def test_a_paywall_without_the_publishers_flag_is_told_by_its_words_and_markup():
    wall = "<div class='paywall-offer'><p>Subscribe to continue reading.</p></div>"
    assert kind(site(f"<article><p>{PROSE[:300]}</p>{wall}</article>")) == "paywall"


def test_the_publishers_flag_alone_is_no_paywall():
    """Guards against losing pages that carry the flag and the whole text."""
    assert kind(site(f"<article><p>{PROSE[:700]}</p></article>", FLAG)) == "ok"


def test_an_article_about_paywalls_is_an_article():
    words = (
        "A paywall asks readers to subscribe to continue reading; the word was coined in 1998, "
        "says record number one. "
    )
    assert kind(site(f"<article><p>{words * 4}</p></article>")) == "ok"


def test_a_page_of_scripts_alone_is_told():
    page = (
        '<html><head><title>App</title><script src="/main.js"></script></head><body><noscript>You '
        "need to enable JavaScript "
        'to run this app.</noscript><div id="root"></div></body></html>'
    )
    assert kind(page.encode()) == "js_only"


def test_an_article_about_javascript_is_an_article():
    words = (
        "Some sites say that you need to enable JavaScript; this article explains why that is "
        "so and what to do about it. "
    )
    assert kind(site(f"<article><p>{words * 8}</p></article><script src='/x.js'></script>")) == "ok"


def test_a_short_article_among_much_code_is_an_article():
    """Guards against taking the blanks of scripts from the text that a reader sees."""
    code = "<script>" + "x = 1;\n      " * 2000 + "</script>"
    assert kind(site(f"<article><p>{PROSE[:500]}</p></article>{code}")) == "ok"


def test_a_meta_refresh_is_told():
    assert (
        kind(b"<html><head><meta http-equiv='refresh' content='0;url=/x'></head><body>Moved.</body></html>")
        == "meta_refresh"
    )


@pytest.mark.parametrize(("length", "expected"), [(199, "too_short"), (200, "ok")])
def test_a_page_has_200_characters_at_least(length, expected):
    """The paper's rule (appendix F)."""
    text = ("word " * 60)[: length - 1] + "x"
    assert read_page(text.encode(), "text/plain").kind == expected


@pytest.mark.parametrize("body", [b"", b"   \n", b"<html></html>", b"<", b"\x00"])
def test_next_to_nothing_is_too_short_or_no_page(body):
    assert kind(body) in ("too_short", "not_text")


def test_deep_nesting_is_refused_before_parsing():
    started = time.monotonic()
    assert kind(b"<html><body>" + b"<div>" * 20_000 + PROSE.encode()) == "too_deep"
    assert time.monotonic() - started < 5


def test_paragraphs_that_are_never_closed_do_not_nest():
    assert depth("<p>text<li>item<br><td>" * 1000) == 0


def test_code_and_drawings_do_not_nest():
    """Guards against refusing news pages for tags within their scripts and icons."""
    assert depth("<div><script>if (a<b) x = '<div>'</script><svg><path/><path/></svg></div>" * 1000) == 1


def test_depth_is_that_of_the_deepest_place():
    assert depth("<div><b></b><i><u></u></i></div><div></div>") == 3


@pytest.mark.parametrize(
    ("body", "charset"),
    [
        ("São Paulo".encode(), "utf-8"),
        ("São Paulo".encode("latin-1"), "iso-8859-1"),
        ("São Paulo naïveté “quoted” ".encode("cp1252") * 20, "utf-8"),
        ("<meta charset=iso-8859-1>São Paulo".encode("latin-1"), None),
        (b"\xef\xbb\xbf" + "São Paulo".encode(), "latin-1"),
        ("São Paulo".encode("utf-16"), None),
        ("São Paulo".encode(), "no-such-charset"),
        ("São Paulo".encode(), "hex"),
    ],
)
def test_bytes_are_read_by_the_charset_that_fits(body, charset):
    assert "São Paulo" in decode(body, charset)


SETTINGS = ExtractorSettings(extractors=1, extract_s=20.0)


def with_extractor(use, settings=SETTINGS):
    async def run():
        reader = Extractor(settings)
        try:
            return await use(reader)
        finally:
            await reader.close()

    return asyncio.run(run())


def pids(reader):
    return [worker.pid for worker in reader._idle]


def test_the_extractor_reads_as_read_page_does():
    assert with_extractor(lambda e: e.read(ARTICLE.encode(), "text/html")) == read_page(
        ARTICLE.encode(), "text/html"
    )


def test_a_process_reads_many_pages():
    async def use(reader):
        await reader.read(ARTICLE.encode(), "text/html")
        before = pids(reader)
        await reader.read(ARTICLE.encode(), "text/html")
        return before, pids(reader)

    before, after = with_extractor(use)
    assert before == after


def test_a_page_over_time_costs_its_process_and_no_more():
    heavy = b"<html><body>" + b"<p>some words of an article, <b>all</b> alike </p>" * 60_000

    async def use(reader):
        slow = await reader.read(heavy, "text/html")
        return slow.kind, (await reader.read(b"x " * 300, "text/plain")).kind

    assert with_extractor(use, ExtractorSettings(extractors=1, extract_s=0.3)) == ("too_slow", "ok")


def test_a_process_that_dies_is_replaced():
    async def use(reader):
        await reader.read(ARTICLE.encode(), "text/html")
        os.kill(pids(reader)[0], signal.SIGKILL)
        broken = await reader.read(ARTICLE.encode(), "text/html")
        return broken.kind, (await reader.read(ARTICLE.encode(), "text/html")).kind

    assert with_extractor(use) == ("broken", "ok")


def test_a_cancelled_read_does_not_answer_the_next():
    """Guards against a page's text being taken for that of another."""

    async def use(reader):
        await reader.read(ARTICLE.encode(), "text/html")
        first = asyncio.create_task(reader.read(ARTICLE.encode() * 20, "text/html"))
        await asyncio.sleep(0.01)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        return await reader.read(b"y " * 300, "text/plain")

    assert with_extractor(use).text.startswith("y y")


def test_closing_ends_the_processes():
    async def use(reader):
        await reader.read(ARTICLE.encode(), "text/html")
        return pids(reader)[0]

    assert not Path(f"/proc/{with_extractor(use)}").exists()


def test_a_reader_that_cannot_start_is_no_broken_page(monkeypatch):
    """Guards against a missing library turning every page into a snippet without a word."""
    monkeypatch.setattr(extractor, "_MODULE", "llmpedia.no_such_module")
    with pytest.raises(EngineError, match="page reader does not start"):
        with_extractor(lambda e: e.read(ARTICLE.encode(), "text/html"))
