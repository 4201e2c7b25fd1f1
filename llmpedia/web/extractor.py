"""Reads pages in processes of their own, which are killed when a page takes too long or too much.

A parser in C cannot be interrupted from within: a 5 MB page holds trafilatura for 19 s, and hostile
ones can do worse. The processes are plain children that speak over pipes: no fork of a process with
threads, and no second run of the caller's main module, as multiprocessing would have it. One whose
parent has died ends by itself.
"""

import asyncio
import contextlib
import os
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from llmpedia.errors import EngineError, TransientError
from llmpedia.web.page import Page, read_page

HEADER = 4
"""Bytes before a message or an answer that tell its length."""
READY = b"ready"
_MODULE = "llmpedia.web.extractor"


@dataclass(frozen=True)
class ExtractorSettings:
    """Caps of reading.

    Attributes:
        extractors: processes at most.
        extract_s: for one page.
        start_s: for a process to load its libraries.
        memory: bytes of address space.
    """

    extractors: int
    extract_s: float
    start_s: float = 60.0
    memory: int = 2 * 1024**3


class Extractor:
    """A small pool of reading processes, started as needed; belongs to the event loop of its first
    use.
    """

    def __init__(self, settings: ExtractorSettings) -> None:
        self._settings = settings
        self._free = asyncio.Semaphore(settings.extractors)
        self._idle: list[asyncio.subprocess.Process] = []

    async def read(self, body: bytes, content_type: str, charset: str | None = None) -> Page:
        """As :func:`~llmpedia.web.page.read_page`; ``too_slow`` where the process was killed,
        ``broken`` where it died.

        Raises:
            TransientError: the process was too slow to start.
            EngineError: it cannot start.
        """
        async with self._free:
            worker = self._idle.pop() if self._idle else await self._start()
            done = False
            try:
                async with asyncio.timeout(self._settings.extract_s):
                    page = await self._ask(worker, pickle.dumps((body, content_type, charset)))
                done = True
                return page
            except TimeoutError:
                return Page("too_slow")
            except (OSError, EOFError, asyncio.IncompleteReadError):
                return Page("broken")
            finally:  # cancelled, late or dead: what it would answer next is not ours
                if done:
                    self._idle.append(worker)
                else:
                    await _kill(worker)

    async def close(self) -> None:
        """End the processes."""
        while self._idle:
            await _kill(self._idle.pop())

    async def _start(self) -> asyncio.subprocess.Process:
        """A process that has said it is ready."""
        limits = str(self._settings.memory), str(int(self._settings.extract_s) + 5)
        pipe = asyncio.subprocess.PIPE
        nothing = asyncio.subprocess.DEVNULL
        worker = await asyncio.create_subprocess_exec(
            sys.executable, "-m", _MODULE, *limits, stdin=pipe, stdout=pipe, stderr=nothing
        )
        try:
            async with asyncio.timeout(self._settings.start_s):
                assert worker.stdout is not None
                await worker.stdout.readexactly(len(READY))
        except BaseException as e:
            await _kill(worker)
            if isinstance(e, TimeoutError):
                raise TransientError(
                    f"the page reader did not start within {self._settings.start_s:g} s"
                ) from e
            if isinstance(e, asyncio.IncompleteReadError):
                raise EngineError(
                    f"the page reader does not start; see what {sys.executable} -c 'import trafilatura' says"
                ) from e
            raise
        return worker

    async def _ask(self, worker: asyncio.subprocess.Process, message: bytes) -> Page:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(len(message).to_bytes(HEADER, "big") + message)
        await worker.stdin.drain()
        size = int.from_bytes(await worker.stdout.readexactly(HEADER), "big")
        page: Page = pickle.loads(await worker.stdout.readexactly(size))  # noqa: S301 - from our own process
        return page


async def _kill(worker: asyncio.subprocess.Process) -> None:
    if worker.returncode is None:
        with contextlib.suppress(ProcessLookupError):  # it may end in between
            worker.kill()
    await worker.wait()


def serve(memory: int, cpu_s: float, load: Callable[[], None], answer: Callable[[bytes], object]) -> None:
    """The process: messages in on standard input, answers out, until the input ends.

    It dies by SIGPROF on a message that takes it over ``cpu_s`` of processor time, which a busy
    machine does not lengthen.
    """
    import resource
    import signal

    load()
    # what a library prints must not get between the answers
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    answers.write(READY)
    answers.flush()
    while (message := _message(sys.stdin.buffer)) is not None:
        signal.setitimer(signal.ITIMER_PROF, cpu_s)  # the parent may be gone
        reply = pickle.dumps(answer(message))
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(len(reply).to_bytes(HEADER, "big") + reply)
        answers.flush()


def _message(stream: BinaryIO) -> bytes | None:
    header = stream.read(HEADER)
    return stream.read(int.from_bytes(header, "big")) if len(header) == HEADER else None


def _load() -> None:
    """Loading is not to count against the first page."""
    import resiliparse.parse.encoding  # noqa: F401
    import trafilatura  # noqa: F401


def _read(message: bytes) -> Page:
    body, content_type, charset = pickle.loads(message)  # noqa: S301 - from our own parent
    try:
        return read_page(body, content_type, charset)
    except (
        Exception
    ):  # the page is hostile by assumption, and a parser may raise anything: the page is what is at fault
        return Page("broken")


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]), _load, _read)
