"""Documents out of files of every kind: each exactly once, in order; what is damaged says so."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import ray
import zstandard

from llmpedia.errors import InputError
from llmpedia.probe.corpus import stream
from llmpedia.probe.corpus.read import read_corpus
from llmpedia.probe.documents import document_id
from llmpedia.tables import table
from tests.support.builders.corpus import archive, dictionary_files, page, prose, read, section
from tests.support.builders.runs import one_line
from tests.support.dictionaries import dictionary

LINES = [{"text": prose(n), "url": f"https://a.example/{n}"} for n in range(3)]


def jsonl(records):
    return "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records).encode()


def told(rows):
    return [(r["number"], r["url"], r["source"], r["fate"]) for r in rows]


def test_all_kinds_of_a_folder_in_order_of_their_paths(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(jsonl([LINES[0]])))
    (tmp_path / "b.jsonl.zst").write_bytes(zstandard.compress(jsonl([LINES[1]])))
    pq.write_table(pa.Table.from_pylist([LINES[2]]), tmp_path / "c.parquet")
    (tmp_path / "d.warc.gz").write_bytes(
        archive([{"url": "https://w.example/", "body": page(prose(3)).encode()}])
    )
    dictionary_files(tmp_path, "e", [(["word"], f"word\n   {prose(4)}\n")])
    (tmp_path / "f.html").write_text(page(prose(5)))
    (tmp_path / "sub" / "g.txt").write_text(prose(6))
    for passed_over in (".hidden.txt", "notes.md", "style.css"):
        (tmp_path / passed_over).write_text(prose(7))
    rows = read(tmp_path)
    assert told(rows) == [
        (0, "https://a.example/0", "a.jsonl.gz", "kept"),
        (1, "https://a.example/1", "b.jsonl.zst", "kept"),
        (2, "https://a.example/2", "c.parquet", "kept"),
        (3, "https://w.example/", "d.warc.gz", "kept"),
        (4, "dict://e/word", "e.dict.dz", "kept"),
        (5, "f.html#0", "f.html", "kept"),
        (6, "sub/g.txt#0", "sub/g.txt", "kept"),
    ]
    assert [r["text"] for r in rows[:3]] == [prose(0), prose(1), prose(2)]
    assert prose(3) in rows[3]["text"] and prose(5) in rows[5]["text"] and "Link 3" not in rows[5]["text"]
    assert (rows[4]["text"], rows[6]["text"]) == (f"word {prose(4)}", prose(6))
    assert [r["document_id"] for r in rows] == [document_id(r["url"], r["text"]) for r in rows]
    assert table("documents", rows).num_rows == 7


def test_one_kind_of_a_folder_and_a_file_whose_name_tells_nothing(tmp_path):
    (tmp_path / "a.txt").write_text(prose(1))
    (tmp_path / "part-0").write_bytes(jsonl(LINES))
    (tmp_path / "b.ndjson").write_bytes(jsonl(LINES[:1]))
    assert [r["source"] for r in read(tmp_path, kind="jsonl")] == ["b.ndjson"]
    assert [r["source"] for r in read(tmp_path / "part-0", kind="jsonl")] == ["part-0"] * 3
    with pytest.raises(InputError) as caught:
        read(tmp_path, kind="warc")
    one_line(caught, "corpus.source", "kind warc")
    with pytest.raises(InputError) as caught:
        read(tmp_path / "part-0")
    one_line(caught, "corpus.source", "set corpus.kind")


def test_nothing_there_is_told_before_the_first_row(tmp_path):
    with pytest.raises(InputError) as caught:
        read_corpus(section(tmp_path / "missing.jsonl"))
    one_line(caught, "corpus.source", "no such file")
    with pytest.raises(InputError) as caught:
        read_corpus(section("nosuch://bucket/x.jsonl"))
    one_line(caught, "corpus.source", "cannot be read")


def test_the_same_files_give_the_same_rows_wherever_they_lie(tmp_path):
    rows = []
    for folder in (tmp_path / "one", tmp_path / "another" / "deep"):
        folder.mkdir(parents=True)
        (folder / "a.jsonl").write_bytes(jsonl([{"text": prose(1)}]))
        rows += [read(folder), read(folder / "a.jsonl"), read(f"file://{folder}")]
    assert all(r == rows[0] for r in rows) and rows[0][0]["url"] == "a.jsonl#0"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{broken", "not JSON"),
        ("[1]", "a list, not an object"),
        ({"text": 3}, "text is no text"),
        ({"body": "x"}, "text is no text"),
        (r'{"text": "\ud800 half"}', "half a character"),
        ('{"text": "' + "[" * 5 + "\x01" + '"}', "not JSON"),
    ],
)
def test_a_damaged_line_is_a_row_that_says_why(tmp_path, line, why):
    (tmp_path / "a.jsonl").write_bytes(b"\n" + jsonl([line]) + b"\n" + jsonl(LINES[:1]))
    bad, good = read(tmp_path / "a.jsonl")
    assert (bad["fate"], bad["url"], bad["text"], bad["document_id"]) == (
        "unreadable",
        "a.jsonl#0",
        None,
        None,
    )
    assert why in bad["reason"]
    assert (good["number"], good["fate"], good["text"]) == (1, "kept", prose(0))


def test_fields_of_other_names_and_below_others(tmp_path):
    rows = [{"content": prose(n), "meta": {"uri": f"https://m.example/{n}"}, "a.b": "x"} for n in range(2)]
    (tmp_path / "a.jsonl").write_bytes(jsonl(rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "b.parquet")
    found = [read(tmp_path / name, text="content", url="meta.uri") for name in ("a.jsonl", "b.parquet")]
    assert [[(r["url"], r["text"]) for r in some] for some in found] == [
        [(r["meta"]["uri"], r["content"]) for r in rows]
    ] * 2


def test_parquet_tells_its_columns_and_bad_values(tmp_path):
    texts = pa.array([prose(0).encode(), b"\xff" * 300, None], pa.binary()).cast(pa.string(), safe=False)
    pq.write_table(pa.table({"text": texts}), tmp_path / "a.parquet")
    rows = read(tmp_path / "a.parquet")
    assert told(rows) == [
        (n, f"a.parquet#{n}", "a.parquet", fate) for n, fate in enumerate(["kept", *["unreadable"] * 2])
    ]
    assert [r["reason"] for r in rows] == [None, "text is not UTF-8", "text is no text"]
    with pytest.raises(InputError) as caught:
        read(tmp_path / "a.parquet", text="body")
    one_line(caught, "corpus.text = 'body'", "no column")


def test_a_damaged_file_is_named_after_what_could_be_read(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(jsonl(LINES * 500))[:-20])
    found = []
    with pytest.raises(InputError) as caught:
        found.extend(read_corpus(section(tmp_path)))
    one_line(caught, "a.jsonl.gz", f"damaged after {len(found)} documents")
    assert len(found) > 1000
    pq.write_table(pa.Table.from_pylist(LINES), tmp_path / "b.parquet")
    (tmp_path / "b.parquet").write_bytes((tmp_path / "b.parquet").read_bytes()[:-30])
    with pytest.raises(InputError) as caught:
        read(tmp_path / "b.parquet")
    one_line(caught, "b.parquet", "damaged after 0")


RECORDS = [
    {
        "url": "https://w.example/info",
        "body": b"software: x",
        "kind": "warcinfo",
        "content_type": "application/warc-fields",
    },
    {"url": "https://w.example/0", "body": page(prose(0)).encode()},
    {
        "url": "https://w.example/1",
        "body": gzip.compress(page(prose(1)).encode()),
        "more": "Content-Encoding: gzip\r\n",
    },
    {"url": "https://w.example/img", "body": b"\x89PNG", "content_type": "image/png"},
    {"url": "https://w.example/gone", "body": page(prose(9)).encode(), "status": "404 Not Found"},
    {"url": "https://w.example/lies", "body": b"no gzip at all", "more": "Content-Encoding: gzip\r\n"},
    {
        "url": "https://w.example/2",
        "body": page("été " + prose(2)).encode("latin-1"),
        "content_type": "text/html; charset=latin-1",
    },
    {
        "url": "https://w.example/3",
        "body": prose(3).encode(),
        "kind": "conversion",
        "content_type": "text/plain",
    },
]


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz", "a.warc.wet.gz"])
def test_pages_and_texts_of_an_archive_and_nothing_else(tmp_path, name):
    (tmp_path / name).write_bytes(archive(RECORDS, name.endswith(".gz")))
    rows = read(tmp_path / name)
    assert [(r["url"].rpartition("/")[2], r["fate"]) for r in rows] == [
        ("0", "kept"),
        ("1", "kept"),
        ("lies", "unreadable"),
        ("2", "kept"),
        ("3", "kept"),
    ]
    assert "cannot be decoded" in rows[2]["reason"]
    assert prose(1) in rows[1]["text"] and "été" in rows[3]["text"] and rows[4]["text"] == prose(3)


def test_other_spellings_of_a_record_s_header(tmp_path):
    """The grammar of WARC 1.0 has addresses between angle brackets; types of media are of any case."""
    record = {
        "url": "<https://w.example/0>",
        "body": prose(3).encode(),
        "kind": "conversion",
        "content_type": "Text/Plain",
    }
    (tmp_path / "a.warc").write_bytes(archive([record]))
    assert [(r["url"], r["fate"]) for r in read(tmp_path / "a.warc")] == [("https://w.example/0", "kept")]


@pytest.mark.parametrize("cut", [10, 300, 700, 1100])
@pytest.mark.parametrize("compressed", [True, False])
def test_an_archive_that_ends_within_a_record_is_damaged(tmp_path, compressed, cut):
    """The reader of archives takes any end for the end."""
    whole = archive(
        [*RECORDS, {"url": "https://w.example/4", "body": page(prose(4, 300)).encode()}], compressed
    )
    (tmp_path / "a.warc").write_bytes(whole)
    name = tmp_path / ("b.warc.gz" if compressed else "b.warc")
    name.write_bytes(whole[:-cut])
    with pytest.raises(InputError) as caught:
        read(name)
    one_line(caught, name.name, "damaged after")


def test_an_entry_of_a_dictionary_is_one_document_whatever_its_headwords(tmp_path):
    entries = [
        (["00-database-info", "00-mine"], "About this dictionary. " + prose(9)),
        (
            ["adit", "mine", "adits"],
            f"Adit\n\n   {prose(1, 30)}\n   {prose(2, 30)}\n\n   second\nparagraph\n",
        ),
        (["c++", "no such"], f"C++ {prose(3)}"),
    ]
    index = dictionary_files(tmp_path, "mines", entries, ["torn line", "beyond\tEEEE\tEEEE"])
    rows = read(index)
    assert told(rows) == [
        (0, "mines.dict.dz#0", "mines.dict.dz", "unreadable"),
        (1, "dict://mines/beyond", "mines.dict.dz", "unreadable"),
        (2, "dict://mines/Adit", "mines.dict.dz", "kept"),
        (3, "dict://mines/C%2B%2B", "mines.dict.dz", "kept"),
    ]
    assert "line 1 of the index" in rows[0]["reason"] and "the index puts it at" in rows[1]["reason"]
    assert rows[2]["text"] == f"Adit\n\n{prose(1, 30)} {prose(2, 30)}\n\nsecond paragraph"
    assert read(tmp_path / "mines.dict.dz") == read(tmp_path) == rows


def test_a_dictionary_without_its_index_or_its_texts_is_refused(tmp_path):
    index = dictionary_files(tmp_path, "one", [(["a"], "a")])
    index.rename(tmp_path / "other.index")
    with pytest.raises(InputError) as caught:
        read(tmp_path)
    one_line(caught, "one.dict.dz", "without its index")
    with pytest.raises(InputError) as caught:
        read(tmp_path / "other.index")
    one_line(caught, "other.index", "no dictionary")


def test_a_real_dictionary_is_read_whole():
    """The Jargon File, as Debian ships it: 2,314 lines of the index, seven of them on the
    dictionary itself.
    """
    rows = read(dictionary("jargon"), least_chars=0)
    assert len(rows) == 2307 and {r["source"] for r in rows} == {"jargon.dict.dz"}
    assert sum(r["fate"] == "kept" for r in rows) > 2000
    foo = next(r for r in rows if r["url"] == "dict://jargon/foo")
    assert "metasyntactic" in foo["text"]
    assert not any(r["url"].startswith("dict://jargon/00-") or r["fate"] == "unreadable" for r in rows)


def test_no_more_documents_than_asked_are_read(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(jsonl(["{broken", *LINES]))
    (tmp_path / "b.jsonl.gz").write_bytes(b"not read, or it would be damaged")
    assert [r["fate"] for r in read(tmp_path, documents=4)] == ["unreadable", "kept", "kept", "kept"]


def many(folder):
    """Files of several kinds and sizes, so that on Ray later ones are ready first."""
    (folder / "a.jsonl").write_bytes(jsonl([{"text": prose(n % 900)} for n in range(1500)]))
    (folder / "b.warc.gz").write_bytes(
        archive([{"url": f"https://w.example/{n}", "body": page(prose(n)).encode()} for n in range(890, 960)])
    )
    for n in range(20):
        (folder / f"c{n:02}.txt").write_text(prose(2000 + n))


@pytest.mark.real
def test_ray_gives_the_same_rows_in_the_same_order(tmp_path, head, monkeypatch):
    many(tmp_path)
    monkeypatch.setattr(stream, "_BLOCK", 50_000)
    here = read(tmp_path)
    whole = (tmp_path / "b.warc.gz").read_bytes()
    assert len(here) == 1590 and {r["fate"] for r in here} == {"kept", "exact_duplicate", "near_duplicate"}
    (tmp_path / "b.warc.gz").write_bytes(whole[:-100])
    damaged_here = until_damaged(tmp_path)
    ray.init(address=head.address, log_to_driver=False, logging_level="ERROR")
    try:
        monkeypatch.setattr(stream, "_here", lambda *_: pytest.fail("read in this process"))
        assert until_damaged(tmp_path) == damaged_here
        (tmp_path / "b.warc.gz").write_bytes(whole)
        assert read(tmp_path) == here
        assert read(tmp_path, documents=1530) == here[:1530]
        assert not ray.data.DataContext.get_current().execution_options.preserve_order
    finally:
        ray.shutdown()


def until_damaged(folder):
    """The rows that are had before a damaged file is met, and what is said of it."""
    found = []
    with pytest.raises(InputError) as caught:
        found.extend(read_corpus(section(folder)))
    assert 1500 < len(found) < 1570
    return found, one_line(caught, "b.warc.gz", f"damaged after {len(found) - 1500} documents")
