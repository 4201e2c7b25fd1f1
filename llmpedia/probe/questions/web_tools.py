"""The web agent's two tools as engines, so that each search and each page is journaled like a
completion.

Behind the durable client nothing is asked twice, and a restart reads the same bytes. What can be
searched and fetched is what the audit's tier 2 allows (``audit.web``), and Wikipedia with its
sister projects: they are barred there because articles are judged against them, while here they are
the very sources that are meant to bear a question out (paper, section 3.3).
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from llmpedia import __version__
from llmpedia.audit.curated_web import Unread, caps_and_lists, now, read_answer
from llmpedia.audit.evidence import dumps
from llmpedia.errors import TransientError
from llmpedia.stages import Completer, Completion, Request
from llmpedia.web.cache import Cache
from llmpedia.web.domains import Domains
from llmpedia.web.extractor import Extractor
from llmpedia.web.fetch import Fetcher
from llmpedia.web.guard import Resolve
from llmpedia.web.search import Hit, Search, make_search
from llmpedia.web.settings import CacheSection, Reach, WebSection

SEARCH = "web_search"
PAGE = "web_page"
"""Stages of the requests; no prompt belongs to them."""
# Not the hosts that lend space to everybody (Toolforge and its like), nor copies and forks.
WIKIMEDIA = frozenset(
    "wikipedia.org wikidata.org wikimedia.org wiktionary.org wikiquote.org wikivoyage.org "
    "wikisource.org wikibooks.org "
    "wikinews.org wikiversity.org wikifunctions.org mediawiki.org wikimediafoundation.org".split()
)
# Searched to tell a request that always fails from a service that is down.
_KNOWN_SUBJECT = "Earth"
# A server may ask for any wait; a page is not worth more.
_LONGEST_WAIT_S = 30.0


@dataclass(frozen=True)
class WebPage:
    """A page as it was read. ``final_url``: after redirects; ``fetched_at``: ISO 8601, UTC."""

    url: str
    final_url: str
    title: str
    text: str
    fetched_at: str


class SearchEngine:
    """A search engine behind the interface of engines: one search a request, answered by a JSON
    list of results.
    """

    def __init__(self, search: Search, results: int, cache: Cache | None = None) -> None:
        """``results``: asked of it."""
        self.name = _search_name(search, results)
        self._search = search
        self._results = results
        self._cache = cache

    async def generate(self, request: Request) -> Completion:
        """See :class:`~llmpedia.engines.base.Engine`.

        Raises:
            TransientError: worth another try.
            EngineError: the search engine refuses us altogether.
        """
        query = request.messages[0][1]
        return await _kept(self._cache, self.name, query, lambda: self._find(query))

    async def check_health(self) -> None:
        """See :class:`~llmpedia.engines.base.ChecksHealth`. Never answered from the cache."""
        await alive(self._search)

    async def _find(self, query: str) -> str:
        return dumps([asdict(hit) for hit in await self._search.search(query, self._results)])

    async def close(self) -> None:
        """Let connections go."""
        _close(self._cache)
        await self._search.close()


async def alive(search: Search) -> None:
    """Return if a search engine answers anything at all.

    Raises:
        TransientError: it does not, at present.
        EngineError: it refuses us altogether.
    """
    await search.search(_KNOWN_SUBJECT, 1)


class PageEngine:
    """A reader of web pages behind the interface of engines: one page a request.

    Answered by a :class:`WebPage` as JSON, or ``{"refused": reason}`` where there is none to be
    read at this address.
    """

    def __init__(
        self,
        web: WebSection,
        reach: Reach,
        search: Search,
        cache: Cache | None = None,
        resolve: Resolve | None = None,
    ) -> None:
        """``reach``: where pages are read from; ``search``: whose answer tells a page that cannot
        be had from a network that is down;
        ``resolve``: in place of the system's name lookup.
        """
        self.name = _page_name(web, reach)
        self._domains = eligible(web, reach)
        self._least = web.threshold
        self._search = search
        self._cache = cache
        self._fetcher = Fetcher(web.fetching(reach.policy), resolve)
        self._extractor = Extractor(web.extracting())

    async def generate(self, request: Request) -> Completion:
        """See :class:`~llmpedia.engines.base.Engine`.

        Raises:
            TransientError: worth another try.
            EngineError: pages cannot be read on this machine, or the search engine refuses us
            altogether.
        """
        url = request.messages[0][1]
        return await _kept(self._cache, self.name, url, lambda: self._read(url))

    async def check_health(self) -> None:
        """See :class:`~llmpedia.engines.base.ChecksHealth`: the search is asked, since any one page
        may be gone.
        """
        await alive(self._search)

    async def _read(self, url: str) -> str:
        why = self.refusal(url)
        if why is not None:
            return dumps({"refused": f"refused: {why}"})
        read = await read_answer(await self._fetcher.fetch(url, self.refusal), self._extractor)
        if not isinstance(read, Unread):
            return dumps(asdict(WebPage(url, read.final_url, read.title, read.text, now())))
        if read.passing:
            raise TransientError(
                f"{url}: {read.why}", None if read.wait_s is None else min(read.wait_s, _LONGEST_WAIT_S)
            )
        return dumps({"refused": read.why})

    def refusal(self, url: str) -> str | None:
        """Why an address may not be read, or None."""
        return self._domains.refusal(url, self._least)

    async def close(self) -> None:
        """Let connections and processes go."""
        _close(self._cache)
        await self._search.close()
        await self._fetcher.close()
        await self._extractor.close()


def search_engine(web: WebSection, cache: CacheSection) -> SearchEngine:
    """The engine of searches that the settings ask for.

    Raises:
        ConfigError: it cannot be had.
    """
    return SearchEngine(_search(web), web.results, _cache(cache, "search"))


def page_engine(web: WebSection, cache: CacheSection) -> PageEngine:
    """The reader of pages that the settings ask for.

    Raises:
        ConfigError: there is no search engine to ask whether the network is up.
    """
    return PageEngine(web, web.reach(), _search(web), _cache(cache, "pages"))


def eligible(web: WebSection, reach: Reach) -> Domains:
    """Which addresses may bear a question out: those of the audit's tier 2, and Wikimedia's."""
    return Domains.load(web.paper_exact, reach.scores).allowing(WIKIMEDIA)


@dataclass(frozen=True)
class WebTools:
    """What an agent searches and reads with. ``refusal``: why an address may not be used at all, or
    None.

    The names stand in the requests: they tell apart what could answer differently.
    """

    search: Completer
    page: Completer
    search_name: str
    page_name: str
    refusal: Callable[[str], str | None]

    @classmethod
    def of(cls, web: WebSection, search: Completer, page: Completer) -> Self:
        """Clients of :func:`search_engine` and :func:`page_engine` of the same settings.

        Raises:
            ConfigError: the search engine cannot be had.
        """
        reach = web.reach()
        domains = eligible(web, reach)
        search_name = _search_name(_search(web), web.results)
        return cls(
            search, page, search_name, _page_name(web, reach), lambda url: domains.refusal(url, web.threshold)
        )

    def search_request(self, query: str) -> Request:
        """A search as a request like any other."""
        return Request(SEARCH, self.search_name, (("user", query),), None, "{}")

    def page_request(self, url: str) -> Request:
        """A page as a request like any other."""
        return Request(PAGE, self.page_name, (("user", url),), None, "{}")


def hits_of(completion: Completion) -> list[Hit]:
    """The results that a search was answered with."""
    return [Hit(**hit) for hit in json.loads(completion.text)]


def page_of(completion: Completion) -> WebPage | str:
    """The page that a request was answered with, or why there is none."""
    data: dict[str, Any] = json.loads(completion.text)
    return str(data["refused"]) if "refused" in data else WebPage(**data)


async def _kept(cache: Cache | None, name: str, what: str, ask: Callable[[], Awaitable[str]]) -> Completion:
    """An answer from the cache or, if there is none, anew; what fails raises, and is not kept."""
    key = f"{name}, llmpedia {__version__}"  # what another version made of a page is not this one's
    cached = await cache.get(key, what) if cache else None
    if cached is None:
        cached = await ask()
        if cache:
            await cache.put(key, what, cached)
    return Completion(cached, "stop")


def _close(cache: Cache | None) -> None:
    if cache:
        cache.close()


def _cache(cache: CacheSection, name: str) -> Cache | None:
    return Cache(Path(cache.path).expanduser() / f"{name}.sqlite", cache.days) if cache.path else None


def _search(web: WebSection) -> Search:
    return make_search(web.backend, web.base_url, web.timeout_s)


def _search_name(search: Search, results: int) -> str:
    return f"{search.name}, {results} results"


def _page_name(web: WebSection, reach: Reach) -> str:
    return f"pages of score {web.threshold}, {caps_and_lists(web, reach, ['Wikimedia allowed'])}"
