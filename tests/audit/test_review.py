"""llmpedia/audit/review.py: balanced sheets, what a reader may get wrong, agreement by hand-counted
tables.
"""

import csv
from itertools import pairwise

import pytest

from llmpedia.audit.review import agreement, agreement_by_tier, key_path, read_sheet, write_sheet
from llmpedia.errors import InputError
from llmpedia.review_csv import safe_cell

CLASSES = ("supported", "refuted", "insufficient")
THREE = dict.fromkeys(CLASSES, 2)


def judged(n=5, evidence=("passage one", "passage two"), text="A claim."):
    """n rows of each verdict."""
    return [
        {
            "claim_id": i * n + j,
            "tier": "wikipedia",
            "name": f"Subject {j}",
            "text": text,
            "evidence": list(evidence),
            "verdict": verdict,
            "error_type": "temporal" if verdict == "refuted" else None,
            "confidence": 0.5,
            "explanation": "so",
        }
        for i, verdict in enumerate(CLASSES)
        for j in range(n)
    ]


def sheet(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(path, change, delimiter=",", encoding="utf-8-sig"):
    """Write the sheet as a reader would leave it: ``change(number of the row from 0, row)`` alters
    a row in place.
    """
    rows = sheet(path)
    for i, row in enumerate(rows):
        change(i, row)
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def agree(i, row):
    row["agree"] = "yes"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "sheet.csv"
    write_sheet(judged(), path, THREE, 1, False)
    return path


@pytest.fixture
def hidden(tmp_path):
    path = tmp_path / "hidden.csv"
    write_sheet(judged(), path, THREE, 1, True)
    return path


def test_each_class_has_its_number(path):
    assert sorted(r["judge_verdict"] for r in sheet(path)) == sorted(CLASSES * 2)


def test_the_sheet_begins_with_a_byte_order_mark(path):
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")


def test_the_reader_sees_claim_evidence_and_verdict(path):
    row = sheet(path)[0]
    assert (row["claim"], row["evidence_1"], row["evidence_2"]) == ("A claim.", "passage one", "passage two")
    assert list(row)[-3:] == ["agree", "correct_verdict", "comment"]


def test_the_draw_does_not_depend_on_the_order_of_rows(tmp_path, path):
    write_sheet(judged()[::-1], tmp_path / "other.csv", THREE, 1, False)
    assert (tmp_path / "other.csv").read_bytes() == path.read_bytes()


def test_another_seed_draws_others(tmp_path, path):
    write_sheet(judged(), tmp_path / "other.csv", THREE, 2, False)
    assert (tmp_path / "other.csv").read_bytes() != path.read_bytes()


def test_classes_are_mixed(tmp_path):
    """In the order of classes a reader would know hidden verdicts by the row."""
    write_sheet(judged(30), tmp_path / "s.csv", dict.fromkeys(CLASSES, 30), 1, False)
    order = [r["judge_verdict"] for r in sheet(tmp_path / "s.csv")]
    assert sum(a != b for a, b in pairwise(order)) > 30


def test_a_class_with_too_few_rows_is_told_with_its_number(tmp_path):
    written = write_sheet(judged(5), tmp_path / "s.csv", {"supported": 3, "refuted": 33}, 1, False)
    assert (written.rows, written.by_class) == (8, {"supported": 3, "refuted": 5})
    assert written.short == ("refuted: 5 rows, 33 asked for",)


def test_a_sheet_without_rows_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no row to review \(refuted: 0 rows, 33 asked for\)"):
        write_sheet([], tmp_path / "s.csv", {"refuted": 33}, 1, False)


@pytest.mark.parametrize("balanced", [{"true": 3}, {"supported": 0}, {"supported": -1}])
def test_an_impossible_sample_is_refused(tmp_path, balanced):
    with pytest.raises(InputError, match="balanced sample"):
        write_sheet(judged(), tmp_path / "s.csv", balanced, 1, False)


def test_a_hidden_verdict_is_nowhere_in_the_sheet(tmp_path):
    rows = judged()
    for row in rows:
        row["explanation"] = "telltale"
    write_sheet(rows, tmp_path / "s.csv", THREE, 1, True)
    text = (tmp_path / "s.csv").read_text(encoding="utf-8-sig")
    assert not [word for word in (*CLASSES, "temporal", "telltale", "judge", "agree") if word in text]


def test_the_key_has_the_hidden_verdicts(hidden):
    rows = sheet(key_path(hidden))
    assert sorted(r["judge_verdict"] for r in rows) == sorted(CLASSES * 2)
    assert {r["item"] for r in rows} == {r["item"] for r in sheet(hidden)}


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\n=1", "＝1"])
def test_a_cell_that_a_spreadsheet_would_run_is_text(text):
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["Plain.", "a=b", "", "'quoted'", " "])
def test_other_text_is_as_it_was(text):
    assert safe_cell(text) == text


def test_claims_and_evidence_cannot_run(tmp_path):
    write_sheet(judged(evidence=("=HYPERLINK(1)",), text="@claim"), tmp_path / "s.csv", THREE, 1, False)
    row = sheet(tmp_path / "s.csv")[0]
    assert (row["claim"], row["evidence_1"]) == ("'@claim", "'=HYPERLINK(1)")


def test_a_long_passage_is_whole_over_several_cells(tmp_path):
    """Spreadsheet programs cut a cell after 32,767 characters."""
    long = "word " * 20_000
    write_sheet(judged(evidence=(long,)), tmp_path / "s.csv", THREE, 1, False)
    cells = [v for k, v in sheet(tmp_path / "s.csv")[0].items() if k.startswith("evidence")]
    assert "".join(cells) == long
    assert max(map(len, cells)) < 32_767


def test_evidence_may_be_one_text(tmp_path):
    write_sheet([{**row, "evidence": "all of it"} for row in judged()], tmp_path / "s.csv", THREE, 1, False)
    assert {k: v for k, v in sheet(tmp_path / "s.csv")[0].items() if k.startswith("evidence")} == {
        "evidence_1": "all of it"
    }


def test_a_filled_sheet_is_read(path):
    def reader(i, row):
        agree(i, row)
        if i == 0:
            row.update(
                agree="No ",
                correct_verdict=" Refuted" if row["judge_verdict"] != "refuted" else "supported",
                comment=" why ",
            )

    fill(path, reader)
    rows = read_sheet(path)
    assert [r["human"] == r["judge"] for r in rows] == [False, *[True] * 5]
    assert (rows[0]["comment"], rows[1]["comment"]) == ("why", None)


def test_agreeing_and_repeating_the_class_is_taken(path):
    fill(path, lambda i, row: row.update(agree="yes", correct_verdict=row["judge_verdict"]))
    assert all(r["human"] == r["judge"] for r in read_sheet(path))


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_sheet_saved_with_another_delimiter_is_read(path, delimiter):
    fill(path, agree, delimiter)
    assert len(read_sheet(path)) == 6


def test_evidence_of_several_lines_stays_one_row(tmp_path):
    path = tmp_path / "s.csv"
    write_sheet(judged(evidence=("one\ntwo\r\n\r\nthree",)), path, THREE, 1, False)
    fill(path, agree)
    assert len(read_sheet(path)) == 6


def test_the_class_of_a_hidden_row_is_compared_with_the_key(hidden):
    fill(hidden, lambda i, row: row.update(correct_verdict="supported"))
    rows = read_sheet(hidden)
    assert sorted(r["judge"] for r in rows if r["human"] == "supported") == sorted(CLASSES * 2)


def test_rows_that_are_not_filled_in_are_all_counted_and_three_are_named(tmp_path):
    path = tmp_path / "s.csv"
    write_sheet(judged(5), path, dict.fromkeys(CLASSES, 5), 1, False)
    with pytest.raises(
        InputError, match=r"15 of 15 rows are still open; fill agree of row 2 .*, row 4 [^,]*, \.\.\.$"
    ) as e:
        read_sheet(path)
    assert "row 12 " not in str(e.value)


def change_first(**columns):
    def change(i, row):
        agree(i, row)
        if i == 0:
            row.update(columns)

    return change


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"agree": "maybe"}, "agree = 'maybe'; must be yes or no"),
        ({"agree": "", "correct_verdict": "refuted"}, "agree = ''; must be yes or no"),
        ({"agree": "no"}, "correct_verdict = ''; must be one of"),
        ({"agree": "no", "correct_verdict": "wrong"}, "correct_verdict = 'wrong'; must be one of"),
        ({"correct_verdict": "wrong"}, "correct_verdict = 'wrong'; must be one of"),
    ],
)
def test_a_wrong_value_is_named_with_its_row(path, columns, said):
    fill(path, change_first(**columns))
    with pytest.raises(InputError, match=r"1 rows cannot be used: row 2 \(item wikipedia:\d+\) has " + said):
        read_sheet(path)


def test_disagreeing_and_giving_the_judges_class_is_named(path):
    fill(path, lambda i, row: row.update(agree="no", correct_verdict=row["judge_verdict"]))
    with pytest.raises(InputError, match=r"6 rows.*agree = no with correct_verdict"):
        read_sheet(path)


def test_agreeing_and_giving_another_class_is_named(path):
    other = {"supported": "refuted", "refuted": "insufficient", "insufficient": "supported"}
    fill(path, lambda i, row: row.update(agree="yes", correct_verdict=other[row["judge_verdict"]]))
    with pytest.raises(InputError, match=r"6 rows.*agree = yes with correct_verdict"):
        read_sheet(path)


def test_rows_keep_their_number_behind_empty_ones(path):
    """A line of separators only, as spreadsheet programs leave it, is no row but counts in the
    numbering.
    """
    fill(path, change_first(agree="maybe"))
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    path.write_text("\n".join([lines[0], "," * 13, *lines[1:]]), encoding="utf-8")
    with pytest.raises(InputError, match="1 rows cannot be used: row 3 "):
        read_sheet(path)


def test_a_doubled_row_is_named(path):
    fill(path, agree)
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    path.write_text("\n".join([*lines, lines[1]]), encoding="utf-8")
    with pytest.raises(InputError, match=r"2 rows.*is there more than once"):
        read_sheet(path)


def test_a_row_lost_from_a_hidden_sheet_is_named(hidden):
    fill(hidden, lambda i, row: row.update(correct_verdict="supported"))
    lines = hidden.read_text(encoding="utf-8-sig").splitlines()
    hidden.write_text("\n".join(lines[:-1]), encoding="utf-8")
    with pytest.raises(InputError, match=r"1 rows.*in the key but not in the sheet"):
        read_sheet(hidden)


def test_a_row_that_the_key_does_not_know_is_named(hidden):
    fill(
        hidden,
        lambda i, row: row.update(correct_verdict="supported", item=row["item"] if i else "wikipedia:999"),
    )
    with pytest.raises(InputError, match=r"row 2 .item wikipedia:999. is not an item of the key"):
        read_sheet(hidden)


def test_a_hidden_sheet_without_its_key_is_refused(hidden):
    key_path(hidden).unlink()
    with pytest.raises(InputError, match=r"hidden-key.csv: cannot be read"):
        read_sheet(hidden)


def test_an_altered_verdict_of_the_judge_is_refused(path):
    fill(path, change_first(judge_verdict="sure"))
    with pytest.raises(InputError, match="judge_verdict = 'sure'; do not change this column"):
        read_sheet(path)


def test_a_sheet_without_the_readers_column_is_refused(path):
    path.write_text(path.read_text(encoding="utf-8-sig").replace('"agree"', '"agreed"'), encoding="utf-8")
    with pytest.raises(InputError, match="no column agree"):
        read_sheet(path)


def test_a_sheet_in_another_encoding_is_refused(path):
    path.write_bytes(path.read_text(encoding="utf-8-sig").replace("A claim.", "Café").encode("cp1252"))
    with pytest.raises(InputError, match=r"UnicodeDecodeError.*save the sheet as CSV in UTF-8"):
        read_sheet(path)


@pytest.mark.parametrize("content", ["", "item,agree\n"])
def test_a_sheet_without_rows_cannot_be_read(path, content):
    path.write_text(content)
    with pytest.raises(InputError, match="holds no rows"):
        read_sheet(path)


def read(**moved):
    """Rows by ``judge_human = number``, with the first letters of the classes."""
    names = {c[0]: c for c in CLASSES}
    return [
        {"tier": "wikipedia", "judge": names[key[0]], "human": names[key[1]]}
        for key, n in moved.items()
        for _ in range(n)
    ]


TABLE = read(ss=29, si=4, rr=27, rs=4, ri=2, ii=31, is_=2)


def test_agreement_is_that_of_the_papers_first_tier():
    """Table 11: 87.9, 81.8, 93.9; overall 87.9."""
    rows = agreement(TABLE).rows
    assert [r["class"] for r in rows] == [*CLASSES, "overall"]
    assert [round(100 * r["agreement"], 1) for r in rows] == [87.9, 81.8, 93.9, 87.9]


def test_agreement_has_wilsons_interval():
    row = agreement(TABLE).rows[0]
    assert (row["low"], row["high"]) == pytest.approx((0.727, 0.952), abs=1e-3)


def test_drift_is_the_change_of_class_totals():
    """33/33/33 become 35/27/37."""
    rows = agreement(TABLE).rows
    assert [(r["judged"], r["human"], r["drift"]) for r in rows[:3]] == [
        (33, 35, 2),
        (33, 27, -6),
        (33, 37, 4),
    ]


def test_the_papers_drift_of_class_totals():
    """Appendix E: 33/33/33 -> 37/24/38. Where the rows went is ours: the paper tells totals only."""
    rows = agreement(read(ss=33, rs=4, rr=24, ri=5, ii=33)).rows
    assert [(r["human"], r["drift"]) for r in rows[:3]] == [(37, 4), (24, -9), (38, 5)]


def test_it_is_told_where_the_rows_of_a_class_went():
    row = agreement(TABLE).rows[1]
    assert (row["to_supported"], row["to_refuted"], row["to_insufficient"]) == (4, 27, 2)


def test_kappa_by_hand():
    """20 of 30 agree; chance: (15 * 15 + 15 * 15) / 900 = 1/2; kappa = (2/3 - 1/2) / (1/2) = 1/3."""
    assert agreement(read(ss=10, sr=5, rs=5, rr=10)).kappa == pytest.approx(1 / 3)


def test_kappa_of_one_class_throughout_is_null():
    assert agreement(read(ss=10)).kappa is None


def test_agreement_on_no_row_is_null():
    found = agreement([])
    assert [r["agreement"] for r in found.rows] == [None] * 4
    assert found.kappa is None


def test_tiers_are_apart():
    rows = read(ss=2) + [{**r, "tier": "web"} for r in read(sr=1)]
    assert {tier: a.rows[0]["agreement"] for tier, a in agreement_by_tier(rows).items()} == {
        "web": 0.0,
        "wikipedia": 1.0,
    }


def test_a_sheet_that_is_there_is_not_written_over(tmp_path):
    """It may hold a reader's hours."""
    path = tmp_path / "sheet.csv"
    path.write_text("filled")
    with pytest.raises(InputError, match="is there already"):
        write_sheet([], path, {"supported": 1}, 42, False)
    assert path.read_text() == "filled"
