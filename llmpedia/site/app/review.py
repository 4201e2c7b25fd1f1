"""The routes of a review, the only ones that write: sheets in the desk's folder, nothing else.

What is sent must come from a page of this site: browsers say whence a form comes, and each form
holds a token of this process.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from fastapi import APIRouter, Depends, HTTPException, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from llmpedia.errors import InputError
from llmpedia.site.app.site_state import Shelf
from llmpedia.site.review import probe, verdicts
from llmpedia.site.review.sheet import Given, SheetItem, entered
from llmpedia.site.review.store import Desk, Opened

_MOST_BYTES = 128 * 1024
_FORM = "application/x-www-form-urlencoded"
_STALE = "The site was started again after this page had been opened. Nothing was saved; save again."

Fields = dict[str, str]
T = TypeVar("T")


@dataclass(frozen=True)
class _Place:
    """An item that was sent. ``page``: makes its page from what was entered and a notice."""

    opened: Opened
    item: SheetItem
    page: Callable[[SheetItem, Given | None, str | None], dict[str, Any]]
    template: str


def router(shelf: Shelf) -> APIRouter:
    """The routes over these runs and the desk's builds.

    Raises:
        ValueError: the shelf has no desk.
    """
    if shelf.desk is None:
        raise ValueError("a shelf without a desk has nothing to review")
    routes = APIRouter()
    _audit_routes(routes, shelf, shelf.desk)
    _probe_routes(routes, shelf, shelf.desk)
    return routes


async def form_of(request: Request) -> Fields:
    """What a page of this site has sent; the first of each name."""
    _need_own_page(request)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise HTTPException(415, f"Only forms are taken here, as {_FORM}.")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _MOST_BYTES:
            raise HTTPException(413, f"This is more than {_MOST_BYTES:,} bytes; shorten the comment.")
    try:
        fields = parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=32)
    except ValueError as e:
        raise HTTPException(400, "This is no form.") from e
    return {name: values[0] for name, values in fields.items()}


def _need_own_page(request: Request) -> None:
    """A browser says where a form comes from; who says nothing is no page of this site either."""
    fetch_site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    same_origin = (
        origin is not None and urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower()
    )
    if (
        (fetch_site is not None and fetch_site != "same-origin")
        or not (same_origin or fetch_site == "same-origin")
        or (origin not in (None, "null") and not same_origin)
    ):
        raise HTTPException(403, "This was not sent by a page of this site. Nothing was saved.")


_Sent = Annotated[Fields, Depends(form_of)]


def _audit_routes(routes: APIRouter, shelf: Shelf, desk: Desk) -> None:
    def sheet_of(name: str, key: str) -> verdicts.AuditSheet:
        sheet = verdicts.open_sheet(shelf.run(name), desk, key, shelf.to)
        if sheet is None:
            raise HTTPException(404, "There is no such sheet.")
        return sheet

    def place_of(name: str, key: str, number: int) -> _Place:
        sheet = sheet_of(name, key)
        make = lambda item, given, notice: verdicts.claim_page(sheet, item, shelf.to, given, notice)  # noqa: E731
        return _Place(sheet.opened, _item(sheet.opened, number), make, "review_claim.html")

    @routes.get("/r/{name}/review")
    def start(name: str) -> Response:
        return shelf.page("review.html", verdicts.review_page(shelf.run(name), desk, shelf.to))

    @routes.post("/r/{name}/review")
    def begin(name: str, form: _Sent) -> Response:
        run = shelf.run(name)
        _need_token(form, desk)
        draw = _asked(lambda: verdicts.Draw.asked(run, form))
        _asked(lambda: verdicts.begin(run, desk, draw))
        opened = sheet_of(name, draw.key).opened
        return RedirectResponse(opened.href(opened.open_after(0)), 303)

    @routes.get("/r/{name}/review/{key}")
    def sheet(name: str, key: str) -> Response:
        return shelf.page("review_sheet.html", verdicts.sheet_page(sheet_of(name, key), shelf.to))

    @routes.get("/r/{name}/review/{key}/{number}")
    def claim(name: str, key: str, number: int) -> Response:
        return _shown(shelf, desk, place_of(name, key, number), None, None)

    @routes.post("/r/{name}/review/{key}/{number}")
    def decide(name: str, key: str, number: int, form: _Sent, request: Request) -> Response:
        return _save(shelf, desk, place_of(name, key, number), form, request)


def _probe_routes(routes: APIRouter, shelf: Shelf, desk: Desk) -> None:
    def opened_of(name: str) -> probe.ProbeSheet | None:
        if name not in desk.probes:
            raise HTTPException(404, "There is no build of this name here.")
        return probe.open_groups(desk, name)

    def place_of(name: str, number: int) -> _Place:
        sheet = opened_of(name)
        if sheet is None:
            raise HTTPException(404, "This sheet was not begun.")
        make = lambda item, given, notice: probe.group_page(sheet, item, given, notice)  # noqa: E731
        return _Place(sheet.opened, _item(sheet.opened, number), make, "review_group.html")

    @routes.get("/probe/{name}/review")
    def build(name: str) -> Response:
        sheet = opened_of(name)
        if sheet is None:
            return shelf.page("review_build.html", probe.build_page(desk, name))
        return shelf.page("review_sheet.html", probe.groups_page(sheet))

    @routes.post("/probe/{name}/review")
    def begin_build(name: str, form: _Sent) -> Response:
        opened_of(name)
        _need_token(form, desk)
        _asked(lambda: probe.begin_groups(desk, name))
        return RedirectResponse(f"{probe.probe_base(name)}/1", 303)

    @routes.get("/probe/{name}/review/{number}")
    def group(name: str, number: int) -> Response:
        return _shown(shelf, desk, place_of(name, number), None, None)

    @routes.post("/probe/{name}/review/{number}")
    def decide_group(name: str, number: int, form: _Sent, request: Request) -> Response:
        return _save(shelf, desk, place_of(name, number), form, request)


def _item(opened: Opened, number: int) -> SheetItem:
    item = opened.at(number)
    if item is None:
        raise HTTPException(404, f"This sheet has items 1 to {len(opened.items)}.")
    return item


def _shown(
    shelf: Shelf, desk: Desk, place: _Place, given: Given | None, notice: str | None, status: int = 200
) -> Response:
    return shelf.page(place.template, {**place.page(place.item, given, notice), "token": desk.token}, status)


def _save(shelf: Shelf, desk: Desk, place: _Place, form: Fields, request: Request) -> Response:
    """Save, then on to what is open; what cannot be saved stays on the page, with the reason."""
    script = request.headers.get("accept") == "application/json"
    answer = form.get("answer", "")
    if answer not in [choice.value for choice in place.opened.file.form.choices(place.item.row)]:
        raise HTTPException(400, f"answer = {answer[:40]!r}: is none that can be given here")
    given = _asked(
        lambda: Given(
            answer, entered(form.get("comment", "")), " ".join(entered(form.get("reviewer", "")).split())
        )
    )
    if not _has_token(form, desk):
        return _unsaved(shelf, desk, place, given, _STALE, 403, script)
    saved = place.opened.file.save((place.item.place, form.get("item", ""), form.get("seen", "")), given)
    if not saved.done:
        now = _Place(place.opened, saved.item, place.page, place.template)
        return _unsaved(shelf, desk, now, given, _told(saved.item), 409, script)
    items = [saved.item if item.place == saved.item.place else item for item in place.opened.items]
    opened = Opened(place.opened.file, place.opened.base, items)
    if script:
        return JSONResponse(
            {
                "seen": saved.item.seen,
                "decided": opened.decided,
                "of": len(items),
                "problem": saved.item.state.problem,
            }
        )
    return RedirectResponse(opened.href(opened.open_after(saved.item.place)), 303)


def _unsaved(
    shelf: Shelf, desk: Desk, place: _Place, given: Given, message_text: str, status: int, script: bool
) -> Response:
    return (
        JSONResponse({"told": message_text}, status)
        if script
        else _shown(shelf, desk, place, given, message_text, status)
    )


def _told(item: SheetItem) -> str:
    given_answer = item.given
    answer = f"“{given_answer.answer.replace('_', ' ')}”" if given_answer.answer else "nothing decided"
    comment = f", with the comment “{given_answer.comment}”" if given_answer.comment else ""
    changed = "This item was changed meanwhile, in another tab or in the file itself."
    return (
        f"{changed} It now says: {answer}{comment}. Nothing was saved; save again to have what stands below."
    )


def _asked(make: Callable[[], T]) -> T:
    """What was asked for, or a page that says in one line why it cannot be had."""
    try:
        return make()
    except InputError as e:
        raise HTTPException(400, str(e)) from e


def _has_token(form: Fields, desk: Desk) -> bool:
    return secrets.compare_digest(form.get("token", "").encode(), desk.token.encode())


def _need_token(form: Fields, desk: Desk) -> None:
    if not _has_token(form, desk):
        raise HTTPException(403, _STALE.replace("save again", "go back, load the page anew and try again"))
