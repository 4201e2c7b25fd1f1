"""Entries of DICT dictionaries (dictd): an index of headwords beside one file of texts.

A line of the index holds headword, offset and size, the numbers in base 64. Lines of the same place
name one entry, which is one document.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from urllib.parse import quote

import pyarrow.fs as pafs

from llmpedia.errors import InputError
from llmpedia.probe.corpus.raw import Raw
from llmpedia.store.input_files import open_bytes
from llmpedia.web.page import decode

INDEX = ".index"
ENDINGS = (".dict.dz", ".dict")
_DIGITS = {c: n for n, c in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}
_ABOUT = ("00-database", "00database")  # the dictionary's words on itself
_BETWEEN = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


def texts_of(fs: pafs.FileSystem, path: str) -> str:
    """The file with a dictionary's texts, given that or its index.

    Raises:
        InputError: there is none.
    """
    stem = _stem(path)
    for name in (path, *(stem + ending for ending in ENDINGS)):
        if name.endswith(ENDINGS) and fs.get_file_info(name).type == pafs.FileType.File:
            return name
    raise InputError(f"{path}: no dictionary ({stem}.dict and {stem}.dict.dz are missing); restore it")


def dictd_documents(fs: pafs.FileSystem, path: str) -> Iterator[Raw]:
    """Entries in order of the index; memory holds the whole dictionary. ``path``: of its texts.

    Raises:
        InputError: it has no index.
        OSError: it is damaged.
    """
    stem = _stem(path)
    if fs.get_file_info(stem + INDEX).type != pafs.FileType.File:
        raise InputError(f"{path}: a dictionary without its index ({stem + INDEX} is missing); restore it")
    with open_bytes(fs, stem + INDEX) as stream:
        lines = stream.read().splitlines()
    with open_bytes(fs, path) as stream:
        texts = stream.read()
    name = PurePosixPath(stem).name
    for place, words in _entries(lines).items():
        if isinstance(place, str):
            yield Raw(error=place)
        elif not any(word.startswith(_ABOUT) for word in words):
            yield _entry(name, words, texts, *place)


def _stem(path: str) -> str:
    for ending in (INDEX, *ENDINGS):
        path = path.removesuffix(ending)
    return path


def _entries(lines: list[bytes]) -> dict[tuple[int, int] | str, list[str]]:
    """Headwords by (offset, size), or by what is wrong with their line, in order of the lines."""
    entries: dict[tuple[int, int] | str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        word, *rest = line.split(b"\t")
        try:
            place: tuple[int, int] | str = _number(rest[0]), _number(rest[1])
        except (IndexError, KeyError):
            place = f"line {number} of the index is not headword, offset and size"
        entries.setdefault(place, []).append(word.decode(errors="replace"))
    return entries


def _number(digits: bytes) -> int:
    value = 0
    for digit in digits.decode("latin-1"):
        value = value * 64 + _DIGITS[digit]
    return value


def _entry(name: str, words: list[str], texts: bytes, offset: int, size: int) -> Raw:
    body = texts[offset : offset + size]
    if len(body) < size:
        return Raw(
            _url(name, words[0]),
            error=f"the index puts it at {offset} to {offset + size} of {len(texts)} bytes",
        )
    text = _unwrapped(decode(body, None))
    return Raw(_url(name, _headword(words, text)), text=text)


def _unwrapped(text: str) -> str:
    """Paragraphs as one line each: the lines of a dictionary end where a terminal of eighty columns
    did.
    """
    return "\n\n".join(" ".join(part.split()) for part in _BETWEEN.split(text.replace("\r", "").strip()))


def _headword(words: list[str], text: str) -> str:
    """The one that the text begins with, as it is written there (an index is in lower case); else
    the first.
    """
    for word in sorted(words, key=len, reverse=True):
        written = text[: len(word)]
        if written.casefold() == word.casefold():
            return written
    return words[0]


def _url(name: str, word: str) -> str:
    return f"dict://{quote(name, safe='')}/{quote(word, safe='')}"
