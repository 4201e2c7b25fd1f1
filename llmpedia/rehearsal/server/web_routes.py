"""The world's sources behind HTTP: a MediaWiki API, a search route, web pages.

``/w/api.php``, GET or POST: see :mod:`llmpedia.rehearsal.server.mediawiki`; a request with
``maxlag`` that meets a lag is refused with code ``maxlag``. ``/search?q=&n=``: results with
address, title and snippet. ``/page/TITLE?n=``: the n-th web page on an entity or on the subject of
a planted disagreement.
"""

import html
from urllib.parse import quote

from aiohttp import web

from llmpedia.rehearsal.planted.pages import planted_pages, search_planted
from llmpedia.rehearsal.server.mediawiki import Params, WorldMediaWiki, error_code, failed, limit
from llmpedia.rehearsal.world.names import fold
from llmpedia.rehearsal.world.sources import WEB_PAGES, normal_title, page_title, search, web_text
from llmpedia.rehearsal.world.world import World

_LAG_S = 7.0
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{title} - Rehearsal Reader</title></head>
<body>
<header><p>Rehearsal Reader</p></header>
<nav><ul><li><a href="/">Home</a></li><li><a href="/search">Search</a></li>
<li><a href="/about">About</a></li></ul></nav>
<main><article>
<h1>{title}</h1>
{paragraphs}
</article></main>
<footer><p>All rights reserved. Terms of use. Privacy.</p></footer>
</body>
</html>
"""


def lags(params: Params) -> bool:
    """Whether a request would rather be refused than wait for a lag."""
    return "maxlag" in params and limit(params["maxlag"], 0) < _LAG_S


def lagged(params: Params) -> web.Response:
    """The refusal of such a request (mediawiki.org, Manual:Maxlag parameter)."""
    text = f"Waiting for a database server: {_LAG_S:g} seconds lagged."
    error = failed(params, "maxlag", text, host="db1", lag=_LAG_S, type="db")
    headers = {"Retry-After": "5", "X-Database-Lag": f"{_LAG_S:g}", "MediaWiki-API-Error": "maxlag"}
    return web.json_response(error, headers=headers)


class WebRoutes:
    """Answers of the sources of one world, each a function of the request alone."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._wiki = WorldMediaWiki(world)

    def mediawiki(self, request: web.Request, params: Params) -> web.Response:
        """``/w/api.php``; ``params``: of query and form together."""
        answer = self._wiki.answer(params, str(request.url.origin()))
        code = error_code(answer)
        return web.json_response(answer, headers={"MediaWiki-API-Error": code} if code else None)

    def search(self, request: web.Request, params: Params) -> web.Response:
        """``/search``: the pages of what the query names first, then one of each of its group."""
        most = limit(params.get("n"), 10)
        origin = str(request.url.origin())
        planted = [
            _result(origin, p.title, p.number, p.text)
            for p in search_planted(self._world, params.get("q", ""), most)
        ]
        named = search(self._world, params.get("q", ""), most)
        places = [(e, n) for i, e in enumerate(named) for n in range(WEB_PAGES if i == 0 else 1)]
        results = [
            _result(origin, page_title(self._world, e), n, web_text(self._world, e, n))
            for e, n in places[:most]
        ]
        return web.json_response({"results": [*planted, *results][:most]})

    def page(self, request: web.Request, params: Params) -> web.Response:
        """``/page/TITLE``."""
        title = request.match_info["title"]
        senses = self._world.senses(title)
        number = limit(params.get("n"), 0)
        if senses:
            return _page(
                normal_title(page_title(self._world, senses[0])) or title,
                web_text(self._world, senses[0], number),
            )
        planted = planted_pages(self._world).get(fold(title), ())
        if not 0 <= number < len(planted):
            return web.Response(status=404, text="no such page")
        return _page(planted[number].title, planted[number].text)


def _result(origin: str, title: str, n: int, text: str) -> dict[str, str]:
    url = f"{origin}/page/{quote(title, safe='')}{f'?n={n}' if n else ''}"
    return {"url": url, "title": title, "snippet": " ".join(text.split())[:200]}


def _page(title: str, text: str) -> web.Response:
    paragraphs = "\n".join(f"<p>{html.escape(p)}</p>" for p in text.split("\n\n"))
    return web.Response(
        text=_PAGE.format(title=html.escape(title), paragraphs=paragraphs), content_type="text/html"
    )
