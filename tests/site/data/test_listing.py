"""Tests of the letters that names stand under."""

import pytest

from llmpedia.site.data.listing import OTHER, letter_of


@pytest.mark.parametrize(
    ("key", "letter"),
    [
        ("zebra", "Z"),
        ("ωmega", "Ω"),
        ("東", "漢"),
        ("か", "あ"),
        ("カ", "あ"),
        ("한", "한"),
        ("1984", OTHER),
        ("", OTHER),
    ],
)
def test_a_name_stands_under_its_letter(key, letter):
    assert letter_of(key) == letter
