"""Reports out of folders, the sheets of human readers, and what ``verify`` finds in them."""

import copy
import csv

import pytest
from probe_folders import BENCHMARK, answered, build_tables, built, commit, completion, filled

from llmpedia.analysis.probe_folders import errors_of, funnel_of, probe_data, report_of
from llmpedia.cli import main
from llmpedia.errors import InputError
from llmpedia.probe.human_grades import read_grade_sheet, write_grade_sheet
from llmpedia.probe.release import released
from llmpedia.probe.reviewing import take_review, waiting, write_review_sheet
from llmpedia.probe.run import grades_folder, model_folder
from llmpedia.probe.verify import verify_build, verify_grades, verify_responses
from llmpedia.store.runfolder import RunFolder


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


def test_strict_counts_failures_as_failed(tmp_path):
    tables, _, _ = report_of([two_models(tmp_path)], {}, [], True, None)
    assert {row["model"]: row["failed"] for row in tables["table_01_results"]} == {"small": 3, "large": 1}


def test_the_report_is_written(tmp_path):
    _, missing, written = report_of([two_models(tmp_path / "run")], {}, [], False, str(tmp_path / "out"))
    assert (tmp_path / "out" / "index.html").exists()
    assert written == len(list((tmp_path / "out").iterdir()))
    assert {row["table"] for row in missing} >= {"perplexity_bins", "judge_outcomes"}


def test_scores_of_a_model_are_taken_by_question(tmp_path):
    rows = [filled("ppl_questions", item=n, item_id=q["benchmark_id"], answers=2, ppl=2.0 + n) for n, q in enumerate(BENCHMARK)]
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
    run, sheet = two_models(tmp_path / "run"), tmp_path / "sheet.csv"
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


@pytest.mark.parametrize("cells", [{"covered": "3", "contradicted": "no"}, {"covered": "1", "contradicted": ""}])
def test_a_readers_slip_is_named_by_row(tmp_path, cells):
    write_grade_sheet(two_models(tmp_path / "run"), tmp_path / "sheet.csv", 1, 42)
    filled_sheet(tmp_path / "sheet.csv", **cells)
    with pytest.raises(InputError, match=r"3 rows cannot be used: row 2 has covered"):
        read_grade_sheet(tmp_path / "sheet.csv")


def test_only_what_a_human_accepts_is_released(tmp_path):
    run, sheet = built(tmp_path / "build"), tmp_path / "review.csv"
    assert released(run) == ([], {"review: not checked yet": 1})
    assert write_review_sheet(run, sheet) == 1
    filled_sheet(sheet, decision="accept", reviewer="Ada")
    assert take_review(run, sheet) == {"accepted": 1, "rejected": 0, "not decided": 0}
    assert len(released(run)[0]) == 2
    assert waiting(run) == []
    assert verify_build(run).findings == []


def test_a_rejected_group_stays_out_with_its_reason(tmp_path):
    run, sheet = built(tmp_path / "build"), tmp_path / "review.csv"
    write_review_sheet(run, sheet)
    filled_sheet(sheet, decision="reject", reason="answer_leak", comment="says the year")
    take_review(run, sheet)
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
    told = {"attempt": 1, "response": "r", "outcome": "complete", "covered": [True, False], "contradictions": []}
    rows = [filled("grades", benchmark_id="a", **told, completion=key)]
    run = commit(tmp_path, {"kind": "grades"}, [({}, {"grades": rows, "completions": [row]})])
    assert verify_grades(run).findings == ["grade of a: is complete, its decisions say partial"]


def test_verify_follows_attempts(tmp_path):
    key, row = completion("closed_book", "x")
    told = {"attempt": 2, "text": "t", "finish_reason": "stop", "truncated": False, "completion": key}
    tables = {"responses": [filled("responses", benchmark_id="a", **told)], "completions": [row]}
    assert verify_responses(commit(tmp_path, {"kind": "responses"}, [({}, tables)])).findings == [
        "responses: the attempts of a question do not follow each other"
    ]
