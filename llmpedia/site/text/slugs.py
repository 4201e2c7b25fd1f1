"""The part of an address that names an article: its number first, which alone finds it, then a name
for people.

Whatever a title holds, a slug is made of ``a-z``, ``0-9`` and ``-`` and begins with a digit: a
path, a file name on any system (no ``..``, no CON, no difference of case alone) and a word in a
link. Numbers are unique, and so are slugs.
"""

import re
import unicodedata

MAX_CHARS = 60

_OTHER = re.compile(r"[^a-z0-9]+")
# What NFKD leaves whole.
_LETTERS = str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})
_NUMBER = re.compile(r"(0|[1-9][0-9]{0,17})(?:-[a-z0-9-]*)?")


def slug(number: int, name: str) -> str:
    """``123-ac-dc``: the number and what of the name is plain ASCII, at most 60 characters; ``123``
    if nothing of it is.
    """
    words = ascii_words(name)
    return f"{number}-{words}"[:MAX_CHARS].rstrip("-") if words else str(number)


def ascii_words(text: str) -> str:
    """The letters and digits of a text as small ASCII ones, with a hyphen for all between; empty if
    it has none.
    """
    plain = unicodedata.normalize("NFKD", text.casefold()).translate(_LETTERS)
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return _OTHER.sub("-", plain).strip("-")


def number_in(slug: str) -> int | None:
    """The number that a slug begins with, whatever name follows; None if it is no slug."""
    match = _NUMBER.fullmatch(slug)
    return int(match.group(1)) if match else None
