"""The report of a probe: every table and figure that its data allow, what they do not allow and
why, and one page with it all.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from llmpedia.analysis.output.formats import TableRow, TableRows
from llmpedia.analysis.output.page import ReportPart, write_report
from llmpedia.analysis.probe.data import ProbeData
from llmpedia.analysis.probe.exposure import exposure_bins, exposure_regression
from llmpedia.analysis.probe.fields import fields
from llmpedia.analysis.probe.formulation import formulation, formulation_mean
from llmpedia.analysis.probe.judge import judge_accounts, judge_outcomes
from llmpedia.analysis.probe.oracle import oracle
from llmpedia.analysis.probe.perplexity import perplexity_bins, perplexity_correlation
from llmpedia.analysis.probe.published import QUESTIONS, beside_published
from llmpedia.analysis.probe.results import results
from llmpedia.analysis.probe.scale import groups, reasoning, scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NEEDS = {
    "table_01_results": "no model was asked",
    "published": f"no model has the name of a published one and was asked {QUESTIONS:,} questions",
    "scale": "no model says its parameters_b",
    "size_groups": "no model says its group",
    "reasoning": (
        "no model was run with reasoning off and on; base, or family and parameters_b, "
        "say which runs are of one model"
    ),
    "exposure_bins": "no model was asked, or no question has n_maj and n_min",
    "table_04_exposure": "no model was asked",
    "fields": "no model was asked",
    "oracle": "fewer than two models were asked",
    "formulation": "no model was asked, or no group has exactly one question of each formulation",
    "formulation_mean": "no model has a group whose two formulations are both graded",
    "perplexity_bins": "no model has perplexities of 5 questions or more",
    "perplexity_correlation": "no model has perplexities",
    "judge_outcomes": "no human graded an answer that the judge graded",
    "judge_accounts": "no human decided on the accounts of an answer that the judge graded",
}
_TITLES = {
    "about": "What this is about",
    "table_01_results": "Results",
    "published": "Beside the published results",
    "scale": "Size of models",
    "size_groups": "Groups of models",
    "reasoning": "Reasoning off and on",
    "exposure_bins": "Documents an account",
    "table_04_exposure": "Documents an account: joint regression",
    "fields": "Fields of knowledge",
    "oracle": "Best answer of a growing pool",
    "formulation": "Formulations",
    "formulation_mean": "Formulations: mean over models",
    "perplexity_bins": "Perplexity",
    "perplexity_correlation": "Perplexity: rank correlation",
    "judge_outcomes": "Judge and human: outcomes",
    "judge_accounts": "Judge and human: accounts",
    "build": "From the corpus to the benchmark",
    "build_rejections": "From the corpus to the benchmark: rejections",
    "build_errors": "From the corpus to the benchmark: errors",
}
_FIGURES_OF = {
    "table_01_results": "results",
    "exposure_bins": "exposure",
    "perplexity_bins": "perplexity",
    **{name: name for name in ("scale", "reasoning", "fields", "oracle", "formulation")},
}


def probe_report(data: ProbeData, strict: bool) -> tuple[dict[str, TableRows], TableRows]:
    """(name -> rows, what is missing and why). ``strict`` counts what could not be graded as
    failed, as published scores do.
    """
    table_1 = results(data, strict)
    pairs, pairs_missing = reasoning(data, strict)
    regression, regression_missing = exposure_regression(data, strict)
    tables = {
        "table_01_results": table_1,
        "published": beside_published(table_1),
        "scale": scale(data, strict),
        "size_groups": groups(data, strict),
        "reasoning": pairs,
        "exposure_bins": exposure_bins(data, strict),
        "table_04_exposure": regression,
        "fields": fields(data, strict),
        "oracle": oracle(data, strict) if len(data.models) > 1 else [],
        "formulation": formulation(data, strict),
        "formulation_mean": formulation_mean(data, strict),
        "perplexity_bins": perplexity_bins(data, strict),
        "perplexity_correlation": perplexity_correlation(data, strict),
        "judge_outcomes": judge_outcomes(data),
        "judge_accounts": judge_accounts(data),
    }
    missing = [*pairs_missing, *regression_missing]
    missing_tables = {row["table"] for row in missing}
    missing += [
        _miss(name, _NEEDS[name]) for name, rows in tables.items() if not rows and name not in missing_tables
    ]
    return {name: rows for name, rows in tables.items() if rows}, missing


def _miss(table: str, reason: str) -> TableRow:
    return {"table": table, "what": "table", "reason": reason}


def write_probe_report(
    tables: Mapping[str, TableRows], missing: TableRows, figures: Mapping[str, "Figure"], folder: Path
) -> list[Path]:
    """The report's directory; the files written."""
    about = "Shares are in percent of all questions, intervals are 95%. -: not known or not defined."
    figures_of = {table: [name] for table, name in _FIGURES_OF.items()}
    return write_report("Probe", about, [ReportPart(tables, missing, _TITLES, figures, figures_of)], folder)
