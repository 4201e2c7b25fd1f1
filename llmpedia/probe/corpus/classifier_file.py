"""Whether a fastText model's file is whole.

fastText does not look: where a file ends in its matrices it goes on with whatever is in memory, and
where it ends in its words it takes all the memory there is. The layout is that of version 12 of its
format, which all models since 2017 have.
"""

import mmap
import os
import struct
from pathlib import Path

_START = struct.Struct("<ii12id")  # magic number, version, arguments
_MAGIC = 793712314
_VERSION = 12
_WORDS = struct.Struct("<iiiqq")  # entries, words, labels, tokens, pairs of a pruned index
_AFTER_WORD = 9  # bytes: count and type
_PAIR = 8
_MATRIX = struct.Struct("<?qq")  # quantized, rows, columns


def flaw(path: str | Path) -> str | None:
    """What is wrong with a file; None: nothing that can be seen without loading it."""
    try:
        with Path(path).open("rb") as file:
            if os.fstat(file.fileno()).st_size < _START.size + _WORDS.size:
                return "no fastText model"
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _flaw(data)
    except OSError as e:
        return str(e.strerror)


def _flaw(data: mmap.mmap) -> str | None:
    magic, version = _START.unpack_from(data)[:2]
    if magic != _MAGIC or version != _VERSION:
        return "no fastText model"
    entries, _, _, _, pairs = _WORDS.unpack_from(data, _START.size)
    at = _START.size + _WORDS.size
    for _ in range(entries):
        end = data.find(b"\0", at)
        if end < 0:
            return "it ends within its words"
        at = end + 1 + _AFTER_WORD
    at += max(0, pairs) * _PAIR
    for _ in range(2):
        if at + _MATRIX.size > len(data):
            return "it ends before its matrices"
        quantized, rows, columns = _MATRIX.unpack_from(data, at)
        if quantized:  # of another layout, and damage to it is met in loading
            return None
        at += _MATRIX.size + 4 * rows * columns
    return None if at == len(data) else f"it has {len(data):,} bytes where its matrices end at {at:,}"
