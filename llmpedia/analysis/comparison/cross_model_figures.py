"""Figures 32 to 36 of the paper, each from the rows of a table: bars and squares with their
numbers, readable in grey.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from llmpedia.analysis.output.drawing import COLOURS, drawn_value, look, new_figure, shown_name
from llmpedia.analysis.output.formats import TableRow, TableRows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


HATCHES = ("", "//", "..", "xx", "--", "\\\\", "++", "oo")
# Light enough for what is printed on them, and told apart by hatching besides.
SHADES = ("#1b4965", "#e0a458", "#7fb3d5", "#f1ece2", "#b9c99b", "#cdb4db", "#8a8a8a", "#ffffff")
_TONES = ("#dbe7f0", "#1b4965")  # of 0 and 1: a square of 0 is not the white of none
_DARK = 0.5  # from which value on numbers are white
_MEASURES = {
    "precision_pct": "precision",
    "true_pct": "true",
    "false_pct": "false",
    "unverifiable_pct": "unverifiable",
}
LIKENESS = {
    "tfidf_cosine": "TF-IDF cosine",
    "overlap_1": "1-gram overlap",
    "overlap_2": "2-gram overlap",
    "overlap_3": "3-gram overlap",
    "semantic_cosine": "semantic cosine",
}


def cross_model_figures(tables: Mapping[str, TableRows]) -> dict[str, "Figure"]:
    """Name -> figure, of the tables that have rows."""
    makers: dict[str, tuple[str, Callable[[TableRows], Figure | None]]] = {
        "figure_32_subjects": ("subject_overlap", _subjects),
        "figure_33_jaccard": ("subject_overlap", _jaccards),
        "figure_34_entities": ("entity_overlap", _entities),
        "figure_35_factuality": ("shared_independent", _factuality),
        "figure_36_similarity": ("wikipedia_similarity", _similarity),
    }
    with look():
        figures = {name: make(tables[table]) for name, (table, make) in makers.items() if tables.get(table)}
    return {name: figure for name, figure in figures.items() if figure is not None}


def _subjects(rows: TableRows) -> "Figure":
    """Each run's subjects, and what of them all runs have."""
    singles = [row for row in rows if row["of"] == 1]
    whole = max(rows, key=lambda row: row["of"])
    figure, (axes,) = new_figure(7, 1.4 + 0.4 * (len(singles) + 1))
    names = [*(row["runs"][0] for row in singles), f"in all {whole['of']}"]
    values = [*(row["subjects"] for row in singles), whole["subjects"]]
    bars = axes.barh(range(len(values)), values, color=COLOURS[0], edgecolor="#222222", linewidth=0.4)
    bars[-1].set(facecolor="#ffffff", hatch="//")
    share = f" ({whole['jaccard_pct']} % of {whole['union']:,})" if whole["union"] else ""
    axes.bar_label(bars, [*(f"{v:,}" for v in values[:-1]), f"{values[-1]:,}{share}"], padding=3)
    axes.set_yticks(range(len(values)), [shown_name(name) for name in names])
    axes.set_ylim(len(values) - 0.4, -0.6)
    axes.margins(x=0.25)
    axes.set_xlabel("subjects with an article")
    return figure


def _jaccards(rows: TableRows) -> "Figure":
    names = [row["runs"][0] for row in rows if row["of"] == 1]
    pairs: dict[tuple[str, ...], float | None] = {
        tuple(row["runs"]): row["jaccard"] for row in rows if row["of"] == 2
    }
    return _matrix(names, pairs, "Jaccard of subjects, pair by pair")


def _entities(rows: TableRows) -> "Figure":
    names = list(dict.fromkeys(name for row in rows for name in (row["run"], row["other"])))
    subjects = rows[0]["subjects"]
    pairs: dict[tuple[str, ...], float | None] = {(row["run"], row["other"]): row["jaccard"] for row in rows}
    plural = "" if subjects == 1 else "s"
    return _matrix(names, pairs, f"Jaccard of linked entities, mean over {subjects:,} shared subject{plural}")


def _matrix(names: Sequence[str], pairs: Mapping[tuple[str, ...], float | None], title: str) -> "Figure":
    """A square a pair, darker for more on a scale from 0 to 1, each with its number."""
    from matplotlib.colors import LinearSegmentedColormap

    size = len(names)
    figure, (axes,) = new_figure(3 + 0.8 * size, 1.8 + 0.7 * size)
    values = [[float("nan")] * size for _ in names]
    for (i, a), (j, b) in combinations(enumerate(names), 2):
        values[i][j] = values[j][i] = drawn_value(pairs.get((a, b), pairs.get((b, a))))
    squares = axes.imshow(values, cmap=LinearSegmentedColormap.from_list("tones", _TONES), vmin=0, vmax=1)
    figure.colorbar(squares, ax=axes, shrink=0.8)
    for i, line in enumerate(values):
        for j, value in enumerate(line):
            if not math.isnan(value):
                axes.text(
                    j,
                    i,
                    f"{value:.3f}",
                    ha="center",
                    va="center",
                    color="white" if value > _DARK else "black",
                )
    shown = [shown_name(name) for name in names]
    axes.set_xticks(range(size), shown, rotation=30, ha="right")
    axes.set_yticks(range(size), shown)
    axes.set_title(title, fontsize=9)
    return figure


def _factuality(rows: TableRows) -> "Figure | None":
    """A panel for shared and for independent subjects, by Wikipedia."""
    rows = [row for row in rows if row["tier"] == "wikipedia"]
    panels = list(dict.fromkeys(row["subjects_are"] for row in rows))
    if not panels:
        return None
    figure, axes = new_figure(1 + 4.5 * len(panels), 4, len(panels))
    for one, part in zip(axes, panels, strict=True):
        part_rows = [row for row in rows if row["subjects_are"] == part]
        bars_by_name(
            one,
            {row["run"]: [row[m] for m in _MEASURES] for row in part_rows},
            list(_MEASURES.values()),
            "{:.1f}",
        )
        one.set_title(f"{part} subjects", fontsize=9)
        one.set_ylabel("mean over articles (%)")
        one.set_ylim(0, 118)
    legend(figure, axes[0])
    return figure


def _similarity(rows: TableRows) -> "Figure":
    panels = list(dict.fromkeys(row["subjects_are"] for row in rows))
    figure, axes = new_figure(1 + 5 * len(panels), 4, len(panels))
    for one, part in zip(axes, panels, strict=True):
        part_rows = [row for row in rows if row["subjects_are"] == part]
        draw_likeness(one, {row["run"]: row for row in part_rows})
        one.set_title(f"{part} subjects", fontsize=9)
    legend(figure, axes[0])
    return figure


def draw_likeness(axes: "Axes", rows: Mapping[str, TableRow]) -> None:
    """Bars of a summary of similarities; measures that nobody has are left out."""
    shown = {
        name: words
        for name, words in LIKENESS.items()
        if any(row.get(name) is not None for row in rows.values())
    }
    bars_by_name(
        axes,
        {name: [row.get(m) for m in shown] for name, row in rows.items()},
        list(shown.values()),
        "{:.2f}",
    )
    axes.set_ylabel("similarity to Wikipedia, mean over articles")
    axes.set_ylim(0, 1.15)


def bars_by_name(
    axes: "Axes", values: Mapping[str, Sequence[float | None]], groups: Sequence[str], form: str
) -> None:
    """A bar a name in each group, with its number; what is not known has neither."""
    width = 0.85 / max(1, len(values))
    for place, (name, bar_values) in enumerate(values.items()):
        at = [group + (place - (len(values) - 1) / 2) * width for group in range(len(groups))]
        edge: dict[str, Any] = {
            "edgecolor": "#222222",
            "linewidth": 0.4,
            "hatch": HATCHES[place % len(HATCHES)],
        }
        colour = SHADES[place % len(SHADES)]
        bars = axes.bar(
            at, [drawn_value(v) for v in bar_values], width, label=shown_name(name), color=colour, **edge
        )
        axes.bar_label(
            bars,
            ["" if v is None else form.format(v) for v in bar_values],
            fontsize=6,
            rotation=90,
            padding=2,
        )
    axes.set_xticks(range(len(groups)), groups, rotation=20)


def legend(figure: "Figure", axes: "Axes") -> None:
    """One for all panels, above them; handles are named here, since labels that begin with an
    underscore would be left out.
    """
    handles: list[Any] = list(axes.containers)
    names = [str(bars.get_label()) for bars in handles]
    figure.legend(handles, names, loc="outside upper center", ncols=min(4, len(names)), frameon=False)
