"""Tables as files: data (Parquet, CSV) and text (Markdown, LaTeX, aligned plain text) from the same
rows.

Null stays null in Parquet, is an empty cell in CSV, and "-" in text. Columns are those of all rows,
in the order in which they first occur. Text forms show numbers as they are: whoever wants percent
or fewer decimals makes them so in the rows.
"""

import csv
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llmpedia.errors import InputError

TableRow = dict[str, Any]
"""A row of a report's table: column -> value; which columns there are is computed, since some bear
the name of a run or a model."""
TableRows = list[TableRow]

FORMS = ("parquet", "csv", "md", "tex")
_DECIMALS = 4
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "[": "{[}",  # after the \\ of the row before, a bare one would be read as its argument
    "*": "{*}",  # likewise
    **{c: f"\\{c}" for c in "&%$#_{}"},
}


def write_tables(tables: Mapping[str, TableRows], out: Path) -> list[Path]:
    """Each table under its name in a folder, in all forms; the files written. Tables without rows
    make none.
    """
    return [path for name, rows in tables.items() for path in write_table(rows, out / name)]


def write_table(rows: TableRows, stem: Path) -> list[Path]:
    """One table as ``stem.parquet``, ``.csv``, ``.md`` and ``.tex``; the files written: none where
    there are no rows.

    Raises:
        InputError: a column holds values of kinds that do not mix, or a number that is none (NaN,
        infinity).
    """
    if not rows:
        return []
    _check(rows, stem.name)
    stem.parent.mkdir(parents=True, exist_ok=True)
    # Not with_suffix: a name may hold a dot.
    paths = [stem.with_name(f"{stem.name}.{form}") for form in FORMS]
    _write_parquet(rows, paths[0], stem.name)
    _write_csv(rows, paths[1])
    paths[2].write_text(as_markdown(rows), encoding="utf-8")
    paths[3].write_text(as_latex(rows), encoding="utf-8")
    return paths


def columns_of(rows: TableRows) -> list[str]:
    """Columns of all rows, in the order in which they first occur."""
    return list(dict.fromkeys(column for row in rows for column in row))


def as_markdown(rows: TableRows) -> str:
    """As a Markdown table; what could end a cell or begin markup is escaped."""
    lines = [[_markdown(v) for v in line] for line in _lines(rows)]
    lines.insert(1, [":---" if is_text else "---:" for is_text in _text_columns(rows)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def as_latex(rows: TableRows) -> str:
    """As a LaTeX tabular with the rules of the package booktabs; numbers to the right."""
    header, *body = ([_latex(v) for v in line] for line in _lines(rows))
    columns = "".join("l" if is_text else "r" for is_text in _text_columns(rows))
    return "\n".join(
        [
            "% needs \\usepackage{booktabs}",
            f"\\begin{{tabular}}{{{columns}}}",
            "\\toprule",
            f"{' & '.join(header)} \\\\",
            "\\midrule",
            *(f"{' & '.join(line)} \\\\" for line in body),
            "\\bottomrule",
            "\\end{tabular}",
            "",
        ]
    )


def as_text(name: str, rows: TableRows) -> str:
    """As aligned text under its name; a single row stands upright."""
    if not rows:
        return f"{name}\n  (no rows)\n"
    header, *body = _lines(rows)
    if len(body) == 1:
        width = max(map(len, header))
        return "\n".join([name, *(f"  {k:<{width}}  {v}" for k, v in zip(header, body[0], strict=True)), ""])
    widths = [max(map(len, column)) for column in zip(header, *body, strict=True)]
    lines = (
        "  " + "  ".join(v.ljust(w) for v, w in zip(line, widths, strict=True)).rstrip()
        for line in (header, *body)
    )
    return "\n".join([name, *lines, ""])


def shown(value: Any, column: str) -> str:
    """A value as text forms show it, in one line."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value) if column.endswith("_id") else f"{value:,}"
    if isinstance(value, float):
        rounded = round(value, _DECIMALS)
        return str(rounded) if rounded or not value else f"{value:.1e}"  # a small p value is no 0.0
    if isinstance(value, list | tuple):
        return ", ".join(shown(v, column) for v in value)
    return " ".join(str(value).split())


def _lines(rows: TableRows) -> list[list[str]]:
    columns = columns_of(rows)
    return [columns, *([shown(row.get(c), c) for c in columns] for row in rows)]


def _text_columns(rows: TableRows) -> list[bool]:
    """For each column, whether it holds anything but numbers."""
    columns = columns_of(rows)
    return [
        any(not isinstance(row.get(c), int | float | None) or isinstance(row.get(c), bool) for row in rows)
        for c in columns
    ]


def _markdown(text: str) -> str:
    return re.sub(r"[\\|<\[`*]", r"\\\g<0>", text)


def _latex(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in text)


def _check(rows: TableRows, name: str) -> None:
    for number, row in enumerate(rows, 1):
        for column, value in row.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise InputError(
                    f"table {name}, row {number}: {column} = {value}; must be a finite number, or "
                    f"null if unknown"
                )


def _write_parquet(rows: TableRows, path: Path, name: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = {}
    for column in columns_of(rows):
        try:
            arrays[column] = pa.array([row.get(column) for row in rows])
        except (pa.ArrowInvalid, pa.ArrowTypeError) as e:
            raise InputError(
                f"table {name}: column {column} mixes kinds of values ({e}); give all its rows one kind"
            ) from e
    pq.write_table(pa.table(arrays), path)


def _write_csv(rows: TableRows, path: Path) -> None:
    """Lists as JSON, since a cell holds one value; Python's own form of a number, which loses
    nothing.
    """
    columns = columns_of(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_data(row.get(c)) for c in columns] for row in rows)


def _data(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | tuple) else value
