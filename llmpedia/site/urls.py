"""Where each page lies. Templates know no address but through this; a static site has another set
with the same names.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote, urlencode

from llmpedia.site.text.slugs import slug

OPTIONAL = frozenset({"random", "suggestions", "graph", "charts", "compare", "review"})
"""Pages that not every site has: their address is None where they are not there."""


class Addresses(Protocol):
    """Addresses of one site. ``run`` is the name of a run, ``number`` and ``name`` an entity's."""

    def start(self) -> str:
        """The page that all runs are listed on."""

    def static(self, name: str) -> str:
        """A file of ``static/``."""

    def run(self, run: str) -> str:
        """Home of a run."""

    def article(self, run: str, number: int, name: str, anchor: str = "") -> str:
        """An entity's page, written or not."""

    def trace(self, run: str, number: int, name: str, anchor: str = "") -> str:
        """The prompts, answers and decisions behind an article."""

    def listing(self, run: str, hop: int | None = None, letter: str | None = None, page: int = 1) -> str:
        """Articles by name."""

    def search(self, run: str) -> str:
        """What the search form is sent to, with ``q``."""

    def suggestions(self, run: str) -> str | None:
        """What answers with titles as one types, with ``q``."""

    def index(self, run: str) -> str | None:
        """The script that searches in the browser, where no server does."""

    def policy(self) -> str | None:
        """The Content-Security-Policy, where no header brings it."""

    def random(self, run: str) -> str | None:
        """Leads to one article or another."""

    def graph(self, run: str, number: int, name: str) -> str | None:
        """Neighbourhood of an entity."""

    def compare(self, run: str, number: int, name: str, other: str) -> str | None:
        """The same subject in another run."""

    def charts(self, run: str) -> str | None:
        """The run in figures."""

    def review(self, run: str) -> str | None:
        """Verdicts to be looked at by a human."""


@dataclass(frozen=True)
class LiveAddresses:
    """Addresses of the app. ``parts``: which of ``OPTIONAL`` it has."""

    parts: Collection[str]

    def start(self) -> str:
        """See :class:`Addresses`, as for all that follow."""
        return "/"

    def static(self, name: str) -> str:
        """``/static/NAME``."""
        return f"/static/{quote(name)}"

    def run(self, run: str) -> str:
        """``/r/RUN/``."""
        return f"/r/{quote(run, safe='')}/"

    def article(self, run: str, number: int, name: str, anchor: str = "") -> str:
        """``/r/RUN/a/12-slug``."""
        return f"{self.run(run)}a/{slug(number, name)}{_anchor(anchor)}"

    def trace(self, run: str, number: int, name: str, anchor: str = "") -> str:
        """``/r/RUN/a/12-slug/trace``."""
        return f"{self.article(run, number, name)}/trace{_anchor(anchor)}"

    def listing(self, run: str, hop: int | None = None, letter: str | None = None, page: int = 1) -> str:
        """``/r/RUN/list``, narrowed by its query."""
        asked = {"hop": hop, "letter": letter, "page": page if page > 1 else None}
        query = urlencode({k: v for k, v in asked.items() if v is not None})
        return f"{self.run(run)}list{'?' if query else ''}{query}"

    def search(self, run: str) -> str:
        """``/r/RUN/search``."""
        return f"{self.run(run)}search"

    def suggestions(self, run: str) -> str | None:
        """``/r/RUN/search.json``."""
        return self._if("suggestions", f"{self.run(run)}search.json")

    def index(self, run: str) -> str | None:
        """None: the server searches."""
        return None

    def policy(self) -> str | None:
        """None: it is a header."""
        return None

    def random(self, run: str) -> str | None:
        """``/r/RUN/random``."""
        return self._if("random", f"{self.run(run)}random")

    def graph(self, run: str, number: int, name: str) -> str | None:
        """``/r/RUN/a/12-slug/graph``."""
        return self._if("graph", f"{self.article(run, number, name)}/graph")

    def compare(self, run: str, number: int, name: str, other: str) -> str | None:
        """``/compare/RUN/12-slug?with=OTHER``."""
        return self._if(
            "compare", f"/compare/{quote(run, safe='')}/{slug(number, name)}?{urlencode({'with': other})}"
        )

    def charts(self, run: str) -> str | None:
        """``/r/RUN/charts``."""
        return self._if("charts", f"{self.run(run)}charts")

    def review(self, run: str) -> str | None:
        """``/r/RUN/review``."""
        return self._if("review", f"{self.run(run)}review")

    def _if(self, part: str, address: str) -> str | None:
        return address if part in self.parts else None


def _anchor(anchor: str) -> str:
    return f"#{quote(anchor)}" if anchor else ""
