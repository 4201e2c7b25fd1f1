"""Tests of the addresses of the static site."""

import pytest

from llmpedia.site.export.static_urls import UNWRITTEN_A_PAGE, StaticAddresses, listing_file


def urls_at(depth: int, *parts: str) -> StaticAddresses:
    return StaticAddresses(depth, parts, lambda run, number: number != UNWRITTEN_A_PAGE)


def test_addresses_are_relative_to_the_page_that_names_them():
    assert urls_at(0).start() == "index.html" and urls_at(3).start() == "../../../index.html"
    assert urls_at(1).article("a b", 2, "X", "s0") == "../r/a%20b/a/2-x.html#s0"


def test_what_has_no_article_has_its_place_on_a_shared_page():
    assert urls_at(0).article("r", UNWRITTEN_A_PAGE, "X") == f"r/r/unwritten/1.html#e{UNWRITTEN_A_PAGE}"


def test_views_that_were_left_out_have_no_address_and_a_trace_is_the_article():
    assert urls_at(0).graph("r", 1, "X") is None and urls_at(0, "graph").graph("r", 1, "X")
    assert urls_at(0).trace("r", 1, "X") == urls_at(0).article("r", 1, "X")
    assert urls_at(0, "trace").trace("r", 1, "X") == "r/r/trace/1-x.html"


@pytest.mark.parametrize(
    ("narrowed", "name"),
    [
        ((None, None, 1), "index"),
        ((2, None, 1), "hop2"),
        ((None, "/", 1), "u002f"),
        ((2, "é", 3), "hop2.u00e9.p3"),
    ],
)
def test_a_list_is_a_file_whatever_its_letter(narrowed, name):
    assert listing_file("r", *narrowed) == f"r/r/list/{name}.html"
