"""llmpedia/analysis/probe/published.py: the 32 published lines, and that each is the arithmetic of
whole questions.
"""

import csv
from importlib.resources import files

import pytest

from llmpedia.analysis.probe.published import QUESTIONS, beside_published, counts_of, published
from llmpedia.analysis.probe.results import results
from llmpedia.errors import InputError
from tests.analysis.probe.test_results import kimi, probe

LINES = {row["model"]: row for row in published()}


def test_there_are_26_open_and_6_proprietary_models():
    groups = [row["group"] for row in LINES.values()]
    assert (len(groups), groups.count("proprietary")) == (32, 6)


@pytest.mark.parametrize("model", LINES)
def test_each_line_is_one_way_to_count_1094_questions(model):
    """From the file as it is: the counts that were found give every printed digit again, K among
    them.
    """
    text = (
        files("llmpedia.analysis.probe").joinpath("elephantbench_leaderboard.csv").read_text(encoding="utf-8")
    )
    line = next(row for row in csv.DictReader(text.splitlines()) if row["model"] == model)
    complete, partial, failed = counts_of(line)
    assert complete + partial + failed == QUESTIONS
    given = [100 * n / QUESTIONS for n in (complete, partial, failed)] + [
        100 * complete / (complete + partial)
    ]
    printed = [float(line[name]) for name in ("complete_pct", "partial_pct", "failed_pct", "k_pct")]
    assert given == pytest.approx(printed, abs=0.005 + 1e-9)


def test_the_first_line():
    row = LINES["Kimi-K3"]
    assert (row["complete"], row["partial"], row["failed"]) == (573, 495, 26)
    assert (row["complete_pct"], row["partial_pct"], row["failed_pct"], row["k_pct"]) == (
        52.38,
        45.25,
        2.38,
        53.65,
    )


def test_what_the_text_says_follows_from_the_lines():
    """Section 4.3: 5.48 percent complete on average below 10B; section 5.3: 52.4 percent is where
    the oracle begins.
    """
    small = [row["complete"] for row in LINES.values() if row["group"] == "lt10"]
    assert round(100 * sum(small) / len(small) / QUESTIONS, 2) == 5.48
    assert max(LINES.values(), key=lambda row: row["complete"])["model"] == "Kimi-K3"


def line(complete, partial, failed, k):
    return {"model": "m", "complete_pct": complete, "partial_pct": partial, "failed_pct": failed, "k_pct": k}


def test_a_line_that_no_counts_give_is_refused():
    with pytest.raises(InputError, match=r"m: complete_pct = 52\.38.*0 ways to count 1094"):
        counts_of(line("52.38", "45.25", "2.38", "53.60"))
    with pytest.raises(InputError, match="0 ways"):
        counts_of(line("52.33", "45.25", "2.42", "53.63"))


def test_a_line_that_several_counts_give_is_refused():
    with pytest.raises(InputError, match="ways to count 100000"):
        counts_of(line("50.00", "50.00", "0.00", "50.00"), total=100_000)


def test_a_half_may_have_been_rounded_either_way():
    """1 of 160 is 0.625 percent: 0.62 for one program, 0.63 for another."""
    for printed in ("0.62", "0.63"):
        assert counts_of(line(printed, "99.38", "0.00", printed), total=160) == (1, 159, 0)


def test_our_results_stand_beside_the_published():
    (row,) = beside_published(results(kimi(), strict=True))
    assert (
        row["complete_pct"],
        row["published_complete_pct"],
        row["complete_difference"],
        row["k_difference"],
    ) == (
        52.38,
        52.38,
        0.0,
        0.0,
    )


def test_results_over_other_questions_do_not():
    assert beside_published(results(probe({"Kimi-K3": "CPF", "other": "CCC"}), strict=True)) == []
