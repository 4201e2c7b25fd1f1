"""HTML to text: charset, main content, and pages made to hold the parser up."""

import time

import pytest

from llmpedia.probe.corpus.extract import LARGEST, PageReader
from tests.support.builders.corpus import page, prose


@pytest.fixture
def reader():
    reader = PageReader(cpu_s=1.0)
    yield reader
    reader.close()


@pytest.mark.parametrize("charset", ["utf-8", "windows-1252", "utf-16", "shift_jis"])
def test_bytes_are_told_by_what_they_are(reader, charset):
    words = "東京は日本の首都である。" * 20 if charset == "shift_jis" else "naïveté, São Paulo " * 20
    told = f'<meta charset="{charset}">' if charset == "shift_jis" else ""
    body = page(words).replace("<body>", f"{told}<body>").encode(charset)
    assert words.strip() in reader.read(body, "utf-8").text


def test_menus_scripts_and_comments_are_no_text(reader):
    extra = (
        "<script>var a = 1;</script><noscript>Turn it on</noscript><div "
        "class='comments'><p>Nice post</p></div>"
    )
    text = reader.read(page(prose(1)).replace("</article>", f"</article>{extra}").encode(), None).text
    assert prose(1) in text and not any(s in text for s in ("Link 3", "var a", "Turn it on", "Nice post"))


def test_a_page_is_too_large_or_too_deep(reader):
    assert "more than 2,000,000 bytes" in reader.read(b"x" * (LARGEST + 1), None).reason
    assert "20,000 levels deep" in reader.read(b"<div>" * 20_000, None).reason
    assert reader.read(b"<p>" * 20_000 + page(prose(1)).encode(), None).reason is None


def test_a_page_that_holds_the_parser_costs_no_more_than_its_time(reader):
    """100,000 options of one menu take the parser minutes; no count of levels shows it."""
    began = time.monotonic()
    found = reader.read(b"<select>" + b"<option>x" * 100_000, None)
    assert (found.text, found.reason) == (None, "HTML that takes more than 1 s to read")
    assert time.monotonic() - began < 30
    assert prose(2) in reader.read(page(prose(2)).encode(), None).text


def test_a_page_that_kills_the_parser_is_told_and_the_next_one_read(reader):
    assert prose(1) in reader.read(page(prose(1)).encode(), None).text
    reader._process.kill()
    assert reader.read(page(prose(2)).encode(), None).reason == "HTML that the parser dies of"
    assert prose(3) in reader.read(page(prose(3)).encode(), None).text


def test_the_process_ends_with_its_reader():
    reader = PageReader()
    reader.read(page(prose(1)).encode(), None)
    process = reader._process
    reader.close()
    assert process.returncode is not None
