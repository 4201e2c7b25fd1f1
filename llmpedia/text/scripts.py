"""Which scripts put no space between words. One table, for all that cuts texts into words.

The ranges are blocks of the Unicode standard, whole: letters, marks and signs of a script stand
together, and so its vowel signs never part a word. They are given as they stand inside ``[...]`` of
a regular expression.
"""

import re

_CHINESE_AND_JAPANESE = (
    "\u2e80-\u2fdf"  # radicals
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c"  # iteration marks, zero, numerals
    "\u3040-\u312f\u31a0-\u31ff"  # Hiragana, Katakana, Bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uff66-\uff9f\U0001aff0-\U0001b16f"  # halfwidth Katakana, old kana
)
_SOUTH_EAST_ASIAN = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f"  # Myanmar (Burmese, Shan, Mon, ...)
    "\u1780-\u17ff\u19e0-\u19ff"  # Khmer
    "\u1950-\u19df\u1a20-\u1aaf\uaa80-\uaadf"  # Tai Le, New Tai Lue, Tai Tham, Tai Viet
    "\u1b00-\u1b7f\ua980-\ua9df"  # Balinese, Javanese
)
_OTHERS = (
    "\u0f00-\u0fff"  # Tibetan: a mark after each syllable, none after a word
    "\ua000-\ua4cf"  # Yi
    "\U00017000-\U00018d8f\U0001b170-\U0001b2ff"  # Tangut, Nushu
)
UNSPACED = _CHINESE_AND_JAPANESE + _SOUTH_EAST_ASIAN + _OTHERS
"""Characters of scripts that put no space between words. Hangul is none of them: Korean has spaces."""
HANGUL = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
"""Korean. Its words have spaces between them, yet particles are attached to them: what looks for a
word inside of a text, as search and the choice of passages do, has to treat it like the unspaced
ones."""

_UNSPACED = re.compile(f"[{UNSPACED}]")
_HANGUL = re.compile(f"[{HANGUL}]")
_JOINED = re.compile(f"[{UNSPACED}{HANGUL}]")


def has_unspaced(text: str) -> bool:
    """Whether any character of a text is of a script without spaces between words."""
    return _UNSPACED.search(text) is not None


def has_hangul(text: str) -> bool:
    """Whether any character of a text is Korean."""
    return _HANGUL.search(text) is not None


def is_joined(char: str) -> bool:
    """Whether a character may stand next to another word's without a space: unspaced scripts, and
    Hangul.
    """
    return _JOINED.match(char) is not None
