"""What audits found by hop and tier (paper, table 6 and appendix K): coverage, precision, true,
false and unverifiable shares.

Table 6 comes from ``audit_tables``; beside it each share with its spread and interval, and a figure
an audit.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from llmpedia.analysis.common.statistics import percent_of_share
from llmpedia.analysis.output.drawing import (
    COLOURS,
    LINES,
    MARKERS,
    drawn_value,
    file_names,
    look,
    new_figure,
    shown_name,
)
from llmpedia.analysis.output.formats import TableRow, TableRows
from llmpedia.analysis.output.page import ReportPart
from llmpedia.audit.evidence import TIERS
from llmpedia.audit.measures.verdicts import SHARES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


TABLE = "table_06_hops"
_SPREAD = "hop_intervals"
_TITLES = {
    TABLE: "Factuality by hop and tier",
    _SPREAD: "Factuality by hop and tier, with spread and 95% intervals",
}
_DRAWN = ("true", "false", "unverifiable")
_PREFIX = "figure_hops"


def hops_part(tables: Mapping[str, TableRows], missing: TableRows) -> ReportPart:
    """``tables, missing``: as ``audit_report`` has made them."""
    spread = hop_intervals(tables["summaries"])
    figures = hop_figures(spread)
    shown = {TABLE: tables.get(TABLE, []), _SPREAD: spread}
    missing_rows = [row for row in missing if row["table"] == TABLE]
    if not spread:
        missing_rows.append(
            {
                "table": _SPREAD,
                "what": "table, figures",
                "reason": "no audit has a sample by hop, nor a random one",
            }
        )
    return ReportPart(shown, missing_rows, _TITLES, figures, {TABLE: list(figures)}, "Hops")


def hop_intervals(summaries: TableRows) -> TableRows:
    """A row an audit, sample, hop and tier: intervals of coverage are Wilson's, of shares by
    bootstrap over articles.

    Of an audit that has a sample by hop only that one is told; a random sample has few articles of
    early hops.
    """
    by_hop = [row for row in summaries if row["by"] == "sample+hop+tier"]
    with_hops = {(row["run"], row["audit"]) for row in by_hop if row["sample"] == "hop"}
    chosen = [
        row
        for row in by_hop
        if row["sample"] == ("hop" if (row["run"], row["audit"]) in with_hops else "random")
    ]
    return [_interval_row(row) for row in chosen]


def _interval_row(row: TableRow) -> TableRow:
    interval = {k: row[k] for k in ("run", "audit", "sample", "hop", "tier", "articles", "found")}
    interval |= {
        f"coverage_{to}": percent_of_share(row[of]) for to, of in _bounds("coverage").items() if to != "sd"
    }
    for name in SHARES:
        interval |= {f"{name}_{to}": percent_of_share(row[of]) for to, of in _bounds(name).items()} | {
            f"{name}_n": row[f"{name}_n"]
        }
    return interval


def _bounds(name: str) -> dict[str, str]:
    return {"pct": name, "sd": f"{name}_sd", "low": f"{name}_low", "high": f"{name}_high"}


def hop_figures(rows: TableRows) -> "dict[str, Figure]":
    """Name -> figure: for each audit a panel of coverage and one of the shares in each tier."""
    audits = list(dict.fromkeys((row["run"], row["audit"]) for row in rows))
    files = file_names([f"{run}_{audit}" for run, audit in audits])
    with look():
        return {
            f"{_PREFIX}_{file}": _figure(
                [row for row in rows if (row["run"], row["audit"]) == (run, audit)],
                f"{shown_name(run)}, audit {shown_name(audit)}",
            )
            for (run, audit), file in zip(audits, files, strict=True)
        }


def _figure(rows: TableRows, title: str) -> "Figure":
    tiers = [tier for tier in TIERS if any(row["tier"] == tier for row in rows)]
    figure, panels = new_figure(1 + 3.2 * (len(tiers) + 1), 3.4, len(tiers) + 1)
    of_tier = {tier: [row for row in rows if row["tier"] == tier] for tier in tiers}
    _lines(panels[0], [(tier, of_tier[tier], "coverage") for tier in tiers], "coverage")
    for axes, tier in zip(panels[1:], tiers, strict=True):
        _lines(axes, [(name, of_tier[tier], name) for name in _DRAWN], f"{tier}: shares of claims")
    panels[0].set_ylabel("%, with 95% intervals")
    figure.suptitle(f"{title}: sample {rows[0]['sample']}", fontsize=9)
    return figure


def _lines(axes: "Axes", lines: Sequence[tuple[str, TableRows, str]], title: str) -> None:
    """A line each of (label, rows, share), a little apart, so that intervals do not cover each
    other.
    """
    from matplotlib.ticker import MaxNLocator

    for number, (label, rows, name) in enumerate(lines):
        known = [row for row in rows if row[f"{name}_pct"] is not None]
        values = [row[f"{name}_pct"] for row in known]
        low, high = (
            [abs(drawn_value(row[f"{name}_{k}"]) - row[f"{name}_pct"]) for row in known]
            for k in ("low", "high")
        )
        style: TableRow = {
            "color": COLOURS[number],
            "marker": MARKERS[number],
            "linestyle": LINES[number],
            "capsize": 2,
        }
        places = [row["hop"] + 0.08 * (number - (len(lines) - 1) / 2) for row in known]
        axes.errorbar(places, values, yerr=[low, high], label=label, elinewidth=0.8, **style)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_xlabel("hop")
    axes.set_ylim(-2, 102)
    axes.set_title(title, fontsize=9)
    axes.grid(alpha=0.3)
    axes.legend(loc="best", frameon=False, handlelength=3, fontsize=8)
