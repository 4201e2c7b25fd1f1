"""llmpedia/analysis/output/formats.py: the same rows in every form, nulls and hostile text among
them.
"""

import csv
import json

import pyarrow.parquet as pq
import pytest

from llmpedia.analysis.output.formats import (
    as_latex,
    as_markdown,
    as_text,
    columns_of,
    write_table,
    write_tables,
)
from llmpedia.errors import InputError

ROWS = [
    {
        "subject_id": 12345,
        "name": "A & B",
        "n": 1234,
        "share": 0.123456,
        "strata": ["random", "hop"],
        "ok": True,
    },
    {"subject_id": 2, "name": None, "n": None, "share": None, "strata": [], "ok": False},
]


@pytest.fixture
def files(tmp_path):
    return {path.suffix: path for path in write_table(ROWS, tmp_path / "deep" / "table_1")}


def read(path):
    return pq.ParquetFile(path).read(use_threads=False)


def test_four_forms_are_written(files):
    assert set(files) == {".parquet", ".csv", ".md", ".tex"}
    assert all(path.exists() for path in files.values())


def test_parquet_holds_the_very_rows(files):
    assert read(files[".parquet"]).to_pylist() == ROWS


def test_a_column_that_only_later_rows_have_is_kept(tmp_path):
    """pyarrow takes the columns of the first row and drops the others without a word."""
    write_table([{"a": 1}, {"a": 2, "b": 3}], tmp_path / "t")
    assert read(tmp_path / "t.parquet").to_pylist() == [{"a": 1, "b": None}, {"a": 2, "b": 3}]


def test_columns_stand_in_the_order_of_their_first_row():
    assert columns_of([{"b": 1, "a": 2}, {"c": 3, "a": 4}]) == ["b", "a", "c"]


def test_whole_and_broken_numbers_mix(tmp_path):
    write_table([{"a": 1}, {"a": 2.5}], tmp_path / "t")
    assert read(tmp_path / "t.parquet")["a"].to_pylist() == [1.0, 2.5]


def test_a_column_of_nulls_can_be_written(tmp_path):
    write_table([{"a": None}], tmp_path / "t")
    assert read(tmp_path / "t.parquet")["a"].to_pylist() == [None]


def test_csv_has_empty_cells_for_null_and_json_for_lists(files):
    with files[".csv"].open(newline="", encoding="utf-8") as file:
        first, second = csv.DictReader(file)
    assert (second["name"], second["n"], second["share"]) == ("", "", "")
    assert json.loads(first["strata"]) == ["random", "hop"]
    assert (first["share"], first["ok"]) == ("0.123456", "true")


def test_text_shows_null_as_a_dash(files):
    assert files[".md"].read_text().splitlines()[-1] == "| 2 | - | - | - |  | no |"


def test_markdown_aligns_numbers_to_the_right():
    assert as_markdown(ROWS).splitlines()[1] == "| ---: | :--- | ---: | ---: | :--- | :--- |"


def test_numbers_are_grouped_but_ids_are_not():
    assert as_markdown(ROWS).splitlines()[2] == "| 12345 | A & B | 1,234 | 0.1235 | random, hop | yes |"


def test_markdown_keeps_cells_apart_and_markup_dead():
    (line,) = as_markdown([{"a": "x | y\nz <b> [t](u) \\"}]).splitlines()[2:]
    assert line == "| x \\| y z \\<b> \\[t](u) \\\\ |"


def test_latex_is_a_booktabs_table():
    assert as_latex([{"a": "x", "n": 1.5}]).splitlines() == [
        "% needs \\usepackage{booktabs}",
        "\\begin{tabular}{lr}",
        "\\toprule",
        "a & n \\\\",
        "\\midrule",
        "x & 1.5 \\\\",
        "\\bottomrule",
        "\\end{tabular}",
    ]


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("A & B", r"A \& B"),
        ("50%", r"50\%"),
        ("a_b", r"a\_b"),
        ("$x$", r"\$x\$"),
        ("#{}", r"\#\{\}"),
        ("\\input{x}", r"\textbackslash{}input\{x\}"),
        ("a~b^c", r"a\textasciitilde{}b\textasciicircum{}c"),
        ("a<b>c", r"a\textless{}b\textgreater{}c"),
    ],
)
def test_latex_escapes_what_it_would_run(text, escaped):
    assert as_latex([{"t": text}]).splitlines()[5] == f"{escaped} \\\\"


@pytest.mark.parametrize("text", ["[2pt]", "*"])
def test_a_row_cannot_become_an_argument_of_the_line_end_before(text):
    r"""``\\ [2pt]`` is a line end with space, ``\\*`` one without a page break."""
    assert as_latex([{"t": text}]).splitlines()[5].startswith("{")


def test_latex_escapes_column_names():
    assert as_latex([{"true_pct": 1}]).splitlines()[3] == r"true\_pct \\"


def test_text_stands_in_columns():
    assert (
        as_text("t", [{"a": 1, "bb": "x"}, {"a": 1000, "bb": None}])
        == "t\n  a      bb\n  1      x\n  1,000  -\n"
    )


def test_a_single_row_stands_upright():
    assert as_text("t", [{"a": 1, "long": None}]) == "t\n  a     1\n  long  -\n"


def test_text_without_rows_says_so():
    assert as_text("t", []) == "t\n  (no rows)\n"


def test_no_rows_make_no_files(tmp_path):
    assert write_table([], tmp_path / "t") == []
    assert list(tmp_path.iterdir()) == []


def test_a_name_with_a_dot_stays_whole(tmp_path):
    assert write_table([{"a": 1}], tmp_path / "gpt-4.1")[1].name == "gpt-4.1.csv"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_refused(tmp_path, value):
    with pytest.raises(InputError, match=r"table t, row 2: a = (nan|inf)"):
        write_table([{"a": 1.0}, {"a": value}], tmp_path / "t")


def test_a_column_of_mixed_kinds_is_refused(tmp_path):
    with pytest.raises(InputError, match="table t: column a mixes kinds"):
        write_table([{"a": 1}, {"a": "x"}], tmp_path / "t")


def test_tables_are_written_under_their_names(tmp_path):
    paths = write_tables({"one": [{"a": 1}], "none": [], "two": [{"a": 1}]}, tmp_path)
    assert {p.stem for p in paths} == {"one", "two"}
