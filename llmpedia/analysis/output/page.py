"""One HTML page of a report: sections with their tables and figures, links to the data beside it,
and what is missing.

The page refers to the files beside it and to nothing else; it runs no script. Light or dark as the
reader has it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from llmpedia.analysis.output import drawing, formats
from llmpedia.analysis.output.drawing import write_figures
from llmpedia.analysis.output.folder import MANIFEST, report_folder
from llmpedia.analysis.output.formats import columns_of, shown, write_tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]
Rows = list[Row]

_LONG = 40  # rows from which on a table is folded
_MANY = 4  # figures of one table from which on all but the first ones are folded
_MISSING = "missing"
_INDEX = "index.html"
_STYLE = Path(__file__).with_name("page.css")


@dataclass(frozen=True)
class Part:
    """What one analysis adds to a report.

    ``tables``: name -> rows; ``missing``: a row for each table, column or figure that is not there,
    with ``table, what, reason`` and, where one would make it, ``command``. ``titles``: table ->
    heading. ``figures``: name -> figure; ``figures_of``: table -> names of the figures that are
    shown above it. ``title``: of the part, where a report has several.
    """

    tables: Mapping[str, Rows]
    missing: Rows = field(default_factory=list)
    titles: Mapping[str, str] = field(default_factory=dict)
    figures: "Mapping[str, Figure]" = field(default_factory=dict)
    figures_of: Mapping[str, Sequence[str]] = field(default_factory=dict)
    title: str = ""


def write_report(title: str, about: str, parts: Sequence[Part], folder: Path) -> list[Path]:
    """Each table as Parquet, CSV, Markdown and LaTeX, each figure as SVG and PNG, and
    ``index.html``; the files written.

    Raises:
        InputError: the folder holds other things than a report.
    """
    tables = {name: rows for part in parts for name, rows in part.tables.items() if rows}
    missing = [row for part in parts for row in part.missing]
    figures = {name: figure for part in parts for name, figure in part.figures.items()}
    whole = {**tables, **({_MISSING: missing} if missing else {})}
    names = [
        f"{name}.{form}"
        for made, forms in ((whole, formats.FORMS), (figures, drawing.FORMS))
        for name in made
        for form in forms
    ]
    with report_folder(folder, [*names, _INDEX]):
        paths = [*write_tables(whole, folder), *write_figures(figures, folder), folder / _INDEX]
        paths[-1].write_text(_page(title, about, parts, missing), encoding="utf-8")
    return [*paths, folder / MANIFEST]


def _page(title: str, about: str, parts: Sequence[Part], missing: Rows) -> str:
    shown_parts = [part for part in parts if any(part.tables.values())]
    style = _STYLE.read_text(encoding="utf-8")
    return "\n".join(
        [
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta name="color-scheme" content="light dark"><style>{style}</style></head><body>',
            '<a class="skip" href="#content">To the content</a>',
            f"<header><h1>{escape(title)}</h1><p>{escape(about)}</p></header>",
            _contents(shown_parts, missing),
            '<main id="content">',
            *(_part(part) for part in shown_parts),
            _lacking(missing),
            "</main></body></html>\n",
        ]
    )


def _contents(parts: Sequence[Part], missing: Rows) -> str:
    """A list of the tables, by part where parts have titles."""
    entries = []
    for part in parts:
        links = "".join(
            f'<li><a href="#{_anchor(name)}">{escape(part.titles.get(name, name))}</a></li>'
            for name, rows in part.tables.items()
            if rows
        )
        entries.append(f"<li><span>{escape(part.title)}</span><ul>{links}</ul></li>" if part.title else links)
    if missing:
        entries.append(f'<li><a href="#{_MISSING}">Missing ({len(missing)})</a></li>')
    return f'<nav aria-label="Contents"><ul>{"".join(entries)}</ul></nav>'


def _part(part: Part) -> str:
    sections = [_section(part, name, rows) for name, rows in part.tables.items() if rows]
    heading = f"<h2>{escape(part.title)}</h2>" if part.title else ""
    return "\n".join([heading, *sections])


def _section(part: Part, name: str, rows: Rows) -> str:
    title = escape(part.titles.get(name, name))
    links = " · ".join(
        f'<a href="{quote(name)}.{form}">{form}</a>' for form in ("csv", "parquet", "md", "tex")
    )
    drawn = _figures([figure for figure in part.figures_of.get(name, ()) if figure in part.figures], title)
    level = "h3" if part.title else "h2"
    heading = f"<{level}>{title}</{level}>"
    return (
        f'<section id="{_anchor(name)}">{heading}{drawn}{_folded(rows)}<p class="files">{links}</p></section>'
    )


def _figures(names: Sequence[str], title: str) -> str:
    """The first ones in sight, the others folded; each as large as the reader wants it."""
    each = [
        f'<figure><a href="{quote(name)}.svg"><img src="{quote(name)}.svg" alt="{title}, drawn '
        f"from the table below: "
        f'{escape(name.replace("_", " "))}" loading="lazy"></a></figure>'
        for name in names
    ]
    first = each[:_MANY]
    others = each[_MANY:]
    folded = (
        f"<details><summary>{len(others)} more figures</summary>{_grid(others)}</details>" if others else ""
    )
    return _grid(first) + folded


def _grid(figures: Sequence[str]) -> str:
    return f'<div class="figures">{"".join(figures)}</div>' if figures else ""


def _lacking(missing: Rows) -> str:
    if not missing:
        return ""
    about = "What the data do not allow, why, and the command that would make it."
    return f'<section id="{_MISSING}"><h2>Missing</h2><p>{about}</p>{_folded(missing)}</section>'


def _folded(rows: Rows) -> str:
    table = _table(rows)
    return f"<details><summary>{len(rows):,} rows</summary>{table}</details>" if len(rows) > _LONG else table


def _anchor(name: str) -> str:
    return escape(name.replace(" ", "_"))


def _table(rows: Rows) -> str:
    columns = columns_of(rows)
    head = "".join(
        f'<th scope="col"{_kind(_numbers(rows, c))}>{escape(c.replace("_", " "))}</th>' for c in columns
    )
    body = "\n".join(
        f"<tr>{''.join(_cell(row.get(column), column) for column in columns)}</tr>" for row in rows
    )
    # A region that scrolls must be reachable by keyboard.
    return (
        f'<div class="scroll" '
        f'tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'
    )


def _numbers(rows: Rows, column: str) -> bool:
    values = [row.get(column) for row in rows if row.get(column) is not None]
    return bool(values) and all(_is_number(v) for v in values)


def _cell(value: object, column: str) -> str:
    text = escape(shown(value, column))
    if column == "command" and value is not None:
        text = f"<code>{text}</code>"
    return f"<td{_kind(_is_number(value))}>{text}</td>"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(number: bool) -> str:
    return ' class="n"' if number else ""
