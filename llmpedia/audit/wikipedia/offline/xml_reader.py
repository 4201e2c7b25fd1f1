"""Reading a wiki's XML export: the pages of the articles' namespace, each with its newest revision,
redirect and kind.

Whether a page is a disambiguation page the export does not say; it is taken from the templates that
stand on the page, English Wikipedia's and the main ones of other languages. Set indices (lists of
ships, of surnames) are articles, as for MediaWiki.
"""

import bz2
import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from llmpedia.errors import InputError

# Told of pages read, bytes of the file read, bytes of the file.
OnProgress = Callable[[int, int, int], None]

_TOLD_EVERY = 1000
# "Redirect" in the languages of the largest Wikipedias; an export's own <redirect> goes before it.
_REDIRECT = re.compile(
    r"\s*#\s*(?:redirect|weiterleitung|redirection|redirección|redirecionamento|rinvia|doorverwijzing|patrz|omdirigering|"
    r"перенаправление|転送|重定向|넘겨주기|تحويل)\s*+:?\s*+\[\[\s*+:?\s*+([^\]|\n]+)",
    re.I,
)
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)|<nowiki>.*?(?:</nowiki>|\Z)", re.S | re.I)
_TEMPLATE = re.compile(r"\{\{\s*+(?:template\s*+:\s*+)?([^{}|<>\n]+)", re.I)
_DISAMBIGUATIONS = frozenset(
    "disambiguation,disambig,disamb,disam,dab,disambiguation "
    "cleanup,disambig-cleanup,disambiguation page,hndis,hndis-cleanup,"
    "geodis,geo-dis,mathdab,numberdis,roaddis,schooldis,hospitaldis,letterdis,letter "
    "disambig,airport disambig,"
    "begriffsklärung,homonymie,desambiguación,desambiguação,disambigua,doorverwijspagina,dp,förgrening,flertydig,"
    "неоднозначность,багатозначність,ujednoznacznienie,rozcestník,egyért,anlam "
    "ayrımı,曖昧さ回避,aimai,消歧义,消歧義,동음이의,"
    "توضيح".split(",")
)
# First words of notes and tags on articles and redirects that end like the names of disambiguation
# templates.
_NOTES = frozenset("about for needs no other r redirect see".split())


@dataclass(frozen=True)
class Head:
    """What an export says of its wiki. ``namespaces``: names of all but the articles'."""

    dbname: str
    base: str | None
    first_letter: bool
    namespaces: tuple[str, ...]


@dataclass(frozen=True)
class DumpPage:
    """``redirect``: title of the target. ``stamp``: time of the revision, ISO 8601. ``text``: None
    if not in the export.
    """

    title: str
    redirect: str | None
    revision: int
    stamp: str
    text: str | None


class Export:
    """An export while it is read; ``skipped`` counts pages of other namespaces so far."""

    def __init__(self, path: Path, on_progress: OnProgress | None) -> None:
        self.path = path
        self._on_progress = on_progress
        self.head: Head | None = None
        self.skipped = 0

    def pages(self) -> Iterator[DumpPage]:
        """The articles and redirects, in the order of the file. ``head`` is there from the first
        on.

        Raises:
            InputError: this is no export, or it breaks off.
        """
        from xml.etree.ElementTree import ParseError

        from mwxml.errors import MalformedXML

        # mwxml asserts what it expects of <siteinfo>.
        wrong = (ParseError, MalformedXML, AssertionError, EOFError, OSError, zlib.error, ValueError)
        try:
            with self.path.open("rb") as raw, _unpacked(raw, self.path.suffix) as file:
                yield from self._read(file, raw)
        except wrong as e:
            message = " ".join(str(e).split())[:200]
            raise InputError(
                f"{self.path}: no whole XML export of a wiki ({type(e).__name__}: {message}); give "
                f"one as .xml, .xml.bz2 or .xml.gz"
            ) from e

    def _read(self, file: IO[bytes], raw: IO[bytes]) -> Iterator[DumpPage]:
        import mwxml
        from mwxml.element_iterator import ElementIterator

        size = self.path.stat().st_size
        root = ElementIterator.from_file(file)
        if root.tag != "mediawiki":
            raise ValueError(f"its outermost element is <{root.tag}>, not <mediawiki>")
        dump = mwxml.Dump.from_element(root)
        self.head = _head(dump.site_info)
        n = 0
        for n, page in enumerate(dump.pages, 1):
            if page.namespace == 0:
                yield _page(page)
            else:
                self.skipped += 1
            if n % _TOLD_EVERY == 0:
                # The root keeps every page's empty element, two gigabytes of them in the whole of
                # Wikipedia.
                root.element.clear()
                self._tell(n, raw.tell(), size)
        self._tell(n, size, size)

    def _tell(self, pages: int, read: int, size: int) -> None:
        if self._on_progress is not None:
            self._on_progress(pages, read, size)


def _unpacked(raw: IO[bytes], suffix: str) -> Any:
    if suffix == ".bz2":
        return bz2.BZ2File(raw)
    return gzip.GzipFile(fileobj=raw) if suffix == ".gz" else raw


def _head(info: Any) -> Head:
    names = tuple(n.name for n in info.namespaces or () if n.id != 0 and n.name)
    return Head(info.dbname or info.name or "wiki", info.base, info.case != "case-sensitive", names)


def _page(page: Any) -> DumpPage:
    newest = max(page, key=lambda revision: revision.timestamp)
    text = None if _text_is_elsewhere(newest) else newest.text or ""
    target = page.redirect or redirect_target(text or "")
    return DumpPage(page.title, target, newest.id, newest.timestamp.long_format(), text)


def _text_is_elsewhere(revision: Any) -> bool:
    """Whether a revision has a text that was deleted or, as in stub dumps, left out; an empty text
    is a text.
    """
    size = revision.slots.contents["main"].bytes
    return bool(revision.deleted.text) or (revision.text is None and int(size or 0) > 0)


def redirect_target(wikitext: str) -> str | None:
    """The title that a page redirects to, without its section, in the words of the page; None if it
    is no redirect.
    """
    match = _REDIRECT.match(wikitext)
    return match.group(1).partition("#")[0].replace("_", " ").strip() if match else None


def is_disambiguation(wikitext: str) -> bool:
    """Whether a page carries a template of disambiguation pages or ``__DISAMBIG__``."""
    visible = _HIDDEN.sub("", wikitext)
    names = {" ".join(m.group(1).replace("_", " ").split()).casefold() for m in _TEMPLATE.finditer(visible)}
    return "__DISAMBIG__" in visible or any(map(_names_disambiguation, names))


def _names_disambiguation(template: str) -> bool:
    if template in _DISAMBIGUATIONS:
        return True
    return template.endswith(" disambiguation") and template.split(maxsplit=1)[0] not in _NOTES
