"""An XML dump of a wiki (``*-pages-articles.xml.bz2``) as evidence: one pass into SQLite, then
lookups by title.

Of all copies the nearest to the online wiki: redirects, exact revisions, the whole wikitext. On how
disambiguation pages are told see :mod:`~llmpedia.audit.wikipedia.offline.xml_reader`.
"""

import json
import os
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urljoin

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
from llmpedia.audit.wikipedia.offline.xml_reader import DumpPage, Export, OnProgress, is_disambiguation
from llmpedia.audit.wikipedia.plain_text import wikitext_plain
from llmpedia.audit.wikipedia.titles import Title
from llmpedia.errors import InputError

FORMAT = "llmpedia-dump-1"

_TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE pages (title TEXT NOT NULL, redirect TEXT, revision INTEGER NOT NULL, stamp TEXT NOT NULL,
                    disambiguation INTEGER NOT NULL, wikitext BLOB);
"""
_PAGE = (
    "SELECT title, redirect, revision, disambiguation, wikitext FROM pages WHERE title = ? "
    "ORDER BY revision DESC LIMIT 1"
)
_Row = tuple[str, str | None, int, str, bool, bytes | None]
_Found = tuple[str, str | None, int, int, bytes | None]


@dataclass(frozen=True)
class DumpCounts:
    """What a dump held. ``articles``: no redirects; disambiguation pages and pages without text are
    among them.
    """

    articles: int
    redirects: int
    disambiguations: int
    without_text: int
    other_namespaces: int


def index_dump(
    xml_path: str | Path, sqlite_path: str | Path, on_progress: OnProgress | None = None
) -> DumpCounts:
    """Read a dump (plain, .bz2 or .gz) once into the SQLite file that :class:`DumpCopy` opens;
    articles' namespace only.

    The file appears under its name when it is whole. Of several revisions of a page the newest is
    kept.

    Raises:
        InputError: the dump cannot be read to its end or holds no text, or the file cannot be
        written; nothing is left of it.
    """
    # A name of its own: of two processes that index one dump, each renames a whole file.
    wanted = Path(sqlite_path)
    partial = Path(f"{sqlite_path}.{os.getpid()}.partial")
    try:
        partial.unlink(missing_ok=True)
        counts = _fill(partial, Export(Path(xml_path), on_progress))
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(partial, wanted)
    except (sqlite3.Error, OSError) as e:
        raise InputError(
            f"{wanted}: cannot be written ({type(e).__name__}: {e}); give a path on a disk with room"
        ) from e
    finally:
        partial.unlink(missing_ok=True)
    return counts


def _fill(partial: Path, export: Export) -> DumpCounts:
    """Until the file is renamed it is worth nothing, so that it is written without a journal."""
    seen: Counter[str] = Counter()
    with closing(sqlite3.connect(partial)) as base:
        base.executescript(_TABLES)
        base.executemany("INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?)", _rows(export, seen))
        if seen["articles"] == seen["without_text"]:
            raise InputError(
                f"{export.path}: holds no text of any article; give a dump of the kind pages-articles"
            )
        base.execute("CREATE INDEX titles ON pages (title)")
        base.executemany("INSERT INTO about VALUES (?, ?)", _about(base, export).items())
        base.commit()
    return DumpCounts(
        articles=seen["articles"],
        redirects=seen["redirects"],
        disambiguations=seen["disambiguations"],
        without_text=seen["without_text"],
        other_namespaces=export.skipped,
    )


def _rows(export: Export, seen: Counter[str]) -> Iterator[_Row]:
    for page in export.pages():
        row = _row(page)
        seen["redirects" if page.redirect else "articles"] += 1
        seen["disambiguations"] += row[4]
        seen["without_text"] += not page.redirect and page.text is None
        yield row


def _row(page: DumpPage) -> _Row:
    if page.redirect:
        return page.title, page.redirect, page.revision, page.stamp, False, None
    packed = None if page.text is None else zlib.compress(page.text.encode(), 1)
    return (
        page.title,
        None,
        page.revision,
        page.stamp,
        page.text is not None and is_disambiguation(page.text),
        packed,
    )


def _about(base: sqlite3.Connection, export: Export) -> dict[str, str]:
    assert export.head is not None  # a page was read
    newest, pages = base.execute("SELECT max(stamp), count(*) FROM pages").fetchone()
    head = export.head
    return {
        "format": FORMAT,
        "name": f"dump:{head.dbname}:{newest}:{pages}",
        "newest": newest,
        "base": head.base or "",
        "first_letter": json.dumps(head.first_letter),
        "namespaces": json.dumps(head.namespaces),
    }


class DumpCopy(LocalCopy):
    """Articles of an indexed dump; redirects are followed to their end, as the wiki's API does."""

    def __init__(self, sqlite_path: str | Path) -> None:
        """Raises:
        InputError: the file is not there or was not made by :func:`index_dump`.
        """
        self._path = Path(sqlite_path)
        self._opened: sqlite3.Connection | None = None
        try:
            about = dict(self._base().execute("SELECT name, value FROM about"))
        except sqlite3.Error as e:
            raise InputError(
                f"{self._path}: no index of a dump ({e}); make one from the dump with index_dump"
            ) from e
        if about.get("format") != FORMAT:
            raise InputError(
                f"{self._path}: format {about.get('format')}, this version reads {FORMAT}; index "
                f"the dump anew"
            )
        self._first_letter = json.loads(about["first_letter"])
        self._newest = about["newest"]
        self._url = urljoin(about["base"], ".") if about["base"] else f"dump:{quote(self._path.name)}/"
        super().__init__(
            about["name"],
            (sqlite3.Error, zlib.error),
            site_of(json.loads(about["namespaces"]), self._first_letter),
        )

    def _base(self) -> sqlite3.Connection:
        if self._opened is None:
            uri = f"file:{quote(str(self._path.absolute()))}?mode=ro"
            self._opened = sqlite3.connect(uri, uri=True, check_same_thread=False)
        return self._opened

    def look_up(self, subject: str, title: str) -> Evidence:
        """See :class:`~llmpedia.audit.wikipedia.offline.local_copy.LocalCopy`."""
        first = self._normal(title)
        hops: list[str] = []
        while (row := self._row(hops[-1] if hops else first)) and row[1] is not None:
            target = self._normal(row[1])
            if target in (first, *hops):
                return nothing(subject, Outcome.INVALID, f"redirect loop: {redirects([*hops, target])}")
            hops.append(target)
        return self._page(subject, row, hops) if row else self._missing(subject, hops)

    def _row(self, title: str) -> _Found | None:
        row: _Found | None = self._base().execute(_PAGE, [title]).fetchone()
        return row

    def _missing(self, subject: str, hops: list[str]) -> Evidence:
        if not hops:
            return nothing(subject, Outcome.MISSING, "the dump has no such page")
        if refused := self.site.leads_out(Title(hops[-1])):
            return nothing(
                subject, Outcome.INVALID, f"{redirects(hops)}, out of the articles: {refused.reason}"
            )
        return nothing(subject, Outcome.MISSING, f"{redirects(hops)}, which is missing")

    def _page(self, subject: str, row: _Found, hops: list[str]) -> Evidence:
        title, _, revision, disambiguation, packed = row
        if packed is None:
            return nothing(subject, Outcome.INVALID, f"the text of '{title}' is hidden, or not in the dump")
        if disambiguation:
            return nothing(subject, Outcome.DISAMBIGUATION, f"'{title}' lists several meanings")
        text = wikitext_plain(zlib.decompress(packed).decode())
        url = self._url + quote(title.replace(" ", "_"), safe="/:,()!*'")
        return evidence(subject, CopyArticle(title, url, str(revision), "wikitext", text), hops, self._newest)

    def _normal(self, title: str) -> str:
        spaced = " ".join(title.replace("_", " ").split())
        return first_upper(spaced) if self._first_letter else spaced

    def let_go(self) -> None:
        """Close the file; the next subject opens it again."""
        if self._opened is not None:
            self._opened.close()
        self._opened = None
