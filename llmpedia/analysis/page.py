"""One HTML page of a report: every table with its figures, links to the data beside it, and what is missing.

The page refers to the files beside it and to nothing else; it runs no script.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmpedia.analysis.drawing import write_figures
from llmpedia.analysis.formats import columns_of, shown, write_tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]
Rows = list[Row]

_LONG = 40  # rows from which on a table is folded
_STYLE = (
    "body{font-family:sans-serif;margin:2em auto;max-width:72em;padding:0 1em}img{max-width:100%}"
    "table{border-collapse:collapse;font-size:.85em}th,td{padding:.15em .6em;border-bottom:1px solid #ccc;text-align:left}"
    ".scroll{overflow-x:auto}td.n{text-align:right;font-variant-numeric:tabular-nums}"
)


@dataclass(frozen=True)
class Part:
    """What one analysis adds to a report.

    ``tables``: name -> rows; ``missing``: a row for each table, column or figure that is not there, with ``table, what, reason``
    and, where one would make it, ``command``. ``titles``: table -> heading. ``figures``: name -> figure; ``figures_of``: table ->
    names of the figures that are shown above it.
    """

    tables: Mapping[str, Rows]
    missing: Rows = field(default_factory=list)
    titles: Mapping[str, str] = field(default_factory=dict)
    figures: "Mapping[str, Figure]" = field(default_factory=dict)
    figures_of: Mapping[str, Sequence[str]] = field(default_factory=dict)


def write_report(title: str, about: str, parts: Sequence[Part], folder: Path) -> list[Path]:
    """Each table as Parquet, CSV, Markdown and LaTeX, each figure as SVG and PNG, and ``index.html``; the files written."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = {name: rows for part in parts for name, rows in part.tables.items() if rows}
    missing = [row for part in parts for row in part.missing]
    figures = {name: figure for part in parts for name, figure in part.figures.items()}
    whole = {**tables, **({"missing": missing} if missing else {})}
    paths = [*write_tables(whole, folder), *write_figures(figures, folder), folder / "index.html"]
    paths[-1].write_text(_page(title, about, parts, missing), encoding="utf-8")
    return paths


def _page(title: str, about: str, parts: Sequence[Part], missing: Rows) -> str:
    sections = [_section(part, name, rows) for part in parts for name, rows in part.tables.items() if rows]
    if missing:
        sections.append(f'<section id="missing"><h2>Missing</h2>{_table(missing)}</section>')
    return "\n".join(
        [
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
            f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>',
            f"<h1>{escape(title)}</h1>",
            f"<p>{escape(about)}</p>",
            *sections,
            "</body></html>\n",
        ]
    )


def _section(part: Part, name: str, rows: Rows) -> str:
    title = escape(part.titles.get(name, name))
    table = _table(rows)
    if len(rows) > _LONG:
        table = f"<details><summary>{len(rows):,} rows</summary>{table}</details>"
    links = " · ".join(f'<a href="{escape(name)}.{form}">{form}</a>' for form in ("csv", "parquet", "md", "tex"))
    drawn = "".join(
        f'<p><img src="{escape(figure)}.svg" alt="{title}, drawn from the table below"></p>'
        for figure in part.figures_of.get(name, ())
        if figure in part.figures
    )
    return f'<section id="{escape(name)}"><h2>{title}</h2>{drawn}{table}<p>{links}</p></section>'


def _table(rows: Rows) -> str:
    columns = columns_of(rows)
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "\n".join(f"<tr>{''.join(_cell(row.get(column), column) for column in columns)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def _cell(value: object, column: str) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    kind = ' class="n"' if number else ""
    return f"<td{kind}>{escape(shown(value, column))}</td>"
