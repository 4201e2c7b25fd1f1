"""A probe's report as figures, each made from the rows of a table: SVG (text stays text) and PNG.

What is told apart by colour is told apart by hatching or by marker and line too, so that figures
can be read in grey.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from llmpedia.analysis.output.drawing import COLOURS, MARKERS, cut, drawn_value, look, new_figure, shown_name
from llmpedia.analysis.output.formats import TableRow, TableRows
from llmpedia.analysis.probe.data import ALL_MODELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHADES = {
    "complete_pct": ("complete", "#1b4965", ""),
    "partial_pct": ("partial", "#7fb3d5", "//"),
    "failed_pct": ("failed", "#f1ece2", ".."),
    "not_graded_pct": ("not graded", "#ffffff", "xx"),
}
_LINES = {
    "complete_pct": ("o", "-"),
    "partial_pct": ("s", "--"),
    "failed_pct": ("^", ":"),
    "not_graded_pct": ("x", "-."),
}
_MOST_BARS = 60
_MOST_PANELS = 4


def probe_figures(tables: Mapping[str, TableRows]) -> dict[str, "Figure"]:
    """Name -> figure, of the tables of a report that have rows."""
    makers: dict[str, tuple[str, Callable[[TableRows], Figure | None]]] = {
        "results": ("table_01_results", _results),
        "scale": ("scale", _scale),
        "reasoning": ("reasoning", _reasoning),
        "exposure": ("exposure_bins", _exposure),
        "fields": ("fields", _fields),
        "oracle": ("oracle", _oracle),
        "formulation": ("formulation", _formulation),
        "perplexity": ("perplexity_bins", _perplexity),
    }
    with look():
        figures = {name: make(tables[table]) for name, (table, make) in makers.items() if tables.get(table)}
    return {name: figure for name, figure in figures.items() if figure is not None}


def _stacked(width: float, names: Sequence[str], rows: TableRows, label: str) -> "Figure":
    """A bar a row from 0 to 100 percent, the first row on top; rows beyond the first 60 are not
    drawn, and it is said so.
    """
    shown = rows[:_MOST_BARS]
    figure, (axes,) = new_figure(width, 1.4 + 0.24 * len(shown))
    left = [0.0] * len(shown)
    for column, (outcome, colour, hatch) in _SHADES.items():
        widths = [row[column] or 0.0 for row in shown]
        if column != "not_graded_pct" or any(widths):
            bars: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": "#222222", "linewidth": 0.4}
            axes.barh(range(len(shown)), widths, left=left, label=outcome, **bars)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(shown)), [shown_name(name) for name in names[:_MOST_BARS]])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlim(0, 100)
    axes.set_xlabel(label if len(shown) == len(rows) else f"{label}; the first {len(shown)} of {len(rows)}")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False)
    return figure


def _results(rows: TableRows) -> "Figure":
    """What counts as failed is no share of its own: a strict row would else reach beyond 100."""
    drawn = [{**row, "not_graded_pct": 0.0} if row["not_graded_counts_as_failed"] else row for row in rows]
    return _stacked(7, [row["model"] for row in drawn], drawn, "questions (%)")


def _fields(rows: TableRows) -> "Figure":
    pooled = [row for row in rows if row["model"] == ALL_MODELS]
    names = [
        f"{cut(row['field'] or 'not told', 36)} (n={row['questions']}{'*' if row['few'] else ''})"
        for row in pooled
    ]
    few = "; * few questions" if any(row["few"] for row in pooled) else ""
    return _stacked(7.5, names, pooled, f"answers of all models (%){few}")


def _scale(rows: TableRows) -> "Figure":
    figure, (axes,) = new_figure(6.5, 4)
    families: dict[str, TableRows] = {}
    for row in rows:
        off = ", reasoning off" if row["reasoning"] is False else ""
        families.setdefault(shown_name(f"{row['family'] or 'other'}{off}"), []).append(row)
    lines = []
    for number, models in enumerate(families.values()):
        joined = "-" if models[0]["family"] else "none"
        colour = COLOURS[number % len(COLOURS)]
        marker = MARKERS[number % len(MARKERS)]
        sizes = [row["parameters_b"] for row in models]
        complete = [drawn_value(row["complete_pct"]) for row in models]
        lines += axes.plot(sizes, complete, linestyle=joined, marker=marker, color=colour)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("parameters (billions)")
    axes.set_ylabel("complete recall (%)")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    # Named here: as labels of lines, names that begin with an underscore would be left out.
    axes.legend(
        lines, list(families), loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, handlelength=3
    )
    return figure


def _reasoning(rows: TableRows) -> "Figure":
    figure, (axes,) = new_figure(6.5, 1.6 + 0.4 * len(rows))
    for place, row in enumerate(rows):
        off = drawn_value(row["complete_off_pct"])
        on = drawn_value(row["complete_on_pct"])
        axes.plot([off, on], [place, place], color="#777777", linewidth=1)
        axes.plot(
            [off],
            [place],
            "o",
            color="#1b4965",
            markerfacecolor="white",
            label="reasoning off" if not place else None,
        )
        axes.plot([on], [place], "o", color="#1b4965", label="reasoning on" if not place else None)
    axes.set_yticks(range(len(rows)), [shown_name(row["on"]) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel("complete recall (%)")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    return figure


def _exposure(rows: TableRows) -> "Figure":
    pooled = [row for row in rows if row["model"] == ALL_MODELS]
    measures = list(dict.fromkeys(row["measure"] for row in pooled))
    figure, panels = new_figure(8, 3.4, len(measures))
    for axes, measure in zip(panels, measures, strict=True):
        bins = [row for row in pooled if row["measure"] == measure]
        _lines(axes, bins)
        axes.set_xticks(range(len(bins)), [f"{_span(row)}\nn={row['questions']}" for row in bins])
        axes.set_xlabel(f"{measure} (documents)")
    panels[0].legend(loc="best", frameon=False, handlelength=3)
    return figure


def _span(row: TableRow) -> str:
    return f"{row['low']}" if row["low"] == row["high"] else f"{row['low']}–{row['high']}"


def _lines(axes: "Axes", rows: TableRows) -> None:
    for column, (marker, line) in _LINES.items():
        values = [drawn_value(row[column]) for row in rows]
        if column != "not_graded_pct" or any(values):
            axes.plot(
                range(len(rows)),
                values,
                marker=marker,
                linestyle=line,
                color="#1b4965",
                label=_SHADES[column][0],
            )
    axes.set_ylim(-2, 102)
    axes.set_ylabel("answers (%)")
    axes.grid(alpha=0.3)


def _oracle(rows: TableRows) -> "Figure":
    figure, (axes,) = new_figure(max(5.0, 2 + 0.22 * len(rows)), 4)
    _lines(axes, rows)
    axes.set_xticks(range(len(rows)), [shown_name(row["added"]) for row in rows], rotation=90)
    axes.set_xlabel("model added to the pool")
    axes.set_ylabel("questions (%)")
    axes.legend(loc="center right", frameon=False, handlelength=3)
    return figure


def _formulation(rows: TableRows) -> "Figure":
    figure, (axes,) = new_figure(6.5, 1.6 + 0.32 * len(rows))
    differences = [drawn_value(row["difference"]) for row in rows]
    axes.barh(range(len(rows)), differences, color="#7fb3d5", edgecolor="#222222", linewidth=0.4)
    axes.axvline(0, color="#222222", linewidth=0.8)
    axes.set_yticks(range(len(rows)), [shown_name(row["model"]) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel("complete recall, named-entity minus clue-based (points)")
    axes.grid(axis="x", alpha=0.3)
    return figure


def _perplexity(rows: TableRows) -> "Figure":
    """One panel a model: of more than four, the first ones by name."""
    every = list(dict.fromkeys(row["model"] for row in rows))
    models = every[:_MOST_PANELS]
    figure, panels = new_figure(1 + 4.2 * len(models), 3.6, len(models))
    for axes, model in zip(panels, models, strict=True):
        bins = [row for row in rows if row["model"] == model]
        _lines(axes, bins)
        axes.set_xticks(range(len(bins)), [f"{row['ppl_median']:.3g}" for row in bins], rotation=45)
        axes.set_xlabel("perplexity of the accounts (median of the bin)")
        axes.set_title(shown_name(model), fontsize=9)
    if len(every) > len(models):
        figure.suptitle(f"the first {len(models)} of {len(every)} models", fontsize=9)
    panels[0].legend(loc="best", frameon=False, handlelength=3)
    return figure
