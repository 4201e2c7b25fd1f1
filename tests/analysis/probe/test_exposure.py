"""llmpedia/analysis/probe/exposure.py: bins, and the joint regression against numpy's least squares
and errors by hand.
"""

import numpy as np
import pytest
from scipy import stats

from llmpedia.analysis.probe.data import ALL_MODELS, OUTCOMES
from llmpedia.analysis.probe.exposure import exposure_bins, exposure_regression
from tests.analysis.probe.test_results import probe

LETTER = dict(zip("CPF", OUTCOMES, strict=True))


def drawn(models=("m",), questions=60, seed=7, group=None):
    """Answers that depend on both exposures: the more documents the lesser account has, the more is
    complete.
    """
    rng = np.random.default_rng(seed)
    n_min = 1 + rng.poisson(2, questions)
    n_maj = n_min + rng.poisson(3, questions)
    odds = np.stack([n_min, np.full(questions, 4.0), 8.0 / n_maj], axis=1)
    odds /= odds.sum(axis=1, keepdims=True)
    letters = {model: "".join(rng.choice(list("CPF"), p=p) for p in odds) for model in models}
    columns = {"n_maj": [int(n) for n in n_maj], "n_min": [int(n) for n in n_min]}
    if group:
        columns["group_id"] = [f"g{n // group}" for n in range(questions)]
    return probe(letters, **columns), letters, n_maj.astype(float), n_min.astype(float)


def z(values):
    return (values - values.mean()) / values.std(ddof=1)


def rows_of(rows, model, scale="documents"):
    return {
        (row["outcome"], row["exposure"]): row
        for row in rows
        if (row["model"], row["scale"]) == (model, scale)
    }


def test_bins_double_and_hold_every_question_with_counts():
    n_maj = [1, 2, 3, 5, 9, 20, None]
    n_min = [1, 1, 1, 2, 2, 4, None]
    rows = exposure_bins(probe({"m": "CPFCPFC"}, n_maj=n_maj, n_min=n_min), strict=False)
    pooled = [row for row in rows if row["model"] == ALL_MODELS]
    found = [(r["measure"], r["low"], r["high"], r["questions"]) for r in pooled]
    assert found == [
        ("n_maj - n_min", 0, 0, 1),
        ("n_maj - n_min", 1, 1, 1),
        ("n_maj - n_min", 2, 3, 2),
        ("n_maj - n_min", 4, 7, 1),
        ("n_maj - n_min", 16, 31, 1),
        ("n_min", 1, 1, 3),
        ("n_min", 2, 3, 2),
        ("n_min", 4, 7, 1),
    ]
    assert [row["complete_pct"] for row in pooled[:3]] == [100.0, 0.0, 50.0]


def test_bins_pool_the_answers_of_all_models():
    rows = exposure_bins(probe({"a": "CC", "b": "Fe"}, n_maj=[2, 2], n_min=[2, 2]), strict=False)
    pooled = next(row for row in rows if row["model"] == ALL_MODELS)
    assert (pooled["questions"], pooled["complete_pct"], pooled["failed_pct"], pooled["not_graded_pct"]) == (
        2,
        50.0,
        25.0,
        25.0,
    )


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_coefficients_are_least_squares_and_errors_hc3(outcome):
    """HC3: each squared residual over (1 - leverage) squared; t with n - 3 degrees of freedom."""
    data, letters, n_maj, n_min = drawn()
    rows, missing = exposure_regression(data, strict=False)
    found = rows_of(rows, "m")
    x = np.column_stack([z(n_maj), z(n_min), np.ones(60)])
    y = np.array([float(LETTER[letter] == outcome) for letter in letters["m"]])
    beta, *_ = np.linalg.lstsq(x, y, rcond=None)
    inverse = np.linalg.inv(x.T @ x)
    leverage = np.einsum("ij,jk,ik->i", x, inverse, x)
    residual = (y - x @ beta) / (1 - leverage)
    se = np.sqrt(np.diag(inverse @ (x.T * residual**2) @ x @ inverse))
    quantile = stats.t.ppf(0.975, 57)
    for i, exposure in enumerate(("n_maj", "n_min")):
        row = found[outcome, exposure]
        assert (row["points"], row["se"]) == (
            pytest.approx(100 * beta[i], abs=1e-3),
            pytest.approx(100 * se[i], abs=1e-3),
        )
        assert row["low"] == pytest.approx(100 * (beta[i] - quantile * se[i]), abs=1e-3)
        assert row["p"] == pytest.approx(2 * stats.t.sf(abs(beta[i] / se[i]), 57))
        assert (row["errors"], row["answers"], row["groups"]) == ("HC3", 60, 60)
    assert missing == []


def test_errors_are_clustered_where_a_group_has_several_answers():
    """Sums of residuals by group, times G / (G - 1) * (n - 1) / (n - k); t with G - 1 degrees of
    freedom.
    """
    data, letters, n_maj, n_min = drawn(("a", "b"), group=2)
    rows, _ = exposure_regression(data, strict=False)
    x = np.column_stack(
        [np.tile(z(n_maj), 2), np.tile(z(n_min), 2), np.repeat([1.0, 0], 60), np.repeat([0, 1.0], 60)]
    )
    y = np.array([float(letter == "C") for letter in letters["a"] + letters["b"]])
    beta, *_ = np.linalg.lstsq(x, y, rcond=None)
    inverse = np.linalg.inv(x.T @ x)
    scores = x * (y - x @ beta)[:, None]
    summed = np.add.reduceat(scores.reshape(2, 30, 2, 4).sum(axis=(0, 2)), range(30))
    covariance = inverse @ (summed.T @ summed) @ inverse * (30 / 29) * (119 / 116)
    row = rows_of(rows, ALL_MODELS)["complete", "n_min"]
    assert (row["errors"], row["groups"], row["models"], row["answers"]) == ("clustered by group", 30, 2, 120)
    assert row["points"] == pytest.approx(100 * beta[1], abs=1e-3)
    assert row["se"] == pytest.approx(100 * np.sqrt(covariance[1, 1]), abs=1e-3)
    assert row["p"] == pytest.approx(2 * stats.t.sf(abs(beta[1]) / np.sqrt(covariance[1, 1]), 29))


def test_the_three_outcomes_of_an_exposure_add_up_to_0():
    """As in the paper: 14.18 more partial and 10.17 less failed leave 4.01 less complete."""
    rows, _ = exposure_regression(drawn(("a", "b"))[0], strict=False)
    for model in (ALL_MODELS, "a", "b"):
        for scale in ("documents", "log1p"):
            found = rows_of(rows, model, scale)
            for exposure in ("n_maj", "n_min"):
                assert sum(found[o, exposure]["points"] for o in OUTCOMES) == pytest.approx(0, abs=2e-4)


def test_a_known_effect_is_found():
    """Complete exactly where the lesser account has two documents: one standard deviation is worth
    its share of 100 points.
    """
    n_min = [1, 2] * 20
    n_maj = [3 + n % 5 for n in range(40)]
    rows, _ = exposure_regression(probe({"m": "PC" * 20}, n_maj=n_maj, n_min=n_min), strict=False)
    row = rows_of(rows, "m")["complete", "n_min"]
    assert row["points"] == pytest.approx(100 * np.std(n_min, ddof=1), abs=1e-3)
    assert (row["se"], row["p"]) == (None, None)  # an exact fit has no error


def test_an_outcome_that_never_occurs_has_no_error():
    rows, _ = exposure_regression(drawn(seed=3)[0], strict=False)
    assert all(row["p"] is not None for row in rows)
    _, letters, n_maj, n_min = drawn()
    calm = {"m": letters["m"].replace("F", "P")}
    rows, _ = exposure_regression(
        probe(calm, n_maj=list(map(int, n_maj)), n_min=list(map(int, n_min))), strict=False
    )
    assert {(row["points"], row["p"]) for row in rows if row["outcome"] == "failed"} == {(0.0, None)}


def test_answers_that_are_not_graded_are_left_out_and_counted():
    _, letters, n_maj, n_min = drawn()
    torn = probe({"m": "ejee" + letters["m"][4:]}, n_maj=list(map(int, n_maj)), n_min=list(map(int, n_min)))
    assert {(row["answers"], row["not_graded"]) for row in exposure_regression(torn, strict=False)[0]} == {
        (56, 4)
    }
    assert {(row["answers"], row["not_graded"]) for row in exposure_regression(torn, strict=True)[0]} == {
        (60, 0)
    }


def test_sd_tells_what_one_standard_deviation_is():
    data, _, n_maj, _ = drawn()
    row = rows_of(exposure_regression(data, strict=False)[0], "m")["complete", "n_maj"]
    assert row["sd"] == pytest.approx(n_maj.std(ddof=1))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"n_maj": [2] * 20, "n_min": [1] * 20}, "do not vary"),
        ({"n_maj": [2 * n + 2 for n in range(20)], "n_min": [n + 1 for n in range(20)]}, "only together"),
        ({"n_maj": [3] + [1 + n % 4 for n in range(19)], "n_min": [2] + [1] * 19}, "but for one group"),
        ({"n_maj": [9] + [3] * 19, "n_min": [1 + n % 3 for n in range(20)]}, "but for one group"),
        ({"n_maj": [None] * 20, "n_min": [None] * 20}, "fewer than 10 groups"),
        (
            {"n_maj": list(range(5, 25)), "n_min": [1, 2] * 10, "group_id": ["g", "h"] * 10},
            "fewer than 10 groups",
        ),
    ],
)
def test_what_cannot_be_told_apart_is_missing_with_its_reason(columns, said):
    rows, missing = exposure_regression(probe({"m": "CP" * 10}, **columns), strict=False)
    assert rows == []
    assert [row["what"] for row in missing] == ["m"]
    assert said in missing[0]["reason"]
