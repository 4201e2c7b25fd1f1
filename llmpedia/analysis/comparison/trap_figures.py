"""The retrieval trap as bars, a system beside the other: how true it is by each tier, and how like
Wikipedia it reads.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llmpedia.analysis.comparison.cross_model_figures import bars_by_name, draw_likeness, legend
from llmpedia.analysis.output.drawing import look, new_figure
from llmpedia.analysis.output.formats import TableRows
from llmpedia.audit.evidence import TIERS
from llmpedia.audit.measures.verdicts import SHARES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def trap_figures(systems: Sequence[str], summaries: TableRows, alike: TableRows) -> dict[str, "Figure"]:
    """Name -> figure, from the summaries of audits and of similarities."""
    with look():
        figures = {"figure_trap_factuality": _factuality(systems, summaries)}
        if alike:
            figures["figure_trap_similarity"] = _similarity(systems, alike)
    return figures


def _factuality(systems: Sequence[str], summaries: TableRows) -> "Figure":
    tiers = [tier for tier in TIERS if any(row["tier"] == tier for row in summaries)]
    figure, axes = new_figure(1 + 4.5 * len(tiers), 4, len(tiers))
    for one, tier in zip(axes, tiers, strict=True):
        rows = {row["model"]: row for row in summaries if row["tier"] == tier}
        values = {s: [_percent(rows[s][name]) for name in SHARES] for s in systems if s in rows}
        bars_by_name(one, values, SHARES, "{:.1f}")
        one.set_title(f"by {'Wikipedia' if tier == 'wikipedia' else 'the curated web'}", fontsize=9)
        one.set_ylabel("mean over articles (%)")
        one.set_ylim(0, 118)
    legend(figure, axes[0])
    return figure


def _similarity(systems: Sequence[str], alike: TableRows) -> "Figure":
    rows = {row["model"]: row for row in alike}
    figure, (axes,) = new_figure(6.5, 4)
    draw_likeness(axes, {s: rows[s] for s in systems if s in rows})
    legend(figure, axes)
    return figure


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
