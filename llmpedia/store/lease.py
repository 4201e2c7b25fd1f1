"""One writer a run: ``lease.json`` says who. From its ``with`` to its end is a session, which times
of commits are told by.

A second writer is refused with one line. A lease whose process is gone (same host) or that was not
renewed for ``TTL_S`` (another host) is taken over. The owner checks it again right before every
commit.
"""

import json
import os
import socket
import threading
import time
import uuid
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import psutil

from llmpedia.errors import InputError
from llmpedia.store.commit_times import UNTOLD, Machine, Moment
from llmpedia.store.files import Folder

NAME = "lease.json"
TTL_S = 120
RENEW_S = 20


class Lease:
    """Held from ``with`` to its end, renewed in the background."""

    def __init__(self, folder: Folder, machine: Machine = UNTOLD) -> None:
        """``machine``: what the session works on."""
        self._folder = folder
        self._owner = uuid.uuid4().hex
        self._began = time.time()
        self._machine = machine
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True, name="lease")

    def __enter__(self) -> Self:
        if not self._folder.create(NAME, self._content()):
            holder = read_lease(self._folder)
            if holder and _alive(holder):
                raise InputError(
                    f"{self._folder.path(NAME)}: another writer has this run (pid {holder['pid']} "
                    f"on {holder['host']}); "
                    "wait for it or stop it, then start again"
                )
            self._folder.write(NAME, self._content())
        self.check()
        self._began = time.time()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        with suppress(InputError):  # a lease that stays behind is taken over; what ended the run is the news
            holder = read_lease(self._folder)
            if holder and holder["owner"] == self._owner:
                self._folder.remove(NAME)

    def check(self) -> None:
        """Raise ``InputError`` if someone else has taken the run over."""
        holder = read_lease(self._folder)
        if not holder or holder["owner"] != self._owner:
            who = f"pid {holder['pid']} on {holder['host']}" if holder else "nobody"
            raise InputError(
                f"{self._folder.path(NAME)}: the lease was lost to {who}; nothing was committed; "
                f"stop one writer"
            )

    def moment(self) -> Moment:
        """Now, in this session."""
        return Moment(self._owner, round(self._began, 3), round(time.time(), 3), self._machine)

    def _content(self) -> bytes:
        started = psutil.Process().create_time()
        data = {
            "owner": self._owner,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "started": started,
            "renewed": time.time(),
        }
        return json.dumps(data).encode()

    def _renew(self) -> None:
        while not self._stop.wait(RENEW_S):
            with suppress(InputError):  # a full disk may be freed; the next commit tells of one that is not
                holder = read_lease(self._folder)
                if not holder or holder["owner"] != self._owner:
                    return  # the next check() says so
                self._folder.write(NAME, self._content())


def read_lease(folder: Folder) -> dict[str, Any] | None:
    """Who holds the run; None if nobody does."""
    try:
        data: dict[str, Any] = json.loads(folder.read(NAME))
    except FileNotFoundError:
        return None
    except ValueError:
        return (
            None
            if folder.size(NAME) == 0
            else {"owner": "", "pid": 0, "host": "", "started": 0, "renewed": 0}
        )
    return data


def _alive(holder: dict[str, Any]) -> bool:
    if holder["host"] != socket.gethostname():
        return bool(time.time() - holder["renewed"] < TTL_S)
    try:
        process = psutil.Process(holder["pid"])
        return abs(process.create_time() - holder["started"]) < 2 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
