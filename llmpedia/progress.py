"""A progress bar that shows life: redrawn while its work goes on in silence, on a terminal and in a
log.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm


@contextmanager
def progress_bar(total: int | None, unit: str) -> Iterator["tqdm[Any]"]:
    """A bar on standard error; ``total`` null where it is not known yet."""
    with tqdm(total=total, unit=unit, smoothing=0.05, mininterval=0) as bar, _Heartbeat(bar):
        yield bar


class _Heartbeat:
    """Redraws a bar while its work goes on in silence: each second on a terminal, each ten in a
    log.
    """

    def __init__(self, bar: "tqdm[Any]") -> None:
        self._bar = bar
        self._stop = threading.Event()
        self._every = 1.0 if sys.stderr.isatty() else 10.0
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._stop.wait(self._every):
            self._bar.refresh()
            if not sys.stderr.isatty():
                sys.stderr.write("\n")
