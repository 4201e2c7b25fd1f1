"""Tests of the HTML of an article and of what is let through."""

import pytest

from llmpedia.site.wikitext.html import cleaned, inner_link

pytest.importorskip("nh3")


@pytest.mark.parametrize(
    ("html", "kept"),
    [
        ('<b class="x" onclick="y">a</b>', "<b>a</b>"),
        ('<span class="s refuted" id="s1">a</span>', '<span class="s refuted" id="s1">a</span>'),
        ('<span id="other">a</span>', "<span>a</span>"),
        ("<script>alert(1)</script>", ""),
        ("", ""),
    ],
)
def test_nothing_stays_that_the_writer_does_not_write(html, kept):
    assert cleaned(html) == kept


@pytest.mark.parametrize(
    ("href", "inner"),
    [("/r/x/a/1-y", True), ("../a/1-y.html#s1", True), ("//evil", False), ("javascript:x", False)],
)
def test_links_of_this_site_are_told_from_others(href, inner):
    assert inner_link(href) is inner
