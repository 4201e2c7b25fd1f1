"""Perplexity of the accounts against what was recalled (ElephantBench paper, section 5.5 and figure
10).
"""

import math
import statistics
from collections.abc import Sequence

from llmpedia.analysis.output.formats import TableRow, TableRows
from llmpedia.analysis.probe.data import ProbeData, shares
from llmpedia.probe.benchmark.grade import OUTCOMES, Outcome

_BINS = 10
_LEAST = 5  # questions a bin
_Z = 1.959963984540054  # of the 95% interval
_RANKS: dict[Outcome, int] = {outcome: 2 - i for i, outcome in enumerate(OUTCOMES)}


def perplexity_bins(data: ProbeData, strict: bool) -> TableRows:
    """A row a model with perplexities and bin: ten bins of equal count (fewer where that leaves
    less than 5 questions each).

    Of equal perplexities the question that is first by id goes to the lower bin. ``without_ppl``:
    the model's questions that no bin holds.
    """
    rows: TableRows = []
    for model, ppl in _scored(data):
        outcomes = data.outcomes(model, strict)
        ordered = sorted(ppl, key=lambda question: (ppl[question], question))
        bins = min(_BINS, len(ordered) // _LEAST)
        for number in range(bins):
            held = ordered[len(ordered) * number // bins : len(ordered) * (number + 1) // bins]
            rows.append(
                {
                    "model": model,
                    "bin": number + 1,
                    "questions": len(held),
                    "ppl_low": ppl[held[0]],
                    "ppl_median": float(statistics.median(ppl[q] for q in held)),
                    "ppl_high": ppl[held[-1]],
                    **shares(outcomes[q] for q in held),
                    "without_ppl": len(data.items) - len(ordered),
                }
            )
    return rows


def perplexity_correlation(data: ProbeData, strict: bool) -> TableRows:
    """A row a model with perplexities and measure: Spearman's rank correlation of perplexity with
    it, 95% interval and p.

    Measures: ``recall`` (failed, partial, complete as 0, 1, 2), and whether the outcome is
    complete, partial, failed. Only graded questions count. The interval is Bonett and Wright's on
    Fisher's scale; null below 4 questions or where a side never varies. So is p, which goes by
    Student's t, and where the ranks agree throughout both are null: there is no error to go by.
    Questions of one group are taken for independent, so that intervals are narrower than they
    should be where groups are pairs.
    """
    rows: TableRows = []
    for model, ppl in _scored(data):
        outcomes = data.outcomes(model, strict)
        pairs = [(ppl[q], outcome) for q in sorted(ppl) if (outcome := outcomes[q]) is not None]
        values = [value for value, _ in pairs]
        measures = {"recall": [_RANKS[o] for _, o in pairs]}
        measures |= {name: [int(o == name) for _, o in pairs] for name in OUTCOMES}
        rows += [
            {"model": model, "measure": name, "questions": len(pairs), **spearman(values, ys)}
            for name, ys in measures.items()
        ]
    return rows


def spearman(xs: Sequence[float], ys: Sequence[float]) -> TableRow:
    """``correlation``, ``low``, ``high``, ``p``; each null where it is not defined."""
    from scipy import stats

    if len(xs) < 4 or len(set(xs)) < 2 or len(set(ys)) < 2:
        return dict.fromkeys(("correlation", "low", "high", "p"))
    result = stats.spearmanr(xs, ys)
    r = float(result.statistic)
    if abs(r) >= 1 - 1e-12:
        return {"correlation": round(r, 4), "low": None, "high": None, "p": None}
    half = _Z * math.sqrt((1 + r * r / 2) / (len(xs) - 3))
    low = math.tanh(math.atanh(r) - half)
    high = math.tanh(math.atanh(r) + half)
    return {
        "correlation": round(r, 4),
        "low": round(low, 4),
        "high": round(high, 4),
        "p": float(result.pvalue),
    }


def _scored(data: ProbeData) -> list[tuple[str, dict[str, float]]]:
    """(model, question -> perplexity) of the models that have some."""
    return [(model, dict(run.ppl)) for model, run in sorted(data.models.items()) if run.ppl]
