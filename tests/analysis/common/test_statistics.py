"""Shares, intervals and likenesses; nothing to divide by is null, or an empty bar."""

import pytest

from llmpedia.analysis.common.statistics import (
    drawn_width,
    jaccard,
    jaccard_of_sets,
    percent,
    percent_of_share,
    share_with_interval,
)


def test_each_has_its_decimals():
    assert (percent(2, 3), percent_of_share(2 / 3), drawn_width(2, 3)) == (66.67, 66.7, 66.667)


def test_nothing_to_divide_by():
    assert (percent(1, 0), percent_of_share(None), drawn_width(1, 0)) == (None, None, 0.0)
    assert (jaccard(0, 0), jaccard_of_sets(set(), frozenset())) == (None, None)
    assert share_with_interval("k", 0, 0) == {"k_pct": None, "k_low": None, "k_high": None}


def test_likeness_is_shared_over_all():
    assert jaccard(1, 4) == jaccard_of_sets({1, 2}, {2, 3, 4}) == 0.25


def test_a_share_stands_within_its_interval():
    row = share_with_interval("complete", 29, 33)
    assert row == pytest.approx({"complete_pct": 87.88, "complete_low": 72.67, "complete_high": 95.18})
