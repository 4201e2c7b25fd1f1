"""Framing by persona as figures. A persona is told by its marker and by whether it is filled, so
that all can be read in grey.
"""

from typing import TYPE_CHECKING, Any

from llmpedia.analysis.output.drawing import COLOURS, MARKERS, cut, drawn_value, look, new_figure, shown_name
from llmpedia.analysis.output.formats import TableRows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_MOST_EFFECTS = 60
_MOST_TOPICS = 6
_NAMED = 26  # characters of a model or topic


def persona_figures(framing: TableRows, effects: TableRows) -> dict[str, "Figure"]:
    """Of table 22's rows, and of the effects that are significant, if any is."""
    with look():
        figures = {"persona_hits": _hits(framing)}
        if effects:
            figures["persona_effects"] = _effects(effects)
    return figures


def _marks(personas: list[str]) -> dict[str, dict[str, Any]]:
    """How each persona is drawn: every other one hollow."""
    marks = {}
    for n, persona in enumerate(personas):
        colour = COLOURS[n % len(COLOURS)]
        face = "white" if n % 2 else colour
        marks[persona] = {
            "marker": MARKERS[n % len(MARKERS)],
            "color": colour,
            "markerfacecolor": face,
            "linestyle": "none",
        }
    return marks


def _hits(rows: TableRows) -> "Figure":
    """A panel a topic, a line a dimension; of more than six topics, the first ones."""
    every = list(dict.fromkeys(row["topic"] for row in rows))
    topics = every[:_MOST_TOPICS]
    fixed = {"family", "topic", "dimension", "models", "articles", "highest"}
    personas = sorted({column for row in rows for column in row} - fixed)
    dimensions = list(dict.fromkeys(row["dimension"] for row in rows if row["topic"] in topics))
    figure, panels = new_figure(2.4 + 2.4 * len(topics), 1.6 + 0.24 * len(dimensions), len(topics))
    for axes, topic in zip(panels, topics, strict=True):
        _panel(axes, [row for row in rows if row["topic"] == topic], dimensions, _marks(personas))
        axes.set_title(shown_name(cut(topic, _NAMED)), fontsize=9)
        axes.set_yticks(range(len(dimensions)), dimensions if axes is panels[0] else [])
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    if len(every) > len(topics):
        figure.suptitle(f"the first {len(topics)} of {len(every)} topics", fontsize=9)
    return figure


def _panel(axes: "Axes", rows: TableRows, dimensions: list[str], marks: dict[str, dict[str, Any]]) -> None:
    places = {name: n for n, name in enumerate(dimensions)}
    for row in rows:
        values = [row[persona] for persona in marks if row.get(persona) is not None]
        axes.plot(
            [min(values), max(values)], [places[row["dimension"]]] * 2, color="#aaaaaa", linewidth=1, zorder=1
        )
    for persona, mark in marks.items():
        values = [drawn_value(row.get(persona)) for row in rows]
        axes.plot(
            values,
            [places[row["dimension"]] for row in rows],
            label=shown_name(persona),
            markersize=5,
            **mark,
        )
    axes.set_ylim(len(dimensions) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.set_xlabel("hits per 1,000 tokens")
    axes.grid(alpha=0.3)


def _effects(rows: TableRows) -> "Figure":
    """The difference of each effect with its interval, marked by the persona that has more; beyond
    60, it is said so.
    """
    shown = rows[:_MOST_EFFECTS]
    figure, (axes,) = new_figure(8.5, 1.6 + 0.22 * len(shown))
    marks = _marks(sorted({row[end] for row in rows for end in ("higher", "lower")}))
    for place, row in enumerate(shown):
        axes.plot([row["low"], row["high"]], [place, place], color="#777777", linewidth=1, zorder=1)
    for persona, mark in marks.items():
        of = [(row["abs_delta"], place) for place, row in enumerate(shown) if row["higher"] == persona]
        if of:
            axes.plot(
                [x for x, _ in of],
                [y for _, y in of],
                label=f"more under {shown_name(persona)}",
                markersize=5,
                **mark,
            )
    names = [
        f"{cut(r['topic'], _NAMED)} · {cut(r['model'], _NAMED)} · {r['dimension']}, than {r['lower']}"
        for r in shown
    ]
    axes.set_yticks(range(len(shown)), [name.replace("$", r"\$") for name in names], fontsize=7)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.axvline(0, color="#222222", linewidth=0.8)
    cutoff = "" if len(shown) == len(rows) else f"; the first {len(shown)} of {len(rows)}"
    axes.set_xlabel(f"difference, hits per 1,000 tokens, with 95% interval{cutoff}")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, frameon=False)
    return figure
