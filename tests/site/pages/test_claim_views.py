"""Tests of what pages show of an audited claim."""

import pytest

from llmpedia.site.pages.claim_views import safe_link, together


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "//x.org", "https://[", "", "http:x", "\njavascript:x"]
)
def test_a_source_that_is_no_web_page_is_no_link(url):
    assert safe_link(url) is None


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        (["supported", "refuted"], "refuted"),
        (["insufficient", "supported"], "supported"),
        (["not_adjudicated", "insufficient"], "insufficient"),
        ([], "not_adjudicated"),
    ],
)
def test_verdicts_of_several_tiers_come_to_one(verdicts, whole):
    assert together(verdicts) == whole
