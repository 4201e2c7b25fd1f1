"""What is written for others gets its name once it is whole; until then it lies beside it, as
``NAME.part``.

A part that a killed command left behind is taken over, one that another command is writing is not.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from llmpedia.errors import InputError


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """An empty folder to write into.

    Raises:
        InputError: something is there already, or is being written.
    """
    part = _part(out)
    part.mkdir(parents=True, exist_ok=True)
    held = os.open(
        part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    )  # never what a link leads to: it is emptied
    try:
        _hold(held, part, out)
        for left in part.iterdir():
            shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
        yield part
        os.replace(part, out)
    finally:
        os.close(held)


@contextmanager
def new_file(out: Path) -> Iterator[IO[bytes]]:
    """An empty file to write into.

    Raises:
        InputError: something is there already, or is being written.
    """
    part = _part(out)
    part.parent.mkdir(parents=True, exist_ok=True)
    with part.open("ab") as file:
        _hold(file.fileno(), part, out)
        file.truncate(0)
        yield file
        file.flush()
        os.replace(part, out)


def need_free(out: Path) -> None:
    """Raise if something is there.

    Raises:
        InputError: naming it.
    """
    if out.exists():
        raise InputError(f"--out {out}: is there already; give a new path, or move it away")


def _part(out: Path) -> Path:
    need_free(out)
    return out.with_name(f"{out.name}.part")


def _hold(held: int, part: Path, out: Path) -> None:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as e:
        raise InputError(
            f"--out {out}: another command is writing it; wait for it, or give another path"
        ) from e
    need_free(out)  # whoever held it may have ended since
    if not part.exists() or not os.path.samestat(os.fstat(held), os.stat(part)):
        raise InputError(f"--out {out}: another command took it; give another path")
