"""llmpedia/probe/pipeline/review_sheet.py: sheets of groups, what a reader may get wrong, decisions
as checks.
"""

import csv

import pytest

from llmpedia.errors import InputError
from llmpedia.probe.documents import Document
from llmpedia.probe.pipeline.review_sheet import REASONS, ReviewItem, read_sheet, write_sheet
from llmpedia.tables import table
from tests.support.builders.runs import one_line

SPAN = "The tower was built in 1871 to plans of the board."
TEXT = (
    f"Marrow Point lies in the north. It has a tower. {SPAN} Its keeper was J. Orr. Nobody lives there now."
)
URL = "https://seeds.org/a"
READ = [
    {"account": 0, "supported": True, "url": URL, "quote": SPAN},
    {"account": 1, "supported": False, "url": None, "quote": None},
]
WEB = [
    {"account": 0, "supported": True, "url": "https://lights.org/", "quote": "Built in 1871 by the board."}
]


def item(n=0, **changed):
    answers = [
        {"value": "1871", "documents": [12], "spans": ["the TOWER was  built in 1871"]},
        {"value": "1874", "documents": [15, 99], "spans": ["erected in 1874"]},
    ]
    told = {
        "group_id": f"group-{n}",
        "named_entity": "When was the tower of Marrow Point built?",
        "clue_based": "When was the tower of a northern cape built?",
        "answers": answers,
        "documents": (Document(12, URL, TEXT), Document(15, "corpus.jsonl:3", "A tower, erected in 1874.")),
        "read": READ,
        "web": WEB,
    }
    return ReviewItem(**{**told, **changed})


def sheet(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def save(path, rows, delimiter=","):
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


KNOWN = {f"group-{n}" for n in range(3)}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "review.csv"
    write_sheet([item(n) for n in range(3)], path)
    return path


def filled(path, *decisions, delimiter=","):
    """The sheet read back after row by row was filled with (decision, reason, comment, reviewer)."""
    rows = sheet(path)
    for row, told in zip(rows, decisions, strict=False):
        row |= dict(zip(("decision", "reason", "comment", "reviewer"), told, strict=False))
    save(path, rows, delimiter)
    return read_sheet(path, KNOWN)


def test_the_reader_sees_questions_accounts_words_and_quotes(path):
    row = sheet(path)[0]
    assert row["question"].startswith("When was the tower of Marrow") and row["second_question"].endswith(
        "cape built?"
    )
    assert row["accounts"] == "1. 1871\n2. 1874"
    assert row["read_quotes"] == f"1. {URL}: {SPAN}\n2. not supported"
    assert row["web_quotes"] == "1. https://lights.org/: Built in 1871 by the board."
    assert list(row)[-4:] == ["decision", "reason", "comment", "reviewer"]


def test_documents_are_shown_by_the_sentence_of_the_span_and_its_neighbours(path):
    row = sheet(path)[0]
    assert (
        row["documents_1"] == f"Account 1, document 12: {URL}\nIt has a tower. {SPAN} Its keeper was J. Orr."
    )
    assert row["documents_2"] == "Account 2, document 15: corpus.jsonl:3\nA tower, erected in 1874."
    assert row["documents_3"] == "Account 2, document 99: its text was not kept"


def test_a_document_that_holds_no_span_says_so_and_far_spans_are_apart(tmp_path):
    far = f"{SPAN} {' '.join(f'Line {i} is of no use.' for i in range(9))} Die Straße is of 1874."
    answers = [{"value": "1871", "documents": [12, 15], "spans": [SPAN, "die strasse IS of 1874"]}]
    documents = (Document(12, URL, far), Document(15, URL, "Nothing here."))
    write_sheet([item(answers=answers, documents=documents)], tmp_path / "s.csv")
    row = sheet(tmp_path / "s.csv")[0]
    assert row["documents_1"].endswith(
        f"{SPAN} Line 0 is of no use. [...] Line 8 is of no use. Die Straße is of 1874."
    )
    assert row["documents_2"].endswith("it holds none of the words that were quoted")


def test_no_cell_is_a_formula_or_longer_than_spreadsheets_keep(tmp_path):
    long = f"=HYPERLINK({'x' * 1000}) " * 50
    answers = [{"value": "=1+1", "documents": [12], "spans": [long.strip()]}]
    hostile = item(named_entity="@SUM(A1)", answers=answers, documents=(Document(12, "-url", long),), web=())
    write_sheet([hostile], tmp_path / "s.csv")
    for value in sheet(tmp_path / "s.csv")[0].values():
        assert value[:1] not in ("=", "+", "-", "@") and len(value) <= 32_767
    assert read_sheet(tmp_path / "s.csv", {"group-0"}).unfilled == 1


def test_a_sheet_that_is_there_is_not_written_over(path):
    with pytest.raises(InputError, match="is there already"):
        write_sheet([item()], path)


def test_nothing_to_review_is_told(tmp_path):
    with pytest.raises(InputError) as caught:
        write_sheet([], tmp_path / "s.csv")
    one_line(caught, "s.csv", "no group to review")


def test_decisions_become_checks_and_unfilled_rows_are_counted(path):
    read = filled(path, ("Accept ", "", "fine", "Ann"), ("reject", "Answer_Leak", "says\n1871"))
    assert [(r["group_id"], r["fate"], r["reason"], r["by"]) for r in read.rows] == [
        ("group-0", "kept", None, "Ann"),
        ("group-1", "rejected", "answer_leak: says 1871", "review.csv"),
    ]
    assert read.unfilled == 1
    assert table("checks", read.rows)["check"].to_pylist() == ["review"] * 2


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_can_be_given(path, reason):
    assert filled(path, ("reject", reason)).rows[0]["reason"] == reason


def test_a_sheet_saved_with_semicolons_is_read(path):
    assert len(filled(path, ("accept", ""), delimiter=";").rows) == 1


def test_a_sheet_nobody_filled_has_no_decision(path):
    read = read_sheet(path, KNOWN)
    assert (read.rows, read.unfilled) == ([], 3)


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (("yes", ""), "has decision = 'yes'; must be accept or reject"),
        (("", "other"), "has decision = ''; must be accept or reject"),
        (("reject", ""), "has reason = ''; must be one of entity_mismatch, "),
        (("reject", "boring"), "has reason = 'boring'; must be one of entity_mismatch, "),
        (("accept", "other"), "has decision = accept with reason = other; must be empty"),
    ],
)
def test_wrong_words_are_named_with_their_row(path, told, why):
    with pytest.raises(InputError) as caught:
        filled(path, ("accept", ""), told)
    one_line(caught, "review.csv", "1 rows cannot be used", f"row 3 (group group-1) {why}")


def change(path, **changed):
    rows = sheet(path)
    rows[0] |= {"decision": "accept", **changed}
    save(path, rows)
    return read_sheet(path, KNOWN)


@pytest.mark.parametrize(
    "column",
    [
        "question",
        "second_question",
        "accounts",
        "documents_1",
        "documents_3",
        "read_quotes",
        "web_quotes",
        "seal",
    ],
)
def test_a_decision_on_other_texts_than_were_written_is_refused(path, column):
    with pytest.raises(InputError) as caught:
        change(path, **{column: "1874"})
    one_line(caught, "row 2 (group group-0) shows other texts than were written")


def test_what_spreadsheets_do_to_white_space_is_no_other_text(path):
    row = sheet(path)[0]
    assert len(change(path, documents_1=row["documents_1"].replace("\n", "\r\n") + " ").rows) == 1


def test_a_group_of_another_build_is_refused(path):
    save(path, [{**row, "decision": "accept"} for row in sheet(path)])
    with pytest.raises(InputError) as caught:
        read_sheet(path, KNOWN - {"group-2"})
    one_line(caught, "row 4 (group group-2) is no group of this build")


def test_a_lost_column_is_named(path):
    save(path, [{k: v for k, v in row.items() if k != "seal"} for row in sheet(path)])
    with pytest.raises(InputError) as caught:
        read_sheet(path, KNOWN)
    one_line(caught, "no column seal")


def twice(path, first, second):
    row = sheet(path)[0]
    save(path, [{**row, **first}, {**row, **second}])
    return read_sheet(path, KNOWN)


def test_two_readers_who_agree_make_one_decision(path):
    ann = {"decision": "accept", "reviewer": "Ann"}
    read = twice(path, ann, {"decision": "accept", "reviewer": "Bo"})
    assert [(r["fate"], r["by"]) for r in read.rows] == [("kept", "Ann, Bo")]
    assert twice(path, ann, ann).rows[0]["by"] == "Ann"


def test_two_readers_who_disagree_decide_nothing(path):
    with pytest.raises(InputError) as caught:
        twice(path, {"decision": "accept"}, {"decision": "reject", "reason": "other"})
    one_line(caught, "row 3 (group group-0) is rejected here and kept before; agree on one")


def test_the_same_groups_make_the_same_sheet(tmp_path):
    for name in ("a.csv", "b.csv"):
        write_sheet([item(n) for n in range(3)], tmp_path / name)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
