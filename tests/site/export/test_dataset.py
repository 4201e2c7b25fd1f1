"""Tests of releases as files."""

import gzip
import json
from collections import Counter

import pyarrow.parquet as pq
import pytest

from llmpedia.site.export.dataset import write_dataset, write_jsonl
from llmpedia.site.export.release import Filter
from tests.support.builders.site import written_run


@pytest.fixture
def run(tmp_path):
    return written_run(tmp_path / "run", {"A": "Of A.", "B": "Of B."}).run


def test_a_dataset_has_a_card_and_the_rows_that_it_counts(run, tmp_path):
    released = write_dataset(run, [], tmp_path / "out", ["articles"], "cc0-1.0", Filter("mask"))
    rows = pq.read_table(tmp_path / "out/articles/00000.parquet")
    assert released.rows == {"articles": rows.num_rows} == {"articles": 3}
    assert (tmp_path / "out/README.md").read_text().startswith("---\n")
    assert released.private == Counter() and released.listed is None


@pytest.mark.parametrize(("name", "open_file"), [("out.jsonl", open), ("out.jsonl.gz", gzip.open)])
def test_json_lines_are_packed_where_the_name_says_so(run, tmp_path, name, open_file):
    write_jsonl(run, [], tmp_path / name, Filter("mask"))
    with open_file(tmp_path / name, "rt") as file:
        assert [json.loads(line)["title"] for line in file] == ["Seed", "A", "B"]
