"""The report of a probe: every table and figure that its data allow, what they do not allow and why, and one page with it all."""

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from llmpedia.analysis.formats import columns_of, shown, write_tables
from llmpedia.analysis.probe_data import ProbeData, Row, Rows
from llmpedia.analysis.probe_exposure import exposure_bins, exposure_regression
from llmpedia.analysis.probe_fields import fields
from llmpedia.analysis.probe_figures import write_figures
from llmpedia.analysis.probe_formulation import formulation, formulation_mean
from llmpedia.analysis.probe_judge import judge_accounts, judge_outcomes
from llmpedia.analysis.probe_oracle import oracle
from llmpedia.analysis.probe_perplexity import perplexity_bins, perplexity_correlation
from llmpedia.analysis.probe_published import QUESTIONS, beside_published
from llmpedia.analysis.probe_results import results
from llmpedia.analysis.probe_scale import groups, reasoning, scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NEEDS = {
    "table_01_results": "no model was asked",
    "published": f"no model has the name of a published one and was asked {QUESTIONS:,} questions",
    "scale": "no model says its parameters_b",
    "size_groups": "no model says its group",
    "reasoning": "no model was run with reasoning off and on; base, or family and parameters_b, say which runs are of one model",
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
_LONG = 40  # rows from which on a table is folded
_STYLE = (
    "body{font-family:sans-serif;margin:2em auto;max-width:72em;padding:0 1em}img{max-width:100%}"
    "table{border-collapse:collapse;font-size:.85em}th,td{padding:.15em .6em;border-bottom:1px solid #ccc;text-align:left}"
    ".scroll{overflow-x:auto}td.n{text-align:right;font-variant-numeric:tabular-nums}"
)


def probe_report(data: ProbeData, strict: bool) -> tuple[dict[str, Rows], Rows]:
    """(name -> rows, what is missing and why). ``strict`` counts what could not be graded as failed, as published scores do."""
    table_1 = results(data, strict)
    pairs, pairs_missing = reasoning(data, strict)
    regression, regression_missing = exposure_regression(data, strict)
    made = {
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
    told = {row["table"] for row in missing}
    missing += [_miss(name, _NEEDS[name]) for name, rows in made.items() if not rows and name not in told]
    return {name: rows for name, rows in made.items() if rows}, missing


def _miss(table: str, reason: str) -> Row:
    return {"table": table, "what": "table", "reason": reason}


def write_probe_report(tables: Mapping[str, Rows], missing: Rows, figures: Mapping[str, "Figure"], folder: Path) -> list[Path]:
    """Each table as Parquet, CSV, Markdown and LaTeX, each figure as SVG and PNG, and ``index.html``; the files written."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = {**{name: rows for name, rows in tables.items() if rows}, **({"missing": missing} if missing else {})}
    paths = [*write_tables(whole, folder), *write_figures(figures, folder), folder / "index.html"]
    paths[-1].write_text(_page(tables, missing, figures), encoding="utf-8")
    return paths


def _page(tables: Mapping[str, Rows], missing: Rows, figures: Mapping[str, "Figure"]) -> str:
    """The page refers to the figures and data beside it, and to nothing else."""
    parts = [_section(name, rows, figures) for name, rows in tables.items() if rows]
    if missing:
        parts.append(f'<section id="missing"><h2>Missing</h2>{_table(missing)}</section>')
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Probe</title>',
            f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>',
            "<h1>Probe</h1>",
            "<p>Shares are in percent of all questions, intervals are 95%. -: not known or not defined.</p>",
            *parts,
            "</body></html>\n",
        ]
    )


def _section(name: str, rows: Rows, figures: Mapping[str, "Figure"]) -> str:
    title = escape(_TITLES.get(name, name))
    table = _table(rows)
    if len(rows) > _LONG:
        table = f"<details><summary>{len(rows):,} rows</summary>{table}</details>"
    links = " · ".join(f'<a href="{escape(name)}.{form}">{form}</a>' for form in ("csv", "parquet", "md", "tex"))
    figure = _FIGURES_OF.get(name)
    drawn = f'<p><img src="{figure}.svg" alt="{title}, drawn from the table below"></p>' if figure in figures else ""
    return f'<section id="{escape(name)}"><h2>{title}</h2>{drawn}{table}<p>{links}</p></section>'


def _table(rows: Rows) -> str:
    columns = columns_of(rows)
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "\n".join(f"<tr>{''.join(_cell(row.get(column), column) for column in columns)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def _cell(value: object, column: str) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    kind = ' class="n"' if number else ""
    return f"<td{kind}>{escape(shown(value, column))}</td>"
