"""The judge against humans (ElephantBench paper, section 4.2): agreement on outcomes and, account
by account, on coverage.
"""

from collections import Counter
from collections.abc import Hashable, Sequence

from llmpedia.analysis.common.statistics import share_with_interval
from llmpedia.analysis.output.formats import TableRow, TableRows
from llmpedia.analysis.probe.data import ProbeData
from llmpedia.probe.benchmark.grade import OUTCOMES


def judge_outcomes(data: ProbeData) -> TableRows:
    """A row an outcome of the judge, and ``overall``; none where no human graded.

    ``judged``: answers the judge put there; ``agreed``, with the share's Wilson interval: those the
    human put there too;
    ``human``: answers the human put there; ``to_OUTCOME``: where the human put the judge's.
    ``kappa``: Cohen's, in the overall row; null where both use one and the same outcome throughout.
    ``not_judged``: answers that only the human graded.
    """
    graded = [
        (data.models[one.model].grades[one.benchmark_id].outcome, one.outcome) for one in data.human or ()
    ]
    pairs = [(judge, human) for judge, human in graded if judge is not None]
    if not pairs:
        return []
    moved = Counter(pairs)
    rows: TableRows = []
    for outcome in OUTCOMES:
        to = {f"to_{human}": moved[outcome, human] for human in OUTCOMES}
        judged = sum(to.values())
        human = sum(moved[judge, outcome] for judge in OUTCOMES)
        agreed = moved[outcome, outcome]
        rows.append(
            {
                "outcome": outcome,
                "judged": judged,
                "agreed": agreed,
                **share_with_interval("agreement", agreed, judged),
                "human": human,
                **to,
            }
        )
    agreed = sum(judge == human for judge, human in pairs)
    overall = {
        "judged": len(pairs),
        "agreed": agreed,
        **share_with_interval("agreement", agreed, len(pairs)),
        "human": len(pairs),
    }
    rows.append(
        {"outcome": "overall", **overall, "kappa": kappa(pairs), "not_judged": len(graded) - len(pairs)}
    )
    return rows


def judge_accounts(data: ProbeData) -> TableRows:
    """One row: on how many accounts judge and human agree whether an answer covers them; none where
    no human decided on them.
    """
    pairs = [
        pair
        for one in data.human or ()
        if one.covered is not None
        and (judge := data.models[one.model].grades[one.benchmark_id].covered) is not None
        for pair in zip(judge, one.covered, strict=True)
    ]
    if not pairs:
        return []
    agreed = sum(judge == human for judge, human in pairs)
    row: TableRow = {
        "accounts": len(pairs),
        "agreed": agreed,
        **share_with_interval("agreement", agreed, len(pairs)),
    }
    covered = {
        "covered_by_judge": sum(judge for judge, _ in pairs),
        "covered_by_human": sum(human for _, human in pairs),
    }
    return [{**row, **covered, "kappa": kappa(pairs)}]


def kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Cohen's kappa; null where both sides have one and the same class throughout: chance alone
    would agree.
    """
    total = len(pairs)
    left = Counter(a for a, _ in pairs)
    right = Counter(b for _, b in pairs)
    if len({*left, *right}) < 2:
        return None
    observed = sum(a == b for a, b in pairs) / total
    expected = sum(n * right[name] for name, n in left.items()) / total**2
    return round((observed - expected) / (1 - expected), 4)
