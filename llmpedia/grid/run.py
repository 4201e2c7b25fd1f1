"""``llmpedia grid``: walk every cell of a grid into ``OUT/CELL``, then audit them; whatever is
finished is passed over.

Ray and the engine stay up from cell to cell where these need the same. A cell takes from the cells
before it what they have been answered (``sharing``). The grid keeps no state of its own: cells are
runs as any, and the same call resumes.
"""

from collections.abc import Callable
from dataclasses import dataclass

from llmpedia.audit.article import AuditStages
from llmpedia.audit.providers import names_of
from llmpedia.audit.run import audit
from llmpedia.engines.preflight import check_model
from llmpedia.execution.job import OnProgress
from llmpedia.execution.session import KeptSessions
from llmpedia.grid.cells import Cell, Grid
from llmpedia.grid.sharing import sources_of
from llmpedia.http import authorization
from llmpedia.materialize.context_needs import needs_of
from llmpedia.materialize.run import describe_run, is_finished, materialize
from llmpedia.store.files import Folder
from llmpedia.store.run_folder import RUN_FILE, RunFolder

Tell = Callable[[str, int | None, int, str], None]
"""Told of progress: a cell or a cell's audit, articles it is to have where that is known, those it
has, what is being done.
"""


@dataclass(frozen=True)
class Done:
    """A finished cell, and its audit if it has one."""

    cell: Cell
    run: RunFolder
    audit: RunFolder | None


def run_grid(whole: Grid, cells: tuple[Cell, ...], out: str, tell: Tell) -> list[Done]:
    """Walk and audit ``cells`` of a grid. ``out``: folder of the runs.

    Raises: ConfigError, InputError: a cell cannot be walked; most is found before anything is
    started.
        EngineError: an engine answers nobody; the same call goes on where this one has stopped.
    """
    out = Folder(out).uri.rstrip("/")
    _check(whole, cells, out)
    with KeptSessions() as sessions:
        runs = []
        for cell in cells:
            reuse = [*cell.config.reuse, *_sources(whole, cell, out)]
            config = cell.config.model_copy(update={"reuse": reuse})
            runs.append(materialize(config, f"{out}/{cell.name}", _of_walk(tell, cell), sessions.open))
        audits: list[RunFolder | None] = [None] * len(runs)
        if whole.audit is not None:
            for n, (cell, run) in enumerate(zip(cells, runs, strict=True)):
                tell_audit = _of_audit(tell, f"{cell.name}/audits/{whole.audit.name}")
                audits[n] = audit(whole.audit.config, run, whole.audit.name, tell_audit, sessions.open)
    return [Done(*done) for done in zip(cells, runs, audits, strict=True)]


def _of_walk(tell: Tell, cell: Cell) -> OnProgress:
    return lambda p: tell(cell.name, cell.config.caps.articles, p.done, p.phase)


def _of_audit(tell: Tell, name: str) -> OnProgress:
    return lambda p: tell(name, p.total, p.done, p.phase)


def _sources(whole: Grid, cell: Cell, out: str) -> list[str]:
    """Runs of earlier cells that were answered what this one will ask, as far as they have come."""
    folders = [f"{out}/{source.name}" for source in sources_of(whole.cells.index(cell), whole.cells)]
    return [folder for folder in folders if Folder(folder).exists(RUN_FILE)]


def _check(whole: Grid, cells: tuple[Cell, ...], out: str) -> None:
    """What can be found before anything is started: folders of other runs, models that are missing
    or too small, keys.
    """
    unfinished = 0
    for cell in cells:
        folder = f"{out}/{cell.name}"
        begun = Folder(folder).exists(RUN_FILE)
        run = RunFolder.create_or_open(folder, describe_run(cell.config)) if begun else RunFolder(folder)
        if not is_finished(cell.config, run):
            unfinished += 1
            check_model(cell.config, needs_of(cell.config))
            authorization(cell.config.engine.api_key_env)
            if cell.config.run.mode != "titles":  # which embeds nothing
                authorization(cell.config.embedding.api_key_env)
    if whole.audit is not None:
        if unfinished:
            authorization(whole.audit.config.engine.api_key_env)
        AuditStages.of(whole.audit.config)
        names_of(whole.audit.config)
