"""Tests of pages from templates."""

import pytest

pytest.importorskip("jinja2")
from jinja2 import UndefinedError

from llmpedia.site.pages.templating import cleaned, count, rendered
from llmpedia.site.urls import LiveAddresses


def test_a_name_that_a_page_lacks_is_an_error_and_no_empty_place():
    with pytest.raises(UndefinedError):
        rendered("message.html", {"title": "x"}, LiveAddresses(()))


def test_values_are_escaped_and_only_cleaned_html_is_not():
    page = rendered("message.html", {"title": "x", "told": "<b>1</b>"}, LiveAddresses(()))
    assert "&lt;b&gt;1&lt;/b&gt;" in page and "<b>1</b>" not in page
    assert cleaned("<b>1</b>").__html__() == "<b>1</b>" and count(1234567) == "1,234,567"
