"""The routes to read by: home, article, what stands behind it, list, search."""

import secrets
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query
from starlette.responses import JSONResponse, RedirectResponse, Response

from llmpedia.errors import InputError
from llmpedia.site.app.site_state import Shelf
from llmpedia.site.data.run_reader import SiteRun
from llmpedia.site.pages import trace, views
from llmpedia.site.pages.charts import funnel_part

PARTS = frozenset({"random", "suggestions"})
"""What of ``addresses.OPTIONAL`` these routes answer."""

_SUGGESTIONS = 8
_WAIT = 0.02  # seconds for the counting of a small run: a home page never waits for that of a large one
_Words = Annotated[str, Query(max_length=300)]


def router(shelf: Shelf) -> APIRouter:
    """The routes over these runs."""
    routes = APIRouter()

    @routes.get("/")
    def start() -> Response:
        if len(shelf.runs) == 1:
            return home(next(iter(shelf.runs)))
        return shelf.page("start.html", views.start_page(list(shelf.runs.values())))

    @routes.get("/r/{name}/")
    def home(name: str) -> Response:
        run = shelf.run(name)
        if run.refresh():
            shelf.searches[name].refresh()
        return shelf.page("home.html", views.home_page(run) | _funnel(shelf, run))

    @routes.get("/r/{name}/list")
    def listing(
        name: str, hop: int | None = None, letter: _Words | None = None, page: Annotated[int, Query(ge=1)] = 1
    ) -> Response:
        return shelf.page("list.html", _listed(shelf.run(name), hop, letter, page))

    @routes.get("/r/{name}/random")
    def by_chance(name: str) -> Response:
        entity = shelf.run(name).random(secrets.token_hex(8))
        return RedirectResponse(shelf.to.article(name, entity.id, entity.name), 307)

    @routes.get("/r/{name}/search")
    def search(name: str, q: _Words = "") -> Response:
        run = shelf.run(name)
        finder = shelf.searches[name]
        hits = finder.find(q, views.HITS) if q.strip() else []
        return shelf.page("search.html", views.search_page(run, q.strip(), hits, finder.note))

    @routes.get("/r/{name}/search.json")
    def suggest(name: str, q: _Words = "") -> Response:
        run = shelf.run(name)
        hits = shelf.searches[name].find(q, _SUGGESTIONS) if q.strip() else []
        return JSONResponse(views.suggestions(run, hits, shelf.to))

    @routes.get("/r/{name}/a/{slug}")
    def article(name: str, slug: str) -> Response:
        run = shelf.run(name)
        entity = shelf.entity(run, slug)
        canonical = shelf.to.article(name, entity.id, entity.name)
        if canonical != f"/r/{name}/a/{slug}":
            return RedirectResponse(canonical, 307)
        return shelf.page("article.html", views.article_page(run, entity, shelf.others(run), shelf.to))

    @routes.get("/r/{name}/a/{slug}/trace")
    def behind(name: str, slug: str) -> Response:
        run = shelf.run(name)
        return shelf.page(
            "trace.html", trace.trace_page(run, shelf.entity(run, slug), shelf.others(run), shelf.to)
        )

    return routes


def _listed(run: SiteRun, hop: int | None, letter: str | None, page: int) -> views.Context:
    context = views.list_page(run, hop, letter, page)
    if page > context["pages"]:
        raise HTTPException(404, f"This list has no page {page:,}: its last one is {context['pages']:,}.")
    return context


def _funnel(shelf: Shelf, run: SiteRun) -> views.Context:
    """The home page's part of the counts; where they cannot be made, the page says why and shows
    the rest.
    """
    try:
        return funnel_part(run, shelf.counting.of(run, _WAIT))
    except InputError as e:
        return {"funnel": [], "funnel_wait": False, "funnel_note": str(e)}
