"""What the report of a probe is made from: the questions, and what became of each model's answers
to them.

Everything in the report is a function of :class:`ProbeData`. Shares have a fixed denominator, all
questions that they are about, whether or not a model's answers could be graded. What could not be
graded has a share of its own; ``strict`` counts it as failed, which is the rule of the published
scores.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from llmpedia.analysis.common.statistics import percent
from llmpedia.analysis.output.formats import TableRow
from llmpedia.errors import InputError
from llmpedia.probe.benchmark.grade import OUTCOMES, Outcome
from llmpedia.probe.questions.writing import FORMULATIONS

ALL_MODELS = "(all models)"
"""Stands for the model in rows that pool the answers of every model."""


@dataclass(frozen=True)
class ProbeQuestion:
    """A question of the benchmark. ``n_maj``, ``n_min``: documents of its best and least supported
    account.

    Raises:
        InputError: no account, or the least supported account has more documents than the best
        supported one.
    """

    group_id: str
    accounts: tuple[str, ...]
    formulation: str | None = None
    path: tuple[str, ...] | None = None
    n_maj: int | None = None
    n_min: int | None = None

    def __post_init__(self) -> None:
        if not self.accounts:
            raise InputError(f"question of group_id = {self.group_id!r}: no account; correct the benchmark")
        if self.formulation not in (None, *FORMULATIONS):
            rule = f"must be {' or '.join(FORMULATIONS)}, or null"
            raise InputError(
                f"question of group_id = {self.group_id!r}: formulation = {self.formulation!r}; {rule}"
            )
        if self.n_maj is not None and self.n_min is not None and not self.n_maj >= self.n_min >= 0:
            raise InputError(
                f"question of group_id = {self.group_id!r}: n_maj = {self.n_maj}, n_min = "
                f"{self.n_min}; n_maj is the larger"
            )


@dataclass(frozen=True)
class GradedResponse:
    """What became of a model's answer to a question: an outcome, or the error (and its stage) for
    which there is none.

    ``covered``: by account. ``truncated``: the token budget ended before the answer did; null:
    there is no answer.

    Raises:
        InputError: an unknown outcome, both outcome and error or neither, or an outcome that its
        accounts contradict.
    """

    outcome: Outcome | None
    error: str | None = None
    error_stage: str | None = None
    truncated: bool | None = None
    covered: tuple[bool, ...] | None = None

    def __post_init__(self) -> None:
        state = f"outcome = {self.outcome!r}, error = {self.error!r}, covered = {self.covered}"
        if self.outcome not in (None, *OUTCOMES) or (self.outcome is None) == (self.error is None):
            raise InputError(
                f"grade with {state}: must have either one of {', '.join(OUTCOMES)}, or an error"
            )
        if self.covered is not None and not _agree(self.outcome, self.covered):
            raise InputError(
                f"grade with {state}: complete covers all accounts, partial some of them; grade anew"
            )


def _agree(outcome: Outcome | None, covered: Sequence[bool]) -> bool:
    """A contradiction fails whatever is covered, so that failed fits everything."""
    if outcome == "partial":
        return any(covered) and not all(covered)
    return outcome != "complete" or all(covered)


@dataclass(frozen=True)
class QuestionFacts:
    """What is known of a model beside its answers; null: not known.

    ``base``: the name that runs of one model with reasoning on and off share; without it family and
    size tell.
    """

    family: str | None = None
    parameters_b: float | None = None
    reasoning: bool | None = None
    group: str | None = None
    base: str | None = None


@dataclass(frozen=True)
class ModelRun:
    """A model's answers by ``benchmark_id``; a question without a grade was not asked. ``ppl``: of
    the question's accounts.
    """

    grades: Mapping[str, GradedResponse]
    facts: QuestionFacts = field(default_factory=QuestionFacts)
    ppl: Mapping[str, float] | None = None


@dataclass(frozen=True)
class HumanGrade:
    """What a human says of a model's answer to a question."""

    model: str
    benchmark_id: str
    outcome: Outcome
    covered: tuple[bool, ...] | None = None


@dataclass(frozen=True)
class ProbeData:
    """Questions by ``benchmark_id``, runs by the model's name, and the grades of humans where there
    are some.

    Raises:
        InputError: no question, grades or perplexities of questions that are none of these,
            decisions that do not fit a question's accounts, a perplexity that is none, or a human's
            grade of an answer that is not there.
    """

    items: Mapping[str, ProbeQuestion]
    models: Mapping[str, ModelRun]
    human: tuple[HumanGrade, ...] | None = None

    def __post_init__(self) -> None:
        if not self.items:
            raise InputError("benchmark: holds no question; give one that was exported")
        for name, run in self.models.items():
            strange = sorted((run.grades.keys() | (run.ppl or {}).keys()) - self.items.keys())
            if strange:
                raise InputError(
                    f"model {name}: question {strange[0]} is not in the benchmark; give the "
                    f"benchmark it was asked from"
                )
            for question, graded in run.grades.items():
                self._check_covered(f"model {name}", question, graded.covered)
            wrong = {q: ppl for q, ppl in (run.ppl or {}).items() if not (math.isfinite(ppl) and ppl > 0)}
            if wrong:
                raise InputError(
                    f"model {name}: question {min(wrong)} has ppl = {wrong[min(wrong)]}; must be a "
                    f"number above 0"
                )
        for one in self.human or ():
            if one.model not in self.models or one.benchmark_id not in self.models[one.model].grades:
                raise InputError(
                    f"human grade: model {one.model!r} has no answer to question "
                    f"{one.benchmark_id!r}; correct the sheet"
                )
            self._check_covered("human grade", one.benchmark_id, one.covered)

    def _check_covered(self, where: str, question: str, covered: Sequence[bool] | None) -> None:
        accounts = len(self.items[question].accounts)
        if covered is not None and len(covered) != accounts:
            raise InputError(
                f"{where}: question {question} has {len(covered)} decisions for {accounts} "
                f"accounts; grade anew"
            )

    def outcomes(self, model: str, strict: bool) -> dict[str, Outcome | None]:
        """The outcome of every question, in their order; null: not graded (``strict``: failed)."""
        grades = self.models[model].grades
        otherwise: Outcome | None = "failed" if strict else None
        return {q: (grades[q].outcome if q in grades else None) or otherwise for q in self.items}


def items_of(benchmark: Iterable[TableRow]) -> dict[str, ProbeQuestion]:
    """Rows of table ``benchmark`` as questions.

    Raises:
        InputError: a question is there twice, or one that :class:`ProbeQuestion` does not take.
    """
    items: dict[str, ProbeQuestion] = {}
    for row in benchmark:
        if row["benchmark_id"] in items:
            raise InputError(f"benchmark: question {row['benchmark_id']} is there twice; export it anew")
        items[row["benchmark_id"]] = ProbeQuestion(
            group_id=row["group_id"],
            accounts=tuple(row["answers"]),
            formulation=row["formulation"],
            path=tuple(row["path"]) if row["path"] else None,
            n_maj=row["n_maj"],
            n_min=row["n_min"],
        )
    return items


def model_run(
    responses: Iterable[TableRow],
    grades: Iterable[TableRow],
    facts: QuestionFacts | None = None,
    ppl: Mapping[str, float] | None = None,
) -> ModelRun:
    """Rows of tables ``responses`` and ``grades``, in the order of the tables, as a run; a
    question's last row counts.
    """
    answers = {row["benchmark_id"]: row for row in responses}
    judged = {row["benchmark_id"]: row for row in grades}
    questions = list(dict.fromkeys([*answers, *judged]))
    return ModelRun(
        {q: _graded(answers.get(q), judged.get(q)) for q in questions}, facts or QuestionFacts(), ppl
    )


def _graded(response: TableRow | None, grade: TableRow | None) -> GradedResponse:
    """A grade counts for the very response that counts; that of an earlier response says nothing."""
    truncated = response["truncated"] if response else None
    if response and response["error"] is not None:
        return GradedResponse(None, response["error"], "closed_book", truncated)
    if grade is None or (response and response["completion"] != grade["response"]):
        return GradedResponse(None, "its last response is not graded yet", "grade", truncated)
    covered = tuple(grade["covered"]) if grade["covered"] is not None else None
    return GradedResponse(grade["outcome"], grade["error"], grade["error_stage"], truncated, covered)


def shares(outcomes: Iterable[Outcome | None]) -> TableRow:
    """``complete_pct``, ``partial_pct``, ``failed_pct`` and ``not_graded_pct`` of all of them;
    together 100.
    """
    counted = Counter(outcomes)
    return {
        f"{outcome or 'not_graded'}_pct": percent(counted[outcome], counted.total())
        for outcome in (*OUTCOMES, None)
    }
