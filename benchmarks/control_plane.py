"""What the machinery itself costs: a walk against the rehearsal world at zero latency, over HTTP.

Prints articles a second, CPU an article (all processes but the world's), bytes on disk an article, and the rate of the last
quarter against the second's. Run on a quiet machine: ``python benchmarks/control_plane.py [--articles 10000] [--set a.b=c]``.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
PORT = 8791
ENV = {**os.environ, "OMP_NUM_THREADS": "1", "RAY_AUTH_MODE": "disabled"}


def start_world(folder: Path) -> subprocess.Popen[bytes]:
    """The rehearsal world, listening."""
    command = [sys.executable, "-m", "llmpedia.cli", "rehearse", "serve", "--port", str(PORT), "--seed", "1"]
    world = subprocess.Popen(command, env=ENV, stdout=(folder / "world.log").open("w"), stderr=subprocess.STDOUT)
    end = time.monotonic() + 60
    while not any(c.laddr.port == PORT for c in psutil.Process(world.pid).net_connections("tcp")):
        if time.monotonic() > end or world.poll() is not None:
            raise RuntimeError(f"the world does not listen: {(folder / 'world.log').read_text()[-500:]}")
        time.sleep(0.1)
    return world


def start_walk(run: Path, articles: int, sets: list[str]) -> subprocess.Popen[bytes]:
    """``llmpedia materialize`` on the rehearsal configuration."""
    base = f"http://127.0.0.1:{PORT}/v1"
    settings = [f"caps.articles={articles}", f"engine.base_url={base}", f"embedding.base_url={base}", *sets]
    command = [sys.executable, "-m", "llmpedia.cli", "materialize", str(ROOT / "configs" / "rehearsal.yaml"), "--run", str(run)]
    command += [part for s in settings for part in ("--set", s)]
    return subprocess.Popen(command, env=ENV, stdout=(run.parent / "walk.log").open("w"), stderr=subprocess.STDOUT)


def watch(walk: subprocess.Popen[bytes], run: Path) -> tuple[dict[str, float], list[tuple[float, int]]]:
    """CPU seconds by kind of process, and (seconds, articles) at each commit, until the walk ends."""
    seconds: dict[int, tuple[str, float]] = {}
    commits: list[tuple[float, int]] = []
    begin, known = time.monotonic(), 0
    while walk.poll() is None:
        for process in _tree(walk.pid):
            try:
                times = process.cpu_times()
                seconds[process.pid] = (_kind(process), times.user + times.system)
            except psutil.Error:
                continue
        waves = sorted((run / "waves").glob("*.json")) if (run / "waves").exists() else []
        if len(waves) > known:
            known = len(waves)
            commits.append((time.monotonic() - begin, _articles(waves[-1])))
        time.sleep(0.25)
    total: Counter[str] = Counter()
    for kind, spent in seconds.values():
        total[kind] += spent
    return dict(total), commits


def _tree(pid: int) -> list[psutil.Process]:
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []


def _kind(process: psutil.Process) -> str:
    title = " ".join(process.cmdline()).strip()
    return title.split(".")[0][:40] if title.startswith("ray::") else process.name()


def _articles(manifest: Path) -> int:
    import json

    return int(json.loads(manifest.read_text())["facts"]["totals"]["articles"])


def quarter_rates(commits: list[tuple[float, int]], articles: int) -> list[float | None]:
    """Articles a second in each quarter of the articles; None where no commit falls into one."""
    rates: list[float | None] = []
    points = [(0.0, 0), *commits]
    for q in range(4):
        inside = [p for p in points if articles * q / 4 <= p[1] <= articles * (q + 1) / 4]
        (t0, a0), (t1, a1) = (inside[0], inside[-1]) if len(inside) > 1 else ((0.0, 0), (0.0, 0))
        rates.append((a1 - a0) / (t1 - t0) if t1 > t0 else None)
    return rates


def main() -> None:
    """Run it and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--articles", type=int, default=10_000)
    parser.add_argument("--set", action="append", default=[])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="control-plane-") as name:
        folder = Path(name)
        world = start_world(folder)
        try:
            begin = time.monotonic()
            walk = start_walk(folder / "run", args.articles, args.set)
            cpu, commits = watch(walk, folder / "run")
            wall = time.monotonic() - begin
            times = psutil.Process(world.pid).cpu_times()
        finally:
            world.terminate()
        if walk.returncode:
            sys.exit((folder / "walk.log").read_text()[-2000:])
        size = sum(f.stat().st_size for f in (folder / "run").rglob("*") if f.is_file())
        n = args.articles
        print(f"articles            {n}")
        print(f"articles/s          {n / wall:.1f}   (start of Ray included)")
        print(f"CPU ms an article   {1000 * sum(cpu.values()) / n:.1f}")
        for kind, spent in sorted(cpu.items(), key=lambda pair: -pair[1])[:8]:
            print(f"  {kind:<42}{1000 * spent / n:.1f}")
        print(f"world ms an article {1000 * (times.user + times.system) / n:.1f}")
        print(f"KB on disk an art.  {size / n / 1024:.1f}")
        print("articles/s by quarter", ["-" if r is None else round(r, 1) for r in quarter_rates(commits, n)])


if __name__ == "__main__":
    main()
