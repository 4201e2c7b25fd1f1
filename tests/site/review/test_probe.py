"""Tests of what pages show of a group of a probe."""

from llmpedia.site.review.probe import marked


def test_quoted_words_are_marked_where_they_stand_and_no_text_is_lost():
    text = "The mill was built in 1820 by Ann."
    pieces = marked(text, ["by Ann", "built in 1820"])
    assert "".join(bit.text for bit in pieces) == text
    assert [bit.text for bit in pieces if bit.hit] == ["built in 1820", "by Ann"]
    assert [bit.hit for bit in marked(text, ["no such words"])] == [False]
