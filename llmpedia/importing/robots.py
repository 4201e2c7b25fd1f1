"""What a site asks of robots (RFC 9309): the longest rule that fits an address decides, allowing
wins a tie.

The standard library's parser takes the first rule that fits and knows no wildcards, so that it
allows what sites forbid.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote, unquote_to_bytes

AGENT = "llmpedia"
_PRODUCT = re.compile(r"[a-z_-]+|\*")
_PLAIN = "/%:@!$&'()*+,;=~?"


@dataclass(frozen=True)
class Robots:
    """``rules``: (pattern, allowed) of the group that is about us; ``delay_s``: asked between
    requests, 0 for none.
    """

    rules: tuple[tuple[str, bool], ...] = ()
    delay_s: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Self:
        """The group that names us, else the one for everybody; groups of one name are joined."""
        groups: dict[str, list[tuple[str, str]]] = {}
        agents: list[str] = []
        open_group = False
        for name, value in _lines(text):
            if name == "user-agent":
                product = _PRODUCT.match(value.lower())
                agent = product.group() if product else ""
                agents = [*agents, agent] if open_group else [agent]
                open_group = True
                groups.setdefault(agent, [])
            else:
                open_group = False
                for agent in agents:
                    groups[agent].append((name, value))
        return cls._of(groups.get(AGENT, groups.get("*", [])))

    @classmethod
    def _of(cls, lines: list[tuple[str, str]]) -> Self:
        rules = tuple(
            (value, name == "allow") for name, value in lines if name in ("allow", "disallow") and value
        )
        delays = [
            float(value)
            for name, value in lines
            if name == "crawl-delay" and re.fullmatch(r"\d{1,6}(\.\d*)?", value)
        ]
        return cls(rules, max(delays, default=0.0))

    def allows(self, target: str) -> bool:
        """Whether a path with its query may be fetched."""
        fitting = [(len(pattern), allowed) for pattern, allowed in self.rules if _fits(pattern, target)]
        return max(fitting, default=(0, True))[1]


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, colon, value = line.partition("#")[0].partition(":")
        if colon:
            yield name.strip().lower(), value.strip()


def _fits(pattern: str, target: str) -> bool:
    """``*`` stands for anything, ``$`` at the end for the end; matched piece by piece, since
    patterns are not ours.
    """
    ends = pattern.endswith("$")
    first, *pieces = _decoded(pattern.removesuffix("$")).split("*")
    target = _decoded(target)
    if not target.startswith(first):
        return False
    if not pieces:
        return not ends or target == first
    at = len(first)
    for piece in pieces[:-1]:
        found = target.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    last = pieces[-1]
    return target[at:].endswith(last) if ends else last in target[at:]


def _decoded(text: str) -> str:
    """One spelling for both sides: what needs no escape as itself, an escaped slash escaped."""
    pieces = re.split(r"((?:%[0-9a-fA-F]{2})+)", text)
    pieces[1::2] = [quote(unquote_to_bytes(piece), safe="") for piece in pieces[1::2]]
    pieces[::2] = [quote(piece, safe=_PLAIN) for piece in pieces[::2]]
    return "".join(pieces)
