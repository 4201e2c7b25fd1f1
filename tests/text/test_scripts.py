"""Scripts that put no space between words, by letters that their blocks are made of."""

import re
import unicodedata

import pytest

from llmpedia.text.scripts import HANGUL, UNSPACED, has_unspaced, is_joined

UNSPACED_TEXTS = {
    "Han": "東京大学",
    "Hiragana": "ひらがな",
    "Katakana": "カタカナ",
    "halfwidth Katakana": "ｶﾀｶﾅ",
    "Thai": "ภาษาไทย",
    "Lao": "ພາສາລາວ",
    "Khmer": "ភាសាខ្មែរ",
    "Burmese": "မြန်မာဘာသာ",
    "Tibetan": "བོད་སྐད",
    "Javanese": "ꦧꦱꦗꦮ",
    "Tai Tham": "ᨣᩤᩴᨾᩮᩬᩥᨦ",
    "Yi": "ꆈꌠꉙ",
}
SPACED_TEXTS = ["Berlin", "Ελλάδα", "Москва", "עברית", "العربية", "हिन्दी", "বাংলা", "தமிழ்", "ქართული", "አማርኛ"]


@pytest.mark.parametrize("text", UNSPACED_TEXTS.values(), ids=UNSPACED_TEXTS)
def test_every_character_of_an_unspaced_script_is_one(text):
    """Its marks too: a vowel sign that is left out parts a word in two."""
    assert [unicodedata.name(c) for c in text if not has_unspaced(c)] == []


@pytest.mark.parametrize("text", SPACED_TEXTS)
def test_scripts_with_spaces_are_none(text):
    assert not has_unspaced(text)
    assert not any(is_joined(c) for c in text)


def test_korean_has_spaces_but_its_particles_are_attached():
    assert not has_unspaced("서울에서")
    assert all(is_joined(c) for c in "서울에서ᄀ")


def test_the_ranges_stand_inside_a_character_class():
    pattern = re.compile(f"[{UNSPACED}{HANGUL}]")
    assert [c for c in "0aZ -[]^\\,。" if pattern.match(c)] == []
