"""The published results of ElephantBench, and the numbers of questions behind their percentages.

``elephantbench_leaderboard.csv`` holds the 32 lines of the paper's table 1: complete, partial and
failed recall in percent of 1,094 questions, K in percent of those not failed, and each model's
group: fewer than 10, 10 to 100 or more than 100 billion parameters (lt10, 10to100, gt100), or
proprietary.
"""

import csv
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from llmpedia.analysis.common.statistics import share_with_interval
from llmpedia.analysis.output.formats import TableRow, TableRows
from llmpedia.errors import InputError
from llmpedia.probe.benchmark.grade import OUTCOMES

QUESTIONS = 1094
"""Of the published benchmark."""
_PRINTED = tuple(f"{name}_pct" for name in (*OUTCOMES, "k"))
_HALF = Decimal("0.005")
"""Of the last digit that is printed."""


class OutcomeCounts(NamedTuple):
    """Questions by outcome."""

    complete: int
    partial: int
    failed: int


@cache
def _lines() -> tuple[dict[str, str], ...]:
    text = (
        files("llmpedia.analysis.probe").joinpath("elephantbench_leaderboard.csv").read_text(encoding="utf-8")
    )
    return tuple(csv.DictReader(text.splitlines()))


def published() -> TableRows:
    """The published lines in their order (the highest C first), each with the counts behind it and
    Wilson's 95% intervals.
    """
    rows: TableRows = []
    for line in _lines():
        complete, partial, failed = counts_of(line)
        rows.append(
            {
                "model": line["model"],
                "group": line["group"],
                "questions": QUESTIONS,
                **dict(zip(OUTCOMES, (complete, partial, failed), strict=True)),
                **share_with_interval("complete", complete, QUESTIONS),
                **share_with_interval("partial", partial, QUESTIONS),
                **share_with_interval("failed", failed, QUESTIONS),
                **share_with_interval("k", complete, complete + partial),
            }
        )
    return rows


def counts_of(line: Mapping[str, Any], total: int = QUESTIONS) -> OutcomeCounts:
    """The numbers of questions that, out of ``total``, give a line's C, P, F and K to the digit
    that is printed.

    A half of the last digit may have been rounded either way.

    Raises:
        InputError: no numbers do, or several.
    """
    printed = {name: Decimal(str(line[name])) for name in _PRINTED}
    either = [_between(printed[f"{name}_pct"], total) for name in OUTCOMES]
    solutions = [
        OutcomeCounts(complete, partial, failed)
        for complete in either[0]
        for partial in either[1]
        if (failed := total - complete - partial) in either[2]
        and _gives(complete, complete + partial, printed["k_pct"])
    ]
    if len(solutions) != 1:
        shares = ", ".join(f"{name} = {value}" for name, value in printed.items())
        raise InputError(
            f"{line.get('model')}: {shares}: {len(solutions)} ways to count {total} questions give "
            f"these; must be one"
        )
    return solutions[0]


def _between(printed: Decimal, total: int) -> range:
    """Numbers of questions whose share of the total is printed like this."""
    low = ((printed - _HALF) * total / 100).to_integral_value(ROUND_CEILING)
    high = ((printed + _HALF) * total / 100).to_integral_value(ROUND_FLOOR)
    return range(max(0, int(low)), min(total, int(high)) + 1)


def _gives(part: int, whole: int, printed: Decimal) -> bool:
    return whole > 0 and abs(Decimal(100 * part) / whole - printed) <= _HALF


def beside_published(results: TableRows) -> TableRows:
    """Rows of results whose model has a published line over as many questions, with the difference
    of each share in points.

    Names are compared without regard to case. The published answers are not public, so that nothing
    can be compared question by question and no paired test is possible.
    """
    lines = {row["model"].casefold(): row for row in published()}
    rows: TableRows = []
    for row in results:
        line = lines.get(row["model"].casefold())
        if line is None or row["questions"] != QUESTIONS:
            continue
        both: TableRow = {}
        for name in _PRINTED:
            ours = row[name]
            theirs = line[name]
            both |= {name: ours, f"published_{name}": theirs}
            both[f"{name.removesuffix('_pct')}_difference"] = (
                None if ours is None else round(ours - theirs, 2)
            )
        rows.append({"model": row["model"], "questions": QUESTIONS, **both})
    return rows
