"""Tests of a run in figures."""

from llmpedia.site.data.run_reader import open_runs
from llmpedia.site.pages.run_summary import source_name, story
from tests.support.builders.site import written_run


def test_hops_are_measured_by_the_widest_one(tmp_path):
    written_run(tmp_path / "run", {"A": "a", "B": "b"}, aliases={"Ay": "A"})
    summary = story(open_runs([str(tmp_path / "run")])[0])
    assert [(hop.hop, hop.entities, hop.written, hop.share) for hop in summary.hops] == [
        (0, 1, 1, 50.0),
        (1, 2, 2, 100.0),
    ]
    figures = dict(summary.figures)
    assert figures["articles"] == "3" and figures["other names"] == "1"
    assert figures["hops from the seed"] == "1" and summary.audits == ()


def test_of_a_file_its_name_alone_is_told():
    assert source_name("/home/ann/secret/texts.zip") == source_name("texts.zip") == "texts.zip"
    assert source_name("https://example.org/a") == "https://example.org/a"
