"""The site as files: the pages of the app, rendered once, with a search that runs in the browser
(Pagefind).

Several processes render, each with the runs opened for itself; what a page holds depends on the
runs alone, so the bytes are the same however many there are.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from llmpedia.errors import EngineError
from llmpedia.site.data.catalogue import NONE
from llmpedia.site.data.run_reader import SiteRun, open_runs
from llmpedia.site.export import static_urls as at
from llmpedia.site.export.atomic_output import need_free, new_folder
from llmpedia.site.export.redaction import masked_value, tables_for_release
from llmpedia.site.export.static_urls import StaticAddresses
from llmpedia.site.pages import trace, views
from llmpedia.site.pages.charts import ChartCounts, charts_page, counted, funnel_part
from llmpedia.site.pages.compare import compare_page, written_there
from llmpedia.site.pages.neighbourhood import graph_page
from llmpedia.site.pages.templating import STATIC, rendered
from llmpedia.site.pages.unwritten import unwritten_page

PARTS = ("trace", "graph", "compare")
"""Pages that an article may have beside it: what stands behind it, its neighbourhood, other runs on
the subject.
"""

_CHUNK = 64  # entities rendered by one task
Context = dict[str, Any]


@dataclass(frozen=True)
class StaticSettings:
    """What a static site is made of.

    ``uris``: of runs. ``audits``: names of those shown, empty: all. ``mask``: private information
    is masked. ``parts``: which of ``PARTS`` an article has beside it. ``evidence``: with the
    passages that verdicts rest on, which are other people's texts. ``workers``: processes that
    render.
    """

    uris: tuple[str, ...]
    audits: tuple[str, ...]
    mask: bool
    parts: tuple[str, ...]
    evidence: bool
    workers: int


@dataclass(frozen=True)
class PageTask:
    """Entities of one run to be rendered into ``folder``."""

    settings: StaticSettings
    folder: str
    run: str
    numbers: tuple[int, ...]


def write_site(settings: StaticSettings, out: Path, progress: Callable[[int, int], None]) -> int:
    """Write the whole site into a new folder; the number of pages. ``progress``: (articles so far,
    articles in all).

    Raises:
        InputError: something is there already, or a run cannot be read.
        EngineError: the search index cannot be made.
    """
    need_free(out)
    runs = opened(settings)
    with new_folder(out) as folder:
        pages = _write_site(settings, runs, folder, progress)
    for run in runs:
        run.close()
    opened.cache_clear()
    return pages


def _write_site(
    settings: StaticSettings, runs: Sequence[SiteRun], folder: Path, progress: Callable[[int, int], None]
) -> int:
    shutil.copytree(STATIC, folder / "static")
    (folder / ".nojekyll").write_bytes(
        b""
    )  # hosts that run Jekyll would leave out names that begin with an underscore
    pages = _few_pages(settings, runs, folder)
    tasks = [task for run in runs for task in _tasks(settings, run, folder)]
    done = 0
    total = sum(len(task.numbers) for task in tasks)
    with ProcessPoolExecutor(settings.workers, mp_context=get_context("spawn")) as pool:
        for task, written in zip(tasks, pool.map(render, tasks), strict=True):
            pages = pages + written
            done = done + len(task.numbers)
            progress(done, total)
    for run in runs:
        _index(folder / at.run_file(run.name).rpartition("/")[0])
    return pages


@cache
def opened(settings: StaticSettings) -> list[SiteRun]:
    """The runs of a site, opened once in a process."""
    runs = open_runs(settings.uris, settings.audits, tables_for_release(settings.mask, settings.evidence))
    for run in runs:
        if settings.mask:
            run.description = masked_value(run.description)
            run.title = masked_value(run.title)
        run.gather_links()
    return runs


def render(task: PageTask) -> int:
    """Render some entities; the number of pages."""
    runs = opened(task.settings)
    run = next(run for run in runs if run.name == task.run)
    others = [other for other in runs if other is not run]
    pages = 0
    for number in task.numbers:
        for file, template, make in _of_entity(task.settings, run, others, number):
            depth = file.count("/")
            to = _addresses(task.settings, runs, depth)
            _write(Path(task.folder) / file, rendered(template, make(to), to))
            pages += 1
    return pages


def _of_entity(
    settings: StaticSettings, run: SiteRun, others: Sequence[SiteRun], number: int
) -> Iterator[tuple[str, str, Callable[[StaticAddresses], Context]]]:
    """(file, template, what makes its context) of each page on an entity."""
    entity = run.entity(number)
    if entity is None:
        return
    where = (run.name, entity.id, entity.name)
    yield at.article_file(*where), "article.html", lambda to: views.article_page(run, entity, others, to)
    if "trace" in settings.parts:
        yield at.trace_file(*where), "trace.html", lambda to: trace.trace_page(run, entity, others, to)
    if "graph" in settings.parts:
        yield at.graph_file(*where), "graph.html", lambda to: graph_page(run, entity, others, to)
    for other in others if "compare" in settings.parts and entity.written else ():
        if written_there(other, entity) is not None:
            beside = partial(compare_page, run, entity, other, others)
            yield at.compare_file(*where, other.name), "compare.html", beside


def _tasks(settings: StaticSettings, run: SiteRun, folder: Path) -> list[PageTask]:
    numbers = np.flatnonzero(run.catalogue.visits != NONE).tolist()
    return [
        PageTask(settings, str(folder), run.name, tuple(numbers[i : i + _CHUNK]))
        for i in range(0, len(numbers), _CHUNK)
    ]


def _few_pages(settings: StaticSettings, runs: Sequence[SiteRun], folder: Path) -> int:
    """All pages but those on visited entities."""
    pages = 0
    counts = {run.name: counted(run) for run in runs}
    for file, template, context in _pages(runs, counts):
        to = _addresses(settings, runs, file.count("/"))
        _write(folder / file, rendered(template, context, to))
        pages += 1
    for run in runs:
        file = at.charts_file(run.name)
        written = counts[run.name]
        to = _addresses(settings, runs, file.count("/"))
        _write(folder / file, rendered("charts.html", charts_page(run, written, to), to))
        pages += 1
    return pages


def _pages(runs: Sequence[SiteRun], counts: Mapping[str, ChartCounts]) -> Iterator[tuple[str, str, Context]]:
    """(file, template, context)."""
    if len(runs) == 1:
        yield "index.html", "home.html", _home(runs[0], counts)
    else:
        yield "index.html", "start.html", views.start_page(runs)
    yield "404.html", "lost.html", {}
    for run in runs:
        yield at.run_file(run.name), "home.html", _home(run, counts)
        yield at.search_file(run.name), "search.html", views.search_page(run, "", [], None)
        yield from _listings(run)
        yield from _unwritten(run)


def _home(run: SiteRun, counts: Mapping[str, ChartCounts]) -> Context:
    return views.home_page(run) | funnel_part(run, counts[run.name])


def _listings(run: SiteRun) -> Iterator[tuple[str, str, Context]]:
    hops = [None, *(hop for hop, (_, written, _) in sorted(run.totals()["hops"].items()) if written)]
    for hop in hops:
        for letter in (None, *run.letters()):  # a list links its letter under all hops
            page = 1
            pages = 1
            while page <= pages:
                context = views.list_page(run, hop, letter, page)
                yield at.listing_file(run.name, hop, letter, page), "list.html", context
                page = page + 1
                pages = context["pages"]


def _unwritten(run: SiteRun) -> Iterator[tuple[str, str, Context]]:
    """Pages of the entities that were never visited."""
    waiting = np.flatnonzero(run.catalogue.visits == NONE)
    for page in np.unique(waiting // at.UNWRITTEN_A_PAGE).tolist():
        numbers = waiting[waiting // at.UNWRITTEN_A_PAGE == page].tolist()
        yield at.unwritten_file(run.name, page), "unwritten.html", unwritten_page(run, numbers)


def _addresses(settings: StaticSettings, runs: Sequence[SiteRun], depth: int) -> StaticAddresses:
    visits = {run.name: run.catalogue.visits for run in runs}
    return StaticAddresses(
        depth, (*settings.parts, "charts"), lambda run, number: bool(visits[run][number] != NONE)
    )


def _write(path: Path, page: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")


def _index(folder: Path) -> None:
    """Have Pagefind index a run's articles."""
    from pagefind_bin import get_executable

    command = [
        get_executable(),
        "--site",
        folder,
        "--force-language",
        "en",
        "--exclude-selectors",
        "a.ref",
        "--quiet",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineError(
            f"pagefind on {folder}: {' '.join((done.stderr or done.stdout).split())[-300:]}; the "
            f"site is not whole"
        )
    for extra in (folder / "pagefind").glob(
        "pagefind-*ui.*"
    ):  # ready-made search boxes, which this site has its own for
        extra.unlink()
