"""What a run and its audits took: tokens, money and GPU-hours, a stage and an article.

Time is told from commits (``store.times``): of each session from its beginning, before its engine
is started, to its last commit. Pauses between sessions are no part of it, nor what a session did
after its last commit. GPU-hours are that time times the GPUs of the engine, all its replicas at
most. The engine serves all stages at once, so that a stage's GPU-hours are a share by its
completion tokens. What is not known is null, never 0, and named in ``missing``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from llmpedia.analysis.common.systems import System
from llmpedia.analysis.funnel.tables import is_walk
from llmpedia.analysis.output.drawing import grouped_bars, look
from llmpedia.analysis.output.formats import TableRow, TableRows
from llmpedia.analysis.output.page import ReportPart
from llmpedia.engines.models import Models
from llmpedia.engines.usage import usage_table
from llmpedia.store.commit_times import Moment, read_moments
from llmpedia.store.run_folder import RunFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_STAGES = "cost_by_stage"
_TIME = "engine_time"
_TITLES = {_STAGES: "Tokens, money and GPU-hours of each stage", _TIME: "Time of the engine"}
_FIGURE = "cost_tokens"
_MOST_BARS = 8
_ALL = "all"


@dataclass(frozen=True)
class _Job:
    """A walk, or an audit of it. ``articles``: written, or audited."""

    run: str
    job: str
    folder: RunFolder
    articles: int


def cost_part(systems: Sequence[System], prices: Models | None = None) -> ReportPart:
    """Of each walk and of the audits of all systems; ``prices``: instead of those that each run's
    own settings name.
    """
    missing: TableRows = []
    times: TableRows = []
    stages: TableRows = []
    for job in _jobs(systems):
        timing = engine_time(job.folder)
        times.append({"run": job.run, "job": job.job, "articles": job.articles, **timing})
        stages += stage_costs(
            job.run, job.job, job.articles, usage_table(job.folder, prices), timing["gpu_hours"]
        )
        missing += _untold(
            job, timing, [row for row in stages if (row["run"], row["job"]) == (job.run, job.job)]
        )
    if not stages:
        row = {"table": _STAGES, "what": "table", "reason": "no run has asked a model for anything yet"}
        missing.append({**row, "command": "llmpedia materialize CONFIG --run RUN"})
    jobs = list(dict.fromkeys((row["run"], row["job"]) for row in stages))
    if len(jobs) > _MOST_BARS:
        reason = f"it tells at most {_MOST_BARS} jobs apart, and these are the first ones"
        lacking = {"table": _STAGES, "what": f"figure: {len(jobs) - _MOST_BARS} more jobs", "reason": reason}
        missing.append({**lacking, "command": "llmpedia report SOME_OF_THE_RUNS --out OTHER_DIR"})
    figures = {_FIGURE: _figure(stages, jobs[:_MOST_BARS])} if stages else {}
    return ReportPart(
        {_STAGES: stages, _TIME: times}, missing, _TITLES, figures, {_STAGES: list(figures)}, "Cost"
    )


def _jobs(systems: Sequence[System]) -> list[_Job]:
    jobs = []
    for system in systems:
        if is_walk(system.run):
            jobs.append(_Job(system.name, "walk", system.run, _total(system.run, "articles")))
        jobs += [
            _Job(system.name, f"audit {a.uri.rpartition('/')[2]}", a, _total(a, "audited"))
            for a in system.audits
        ]
    return jobs


def _total(folder: RunFolder, table: str) -> int:
    return int(folder.manifests[-1].facts["totals"].get(table, 0)) if folder.manifests else 0


def engine_time(folder: RunFolder) -> TableRow:
    """Hours and GPU-hours of the engine; null as soon as one commit does not tell its time, or one
    session its GPUs.
    """
    moments = read_moments(folder.folder, range(folder.last_wave + 1))
    hours, gpu_hours = hours_of([moments[wave] for wave in sorted(moments)])
    whole = len(moments) == folder.last_wave + 1 and bool(moments)
    machines = sorted({m.machine.accelerator or "not told" for m in moments.values()})
    gpus = {m.machine.gpus for m in moments.values()}
    return {
        "commits": folder.last_wave + 1,
        "commits_with_time": len(moments),
        "sessions": len({m.session for m in moments.values()}),
        "accelerator": ", ".join(machines) or None,
        "gpus": gpus.pop() if len(gpus) == 1 else None,
        "hours": round(hours, 4) if whole and hours is not None else None,
        "gpu_hours": round(gpu_hours, 4) if whole and gpu_hours is not None else None,
    }


def hours_of(moments: Sequence[Moment]) -> tuple[float | None, float | None]:
    """Hours from the beginning of each session to its last commit, and those times its GPUs; null
    where a clock was set back.
    """
    hours = 0.0
    gpu_hours = 0.0
    known = True
    for _, group in groupby(moments, key=lambda m: m.session):
        last = max(group, key=lambda m: m.committed)
        if last.committed < last.began:
            return None, None
        took = (last.committed - last.began) / 3600
        hours += took
        known &= last.machine.gpus is not None
        gpu_hours += took * (last.machine.gpus or 0)
    return hours, gpu_hours if known else None


def stage_costs(run: str, job: str, articles: int, usage: TableRows, gpu_hours: float | None) -> TableRows:
    """Rows of ``usage_table`` with what an article took; GPU-hours are shared out by completion
    tokens.
    """
    whole = next((row["completion_tokens"] for row in usage if row["stage"] == _ALL), None)
    rows = []
    for row in usage:
        tokens = (row["prompt_tokens"], row["completion_tokens"])
        mine = row["completion_tokens"]
        share = None if None in (gpu_hours, whole, mine) or not whole else gpu_hours * mine / whole
        rows.append(
            {
                "run": run,
                "job": job,
                **{k: v for k, v in row.items() if k != "run"},
                "gpu_hours_by_completion_tokens": _rounded(share, 6),
                "prompt_tokens_an_article": _each(tokens[0], articles, 1),
                "completion_tokens_an_article": _each(tokens[1], articles, 1),
                "cost_an_article": _each(row["cost"], articles, 8),
                "gpu_seconds_an_article": _each(None if share is None else 3600 * share, articles, 4),
            }
        )
    return rows


def _each(whole: float | None, articles: int, digits: int) -> float | None:
    return round(whole / articles, digits) if whole is not None and articles else None


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _untold(job: _Job, timing: TableRow, rows: TableRows) -> TableRows:
    """What of a job is not known, why, and what would tell."""
    uri = job.folder.uri
    lacking = []
    if timing["hours"] is None and timing["commits"]:
        without = timing["commits"] - timing["commits_with_time"]
        reason = f"{without} of {timing['commits']} commits do not tell their time: {uri}/times lacks them"
        reason = reason if without else "the clock of its machine was set back in a session"
        lacking.append(
            (_TIME, "hours, GPU-hours", reason, f"{_again(job)}, which keeps the times of its commits")
        )
    elif timing["gpu_hours"] is None and timing["commits"]:
        reason = "its engine was an endpoint, whose GPUs are not known here"
        lacking.append(
            (_TIME, "GPU-hours", reason, f"{_again(job)} --set engine.kind=vllm, which serves the model here")
        )
    for row in (r for r in rows if r["stage"] != _ALL):
        if row["untold"]:
            reason = f"the engine did not tell the tokens of {row['untold']:,} answers"
            command = f"{_again(job)}, with an endpoint that tells usage"
            lacking.append((_STAGES, f"{row['stage']}: tokens, money", reason, command))
    unpriced = sorted(
        {r["model"] for r in rows if r["stage"] != _ALL and r["cost"] is None and not r["untold"]}
    )
    for model in unpriced:
        reason = f"no price is known of the model {model}"
        lacking.append(
            (_STAGES, f"{model}: money", reason, "llmpedia report RUN --out DIR --models-file FILE")
        )
    where = f"{job.run}, {job.job}"
    return [
        {"table": t, "what": f"{where}: {what}", "reason": why, "command": command}
        for t, what, why, command in lacking
    ]


def _again(job: _Job) -> str:
    return (
        "llmpedia materialize CONFIG --run NEW_RUN"
        if job.job == "walk"
        else "llmpedia audit RUN --name NEW_NAME"
    )


def _figure(rows: TableRows, jobs: Sequence[tuple[str, str]]) -> "Figure":
    """Completion tokens an article: a cluster a stage, a bar a job."""
    stages = list(dict.fromkeys(row["stage"] for row in rows if row["stage"] != _ALL))
    bars = []
    for run, job in jobs:
        of_job = [row for row in rows if (row["run"], row["job"]) == (run, job)]
        tokens = {
            s: [row["completion_tokens_an_article"] for row in of_job if row["stage"] == s] for s in stages
        }
        known = {s: sum(values) if values and None not in values else None for s, values in tokens.items()}
        bars.append({"run": f"{run}, {job}", **known})
    with look():
        return grouped_bars(
            bars, {s: s.replace("_", "\n") for s in stages}, "completion tokens an article", log=False
        )
