"""Search engines: a subject's name in, addresses with title and snippet out.

The paper (appendix F) takes the first that is at hand of Valyu, Serper, Brave and DuckDuckGo;
SearXNG is for those who run their own, and ``rehearsal`` is the search route of the rehearsal
world. An engine that fails, is overloaded or answers nonsense raises; only its word that there is
nothing counts as nothing.
"""

import asyncio
import html
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from llmpedia.errors import ConfigError, EngineError, TransientError
from llmpedia.http import Endpoint

# Valyu sends whole articles.
_LONGEST_SNIPPET = 1000
_TAGS = re.compile(r"<[^>]{0,200}>")
_QUOTES = re.compile('["“”„‟«»]')
_REFUSED = frozenset({401, 402, 403})
# Brave names a bad key by 422, Serper an empty account by 400; the same statuses also stand for a
# query it cannot take.
_REFUSED_WORDS = re.compile(r"SUBSCRIPTION_TOKEN_INVALID|not enough credits|insufficient credits", re.I)
_LONGEST_QUERY = 380  # Brave takes 400 characters


@dataclass(frozen=True)
class Hit:
    """One result of a search; ``snippet`` may be empty."""

    url: str
    title: str
    snippet: str


class Search(Protocol):
    """A search engine. ``name``: its kind and where it is asked."""

    name: str

    async def search(self, query: str, most: int) -> list[Hit]:
        """Results in the engine's order, ``most`` at most.

        Raises:
            TransientError: worth another try; says nothing of what there is to find.
            EngineError: the engine refuses us altogether.
        """
        ...

    async def close(self) -> None:
        """Let connections go."""
        ...


@dataclass(frozen=True)
class _Call:
    """An HTTP request, as :meth:`Endpoint.fetch` takes it."""

    method: str
    path: str
    what: dict[str, Any]


@dataclass(frozen=True)
class _Api:
    """How an engine is asked and read. ``base_url``: None where there is only the user's;
    ``fields``: url, title, snippets.
    """

    call: Callable[[str, int, str], _Call]
    results: Callable[[dict[str, Any]], Any]
    fields: tuple[str, ...]
    base_url: str | None = None
    key_env: str | None = None
    hint: str = "check the key and its credits"


def quoted(subject: str) -> str:
    """The query for a subject: its name as a phrase, and nothing of the article (paper, section
    4.3).

    Quotation marks in the name would end the phrase; they are left out.
    """
    return f'"{_bare(subject)[:_LONGEST_QUERY]}"'


def make_search(backend: str | None, base_url: str | None, timeout_s: float) -> Search:
    """The engine of a name.

    Args:
        backend: one of :func:`backends`; None takes the first at hand.
        base_url: in place of the engine's own.
        timeout_s: for one search.

    Raises:
        ConfigError: there is no such kind, or it lacks its key, address or package.
    """
    kind = _first_at_hand(base_url) if backend is None else backend
    if kind == "duckduckgo":
        return DuckDuckGo(base_url, timeout_s)
    if kind not in _APIS:
        raise ConfigError(
            f"web.backend = {kind!r}: no such search engine; take one of {', '.join(backends())}"
        )
    return HttpSearch(kind, base_url, timeout_s)


class HttpSearch:
    """An engine with a JSON API."""

    def __init__(self, kind: str, base_url: str | None, timeout_s: float) -> None:
        self._api = _APIS[kind]
        base = base_url or self._api.base_url
        if base is None:
            raise ConfigError(
                f"web.backend = {kind!r}: web.base_url is null; set it to the address of your instance"
            )
        self.name = f"{kind}:{base.rstrip('/')}"
        self._key = _key(kind, self._api.key_env)
        self._endpoint = Endpoint(base, None, timeout_s)

    async def search(self, query: str, most: int) -> list[Hit]:
        """See :class:`Search`."""
        call = self._api.call(query, most, self._key)
        status, raw = await self._endpoint.fetch(call.method, call.path, **call.what)
        message = " ".join(raw[:2000].decode(errors="replace").split())[:200]
        if status in _REFUSED or (status >= 400 and _REFUSED_WORDS.search(message)):
            raise EngineError(
                f"search engine {self.name} refuses: HTTP {status}: {message}; {self._api.hint}"
            )
        if status != 200:
            raise TransientError(f"search engine {self.name}: HTTP {status}: {message}")
        return self._hits(raw)[:most]

    def _hits(self, raw: bytes) -> list[Hit]:
        try:
            return list(_read_hits(self._api.results(json.loads(raw)), self._api.fields))
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            raise TransientError(
                f"search engine {self.name}: unreadable answer ({type(e).__name__}: {e})"
            ) from e

    async def close(self) -> None:
        """Let connections go."""
        await self._endpoint.close()


class DuckDuckGo:
    """DuckDuckGo's result page by the package ``ddgs``; needs no key, and is refused soon when
    asked much.

    Its one engine and not ``DDGS().text``: that raises "No results found." both for no results and
    for a refusal, falls back on other engines and ranks anew.
    """

    def __init__(self, base_url: str | None, timeout_s: float) -> None:
        try:
            from ddgs.engines.duckduckgo import Duckduckgo
        except ImportError as e:
            raise ConfigError(
                "web.backend = 'duckduckgo' needs the package ddgs; pip install ddgs, or set the key of "
                "another engine"
            ) from e
        self._engine = Duckduckgo
        self._url = base_url or Duckduckgo.search_url
        self._timeout_s = timeout_s
        self.name = f"duckduckgo:{self._url}"

    async def search(self, query: str, most: int) -> list[Hit]:
        """See :class:`Search`."""
        return await asyncio.to_thread(self._search, query, most)

    def _search(self, query: str, most: int) -> list[Hit]:
        from ddgs.exceptions import DDGSException

        engine = self._engine(timeout=int(self._timeout_s))
        engine.search_url = self._url
        try:
            results = engine.search(query)
        except DDGSException as e:
            raise TransientError(f"search engine {self.name}: {' '.join(str(e).split())[:200]}") from e
        except Exception as e:  # lxml raises classes of its own for a page it cannot parse
            raise TransientError(
                f"search engine {self.name}: unreadable answer ({type(e).__name__}: {e})"
            ) from e
        if results is None:  # the engine's word for any status but 200
            raise TransientError(f"search engine {self.name} turns us away", rate_limited=True)
        return list(_read_hits([vars(r) for r in results], ("href", "title", "body")))[:most]

    async def close(self) -> None:
        """Nothing is kept open."""


def _valyu(query: str, most: int, key: str) -> _Call:
    body = {"query": query, "max_num_results": min(most, 20), "search_type": "web", "is_tool_call": False}
    return _Call("POST", "v1/search", {"json": body, "headers": {"X-API-Key": key}})


def _valyu_results(data: dict[str, Any]) -> Any:
    if data.get("success") is False:
        raise ValueError(str(data.get("error"))[:200])
    return data["results"]


def _serper(query: str, most: int, key: str) -> _Call:
    return _Call(
        "POST", "search", {"json": {"q": query, "num": min(most, 100)}, "headers": {"X-API-KEY": key}}
    )


def _brave(query: str, most: int, key: str) -> _Call:
    params = {"q": query, "count": str(min(most, 20)), "text_decorations": "false", "result_filter": "web"}
    return _Call("GET", "res/v1/web/search", {"params": params, "headers": {"X-Subscription-Token": key}})


def _brave_results(data: dict[str, Any]) -> Any:
    if data["type"] != "search":
        raise ValueError(f"type {data['type']!r}")
    return data.get("web", {}).get("results", [])


def _searxng(query: str, most: int, key: str) -> _Call:
    return _Call("GET", "search", {"params": {"q": query, "format": "json"}})


def _searxng_results(data: dict[str, Any]) -> Any:
    """Nothing found says nothing while an engine behind it has failed."""
    results = data["results"]
    silent = data.get("unresponsive_engines")
    if not results and silent:
        raise ValueError(f"no answer from {silent}"[:200])
    return results


def _rehearsal(query: str, most: int, key: str) -> _Call:
    """The world's search knows no phrases: it takes the bare name."""
    return _Call("GET", "search", {"params": {"q": _bare(query), "n": str(most)}})


_APIS: Mapping[str, _Api] = {
    "valyu": _Api(
        _valyu,
        _valyu_results,
        ("url", "title", "description", "content"),
        "https://api.valyu.ai",
        "VALYU_API_KEY",
    ),
    "serper": _Api(
        _serper,
        lambda data: data.get("organic", []) if "searchParameters" in data else data["organic"],
        ("link", "title", "snippet"),
        "https://google.serper.dev",
        "SERPER_API_KEY",
    ),
    "brave": _Api(
        _brave,
        _brave_results,
        ("url", "title", "description"),
        "https://api.search.brave.com",
        "BRAVE_API_KEY",
    ),
    "searxng": _Api(
        _searxng,
        _searxng_results,
        ("url", "title", "content"),
        hint="allow json under search.formats in the settings.yml of your instance",
    ),
    "rehearsal": _Api(_rehearsal, lambda data: data["results"], ("url", "title", "snippet")),
}


def backends() -> tuple[str, ...]:
    """Names of the engines; those with a key in the paper's order."""
    return (*_APIS, "duckduckgo")


def _first_at_hand(base_url: str | None) -> str:
    """The paper's order by the keys that are set; then one's own SearXNG; DuckDuckGo needs nothing."""
    for kind, api in _APIS.items():
        if api.key_env is not None and os.environ.get(api.key_env):
            return kind
    return "searxng" if base_url is not None else "duckduckgo"


def _key(kind: str, key_env: str | None) -> str:
    key = os.environ.get(key_env, "") if key_env else ""
    if key_env and not key:
        raise ConfigError(
            f"web.backend = {kind!r}: the environment variable {key_env} is not set; set it to your key"
        )
    return key


def _read_hits(results: Any, fields: tuple[str, ...]) -> Iterable[Hit]:
    """``fields``: of the address, the title, and the snippet in order of preference."""
    if not isinstance(results, list):
        raise TypeError(f"results are {type(results).__name__}")
    url, title, *snippets = fields
    for result in results:
        if isinstance(result.get(url), str) and result[url]:
            yield Hit(
                result[url],
                _plain(result.get(title)),
                next(filter(None, (_plain(result.get(s)) for s in snippets)), ""),
            )


def _plain(value: object) -> str:
    """Text without markup, in one line; what is no text is empty."""
    if not isinstance(value, str):
        return ""
    return " ".join(html.unescape(_TAGS.sub("", value[: 4 * _LONGEST_SNIPPET])).split())[:_LONGEST_SNIPPET]


def _bare(subject: str) -> str:
    return " ".join(_QUOTES.sub(" ", subject).split())
