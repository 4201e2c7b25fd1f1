"""The runs that a site serves, and what all of its routes need of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from fastapi import HTTPException
from starlette.responses import HTMLResponse

from llmpedia.site.data.run_reader import Entity, SiteRun
from llmpedia.site.pages.charts import Counting
from llmpedia.site.pages.templating import rendered
from llmpedia.site.review.store import Desk
from llmpedia.site.text.slugs import number_in
from llmpedia.site.urls import Addresses


class Finds(Protocol):
    """A search of one run; see ``search.Search``."""

    def find(self, query: str, most: int) -> Sequence[Any]:
        """Hits, best first."""

    @property
    def note(self) -> str | None:
        """Why texts are not found, or not all of them; None: they are."""

    def refresh(self) -> None:
        """Take up what the run has since."""


@dataclass(frozen=True)
class Shelf:
    """``runs`` by name, in the order given; ``searches`` by the same names; ``desk``: null where
    nothing can be reviewed.
    """

    runs: Mapping[str, SiteRun]
    searches: Mapping[str, Finds]
    to: Addresses
    desk: Desk | None = None
    counting: Counting = field(default_factory=Counting)

    def run(self, name: str) -> SiteRun:
        """A run by its name; 404 without one."""
        if name not in self.runs:
            raise HTTPException(404, "There is no encyclopedia of this name here.")
        return self.runs[name]

    def others(self, run: SiteRun) -> list[SiteRun]:
        """All runs but this one."""
        return [other for other in self.runs.values() if other is not run]

    def entity(self, run: SiteRun, slug: str) -> Entity:
        """The entity of a slug; 404 without one."""
        number = number_in(slug)
        entity_row = run.entity(number) if number is not None else None
        if entity_row is None:
            raise HTTPException(404, "There is no article at this address.")
        return entity_row

    def page(self, template: str, context: Mapping[str, Any], status: int = 200) -> HTMLResponse:
        """A rendered page as an answer."""
        return HTMLResponse(rendered(template, context, self.to), status)

    def message(self, title: str, text: str, status: int) -> HTMLResponse:
        """A page with one line on it."""
        run = next(iter(self.runs.values())) if len(self.runs) == 1 else None
        return self.page("message.html", {"title": title, "told": text, "run": run}, status)
