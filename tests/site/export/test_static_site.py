"""Tests of the rendering of the static site's pages."""

import pytest

pytest.importorskip("nh3")

from llmpedia.site.export.static_site import PageTask, StaticSettings, opened, render
from tests.support.builders.site import written_run


@pytest.mark.parametrize(("parts", "pages"), [((), 1), (("trace", "graph"), 3)])
def test_an_entity_has_a_page_for_each_part_that_was_asked_for(tmp_path, parts, pages):
    written_run(tmp_path / "run", {"A": "Of A."})
    settings = StaticSettings((str(tmp_path / "run"),), (), True, parts, False, 1)
    try:
        assert render(PageTask(settings, str(tmp_path / "out"), "run", (1,))) == pages
    finally:
        opened.cache_clear()
    written = sorted(str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*.html"))
    assert written == sorted(["r/run/a/1-a.html", *(f"r/run/{part}/1-a.html" for part in parts)])
