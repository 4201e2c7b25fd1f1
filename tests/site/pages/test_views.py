"""Tests of what the reading pages show."""

from llmpedia.site.data.run_reader import open_runs
from llmpedia.site.pages.views import bits, list_page, resolver, tabs
from llmpedia.site.urls import OPTIONAL, LiveAddresses
from tests.support.builders.runs import Child, Corpus, Visit
from tests.support.builders.site import written_run


def test_marks_of_a_snippet_become_hits():
    pieces = bits("a \x02b\x03 c")
    assert [(piece.text, piece.hit) for piece in pieces] == [("a ", False), ("b", True), (" c", False)]


def test_a_list_is_narrowed_by_hop_and_letter(tmp_path):
    written_run(tmp_path / "run", {"Apple": "a", "Book": "b", "Bell": "c"})
    run = open_runs([str(tmp_path / "run")])[0]
    assert [entity.name for entity in list_page(run, 1, "B", 1)["names"]] == ["Bell", "Book"]
    assert [entity.name for entity in list_page(run, 0, None, 1)["names"]] == ["Seed"]


def test_a_link_is_shown_by_what_became_of_it(tmp_path):
    children = [Child("Left"), Child("Right"), Child("army", "ner_rejected")]
    Corpus(tmp_path / "run").seed("Root").walk(Visit("Root", children)).walk(Visit("Left", []))
    run = open_runs([str(tmp_path / "run")])[0]
    resolve = resolver(run, run.entity(0), LiveAddresses(OPTIONAL))
    kinds = {name: resolve(name).kind for name in ("Root", "Left", "Right", "army")}
    assert kinds == {"Root": "plain", "Left": "article", "Right": "queued", "army": "red"}
    assert resolve("Left").href == "/r/run/a/1-left"


def test_views_that_a_site_lacks_have_no_tab(tmp_path):
    written_run(tmp_path / "run", {"A": "a"})
    run = open_runs([str(tmp_path / "run")])[0]
    few = tabs(run, run.entity(0), [], LiveAddresses(()), "article")
    more = tabs(run, run.entity(0), [], LiveAddresses(OPTIONAL), "article")
    assert len(more) == len(few) + 1
