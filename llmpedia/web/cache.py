"""Answers of services kept on this machine: one SQLite file that its processes share.

Nothing that failed belongs in here; what is kept, is kept as it came.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llmpedia.errors import InputError

_TRIES = 50
_SCHEMA = """CREATE TABLE IF NOT EXISTS evidence
             (provider TEXT, subject TEXT, at REAL, text TEXT, PRIMARY KEY (provider, subject))"""


class Cache:
    """Texts by provider and subject; belongs to one event loop."""

    def __init__(self, path: Path, days: float) -> None:
        """``path``: the file; ``days``: age at which an entry is no longer taken."""
        self._path = path
        self._seconds = days * 86_400
        self._connection: sqlite3.Connection | None = None
        self._lock = asyncio.Lock()

    async def get(self, provider: str, subject: str) -> str | None:
        """What is kept; None for nothing.

        Raises:
            InputError: the cache cannot be used.
        """
        return await self._use(self._read, provider, subject)

    async def put(self, provider: str, subject: str, text: str) -> None:
        """Keep a text in place of what was there.

        Raises:
            InputError: the cache cannot be used.
        """
        await self._use(self._write, provider, subject, text)

    def close(self) -> None:
        """Let the file go."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _use(self, what: Callable[..., str | None], *arguments: str) -> str | None:
        try:
            async with self._lock:
                return await asyncio.to_thread(what, *arguments)
        except (sqlite3.Error, OSError) as e:
            raise InputError(
                f"cache.path: {self._path}: {e}; choose a local folder with free space, or set it to null"
            ) from e

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(
                self._path, timeout=60, check_same_thread=False, isolation_level=None
            )
            self._connection = _prepared(connection)
        return self._connection

    def _read(self, provider: str, subject: str) -> str | None:
        cached = self._open().execute(
            "SELECT at, text FROM evidence WHERE provider = ? AND subject = ?", (provider, subject)
        )
        row: Any = cached.fetchone()
        return str(row[1]) if row and time.time() - row[0] < self._seconds else None

    def _write(self, provider: str, subject: str, text: str) -> None:
        self._open().execute(
            "INSERT OR REPLACE INTO evidence VALUES (?, ?, ?, ?)", (provider, subject, time.time(), text)
        )


def _prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    """With its table, in the mode that lets processes share it; SQLite does not wait for a lock
    while it changes the mode.
    """
    for left in range(_TRIES - 1, -1, -1):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError:
            if not left:
                raise
            time.sleep(0.1)
    connection.execute(_SCHEMA)
    return connection
