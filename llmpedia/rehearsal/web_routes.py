"""The world's sources behind HTTP: a MediaWiki API, a search route, web pages.

``/w/api.php``: ``action=query`` with ``list=search``, or with ``titles`` (``redirects`` are always followed;
``prop=extracts|revisions|pageprops|info``). No page is ``missing``, a bare homonym has ``pageprops.disambiguation``, and
``maxlag`` below the world's lag is refused with code ``maxlag``. ``/search?q=``: results with address, title and snippet.
``/page/TITLE?n=``: a web page.
"""

import hashlib
import html
from typing import Any
from urllib.parse import quote

from aiohttp import web

from llmpedia.rehearsal.draws import number, share
from llmpedia.rehearsal.sources import Page, page, search, web_text
from llmpedia.rehearsal.world import World

_MOST = 50
_LAG_S = 7.0


class WebRoutes:
    """Routes of the sources of one world. ``lagging``: share of MediaWiki requests with ``maxlag`` that meet a lag."""

    def __init__(self, world: World, lagging: float = 0.0) -> None:
        self._world, self._lagging = world, lagging
        self._asked = 0

    def routes(self) -> list[web.RouteDef]:
        """To be added to an application."""
        return [
            web.get("/w/api.php", self.mediawiki),
            web.get("/search", self.search),
            web.get("/page/{title}", self.page),
        ]

    async def mediawiki(self, request: web.Request) -> web.Response:
        """``GET /w/api.php``."""
        query = request.query
        self._asked += 1
        lag = _LAG_S if share(self._world.settings.seed, "lag", self._asked) < self._lagging else 0.0
        if "maxlag" in query and _number(query["maxlag"], 0) < lag:
            error = {"code": "maxlag", "info": f"Waiting for a server: {lag:g} seconds lagged", "lag": lag}
            return web.json_response({"error": error}, headers={"Retry-After": "5"})
        if query.get("action") != "query":
            return web.json_response({"error": {"code": "badvalue", "info": "Unrecognized value for parameter action"}})
        if query.get("list") == "search":
            found = search(self._world, query.get("srsearch", ""), _number(query.get("srlimit"), 10))
            return web.json_response({"batchcomplete": True, "query": {"search": self._hits(found)}})
        titles = [t for t in query.get("titles", "").split("|") if t]
        if len(titles) > _MOST:
            return web.json_response({"error": {"code": "toomanyvalues", "info": f"Too many values for titles: {_MOST}"}})
        return web.json_response({"batchcomplete": True, "query": self._pages(titles, query.get("prop", "").split("|"))})

    def _hits(self, entities: list[int]) -> list[dict[str, Any]]:
        names = [self._world.name(e) for e in entities]
        return [{"ns": 0, "title": n, "pageid": self._page_id(n)} for n in names if page(self._world, n)]

    def _pages(self, titles: list[str], props: list[str]) -> dict[str, Any]:
        redirects, pages = [], []
        for title in titles:
            found = page(self._world, title)
            if found is not None and found.redirect:
                redirects.append({"from": title, "to": found.title})
            pages.append({"ns": 0, "title": title, "missing": True} if found is None else self._shown(found, props))
        return {**({"redirects": redirects} if redirects else {}), "pages": pages}

    def _shown(self, found: Page, props: list[str]) -> dict[str, Any]:
        shown: dict[str, Any] = {"pageid": self._page_id(found.title), "ns": 0, "title": found.title}
        revision = int(hashlib.sha256(found.text.encode()).hexdigest()[:7], 16)
        if "extracts" in props:
            shown["extract"] = found.text.replace("'''", "")
        if "revisions" in props:
            main = {"contentmodel": "wikitext", "contentformat": "text/x-wiki", "content": found.text}
            shown["revisions"] = [{"revid": revision, "timestamp": "2025-01-01T00:00:00Z", "slots": {"main": main}}]
        if "pageprops" in props and found.senses:
            shown["pageprops"] = {"disambiguation": ""}
        if "info" in props:
            shown |= {"lastrevid": revision, "touched": "2025-01-01T00:00:00Z"}
        return shown

    def _page_id(self, title: str) -> int:
        return number(self._world.settings.seed, "page id", title) % 100_000_000

    async def search(self, request: web.Request) -> web.Response:
        """``GET /search?q=...&n=...``."""
        most = _number(request.query.get("n"), 10)
        results = []
        for entity in search(self._world, request.query.get("q", ""), most):
            name, text = self._world.name(entity), web_text(self._world, entity, 0)
            results.append({"url": f"{request.url.origin()}/page/{quote(name, safe='')}", "title": name, "snippet": text[:200]})
        return web.json_response({"results": results})

    async def page(self, request: web.Request) -> web.Response:
        """``GET /page/TITLE?n=0``."""
        title = request.match_info["title"]
        entity = self._world.entity(title)
        if entity is None:
            raise web.HTTPNotFound(text="no such page")
        text = html.escape(web_text(self._world, entity, _number(request.query.get("n"), 0)))
        shown = html.escape(title)
        return web.Response(
            text=f"<html><head><title>{shown}</title></head><body><h1>{shown}</h1><p>{text}</p></body></html>",
            content_type="text/html",
        )


def _number(text: str | None, default: int) -> int:
    """A parameter as a number up to the most allowed; ``max`` and what is no number give the most and the default."""
    if text == "max":
        return _MOST
    return min(_MOST, int(text)) if text and text.isdigit() else default
