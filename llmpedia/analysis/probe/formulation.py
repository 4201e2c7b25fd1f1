"""Whether it matters that a question names its subject (ElephantBench paper, section 5.4 and figure
13).

Compared are groups that have both formulations, each graded. Differences are named-entity minus
clue-based complete recall, in percentage points.
"""

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from llmpedia.analysis.common.statistics import percent
from llmpedia.analysis.output.formats import TableRow, TableRows
from llmpedia.analysis.probe.data import ProbeData
from llmpedia.analysis.probe.scale import mcnemar
from llmpedia.probe.questions.writing import FORMULATIONS

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

_BATCHES = 10
_BATCH = 1_000
"""Resamples; a batch bounds the memory that many groups take."""
_SEED = 42


def formulation(data: ProbeData, strict: bool) -> TableRows:
    """A row a model: complete recall of both formulations over its ``groups``, and their
    difference.

    ``p``: McNemar's exact test of ``only_named`` and ``only_clue`` (groups complete in one
    formulation only), two-sided.
    ``not_compared``: groups with both formulations of which one is not graded.
    """
    pairs = _pairs(data)
    rows: TableRows = []
    for model in sorted(data.models):
        outcomes = data.outcomes(model, strict)
        both = [
            (outcomes[a], outcomes[b])
            for a, b in pairs
            if outcomes[a] is not None and outcomes[b] is not None
        ]
        named, clue = (sum(pair[side] == "complete" for pair in both) for side in (0, 1))
        only_named = sum(a == "complete" != b for a, b in both)
        only_clue = sum(b == "complete" != a for a, b in both)
        rows.append(
            {
                "model": model,
                "groups": len(both),
                "not_compared": len(pairs) - len(both),
                "named_entity_pct": percent(named, len(both)),
                "clue_based_pct": percent(clue, len(both)),
                "difference": percent(named - clue, len(both)),
                "only_named": only_named,
                "only_clue": only_clue,
                "p": mcnemar(only_named, only_clue),
            }
        )
    return rows if pairs else []


def formulation_mean(data: ProbeData, strict: bool) -> TableRows:
    """The mean difference over models, tested in two ways; no row where no model has a group to
    compare.

    ``models``: paired t test over models (two of them at least, and their differences not all the
    same), which asks about other models. ``groups``: percentile interval of 10,000 bootstrap
    resamples of groups, and a permutation test that swaps the two formulations of a group for all
    models at once, which asks about other facts. Both are two-sided.
    """
    differences = _differences(data, strict)
    if differences is None:
        return []
    import numpy as np

    means = np.nanmean(differences, axis=0)
    ground = {
        "models": len(means),
        "difference": round(100 * float(means.mean()), 4),
        "named_better": int((means > 0).sum()),
    }
    ground |= {"clue_better": int((means < 0).sum()), "equal": int((means == 0).sum())}
    tests: list[TableRow] = [{"over": "models", "test": "paired t", **_over_models(means)}]
    if len(differences) > 1:
        tests.append({"over": "groups", "test": "bootstrap, permutation", **_over_groups(differences)})
    return [{**ground, **test} for test in tests]


def _pairs(data: ProbeData) -> list[tuple[str, str]]:
    """(named-entity, clue-based question) of each group that has one of each."""
    groups: defaultdict[str, dict[str, list[str]]] = defaultdict(lambda: {name: [] for name in FORMULATIONS})
    for question, item in data.items.items():
        if item.formulation is not None:
            groups[item.group_id][item.formulation].append(question)
    of_groups = [(group[FORMULATIONS[0]], group[FORMULATIONS[1]]) for group in groups.values()]
    return [(named[0], clue[0]) for named, clue in of_groups if len(named) == len(clue) == 1]


def _differences(data: ProbeData, strict: bool) -> "Array | None":
    """1, 0 or -1 for each group (down) and model (across) that can be compared at all; null: none
    can.

    Not a number where one of the two answers is not graded.
    """
    import numpy as np

    pairs = _pairs(data)
    table = np.full((len(pairs), len(data.models)), np.nan)
    for column, model in enumerate(sorted(data.models)):
        outcomes = data.outcomes(model, strict)
        for row, (named, clue) in enumerate(pairs):
            if outcomes[named] is not None and outcomes[clue] is not None:
                table[row, column] = (outcomes[named] == "complete") - (outcomes[clue] == "complete")
    table = table[:, ~np.isnan(table).all(axis=0)]
    table = table[~np.isnan(table).all(axis=1)]
    return table if table.size else None


def _over_models(means: "Array") -> TableRow:
    """Student's t of the models' differences."""
    from scipy import stats

    if (
        len(means) < 2 or means.min() == means.max()
    ):  # the standard deviation of equal numbers may be just above 0
        return {"low": None, "high": None, "p": None}
    test = stats.ttest_1samp(means, 0.0)
    interval = test.confidence_interval(0.95)
    return {
        "low": round(100 * float(interval.low), 4),
        "high": round(100 * float(interval.high), 4),
        "p": float(test.pvalue),
    }


def _over_groups(differences: "Array") -> TableRow:
    """A model's difference is over the groups that it has in a resample; the mean is over models."""
    import numpy as np

    rng = np.random.default_rng(_SEED)
    there = ~np.isnan(differences)
    size = len(differences)
    filled = np.where(there, differences, 0.0)
    answers = there.sum(axis=0)
    seen = abs((filled.sum(axis=0) / answers).mean())
    resampled = []
    extreme = 0
    for _ in range(_BATCHES):
        drawn = rng.multinomial(size, np.full(size, 1 / size), _BATCH).astype(float)
        with np.errstate(invalid="ignore"):
            resampled.append(np.nanmean((drawn @ filled) / (drawn @ there), axis=1))
        swapped = (rng.choice((-1.0, 1.0), (_BATCH, size)) @ filled / answers).mean(axis=1)
        extreme += int(
            (abs(swapped) >= seen - 1e-12).sum()
        )  # the margin is for sums in another order of addition
    low, high = np.percentile(np.concatenate(resampled), [2.5, 97.5])
    # What was seen is one of the ways in which the formulations could have been swapped.
    p = (1 + extreme) / (1 + _BATCHES * _BATCH)
    return {"low": round(100 * float(low), 4), "high": round(100 * float(high), 4), "p": p}
