"""What the benchmarks share: the rehearsal world and a walk as processes of their own, and what
their process trees spend.
"""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent
PORT = int(os.environ.get("REHEARSAL_PORT", "8791"))
BASE = f"http://127.0.0.1:{PORT}/v1"
ENV = {**os.environ, "OMP_NUM_THREADS": "1", "RAY_AUTH_MODE": "disabled", "PYTHONUNBUFFERED": "1"}


@contextmanager
def world(folder: Path, *settings: str) -> Iterator[subprocess.Popen[bytes]]:
    """The world of seed 1 with these ``--set`` settings, listening; its log goes to ``folder``."""
    command = [sys.executable, "-m", "llmpedia.cli", "rehearse", "serve", "--port", str(PORT), "--seed", "1"]
    command += [part for s in settings for part in ("--set", s)]
    log = folder / "world.log"
    process = subprocess.Popen(command, env=ENV, stdout=log.open("w"), stderr=subprocess.STDOUT)
    try:
        end = time.monotonic() + 60
        while not any(c.laddr.port == PORT for c in psutil.Process(process.pid).net_connections("tcp")):
            if time.monotonic() > end or process.poll() is not None:
                raise RuntimeError(f"the world does not listen: {log.read_text()[-500:]}")
            time.sleep(0.1)
        yield process
    finally:
        process.kill()
        process.wait()


def stats() -> dict[str, Any]:
    """What the world was asked since the last :func:`reset_stats`."""
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/stats", timeout=30) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def reset_stats() -> None:
    """Start the world's counters anew."""
    urllib.request.urlopen(
        urllib.request.Request(f"http://127.0.0.1:{PORT}/stats", method="POST"), timeout=30
    ).close()


def start_walk(run: Path, articles: int, sets: list[str]) -> subprocess.Popen[bytes]:
    """``llmpedia materialize`` on the rehearsal configuration; its log goes beside ``run``."""
    settings = [f"caps.articles={articles}", f"engine.base_url={BASE}", f"embedding.base_url={BASE}", *sets]
    command = [
        sys.executable,
        "-m",
        "llmpedia.cli",
        "materialize",
        str(ROOT / "configs" / "rehearsal.yaml"),
        "--run",
        str(run),
    ]
    command += [part for s in settings for part in ("--set", s)]
    return subprocess.Popen(
        command, env=ENV, stdout=(run.parent / "walk.log").open("a"), stderr=subprocess.STDOUT
    )


def finish(walk: subprocess.Popen[bytes], run: Path) -> None:
    """Wait for the walk's end; a failed one ends the benchmark with its log."""
    if walk.wait():
        sys.exit((run.parent / "walk.log").read_text()[-3000:])


def totals(run: Path) -> dict[str, int]:
    """Running totals of the last commit; empty before the first."""
    waves = sorted((run / "waves").glob("*.json")) if (run / "waves").exists() else []
    found: dict[str, int] = json.loads(waves[-1].read_text())["facts"]["totals"] if waves else {}
    return found


class Tree:
    """CPU seconds and memory of a process and all that it started, by kind of process; call
    :meth:`look` a few times a second.
    """

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._seconds: dict[tuple[int, float], tuple[str, float]] = {}
        self.peak_bytes = 0

    def look(self) -> None:
        """Take the counters of all processes that live now. Memory is the proportional set size:
        shared pages count once.
        """
        for process in self._processes():
            try:
                times = process.cpu_times()
                self._seconds[process.pid, process.create_time()] = (
                    _kind(process),
                    times.user + times.system,
                )
            except psutil.Error:
                continue

    def weigh(self) -> None:
        """Take the memory of all processes that live now, in bytes; slower than :meth:`look`."""
        total = 0
        for process in self._processes():
            try:
                total += process.memory_full_info().pss
            except psutil.Error:
                continue
        self.peak_bytes = max(self.peak_bytes, total)

    def cpu(self) -> Counter[str]:
        """Kind of process -> CPU seconds so far, ended processes included."""
        found: Counter[str] = Counter()
        for kind, seconds in self._seconds.values():
            found[kind] += seconds
        return found

    def _processes(self) -> list[psutil.Process]:
        try:
            return [self._root, *self._root.children(recursive=True)]
        except psutil.Error:
            return []


def _kind(process: psutil.Process) -> str:
    command = process.cmdline()
    title = " ".join(command).strip()
    if title.startswith("ray::"):
        return title.split(".")[0].split("(")[0][:40]
    return "driver" if "materialize" in command else process.name()
