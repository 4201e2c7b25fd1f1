"""What all figures share: how they are written, matplotlib's settings, colours and marks that can
be told apart in grey.

The same rows give the same bytes: no date, no version, no random ids, and no settings of the user's
matplotlib.
"""

import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#1b4965", "#b5502c", "#5a7d2a", "#7a3e8e", "#8a6d00", "#3a3a3a")
MARKERS = "osD^vP*X<>"
LINES = ("-", "--", ":", "-.")
# For areas: light to dark, and a hatching each, so that neighbours differ without colour as well.
SHADES = ("#7fb3d5", "#f3c9a5", "#b9d3a0", "#d7bfe0", "#efe0a0", "#f4f4f4", "#9aa7b1", "#d98d7a")
EDGE: dict[str, Any] = {"edgecolor": "#222222", "linewidth": 0.4}
HATCHES = ("", "///", "...", "xx", "--", "\\\\\\", "++", "oo")
# characters of a name at an axis, and in a legend above
_LONGEST = 48
_LONGEST_KEY = 72
_DPI = 144
FORMS: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}  # and what to leave out
# inches that a legend's key, a character and a line of it take
_KEY = 0.8
_CHARACTER = 0.08
_LINE = 0.2
# What no XML may hold, and so no SVG.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_figures(figures: Mapping[str, "Figure"], folder: Path) -> list[Path]:
    """Each figure as ``NAME.svg`` and ``NAME.png``; the files written.

    matplotlib's font lacks some scripts: their letters are boxes in the PNG, and themselves in the
    SVG, whose text stays text.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with look(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        for name, figure in figures.items():
            for form, metadata in FORMS.items():
                paths.append(folder / f"{name}.{form}")
                figure.savefig(paths[-1], format=form, metadata=metadata, dpi=_DPI)
                figure.set_layout_engine("none")  # laid out once, for both forms
    return paths


@contextmanager
def look() -> Iterator[None]:
    """matplotlib's own defaults for as long as we draw, whatever a matplotlibrc or the caller has
    set.
    """
    from matplotlib import style

    ours = {
        "svg.hashsalt": "llmpedia",
        "svg.fonttype": "none",
        "font.size": 9,
        "hatch.linewidth": 0.5,
        "axes.axisbelow": True,
    }
    with style.context(["default", ours]):
        yield


def new_figure(width: float, height: float, panels: int = 1) -> "tuple[Figure, list[Axes]]":
    """A figure on the Agg canvas, outside of pyplot and its list of open figures."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, panels, squeeze=False)
    return figure, list(axes[0])


def cut(text: Any, longest: int) -> str:
    """In one line of at most so many characters."""
    line = _line(text)
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def shown_name(text: Any, longest: int = _LONGEST) -> str:
    """In one line, short, and with no dollar sign that would begin a formula. Names of a grid
    differ at their ends: both stay.
    """
    line = _line(text)
    half = longest // 2
    short = line if len(line) <= longest else f"{line[: half - 1]}…{line[-half:]}"
    return short.replace("$", r"\$")


def _line(text: Any) -> str:
    return " ".join(_NO_XML.sub("\ufffd", str(text)).split())


def drawn_value(value: float | None) -> float:
    """What is not known is not drawn."""
    return float("nan") if value is None else value


def file_names(texts: Sequence[str]) -> list[str]:
    """Parts of figures' names: no slash, whatever runs are called, and none twice."""
    names: list[str] = []
    for text in texts:
        plain = name = text.replace("/", "-")
        number = 1
        while name in names:
            number += 1
            name = f"{plain}-{number}"
        names.append(name)
    return names


def legend(figure: "Figure", handles: Sequence[Any]) -> None:
    """Above the axes, in as many columns as fit; the figure grows by its lines.

    Labels are named here: those that begin with an underscore would be left out.
    """
    names = [str(handle.get_label()) for handle in handles]
    widest = _KEY + _CHARACTER * max(map(len, names))
    columns = max(1, min(4, len(names), int(figure.get_figwidth() / widest)))
    figure.set_figheight(figure.get_figheight() + _LINE * math.ceil(len(names) / columns))
    figure.legend(handles, names, loc="outside upper center", ncols=columns, frameon=False, handlelength=3)


def grouped_bars(
    rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], label: str, log: bool
) -> "Figure":
    """A cluster a column, a bar a row, which is named by its ``run``; at most eight rows can be
    told apart.
    """
    figure, (axes,) = new_figure(7.5, 3.4)
    width = 0.8 / len(rows)
    for number, row in enumerate(rows):
        places = [n + (number - (len(rows) - 1) / 2) * width for n in range(len(columns))]
        heights = [drawn_value(row[c]) if row[c] or not log else float("nan") for c in columns]
        axes.bar(
            places,
            heights,
            width,
            label=shown_name(row["run"], _LONGEST_KEY),
            color=SHADES[number],
            hatch=HATCHES[number],
            **EDGE,
        )
    axes.set_xticks(range(len(columns)), list(columns.values()))
    if log:
        axes.set_yscale("log")
        tallest = max((row[c] for row in rows for c in columns if row[c]), default=1)
        axes.set_ylim(1, 3 * tallest)  # a bar that ends at the frame looks cut
    axes.set_ylabel(label)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y", alpha=0.3)
    legend(figure, axes.containers)
    return figure
