"""Tests of where sentences of plain text end."""

import pytest

from llmpedia.site.text.sentences import sentence_cuts


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It was. It is.", ["It was.", "It is."]),
        ("Dr. Smith met St. John. Then left.", ["Dr. Smith met St. John.", "Then left."]),
        ("He joined NASA. Then left.", ["He joined NASA.", "Then left."]),
        ("  One.\n\nTwo  ", ["One.", "Two"]),
        ("", []),
    ],
)
def test_sentences_end_at_marks_and_not_behind_abbreviations(text, sentences):
    assert [text[start:end] for start, end in sentence_cuts(text, [])] == sentences


def test_no_cut_falls_into_a_part_that_is_whole():
    text = "It quotes A. B. Here it ends. So."
    whole = [(text.index("A."), text.index(" So."))]
    assert [text[start:end] for start, end in sentence_cuts(text, whole)] == [text[:-4], "So."]
