"""Tests of the addresses of the app's pages."""

import pytest

from llmpedia.site.urls import OPTIONAL, LiveAddresses


@pytest.mark.parametrize("part", sorted(OPTIONAL))
def test_pages_that_a_site_has_not_have_no_address(part):
    found = {
        name: {
            "random": to.random("r"),
            "suggestions": to.suggestions("r"),
            "graph": to.graph("r", 1, "x"),
            "charts": to.charts("r"),
        }
        | {"compare": to.compare("r", 1, "x", "o"), "review": to.review("r")}
        for name, to in (("none", LiveAddresses(())), ("all", LiveAddresses(OPTIONAL)))
    }
    assert found["none"][part] is None and found["all"][part].startswith("/")


def test_names_are_quoted_and_a_list_is_narrowed_by_its_query():
    urls = LiveAddresses(OPTIONAL)
    assert urls.run("a b/c") == "/r/a%20b%2Fc/"
    assert urls.listing("r") == urls.listing("r", page=1) == "/r/r/list"
    assert urls.listing("r", 2, "É", 3) == "/r/r/list?hop=2&letter=%C3%89&page=3"
    assert urls.article("r", 12, "AC/DC", "s1") == "/r/r/a/12-ac-dc#s1"
