"""Benchmarks as files: what a build releases, and the published format out and in."""

import gzip
import json
import uuid

import pyarrow as pa
import pytest

from llmpedia.errors import InputError
from llmpedia.probe.benchmark.release import content_id, read_benchmark, record, released, write_benchmark
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import RunFolder
from llmpedia.tables import BENCHMARK, TABLES
from tests.support.builders.probe_folders import PUBLISHED, filled


def question(number, group, named="Who? One?", clue="Who? Two?", fate="kept", reason=None):
    answers = [{"value": v, "documents": [n], "spans": [v]} for n, v in enumerate(("1871", "1874"))]
    told = {
        "named_entity": named,
        "clue_based": clue,
        "preferred_answer": "1871 or 1874.",
        "answers": answers,
    }
    return filled(
        "questions",
        subgraph_id=number,
        group_id=group,
        fate=fate,
        reason=reason,
        path=["A", "B", "C"],
        **told,
    )


def check(group, name, fate="kept", reason=None):
    return filled("checks", group_id=group, check=name, fate=fate, reason=reason)


def build(folder, questions, checks, last=True, **validation):
    wanted = {"read": True, "web": True, "review": True, **validation}
    description = {
        "identity_hash": "x",
        "identity": {"validation": wanted},
        "seeds": [],
        "prompts": {},
        "kind": "probe",
    }
    with Lease(RunFolder(str(folder)).folder) as lease:
        run = RunFolder.create_or_open(str(folder), description)
        graphs = [
            filled("subgraphs", subgraph_id=q["subgraph_id"], n_maj=5, n_min=2, fate="kept")
            for q in questions
        ]
        tables = {"subgraphs": graphs, "questions": questions, "checks": checks}
        facts = {"step": "read" if not wanted["web"] else "web", "last": last}
        run.commit(
            lease, {n: pa.Table.from_pylist(rows, schema=TABLES[n]) for n, rows in tables.items()}, facts
        )
    return run


def passed(group):
    return [check(group, name) for name in ("read", "web", "review")]


def test_a_group_that_passed_everything_gives_two_questions(tmp_path):
    rows, left_out = released(build(tmp_path, [question(0, "g")], passed("g")))
    assert [(r["formulation"], r["question"], r["n_maj"], r["n_min"]) for r in rows] == [
        ("named_entity", "Who? One?", 5, 2),
        ("clue_based", "Who? Two?", 5, 2),
    ]
    assert left_out == {}
    assert set(rows[0]) == set(BENCHMARK.names)


@pytest.mark.parametrize(
    ("checks", "why"),
    [
        ([check("g", "read", "rejected", "account 2")], "read: rejected"),
        ([check("g", "read"), check("g", "web", "error", "judge")], "web: error"),
        ([check("g", "read"), check("g", "web")], "review: not checked yet"),
    ],
)
def test_a_group_that_did_not_is_left_out_with_its_reason(tmp_path, checks, why):
    assert released(build(tmp_path, [question(0, "g")], checks)) == ([], {why: 1})


def test_rejected_questions_are_counted(tmp_path):
    assert released(build(tmp_path, [question(0, None, fate="rejected", reason="leak")], []))[1] == {
        "questions: rejected": 1
    }


def test_only_the_checks_that_the_build_wants_are_needed(tmp_path):
    run = build(tmp_path, [question(0, "g")], [check("g", "read")], web=False, review=False)
    assert len(released(run)[0]) == 2


def test_a_question_asked_already_is_not_released_twice(tmp_path):
    run = build(tmp_path, [question(0, "g"), question(1, "h", named="who? ONE")], passed("g") + passed("h"))
    rows, left_out = released(run)
    assert {r["group_id"] for r in rows} == {"g"}
    assert left_out == {"duplicate question": 1}


def test_the_last_check_of_a_group_counts(tmp_path):
    checks = [*passed("g"), check("g", "review", "rejected", "other")]
    assert released(build(tmp_path, [question(0, "g")], checks)) == ([], {"review: rejected": 1})


def test_written_and_read_is_the_same(tmp_path):
    rows, _ = released(build(tmp_path / "build", [question(0, "g")], passed("g")))
    write_benchmark(rows, str(tmp_path / "b.jsonl"))
    assert read_benchmark(str(tmp_path / "b.jsonl")) == rows
    assert read_benchmark(str(tmp_path / "build")) == rows


def test_a_released_record_has_the_published_keys_and_canonical_ids(tmp_path):
    rows, _ = released(build(tmp_path, [question(0, content_id("g"))], passed(content_id("g"))))
    made = record(rows[0])
    assert list(made) == list(PUBLISHED)
    assert list(made["eval"]) == list(PUBLISHED["eval"])
    assert [list(g) for g in made["eval"]["gold_answers"]] == [["value"], ["value"]]
    for key in ("benchmark_id", "item_group_id"):
        assert str(uuid.UUID(made[key])) == made[key]


def test_ids_come_from_content():
    assert content_id("a", ["b"]) == content_id("a", ["b"]) != content_id("a", ["c"])


@pytest.mark.parametrize("name", ["b.jsonl", "b.jsonl.gz"])
def test_the_published_file_loads_unchanged(tmp_path, name):
    data = (json.dumps(PUBLISHED) + "\n").encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    (row,) = read_benchmark(str(tmp_path / name))
    assert record(row) == PUBLISHED
    assert (row["formulation"], row["path"], row["n_maj"]) == (None, None, None)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"benchmark_id": ""}, "benchmark_id = ''"),
        ({"item_group_id": 3}, "item_group_id = 3"),
        ({"eval": None}, "no object with an eval section"),
        ({"eval": {**PUBLISHED["eval"], "question": " "}}, "eval.question = ' '"),
        ({"eval": {**PUBLISHED["eval"], "preferred_answer": None}}, "eval.preferred_answer = None"),
        ({"eval": {**PUBLISHED["eval"], "gold_answers": [{"value": "x"}]}}, "at least two"),
        ({"eval": {**PUBLISHED["eval"], "gold_answers": [{"value": "x"}, {"value": "X "}]}}, "at least two"),
        (
            {"eval": {**PUBLISHED["eval"], "gold_answers": [{"value": "x"}, "y"]}},
            "gold_answers[1].value = None",
        ),
    ],
)
def test_a_record_at_fault_is_named_with_its_line(tmp_path, change, said):
    lines = [PUBLISHED, {**PUBLISHED, "benchmark_id": "other", **change}]
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    with pytest.raises(InputError) as e:
        read_benchmark(str(tmp_path / "b.jsonl"))
    assert said in str(e.value)
    assert "line 2" in str(e.value)
    assert "\n" not in str(e.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "holds no record"), (f"{json.dumps(PUBLISHED)}\n" * 2, "comes twice"), ("{", "no JSON")],
)
def test_a_file_at_fault_is_named(tmp_path, text, said):
    (tmp_path / "b.jsonl").write_text(text)
    with pytest.raises(InputError, match=said):
        read_benchmark(str(tmp_path / "b.jsonl"))


def test_a_packed_file_is_written_and_read(tmp_path):
    rows, _ = released(build(tmp_path / "build", [question(0, "g")], passed("g")))
    write_benchmark(rows, str(tmp_path / "b.jsonl.gz"))
    assert read_benchmark(str(tmp_path / "b.jsonl.gz")) == rows
    (tmp_path / "b.jsonl.gz").write_bytes((tmp_path / "b.jsonl.gz").read_bytes()[:-20])
    with pytest.raises(InputError, match="damaged"):
        read_benchmark(str(tmp_path / "b.jsonl.gz"))


def test_a_build_under_way_is_no_benchmark_yet(tmp_path):
    build(tmp_path, [question(0, "g")], passed("g"), last=False)
    with pytest.raises(InputError, match="its step web is not done"):
        read_benchmark(str(tmp_path))


def test_no_file_is_told(tmp_path):
    with pytest.raises(InputError, match="no such file; give a benchmark as JSONL"):
        read_benchmark(str(tmp_path / "none.jsonl"))


def test_a_build_that_released_nothing_is_told(tmp_path):
    build(tmp_path, [question(0, "g")], [])
    with pytest.raises(InputError, match="no question of this build is released yet"):
        read_benchmark(str(tmp_path))
