"""The routes to look by: a subject in two runs, its neighbourhood, a run in charts."""

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query
from starlette.responses import RedirectResponse, Response

from llmpedia.site.app.site_state import Shelf
from llmpedia.site.data.run_reader import Entity, SiteRun
from llmpedia.site.pages import compare as comparing
from llmpedia.site.pages import neighbourhood
from llmpedia.site.pages.charts import charts_page

_WAIT = 0.05  # seconds for the counting of a small run


def compare(shelf: Shelf) -> APIRouter:
    """The route of a subject in two runs."""
    routes = APIRouter()

    @routes.get("/compare/{name}/{slug}")
    def side_by_side(
        name: str, slug: str, other: Annotated[str | None, Query(alias="with", max_length=300)] = None
    ) -> Response:
        run = shelf.run(name)
        entity = shelf.entity(run, slug)
        if other is None:
            return RedirectResponse(
                shelf.to.compare(name, entity.id, entity.name, _first(shelf, run, entity)) or "/", 307
            )
        if other == name:
            raise HTTPException(404, "An encyclopedia is compared with another one, not with itself.")
        context = comparing.compare_page(run, entity, shelf.run(other), shelf.others(run), shelf.to)
        return shelf.page("compare.html", context)

    return routes


def graph(shelf: Shelf) -> APIRouter:
    """The route of a subject's neighbourhood."""
    routes = APIRouter()

    @routes.get("/r/{name}/a/{slug}/graph")
    def around(name: str, slug: str) -> Response:
        run = shelf.run(name)
        context = neighbourhood.graph_page(run, shelf.entity(run, slug), shelf.others(run), shelf.to)
        return shelf.page("graph.html", context)

    return routes


def charts(shelf: Shelf) -> APIRouter:
    """The route of a run's charts."""
    routes = APIRouter()

    @routes.get("/r/{name}/charts")
    def figures(name: str) -> Response:
        run = shelf.run(name)
        return shelf.page("charts.html", charts_page(run, shelf.counting.of(run, _WAIT), shelf.to))

    return routes


def _first(shelf: Shelf, run: SiteRun, entity: Entity) -> str:
    """The first other run, if it can be, one that has an article on the subject."""
    others = sorted(shelf.others(run), key=lambda one: comparing.written_there(one, entity) is None)
    if not others:
        raise HTTPException(404, "Only one encyclopedia is open here: there is none to compare it with.")
    return others[0].name
