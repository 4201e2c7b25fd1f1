"""Tests of rows of single subjects out of a run's files."""

from llmpedia.site.data.row_reader import WaveTables
from tests.support.builders.site import written_run


def test_rows_are_those_with_the_values_in_the_order_of_the_table(tmp_path):
    tables = WaveTables(written_run(tmp_path / "run", {"A": "a", "B": "b", "C": "c"}).run)
    last = len(tables.manifests) - 1
    columns = tables.columns("articles", last, ["subject_id", "wikitext"]).to_pylist()
    wanted = [columns[2]["subject_id"], columns[0]["subject_id"], 10**6]
    rows = tables.rows("articles", last, "subject_id", wanted)
    assert [row["wikitext"] for row in rows] == [columns[0]["wikitext"], columns[2]["wikitext"]]
    assert tables.rows("articles", last, "subject_id", []) == []


def test_a_wave_without_a_table_has_no_rows_and_empty_columns(tmp_path):
    tables = WaveTables(written_run(tmp_path / "run", {"A": "a"}).run)
    assert tables.rows("articles", 0, "subject_id", [0]) == []
    empty = tables.columns("articles", 0, ["subject_id"])
    assert empty.num_rows == 0 and empty.column_names == ["subject_id"]
