"""A real browser: Debian's Chromium, driven by Playwright, that can reach this machine's loopback
and nothing else.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
# Background services are off, since they look up hosts all the time; what is left of look-ups is
# answered "no such host".
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]


def chromium() -> str:
    """Its path; Debian's package is installed where none is there. ``$LLMPEDIA_CHROMIUM`` names
    another one.
    """
    with (Path(tempfile.gettempdir()) / "llmpedia-chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _found() or _installed()


def _found() -> str | None:
    return os.environ.get("LLMPEDIA_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)


def _installed() -> str:
    if not shutil.which("apt-get"):
        pytest.skip("no Chromium, and no Debian to install it from: set LLMPEDIA_CHROMIUM")
    become = [] if os.geteuid() == 0 else ["sudo", "-n"]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["update"],
        ["install", "--yes", "--no-install-recommends", "chromium", "fonts-dejavu-core"],
    ):
        done = subprocess.run(
            [*become, "apt-get", "-q", *command], env=environment, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, f"Chromium cannot be installed, set LLMPEDIA_CHROMIUM: {done.stderr[-500:]}"
    path = _found()
    assert path, "Debian's package chromium is installed, but no chromium is on the path"
    return path
