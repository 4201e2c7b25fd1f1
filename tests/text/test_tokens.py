"""Words of texts: where they are cut in scripts with and without spaces, and what stands for them."""

from zlib import crc32

import pytest

from llmpedia.text.scripts import has_unspaced
from llmpedia.text.tokens import recomposed, run_pattern, unit_pattern, word_hashes


@pytest.mark.parametrize(
    ("left_out", "units"),
    [
        ("", ["ab_c", "東", "京", "x9"]),
        ("_", ["ab", "c", "東", "京", "x9"]),
        (r"\d_", ["ab", "c", "東", "京", "x"]),
    ],
)
def test_a_character_without_spaces_is_a_unit_even_behind_a_latin_word(left_out, units):
    assert unit_pattern(left_out).findall("ab_c東京 x9") == units


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("NASAが打ち上げた", ["NASA", "が打ち上げた"]),
        ("BBC에서 C++, C#", ["BBC", "에서", "C++", "C#"]),
        ("ปีใหม่", ["ปีใหม่"]),
        ("ရန်ကုန်။ မန္တလေး", ["ရန်ကုန်", "မန္တလေး"]),
        ("ལྷ་ས།", ["ལྷ", "ས"]),
        ("Saint_Denis, l'été 1,200", ["Saint", "Denis", "l", "été", "1", "200"]),
    ],
)
def test_runs_end_where_a_script_does_and_keep_its_vowel_signs(text, runs):
    assert run_pattern().findall(text) == runs


def test_decomposed_syllables_and_kana_are_put_together_and_nothing_else_is():
    assert recomposed("\u1109\u1165\u110b\u116e\u11af か\u3099 e\u0301") == "서울 が e\u0301"


def test_old_kana_and_repeat_marks_are_unspaced():
    assert [c for c in "\U0001b000\U0001b150〱〼" if not has_unspaced(c)] == []


def test_hashes_are_of_each_word_in_turn():
    assert word_hashes(["b", "a", "b"]).tolist() == [crc32(b"b"), crc32(b"a"), crc32(b"b")]
    assert word_hashes(["\ud800"]).size == 1
