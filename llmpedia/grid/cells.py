"""From a grid's file to its cells: checked configurations of walks with names for their folders,
and one of their audits.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from llmpedia.audit.settings import AuditConfig, load_audit_config, resolve_audit_paths
from llmpedia.config.files import found_file, parse_as
from llmpedia.config.walk import Config, load_config, parse_config, resolve_paths
from llmpedia.errors import ConfigError, InputError
from llmpedia.grid.settings import GridConfig, Sections
from llmpedia.materialize.run import describe_run
from llmpedia.materialize.stages import Stages


@dataclass(frozen=True)
class Cell:
    """A walk of the grid. ``name``: its labels, one an axis, in order of the axes; it names the
    run's folder.
    """

    name: str
    config: Config


@dataclass(frozen=True)
class Auditing:
    """The audit that every cell is given; ``name``: of its folder in the run."""

    name: str
    config: AuditConfig


@dataclass(frozen=True)
class Grid:
    """Cells in the order in which they are walked: those of one engine together."""

    cells: tuple[Cell, ...]
    audit: Auditing | None


def grid_of(config: GridConfig, source: Path) -> Grid:
    """A grid, checked; ``source``: its file.

    Raises:
        ConfigError, InputError: one line that names the setting at fault.
    """
    return Grid(
        cells_of(config, source), _auditing(config.audit, source) if config.audit is not None else None
    )


def cells_of(config: GridConfig, source: Path) -> tuple[Cell, ...]:
    """All cells in the order in which they are walked.

    Raises:
        ConfigError, InputError: one line that names the first cell at fault, and its setting.
    """
    read = _Files(source)
    cells = [_cell(labels, config, read, source) for labels in _combinations(config)]
    _all_different(cells, source)
    engines = [cell.config.engine for cell in cells]
    return tuple(sorted(cells, key=lambda cell: engines.index(cell.config.engine)))


def chosen(cells: tuple[Cell, ...], patterns: Sequence[str]) -> tuple[Cell, ...]:
    """The cells that one of the names fits (``*`` stands for anything); all of them where none is
    given.

    Raises:
        InputError: a name fits no cell.
    """
    labels: set[str] = set()
    for pattern in patterns:
        fits = {cell.name for cell in cells if fnmatchcase(cell.name, pattern)}
        if not fits:
            raise InputError(
                f"--only {pattern}: fits no cell; they are {', '.join(cell.name for cell in cells)}"
            )
        labels |= fits
    return tuple(cell for cell in cells if cell.name in labels or not patterns)


def _combinations(config: GridConfig) -> Iterator[list[tuple[str, Sections]]]:
    """(label, sections) of each axis, for every cell; the last axis runs fastest."""
    yield from (
        list(labels) for labels in itertools.product(*(axis.items() for axis in config.axes.values()))
    )


def _cell(labels: list[tuple[str, Sections]], config: GridConfig, read: "_Files", source: Path) -> Cell:
    name = "-".join(label for label, _ in labels)
    settings: Sections = {}
    for sections in (config.walk, *(sections for _, sections in labels)):
        settings = merged(settings, sections)
    file = settings.pop("file", None)
    data = merged(read.walk(file), settings) if file is not None else settings
    try:
        cell = Cell(name, resolve_paths(parse_config(data, str(source)), source))
        Stages.of(cell.config)
        describe_run(cell.config)
    except (ConfigError, InputError) as e:
        raise type(e)(f"cell {name}: {e}") from e
    return cell


def merged(under: Sections, over: Sections) -> Sections:
    """Sections laid over others: mappings key by key, anything else as a whole."""
    both = dict(under)
    for key, value in over.items():
        old = both.get(key)
        both[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return both


class _Files:
    """The files that a grid names, each read and checked once, with what they name as absolute
    paths.
    """

    def __init__(self, source: Path) -> None:
        self._source = source
        self._walks: dict[str, Sections] = {}

    def walk(self, file: Any) -> Sections:
        """A walk's sections."""
        path = _file("walk.file", file, self._source, "give a walk's file such as configs/rehearsal.yaml")
        if path not in self._walks:
            self._walks[path] = load_config(path).model_dump(mode="json")
        return self._walks[path]


def _file(setting: str, file: Any, source: Path, way_out: str) -> str:
    if not isinstance(file, str):
        raise ConfigError(f"{source}: {setting} = {file!r}: is no path; {way_out}")
    return found_file(file, source, setting, way_out)


def _auditing(sections: Sections, source: Path) -> Auditing:
    audit = dict(sections)
    file = audit.pop("file", None)
    try:
        if file is None:
            return Auditing("audit", resolve_audit_paths(parse_as(AuditConfig, audit, str(source)), source))
        path = _file("file", file, source, "give an audit's file such as configs/audit-rehearsal.yaml")
        under = load_audit_config(path, _contact(audit)).model_dump(mode="json")
        config = parse_as(AuditConfig, merged(under, audit), str(source))
    except ConfigError as e:
        raise ConfigError(
            f"audit: {str(e).replace('--set ', '--set audit.')}"
        ) from e  # a grid's --set goes by the grid's paths
    return Auditing(Path(path).stem, resolve_audit_paths(config, source))


def _contact(sections: Sections) -> list[str]:
    """Whom the User-Agent names is what an audit's file may leave open; without it none is read."""
    wikipedia = sections.get("wikipedia")
    return (
        [f"wikipedia.contact={wikipedia['contact']}"]
        if isinstance(wikipedia, dict) and wikipedia.get("contact")
        else []
    )


def _all_different(cells: list[Cell], source: Path) -> None:
    """No two cells may be one folder, or one and the same run."""
    _differ(cells, lambda cell: cell.name, f"{source}: axes: two cells are called", "rename a label")
    same = f"{source}: axes: the settings of two cells make one and the same run:"
    _differ(
        cells,
        lambda cell: _content(cell.config),
        same,
        "remove one of their labels, or have it set something else",
    )


def _content(config: Config) -> tuple[Any, ...]:
    described = describe_run(config)
    return described["identity_hash"], tuple(described["seeds"]), config.caps


def _differ(cells: list[Cell], by: Callable[[Cell], Any], wrong: str, way_out: str) -> None:
    seen: dict[Any, str] = {}
    for cell in cells:
        other = seen.setdefault(by(cell), cell.name)
        if seen[by(cell)] is not cell.name:
            raise ConfigError(f"{wrong} {other} and {cell.name}; {way_out}")
