"""A probe's report out of folders: builds give their funnel, runs give their models' grades, scores
and humans what they say.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from llmpedia.analysis.output.formats import TableRow, TableRows
from llmpedia.analysis.probe.data import HumanGrade, ModelRun, ProbeData, QuestionFacts, items_of, model_run
from llmpedia.analysis.probe.figures import probe_figures
from llmpedia.analysis.probe.funnel import build_counts, build_funnel, build_rejections
from llmpedia.analysis.probe.report import probe_report, write_probe_report
from llmpedia.errors import InputError
from llmpedia.probe.benchmark.human_grades import read_grade_sheet
from llmpedia.probe.benchmark.release import DUPLICATE_QUESTION, released
from llmpedia.probe.benchmark.run import FACTS_FILE, grades_folder, model_folder, models_of
from llmpedia.store.files import Folder
from llmpedia.store.kinds import RunKind
from llmpedia.store.run_folder import RUN_FILE, RunFolder

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|\d+")
_LONGEST = 120
# What a funnel reads of each table.
_FATES = {
    "documents": ["fate"],
    "knowledge_points": ["error"],
    "relations": ["relation", "error"],
    "subgraphs": ["fate"],
    "questions": ["fate", "reason"],
    "checks": ["group_id", "check", "fate", "reason"],
}


def funnel_of(run: RunFolder) -> tuple[TableRows, TableRows]:
    """A build's steps, and the reasons for which each has rejected."""
    there = {file.table for manifest in run.manifests for file in manifest.files}
    tables: dict[str, TableRows] = {
        name: run.read(name, columns=c).to_pylist() for name, c in _FATES.items() if name in there
    }
    rows, left_out = released(run)
    counts = build_counts({**tables, "benchmark": rows}, left_out.get(DUPLICATE_QUESTION, 0))
    return build_funnel(counts), build_rejections(counts)


def errors_of(run: RunFolder) -> TableRows:
    """Why items of a build's steps failed: ``step, error, items``, most frequent first; what is
    quoted is left out.
    """
    errors: Counter[tuple[str, str]] = Counter()
    for name, column in (
        ("knowledge_points", "error"),
        ("relations", "error"),
        ("questions", "reason"),
        ("checks", "reason"),
    ):
        rows = run.read(name, columns=_FATES[name]).to_pylist()
        failed = [row for row in rows if row.get("fate", "error") == "error" and row[column] is not None]
        errors.update(
            (row.get("check") or name, _QUOTED.sub("...", row[column])[:_LONGEST]) for row in failed
        )
    ordered = sorted(errors.items(), key=lambda item: (-item[1], item[0]))
    return [{"step": step, "error": error, "items": items} for (step, error), items in ordered]


def report_of(
    uris: list[str], scores: Mapping[str, str], sheets: list[Path], strict: bool, out: str | None
) -> tuple[Any, TableRows, int]:
    """(tables, what is missing, files written) of builds and runs together. ``scores``: model ->
    folder of ``llmpedia ppl``.

    Raises:
        InputError: a folder is neither, or runs do not fit each other.
    """
    tables: dict[str, TableRows] = {}
    missing: TableRows = []
    figures: dict[str, Any] = {}
    builds = [uri for uri in uris if Folder(uri).exists(RUN_FILE)]
    for number, uri in enumerate(builds, 1):
        run = RunFolder.open(uri)
        if run.kind != RunKind.BUILD:
            raise InputError(f"{uri}: is neither a build nor a run of a probe; give the folder of one")
        named = "" if len(builds) == 1 else f"_{number}_{uri.rstrip('/').rpartition('/')[2]}"
        tables[f"build{named}"], tables[f"build_rejections{named}"] = funnel_of(run)
        tables[f"build_errors{named}"] = errors_of(run)
    runs = [uri for uri in uris if uri not in builds]
    if runs:
        data = probe_data(runs, scores, sheets)
        report_tables, missing = probe_report(data, strict)
        tables |= {"about": about(runs, strict), **report_tables}
        figures = probe_figures(report_tables)
    written = len(write_probe_report(tables, missing, figures, Path(out))) if out else 0
    return tables, missing, written


def about(run_uris: list[str], strict: bool) -> TableRows:
    """What a report is about: each model with its folder, benchmark and judge."""
    rows: TableRows = []
    for uri in run_uris:
        for name in models_of(uri):
            asked = RunFolder.open(model_folder(uri, name)).description()
            judge = RunFolder.open(grades_folder(uri, name)).description()["identity"]["engine"]["model"]
            row = {
                "model": name,
                "engine_model": asked["identity"]["engine"]["model"],
                "judge": judge,
                "run": uri,
                "benchmark_sha256": asked["benchmark_sha256"][:16],
                "not_graded_counts_as_failed": strict,
            }
            rows.append(row)
    return rows


def probe_data(run_uris: list[str], scores: Mapping[str, str], sheets: Iterable[Path]) -> ProbeData:
    """Everything that was asked and graded in these runs, which must be about one benchmark.

    Raises:
        InputError: they are not, two models have one name, one is not graded at all, or a model of
        ``scores`` is not there.
    """
    models: dict[str, ModelRun] = {}
    benchmark: tuple[str, TableRows] | None = None
    ppl = {name: _perplexities(uri) for name, uri in scores.items()}
    for uri in run_uris:
        for name in models_of(uri):
            folder = RunFolder.open(model_folder(uri, name))
            sha = folder.description()["benchmark_sha256"]
            if benchmark is None:
                benchmark = sha, folder.read("benchmark").to_pylist()
            if benchmark[0] != sha:
                raise InputError(
                    f"{folder.uri}: is about another benchmark than the models before it; report them apart"
                )
            if not Folder(grades_folder(uri, name)).exists(RUN_FILE):
                raise InputError(
                    f"{folder.uri}: no response of it is graded yet; run llmpedia probe grade first"
                )
            if name in models:
                raise InputError(
                    f"{folder.uri}: a model of the name {name} is there already; report the runs apart"
                )
            models[name] = _model(folder, grades_folder(uri, name), ppl.get(name))
    strange = sorted(scores.keys() - models.keys())
    if strange:
        raise InputError(f"--ppl {strange[0]}: no model of that name; use one of {', '.join(models)}")
    assert benchmark is not None  # every run has a model
    human = tuple(HumanGrade(**row) for sheet in sheets for row in read_grade_sheet(sheet))
    return ProbeData(items_of(benchmark[1]), models, human or None)


def _model(folder: RunFolder, grades_uri: str, ppl: Mapping[str, float] | None) -> ModelRun:
    grades: TableRows = RunFolder.open(grades_uri).read("grades").to_pylist()
    facts: TableRow = json.loads(folder.folder.read(FACTS_FILE)) if folder.folder.exists(FACTS_FILE) else {}
    return model_run(folder.read("responses").to_pylist(), grades, QuestionFacts(**facts), ppl)


def _perplexities(uri: str) -> dict[str, float]:
    """benchmark_id -> the question's perplexity, of those that have one."""
    run = RunFolder.open(uri)
    if run.kind != RunKind.SCORES:
        raise InputError(f"{uri}: holds no scores; give the folder of llmpedia ppl over the benchmark's file")
    rows = run.read("ppl_questions", columns=["item_id", "ppl"]).to_pylist()
    return {row["item_id"]: row["ppl"] for row in rows if row["ppl"] is not None}
