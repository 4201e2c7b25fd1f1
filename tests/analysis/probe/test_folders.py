"""Reports out of folders, the sheets of human readers, and what ``verify`` finds in them."""

import copy
import csv
import json
import shutil

import pytest

from llmpedia.analysis.probe.folders import errors_of, funnel_of, probe_data, report_of
from llmpedia.cli.main import main
from llmpedia.errors import ConfigError, InputError
from llmpedia.probe.benchmark.human_grades import read_grade_sheet, write_grade_sheet
from llmpedia.probe.benchmark.release import record, released
from llmpedia.probe.benchmark.run import grade_responses, grades_folder, model_folder, respond
from llmpedia.probe.pipeline.review import take_review, waiting, write_review_sheet
from llmpedia.probe.settings.run import ProbeRunConfig
from llmpedia.probe.verify import verify_build, verify_grades, verify_responses
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import RunFolder
from llmpedia.tables import table
from tests.support.builders.probe_folders import (
    BENCHMARK,
    answered,
    build_tables,
    built,
    commit,
    completion,
    filled,
)


def two_models(folder):
    folder = str(folder)
    answered(folder, "small", ("partial", "failed", "failed", "error"), family="F", parameters_b=1.0)
    answered(folder, "large", ("complete", "complete", "partial", "judge"), family="F", parameters_b=70.0)
    return folder


def filled_sheet(path, **cells):
    """Fill cells of every row, as a reader would."""
    with path.open(encoding="utf-8-sig", newline="") as f:
        rows = list(csv.DictReader(f))
    for row in rows:
        row.update({name: value(row) if callable(value) else value for name, value in cells.items()})
    with path.open("w", encoding="utf-8-sig", newline="") as f:
        writer = csv.DictWriter(f, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return rows


def test_a_report_holds_every_model_with_failures_apart(tmp_path):
    tables, _, _ = report_of([two_models(tmp_path)], {}, [], False, None)
    rows = {row["model"]: row for row in tables["table_01_results"]}
    assert (rows["small"]["complete"], rows["small"]["partial"], rows["small"]["failed"]) == (0, 1, 2)
    assert (rows["small"]["not_graded_by_engine"], rows["large"]["not_graded_by_judge"]) == (1, 1)


def test_a_report_names_models_and_judges(tmp_path):
    tables, _, _ = report_of([two_models(tmp_path)], {}, [], False, None)
    assert {(row["model"], row["judge"], row["run"]) for row in tables["about"]} == {
        (name, name, str(tmp_path)) for name in ("small", "large")
    }


def test_a_model_that_is_not_graded_has_no_report(tmp_path):
    run = two_models(tmp_path)
    shutil.rmtree(grades_folder(run, "large"))
    with pytest.raises(InputError, match="no response of it is graded yet; run llmpedia probe grade first"):
        report_of([run], {}, [], False, None)


def test_another_judge_does_not_pass_for_the_first(tmp_path):
    run = two_models(tmp_path / "run")
    with pytest.raises(InputError, match="is a run of other settings"):
        grade_responses(run_config(tmp_path, small={}, large={}), run, [], print)


def test_all_models_are_checked_before_the_first_is_asked(tmp_path):
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(record(q)) + "\n" for q in BENCHMARK))
    config = run_config(tmp_path, small={}, large={"context_tokens": 300})
    with pytest.raises(
        ConfigError, match=r"models\.large: engine\.context_tokens = 300: stage closed_book needs about"
    ):
        respond(config, str(tmp_path / "run"), [], print)
    assert not (tmp_path / "run").exists()


def run_config(folder, **models):
    engine = {"kind": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1", "context_tokens": 16384}
    named = {name: {"engine": {**engine, **own}} for name, own in models.items()}
    data = {"benchmark": str(folder / "b.jsonl"), "models": named, "engine": engine}
    return ProbeRunConfig.model_validate(data)


def test_strict_counts_failures_as_failed(tmp_path):
    tables, _, _ = report_of([two_models(tmp_path)], {}, [], True, None)
    assert {row["model"]: row["failed"] for row in tables["table_01_results"]} == {"small": 3, "large": 1}


def test_the_report_is_written(tmp_path):
    _, missing, written = report_of([two_models(tmp_path / "run")], {}, [], False, str(tmp_path / "out"))
    assert (tmp_path / "out" / "index.html").exists()
    assert written == len(list((tmp_path / "out").iterdir()))
    assert {row["table"] for row in missing} >= {"perplexity_bins", "judge_outcomes"}


def test_scores_of_a_model_are_taken_by_question(tmp_path):
    rows = [
        filled("ppl_questions", item=n, item_id=q["benchmark_id"], answers=2, ppl=2.0 + n)
        for n, q in enumerate(BENCHMARK)
    ]
    commit(tmp_path / "ppl", {"kind": "ppl"}, [({}, {"ppl_questions": rows})])
    data = probe_data([two_models(tmp_path / "run")], {"small": str(tmp_path / "ppl")}, [])
    assert data.models["small"].ppl == {"a": 2.0, "b": 3.0, "c": 4.0, "d": 5.0}
    with pytest.raises(InputError, match="--ppl other: no model of that name; use one of large, small"):
        probe_data([str(tmp_path / "run")], {"other": str(tmp_path / "ppl")}, [])


def test_runs_that_do_not_fit_are_told(tmp_path):
    two_models(tmp_path / "one")
    two_models(tmp_path / "two")
    with pytest.raises(InputError, match="a model of the name large is there already"):
        probe_data([str(tmp_path / "one"), str(tmp_path / "two")], {}, [])
    with pytest.raises(InputError, match="no model was asked there"):
        probe_data([str(tmp_path)], {}, [])


def test_a_builds_funnel_balances(tmp_path):
    rows, _ = funnel_of(built(tmp_path, review=False))
    assert [(r["stage"], r["in"], r["kept"]) for r in rows][:2] == [("corpus", 3, 2), ("knowledge", 2, 2)]
    assert rows[-1]["questions"] == 2
    assert main(["probe", "report", str(tmp_path)]) == 0


def test_errors_of_a_build_are_counted_by_kind(tmp_path):
    tables = build_tables()
    failed = {"relation": None, "error": "span_a '1871' does not stand in document a"}
    tables["relations"]["relations"] = [{**tables["relations"]["relations"][0], **failed}]
    for step in ("subgraphs", "questions", "read", "web"):
        del tables[step]
    rows = errors_of(built(tmp_path, tables))
    assert rows == [{"step": "relations", "error": "span_a ... does not stand in document a", "items": 1}]


def test_a_reader_grades_what_the_judge_has_graded(tmp_path):
    run = two_models(tmp_path / "run")
    sheet = tmp_path / "sheet.csv"
    assert write_grade_sheet(run, sheet, 10, 42) == 6
    filled_sheet(sheet, covered="1, 2", contradicted="no")
    rows = read_grade_sheet(sheet)
    assert {row["outcome"] for row in rows} == {"complete"}
    tables, _, _ = report_of([run], {}, [sheet], False, None)
    assert tables["judge_outcomes"]


def test_a_sheet_holds_no_word_of_the_judges(tmp_path):
    write_grade_sheet(two_models(tmp_path / "run"), tmp_path / "sheet.csv", 10, 42)
    text = (tmp_path / "sheet.csv").read_text(encoding="utf-8-sig")
    assert not {"complete", "partial", "failed"} & set(text.replace('"', " ").replace(",", " ").split())


@pytest.mark.parametrize(
    ("cells", "outcome"),
    [
        ({"covered": "none", "contradicted": "no"}, "failed"),
        ({"covered": "2", "contradicted": "No"}, "partial"),
        ({"covered": "1 2", "contradicted": "yes"}, "failed"),
    ],
)
def test_a_readers_outcome_is_computed(tmp_path, cells, outcome):
    write_grade_sheet(two_models(tmp_path / "run"), tmp_path / "sheet.csv", 1, 42)
    filled_sheet(tmp_path / "sheet.csv", **cells)
    assert {row["outcome"] for row in read_grade_sheet(tmp_path / "sheet.csv")} == {outcome}


@pytest.mark.parametrize(
    "cells", [{"covered": "3", "contradicted": "no"}, {"covered": "1", "contradicted": ""}]
)
def test_a_readers_slip_is_named_by_row(tmp_path, cells):
    write_grade_sheet(two_models(tmp_path / "run"), tmp_path / "sheet.csv", 1, 42)
    filled_sheet(tmp_path / "sheet.csv", **cells)
    with pytest.raises(InputError, match=r"3 rows cannot be used: row 2 has covered"):
        read_grade_sheet(tmp_path / "sheet.csv")


def test_only_what_a_human_accepts_is_released(tmp_path):
    run = built(tmp_path / "build")
    sheet = tmp_path / "review.csv"
    assert released(run) == ([], {"review: not checked yet": 1})
    assert write_review_sheet(run, sheet) == 1
    filled_sheet(sheet, decision="accept", reviewer="Ada")
    assert take_review(run, sheet, False) == {
        "accepted": 1,
        "rejected": 0,
        "decided before": 0,
        "not decided": 0,
    }
    assert len(released(run)[0]) == 2
    assert waiting(run) == []
    assert verify_build(run).findings == []


def test_a_rejected_group_stays_out_with_its_reason(tmp_path):
    run = built(tmp_path / "build")
    sheet = tmp_path / "review.csv"
    write_review_sheet(run, sheet)
    filled_sheet(sheet, decision="reject", reason="answer_leak", comment="says the year")
    take_review(run, sheet, False)
    assert released(run) == ([], {"review: rejected": 1})
    assert run.read("checks").to_pylist()[-1]["reason"] == "answer_leak: says the year"


def test_a_build_under_way_has_no_sheet(tmp_path):
    tables = build_tables()
    del tables["web"]
    with pytest.raises(InputError, match=r"step web of corpus, .* is not done"):
        write_review_sheet(built(tmp_path, tables), tmp_path / "s.csv")


def test_a_whole_build_and_run_verify(tmp_path):
    assert verify_build(built(tmp_path / "build")).findings == []
    run = two_models(tmp_path / "run")
    assert verify_responses(RunFolder.open(model_folder(run, "small"))).findings == []
    assert verify_grades(RunFolder.open(grades_folder(run, "large"))).findings == []


def wrong(step, name, **values):
    """A build's tables with a row of one changed."""
    tables = copy.deepcopy(build_tables())
    tables[step][name][0].update(values)
    return tables


def without(step, name):
    tables = copy.deepcopy(build_tables())
    tables[step][name] = tables[step][name][1:]
    return tables


def twice(step, name):
    tables = copy.deepcopy(build_tables())
    tables[step][name] = [*tables[step][name], tables[step][name][0]]
    return tables


BROKEN = {
    "documents out of order": (wrong("corpus", "documents", number=7), "not numbered"),
    "another text": (wrong("corpus", "documents", text="changed"), "id of another text"),
    "no fate": (wrong("corpus", "documents", fate="gone"), "has no fate"),
    "a document without a label": (without("knowledge", "knowledge_points"), "knowledge_points: 1 rows"),
    "a pair of strangers": (wrong("pairs", "pairs", b=2), "are not two kept ones"),
    "a pair twice": (twice("pairs", "pairs"), "pairs: one is there twice"),
    "a pair without a relation": (without("relations", "relations"), "relations: 0 rows"),
    "a relation twice": (twice("relations", "relations"), "relations: 2 rows"),
    "a subgraph without questions": (without("questions", "questions"), "questions: 0 rows"),
    "a decision from nowhere": (wrong("relations", "relations", completion="x"), "have no completion"),
    "a check from nowhere": (wrong("web", "checks", completion="x"), "checks: rows"),
    "a conflict without a subgraph": (
        without("subgraphs", "subgraphs"),
        "subgraphs: 0 rows do not answer the 1 conflicts",
    ),
    "a group without its check": (without("web", "checks"), "the web check does not follow"),
    "a check without a reason": (wrong("web", "checks", fate="rejected"), "fate and reason"),
    "a stranger checked": (wrong("read", "checks", group_id="h"), "does not follow the groups"),
}


@pytest.mark.parametrize(("tables", "said"), BROKEN.values(), ids=list(BROKEN))
def test_verify_finds_what_is_wrong_with_a_build(tmp_path, tables, said):
    assert any(said in finding for finding in verify_build(built(tmp_path, tables)).findings)


def test_verify_says_what_is_not_done(tmp_path):
    tables = build_tables()
    del tables["web"], tables["read"], tables["questions"], tables["subgraphs"], tables["relations"]
    report = verify_build(built(tmp_path, tables))
    assert report.findings == []
    assert report.notes == ["1 of 1 items of relations are not done yet"]


def test_verify_computes_outcomes_anew(tmp_path):
    key, row = completion("grade", "x")
    told = {
        "attempt": 1,
        "response": "r",
        "outcome": "complete",
        "covered": [True, False],
        "contradictions": [],
    }
    rows = [filled("grades", benchmark_id="a", **told, completion=key)]
    run = commit(tmp_path, {"kind": "grades"}, [({}, {"grades": rows, "completions": [row]})])
    assert verify_grades(run).findings == ["grade of a: is complete, its decisions say partial"]


def responses(folder, *rows):
    """A folder with these responses to the benchmark, as (benchmark_id, attempt, error)."""
    made = []
    completions = []
    for name, attempt, error in rows:
        key, row = completion("closed_book", f"{name} {attempt}")
        told = {
            "text": None if error else "t",
            "finish_reason": "stop",
            "truncated": False,
            "error": error,
            "completion": key,
        }
        made.append(filled("responses", benchmark_id=name, attempt=attempt, **told))
        completions.append(row)
    return commit(
        folder,
        {"kind": "responses"},
        [({}, {"benchmark": BENCHMARK}), ({}, {"responses": made, "completions": completions})],
    )


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("a", 2, None)], "attempt 2 at a does not follow the one before"),
        ([("a", 1, None), ("a", 2, None)], "attempt 2 at a comes after one that succeeded"),
        ([("z", 1, None)], "to questions ['z'], which are not in the benchmark"),
    ],
)
def test_verify_finds_what_is_wrong_with_responses(tmp_path, rows, said):
    assert any(said in finding for finding in verify_responses(responses(tmp_path, *rows)).findings)


def test_verify_says_which_questions_were_not_asked(tmp_path):
    report = verify_responses(responses(tmp_path, ("a", 1, "engine: failed"), ("a", 2, None)))
    assert (report.findings, report.notes) == ([], ["3 of 4 questions are not asked yet"])


def test_a_second_sheet_does_not_overrule_the_first_by_itself(tmp_path):
    run = built(tmp_path / "build")
    sheet = tmp_path / "ann.csv"
    other = tmp_path / "bob.csv"
    write_review_sheet(run, sheet)
    other.write_bytes(sheet.read_bytes())
    filled_sheet(sheet, decision="reject", reason="unsupported_answer", reviewer="Ann")
    take_review(run, sheet, False)
    assert take_review(run, sheet, False)["decided before"] == 1
    filled_sheet(other, decision="accept", reviewer="Bob")
    with pytest.raises(
        InputError, match=r"group g is kept here and was rejected by Ann\); agree, or give --overrule"
    ):
        take_review(run, other, False)
    assert take_review(run, other, True)["accepted"] == 1
    assert len(released(run)[0]) == 2


def test_a_model_that_is_not_graded_does_not_block_the_sheet(tmp_path):
    run = two_models(tmp_path / "run")
    shutil.rmtree(grades_folder(run, "large"))
    assert write_grade_sheet(run, tmp_path / "sheet.csv", 10, 42) == 3


def test_a_reader_sees_no_thought_and_long_responses_in_several_cells(tmp_path):
    run = two_models(tmp_path / "run")
    folder = RunFolder.open(model_folder(run, "small"))
    last = {k: v for k, v in folder.read("responses").to_pylist()[0].items() if k != "wave"}
    with Lease(folder.folder) as lease:
        again = {**last, "attempt": 2, "text": f"<think>secret</think>{'x' * 40_000}"}
        folder.commit(
            lease, {"responses": table("responses", [again])}, {"totals": {"responses": 1}, "counts": {}}
        )
    write_grade_sheet(run, tmp_path / "sheet.csv", 10, 42)
    text = (tmp_path / "sheet.csv").read_text(encoding="utf-8-sig")
    assert "secret" not in text
    assert "response_2" in text.splitlines()[0]


def test_two_builds_of_one_name_keep_their_funnels_apart(tmp_path):
    for name in ("x", "y"):
        built(tmp_path / name / "build")
    tables, _, _ = report_of([str(tmp_path / n / "build") for n in ("x", "y")], {}, [], False, None)
    assert {"build_1_build", "build_2_build"} <= set(tables)
