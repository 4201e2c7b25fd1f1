"""llmpedia/analysis/cost.py: hours by hand-set times, GPU-hours by completion tokens, and what is
not known is null.
"""

import pytest

from llmpedia.analysis.common.systems import systems_of
from llmpedia.analysis.cost import cost_part, engine_time, hours_of, stage_costs
from llmpedia.cli.main import main
from llmpedia.engines.models import load_models
from llmpedia.errors import EXIT_BAD_INPUT
from llmpedia.store.commit_times import UNTOLD, Machine, Moment, write_moment
from tests.engines.test_usage import run_with
from tests.support.builders.runs import Corpus, Visit, three_waves

H100 = Machine(16, "H100")


def timed(run, *moments):
    for wave, moment in enumerate(moments):
        write_moment(run.folder, wave, moment)
    return run


def test_pauses_between_sessions_are_no_part_of_the_time():
    """Two sessions of 1 and 2 hours, a week apart."""
    week = 7 * 24 * 3600.0
    moments = [
        Moment("a", 0, 1800, H100),
        Moment("a", 0, 3600, H100),
        Moment("b", week, week + 7200, Machine(4, "A100")),
    ]
    assert hours_of(moments) == (3.0, 1 * 16 + 2 * 4)


def test_a_session_of_which_no_gpus_are_known_leaves_gpu_hours_unknown():
    assert hours_of([Moment("a", 0, 3600, H100), Moment("b", 0, 3600, UNTOLD)]) == (2.0, None)


def test_a_clock_that_was_set_back_leaves_hours_unknown():
    assert hours_of([Moment("a", 0, 3600, H100), Moment("b", 3600, 0, H100)]) == (None, None)


def test_a_clock_that_was_set_back_is_told(tmp_path):
    run = timed(run_with(tmp_path / "run"), *[Moment("a", 3600.0, 60.0 * n, H100) for n in range(3)])
    rows = [row for row in cost_part(systems_of([run], [])).missing if row["table"] == "engine_time"]
    assert [row["reason"] for row in rows] == ["the clock of its machine was set back in a session"]


def test_a_file_of_prices_does_what_the_missing_row_says(tmp_path, capsys):
    run = run_with(tmp_path / "run", "some/model")
    prices = tmp_path / "models.yaml"
    (row,) = [row for row in cost_part(systems_of([run], [])).missing if row["table"] == "cost_by_stage"]
    assert row["command"] == "llmpedia report RUN --out DIR --models-file FILE"
    prices.write_text("models:\n- {match: some/model, input: 1, output: 2}\n")
    part = cost_part(systems_of([run], []), load_models(str(prices)))
    assert [row for row in part.missing if row["table"] == "cost_by_stage"] == []
    assert all(row["cost"] for row in part.tables["cost_by_stage"] if row["stage"] == "all")
    assert main(["report", run.uri, "--models-file", str(tmp_path / "none.yaml")]) == EXIT_BAD_INPUT
    assert capsys.readouterr().err.startswith("llmpedia: --models-file = ")


def test_jobs_beyond_the_eighth_are_told_to_be_in_no_figure(tmp_path):
    runs = [run_with(tmp_path / f"r{n}") for n in range(9)]
    missing = cost_part(systems_of(runs, [])).missing
    assert [row["what"] for row in missing if row["what"].startswith("figure")] == ["figure: 1 more jobs"]


def test_a_commit_without_its_time_leaves_hours_unknown(tmp_path):
    run = timed(three_waves(tmp_path / "run").run, *[Moment("a", 0, 60.0 * n, H100) for n in range(3)])
    known = engine_time(run)
    assert (known["hours"], known["gpu_hours"], known["sessions"], known["gpus"]) == (0.0333, 0.5333, 1, 16)
    run.folder.remove("times/00001.json")
    lacking = engine_time(run)
    assert (lacking["commits"], lacking["commits_with_time"]) == (3, 2)
    assert (lacking["hours"], lacking["gpu_hours"]) == (None, None)


def usage(stage, prompt, completion, cost=None):
    row = {"run": "r", "stage": stage, "model": "m", "calls": 1, "untold": 0}
    return row | {"prompt_tokens": prompt, "completion_tokens": completion, "cost": cost}


def test_gpu_hours_are_shared_out_by_completion_tokens():
    rows = stage_costs(
        "r",
        "walk",
        100,
        [usage("ner", 500, 100), usage("article", 700, 300, 2.0), usage("all", 1200, 400)],
        8.0,
    )
    assert [row["gpu_hours_by_completion_tokens"] for row in rows] == [2.0, 6.0, 8.0]
    assert (
        rows[1]["gpu_seconds_an_article"],
        rows[1]["completion_tokens_an_article"],
        rows[1]["cost_an_article"],
    ) == (
        216,
        3,
        0.02,
    )


@pytest.mark.parametrize("gpu_hours", [None, 8.0])
def test_what_is_not_known_is_null_and_never_0(gpu_hours):
    tokens = (1, 1) if gpu_hours is None else (None, None)
    (row,) = stage_costs("r", "walk", 10, [usage("all", *tokens)], gpu_hours)
    assert (row["gpu_hours_by_completion_tokens"], row["gpu_seconds_an_article"], row["cost_an_article"]) == (
        None,
        None,
        None,
    )


def test_nothing_is_divided_by_no_articles():
    (row,) = stage_costs("r", "walk", 0, [usage("all", 10, 10, 1.0)], 1.0)
    assert (row["prompt_tokens_an_article"], row["cost_an_article"], row["gpu_seconds_an_article"]) == (
        None,
        None,
        None,
    )


def test_what_is_lacking_is_told_with_its_command(tmp_path):
    run = run_with(tmp_path / "mine", "some/model")
    run.folder.remove("times")
    part = cost_part(systems_of([run], []))
    told = {(row["table"], row["what"]): row for row in part.missing}
    assert (
        "of 2 commits do not tell their time" in told["engine_time", "mine, walk: hours, GPU-hours"]["reason"]
    )
    assert "some/model" in told["cost_by_stage", "mine, walk: some/model: money"]["reason"]
    assert all(row["command"].startswith("llmpedia ") for row in part.missing)
    assert list(part.figures) == ["cost_tokens"]


def test_an_endpoint_has_hours_and_no_gpu_hours(tmp_path):
    run = timed(run_with(tmp_path / "mine"), *[Moment("a", 0, 3600.0 * n, UNTOLD) for n in (1, 2)])
    part = cost_part(systems_of([run], []))
    (time,) = part.tables["engine_time"]
    assert (time["hours"], time["gpu_hours"]) == (2.0, None)
    assert [row["what"] for row in part.missing if row["table"] == "engine_time"] == ["mine, walk: GPU-hours"]


def test_a_run_that_has_asked_nothing_is_missing(tmp_path):
    part = cost_part(
        systems_of(
            [Corpus(tmp_path / "run").seed("A").walk(Visit("A", error="refusal"), damage=_unasked).run], []
        )
    )
    assert part.tables["cost_by_stage"] == []
    assert [row["table"] for row in part.missing if row["what"] == "table"] == ["cost_by_stage"]


def _unasked(rows):
    rows["completions"].clear()
