"""The site as a web app: pages over runs, read only but for the sheets of a review, for this
machine.

Whatever goes wrong is a page with one line on it. A router is added in ``ROUTERS``, under the name
that ``addresses.OPTIONAL`` has for its pages: links to them appear by themselves.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from llmpedia.errors import LlmpediaError
from llmpedia.site.app import articles, explore, review
from llmpedia.site.app.middleware import LOCAL_HOSTS, HostGuard
from llmpedia.site.app.site_state import Finds, Shelf
from llmpedia.site.data.run_reader import SiteRun
from llmpedia.site.pages.templating import STATIC
from llmpedia.site.review.store import Desk
from llmpedia.site.urls import OPTIONAL, LiveAddresses

ROUTERS: dict[str, Callable[[Shelf], APIRouter]] = {
    "reading": articles.router,
    "compare": explore.compare,
    "graph": explore.graph,
    "charts": explore.charts,
    "review": review.router,
}

_log = logging.getLogger(__name__)
_TITLES = {
    400: "This cannot be taken",
    403: "Not accepted",
    404: "Not found",
    405: "Read only",
    413: "Too long",
}


def create_app(
    runs: Sequence[SiteRun],
    searches: Mapping[str, Finds],
    hosts: Collection[str] = LOCAL_HOSTS,
    desk: Desk | None = None,
) -> FastAPI:
    """The app over opened runs. ``searches``: by the runs' names. ``hosts``: names it answers to.
    ``desk``: of a review.
    """
    routers = {name: router for name, router in ROUTERS.items() if name != "review" or desk is not None}
    parts = OPTIONAL & (articles.PARTS | routers.keys())
    shelf = Shelf({run.name: run for run in runs}, searches, LiveAddresses(parts), desk)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(HostGuard, hosts=hosts, broken=lambda: _broken(shelf))
    app.mount("/static", StaticFiles(directory=STATIC))
    for router in routers.values():
        app.include_router(router(shelf))
    _add_handlers(app, shelf)
    return app


def _add_handlers(app: FastAPI, shelf: Shelf) -> None:
    @app.exception_handler(HTTPException)
    def refused(_: Request, e: HTTPException) -> Response:
        text = (
            e.detail
            if e.status_code != 404 or e.detail != "Not Found"
            else "There is no page at this address."
        )
        return shelf.message(_TITLES.get(e.status_code, "This cannot be shown"), text, e.status_code)

    @app.exception_handler(RequestValidationError)
    def not_understood(_: Request, e: RequestValidationError) -> Response:
        wrong = "; ".join(f"{error['loc'][-1]}: {error['msg']}" for error in e.errors())
        return shelf.message("This address is not understood", wrong, 400)

    @app.exception_handler(LlmpediaError)
    def unreadable(_: Request, e: LlmpediaError) -> Response:
        _log.error("%s", e)
        return shelf.message("This page cannot be read", str(e), 500)


def _broken(shelf: Shelf) -> Response:
    return shelf.message(
        "Something went wrong", "This is a defect of llmpedia; the terminal it runs in says more.", 500
    )
