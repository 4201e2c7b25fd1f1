"""Text as it is searched and sorted: words without case, accents and punctuation, whatever the
script.

Characters of scripts that put no space between words (Chinese, Japanese, Thai, ...) become words of
their own, as do Korean syllables, to which particles are attached; a run of them is searched as a
phrase. Both the texts and the queries pass here, so that an index needs no more than to split at
spaces.
"""

import unicodedata

from llmpedia.text.scripts import is_joined

# Accents and points that readers leave out. Vowel signs of Indic scripts are marks as well, and are
# kept.
_ACCENTS = (
    *(
        (0x0300, 0x036F),
        (0x0483, 0x0487),
        (0x0591, 0x05C7),
        (0x0610, 0x061A),
        (0x064B, 0x065F),
        (0x0670, 0x0670),
    ),
    *((0x06D6, 0x06ED), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE20, 0xFE2F)),
)
_ALIKE = dict(
    zip("đðøłħıŧæœþə\u0640", ["d", "d", "o", "l", "h", "i", "t", "ae", "oe", "th", "a", ""], strict=True)
)


class _Pieces(dict[int, str]):
    """Code point -> what it becomes; worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = piece = _piece(chr(code))
        return piece


def tokens(text: str) -> str:
    """The words of a text with one space between each two."""
    return " ".join(spaced(text).split())


def spaced(text: str) -> str:
    """The words of a text, with spaces for all that stands between them; faster than
    :func:`tokens`.
    """
    return unicodedata.normalize("NFKC", text).translate(_PIECES)


def pieces(text: str) -> list[str]:
    """What each character becomes, in the order of the text."""
    return [_PIECES[ord(char)] for char in text]


def _piece(char: str) -> str:
    if char.isascii():
        return char.lower() if char.isalnum() else " "
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", char).casefold())
    kept = unicodedata.normalize("NFC", "".join(_ALIKE.get(c, c) for c in folded if not _is_accent(c)))
    return "".join(_placed(c) for c in kept)


def _placed(char: str) -> str:
    kind = unicodedata.category(char)
    if kind[0] not in "LNM":
        return " "
    return f" {char} " if is_joined(char) else char


def _is_accent(char: str) -> bool:
    return any(low <= ord(char) <= high for low, high in _ACCENTS)


_PIECES = _Pieces()
