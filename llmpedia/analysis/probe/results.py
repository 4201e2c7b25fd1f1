"""How completely each model recalls (ElephantBench paper, table 1): C, P, F and K = C / (C + P),
with Wilson's 95% intervals.
"""

from collections import Counter

from llmpedia.analysis.common.statistics import percent, share_with_interval
from llmpedia.analysis.output.formats import TableRow, TableRows
from llmpedia.analysis.probe.data import GradedResponse, ProbeData
from llmpedia.probe.benchmark.grade import OUTCOMES


def results(data: ProbeData, strict: bool) -> TableRows:
    """A row a model, the highest C first.

    Columns: ``complete, partial, failed`` (questions) and their shares of all questions with
    ``_low`` and ``_high``; ``k_pct``, a share of complete and partial (null where there are none).
    ``not_graded`` = by engine (no response that could be graded) + by judge + not asked; ``strict``
    has counted these in ``failed``. ``truncated``: responses that the token budget cut.
    """
    rows = [_row(data, model, strict) for model in data.models]
    return sorted(rows, key=lambda row: (-row["complete"], -row["partial"], row["model"]))


def _row(data: ProbeData, model: str, strict: bool) -> TableRow:
    run = data.models[model]
    counted = Counter(data.outcomes(model, strict).values())
    questions = len(data.items)
    complete, partial, failed = (counted[outcome] for outcome in OUTCOMES)
    lost = Counter(_lost(run.grades.get(question)) for question in data.items)
    del lost[None]
    return {
        "model": model,
        "group": run.facts.group,
        "questions": questions,
        "complete": complete,
        "partial": partial,
        "failed": failed,
        **share_with_interval("complete", complete, questions),
        **share_with_interval("partial", partial, questions),
        **share_with_interval("failed", failed, questions),
        **share_with_interval("k", complete, complete + partial),
        "not_graded": lost.total(),
        "not_graded_pct": percent(lost.total(), questions),
        **{f"not_graded_{why}": lost[why] for why in ("by_engine", "by_judge", "not_asked")},
        "not_graded_counts_as_failed": strict,
        "truncated": sum(bool(graded.truncated) for graded in run.grades.values()),
    }


def _lost(graded: GradedResponse | None) -> str | None:
    """Why there is no outcome; null: there is one."""
    if graded is None:
        return "not_asked"
    if graded.outcome is not None:
        return None
    return "by_judge" if graded.error_stage == "grade" else "by_engine"
