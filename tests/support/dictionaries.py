"""Real dictionaries in dictd format, out of Debian's packages: downloaded once, unpacked, nothing
installed.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.support.wiki.mediawiki import apt

CACHE = Path(os.environ.get("LLMPEDIA_CACHE") or Path.home() / ".cache" / "llmpedia") / "dictionaries"


def dictionary(name: str) -> Path:
    """``NAME.index`` of jargon, foldoc or gcide (20 MB all three), beside its ``NAME.dict.dz``.

    Skips the test where Debian's packages cannot be had.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    folder = CACHE / name
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=CACHE) as made:
                _unpack(name, Path(made))
                (Path(made) / "usr/share/dictd").rename(folder)
    return folder / f"{name}.index"


def _unpack(name: str, folder: Path) -> None:
    if shutil.which("apt-get") is None:
        pytest.skip("real dictionaries come from Debian's packages, and there is no apt-get here")
    done = apt(folder, "download", f"dict-{name}")
    if done.returncode and os.geteuid() == 0:  # no list of packages yet, or an old one
        apt(folder, "update")
        done = apt(folder, "download", f"dict-{name}")
    debs = list(folder.glob("*.deb"))
    if not debs:
        pytest.skip(f"Debian's package dict-{name} cannot be had: {done.stderr.strip()[-300:]}")
    subprocess.run(["dpkg-deb", "-x", debs[0], folder], check=True)
