"""Reading a MediaWiki's answer to ``action=query``: which page each title that was asked for came
to.

A title goes through three maps of the answer, each of which may lack it: ``normalized``,
``redirects`` (both hops of a double redirect, both ways of a loop), ``pages``. A loop or a redirect
to another wiki has no page at all. A title that the answer does not speak of is an error, never a
missing page. Shapes: formatversion 2, which alone has them uniform.
"""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from llmpedia.audit.evidence import Outcome
from llmpedia.audit.wikipedia.titles import Site
from llmpedia.errors import TransientError

Page = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """What a title came to. ``page``: the API's page, for found and redirected; its ``wikitext`` is
    never empty.
    """

    outcome: Outcome
    detail: str | None = None
    page: Page | None = None

    @property
    def wikitext(self) -> str:
        """Wikitext of the page's latest revision; empty without a page."""
        return _content(self.page) or "" if self.page else ""


@dataclass
class TitleResponse:
    """The parts of one query's answer, put together: MediaWiki gives large pages in several."""

    normalized: dict[str, str] = field(default_factory=dict)
    redirects: dict[str, dict[str, str]] = field(default_factory=dict)
    interwiki: set[str] = field(default_factory=set)
    pages: dict[str, Page] = field(default_factory=dict)

    def add(self, query: dict[str, Any]) -> None:
        """Take another part.

        Raises:
            KeyError, TypeError, AttributeError: it has another shape.
        """
        for n in query.get("normalized", ()):
            self.normalized[unquote(n["from"]) if n.get("fromencoded") else n["from"]] = n["to"]
        self.redirects |= {r["from"]: r for r in query.get("redirects", ())}
        self.interwiki |= {i["title"] for i in query.get("interwiki", ())}
        for page in query.get("pages", ()):
            self.pages.setdefault(page["title"], {}).update(page)

    def find(self, title: str, site: Site) -> Found:
        """What a title that was asked for came to.

        Raises:
            TransientError: the answer does not speak of it.
        """
        start = self.normalized.get(title, title)
        if not site.same(title, start):
            return Found(Outcome.INVALID, f"the wiki takes this title for another one, '{start}'")
        hops = self._follow(start)
        if hops is None:
            return Found(Outcome.INVALID, "redirect loop")
        if hops and "tointerwiki" in hops[-1]:
            return Found(Outcome.INVALID, f"redirect to another wiki, '{hops[-1]['to']}'")
        end = hops[-1]["to"] if hops else start
        if end in self.interwiki:
            return Found(Outcome.INVALID, "it leads to another wiki")
        if end not in self.pages:
            raise TransientError(f"the wiki's answer does not speak of '{title}'")
        return _judge(self.pages[end], hops, site)

    def _follow(self, title: str) -> list[dict[str, str]] | None:
        """The redirects from a title, in order; None for a loop."""
        hops: list[dict[str, str]] = []
        while title in self.redirects:
            hop = self.redirects[title]
            if hop in hops:
                return None
            hops.append(hop)
            title = hop["to"]
        return hops


def _judge(page: Page, hops: list[dict[str, str]], site: Site) -> Found:
    via = _path(hops)
    if page.get("invalid"):
        reason = page.get("invalidreason")
        return Found(Outcome.INVALID, str(reason.get("text") if isinstance(reason, dict) else reason))
    if page.get("special") or page.get("ns") not in site.content:
        return Found(Outcome.INVALID, f"{via or 'it leads'} out of the articles, to '{page['title']}'")
    if page.get("missing"):
        return Found(Outcome.MISSING, f"{via}, which is missing" if via else None)
    if "disambiguation" in page.get("pageprops", {}):  # present, with an empty value
        return Found(Outcome.DISAMBIGUATION, via)
    return _with_text(page, hops)


def _with_text(page: Page, hops: list[dict[str, str]]) -> Found:
    if _slot(page).get("texthidden"):
        return Found(Outcome.INVALID, "the text of its latest revision is hidden")
    text = _content(page)
    if text is None:
        raise TransientError(f"the wiki's answer lacks the text of '{page['title']}'")
    if not text.strip():
        return Found(Outcome.MISSING, "the page is empty")
    return Found(Outcome.REDIRECTED if hops else Outcome.FOUND, _path(hops), page)


def _path(hops: list[dict[str, str]]) -> str | None:
    """The way of redirects in words; a section that it leads to is named, for the page is about
    more than the subject.
    """
    if not hops:
        return None
    words = "redirect to " + " and on to ".join(f"'{h['to']}'" for h in hops)
    section = hops[-1].get("tofragment")
    return f"{words}, section '{section}'" if section else words


def _slot(page: Page) -> dict[str, Any]:
    revisions = page.get("revisions") or [{}]
    slot: dict[str, Any] = revisions[0].get("slots", {}).get("main", {})
    return slot


def _content(page: Page) -> str | None:
    text = _slot(page).get("content")
    return text if isinstance(text, str) else None
