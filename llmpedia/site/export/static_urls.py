"""Addresses of the static site: files, relative to the page that names them, so that it can be
hosted anywhere.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from urllib.parse import quote

from llmpedia.site.text.slugs import slug

UNWRITTEN_A_PAGE = 500
"""Entities without an article that share a page."""


@dataclass(frozen=True)
class StaticAddresses:
    """Addresses as a page sees them that lies ``depth`` folders below the site's own.

    ``parts``: which of ``addresses.OPTIONAL`` and of ``trace`` the site has. ``written``: whether
    an entity of a run has an article; those without one share pages.
    """

    depth: int
    parts: Collection[str]
    written: Callable[[str, int], bool]

    def start(self) -> str:
        """See :class:`addresses.Addresses`, as for all that follow."""
        return f"{self._up}index.html"

    def static(self, name: str) -> str:
        """``static/NAME``."""
        return f"{self._up}static/{quote(name)}"

    def run(self, run: str) -> str:
        """``r/RUN/index.html``."""
        return f"{self._up}{run_file(run)}"

    def article(self, run: str, number: int, name: str, anchor: str = "") -> str:
        """``r/RUN/a/12-slug.html``, or its place on a page of those that have no article."""
        if self.written(run, number):
            return f"{self._up}{article_file(run, number, name)}{f'#{quote(anchor)}' if anchor else ''}"
        return f"{self._up}{unwritten_file(run, number // UNWRITTEN_A_PAGE)}#e{number}"

    def trace(self, run: str, number: int, name: str, anchor: str = "") -> str:
        """``r/RUN/trace/12-slug.html``; the article where the site was made without prompts."""
        if "trace" not in self.parts:
            return self.article(run, number, name)
        return f"{self._up}{trace_file(run, number, name)}{f'#{quote(anchor)}' if anchor else ''}"

    def listing(self, run: str, hop: int | None = None, letter: str | None = None, page: int = 1) -> str:
        """``r/RUN/list/...``."""
        return f"{self._up}{listing_file(run, hop, letter, page)}"

    def search(self, run: str) -> str:
        """``r/RUN/search.html``."""
        return f"{self._up}{search_file(run)}"

    def suggestions(self, run: str) -> str | None:
        """None: nothing answers."""
        return None

    def index(self, run: str) -> str | None:
        """``r/RUN/pagefind/pagefind.js``."""
        return f"{self._up}{_folder(run)}pagefind/pagefind.js"

    def policy(self) -> str | None:
        """The Content-Security-Policy, which no header brings here; WebAssembly is for the search
        alone.
        """
        return (
            "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src "
            "'self' data:; "
            "connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'"
        )

    def random(self, run: str) -> str | None:
        """None: nothing draws."""
        return None

    def graph(self, run: str, number: int, name: str) -> str | None:
        """``r/RUN/graph/12-slug.html``."""
        return f"{self._up}{graph_file(run, number, name)}" if "graph" in self.parts else None

    def compare(self, run: str, number: int, name: str, other: str) -> str | None:
        """``r/RUN/compare/OTHER/12-slug.html``."""
        return f"{self._up}{compare_file(run, number, name, other)}" if "compare" in self.parts else None

    def charts(self, run: str) -> str | None:
        """``r/RUN/charts.html``."""
        return f"{self._up}{charts_file(run)}" if "charts" in self.parts else None

    def review(self, run: str) -> str | None:
        """None: nothing takes what is filled in."""
        return None

    @property
    def _up(self) -> str:
        return "../" * self.depth


def _folder(run: str) -> str:
    return f"r/{quote(run, safe='')}/"


def run_file(run: str) -> str:
    """Home of a run."""
    return f"{_folder(run)}index.html"


def article_file(run: str, number: int, name: str) -> str:
    """An article."""
    return f"{_folder(run)}a/{slug(number, name)}.html"


def trace_file(run: str, number: int, name: str) -> str:
    """What stands behind it."""
    return f"{_folder(run)}trace/{slug(number, name)}.html"


def graph_file(run: str, number: int, name: str) -> str:
    """Its neighbourhood."""
    return f"{_folder(run)}graph/{slug(number, name)}.html"


def compare_file(run: str, number: int, name: str, other: str) -> str:
    """It beside another run's."""
    return f"{_folder(run)}compare/{quote(other, safe='')}/{slug(number, name)}.html"


def listing_file(run: str, hop: int | None, letter: str | None, page: int) -> str:
    """Articles by name. A letter of any script is told by its code points."""
    parts = [
        f"hop{hop}" if hop is not None else "",
        f"u{'-'.join(f'{ord(c):04x}' for c in letter)}" if letter is not None else "",
        f"p{page}" if page > 1 else "",
    ]
    return f"{_folder(run)}list/{'.'.join(part for part in parts if part) or 'index'}.html"


def unwritten_file(run: str, page: int) -> str:
    """Entities without an article, some hundred a page."""
    return f"{_folder(run)}unwritten/{page}.html"


def search_file(run: str) -> str:
    """Where the search form leads."""
    return f"{_folder(run)}search.html"


def charts_file(run: str) -> str:
    """The run in figures."""
    return f"{_folder(run)}charts.html"
