"""How full the concurrency cap stays while every answer takes 200 ms.

Prints mean requests in flight over the cap, over the whole walk (it begins with a single subject)
and over its steady part (from two fifths of the articles to nine tenths). Run on a quiet machine:
``python benchmarks/concurrency.py [--articles 4000] [--cap 32] [--latency 0.2] [--set a.b=c]``.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.support.rehearsed import finish, reset_stats, start_walk, stats, totals, world


def wait_for_articles(run: Path, articles: float) -> None:
    """Until so many are committed."""
    while totals(run).get("articles", 0) < articles:
        time.sleep(0.1)


def seconds_at(*parts: dict[str, Any]) -> dict[int, float]:
    """Requests in flight -> seconds, over several readings of the world's counters."""
    found: dict[int, float] = {}
    for part in parts:
        for n, seconds in part["seconds_by_in_flight"].items():
            found[int(n)] = found.get(int(n), 0.0) + seconds
    return found


def fill(seconds: dict[int, float], cap: int) -> str:
    """Mean in flight over the cap, and the share of time at nine tenths of the cap or more."""
    total = sum(seconds.values())
    mean = sum(n * s for n, s in seconds.items()) / total
    full = sum(s for n, s in seconds.items() if n >= 0.9 * cap) / total
    return (
        f"{100 * mean / cap:5.1f}% of the cap in the mean, {100 * full:5.1f}% of the time at "
        f"90% of it or more ({total:.0f} s)"
    )


def main() -> None:
    """Run it and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--articles", type=int, default=4000)
    parser.add_argument("--cap", type=int, default=32)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--set", action="append", default=[])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="concurrency-") as name:
        run = Path(name) / "run"
        with world(Path(name), "latency.kind=constant", f"latency.mean_s={args.latency}"):
            walk = start_walk(run, args.articles, [f"engine.concurrency={args.cap}", *args.set])
            wait_for_articles(run, args.articles * 0.4)
            first = stats()
            reset_stats()
            wait_for_articles(run, args.articles * 0.9)
            steady = stats()
            reset_stats()
            finish(walk, run)
            last = stats()
    print(f"articles {args.articles:,}, cap {args.cap}, latency {1000 * args.latency:.0f} ms")
    print(
        f"steady part: {fill(seconds_at(steady), args.cap)}; "
        f"{steady['requests'] / steady['seconds']:.0f} requests/s"
    )
    print(f"whole walk:  {fill(seconds_at(first, steady, last), args.cap)}")
    print(f"peak in flight: {max(part['peak_in_flight'] for part in (first, steady, last))}")


if __name__ == "__main__":
    main()
