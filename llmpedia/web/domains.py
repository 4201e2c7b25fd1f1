"""Which addresses may count as evidence: scores, block list, mirrors of Wikipedia.

``domains.csv`` (133 scored domains) and ``blocked.csv`` are the paper's own lists (appendix F,
tables 12 to 14). ``mirrors.csv`` is ours: the paper says that "Wikipedia and mirrors are blocked"
(section 4.3), but its list names no mirror and no sister project, and its rule for unknown ``.org``
domains would let wiktionary.org, dbpedia.org and wiki2.org in. newworldencyclopedia.org is built on
Wikipedia's text too; it stays, since the paper scores it by name.

A domain's entry covers its subdomains; of several the longest wins, so that law.cornell.edu, gov.uk
and bbc.co.uk have scores of their own. (The paper speaks of root domains, under which its ten
entries that are no root would never apply.)
"""

import csv
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Self

from llmpedia.web.address import Address, parse

ELIGIBLE = 60
"""Least score of an address that may be fetched and quoted (paper, appendix F)."""
_UNKNOWN_TRUSTED = 70
_TRUSTED = (".edu", ".gov", ".org")
_UNKNOWN_HTTPS = 35


@dataclass(frozen=True)
class Domains:
    """The lists in use. ``scores``: domain -> 0 to 100; ``barred``: domain -> why it is never
    evidence.
    """

    scores: Mapping[str, int]
    barred: Mapping[str, str]

    @classmethod
    def load(cls, paper_exact: bool, extra: Mapping[str, int] | None = None) -> Self:
        """The package's lists. ``paper_exact``: the paper's alone, without mirrors; ``extra``:
        scores of further domains.
        """
        barred = {row["domain"]: row["category"] for row in _rows("blocked.csv")}
        if not paper_exact:
            barred |= {
                row["domain"]: f"{row['kind']} of Wikipedia: {row['why']}" for row in _rows("mirrors.csv")
            }
        scores = {row["domain"]: int(row["score"]) for row in _rows("domains.csv")}
        return cls({**scores, **(extra or {})}, barred)

    def allowing(self, names: Collection[str]) -> Self:
        """The same lists without the bars on some domains."""
        return replace(
            self, barred={domain: why for domain, why in self.barred.items() if domain not in names}
        )

    def score(self, url: str) -> int | None:
        """Quality of an address, 0 to 100 (paper, appendix F); None where it can never be evidence.

        Listed domains have their score. Unknown ones: 70 under .edu, .gov and .org, else 35, both
        over https alone.
        """
        address = parse(url)
        return None if isinstance(address, str) or self.blocked(url) else self._score(address)

    def blocked(self, url: str) -> str | None:
        """Why an address is on a block list, or None."""
        address = parse(url)
        if isinstance(address, str):
            return None
        return next((self.barred[d] for d in _domains(address.host) if d in self.barred), None)

    def refusal(self, url: str, least: int) -> str | None:
        """Why an address may not be used (blocked, malformed, or under a score of ``least``), in
        words; None if it may.
        """
        address = parse(url)
        if isinstance(address, str):
            return f"ineligible: {address}"
        why = self.blocked(url)
        if why is not None:
            return f"blocked: {why}"
        score = self._score(address)
        if score is None:
            return (
                "ineligible: an IP address and no name"
                if address.is_ip
                else "ineligible: unknown domain without https"
            )
        return f"ineligible: score {score} is under {least}" if score < least else None

    def _score(self, address: Address) -> int | None:
        if address.is_ip:
            return None
        listed = next((self.scores[d] for d in _domains(address.host) if d in self.scores), None)
        if listed is not None or address.scheme != "https":
            return listed
        return _UNKNOWN_TRUSTED if address.host.endswith(_TRUSTED) else _UNKNOWN_HTTPS


def _domains(host: str) -> Iterator[str]:
    """``a.b.c``, ``b.c``, ``c``: longest first."""
    labels = host.split(".")
    return (".".join(labels[i:]) for i in range(len(labels)))


@cache
def _rows(name: str) -> list[dict[str, str]]:
    text = files("llmpedia.web").joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
