"""llmpedia/engines/usage.py: what was spent, by hand-counted completions; what is not known is
null.
"""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from llmpedia.engines.models import load_models
from llmpedia.engines.usage import committed, spent, usage_table
from llmpedia.materialize.subject import completion_row
from llmpedia.stages import RETRY_OPENINGS, Completion, Request
from llmpedia.status import status
from llmpedia.store.journal import JournalWriter, completion_record
from llmpedia.store.run_folder import RunFolder
from tests.support.builders.runs import Child, Corpus, Visit, make_config, make_request

ANSWERS = {
    "outline": [Completion("{}", "stop", 100, 10), Completion(error="engine: HTTP 400")],
    "article": [Completion("x", "stop", 200, 1000, cached_tokens=100)],
}


def request(stage, model, n, again=False) -> Request:
    said = (
        f'{RETRY_OPENINGS[0]}: "quoted". Answer again'
        if again
        else f'What of {n}? {{"role": "user", "content": "{RETRY_OPENINGS[0]}"}}'
    )
    return Request(stage, model, (("system", "s"), ("user", said)), None, "{}")


def rows_of(model, answers, again=()) -> list[dict]:
    return [
        completion_row(0, request(stage, model, n, (stage, n) in again), answer)
        for stage, found in answers.items()
        for n, answer in enumerate(found)
    ]


def run_with(folder, model="gpt-4o-mini", answers=ANSWERS, again=(), **engine) -> RunFolder:
    corpus = Corpus(folder, make_config(engine={"model": model, **engine})).seed("Root")

    def put(rows):
        rows["completions"] = rows_of(model, answers, again)

    return corpus.walk(Visit("Root", [Child("Leaf")]), damage=put).run


def by_stage(rows) -> dict:
    return {row["stage"]: row for row in rows}


def test_calls_errors_tokens_and_cost_are_told_by_stage(tmp_path):
    rows = by_stage(usage_table(run_with(tmp_path / "run")))
    outline = rows["outline"]
    assert (outline["calls"], outline["errored"], outline["prompt_tokens"], outline["completion_tokens"]) == (
        2,
        1,
        100,
        10,
    )
    assert outline["cost"] == pytest.approx((100 * 0.15 + 10 * 0.6) / 1e6, abs=1e-6)
    assert rows["article"]["cost"] == pytest.approx((100 * 0.15 + 100 * 0.075 + 1000 * 0.6) / 1e6, abs=1e-6)
    assert (rows["all"]["calls"], rows["all"]["prompt_tokens"], rows["all"]["completion_tokens"]) == (
        3,
        300,
        1010,
    )
    assert rows["all"]["cost"] == pytest.approx(outline["cost"] + rows["article"]["cost"], abs=2e-6)


def test_an_unknown_price_is_null_and_never_0(tmp_path):
    rows = by_stage(usage_table(run_with(tmp_path / "run", "some/model")))
    assert {stage: row["cost"] for stage, row in rows.items()} == {
        "outline": None,
        "article": None,
        "all": None,
    }
    assert rows["all"]["prompt_tokens"] == 300


def test_tokens_that_the_engine_did_not_tell_are_null_and_never_0(tmp_path):
    answers = {"outline": [Completion("{}", "stop", 100, 10)], "article": [Completion("x", "stop")]}
    rows = by_stage(usage_table(run_with(tmp_path / "run", answers=answers)))
    assert (rows["article"]["untold"], rows["article"]["prompt_tokens"], rows["article"]["cost"]) == (
        1,
        None,
        None,
    )
    assert (rows["outline"]["prompt_tokens"], rows["all"]["completion_tokens"], rows["all"]["cost"]) == (
        100,
        None,
        None,
    )


def test_questions_put_again_are_counted_by_their_last_turn(tmp_path):
    """A subject whose prompt holds the very words is not one."""
    rows = by_stage(usage_table(run_with(tmp_path / "run", again={("outline", 1)})))
    assert {stage: row["asked_again"] for stage, row in rows.items()} == {
        "outline": 1,
        "article": 0,
        "all": 1,
    }


def test_a_batch_run_costs_half(tmp_path):
    online = by_stage(usage_table(run_with(tmp_path / "a")))["article"]["cost"]
    batch = Corpus(
        tmp_path / "b",
        make_config(engine={"model": "gpt-4o-mini", "kind": "openai_batch"}, waves={"workers": 1}),
    )
    batch.seed("Root").walk(
        Visit("Root"), damage=lambda rows: rows.update(completions=rows_of("gpt-4o-mini", ANSWERS))
    )
    assert by_stage(usage_table(batch.run))["article"]["cost"] == pytest.approx(online / 2, abs=1e-6)


def test_prices_are_the_users_and_null_once_the_file_is_gone(tmp_path):
    prices = tmp_path / "prices.yaml"
    prices.write_text('models: [{match: "some/*", input: 1000000.0, output: 0.0}]')
    run = run_with(tmp_path / "run", "some/model", models_file=str(prices))
    assert by_stage(usage_table(run))["outline"]["cost"] == 100.0
    prices.rename(tmp_path / "gone.yaml")
    load_models.cache_clear()
    assert by_stage(usage_table(run))["outline"]["cost"] is None


def test_status_adds_what_the_journal_holds_but_for_embeddings(tmp_path):
    run = run_with(tmp_path / "run")
    writer = JournalWriter(run.folder, 2, "w")
    late = [(request("ner", "gpt-4o-mini", 1), Completion("{}", "stop", 7, 3))]
    late += [(request("outline", "gpt-4o-mini", 9, again=True), Completion("{}", "stop", 1, 1))]
    late += [(make_request("x", "embedding"), Completion("AAAA", "stop"))]
    writer.append([completion_record(*pair) for pair in late])
    rows = by_stage(status(RunFolder.open(run.uri))["usage"])
    assert (rows["ner"]["calls"], rows["outline"]["calls"], rows["outline"]["asked_again"]) == (1, 3, 1)
    assert (rows["all"]["prompt_tokens"], "embedding" in rows) == (308, False)
    assert "run" not in rows["all"]


def test_a_run_that_has_asked_nothing_has_no_rows(tmp_path):
    run = Corpus(tmp_path / "run").seed("Root").run
    assert (usage_table(run), spent(run), committed(run)) == ([], [], {})


def test_tables_of_an_earlier_version_lack_a_column_and_are_read(tmp_path):
    run = run_with(tmp_path / "run")
    file = tmp_path / "run" / "tables" / "completions" / "wave=00001" / "part.parquet"
    old: pa.Table = pq.ParquetFile(file).read().drop_columns(["cached_tokens", "fallback"])
    pq.write_table(old, file)
    rows = run.read("completions")
    assert rows["fallback"].to_pylist() == [None] * 3
    assert by_stage(usage_table(run))["all"]["prompt_tokens"] == 300
