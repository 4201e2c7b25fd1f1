"""Questions and answers out of files: both record forms, both formats, and what cannot be used."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from llmpedia.errors import InputError
from llmpedia.perplexity.items import open_source, read_items
from llmpedia.perplexity.settings import ItemsSection

PUBLISHED = {
    "benchmark_id": "EB-000001",
    "item_group_id": "g1",
    "eval": {
        "question": "When was it built?",
        "gold_answers": [{"value": "1871", "spans": ["built in 1871"]}, {"value": "1874", "spans": []}],
        "preferred_answer": "1871",
    },
}


def read(path, **fields):
    settings = ItemsSection(source=str(path), **fields)
    return list(read_items(open_source(settings), settings))


def lines(path, *records):
    path.write_text(
        "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records), encoding="utf-8"
    )
    return path


def test_published_records_are_read_as_they_are(tmp_path):
    (item,) = read(lines(tmp_path / "a.jsonl", PUBLISHED))
    assert (item.item_id, item.question, item.answers, item.error) == (
        "EB-000001",
        "When was it built?",
        ("1871", "1874"),
        None,
    )


def test_plain_records_and_named_fields(tmp_path):
    path = lines(tmp_path / "a.jsonl", {"q": {"text": "Où?"}, "gold": ["là", {"value": "ici"}], "n": 7})
    (item,) = read(path, question="q.text", answers="gold", id="n")
    assert (item.item_id, item.question, item.answers) == ("7", "Où?", ("là", "ici"))


def test_parquet_and_jsonl_give_the_same(tmp_path):
    records = [PUBLISHED, {**PUBLISHED, "benchmark_id": "EB-000002"}]
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet") == read(lines(tmp_path / "a.jsonl", *records))


def test_a_folder_is_read_in_order_of_names_and_compressed_files_too(tmp_path):
    lines(tmp_path / "b.jsonl", {"question": "second", "answers": ["x"]})
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"question": "first", "answers": ["x"]}\n'))
    (tmp_path / "notes.txt").write_text("no items")
    assert [(i.number, i.question) for i in read(tmp_path)] == [(0, "first"), (1, "second")]


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ("{broken", "not JSON"),
        ("[1]", "a list, not an object"),
        ({"question": " ", "answers": ["x"]}, "question is no text"),
        ({"question": "q", "answers": []}, "answers is no list of answers"),
        (r'{"question": "\ud800", "answers": ["x"]}', "half a character"),
        (r'{"question": "q", "answers": [{"value": "\udc00"}]}', "half a character"),
        ({"question": "q", "answers": ["x", 3]}, "answers is no list of answers"),
        (
            {"eval": {"question": "q", "gold_answers": [{"text": "x"}]}},
            "eval.gold_answers is no list of answers",
        ),
    ],
)
def test_an_unusable_item_keeps_its_place_and_says_why(tmp_path, record, why):
    bad, good = read(lines(tmp_path / "a.jsonl", record, {"question": "q", "answers": ["x"]}))
    assert bad.number == 0 and bad.error.startswith("item: ") and why in bad.error
    assert good.number == 1 and good.error is None


@pytest.mark.parametrize("name", ["missing.jsonl", "empty", "table.csv"])
def test_a_source_without_items_is_refused(tmp_path, name):
    (tmp_path / "empty").mkdir()
    (tmp_path / "table.csv").write_text("a,b")
    with pytest.raises(InputError, match=r"items\.source"):
        open_source(ItemsSection(source=str(tmp_path / name)))


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(
        gzip.compress(b'{"question": "q", "answers": ["x"]}\n' * 1000)[:-20]
    )
    with pytest.raises(InputError, match=r"a\.jsonl\.gz"):
        read(tmp_path / "a.jsonl.gz")


def test_the_hash_is_of_the_content(tmp_path):
    first = open_source(ItemsSection(source=str(lines(tmp_path / "a.jsonl", PUBLISHED)))).sha256
    assert (
        open_source(ItemsSection(source=str(lines(tmp_path / "a.jsonl", {**PUBLISHED, "x": 1})))).sha256
        != first
    )
