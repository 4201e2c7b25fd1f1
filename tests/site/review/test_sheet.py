"""Tests of the cells and files of a sheet."""

import pytest

from llmpedia.errors import InputError
from llmpedia.site.review.sheet import Given, SheetItem, State, entered, put_together


def test_what_is_entered_has_lines_that_end_alike_and_nothing_unseen():
    assert entered(" a\r\nb\rc\x00\td ") == "a\nb\nc\td"
    with pytest.raises(InputError, match="shorten"):
        entered("x" * 40_000)


def test_files_are_put_into_a_folder_together_or_not_at_all(tmp_path):
    with put_together(tmp_path) as staging:
        (staging / "a.csv").write_text("1")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    with pytest.raises(ZeroDivisionError), put_together(tmp_path) as staging:
        (staging / "b.csv").write_text("1")
        raise ZeroDivisionError
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_an_answer_with_a_problem_does_not_count():
    row = {"comment": "why"}
    assert SheetItem(1, "id", row, "", State("supported")).decided
    assert not SheetItem(1, "id", row, "", State("supported", "a problem")).decided
    assert not SheetItem(1, "id", row, "", State("")).decided
    assert SheetItem(1, "id", row, "", State("x")).given == Given("x", "why")
