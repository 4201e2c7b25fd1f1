"""Tests of the part of a text that is shown for a hit."""

from llmpedia.site.text.snippets import excerpt


def test_an_excerpt_marks_characters_of_scripts_without_spaces():
    assert excerpt("彼は東京タワーに行く", [(("東", "京"), True)]) == "彼は\x02東京\x03タワーに行く"
    assert excerpt("e\u0301cole, école", [(("ecole",), False)]) == "\x02e\u0301cole\x03, \x02école\x03"
    assert excerpt("", [(("x",), True)]) == ""
