"""One HTML page of a report: sections with their tables and figures, links to the data beside it,
and what is missing.

The page refers to the files beside it and to nothing else; it runs no script. Light or dark as the
reader has it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from llmpedia.analysis.output import drawing, formats
from llmpedia.analysis.output.drawing import write_figures
from llmpedia.analysis.output.folder import MANIFEST, report_folder
from llmpedia.analysis.output.formats import TableRows, columns_of, shown, write_tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_LONG = 40  # rows from which on a table is folded
_MANY = 4  # figures of one table from which on all but the first ones are folded
_MISSING = "missing"
_INDEX = "index.html"
_STYLE = Path(__file__).with_name("page.css")
_TEMPLATE = Path(__file__).with_name("page.html")
_LINKED_FORMS = ("csv", "parquet", "md", "tex")


@dataclass(frozen=True)
class ReportPart:
    """What one analysis adds to a report.

    ``tables``: name -> rows; ``missing``: a row for each table, column or figure that is not there,
    with ``table, what, reason`` and, where one would make it, ``command``. ``titles``: table ->
    heading. ``figures``: name -> figure; ``figures_of``: table -> names of the figures that are
    shown above it. ``title``: of the part, where a report has several.
    """

    tables: Mapping[str, TableRows]
    missing: TableRows = field(default_factory=list)
    titles: Mapping[str, str] = field(default_factory=dict)
    figures: "Mapping[str, Figure]" = field(default_factory=dict)
    figures_of: Mapping[str, Sequence[str]] = field(default_factory=dict)
    title: str = ""


def write_report(title: str, about: str, parts: Sequence[ReportPart], folder: Path) -> list[Path]:
    """Write every table and figure in all forms, and ``index.html``; the files written.

    Raises:
        InputError: the folder holds other things than a report.
    """
    tables = {name: rows for part in parts for name, rows in part.tables.items() if rows}
    missing = [row for part in parts for row in part.missing]
    figures = {name: figure for part in parts for name, figure in part.figures.items()}
    whole = {**tables, **({_MISSING: missing} if missing else {})}
    names = [
        f"{name}.{form}"
        for stems, forms in ((whole, formats.FORMS), (figures, drawing.FORMS))
        for name in stems
        for form in forms
    ]
    with report_folder(folder, [*names, _INDEX]):
        paths = [*write_tables(whole, folder), *write_figures(figures, folder), folder / _INDEX]
        paths[-1].write_text(_page(title, about, parts, missing), encoding="utf-8")
    return [*paths, folder / MANIFEST]


def _page(title: str, about: str, parts: Sequence[ReportPart], missing: TableRows) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATE.parent),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        anchor=_anchor,
        columns_of=columns_of,
        is_numeric_column=_is_numeric_column,
        quoted=quote,
        shown=shown,
    )
    environment.tests["numeric"] = _is_number
    return environment.get_template(_TEMPLATE.name).render(
        title=title,
        about=about,
        style=Markup(_STYLE.read_text(encoding="utf-8")),  # noqa: S704  the package's own file
        parts=[part for part in parts if any(part.tables.values())],
        missing=missing,
        forms=_LINKED_FORMS,
        folded_from=_LONG,
        figures_in_sight=_MANY,
    )


def _anchor(name: str) -> str:
    return name.replace(" ", "_")


def _is_numeric_column(rows: TableRows, column: str) -> bool:
    values = [row.get(column) for row in rows if row.get(column) is not None]
    return bool(values) and all(_is_number(value) for value in values)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
