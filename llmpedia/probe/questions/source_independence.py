"""What counts as independent of the documents that a question was made from: other sites, and no
copy of their text.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

from llmpedia.audit.measures.similarity import ngrams
from llmpedia.text.passages import tokens
from llmpedia.web.address import Address, parse

_SHINGLE_WORDS = 5
COPY = 0.8
"""Part of the shingles of the shorter of two texts from which on they are one text: an excerpt is a
copy, and so is a page that has taken the whole document in. Never less than their Jaccard
similarity."""


def _address(url: str) -> Address | None:
    """A document's address, also where it is written without a scheme or with a user's name; None
    for what is on no site.
    """
    address = parse(url)
    if isinstance(address, Address):
        return address
    scheme, given, rest = url.partition("://")
    if given and scheme.lower() not in ("http", "https"):
        return None
    host, slash, path = (rest if given else url).lstrip("/").partition("/")
    again = parse(f"http://{host.rpartition('@')[2]}{slash}{path}")
    return again if isinstance(again, Address) else None


class Seeds:
    """The documents a question was made from."""

    def __init__(self, urls: Sequence[str], texts: Sequence[str], by: Literal["url", "host"]) -> None:
        """``by``: whether evidence may come from no address, or from no site of theirs. Places that
        are no web address (a file and a line in it) bar none.
        """
        addresses = [a for a in map(_address, urls) if a is not None]
        self._places = frozenset(map(_place, addresses))
        self._sites = frozenset(a.site for a in addresses) if by == "host" else frozenset[str]()
        self._texts = texts

    def refusal(self, url: str) -> str | None:
        """Why an address is none of an independent source, or None."""
        address = parse(url)
        if isinstance(address, str):
            return address
        if _place(address) in self._places:
            return "a document that the question was made from"
        return (
            f"{address.site} holds a document that the question was made from"
            if self._holds(address)
            else None
        )

    def copied(self, text: str) -> bool:
        """Whether a text is a copy of one of theirs, as a whole or in the main."""
        shingles = _shingles(text)
        return any(
            seed and shingles and len(seed & shingles) >= COPY * min(len(seed), len(shingles))
            for seed in self._shingled
        )

    def _holds(self, address: Address) -> bool:
        return bool(self._sites) and address.site in self._sites

    @cached_property
    def _shingled(self) -> list[set[tuple[str, ...]]]:
        return [_shingles(text) for text in self._texts]


def _place(address: Address) -> str:
    """One form for the spellings of an address that lead to one page."""
    host = address.host.removeprefix("www.")
    port = "" if address.port in (80, 443) else address.port
    return f"{host}:{port}{address.target.rstrip('/')}"


def _shingles(text: str) -> set[tuple[str, ...]]:
    return ngrams(list(tokens(text)), _SHINGLE_WORDS)
