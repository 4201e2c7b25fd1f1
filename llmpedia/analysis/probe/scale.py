"""Recall by the size of models, and with reasoning on and off (ElephantBench paper, section 4.3)."""

import statistics
from collections import Counter, defaultdict

from llmpedia.analysis.common.statistics import percent
from llmpedia.analysis.output.formats import TableRow, TableRows
from llmpedia.analysis.probe.data import ProbeData, shares
from llmpedia.probe.benchmark.grade import OUTCOMES


def scale(data: ProbeData, strict: bool) -> TableRows:
    """A row a model of known size, by family and size."""
    rows = [
        {
            "family": run.facts.family,
            "model": model,
            "parameters_b": run.facts.parameters_b,
            "reasoning": run.facts.reasoning,
            **shares(data.outcomes(model, strict).values()),
        }
        for model, run in data.models.items()
        if run.facts.parameters_b is not None
    ]
    return sorted(rows, key=lambda row: (row["family"] or "", row["parameters_b"], row["model"]))


def groups(data: ProbeData, strict: bool) -> TableRows:
    """A row a group of models: the mean of its models' shares, and the best of them."""
    members: defaultdict[str, list[str]] = defaultdict(list)
    for model, run in sorted(data.models.items()):
        if run.facts.group is not None:
            members[run.facts.group].append(model)
    rows: TableRows = []
    for group, models in sorted(members.items()):
        counted = {model: Counter(data.outcomes(model, strict).values()) for model in models}
        # Of counts, not of rounded shares: the mean of rounded shares may differ in the last digit.
        means = {
            f"{outcome or 'not_graded'}_pct": percent(
                statistics.fmean(c[outcome] for c in counted.values()), len(data.items)
            )
            for outcome in (*OUTCOMES, None)
        }
        best = min(models, key=lambda model: (-counted[model]["complete"], model))
        rows.append(
            {
                "group": group,
                "models": len(models),
                **means,
                "best_model": best,
                "best_complete_pct": percent(counted[best]["complete"], len(data.items)),
            }
        )
    return rows


def reasoning(data: ProbeData, strict: bool) -> tuple[TableRows, TableRows]:
    """A row a model that was run with reasoning off and on, and what is missing: models with
    several runs of one kind.

    Only questions graded in both runs are compared (``not_compared``: the others). Differences are
    on minus off, in points. ``gained, lost``: questions complete only with, only without it; ``p``:
    McNemar's exact test of these two, two-sided.
    """
    rows: TableRows = []
    missing: TableRows = []
    for base, runs in sorted(_by_base(data).items()):
        off = runs[False]
        on = runs[True]
        if off and on and max(len(off), len(on)) > 1:
            twice = ", ".join(off if len(off) > 1 else on)
            missing.append(
                {
                    "table": "reasoning",
                    "what": base,
                    "reason": f"{twice} are runs of one kind; give one of them",
                }
            )
        elif off and on:
            rows.append(_pair(data, off[0], on[0], strict))
    return sorted(rows, key=lambda row: (row["family"] or "", row["parameters_b"] or 0, row["on"])), missing


def _by_base(data: ProbeData) -> dict[str, dict[bool, list[str]]]:
    """Runs of one model, by reasoning. A model is told by its base, else by family and size where
    both are known.
    """
    by_base: defaultdict[str, dict[bool, list[str]]] = defaultdict(lambda: {False: [], True: []})
    for model, run in sorted(data.models.items()):
        facts = run.facts
        known = facts.family is not None and facts.parameters_b is not None
        base = facts.base or (f"{facts.family} {facts.parameters_b:g}B" if known else None)
        if base is not None and facts.reasoning is not None:
            by_base[base][facts.reasoning].append(model)
    return by_base


def _pair(data: ProbeData, off: str, on: str, strict: bool) -> TableRow:
    without = data.outcomes(off, strict)
    with_it = data.outcomes(on, strict)
    both = Counter(
        (without[q], with_it[q]) for q in data.items if without[q] is not None and with_it[q] is not None
    )
    compared = both.total()
    facts = data.models[on].facts
    row: TableRow = {"family": facts.family, "parameters_b": facts.parameters_b, "off": off, "on": on}
    row |= {"compared": compared, "not_compared": len(data.items) - compared}
    for outcome in OUTCOMES:
        before = sum(n for (a, _), n in both.items() if a == outcome)
        after = sum(n for (_, b), n in both.items() if b == outcome)
        row |= {
            f"{outcome}_off_pct": percent(before, compared),
            f"{outcome}_on_pct": percent(after, compared),
            f"{outcome}_difference": percent(after - before, compared),
        }
    gained = sum(n for (a, b), n in both.items() if b == "complete" != a)
    lost = sum(n for (a, b), n in both.items() if a == "complete" != b)
    return {**row, "gained": gained, "lost": lost, "p": mcnemar(gained, lost)}


def mcnemar(gained: int, lost: int) -> float:
    """McNemar's exact test, two-sided: of the questions that differ, is each way as likely as the
    other? 1 where none does.
    """
    from scipy import stats

    return float(stats.binomtest(gained, gained + lost, 0.5).pvalue) if gained + lost else 1.0
