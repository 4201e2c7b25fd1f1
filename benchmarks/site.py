"""How fast a run of 120,000 articles is to read: opening it, each kind of page, the full-text
index.

The run is a synthetic one (``synthetic.py``), written once into ``--keep``: some 6 minutes and 0.7
GB; its index takes as much again. It is opened in fresh processes, with the page cache of the
system warm: that cannot be dropped without root's help. Pages are those of random subjects, each
asked for once, through the ASGI application without a socket. ``python benchmarks/site.py
[--articles 120000] [--wave 512] [--pages 200] [--keep FOLDER]``.
"""

import argparse
import asyncio
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from synthetic import written

from llmpedia.site.data.run_reader import SiteRun, open_runs
from llmpedia.site.search.index import build, index_path
from llmpedia.site.search.search import RunSearch
from llmpedia.site.text.normalize import tokens
from llmpedia.store.run_folder import RunFolder

_OPEN = """
import re, sys, time
begin = time.monotonic()
from llmpedia.site.data.run_reader import open_runs
imported = time.monotonic()
run = open_runs([sys.argv[1]])[0]
run.audit_names, run.totals()
peak = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read()).group(1)
print(imported - begin, time.monotonic() - imported, peak)
"""


def opened(folder: Path) -> tuple[float, float, float]:
    """Median seconds to import and to open, and MB at their end, of 5 fresh processes."""
    found = []
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", _OPEN, str(folder)], capture_output=True, text=True, check=True
        )
        found.append([float(part) for part in done.stdout.split()])
    imports, opens, kilobytes = (statistics.median(column) for column in zip(*found, strict=True))
    return imports, opens, kilobytes / 1024


Spent = list[tuple[float, float]]  # milliseconds by the clock, and of CPU


def timed(asks: list[Callable[[], Any]]) -> Spent:
    """What each takes."""
    found = []
    for ask in asks:
        begin = time.perf_counter()
        worked = time.process_time()
        ask()
        found.append((1000 * (time.perf_counter() - begin), 1000 * (time.process_time() - worked)))
    return found


def line(name: str, found: Spent) -> None:
    """Median, 95th percentile and longest; the median of CPU, which a busy machine changes less."""
    ordered = sorted(ms for ms, _ in found)
    worked = statistics.median(cpu for _, cpu in found)
    shown = (statistics.median(ordered), ordered[int(len(ordered) * 0.95)], ordered[-1], worked)
    print(f"{name:34}{''.join(f'{ms:9.1f}' for ms in shown)}", flush=True)


def queries(run: SiteRun, numbers: list[int], draw: random.Random) -> dict[str, list[str]]:
    """Beginnings of titles as they are typed, pairs of words of texts, and the commonest words."""
    titles = []
    pairs = []
    for number in numbers:
        entity = run.entity(number)
        article = run.article(number)
        if entity is None or article is None:
            continue
        titles.append(entity.name[: draw.randint(3, 8)])
        words = [word for word in tokens(article["wikitext"]).split() if len(word) > 4]
        pairs.append(" ".join(draw.sample(words, 2)))
    return {
        "a title's beginning": titles,
        "two words": pairs,
        "commonest words": ["the", "of the", "more than"] * 10,
    }


def read(run: SiteRun, numbers: list[int]) -> None:
    """The reader alone."""
    line(
        "data: article",
        timed([lambda n=n: (run.article(n), run.candidates(n), run.audits(n)) for n in numbers]),
    )
    line("data: trace", timed([lambda n=n: run.completions(n) for n in numbers]))
    line(
        "data: path, children, aliases",
        timed([lambda n=n: (run.path(n), run.children(n), run.aliases(n)) for n in numbers]),
    )
    line("data: list, first time", timed([lambda: run.listed(None, None, 0, 100)]))
    line("data: list", timed([lambda n=n: run.listed(None, None, n, 100) for n in numbers]))
    begin = time.monotonic()
    while run.parents_of_links(0, 1) is None:
        time.sleep(0.01)
    print(f"{'data: what links here, gathered, s':34}{time.monotonic() - begin:9.1f}")
    line("data: what links here", timed([lambda n=n: run.parents_of_links(n, 50) for n in numbers]))


async def pages(
    runs: list[SiteRun], searches: dict[str, RunSearch], numbers: list[int], asked: dict[str, list[str]]
) -> None:
    """Every kind of page through the application."""
    import httpx

    from llmpedia.site.app.app import create_app
    from llmpedia.site.text.slugs import slug

    run, other = runs
    slugs = [slug(entity.id, entity.name) for entity in run.entities(numbers)]
    at = f"/r/{run.name}"
    kinds = {
        "article": [f"{at}/a/{s}" for s in slugs],
        "trace": [f"{at}/a/{s}/trace" for s in slugs],
        "graph": [f"{at}/a/{s}/graph" for s in slugs],
        "compare": [f"/compare/{run.name}/{s}?with={other.name}" for s in slugs],
        "list": [f"{at}/list?page={n % 500 + 1}" for n in numbers],
        "home": [at] * 20,
        "charts": [f"{at}/charts"] * 20,
        **{
            f"search: {name}": [f"{at}/search.json?q={query}" for query in found]
            for name, found in asked.items()
        },
    }
    transport = httpx.ASGITransport(app=create_app(runs, searches))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        for name, addresses in kinds.items():
            found = Spent()
            missing = 0
            for address in addresses:
                begin = time.perf_counter()
                worked = time.process_time()
                answer = await client.get(address, follow_redirects=True)
                found.append((1000 * (time.perf_counter() - begin), 1000 * (time.process_time() - worked)))
                missing += answer.status_code != 200
            if missing:
                print(f"{f'page: {name}':34}{missing} of {len(addresses)} are no page of this application")
            else:
                line(f"page: {name}", found)


def main() -> None:
    """Run it and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--articles", type=int, default=120_000)
    parser.add_argument("--wave", type=int, default=512)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument(
        "--keep", type=Path, help="a folder for the run and its index; written there if there is none"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="site-") as name:
        folder = args.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        os.environ["LLMPEDIA_CACHE"] = str(folder / "cache")
        run = written(folder / f"synthetic-{args.articles}", args.articles, args.wave)
        other = written(folder / "synthetic-2000", 2000, args.wave)
        index(run)
        build(other)
        measured(Path(run.uri), Path(other.uri), args.pages)


def index(run: RunFolder) -> None:
    """Build the index, unless it is there."""
    path = index_path(run)
    if not path.exists():
        begin = time.monotonic()
        build(run)
        print(f"{'full-text index, built in, s':34}{time.monotonic() - begin:9.1f}")
    print(f"{'full-text index, MB':34}{path.stat().st_size / 1e6:9.0f}")


def measured(folder: Path, other: Path, count: int) -> None:
    """Everything but the index."""
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    imports, opens, megabytes = opened(folder)
    runs = open_runs([str(folder), str(other)])
    totals = runs[0].totals()
    print(
        f"{'articles, entities, waves':34}{totals['articles']:,}, {totals['entities']:,}, {totals['waves']:,}"
    )
    print(f"{'run on disk, MB':34}{size / 1e6:9.0f}")
    print(f"{'import, s':34}{imports:9.2f}")
    print(f"{'opening, s':34}{opens:9.2f}")
    print(f"{'memory once open, MB':34}{megabytes:9.0f}")
    draw = random.Random(3)
    numbers = [runs[0].random(draw.random()).id for _ in range(count)]
    asked = queries(runs[0], numbers, draw)
    print(f"{'':34}{'ms p50':>9}{'p95':>9}{'most':>9}{'CPU p50':>9}")
    read(runs[0], numbers)
    searches = {run.name: RunSearch(run) for run in runs}
    line("search: titles, first time", timed([lambda: searches[runs[0].name].find("zz", 8)]))
    for name, found in asked.items():
        line(f"search: {name}", timed([lambda q=q: searches[runs[0].name].find(q, 8) for q in found]))
    asyncio.run(pages(runs, searches, numbers, asked))
    print(f"{'memory in the end, MB':34}{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:9.0f}")
    for search in searches.values():
        search.close()


if __name__ == "__main__":
    main()
