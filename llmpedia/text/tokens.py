"""Words of texts in whatever script: patterns that cut them, and hashes that stand for them."""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from zlib import crc32

import numpy as np
import numpy.typing as npt

from llmpedia.text.scripts import HANGUL, UNSPACED, is_joined

# Beyond this code point the scripts of the table hold letters alone.
_LAST_WITH_PUNCTUATION = 0xFFFF
_DECOMPOSED = re.compile("[\u1100-\u11ff]+|.[\u3099\u309a]", re.S)


def unit_pattern(left_out: str = "") -> re.Pattern[str]:
    r"""A pattern of words, where each character of a script without spaces stands for a word.

    Args:
        left_out: what is no part of other words either, as it stands inside ``[...]``: ``_``,
        ``\d``.
    """
    return re.compile(rf"[{UNSPACED}]|[^\W{left_out}{UNSPACED}]+")


@cache
def run_pattern() -> re.Pattern[str]:
    """A pattern of runs of letters and digits, with the ``+`` and ``#`` of names such as C++.

    A run ends where a script whose words may touch begins or ends: NASA is a word of "NASAが". Vowel
    signs of such scripts are part of their runs; marks of other scripts are not, which suits texts
    whose accents are taken off before.
    """
    chars = map(chr, range(_LAST_WITH_PUNCTUATION + 1))
    marks = "".join(c for c in chars if is_joined(c) and unicodedata.category(c)[0] in "PSZ")
    joined = UNSPACED + HANGUL
    return re.compile(rf"(?:(?![{re.escape(marks)}])[{joined}])+|[^\W_{joined}]+(?:[+#]+)?")


def recomposed(text: str) -> str:
    """The text with Korean syllables and voiced kana in one piece again, all else as it is.

    A decomposed text holds か in が, and 서 in 설.
    """
    return _DECOMPOSED.sub(lambda match: unicodedata.normalize("NFC", match.group()), text)


def word_hashes(words: Iterable[str]) -> npt.NDArray[np.uint32]:
    """A hash of each word in turn, the same in every process; half characters are hashed as well."""
    return np.fromiter((crc32(word.encode(errors="surrogatepass")) for word in words), np.uint32)
