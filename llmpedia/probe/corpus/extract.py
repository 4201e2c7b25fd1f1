"""HTML bytes to plain text by resiliparse, in a process of its own that a hostile page can take
down without loss.

Most pages take milliseconds, but 100,000 unclosed options of a menu hold the parser for minutes,
and it cannot be interrupted.
"""

import pickle
import signal
import subprocess
import sys
from dataclasses import dataclass

from llmpedia.errors import EngineError
from llmpedia.store.input_files import reason
from llmpedia.web.extractor import HEADER, READY, serve
from llmpedia.web.page import DEEPEST, decode, depth

LARGEST = 2_000_000
"""Bytes of a page."""
_CPU_S = 10.0  # for a page
_MEMORY = 2 * 1024**3
_MODULE = "llmpedia.probe.corpus.extract"


@dataclass(frozen=True, slots=True)
class ExtractedText:
    """A document's text, or why there is none."""

    text: str | None = None
    reason: str | None = None


def page_text(body: bytes, charset: str | None) -> ExtractedText:
    """The main content of a page. ``charset``: what its sender says; believed if the bytes bear it
    out.

    Can take minutes for a hostile page: see :class:`PageReader`.
    """
    from resiliparse.extract.html2text import extract_plain_text

    if len(body) > LARGEST:
        return ExtractedText(reason=f"HTML of more than {LARGEST:,} bytes")
    source = decode(body, charset)
    if (levels := depth(source)) > DEEPEST:
        return ExtractedText(reason=f"HTML nested {levels:,} levels deep, over {DEEPEST}")
    return ExtractedText(
        extract_plain_text(source, main_content=True, alt_texts=False, links=False, comments=False)
    )


class PageReader:
    """The process, started as the first page comes; for one thread. ``cpu_s``: processor time that
    a page may take.
    """

    def __init__(self, cpu_s: float = _CPU_S) -> None:
        self._cpu_s = cpu_s
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, body: bytes, charset: str | None) -> ExtractedText:
        """As :func:`page_text`; a page that the process dies of says so.

        Raises:
            EngineError: the process does not start.
        """
        if len(body) > LARGEST:
            return page_text(body, charset)
        process = self._process or self._start()
        message = pickle.dumps((body, charset))
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(len(message).to_bytes(HEADER, "big") + message)
            process.stdin.flush()
            size = int.from_bytes(process.stdout.read(HEADER), "big")
            output = process.stdout.read(size)
        except BrokenPipeError:
            size = 0
            output = b""
        if not size or len(output) < size:
            return self._died()
        return ExtractedText(*pickle.loads(output))  # noqa: S301 - from our own process

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        nothing = subprocess.DEVNULL
        command = [sys.executable, "-m", _MODULE, str(_MEMORY), str(self._cpu_s)]
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing)
        assert self._process.stdout is not None
        if self._process.stdout.read(len(READY)) != READY:
            self.close()
            raise EngineError(
                f"the page reader does not start; see what {sys.executable} -c 'import resiliparse' says"
            )
        return self._process

    def _died(self) -> ExtractedText:
        assert self._process is not None
        code = self._process.wait()
        self.close()
        slow = code == -signal.SIGPROF
        return ExtractedText(
            reason=f"HTML that takes more than {self._cpu_s:g} s to read"
            if slow
            else "HTML that the parser dies of"
        )


def _load() -> None:
    """Loading is not to count against the first page."""
    import resiliparse.extract.html2text
    import resiliparse.parse.encoding  # noqa: F401


def _answer(message: bytes) -> tuple[str | None, str | None]:
    """Plain values: a class of the module that a process runs as has no name that others know it
    by.
    """
    body, charset = pickle.loads(message)  # noqa: S301 - from our own parent
    try:
        text = page_text(body, charset)
    # the page is hostile by assumption, and a parser may raise anything: the page is what is at
    # fault
    except Exception as e:
        return None, f"HTML that cannot be read ({reason(e)})"
    return text.text, text.reason


if __name__ == "__main__":
    serve(int(sys.argv[1]), float(sys.argv[2]), _load, _answer)
