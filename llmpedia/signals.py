"""SIGTERM (a stopped job, a spot notice, the end of a container) taken as Ctrl-C: one way to be
interrupted, one clean-up.

``ray job stop`` sends it to the driver and SIGKILL 3 s later; ``RAY_JOB_STOP_WAIT_TIME_S`` in the
environment of the head, or in the job's ``env_vars``, sets another number. Whatever the grace,
SIGKILL costs no more than the answers under way.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def sigterm_as_ctrl_c() -> Iterator[None]:
    """``KeyboardInterrupt`` on the first SIGTERM; further ones are ignored, so that none cuts the
    clean-up short.

    Does nothing outside of the main thread, where no handler can be set.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        # Interrupted: Python puts the default in the place of functions as it ends, and a second
        # one would change the exit code.
        interrupted = signal.getsignal(signal.SIGTERM) is _ignored
        signal.signal(signal.SIGTERM, signal.SIG_IGN if interrupted else before)


@contextmanager
def own_sigterm_kept() -> Iterator[None]:
    """Around ``ray.init``, which sets a handler that ends the process, and ``ray.shutdown``.

    The latter sets the system's default behind Python's back: ``signal.getsignal`` goes on telling
    of a handler that is not called any more.
    """
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    except SystemExit as e:
        if before is not _interrupt:
            raise
        before = _ignored
        raise KeyboardInterrupt from e
    finally:
        now = signal.getsignal(signal.SIGTERM)
        kept = now if now in (_interrupt, _ignored) else before
        # Without a handler before, Ray's stays: it takes a private cluster down.
        if callable(kept) and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, kept)


def _interrupt(number: int, frame: FrameType | None) -> None:
    # A function and not SIG_IGN, which child processes would inherit.
    signal.signal(signal.SIGTERM, _ignored)
    # Called rather than raised as a signal: jobs of Ray and of a shell's background have SIGINT
    # blocked or ignored.
    ctrl_c = signal.getsignal(signal.SIGINT)
    (ctrl_c if callable(ctrl_c) else signal.default_int_handler)(number, frame)


def _ignored(number: int, frame: FrameType | None) -> None:
    """A further SIGTERM."""
