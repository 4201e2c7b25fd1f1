"""What all models recall together (ElephantBench paper, section 5.3): the best answer to each
question out of a growing pool.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from llmpedia.analysis.common.statistics import percent
from llmpedia.analysis.output.formats import TableRows
from llmpedia.analysis.probe.data import ProbeData, shares
from llmpedia.probe.benchmark.grade import OUTCOMES, Outcome

_WORTH: dict[Outcome | None, int] = {None: 0, **{outcome: 3 - i for i, outcome in enumerate(OUTCOMES)}}


def oracle(data: ProbeData, strict: bool) -> TableRows:
    """A row a step: the model that was added, what it gains, and the shares of the pool's best
    answers.

    Greedy: each step adds the model with the largest gain in complete recall; of equals the one
    with the larger gain in complete and partial recall together, then the first by name. ``gain``,
    ``gain_any``: in questions. ``incomplete``: questions that no model of the pool recalls in full.
    Not graded is worse than failed.
    """
    left = {model: list(data.outcomes(model, strict).values()) for model in sorted(data.models)}
    pool: list[Outcome | None] = [None] * len(data.items)
    rows: TableRows = []
    while left:
        before = _recalled(pool)
        gains = {model: _gain(_best(pool, outcomes), before) for model, outcomes in left.items()}
        added = min(left, key=lambda model: (-gains[model][0], -gains[model][1], model))
        pool = _best(pool, left.pop(added))
        complete = pool.count("complete")
        rows.append(
            {
                "step": len(rows) + 1,
                "added": added,
                "gain": gains[added][0],
                "gain_any": gains[added][1],
                "gain_pct": percent(gains[added][0], len(pool)),
                **shares(pool),
                "incomplete": len(pool) - complete,
            }
        )
    return rows


def _best(pool: Sequence[Outcome | None], outcomes: Sequence[Outcome | None]) -> list[Outcome | None]:
    return [max(pair, key=_WORTH.__getitem__) for pair in zip(pool, outcomes, strict=True)]


def _recalled(pool: Sequence[Outcome | None]) -> tuple[int, int]:
    """Questions recalled in full, and at all."""
    counted: Mapping[Outcome | None, int] = Counter(pool)
    return counted["complete"], counted["complete"] + counted["partial"]


def _gain(pool: Sequence[Outcome | None], before: tuple[int, int]) -> tuple[int, int]:
    complete, recalled = _recalled(pool)
    return complete - before[0], recalled - before[1]
