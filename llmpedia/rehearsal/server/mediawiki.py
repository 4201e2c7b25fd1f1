"""What the world's encyclopedia answers to the MediaWiki API, in the shapes of ``formatversion=2``
(mediawiki.org, API:Query).

``action=query`` with ``list=search``, ``meta=siteinfo`` or ``titles`` (``redirects`` and
``prop=extracts|revisions|pageprops|info``). No page is ``missing``, a title that MediaWiki refuses
is ``invalid``; a bare homonym has ``pageprops.disambiguation``.
"""

import hashlib
import unicodedata
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from llmpedia.rehearsal.world.seeded_random import number
from llmpedia.rehearsal.world.sources import WikiPage, normal_title, page, page_title, search
from llmpedia.rehearsal.world.world import World

Params = Mapping[str, str]
Json = dict[str, Any]

MOST = 50
_SEPARATOR = "\x1f"  # a value that begins with it is cut at it instead of at "|"
_TOUCHED = "2025-01-01T00:00:00Z"
_NAMESPACES = {
    -2: "Media",
    -1: "Special",
    0: "",
    1: "Talk",
    2: "User",
    3: "User talk",
    4: "Project",
    5: "Project talk",
    6: "File",
    7: "File talk",
    8: "MediaWiki",
    9: "MediaWiki talk",
    10: "Template",
    11: "Template talk",
    12: "Help",
    13: "Help talk",
    14: "Category",
    15: "Category talk",
}
_INTERWIKI = {"wikt": "https://en.wiktionary.org/wiki/$1", "commons": "https://commons.wikimedia.org/wiki/$1"}


class WorldMediaWiki:
    """The API of one world's encyclopedia."""

    def __init__(self, world: World) -> None:
        self._world = world

    def answer(self, params: Params, origin: str) -> Json:
        """The answer to a request; ``origin``: scheme, host and port that it came to."""
        if params.get("action") != "query":
            return failed(
                params, "badvalue", f'Unrecognized value for parameter "action": {params.get("action")}.'
            )
        if params.get("list") == "search":
            hits = search(self._world, params.get("srsearch", ""), limit(params.get("srlimit"), 10))
            return {"batchcomplete": True, "query": {"search": self._hits(hits)}}
        titles = _values(params.get("titles", ""))
        if len(titles) > MOST:
            return failed(
                params,
                "toomanyvalues",
                f'Too many values supplied for parameter "titles". The limit is {MOST}.',
            )
        query: Json = {}
        if params.get("meta") == "siteinfo":
            query |= site_info(_values(params.get("siprop", "general")), origin)
        if titles:
            query |= self._titles(titles, params)
        return {"batchcomplete": True, **({"query": query} if query else {})}

    def _hits(self, entities: list[int]) -> list[Json]:
        names = [page_title(self._world, e) for e in entities]
        titles = [p.title for n in names if (p := page(self._world, n)) is not None]
        return [{"ns": 0, "title": title, "pageid": self._page_id(title)} for title in titles]

    def _titles(self, titles: list[str], params: Params) -> Json:
        normalized: list[Json] = []
        redirects: list[Json] = []
        pages: dict[str, Json] = {}
        for title in dict.fromkeys(titles):
            normal = normal_title(title)
            if normal is None:
                pages[title] = {
                    "title": title,
                    "invalidreason": "The requested page title is not valid.",
                    "invalid": True,
                }
                continue
            if normal != title:
                normalized.append(_normalized(title, normal))
            wiki_page = page(self._world, normal)
            if wiki_page is not None and wiki_page.redirect and "redirects" in params:
                redirects.append({"from": normal, "to": wiki_page.title})
            pages.setdefault(*self._shown(wiki_page, normal, params))
        query = {"normalized": normalized, "redirects": list({r["from"]: r for r in redirects}.values())}
        return {**{k: v for k, v in query.items() if v}, "pages": list(pages.values())}

    def _shown(self, wiki_page: WikiPage | None, normal: str, params: Params) -> tuple[str, Json]:
        """(title, page) as it is shown."""
        if wiki_page is None:
            return normal, {"ns": 0, "title": normal, "missing": True}
        redirect = bool(wiki_page.redirect) and "redirects" not in params
        title, text = (
            (normal, f"#REDIRECT [[{wiki_page.title}]]") if redirect else (wiki_page.title, wiki_page.text)
        )
        props = _values(params.get("prop", ""))
        shown: Json = {"pageid": self._page_id(title), "ns": 0, "title": title}
        if "extracts" in props:
            shown["extract"] = "" if redirect else text.replace("'''", "")
        if "revisions" in props:
            shown["revisions"] = [_revision(text, _values(params.get("rvprop", "ids|timestamp")))]
        if "pageprops" in props and wiki_page.senses and not redirect:
            shown["pageprops"] = {"disambiguation": ""}
        if "info" in props:
            shown |= {
                "contentmodel": "wikitext",
                "pagelanguage": "en",
                "touched": _TOUCHED,
                "lastrevid": _revision_id(text),
            }
            shown |= {
                "length": len(text.encode(errors="replace")),
                **({"redirect": True} if redirect else {}),
            }
        return title, shown

    def _page_id(self, title: str) -> int:
        return number(self._world.settings.seed, "page id", title) % 100_000_000 + 1


def _revision(text: str, props: list[str]) -> Json:
    revision: Json = {}
    if "ids" in props:
        revision |= {"revid": _revision_id(text), "parentid": 0}
    if "timestamp" in props:
        revision["timestamp"] = _TOUCHED
    if "content" in props:
        revision["slots"] = {
            "main": {"contentmodel": "wikitext", "contentformat": "text/x-wiki", "content": text}
        }
    return revision


def _revision_id(text: str) -> int:
    return int(hashlib.sha256(text.encode(errors="replace")).hexdigest()[:7], 16) + 1


def _normalized(title: str, normal: str) -> Json:
    """An entry of ``normalized``: the API gives back percent-encoded what did not come composed."""
    encoded = unicodedata.normalize("NFC", title) != title
    return {"fromencoded": encoded, "from": quote(title) if encoded else title, "to": normal}


def site_info(props: list[str], origin: str) -> Json:
    """``meta=siteinfo``."""
    whole: Json = {
        "general": {
            "mainpage": "Main Page",
            "base": f"{origin}/wiki/Main_Page",
            "sitename": "Rehearsal",
            "generator": "MediaWiki 1.43.0",
            "case": "first-letter",
            "lang": "en",
            "articlepath": "/wiki/$1",
            "scriptpath": "/w",
            "script": "/w/index.php",
            "server": origin,
            "wikiid": "rehearsal",
        },
        "namespaces": {str(n): _namespace(n, name) for n, name in _NAMESPACES.items()},
        "namespacealiases": [
            {"id": 6, "alias": "Image"},
            {"id": 7, "alias": "Image talk"},
            {"id": 4, "alias": "WP"},
        ],
        "interwikimap": [{"prefix": p, "url": url, "protorel": False} for p, url in _INTERWIKI.items()],
    }
    return {name: whole[name] for name in props if name in whole}


def _namespace(n: int, name: str) -> Json:
    shown = {
        "id": n,
        "case": "first-letter",
        "name": name,
        "subpages": n > 0,
        "content": n == 0,
        "nonincludable": False,
    }
    return shown if n == 0 else {**shown, "canonical": name}


def _values(text: str) -> list[str]:
    """The values of a parameter that may have several."""
    parts = text[1:].split(_SEPARATOR) if text.startswith(_SEPARATOR) else text.split("|")
    return [part for part in parts if part]


def limit(text: str | None, default: int) -> int:
    """A parameter as a number up to the most allowed; ``max`` and what is no number give the most
    and the default.
    """
    if text == "max":
        return MOST
    return min(MOST, int(text)) if text and text.isdecimal() else default


def failed(params: Params, code: str, text: str, **data: Any) -> Json:
    """An error as the API tells it: in a shape of its own where ``errorformat`` is given
    (mediawiki.org, API:Errors).
    """
    if params.get("errorformat", "bc") == "bc":
        return {"error": {"code": code, "info": text, **data}}
    return {"errors": [{"code": code, "text": text, "data": data, "module": "main"}]}


def error_code(answer: Json) -> str | None:
    """The code of the error that an answer is, if it is one."""
    errors = answer.get("errors") or ([answer["error"]] if "error" in answer else [])
    return str(errors[0]["code"]) if errors else None
