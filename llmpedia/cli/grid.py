"""``llmpedia grid``: several walks that differ in a few settings, with their audits, by one
command.
"""

import argparse
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tqdm import tqdm

from llmpedia.errors import EXIT_DONE
from llmpedia.optional_deps import need_extra
from llmpedia.progress import progress_bar
from llmpedia.store.files import is_passing

if TYPE_CHECKING:
    from llmpedia.grid.cells import Cell
    from llmpedia.grid.run import Done


def add_grid(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The parser of ``llmpedia grid``."""
    grid = commands.add_parser(
        "grid", help="walk and audit every combination of some settings; resumes a grid"
    )
    grid.add_argument("config", help="YAML file, such as configs/ablation.yaml")
    grid.add_argument(
        "--out", metavar="DIR", help="folder or URI for the runs, one a cell (default: runs/NAME)"
    )
    grid.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="a.b=c",
        help="override one setting: walk.caps.articles=20",
    )
    grid.add_argument(
        "--only", action="append", default=[], metavar="CELL", help="this cell; * stands for anything"
    )
    grid.add_argument(
        "--list", action="store_true", help="name the cells and what they share, and start nothing"
    )
    grid.set_defaults(run=_grid)


def _grid(args: argparse.Namespace) -> int:
    from llmpedia.analysis.output.formats import as_text
    from llmpedia.grid.cells import cells_of, chosen, grid_of
    from llmpedia.grid.run import run_grid
    from llmpedia.grid.settings import load_grid_config

    config = load_grid_config(args.config, args.set)
    if args.list:
        every = cells_of(config, Path(args.config))
        print(as_text("cells", _planned(every, chosen(every, args.only))))
        return EXIT_DONE
    whole = grid_of(config, Path(args.config))
    cells = chosen(whole.cells, args.only)
    if whole.audit is not None:
        need_extra("audit")
    out = (args.out or f"runs/{Path(args.config).stem}").rstrip("/")
    if is_passing(out):
        print(
            f"note: {out}: is in this job's copy of its working directory, which Ray removes; give "
            f"--out a path outside"
        )
    started = time.monotonic()
    print(f"grid {out}: {len(cells)} of {len(whole.cells)} cells", file=sys.stderr)
    with _Bars() as bars:
        done = run_grid(whole, cells, out, bars.show)
    print(as_text("cells", [_row(d) for d in done]))
    runs = [f"{out}/*"] if len(cells) == len(whole.cells) else [f"{out}/{cell.name}" for cell in cells]
    print(f"{time.monotonic() - started:.0f} s; next: llmpedia report {' '.join(runs)} --out DIR")
    if whole.audit is not None:
        print(
            f"llmpedia audit report {' '.join(f'{run}/audits/{whole.audit.name}' for run in runs)} --out DIR"
        )
    return EXIT_DONE


def _planned(every: "tuple[Cell, ...]", cells: "tuple[Cell, ...]") -> list[dict[str, object]]:
    """A row a cell: what it asks that cells before it have asked as well."""
    from llmpedia.grid.sharing import shared_stages, sources_of

    rows: list[dict[str, object]] = []
    for cell in cells:
        sources = sources_of(every.index(cell), every)
        shared = {stage: None for source in sources for stage in shared_stages(cell.config, source.config)}
        row = {"cell": cell.name, "model": cell.config.engine.model, "articles": cell.config.caps.articles}
        rows.append(
            {
                **row,
                "may_share": ", ".join(shared) or None,
                "with": ", ".join(s.name for s in sources) or None,
            }
        )
    return rows


def _row(done: "Done") -> dict[str, object]:
    totals = done.run.totals
    reused = sum(row["calls"] for manifest in done.run.manifests for row in manifest.facts.get("reused", ()))
    audited = done.audit.totals["audited"] if done.audit is not None else None
    kept = {name: totals[name] for name in ("articles", "entities", "completions")}
    return {"cell": done.cell.name, **kept, "reused": reused, "audited": audited}


class _Bars:
    """A bar for each cell and each audit, one after another."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._what = ""
        self._bar: tqdm[Any] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def show(self, what: str, total: int | None, done: int, phase: str) -> None:
        """How far ``what`` has come."""
        if self._bar is None or what != self._what:
            self._stack.close()
            self._what, self._bar = what, self._stack.enter_context(progress_bar(total, "article"))
            self._bar.set_description(what, refresh=False)
        self._bar.total = total
        self._bar.n = done
        self._bar.set_postfix_str(phase)
