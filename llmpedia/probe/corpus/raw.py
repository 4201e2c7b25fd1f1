"""A document as it lies in its file, before anything is made of it."""

from dataclasses import dataclass

LARGEST_TEXT = 32_000_000
"""Bytes of a plain text in a file of its own, or in an archive."""


@dataclass(frozen=True, slots=True)
class Raw:
    """``text``, or a ``page`` of HTML with the ``charset`` its sender names, or the ``error`` that
    keeps both away.

    ``url``: null where the file gives none.
    """

    url: str | None = None
    text: str | None = None
    page: bytes | None = None
    charset: str | None = None
    error: str | None = None
