"""Full-text search of a run as it is typed: titles from memory at once, texts from an index that is
made in the background.

Where there is no index (yet), or it does not answer in time, titles are found all the same and
``note`` says what is missing.
"""

import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from llmpedia.site.data.catalogue import NONE
from llmpedia.site.data.run_reader import SiteRun
from llmpedia.site.search.index import index_path, is_of
from llmpedia.site.search.titles import Titles
from llmpedia.site.text.normalize import tokens
from llmpedia.site.text.snippets import excerpt

_MOST_CHARACTERS = 200
_MOST_PHRASES = 16
_LEAST_PREFIX = 3  # shorter beginnings are those of too many words, and completed in titles only
_TIME_S = 0.1
_STEPS = 5_000
_CHUNK = re.compile(r'"([^"]*)"?|([^\s"]+)')


@dataclass(frozen=True)
class PageHit:
    """An article that was found. ``snippet``: an excerpt with U+0002 and U+0003 around what was
    searched for; may be empty.
    """

    number: int
    name: str
    snippet: str
    hop: int


@dataclass(frozen=True)
class Phrase:
    """Words that are to follow each other; ``open``: the last one may be the beginning of a word."""

    words: tuple[str, ...]
    open: bool

    @property
    def fts(self) -> str:
        """As FTS5 takes it. Folded words hold letters, marks and digits only, so that nothing in
        them is syntax.
        """
        return f'"{" ".join(self.words)}"{" *" if self.open else ""}'


def phrases_of(query: str) -> list[Phrase]:
    """A query's phrases: what is quoted, and each of its words; the last word is open while it is
    being typed.
    """
    query = query[:_MOST_CHARACTERS]
    phrases: list[Phrase] = []
    for match in _CHUNK.finditer(query):
        words = tuple(tokens(match.group(1) if match.group(2) is None else match.group(2)).split())
        typed = match.group(2) is not None and match.end() == len(query)
        if words:
            phrases.append(Phrase(words, typed and (len(words) > 1 or len(words[0]) >= _LEAST_PREFIX)))
    return phrases[:_MOST_PHRASES]


class RunSearch:
    """Search of one run. Safe to use from several threads."""

    def __init__(self, run: SiteRun) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._titles_lock = threading.Lock()
        self._titles: tuple[int, Titles] | None = None
        self._index: sqlite3.Connection | None = None
        self._builder: subprocess.Popen[str] | None = None
        self._failed: str | None = None
        threading.Thread(target=self._begin, daemon=True, name="search").start()

    def find(self, query: str, most: int) -> list[PageHit]:
        """The best articles for a query: the title that it is, titles that begin so, then texts by
        relevance.
        """
        exact = self._run.number_of(query)
        catalogue = self._run.catalogue
        numbers = [exact] if exact is not None and catalogue.articles[exact] != NONE else []
        phrases = phrases_of(query)
        if not phrases:
            return self._hits(numbers, phrases)
        numbers += self._names().find(query, most)
        numbers = list(dict.fromkeys(numbers))
        # Half of the places are for texts where both find enough.
        in_texts = [n for n in self._in_texts(phrases, 2 * most) if n < len(catalogue.articles)]
        kept = [*numbers[: max(most // 2, most - len(in_texts))], *in_texts, *numbers]
        kept = [n for n in dict.fromkeys(kept) if catalogue.articles[n] != NONE]
        return self._hits(kept[:most], phrases)

    def ready(self) -> float:
        """Share of the articles whose texts can be found, 0 to 1."""
        total = int(np.count_nonzero(self._run.catalogue.articles != NONE))
        counted = self._ask("SELECT count(*) FROM texts", ())
        if not total:
            return 1.0
        return min(1.0, counted[0][0] / total) if counted else 0.0

    @property
    def note(self) -> str | None:
        """Why texts are not found, or not all of them; None: they are."""
        self._look_after()
        if self._failed:
            return f"only titles are searched: {self._failed}"
        share = self.ready()
        return None if share >= 1 else f"texts are being indexed, {share:.0%} are done"

    def refresh(self) -> None:
        """Index waves that the run has taken up since."""
        self._failed = None
        self._begin()

    def close(self) -> None:
        """End the build, if one is under way, and close the index."""
        with self._lock:
            if self._builder is not None and self._builder.poll() is None:
                self._builder.terminate()
                self._builder.wait()
            if self._index is not None:
                self._index.close()
            self._index = self._builder = None

    def _begin(self) -> None:
        """Start the build where something is missing; make the titles meanwhile."""
        with self._lock:
            whole = self._waves_there() == len(self._run.run.manifests)
            if not whole and (self._builder is None or self._builder.poll() is not None):
                command = [sys.executable, "-m", "llmpedia.site.search.index", self._run.run.uri]
                self._builder = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
        self._names()

    def _look_after(self) -> None:
        builder = self._builder
        if builder is not None and builder.poll() and builder.stdout is not None:
            output = builder.stdout.read().strip().splitlines()
            self._failed = output[-1] if output else f"the build ended with exit code {builder.returncode}"
            self._builder = None

    def _names(self) -> Titles:
        catalogue = self._run.catalogue
        with self._titles_lock:
            if self._titles is None or self._titles[0] != catalogue.waves:
                self._titles = (catalogue.waves, Titles(catalogue))
            return self._titles[1]

    def _in_texts(self, phrases: Sequence[Phrase], most: int) -> list[int]:
        """Articles by their texts and titles, and entities by aliases of later commits."""
        match = " AND ".join(p.fts for p in phrases)
        others = (
            "SELECT number FROM aliases JOIN others ON place = aliases.rowid WHERE aliases MATCH ? LIMIT ?"
        )
        rows = self._ask("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?", (match, most))
        if rows is None:
            # too common to be ranked in time: in the order of the walk, which begins with what is
            # near the seed
            whole = " AND ".join(Phrase(p.words, False).fts for p in phrases)
            rows = self._ask("SELECT rowid FROM words WHERE words MATCH ? LIMIT ?", (whole, most)) or []
        return [n for (n,) in [*(self._ask(others, (match, most)) or []), *rows]]

    def _hits(self, numbers: Sequence[int], phrases: Sequence[Phrase]) -> list[PageHit]:
        wanted = json.dumps([int(n) for n in numbers])
        texts = dict(
            self._ask(
                "SELECT number, text FROM texts WHERE number IN (SELECT value FROM json_each(?))", (wanted,)
            )
            or []
        )
        hits = []
        for entity in self._run.entities(numbers):
            text = zlib.decompress(texts[entity.id]).decode() if entity.id in texts else ""
            hits.append(
                PageHit(
                    entity.id, entity.name, excerpt(text, [(p.words, p.open) for p in phrases]), entity.hop
                )
            )
        return hits

    def _ask(self, statement: str, values: tuple[Any, ...]) -> list[Any] | None:
        """Rows of the index; None where it does not answer in time, or there is none."""
        with self._lock:
            index = self._opened()
            if index is None:
                return None
            end = time.monotonic() + _TIME_S
            index.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
            try:
                return index.execute(statement, values).fetchall()
            except sqlite3.Error:  # interrupted, or damaged meanwhile
                return None

    def _opened(self) -> sqlite3.Connection | None:
        path = index_path(self._run.run)
        if self._index is None and path.exists():
            # Where nothing can be written, SQLite has no place for its locks and has to be told
            # that it needs none.
            modes = ["mode=ro"] if os.access(path.parent, os.W_OK) else ["mode=ro", "immutable=1"]
            self._index = next(
                (connection for mode in modes if (connection := self._connected(f"{path.as_uri()}?{mode}"))),
                None,
            )
        return self._index

    def _connected(self, address: str) -> sqlite3.Connection | None:
        """The index, if it is this run's and can be read."""
        index = sqlite3.connect(address, uri=True, check_same_thread=False, isolation_level=None)
        try:
            usable = is_of(index, self._run.run)
        except sqlite3.Error:  # not begun yet, or damaged: ``note`` tells what became of the build
            usable = False
        if not usable:
            index.close()
        return index if usable else None

    def _waves_there(self) -> int:
        index = self._opened()
        try:
            return int(index.execute("SELECT count(*) FROM waves").fetchone()[0]) if index is not None else 0
        except sqlite3.Error:  # damaged meanwhile: the build says so, or makes it anew
            return 0
