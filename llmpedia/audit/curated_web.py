"""Tier 2: what curated web pages say about a subject (paper, section 4.3 and appendix F)."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from llmpedia.audit.evidence import Attempt, Evidence, Outcome, Provider, Source
from llmpedia.errors import TransientError
from llmpedia.web.address import parse
from llmpedia.web.domains import Domains
from llmpedia.web.extractor import Extractor
from llmpedia.web.fetch import Fetched, Fetcher, Refused
from llmpedia.web.guard import Resolve
from llmpedia.web.search import Hit, Search, make_search, quoted
from llmpedia.web.settings import Reach, WebSection

# Before a page that failed in passing is tried a second time, and however long it asks for.
_AGAIN_S = 0.5
_LONGEST_WAIT_S = 5.0
# Kinds of pages that say more of this machine's load than of the page.
_OVERLOADED = frozenset({"too_slow", "broken"})


@dataclass(frozen=True)
class PageText:
    """A page that can be quoted. ``final_url``: after redirects."""

    final_url: str
    title: str
    text: str


@dataclass(frozen=True)
class Unread:
    """No page: ``why`` begins with ``failed:`` where it is worth another try. Else see
    :class:`Refused`.
    """

    why: str
    passing: bool
    off_limits: bool = False
    wait_s: float | None = None


async def read_answer(answer: Fetched | Refused, extractor: Extractor) -> PageText | Unread:
    """The text of what a fetch gave.

    Raises:
        TransientError, EngineError: see :meth:`Extractor.read`.
    """
    if isinstance(answer, Refused):
        return Unread(str(answer), answer.passing, answer.off_limits, answer.wait_s)
    page = await extractor.read(answer.body, answer.content_type, answer.charset)
    if page.kind != "ok":
        passing = page.kind in _OVERLOADED
        return Unread(f"{'failed' if passing else 'unusable'}: {page.kind}", passing)
    return PageText(answer.final_url, page.title, page.text)


@dataclass(frozen=True)
class _Tried:
    """What an address came to. ``page``: where it ended, if it may be quoted. ``passing``: network
    trouble, worth another try.
    """

    hit: Hit
    attempt: Attempt
    source: Source | None = None
    passing: bool = False
    wait_s: float | None = None


class CuratedWeb(Provider):
    """Evidence from web pages."""

    def __init__(
        self,
        web: WebSection,
        reach: Reach | None = None,
        search: Search | None = None,
        resolve: Resolve | None = None,
    ) -> None:
        """Nothing is fetched yet.

        Args:
            web: how pages are searched, chosen, fetched and read.
            reach: in place of where the settings allow to go.
            search: in place of the engine that the settings name.
            resolve: in place of the system's name lookup.

        Raises:
            ConfigError: the search engine cannot be had.
        """
        reach = reach or web.reach()
        self._web = web
        self._search = search or make_search(web.backend, web.base_url, web.timeout_s)
        self._domains = Domains.load(web.paper_exact, reach.scores)
        self._fetcher = Fetcher(web.fetching(reach.policy), resolve)
        self._extractor = Extractor(web.extracting())
        self.name = (
            f"web:{self._search.name}, {web.results} results, {web.pages} pages of score {web.threshold}, "
            f"{caps_and_lists(web, reach, [])}"
        )

    async def find(self, subject: str) -> Evidence:
        """Pages on a subject, best address first; the search engine's snippet where a page cannot
        be used.

        Raises:
            TransientError: the search failed, or nothing was found and a network failure may be
            why.
            EngineError: the search engine refuses us altogether.
        """
        hits = await self._search.search(quoted(subject), self._web.results)
        chosen, passed_over = self._choose(hits)
        tried = _without_duplicates(await _all([self._try(hit) for hit in chosen]))
        sources = tuple(t.source for t in tried if t.source is not None)
        failed = [t for t in tried if t.passing]
        if not sources and failed:
            waits = [t.wait_s for t in failed if t.wait_s is not None]
            raise TransientError(
                f"web pages on {subject!r}: {failed[0].attempt.result}", max(waits, default=None)
            )
        attempts = (*(t.attempt for t in tried), *passed_over)
        detail = None if sources else f"{len(hits)} results, {len(chosen)} eligible, none usable"
        return Evidence("web", subject, _outcome(sources), sources, detail, attempts)

    async def close(self) -> None:
        """Let connections and processes go."""
        await self._search.close()
        await self._fetcher.close()
        await self._extractor.close()

    def _choose(self, hits: list[Hit]) -> tuple[list[Hit], list[Attempt]]:
        """Those to try, best score first and then in the engine's order; the others with the
        reason.
        """
        eligible: dict[str, Hit] = {}
        passed_over = []
        for hit in hits:
            address = parse(hit.url)
            key = hit.url if isinstance(address, str) else address.url
            why = self._refusal(hit.url) or ("duplicate" if key in eligible else None)
            if why is None:
                eligible[key] = hit
            else:
                passed_over.append(Attempt(hit.url, why))
        ranked = sorted(eligible.values(), key=lambda hit: -self._score(hit.url))
        most = self._web.pages
        return ranked[:most], passed_over + [
            Attempt(h.url, f"not tried: {most} were better") for h in ranked[most:]
        ]

    async def _try(self, hit: Hit) -> _Tried:
        read = await read_answer(await self._fetch(hit.url), self._extractor)
        if isinstance(read, Unread):
            # what stands behind a redirect to where nothing may be quoted is not to be quoted by
            # its snippet either
            snippet = None if read.off_limits else self._snippet(hit)
            result = f"{'snippet used, ' if snippet else ''}{read.why}"
            attempt = Attempt(hit.url, result, read.passing)
            return _Tried(hit, attempt, snippet, read.passing, read.wait_s)
        source = self._source(read, read.title or hit.title)
        return _Tried(
            hit, Attempt(hit.url, "used" if source.url == hit.url else f"used: {source.url}"), source
        )

    async def _fetch(self, url: str) -> Fetched | Refused:
        """A page; trouble that may pass is given a second try, since beside usable pages nobody
        would come back for this one.
        """
        answer = await self._fetcher.fetch(url, self._refusal)
        if isinstance(answer, Refused) and answer.passing:
            asked = _AGAIN_S if answer.wait_s is None else answer.wait_s
            await asyncio.sleep(min(asked, _LONGEST_WAIT_S))
            answer = await self._fetcher.fetch(url, self._refusal)
        return answer

    def _source(self, page: PageText, title: str) -> Source:
        return Source(page.final_url, title, None, now(), self._score(page.final_url), "page", page.text)

    def _snippet(self, hit: Hit) -> Source | None:
        how: Literal["snippet"] = "snippet"
        return (
            Source(hit.url, hit.title, None, now(), self._score(hit.url), how, hit.snippet)
            if hit.snippet
            else None
        )

    def _refusal(self, url: str) -> str | None:
        return self._domains.refusal(url, self._web.threshold)

    def _score(self, url: str) -> int:
        score = self._domains.score(url)
        assert score is not None  # asked of eligible addresses alone
        return score


def caps_and_lists(web: WebSection, reach: Reach, more: list[str]) -> str:
    """What tells apart readers that would make other things of one page; ``more``: said after the
    lists.
    """
    lists = ["paper" if web.paper_exact else "paper and mirrors", *more]
    lists += [f"{domain} {score}" for domain, score in sorted(reach.scores.items())]
    return f"{web.max_bytes} bytes, {web.timeout_s:g} s, lists: {', '.join(lists)}"


async def _all(tries: list[Awaitable[_Tried]]) -> list[_Tried]:
    """All results; an error is raised once nothing is under way any more."""
    tried: list[_Tried] = []
    for one in await asyncio.gather(*tries, return_exceptions=True):
        if isinstance(one, BaseException):
            raise one
        tried.append(one)
    return tried


def _without_duplicates(tried: list[_Tried]) -> list[_Tried]:
    """One page a final address: the first stays, in the order of trying."""
    seen: set[str] = set()
    kept = []
    for one in tried:
        if one.source is None or one.source.url not in seen:
            kept.append(one)
        else:
            kept.append(_Tried(one.hit, Attempt(one.hit.url, f"duplicate of {one.source.url}")))
        if one.source is not None:
            seen.add(one.source.url)
    return kept


def _outcome(sources: tuple[Source, ...]) -> Outcome:
    if any(source.how == "page" for source in sources):
        return Outcome.PAGES
    return Outcome.SNIPPETS if sources else Outcome.NOTHING


def now() -> str:
    """The time, as evidence has it: ISO 8601, UTC, seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")
