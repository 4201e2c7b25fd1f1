"""What a build has made of its corpus: for each step what came in, what was kept, what was rejected
and why, what failed.

The paper's form (section 4.1) is 4,127 seeds -> 8,254 candidate questions -> 1,094. Every row
balances: in = kept + rejected + errored. What a step has kept and the next one of the same unit has
not yet seen is ``waiting``.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from llmpedia.analysis.common.statistics import percent
from llmpedia.analysis.output.formats import TableRow, TableRows
from llmpedia.errors import InputError
from llmpedia.probe.benchmark.release import CHECKS, DUPLICATE_QUESTION

_QUESTIONS_A_GROUP = 2
_SHOWN_REASONS = 20


@dataclass(frozen=True)
class StepCount:
    """One step of a build. ``unit``: what is counted. ``questions``: candidate questions that its
    kept ones stand for, or null.

    Raises:
        InputError: the numbers do not balance.
    """

    stage: str
    unit: str
    entered: int
    kept: int
    rejected: Mapping[str, int] = field(default_factory=dict)
    errored: int = 0
    questions: int | None = None

    def __post_init__(self) -> None:
        left = sum(self.rejected.values())
        if (
            min(self.entered, self.kept, self.errored, *self.rejected.values()) < 0
            or self.entered != self.kept + left + self.errored
        ):
            numbers = f"in = {self.entered}, kept = {self.kept}, rejected = {left}, errored = {self.errored}"
            raise InputError(
                f"build, stage {self.stage}: {numbers}; in must be the sum of the others: verify the build"
            )


def build_funnel(counts: Sequence[StepCount]) -> TableRows:
    """A row a step: ``stage, unit, in, kept, rejected, errored, kept_pct, questions, waiting``, and
    ``reasons`` of rejection.

    Raises:
        InputError: more came in at a step than the step before of the same unit has kept.
    """
    rows: TableRows = []
    for number, step in enumerate(counts):
        after = counts[number + 1] if number + 1 < len(counts) else None
        waiting = step.kept - after.entered if after and after.unit == step.unit else None
        if after and waiting is not None and waiting < 0:
            raise InputError(
                f"build, stage {after.stage}: in = {after.entered}, but {step.stage} has kept "
                f"{step.kept}; verify the build"
            )
        row: TableRow = {"stage": step.stage, "unit": step.unit, "in": step.entered, "kept": step.kept}
        row |= {
            "rejected": sum(step.rejected.values()),
            "errored": step.errored,
            "kept_pct": percent(step.kept, step.entered),
        }
        rows.append({**row, "questions": step.questions, "waiting": waiting, "reasons": _told(step.rejected)})
    return rows


def build_rejections(counts: Sequence[StepCount]) -> TableRows:
    """A row a step and reason, the commonest first; after 20 of a step, one row for all the others."""
    rows: TableRows = []
    for step in counts:
        ordered = _ordered(step.rejected)
        shown = ordered[:_SHOWN_REASONS]
        others = ordered[_SHOWN_REASONS:]
        if others:
            shown = [*shown, (f"({len(others)} other reasons)", sum(n for _, n in others))]
        rows += [
            {"stage": step.stage, "unit": step.unit, "reason": reason, "rejected": n} for reason, n in shown
        ]
    return rows


def _ordered(rejected: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(((reason, n) for reason, n in rejected.items() if n), key=lambda pair: (-pair[1], pair[0]))


def _told(rejected: Mapping[str, int]) -> str | None:
    ordered = _ordered(rejected)
    more = f"; {len(ordered) - 3} more" if len(ordered) > 3 else ""
    return "; ".join(f"{reason}: {n:,}" for reason, n in ordered[:3]) + more if ordered else None


def build_counts(tables: Mapping[str, Iterable[TableRow]], repeated: int) -> list[StepCount]:
    """The steps of a build out of rows of its tables (by name, those there are); of a group and
    check the last row counts.

    ``repeated``: groups that were left out of the benchmark because their question is there
    already.

    Read are ``fate`` and ``reason`` of documents, subgraphs, questions and checks, and ``error`` of
    knowledge points and relations; a relation that is ``none`` counts as rejected.
    """
    steps: list[StepCount] = []
    if "documents" in tables:
        steps.append(_by_fate("corpus", "document", list(tables["documents"])))
    if "knowledge_points" in tables:
        rows = list(tables["knowledge_points"])
        failed = sum(row["error"] is not None for row in rows)
        steps.append(StepCount("knowledge", "document", len(rows), len(rows) - failed, {}, failed))
    if "relations" in tables:
        steps.append(_relations(list(tables["relations"])))
    if "subgraphs" in tables:
        steps.append(_by_fate("subgraphs", "seed", list(tables["subgraphs"])))
    if "questions" in tables:
        steps.append(_with_questions(_by_fate("questions", "seed", list(tables["questions"]))))
    checks = {(row["check"], row["group_id"]): row for row in tables.get("checks", ())}
    for check in CHECKS:
        of_check = [row for (name, _), row in checks.items() if name == check]
        if of_check:
            steps.append(_with_questions(_by_fate(f"check: {check}", "group", of_check)))
    if "benchmark" in tables:
        groups = Counter(row["group_id"] for row in tables["benchmark"])
        left = {DUPLICATE_QUESTION: repeated} if repeated else {}
        steps.append(
            StepCount(
                "benchmark", "group", len(groups) + repeated, len(groups), left, questions=groups.total()
            )
        )
    return steps


def _by_fate(stage: str, unit: str, rows: TableRows) -> StepCount:
    reasons = Counter(
        row.get("reason") or row["fate"] for row in rows if row["fate"] not in ("kept", "error")
    )
    kept, errored = (sum(row["fate"] == fate for row in rows) for fate in ("kept", "error"))
    return StepCount(stage, unit, len(rows), kept, dict(reasons), errored)


def _relations(rows: TableRows) -> StepCount:
    """Conflicts and supports are kept: both are edges."""
    failed = sum(row["error"] is not None for row in rows)
    none = sum(row["error"] is None and row["relation"] == "none" for row in rows)
    return StepCount("relations", "pair", len(rows), len(rows) - failed - none, {"none": none}, failed)


def _with_questions(step: StepCount) -> StepCount:
    return replace(step, questions=_QUESTIONS_A_GROUP * step.kept)
