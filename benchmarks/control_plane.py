"""What the machinery itself costs: a walk against the rehearsal world at zero latency, over HTTP,
every article expanded.

Prints articles a second, CPU an article (all processes but the world's), bytes on disk an article,
peak memory (proportional set size of all processes but the world's), and speed and CPU by quarter.
Run on a quiet machine: ``python benchmarks/control_plane.py [--articles 10000] [--set a.b=c]
[--keep FOLDER]``.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.support.rehearsed import Tree, start_walk, totals, world


@dataclass
class Watched:
    """(seconds since the start, articles, CPU so far) at each commit."""

    commits: list[tuple[float, int, Counter[str]]] = field(default_factory=list)
    cpu: Counter[str] = field(default_factory=Counter)
    wall: float = 0.0
    peak_bytes: int = 0


def watch(pid: int, run: Path) -> Watched:
    """Look on until the walk ends."""
    tree = Tree(pid)
    seen = Watched()
    begin = time.monotonic()
    weighed = 0.0
    known = -1
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        tree.look()
        if time.monotonic() - weighed > 15:
            tree.weigh()
            weighed = time.monotonic()
        articles = totals(run).get("articles", -1)
        if articles != known:
            known = articles
            seen.commits.append((time.monotonic() - begin, articles, tree.cpu()))
        time.sleep(0.25)
    seen.cpu = tree.cpu()
    seen.wall = time.monotonic() - begin
    seen.peak_bytes = tree.peak_bytes
    return seen


def quarters(seen: Watched, articles: int) -> list[tuple[float, float, Counter[str]]]:
    """(articles/s, CPU ms an article, the same by kind of process) of each quarter of the articles,
    between commits.
    """
    found = []
    for q in range(4):
        inside = [c for c in seen.commits if articles * q / 4 <= c[1] <= articles * (q + 1) / 4]
        if len(inside) < 2:
            found.append((0.0, 0.0, Counter[str]()))
            continue
        (t0, a0, cpu0) = inside[0]
        (t1, a1, cpu1) = inside[-1]
        by_kind = Counter({kind: 1000 * (cpu1[kind] - cpu0[kind]) / (a1 - a0) for kind in cpu1})
        found.append(((a1 - a0) / (t1 - t0), sum(by_kind.values()), by_kind))
    return found


def report(seen: Watched, articles: int, size: int, world_seconds: float, entities: int) -> None:
    """The table."""
    n = articles
    print(f"articles                 {n:,} ({entities:,} entities)")
    print(f"articles/s               {n / seen.wall:.1f}   (start of Ray included)")
    print(f"CPU ms an article        {1000 * seen.cpu.total() / n:.1f}")
    print(f"world's CPU ms, besides  {1000 * world_seconds / n:.1f}")
    print(f"KB on disk an article    {size / n / 1024:.1f}")
    print(f"peak memory, GB          {seen.peak_bytes / 1e9:.2f}")
    by_quarter = quarters(seen, n)
    print("articles/s by quarter    " + "  ".join(f"{rate:.1f}" for rate, _, _ in by_quarter))
    print("CPU ms by quarter        " + "  ".join(f"{cpu:.1f}" for _, cpu, _ in by_quarter))
    for kind, seconds in seen.cpu.most_common(8):
        quarter = "  ".join(f"{by_kind[kind]:.1f}" for _, _, by_kind in by_quarter)
        print(f"  {kind:<28} {1000 * seconds / n:5.1f}   by quarter {quarter}")


def main() -> None:
    """Run it and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--articles", type=int, default=10_000)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--keep", type=Path, help="write the run here and leave it")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="control-plane-") as name:
        folder = args.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        run = folder / "run"
        with world(folder) as truth:
            walk = start_walk(run, args.articles, args.set)
            seen = watch(walk.pid, run)
            times = psutil.Process(truth.pid).cpu_times()
        if walk.wait():
            sys.exit((folder / "walk.log").read_text()[-2000:])
        size = sum(f.stat().st_size for f in run.rglob("*") if f.is_file())
        report(seen, args.articles, size, times.user + times.system, totals(run)["entities"])


if __name__ == "__main__":
    main()
