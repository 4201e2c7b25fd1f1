"""Tests of the words of a text as it is searched."""

from llmpedia.site.text.normalize import tokens


def test_folding_parts_and_joins_as_readers_expect():
    assert tokens("AC/DC, U.S. & “Café”") == "ac dc u s cafe"
    assert tokens("ﾊﾟﾘ") == tokens("パリ") == "パ リ"
    assert tokens("か\u3099") == tokens("が")
    assert tokens("İSTANBUL ISI") == "istanbul isi"
    assert tokens("\x00\ud800 \u202e") == ""
