"""Recall by how many documents support each account (ElephantBench paper, section 5.1, figure 7 and
table 4).

Exposure is ``n_maj`` and ``n_min``, documents of the best and the least supported account. The
appendix with the paper's regression is not published, so its details are ours: linear probability
models of complete, partial and failed recall on both exposures at once, each standardised over the
questions (sample standard deviation), with an intercept for each model. Errors are clustered by
group of questions (one fact) where a group has several answers, else HC3; tests and intervals by
Student's t. As the three outcomes add up to one, the three coefficients of an exposure add up to 0.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from llmpedia.analysis.output.formats import TableRow, TableRows
from llmpedia.analysis.probe.data import ALL_MODELS, ProbeData, ProbeQuestion, shares
from llmpedia.probe.benchmark.grade import OUTCOMES, Outcome

if TYPE_CHECKING:
    import numpy as np

_EXPOSURES = ("n_maj", "n_min")
_LEAST_GROUPS = 10
"""Errors clustered over fewer groups than this say little."""
_EXACT = 1e-12


def exposure_bins(data: ProbeData, strict: bool) -> TableRows:
    """A row a model and bin of ``n_maj - n_min`` and of ``n_min``; the rows of all models together
    come first.

    Bins double in width, from ``low`` to ``high`` documents: 0, 1, 2 to 3, 4 to 7, ... Questions
    without counts are left out.
    """
    counted = {question: _counts(item) for question, item in data.items.items()}
    by_model = {model: data.outcomes(model, strict) for model in sorted(data.models)}
    measures: dict[str, Callable[[tuple[int, int]], int]] = {
        "n_maj - n_min": lambda c: c[0] - c[1],
        "n_min": lambda c: c[1],
    }
    rows: TableRows = []
    for measure, value in measures.items():
        bins: defaultdict[int, list[str]] = defaultdict(list)
        for question, counts in counted.items():
            if counts is not None:
                bins[value(counts).bit_length()].append(question)
        for model in (ALL_MODELS, *by_model) if by_model else ():
            of_model = by_model.values() if model == ALL_MODELS else [by_model[model]]
            for bits, questions in sorted(bins.items()):
                low, high = (2 ** (bits - 1), 2**bits - 1) if bits else (0, 0)
                given = [outcomes[q] for outcomes in of_model for q in questions]
                rows.append(
                    {
                        "model": model,
                        "measure": measure,
                        "low": low,
                        "high": high,
                        "questions": len(questions),
                        **shares(given),
                    }
                )
    return rows


def exposure_regression(data: ProbeData, strict: bool) -> tuple[TableRows, TableRows]:
    """A row a model (all together first), scale, outcome and exposure; and what is missing.

    ``scale``: ``documents``, or ``log1p`` for the logarithm of documents + 1, by which one can see
    whether a few large counts decide. ``points``: percentage points that go with one standard
    deviation (``sd``, of the scale) more, the other exposure being equal; with its 95% interval and
    p. Answers that were not graded are left out and counted.
    """
    rows: TableRows = []
    missing: TableRows = []
    pools = {ALL_MODELS: sorted(data.models)} if len(data.models) > 1 else {}
    for name, models in {**pools, **{model: [model] for model in sorted(data.models)}}.items():
        fitted = _regression(data, models, strict)
        if isinstance(fitted, str):
            missing.append({"table": "table_04_exposure", "what": name, "reason": fitted})
        else:
            rows += [{"model": name, **row} for row in fitted]
    return rows, missing


def _counts(item: ProbeQuestion) -> tuple[int, int] | None:
    return None if item.n_maj is None or item.n_min is None else (item.n_maj, item.n_min)


def _regression(data: ProbeData, models: Sequence[str], strict: bool) -> TableRows | str:
    """The rows of some models, or why there are none."""
    import numpy as np

    counts = {
        question: supports for question, item in data.items.items() if (supports := _counts(item)) is not None
    }
    if len({data.items[question].group_id for question in counts}) < _LEAST_GROUPS:
        return f"fewer than {_LEAST_GROUPS} groups of questions have n_maj and n_min"
    asked = [
        (m, q, outcome) for m in models for q, outcome in data.outcomes(m, strict).items() if q in counts
    ]
    answered = [(m, q, outcome) for m, q, outcome in asked if outcome is not None]
    groups = [data.items[q].group_id for _, q, _ in answered]
    if len(set(groups)) < _LEAST_GROUPS:
        return f"answers to fewer than {_LEAST_GROUPS} groups of questions are graded"
    columns = sorted({m for m, _, _ in answered})
    intercepts = np.array([[float(m == column) for column in columns] for m, _, _ in answered])
    ground = {
        "answers": len(answered),
        "not_graded": len(asked) - len(answered),
        "groups": len(set(groups)),
        "models": len(columns),
    }
    rows: TableRows = []
    for scale, change in {"documents": float, "log1p": math.log1p}.items():
        values = {question: tuple(map(change, supports)) for question, supports in counts.items()}
        z = _standardised(values)
        if z is None:
            return "n_maj and n_min do not vary, or only together"
        design = np.column_stack([np.array([z.of[q] for _, q, _ in answered]), intercepts])
        if np.linalg.matrix_rank(design.T @ design) < design.shape[1] or len(answered) <= design.shape[1]:
            return "n_maj and n_min do not vary, or only together, over the answers that are graded"
        if _rests_on_one([z.of[q] for _, q, _ in answered], groups):
            return "n_maj and n_min do not vary, or only together, but for one group of questions"
        for row in _fits(design, [outcome for _, _, outcome in answered], groups):
            rows.append({"scale": scale, **row, "sd": z.sd[row["exposure"]], **ground})
    return rows


class _Standardised:
    """``of``: question -> z of both exposures; ``sd``: exposure -> standard deviation over the
    questions.
    """

    def __init__(self, of: Mapping[str, Any], sd: Mapping[str, float]) -> None:
        self.of = of
        self.sd = sd


def _standardised(values: Mapping[str, Sequence[float]]) -> _Standardised | None:
    import numpy as np

    table = np.array(list(values.values()), dtype=float)
    sd = table.std(axis=0, ddof=1)
    if not sd.all():
        return None
    z = (table - table.mean(axis=0)) / sd
    return _Standardised(
        dict(zip(values, z, strict=True)), dict(zip(_EXPOSURES, map(float, sd), strict=True))
    )


def _rests_on_one(exposures: "Sequence[np.ndarray[Any, Any]]", groups: Sequence[str]) -> bool:
    """Whether there is a group without which the exposures could not be told apart.

    It is fitted exactly and leaves no residual, so that errors by residuals would take what
    happened to it for certain.
    """
    import numpy as np

    holders: defaultdict[tuple[float, ...], set[str]] = defaultdict(set)
    for point, group in zip(exposures, groups, strict=True):
        holders[tuple(map(float, point))].add(group)
    points = np.array([(*point, 1.0) for point in holders])
    only = np.array([next(iter(held)) if len(held) == 1 else "" for held in holders.values()])
    return any(
        np.linalg.matrix_rank(points[only != group]) <= len(_EXPOSURES) for group in sorted(set(only) - {""})
    )


def _fits(design: "np.ndarray[Any, Any]", outcomes: Sequence[Outcome], groups: Sequence[str]) -> TableRows:
    """A row an outcome and exposure (the first two columns of the design)."""
    import numpy as np
    from statsmodels.regression.linear_model import OLS

    clustered = max(Counter(groups).values()) > 1
    codes = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    errors: dict[str, Any] = (
        {"cov_type": "cluster", "cov_kwds": {"groups": np.array([codes[g] for g in groups])}}
        if clustered
        else {"cov_type": "HC3"}
    )
    rows: TableRows = []
    for outcome in OUTCOMES:
        fit = OLS(np.array([float(o == outcome) for o in outcomes]), design, hasconst=True).fit(
            **errors, use_t=True
        )
        for i, exposure in enumerate(_EXPOSURES):
            covariance = {"errors": "clustered by group" if clustered else "HC3"}
            rows.append({"outcome": outcome, "exposure": exposure, **_coefficient(fit, i), **covariance})
    return rows


def _coefficient(fit: Any, number: int) -> TableRow:
    """In percentage points. Errors are null where nothing is left to err: an outcome that never
    occurs, say, fits exactly.
    """
    points = round(100 * float(fit.params[number]), 4)
    estimates = (fit.bse[number], *fit.conf_int()[number], fit.pvalues[number])
    if fit.ssr <= _EXACT or not all(map(math.isfinite, estimates)):
        return {"points": points, **dict.fromkeys(("se", "low", "high", "p"))}
    se, low, high = (round(100 * float(value), 4) for value in estimates[:3])
    return {"points": points, "se": se, "low": low, "high": high, "p": float(estimates[3])}
