"""A ZIM file of Wikipedia (Kiwix) as evidence: one file with redirects; of the state that its date
names, without wikitext.

Needs the extra ``zim``: libzim is GPL, so it is no dependency of the package itself.

A disambiguation page is told by its own marks: Parsoid's page property, the box of the template
(``disambigbox``, ``dmbox-disambig``), a category that ends with "disambiguation pages", the ending
"(disambiguation)" of its title. The maker of Wikipedia's files (mwoffliner) strips the box and the
categories, so that an English first paragraph such as "Mercury may refer to:" counts too;
disambiguation pages of other languages without a mark read as articles. The class ``mw-disambig``
is no mark: it stands on links to such pages, which every second article has.
"""

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urldefrag, urljoin

from llmpedia.audit.evidence import Evidence, Outcome
from llmpedia.audit.wikipedia.offline.local_copy import (
    CopyArticle,
    LocalCopy,
    evidence,
    first_upper,
    nothing,
    redirects,
    site_of,
)
from llmpedia.errors import ConfigError, InputError

_MARKS = (
    'meta[property="mw:PageProp/disambiguation"], #disambigbox, .dmbox-disambig, '
    'a[href$="isambiguation_pages"], link[href$="isambiguation_pages"]'
)
_WORDING = re.compile(
    r"\b(?:(?:may|might|can|could)(?: also)? (?:refer to|stand for)[^.:]{0,60}|refers? to|stands? "
    r"for|the names? of[^.:]{0,60}):$"
)
# What is no text of the article: notes' numbers and lists, links to edit, boxes of navigation,
# notes of other meanings.
_SKIPPED = [
    "sup.reference",
    ".mw-editsection",
    "ol.references",
    ".reflist",
    ".navbox",
    ".noprint",
    ".hatnote",
    "style",
]
_REVISION = re.compile(r"Special:Redirect/revision/(\d+)|[?&]oldid=(\d+)")


class ZimCopy(LocalCopy):
    """Articles of a ZIM file, by path or else by title."""

    def __init__(self, path: str | Path) -> None:
        """Raises:
        ConfigError: libzim is not installed.
        InputError: the file is not there, or is no whole ZIM file.
        """
        self._path = Path(path)
        self._opened: Any = None
        archive = self._archive()
        self._date = archive.get_metadata("Date").decode() if "Date" in archive.metadata_keys else None
        # Older files keep articles in a namespace of their own.
        self._folder = "" if archive.has_new_namespace_scheme else "A/"
        super().__init__(f"zim:{archive.uuid}", (RuntimeError, InputError), site_of((), True))

    def _archive(self) -> Any:
        if self._opened is None:
            self._opened = _open(self._path)
        return self._opened

    def look_up(self, subject: str, title: str) -> Evidence:
        """See :class:`~llmpedia.audit.wikipedia.offline.local_copy.LocalCopy`."""
        entry = self._entry(title)
        if entry is None:
            return nothing(subject, Outcome.MISSING, "the file has no such page")
        return self._follow(subject, entry)

    def _entry(self, title: str) -> Any:
        archive = self._archive()
        path = self._folder + first_upper(title).replace(" ", "_")
        if archive.has_entry_by_path(path):
            return archive.get_entry_by_path(path)
        forms = (title, first_upper(title))
        return next(
            (archive.get_entry_by_title(form) for form in forms if archive.has_entry_by_title(form)), None
        )

    def _follow(self, subject: str, entry: Any) -> Evidence:
        """To the article at the end of the redirects: the file's own, and pages that do nothing but
        send the reader on.
        """
        seen: dict[str, str] = {}
        while entry.path not in seen:
            seen[entry.path] = entry.title
            hops = list(seen.values())[1:]
            if entry.is_redirect:
                entry = entry.get_redirect_entry()
                continue
            item = entry.get_item()
            if not item.mimetype.startswith("text/html"):
                return nothing(subject, Outcome.MISSING, f"'{entry.path}' is no article but {item.mimetype}")
            tree = _parsed(bytes(item.content))
            onward = _onward(tree, entry.path)
            if onward is None:
                return self._page(subject, entry, tree, hops)
            if not self._archive().has_entry_by_path(onward):
                return nothing(subject, Outcome.MISSING, f"{redirects([*hops, onward])}, which is missing")
            entry = self._archive().get_entry_by_path(onward)
        return nothing(
            subject, Outcome.INVALID, f"redirect loop: {redirects([*list(seen.values())[1:], entry.title])}"
        )

    def _page(self, subject: str, entry: Any, tree: Any, hops: list[str]) -> Evidence:
        if _is_disambiguation(entry.title, tree):
            return nothing(subject, Outcome.DISAMBIGUATION, f"'{entry.title}' lists several meanings")
        from resiliparse.extract.html2text import extract_plain_text

        text = extract_plain_text(tree, main_content=False, alt_texts=False, skip_elements=_SKIPPED)
        url, revision = _origin(tree, entry.path.removeprefix(self._folder))
        article = CopyArticle(
            entry.title, url or f"zim:{quote(self._path.name)}/{quote(entry.path)}", revision, "page", text
        )
        return evidence(subject, article, hops, self._date)

    def let_go(self) -> None:
        """Close the file; the next subject opens it again."""
        self._opened = None


def _open(path: Path) -> Any:
    try:
        from libzim.reader import Archive
    except ImportError as e:
        raise ConfigError(
            f'{path}: ZIM files need libzim, which is not installed; pip install -c constraints.txt ".[zim]"'
        ) from e
    try:
        return Archive(path)
    except RuntimeError as e:
        raise InputError(f"{path}: cannot be opened as a ZIM file ({e}); give a whole .zim file") from e


def _parsed(html: bytes) -> Any:
    from resiliparse.parse.html import HTMLTree

    return HTMLTree.parse(html.decode(errors="replace"))


def _onward(tree: Any, path: str) -> str | None:
    """Where a page sends its reader at once, as a path of the file: how redirects to a section are
    kept.
    """
    refresh = tree.document.query_selector('meta[http-equiv="refresh"]')
    match = (
        re.search(r"url\s*=\s*['\"]?([^'\"]+)", refresh.getattr("content") or "", re.I) if refresh else None
    )
    return unquote(urldefrag(urljoin(quote(path), match.group(1).strip())).url) if match else None


def _is_disambiguation(title: str, tree: Any) -> bool:
    if title.casefold().endswith("(disambiguation)") or tree.document.query_selector(_MARKS) is not None:
        return True
    opening = next((p.text.strip() for p in tree.document.query_selector_all("p") if p.text.strip()), "")
    return _WORDING.search(" ".join(opening.split())) is not None


def _origin(tree: Any, path: str) -> tuple[str | None, str | None]:
    """Address of the article on the wiki, and its revision, where the page tells them: its head, or
    the note at its foot.
    """
    canonical = tree.document.query_selector('link[rel="canonical"]')
    about = tree.document.query_selector("html[about]")
    foot = [a.getattr("href") or "" for a in tree.document.query_selector_all('a[href*="?oldid="]')]
    links = [h for h in foot if unquote(h.partition("?")[0]).endswith("/" + path)]
    address = (about.getattr("about") if about else None) or (links[-1] if links else "")
    revision = _REVISION.search(address)
    url = canonical.getattr("href") if canonical else links[-1].partition("?")[0] if links else None
    return url, next(filter(None, revision.groups())) if revision else None
