"""llmpedia/audit/wikipedia/offline/parquet.py: titles found in any file, row group and row, and
never another row's text.
"""

import asyncio
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from llmpedia.audit.evidence import Outcome
from llmpedia.audit.wikipedia.offline.parquet import WIKIMEDIA, ParquetColumns, ParquetCopy
from llmpedia.errors import InputError, TransientError


def url(title):
    return f"https://en.wikipedia.org/wiki/{title.replace(' ', '_')}"


def write(path, titles, group_rows=7, texts=None):
    texts = texts or [f"Text of {t}." for t in titles]
    rows = {
        "id": [str(i) for i in range(len(titles))],
        "url": [url(t) for t in titles],
        "title": titles,
        "text": texts,
    }
    pq.write_table(pa.table(rows), path, row_group_size=group_rows)
    return path


@pytest.fixture(scope="module")
def titles():
    return ["Vannevar Bush", "IPhone", "AC/DC", "São Paulo", *(f"Page {i}" for i in range(5000))]


@pytest.fixture(scope="module")
def copy(tmp_path_factory, titles):
    folder = tmp_path_factory.mktemp("parquet")
    (folder / "more").mkdir()
    write(folder / "a.parquet", titles[:30])
    write(folder / "more" / "b.parquet", titles[30:], 4000)
    return ParquetCopy(folder, WIKIMEDIA)


def find(copy, subject):
    return asyncio.run(copy.find(subject))


@pytest.mark.parametrize("place", [0, 6, 7, 29, 30, 1053, 1054, 2500, 4029, 4030, 5003])
def test_a_title_anywhere_gives_its_own_text(copy, titles, place):
    (source,) = find(copy, titles[place]).sources
    assert (source.title, source.text, source.url) == (
        titles[place],
        f"Text of {titles[place]}.",
        url(titles[place]),
    )


@pytest.mark.parametrize(
    ("subject", "outcome"),
    [
        ("vannevar_Bush", Outcome.FOUND),
        ("iPhone", Outcome.FOUND),
        ("Sa\u0303o Paulo", Outcome.FOUND),
        ("Page 5000", Outcome.MISSING),
        ("VANNEVAR BUSH", Outcome.MISSING),
        ("C#", Outcome.INVALID),
        ("A|B", Outcome.INVALID),
        ("Category:Engineers", Outcome.INVALID),
    ],
)
def test_each_subject_has_its_outcome(copy, subject, outcome):
    assert find(copy, subject).outcome == outcome


def test_a_revision_unknown_is_none(copy):
    assert [s.revision for s in find(copy, "AC/DC").sources] == [None]


def test_a_title_as_written_is_found_too(tmp_path):
    assert (
        find(ParquetCopy(write(tmp_path / "a.parquet", ["eBay"]), WIKIMEDIA), "eBay").outcome == Outcome.FOUND
    )


def test_of_two_rows_with_a_title_the_first_counts(tmp_path):
    path = write(tmp_path / "a.parquet", ["B", *["A"] * 99], texts=[f"text {i}" for i in range(100)])
    assert find(ParquetCopy(path, WIKIMEDIA), "A").sources[0].text == "text 1"


def test_a_row_without_text_is_a_page_without_text(tmp_path):
    path = write(tmp_path / "a.parquet", ["A", "B"], texts=[None, "b"])
    assert find(ParquetCopy(path, WIKIMEDIA), "A").outcome == Outcome.MISSING


def test_other_columns_and_no_address(tmp_path):
    pq.write_table(pa.table({"name": ["A b"], "body": ["Text."]}), tmp_path / "x.parquet")
    (source,) = find(ParquetCopy(tmp_path / "x.parquet", ParquetColumns("name", "body", None)), "A b").sources
    assert (source.text, source.url) == ("Text.", "parquet:x.parquet/A%20b")


def test_an_empty_table_has_nothing(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({c: pa.array([], pa.string()) for c in ("url", "title", "text")}), path)
    assert find(ParquetCopy(path, WIKIMEDIA), "A").outcome == Outcome.MISSING


def test_a_lacking_column_is_named(tmp_path):
    pq.write_table(pa.table({"title": ["A"], "url": ["u"]}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"x\.parquet: lacks the column 'text'"):
        ParquetCopy(tmp_path / "x.parquet", WIKIMEDIA)


@pytest.mark.parametrize("content", [None, "no parquet"])
def test_what_is_no_parquet_file_is_named(tmp_path, content):
    path = tmp_path / "x.parquet"
    if content:
        path.write_text(content)
    with pytest.raises(InputError, match=r"x\.parquet: cannot be opened") as e:
        ParquetCopy(path, WIKIMEDIA)
    assert "\n" not in str(e.value)


def test_a_folder_without_files_is_named(tmp_path):
    with pytest.raises(InputError, match=r"holds no \.parquet files"):
        ParquetCopy(tmp_path, WIKIMEDIA)


def test_a_failed_read_is_no_missing_page(tmp_path):
    """A network or disk failure was once counted as 'not on Wikipedia'."""
    path = write(tmp_path / "a.parquet", ["A"])
    copy = ParquetCopy(path, WIKIMEDIA)
    asyncio.run(copy.close())
    path.write_text("overwritten")
    with pytest.raises(TransientError, match=r"parquet:a\.parquet"):
        find(copy, "Nobody at all")


def test_a_closed_copy_opens_again(copy):
    asyncio.run(copy.close())
    assert find(copy, "AC/DC").outcome == Outcome.FOUND


def test_many_may_ask_at_once(copy, titles):
    async def all_of(subjects):
        return await asyncio.gather(*(copy.find(s) for s in subjects))

    asked = titles[::50]
    assert [e.sources[0].title for e in asyncio.run(all_of(asked))] == asked


def test_files_of_other_content_have_other_names(copy, tmp_path):
    assert copy.name != ParquetCopy(write(tmp_path / "a.parquet", ["A"]), WIKIMEDIA).name


def test_reading_starts_none_of_pyarrows_threads(tmp_path):
    """Once started, they make about one interpreter in twenty abort as it exits."""
    path = write(tmp_path / "a.parquet", [f"T {i}" for i in range(3000)], 1000)
    program = (
        "import os, sys\n"
        "from llmpedia.audit.wikipedia.offline.parquet import WIKIMEDIA, ParquetCopy\n"
        "before = len(os.listdir('/proc/self/task'))\n"
        f"found = ParquetCopy({str(path)!r}, WIKIMEDIA)._find('T 2999')\n"
        "print(found.outcome.value, len(os.listdir('/proc/self/task')) - before)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["found", "0"]
