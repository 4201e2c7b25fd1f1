"""Tests of titles and aliases as they are typed."""

import pytest

from llmpedia.site.data.catalogue import read_catalogue
from llmpedia.site.data.row_reader import WaveTables
from llmpedia.site.search.titles import Titles
from tests.support.builders.site import written_run


@pytest.mark.parametrize(
    ("query", "hits"),
    [
        ("river", ["River", "River Thames", "Red River"]),
        ("RIVER th", ["River Thames"]),
        ("isis", ["River Thames"]),
        ("iver", []),
        ("!", []),
    ],
)
def test_whole_names_come_first_then_beginnings_then_words_inside(tmp_path, query, hits):
    texts = dict.fromkeys(["Red River", "River Thames", "River"], "x")
    run = written_run(tmp_path / "run", texts, aliases={"Isis": "River Thames"}).run
    catalogue = read_catalogue(WaveTables(run), len(run.manifests))
    names = catalogue.names.to_pylist()
    assert [names[n] for n in Titles(catalogue).find(query, 10)] == hits
    assert [names[n] for n in Titles(catalogue).find(query, 1)] == hits[:1]
