"""Tests of the shared pages of entities without an article."""

from llmpedia.site.data.run_reader import open_runs
from llmpedia.site.pages.unwritten import unwritten_page
from tests.support.builders.runs import Child, Corpus, Visit


def test_each_entity_stands_with_the_one_that_named_it(tmp_path):
    Corpus(tmp_path / "run").seed("Root").walk(Visit("Root", [Child("Left"), Child("Right")]))
    run = open_runs([str(tmp_path / "run")])[0]
    waiting = unwritten_page(run, [2, 0])["waiting"]
    assert [one["entity"].name for one in waiting] == ["Right", "Root"]
    assert waiting[0]["parent"].name == "Root" and waiting[1]["parent"] is None
