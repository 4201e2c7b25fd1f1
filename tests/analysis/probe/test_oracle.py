"""llmpedia/analysis/probe/oracle.py: the greedy pool on examples small enough to do by hand."""

from itertools import pairwise

from llmpedia.analysis.probe.oracle import oracle
from tests.analysis.probe.test_results import probe


def steps(letters, strict=False):
    return [(row["added"], row["gain"], row["gain_any"]) for row in oracle(probe(letters), strict)]


def test_the_pool_by_hand():
    """a has 3 complete. Then c adds two more; b, which recalls everything in part, adds none and
    comes last.
    """
    letters = {"a": "CCCFFF", "b": "CCPPPP", "c": "FFFCCF"}
    rows = oracle(probe(letters), strict=False)
    assert [row["added"] for row in rows] == ["a", "c", "b"]
    assert [row["gain"] for row in rows] == [3, 2, 0]
    assert [row["complete_pct"] for row in rows] == [50.0, 83.33, 83.33]
    assert [row["failed_pct"] for row in rows] == [50.0, 16.67, 0.0]
    assert [row["incomplete"] for row in rows] == [3, 1, 1]


def test_equal_gains_in_complete_go_to_the_larger_gain_in_any_recall():
    """The released program goes on by name alone; here z comes before y."""
    assert steps({"a": "CCFFF", "y": "FFCFF", "z": "FFFCP"})[1] == ("z", 1, 2)


def test_equal_in_both_go_by_name():
    assert [added for added, _, _ in steps({"c": "CF", "b": "FC", "a": "FC"})] == ["a", "c", "b"]


def test_the_best_outcome_of_a_question_is_kept():
    row = oracle(probe({"a": "CPFe", "b": "FCPF"}), strict=False)[-1]
    assert (row["complete_pct"], row["partial_pct"], row["failed_pct"], row["not_graded_pct"]) == (
        50.0,
        25.0,
        25.0,
        0.0,
    )


def test_what_no_model_has_graded_is_not_failed():
    data = probe({"a": "Ce", "b": "Pj"})
    assert [row["not_graded_pct"] for row in oracle(data, strict=False)] == [50.0, 50.0]
    assert [row["failed_pct"] for row in oracle(data, strict=True)] == [50.0, 50.0]


def test_recall_never_falls_and_every_model_is_added_once():
    letters = {f"m{n}": "".join("CPFej"[(n * 7 + q * q) % 5] for q in range(30)) for n in range(8)}
    rows = oracle(probe(letters), strict=False)
    assert sorted(row["added"] for row in rows) == sorted(letters)
    assert all(a["complete_pct"] <= b["complete_pct"] for a, b in pairwise(rows))
    assert sum(row["gain"] for row in rows) == 30 - rows[-1]["incomplete"]


def test_the_order_in_which_models_are_given_does_not_matter():
    letters = {"a": "CPF", "b": "PCF", "c": "FFC"}
    assert steps(letters) == steps(dict(reversed(letters.items())))
