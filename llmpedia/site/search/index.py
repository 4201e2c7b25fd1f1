"""The full-text index of a run: a SQLite file in the cache, filled wave by wave by a process of its
own.

``python -m llmpedia.site.search.index RUN`` adds the waves that the index lacks and ends. A wave is
one transaction, so that a killed build goes on where it was and two builds at once do no harm. An
index whose waves are not the run's is begun anew.

Texts are folded before they get here (``folding``), so that SQLite splits at spaces; plain texts
are kept beside the index, compressed, for excerpts.
"""

import hashlib
import os
import sqlite3
import sys
import threading
import time
import zlib
from contextlib import closing
from pathlib import Path

from llmpedia.errors import EXIT_BAD_INPUT, EXIT_DONE, InputError, LlmpediaError
from llmpedia.site.data.row_reader import WaveTables
from llmpedia.site.text.normalize import spaced
from llmpedia.store.run_folder import RunFolder
from llmpedia.wikitext import Article

_FORMAT = 1
_PATIENCE_S = 60
# ``rank``: what is in a title counts as much as ten times the same in the text.
_TABLES = """
CREATE TABLE waves (wave INTEGER PRIMARY KEY, manifest TEXT NOT NULL);
CREATE TABLE texts (number INTEGER PRIMARY KEY, text BLOB NOT NULL);
CREATE TABLE others (place INTEGER PRIMARY KEY, number INTEGER NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(title, text, content='', tokenize='ascii');
CREATE VIRTUAL TABLE aliases USING fts5(name, content='', tokenize='ascii');
INSERT INTO words(words, rank) VALUES('rank', 'bm25(10.0, 1.0)');
"""
_NAMES = ("waves", "texts", "others", "words", "aliases")


def cache_folder() -> Path:
    """Where indexes lie: ``$LLMPEDIA_CACHE/site``, else ``~/.cache/llmpedia/site``."""
    return Path(os.environ.get("LLMPEDIA_CACHE") or Path.home() / ".cache" / "llmpedia") / "site"


def index_path(run: RunFolder) -> Path:
    """The index of a run, by its address; which commits it is of is told inside."""
    return cache_folder() / f"{hashlib.sha256(f'{_FORMAT} {run.uri}'.encode()).hexdigest()[:24]}.sqlite"


def build(run: RunFolder) -> None:
    """Add the waves that the index lacks.

    Raises:
        InputError: the cache cannot be written, or a file of the run is missing or damaged.
    """
    path = index_path(run)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            _add_waves(run, path)
        except sqlite3.DatabaseError as e:
            if isinstance(e, sqlite3.OperationalError):
                raise
            _remove(path)  # it is no database, or a broken one
            _add_waves(run, path)
    except (OSError, sqlite3.Error) as e:
        raise InputError(
            f"{path}: cannot be written ({e}); free space, or set LLMPEDIA_CACHE to another folder"
        ) from e


def _add_waves(run: RunFolder, path: Path) -> None:
    with closing(sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None)) as index:
        _let_read_meanwhile(index)
        index.execute("PRAGMA synchronous=NORMAL")
        _begin(index, run)
        there = {wave for (wave,) in index.execute("SELECT wave FROM waves")}
        tables = WaveTables(run)
        for wave in (w for w in range(len(run.manifests)) if w not in there):
            _add_wave(index, run, tables, wave)
        index.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _let_read_meanwhile(index: sqlite3.Connection) -> None:
    """Write-ahead logging: who reads does not wait. SQLite itself does not wait here for another
    process that begins too.
    """
    end = time.monotonic() + _PATIENCE_S
    while True:
        try:
            index.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as e:
            if e.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.05)


def _begin(index: sqlite3.Connection, run: RunFolder) -> None:
    """Make the tables, anew where those that are there are of other commits."""
    index.execute("BEGIN IMMEDIATE")
    if index.execute("SELECT 1 FROM sqlite_master WHERE name = 'aliases'").fetchone() and not is_of(
        index, run
    ):
        for name in _NAMES:
            index.execute(f"DROP TABLE {name}")
    if not index.execute("SELECT 1 FROM sqlite_master WHERE name = 'aliases'").fetchone():
        for statement in _TABLES.strip().split(";\n"):
            index.execute(statement)
    index.execute("COMMIT")


def is_of(index: sqlite3.Connection, run: RunFolder) -> bool:
    """Whether all waves of an index are commits of a run; it may hold some that the run as opened
    does not know yet.
    """
    waves = index.execute("SELECT wave, manifest FROM waves WHERE wave < ?", (len(run.manifests),))
    return all(run.manifests[wave].sha256 == manifest for wave, manifest in waves)


def _add_wave(index: sqlite3.Connection, run: RunFolder, tables: WaveTables, wave: int) -> None:
    rows = tables.columns("articles", wave, ["subject_id", "name", "wikitext"])
    aliases = tables.columns("aliases", wave, ["entity_id", "name"])
    columns = (rows[name].to_pylist() for name in ("subject_id", "name", "wikitext"))
    read = [(number, name, Article(wikitext).text) for number, name, wikitext in zip(*columns, strict=True)]
    texts = [(number, zlib.compress(text.encode("utf-8", "replace"), 1)) for number, _, text in read]
    words = [(number, spaced(name), spaced(text)) for number, name, text in read]
    others = list(zip(aliases["entity_id"].to_pylist(), aliases["name"].to_pylist(), strict=True))
    index.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have added it meanwhile.
        if not index.execute("SELECT 1 FROM waves WHERE wave = ?", (wave,)).fetchone():
            index.executemany("INSERT OR IGNORE INTO texts VALUES (?, ?)", texts)
            index.executemany("INSERT INTO words(rowid, title, text) VALUES (?, ?, ?)", words)
            first = index.execute("SELECT coalesce(max(place), 0) + 1 FROM others").fetchone()[0]
            index.executemany(
                "INSERT INTO others VALUES (?, ?)", [(first + i, n) for i, (n, _) in enumerate(others)]
            )
            names = [(first + i, spaced(name)) for i, (_, name) in enumerate(others)]
            index.executemany("INSERT INTO aliases(rowid, name) VALUES (?, ?)", names)
            index.execute("INSERT INTO waves VALUES (?, ?)", (wave, run.manifests[wave].sha256))
        index.execute("COMMIT")
    except BaseException:
        if index.in_transaction:
            index.execute("ROLLBACK")
        raise


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def main(uri: str) -> int:
    """Build, and end early where the process that began it has ended: it holds the other end of
    standard input.
    """
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.nice(10)
    try:
        build(RunFolder.open(uri))
    except LlmpediaError as e:
        sys.stdout.write(f"{e}\n")
        return EXIT_BAD_INPUT
    return EXIT_DONE


def _end_with_parent() -> None:
    while os.read(0, 1):  # not through ``sys.stdin``, whose lock would be held as the interpreter exits
        pass
    os._exit(EXIT_BAD_INPUT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
