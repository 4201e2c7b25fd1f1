"""Tier 1: full articles of a MediaWiki by the subject's name alone, with redirects resolved (paper,
section 4.2).

Subjects asked for within a moment share a request, up to 50; the wikitext of the latest revision
becomes plain text with its infoboxes and tables, where many dates stand and nowhere else (the
wiki's own extracts drop both).
"""

import asyncio
import weakref
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from llmpedia.audit.evidence import Evidence, Outcome, Provider, Source
from llmpedia.audit.settings import WikipediaSection
from llmpedia.audit.wikipedia.api import Api, ApiError, check_address
from llmpedia.audit.wikipedia.coalescing import CoalescedRequests
from llmpedia.audit.wikipedia.plain_text import wikitext_plain
from llmpedia.audit.wikipedia.responses import Found, TitleResponse
from llmpedia.audit.wikipedia.titles import RefusedTitle, Site, Title, safe_title
from llmpedia.errors import TransientError

_SITE = {"meta": "siteinfo", "siprop": "general|namespaces|namespacealiases|interwikimap"}
_PAGES = {
    "prop": "revisions|pageprops|info",
    "rvprop": "ids|content",
    "rvslots": "main",
    "ppprop": "disambiguation",
    "inprop": "url",
    "redirects": "1",
}
# Errors that are about the title and not about the request (ApiQuery and ApiPageSet of MediaWiki
# 1.39).
_OF_TITLE = ("invalidtitle", "title-invalid", "missingtitle", "badtitle")


class MediaWiki(Provider):
    """Evidence of one wiki; see :class:`~llmpedia.audit.evidence.Provider`. Usable from several
    event loops.
    """

    def __init__(
        self,
        api_url: str,
        user_agent: str,
        wiki: WikipediaSection,
        slot: Callable[[], Any] | None = None,
    ) -> None:
        """``user_agent``: names the program and its operator's address (Wikimedia's rule).

        ``slot``: makes the async context that each request is made in, where processes share a cap.

        Raises:
            ConfigError: ``api_url`` is no HTTP address, or ``user_agent`` has no address.
        """
        check_address(api_url, user_agent)
        self.name = f"mediawiki:{api_url}"
        self._opened = (api_url, user_agent, wiki, slot)
        self._sessions: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Session] = (
            weakref.WeakKeyDictionary()
        )

    async def find(self, subject: str) -> Evidence:
        """The article on a subject; one try.

        Raises:
            TransientError: network or service failed; worth another try.
            EngineError: the wiki refuses us altogether.
        """
        title = safe_title(subject)
        if isinstance(title, RefusedTitle):
            return _without(subject, Outcome.INVALID, title.reason)
        return await self._session().find(subject, title)

    async def check(self) -> None:
        """Prove that the wiki answers.

        Raises:
            TransientError: it does not for now.
            EngineError: it refuses us altogether, or there is none.
        """
        await self._session().read_site()

    async def close(self) -> None:
        """Let the running loop's connections go; the next subject opens others."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.api.close()

    def _session(self) -> "_Session":
        loop = asyncio.get_running_loop()
        if loop not in self._sessions:
            self._sessions[loop] = _Session(*self._opened)
        return self._sessions[loop]


class _Session:
    """What belongs to one event loop: connections, subjects waiting for a request, what the wiki
    says of itself.
    """

    def __init__(
        self, api_url: str, user_agent: str, wiki: WikipediaSection, slot: Callable[[], Any] | None
    ) -> None:
        self._url = api_url
        self._slot = slot or nullcontext
        self.api = Api(api_url, user_agent, wiki)
        self._pages = CoalescedRequests(self._fetch, wiki.batch, wiki.linger_s, wiki.concurrency)
        self._sites = CoalescedRequests(self._fetch_site, 1, 0, 1)
        self._site: Site | None = None

    async def find(self, subject: str, title: Title) -> Evidence:
        site = await self._known_site()
        refused = site.leads_out(title)
        if refused is not None:
            return _without(subject, Outcome.INVALID, refused.reason)
        response = await self._pages.ask(title.text)
        if response.page is None:
            return _without(subject, response.outcome, response.detail)
        text = await asyncio.to_thread(wikitext_plain, response.wikitext)
        if not text:
            return _without(subject, Outcome.MISSING, "the page has no text")
        return Evidence(
            "wikipedia", subject, response.outcome, (self._source(response.page, text),), response.detail
        )

    async def _known_site(self) -> Site:
        if self._site is None:
            self._site = await self._sites.ask("site")
        return self._site

    async def _fetch_site(self, keys: list[str]) -> Mapping[str, Site | Exception]:
        site = await self.read_site()
        return dict.fromkeys(keys, site)

    async def read_site(self) -> Site:
        try:
            return Site.read((await self.api.query(_SITE))["query"])
        except (KeyError, TypeError, AttributeError) as e:
            raise TransientError(
                f"{self._url}: an answer without the wiki's settings ({type(e).__name__}: {e})"
            ) from e
        except ApiError as e:
            raise TransientError(f"{self._url}: {e}") from e

    async def _fetch(self, titles: list[str]) -> Mapping[str, Found | Exception]:
        """What each title came to. One that the wiki chokes on must not spoil its neighbours: the
        batch is halved.
        """
        try:
            answer = await self._ask(titles)
        except ApiError as e:
            if len(titles) == 1:
                return {titles[0]: _of_title(e, self._url)}
            half = len(titles) // 2
            return {**await self._fetch(titles[:half]), **await self._fetch(titles[half:])}
        return {title: await self._read(answer, title) for title in titles}

    async def _read(self, answer: TitleResponse, title: str) -> Found | Exception:
        try:
            return answer.find(title, await self._known_site())
        except TransientError as e:
            return e

    async def _ask(self, titles: list[str]) -> TitleResponse:
        """The whole answer to one batch, over as many requests as the wiki parts it into."""
        answer = TitleResponse()
        more = [dict[str, str]()]
        while True:
            async with self._slot():
                data = await self.api.query({**_PAGES, "titles": "|".join(titles), **more[-1]})
            try:
                answer.add(data.get("query", {}))
                following = {str(k): str(v) for k, v in data.get("continue", {}).items()}
            except (KeyError, TypeError, AttributeError) as e:
                raise TransientError(
                    f"{self._url}: an answer of another shape ({type(e).__name__}: {e})"
                ) from e
            if not following:
                return answer
            if following in more:
                raise TransientError(f"{self._url}: the answer goes on without end ({following})")
            more.append(following)

    def _source(self, page: dict[str, Any], text: str) -> Source:
        address = (
            f"{self._url.removesuffix('api.php')}index.php?title={quote(page['title'].replace(' ', '_'))}"
        )
        now = datetime.now(UTC).isoformat(timespec="seconds")
        revision = str(page["revisions"][0]["revid"])
        return Source(
            page.get("canonicalurl") or address, page["title"], revision, now, None, "wikitext", text
        )


def _of_title(error: ApiError, url: str) -> Found | Exception:
    """What an error for one title alone says: of the title where it is about it, else nothing."""
    if error.code.startswith(_OF_TITLE):
        return Found(Outcome.INVALID, str(error))
    return TransientError(f"{url}: {error}")


def _without(subject: str, outcome: Outcome, detail: str | None) -> Evidence:
    return Evidence("wikipedia", subject, outcome, detail=detail)
