"""Figures of the funnel, from its tables' rows: of all runs together (paper, figures 6 to 10) and a
set for each (11 to 31).

The paper has a set of seven figures a model; here a set of a run has the numbers of its first one,
11 to 17, and the run's name. What is told apart by colour is told apart by hatching or by marker
and line too.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from llmpedia.analysis.output.drawing import (
    COLOURS,
    EDGE,
    HATCHES,
    LINES,
    MARKERS,
    SHADES,
    drawn_value,
    file_names,
    grouped_bars,
    legend,
    look,
    new_figure,
    shown_name,
)
from llmpedia.analysis.output.formats import TableRow, TableRows, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Table -> what the names of its figures begin with.
FIGURES_OF = {
    "table_03_funnel": ("figure_06", "figure_11"),
    "table_15_survival": ("figure_07",),
    "survival_by_hop": ("figure_08", "figure_10", "figure_14"),
    "reject_reasons": ("figure_12", "figure_13"),
    "fate_shares_by_hop": ("figure_15",),
    "table_17_coverage_by_hop": ("figure_09", "figure_16"),
    "top_absorbing_entities": ("figure_17",),
}
MOST_RUNS = 8
_STEPS = {
    "raw_links": "raw links",
    "pre_ner_input": "pre-NER",
    "after_canonical_dedup": "after canonical",
    "after_ner": "after NER",
    "after_similarity": "after similarity",
    "queue_inserted_children": "inserted",
}
_SURVIVALS = {
    "raw_to_pre_ner_pct": "raw to pre-NER",
    "canonical_survival_pct": "canonical",
    "ner_survival_pct": "NER",
    "similarity_survival_pct": "similarity",
    "raw_to_queue_pct": "raw to queue",
}
_BY_HOP = {
    "canonical": "canonical",
    "ner": "NER",
    "similarity": "similarity",
    "overall": "overall (pre-NER to queue)",
}
_FATES = {
    "inserted_pct": "inserted",
    "capped_pct": "cap reached",
    "similarity_rejected_pct": "similarity rejected",
    "ner_rejected_pct": "NER rejected",
    "known_pct": "known before NER",
    "before_pct": "loop or low score",
}


def funnel_figures(tables: Mapping[str, TableRows]) -> "dict[str, Figure]":
    """Name -> figure; of more than eight runs, the first eight."""
    runs = [row["run"] for row in tables["table_03_funnel"]][:MOST_RUNS]
    with look():
        figures = _of_all(tables, runs)
        for run, file in zip(runs, file_names(runs), strict=True):
            run_tables = {name: [row for row in rows if row["run"] == run] for name, rows in tables.items()}
            figures |= {
                f"{name}_{file}": figure for name, figure in _of_one(run_tables, shown_name(run)).items()
            }
    return {name: figure for name, figure in figures.items() if figure is not None}


def _of_all(tables: Mapping[str, TableRows], runs: list[str]) -> "dict[str, Figure | None]":
    by_hop = tables["survival_by_hop"]
    coverage = tables["table_17_coverage_by_hop"]
    return {
        "figure_06_counts": grouped_bars(
            tables["table_03_funnel"][:MOST_RUNS], _STEPS, "candidates (log scale)", log=True
        ),
        "figure_07_survival": grouped_bars(
            tables["table_15_survival"][:MOST_RUNS], _SURVIVALS, "survival (%)", log=False
        ),
        "figure_08_candidates_by_hop": _lines(
            by_hop, runs, ("parent_hop", "pre_ner"), "candidates before NER (log scale)"
        ),
        "figure_09_inserted_by_hop": _lines(
            coverage, runs, ("hop", "entities"), "inserted children (log scale)"
        ),
        "figure_10_overall_survival": _lines(
            by_hop, runs, ("parent_hop", "overall_pct"), "overall survival, mean (%)"
        ),
    }


def _of_one(tables: Mapping[str, TableRows], run: str) -> "dict[str, Figure | None]":
    (counts,) = tables["table_03_funnel"]
    reasons = {
        stage: [row for row in tables["reject_reasons"] if row["stage"] == stage]
        for stage in ("ner", "similarity")
    }
    return {
        "figure_11_funnel": _funnel(counts, run),
        "figure_12_ner_rejects": _reasons(reasons["ner"], f"{run}: candidates rejected by NER"),
        "figure_13_similarity_rejects": _reasons(
            reasons["similarity"], f"{run}: candidates rejected by similarity"
        ),
        "figure_14_survival_by_hop": _bands(tables["survival_by_hop"], run),
        "figure_15_fates_by_hop": _fates(tables["fate_shares_by_hop"], run),
        "figure_16_coverage_by_hop": _coverage(tables["table_17_coverage_by_hop"], run),
        "figure_17_absorbers": _absorbers(tables["top_absorbing_entities"], run),
    }


def _lines(rows: TableRows, runs: Sequence[str], columns: tuple[str, str], label: str) -> "Figure | None":
    """A line a run over hops; counts, which differ by orders of magnitude, on a log scale."""
    if not rows:
        return None
    figure, (axes,) = new_figure(6.5, 3.4)
    (x, y) = columns
    log = not columns[1].endswith("_pct")
    for number, run in enumerate(runs):
        points = [row for row in rows if row["run"] == run and (row[y] or not log)]
        axes.plot(
            [row[x] for row in points],
            [drawn_value(row[y]) for row in points],
            label=shown_name(run),
            **_style(number),
        )
    _hops(axes, "hop of the parent" if x == "parent_hop" else "hop")
    axes.set_ylabel(label)
    axes.set_yscale("log" if log else "linear")
    axes.set_ylim(bottom=0.8 if log else 0)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(alpha=0.3)
    legend(figure, axes.lines)
    return figure


def _style(number: int) -> dict[str, Any]:
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number],
        "linestyle": LINES[number % len(LINES)],
    }


def _hops(axes: "Axes", label: str) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_xlabel(label)


def _funnel(row: TableRow, run: str) -> "Figure":
    """Every stage with its candidates, and what of the stage before is left."""
    figure, (axes,) = new_figure(6.5, 2.8)
    counts = [row[c] for c in _STEPS]
    axes.barh(
        range(len(counts)), [n or float("nan") for n in counts], color=SHADES[0], hatch=HATCHES[0], **EDGE
    )
    for place, (n, before) in enumerate(zip(counts, [None, *counts], strict=False)):
        left = f" ({100 * n / before:.1f}% of the stage before)" if before else ""
        axes.annotate(
            f"{n:,}{left}", (max(n, 1), place), (4, 0), textcoords="offset points", va="center", fontsize=8
        )
    axes.set_yticks(range(len(counts)), list(_STEPS.values()))
    axes.set_ylim(len(counts) - 0.4, -0.6)
    axes.set_xscale("log")
    axes.set_xlim(1, max(10, *counts) ** 1.8)
    axes.set_xlabel("candidates (log scale)")
    axes.set_title(f"{run}: {row['generated_articles']:,} articles", fontsize=9)
    return figure


def _reasons(rows: TableRows, title: str) -> "Figure | None":
    if not rows:
        return None
    figure, (axes,) = new_figure(6.5, 1.0 + 0.35 * len(rows))
    axes.barh(
        range(len(rows)), [row["candidates"] for row in rows], color=SHADES[1], hatch=HATCHES[1], **EDGE
    )
    for place, row in enumerate(rows):
        text = f"{row['candidates']:,} ({row['pct']:.1f}%)"
        axes.annotate(
            text, (row["candidates"], place), (4, 0), textcoords="offset points", va="center", fontsize=8
        )
    axes.set_yticks(range(len(rows)), [row["reason"].replace("_", " ") for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 1.25 * max(row["candidates"] for row in rows))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_title(title, fontsize=9)
    return figure


def _bands(rows: TableRows, run: str) -> "Figure | None":
    """A panel a stage: bands of several stages in one panel could not be told apart."""
    if not rows:
        return None
    figure, panels = new_figure(9, 2.8, len(_BY_HOP))
    for number, (axes, (name, title)) in enumerate(zip(panels, _BY_HOP.items(), strict=True)):
        hops = [row["parent_hop"] for row in rows]
        means, sds = ([drawn_value(row[f"{name}_{k}"]) for row in rows] for k in ("pct", "sd"))
        low, high = ([_within(m + way * s) for m, s in zip(means, sds, strict=True)] for way in (-1, 1))
        axes.fill_between(hops, low, high, color="#cccccc")
        axes.plot(hops, means, **_style(number))
        _hops(axes, "hop of the parent")
        axes.set_ylim(-2, 102)
        axes.set_title(title, fontsize=9)
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("survival (%)")
    figure.suptitle(f"{run}: mean ± one sigma over expanded subjects, cut at 0 and 100", fontsize=9)
    return figure


def _within(share: float) -> float:
    """Cut at 0 and 100; what is not known stays so."""
    return share if math.isnan(share) else min(100.0, max(0.0, share))


def _fates(rows: TableRows, run: str) -> "Figure | None":
    if not rows:
        return None
    figure, (axes,) = new_figure(6.5, 3.6)
    hops = [row["hop"] for row in rows]
    bottom = [0.0] * len(rows)
    for number, (column, label) in enumerate(_FATES.items()):
        heights = [row[column] for row in rows]
        if any(heights):
            axes.bar(
                hops,
                heights,
                0.9,
                bottom=bottom,
                label=label,
                color=SHADES[number],
                hatch=HATCHES[number],
                **EDGE,
            )
        bottom = [a + b for a, b in zip(bottom, heights, strict=True)]
    _hops(axes, "hop of the candidate")
    axes.set_ylim(0, 100)
    axes.set_ylabel("candidates (%)")
    axes.legend(
        loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, reverse=True, title=run, title_fontsize=9
    )
    return figure


def _coverage(rows: TableRows, run: str) -> "Figure | None":
    if not rows:
        return None
    figure, (axes,) = new_figure(6.5, 3.2)
    hops = [row["hop"] for row in rows]
    expanded = [row["expanded"] for row in rows]
    axes.bar(hops, expanded, 0.8, label="expanded", color=SHADES[0], hatch=HATCHES[0], **EDGE)
    terminal = [row["terminal"] for row in rows]
    axes.bar(
        hops, terminal, 0.8, bottom=expanded, label="terminal", color=SHADES[1], hatch=HATCHES[1], **EDGE
    )
    for row in rows:
        text = f"{shown(row['terminal_pct'], '')}%"
        axes.annotate(
            text, (row["hop"], row["entities"]), (0, 2), textcoords="offset points", ha="center", fontsize=8
        )
    _hops(axes, "hop")
    axes.margins(y=0.1)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylabel("entities; above: terminal share")
    axes.set_title(run, fontsize=9)
    axes.legend(loc="best", frameon=False)
    return figure


def _absorbers(rows: TableRows, run: str) -> "Figure | None":
    from matplotlib.ticker import MaxNLocator

    if not rows:
        return None
    figure, (axes,) = new_figure(6.5, 1.2 + 0.19 * len(rows))
    axes.barh(range(len(rows)), [row["aliases"] for row in rows], color=SHADES[0], hatch=HATCHES[0], **EDGE)
    axes.set_yticks(range(len(rows)), [shown_name(row["name"]) for row in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel("aliases absorbed")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="x", alpha=0.3)
    axes.set_title(run, fontsize=9)
    return figure
