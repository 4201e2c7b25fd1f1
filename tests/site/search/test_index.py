"""Tests of the full-text index of a run."""

import sqlite3
from contextlib import closing

from llmpedia.site.search.index import build, index_path, is_of
from tests.support.builders.site import written_run


def test_an_index_holds_each_text_once_and_is_of_its_run_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("LLMPEDIA_CACHE", str(tmp_path / "cache"))
    run = written_run(tmp_path / "run", {"A": "first words", "B": "other words"}, waves=2).run
    other = written_run(tmp_path / "other", {"C": "third words"}).run
    assert index_path(run) != index_path(other)
    build(run)
    build(run)
    with closing(sqlite3.connect(index_path(run))) as index:
        assert index.execute("SELECT count(*) FROM waves").fetchone() == (len(run.manifests),)
        assert index.execute("SELECT count(*) FROM words WHERE words MATCH 'words'").fetchone() == (2,)
        assert is_of(index, run) and not is_of(index, other)
