"""Tests of running text."""

import pytest

from llmpedia.site.wikitext.inline import Inline, clean_text, safe_url, shown_text
from llmpedia.site.wikitext.source import read_source
from llmpedia.site.wikitext.tree import BOLD, ITALIC


def test_text_is_shown_with_entities_read_and_without_what_turns_it_around():
    assert shown_text("a &amp;\n b") == "a & b"
    assert clean_text("a\u202eb") == "ab"


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "https://", "https://user@host/", "https://[", "https://h/\\x", "//h/"]
)
def test_an_address_that_deceives_is_none(url):
    assert safe_url(url) is None and safe_url("https://example.org/a?b") == "https://example.org/a?b"


def test_runs_change_where_the_style_does():
    source = read_source("plain '''bold''' ''italic'' [[Rome|link]]")
    runs = Inline(source).runs(source.text)
    assert [(run.text, run.style, run.link) for run in runs if run.text.strip()] == [
        ("plain ", 0, None),
        ("bold", BOLD, None),
        ("italic", ITALIC, None),
        ("link", 0, 0),
    ]
