"""What a site asks of robots (RFC 9309): the longest rule that fits an address decides, allowing wins a tie.

The rules are Protego's; the standard library's parser takes the first rule that fits and knows no wildcards, so that it
allows what sites forbid. Beyond the RFC, Protego reads misspelled directives and takes ``Allow: /index.html`` for ``/`` too.
"""

import re
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from protego import Protego

AGENT = "llmpedia"
_EVERYBODY = "*"
_ANOTHER = "another"
_AGENT_LINE = re.compile(r"^[ \t]*user[- ]?agent[ \t]*[: \t][ \t]*([^\r\n#]*)", re.IGNORECASE | re.MULTILINE)
_PRODUCT = re.compile(r"[a-z_-]+|\*")
_LONGEST_DELAY_S = 999_999.0


class Robots:
    """The rules of a site that are about us."""

    def __init__(self, rules: "Protego | None" = None) -> None:
        """Without rules everything may be read."""
        self._rules = rules

    @classmethod
    def parse(cls, text: str) -> Self:
        """The group that names us, else the one for everybody; groups of one name are joined."""
        from protego import Protego

        return cls(Protego.parse(_AGENT_LINE.sub(_with_exact_name, text)))

    @property
    def delay_s(self) -> float:
        """Seconds asked for between requests, 0 for none; what is longer than any wait can be is no wish."""
        delay = self._rules.crawl_delay(AGENT) if self._rules is not None else None
        if delay is None or delay > _LONGEST_DELAY_S:
            return 0.0
        return delay

    def allows(self, target: str) -> bool:
        """Whether a path with its query may be fetched."""
        return self._rules is None or self._rules.can_fetch(f"https://site{target}", AGENT)


def _with_exact_name(line: re.Match[str]) -> str:
    """A line that names us, everybody, or neither: Protego would take ``llm`` for a name of ours, the RFC does not."""
    product = _PRODUCT.match(line[1].lower())
    name = product.group() if product else ""
    return f"User-agent: {name if name in (AGENT, _EVERYBODY) else _ANOTHER}"
