"""llmpedia/analysis/audits/hops.py: which samples are told by hop, with the intervals that
summaries hold.
"""

import pytest

from llmpedia.analysis.audits.hops import hop_intervals, hops_part
from tests.analysis.audits.test_tables import summary


def by_hop(hop, tier="wikipedia", sample="hop", run="r", audit="a", precision=98.0):
    row = summary(
        precision,
        2.0,
        20.0,
        80.0,
        run=run,
        audit=audit,
        sample=sample,
        hop=hop,
        tier=tier,
        by="sample+hop+tier",
    )
    shares = {name: row[name] for name in ("precision", "true", "false", "unverifiable")}
    spread = {f"{name}_sd": 0.1 for name in shares} | {f"{name}_n": 79 for name in shares}
    bounds = {f"{name}_low": value - 0.01 for name, value in shares.items()} | {
        f"{n}_high": v + 0.01 for n, v in shares.items()
    }
    return {**row, **spread, **bounds, "coverage_low": 0.7, "coverage_high": 0.9}


def test_shares_stand_beside_their_intervals_in_percent():
    (row,) = hop_intervals([by_hop(3)])
    assert (row["hop"], row["coverage_pct"], row["coverage_low"], row["coverage_high"]) == (
        3,
        80.0,
        70.0,
        90.0,
    )
    assert (row["precision_pct"], row["precision_low"], row["precision_high"], row["precision_n"]) == (
        98.0,
        97.0,
        99.0,
        79,
    )


def test_of_an_audit_with_a_sample_by_hop_the_random_one_is_not_told_by_hop():
    rows = [by_hop(0), by_hop(0, sample="random"), by_hop(1, sample="random", audit="other")]
    found = [(row["audit"], row["sample"], row["hop"]) for row in hop_intervals(rows)]
    assert found == [("a", "hop", 0), ("other", "random", 1)]


@pytest.fixture
def part():
    rows = [by_hop(hop, tier) for tier in ("wikipedia", "web") for hop in (0, 1, 2)] + [by_hop(0, run="s/t")]
    missing = [
        {"table": "table_06_hops", "what": "random", "reason": "r"},
        {"table": "table_07_trap", "what": "x", "reason": "r"},
    ]
    return hops_part({"summaries": rows, "table_06_hops": [{"bucket": "hop 0"}]}, missing)


def test_each_audit_has_a_figure_with_coverage_and_a_panel_a_tier(part):
    panels = {name: [axes.get_title() for axes in figure.axes] for name, figure in part.figures.items()}
    assert panels == {
        "figure_hops_r_a": ["coverage", "wikipedia: shares of claims", "web: shares of claims"],
        "figure_hops_s-t_a": ["coverage", "wikipedia: shares of claims"],
    }
    first = part.figures["figure_hops_r_a"].axes[1]
    assert [text.get_text() for text in first.get_legend().get_texts()] == ["true", "false", "unverifiable"]


def test_only_what_the_part_is_about_is_missing_in_it(part):
    assert [row["table"] for row in part.missing] == ["table_06_hops"]


def test_without_any_hop_the_table_is_missing():
    part = hops_part({"summaries": [summary()]}, [])
    assert (part.figures, [row["table"] for row in part.missing]) == ({}, ["hop_intervals"])
