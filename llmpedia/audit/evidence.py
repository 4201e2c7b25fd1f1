"""What evidence is, whatever finds it: found by the subject's name alone, with its address,
revision and time.

A provider that fails is no evidence of absence: it raises
:class:`~llmpedia.errors.TransientError`, which the caller retries and in the end records as
``fetch_failed``; never as ``missing`` or ``nothing``.
"""

import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol, Self

Tier = Literal["wikipedia", "web"]
TIERS: tuple[Tier, ...] = ("wikipedia", "web")


class Outcome(StrEnum):
    """What looking for evidence on a subject came to; exactly one for each subject and tier."""

    FOUND = "found"
    """An encyclopedia article under this very title (or its normal form)."""
    REDIRECTED = "redirected"
    """An encyclopedia article under another title, which this one redirects to."""
    DISAMBIGUATION = "disambiguation"
    """A page that lists several meanings: no evidence on any one of them."""
    MISSING = "missing"
    """The encyclopedia has no such article."""
    INVALID = "invalid"
    """No article can have this title, or it leads out of the encyclopedia (interwiki, special page,
    redirect loop).
    """
    PAGES = "pages"
    """Web: at least one usable page."""
    SNIPPETS = "snippets"
    """Web: no page could be used, only the search engine's snippets of eligible addresses."""
    NOTHING = "nothing"
    """Web: the search gave no eligible address, or none with any usable text."""
    FETCH_FAILED = "fetch_failed"
    """Network or service failed for good: says nothing of the subject."""


USABLE = frozenset({Outcome.FOUND, Outcome.REDIRECTED, Outcome.PAGES, Outcome.SNIPPETS})


@dataclass(frozen=True)
class Source:
    """One text of the evidence.

    ``title``: of the page. ``revision``: id of the wiki's revision, or null. ``fetched_at``: ISO
    8601, UTC, seconds.
    ``score``: quality of the address, 0 to 100; null for an encyclopedia. ``how``: wikitext, page
    or snippet.
    """

    url: str
    title: str
    revision: str | None
    fetched_at: str
    score: int | None
    how: Literal["wikitext", "page", "snippet"]
    text: str


@dataclass(frozen=True)
class Attempt:
    """An address that was tried or passed over, and what became of it (``used``, ``blocked: ...``,
    ``unusable: ...``, ...).

    ``passing``: trouble that may be over the next time, so that this evidence is not kept; known
    while it is looked for, and never stored.
    """

    url: str
    result: str
    passing: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Evidence:
    """All there is on one subject in one tier. ``detail``: why, in words, where the outcome alone
    does not say.
    """

    tier: Tier
    subject: str
    outcome: Outcome
    sources: tuple[Source, ...] = ()
    detail: str | None = None
    attempts: tuple[Attempt, ...] = field(default=())

    def dumps(self) -> str:
        """As JSON; without what holds only while it is looked for."""
        data = asdict(self)
        for attempt in data["attempts"]:
            del attempt["passing"]
        return dumps(data)

    @classmethod
    def loads(cls, text: str) -> Self:
        """From JSON."""
        data = json.loads(text)
        sources = tuple(Source(**s) for s in data.pop("sources"))
        attempts = tuple(Attempt(**a) for a in data.pop("attempts"))
        return cls(**{**data, "outcome": Outcome(data["outcome"])}, sources=sources, attempts=attempts)


def dumps(value: Any) -> str:
    """As JSON. Half a character, which JSON of others can carry and UTF-8 cannot, becomes a
    question mark.
    """
    return json.dumps(value, ensure_ascii=False).encode(errors="replace").decode()


class Provider(Protocol):
    """Where evidence comes from. ``name``: tells apart what could answer differently (kind and
    address or file).
    """

    name: str

    async def find(self, subject: str) -> Evidence:
        """The evidence on a subject; one try.

        Raises:
            TransientError: network or service failed; worth another try.
        """
        ...

    async def close(self) -> None:
        """Let connections go."""
        ...
