"""What all local copies share: titles, one reader at a time, and the evidence they give."""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from llmpedia.audit.evidence import Evidence, Outcome, Source
from llmpedia.audit.wikipedia.titles import RefusedTitle, Site, safe_title
from llmpedia.errors import TransientError

# Names of namespaces that every wiki takes, whatever its language.
_CANONICAL = tuple(
    "media,special,talk,user,user talk,project,project talk,file,file "
    "talk,image,mediawiki,mediawiki talk,template,template talk,"
    "help,help talk,category,category talk".split(",")
)
# Its capitals are a later addition to Unicode, which MediaWiki leaves alone.
_GEORGIAN = range(0x10D0, 0x1100)


@dataclass(frozen=True)
class CopyArticle:
    """A page of a copy. ``revision``: id of the wiki's revision, or None where the copy does not
    tell.
    """

    title: str
    url: str
    revision: str | None
    how: Literal["wikitext", "page"]
    text: str


class LocalCopy(ABC):
    """A :class:`~llmpedia.audit.evidence.Provider` whose reads block: they run in a thread, one at
    a time.

    ``name``: of this very copy. ``faults``: what its reads raise when they fail, which says nothing
    of the subject. Titles of other namespaces are invalid, as on the wiki; those with another
    wiki's prefix are missing where the copy does not tell its prefixes.
    """

    def __init__(self, name: str, faults: tuple[type[Exception], ...], site: Site) -> None:
        self.name = name
        self.site = site
        self._faults = faults
        self._lock = threading.Lock()

    async def find(self, subject: str) -> Evidence:
        """The evidence on a subject.

        Raises:
            TransientError: the copy could not be read.
        """
        return await asyncio.to_thread(self._find, subject)

    def _find(self, subject: str) -> Evidence:
        title = safe_title(subject)
        if isinstance(title, RefusedTitle):
            return nothing(subject, Outcome.INVALID, title.reason)
        if refused := self.site.leads_out(title):
            return nothing(subject, Outcome.INVALID, refused.reason)
        try:
            with self._lock:
                return self.look_up(subject, title.text)
        except self._faults as e:
            raise TransientError(f"{self.name}: {type(e).__name__}: {e}") from e

    @abstractmethod
    def look_up(self, subject: str, title: str) -> Evidence:
        """The evidence under a title that a wiki can have, in the caller's thread."""

    async def close(self) -> None:
        """Let the files go; the next subject opens them again."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        with self._lock:
            self.let_go()

    @abstractmethod
    def let_go(self) -> None:
        """Close what is open."""


def site_of(namespaces: Iterable[str], first_letter: bool) -> Site:
    """The rules of a copy's titles. ``namespaces``: names of all but the articles', in the wiki's
    own language.
    """
    prefixes = {name.lower(): "another namespace" for name in (*_CANONICAL, *namespaces)}
    return Site(prefixes, frozenset({0}), first_letter)


def nothing(subject: str, outcome: Outcome, detail: str) -> Evidence:
    """No usable evidence, and why."""
    return Evidence("wikipedia", subject, outcome, detail=detail)


def evidence(subject: str, article: CopyArticle, hops: Sequence[str], state: str | None) -> Evidence:
    """An article found. ``hops``: titles that redirects led to, in order. ``state``: date of the
    copy, told in ``detail``.
    """
    if not article.text.strip():
        return nothing(subject, Outcome.MISSING, f"the page '{article.title}' has no text")
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    source = Source(article.url, article.title, article.revision, now, None, article.how, article.text)
    of = f"local copy of {state or 'unknown date'}"
    detail = f"{redirects(hops)}; {of}" if hops else of
    return Evidence("wikipedia", subject, Outcome.REDIRECTED if hops else Outcome.FOUND, (source,), detail)


def redirects(hops: Sequence[str]) -> str:
    """The way of redirects in words."""
    return "redirect to " + " and on to ".join(f"'{title}'" for title in hops)


def first_upper(title: str) -> str:
    """A title with its first letter as wikis write it: upper case, if that is one letter and the
    script knows cases.
    """
    upper = title[:1].upper()
    return upper + title[1:] if len(upper) == 1 and ord(title[0]) not in _GEORGIAN else title
