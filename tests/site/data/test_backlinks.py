"""Tests of the articles that link an entity."""

from llmpedia.site.data.backlinks import Incoming
from llmpedia.site.data.catalogue import read_catalogue
from llmpedia.site.data.row_reader import WaveTables
from tests.support.builders.site import written_run


def test_links_are_there_once_they_are_gathered_and_no_more_than_asked_for(tmp_path):
    run = written_run(tmp_path / "run", {"A": "a", "B": "b"}, aliases={"Ay": "B"}).run
    tables = WaveTables(run)
    catalogue = read_catalogue(tables, len(run.manifests))
    incoming = Incoming(tables, catalogue)
    incoming.begin().join(30)
    names = catalogue.names.to_pylist()
    linking = incoming.of(names.index("B"), 10)
    assert [names[n] for n in linking] == ["Seed", "A"]
    assert incoming.of(names.index("B"), 1) == linking[:1]
    assert incoming.of(names.index("Seed"), 10) == []
