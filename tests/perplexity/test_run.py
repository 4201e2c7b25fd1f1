"""A scoring job on real Ray and the small real model: nothing lost, same bytes after kills."""

import json
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest
import yaml

from tests.support.harness import ENV, HERE, Head, fingerprint, llmpedia

pytestmark = pytest.mark.real

PUBLISHED = {
    "benchmark_id": "EB-1",
    "eval": {"question": "Who invented radio?", "gold_answers": [{"value": "Marconi"}]},
}


def write_job(folder, items=24, **sections):
    records = [
        {
            "id": f"q{n}",
            "question": f"In which year was tower {n} built?",
            "answers": [str(1800 + n), f"in {1900 + n}"],
        }
        for n in range(items)
    ]
    records[3] = PUBLISHED
    records[5]["answers"] = ["1900", ""]
    records[9]["answers"] = ["long " * 600]
    lines = [json.dumps(r) for r in records]
    lines[7] = "{broken"
    (folder / "items.jsonl").write_text("\n".join(lines) + "\n")
    config = yaml.safe_load((HERE.parents[1] / "configs" / "ppl.yaml").read_text())
    config["items"]["source"] = str(folder / "items.jsonl")
    config["waves"] = {"size": 6, "workers": 1, "rows_per_batch": 4}
    config["engine"]["context_tokens"] = 512
    config["scorer"]["threads"] = 1
    for name, section in sections.items():
        config[name] = {**config.get(name, {}), **section}
    path = folder / "ppl.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def command(config, run, head: Head) -> list[str]:
    return ["ppl", str(config), "--run", str(run), "--set", f"ray.address={head.address}"]


def rows(run, table):
    files = sorted((run / "tables" / table).glob("*/part.parquet"))
    return [row for f in files for row in pq.read_table(f).to_pylist()]


@pytest.fixture(scope="module")
def calm(head, tmp_path_factory):
    folder = tmp_path_factory.mktemp("calm")
    done = llmpedia(*command(write_job(folder), folder / "run", head))
    assert done.returncode == 0, done.stderr
    return folder, done


def test_every_item_comes_out_once_scored_or_with_its_reason(calm):
    folder, done = calm
    questions = rows(folder / "run", "ppl_questions")
    answers = rows(folder / "run", "ppl_answers")
    assert [q["item"] for q in questions] == list(range(24))
    assert questions[3]["item_id"] == "EB-1"
    assert [q["item"] for q in questions if q["ppl"] is None] == [5, 7, 9]
    assert questions[7]["error"].startswith("item: not JSON")
    assert {a["error"].split(":")[0] for a in answers if a["error"]} == {"empty_answer", "overlength"}
    assert "not scored: 1 empty_answer, 1 item, 1 overlength" in done.stdout
    assert all(len(a["logprobs"]) == a["tokens"] for a in answers if a["error"] is None)
    fingerprint(folder / "run")


def test_killed_and_started_again_gives_the_same_bytes(calm, head, tmp_path):
    config = write_job(tmp_path)
    run = tmp_path / "run"
    driver = subprocess.Popen(
        [sys.executable, "-m", "llmpedia.cli", *command(config, run, head)],
        env=ENV,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 120
    while not (run / "waves" / "00000.json").exists():
        assert driver.poll() is None and time.monotonic() < end
        time.sleep(0.02)
    driver.kill()
    driver.wait()
    committed = len(list((run / "waves").iterdir()))
    assert 1 <= committed < 4
    killed = head.workers("Scorer")
    assert killed
    for process in killed:
        process.kill()
    done = llmpedia(*command(config, run, head))
    assert done.returncode == 0, done.stderr
    assert fingerprint(run) == fingerprint(calm[0] / "run")


def test_vllm_gives_the_same_numbers(calm, head, tmp_path):
    """Both in fp32; the tolerance on the mean is that of docs/ppl.md."""
    config = write_job(tmp_path, engine={"kind": "vllm", "sequences": 16}, waves={"size": 64})
    done = llmpedia(*command(config, tmp_path / "run", head), timeout=400)
    assert done.returncode == 0, done.stderr
    mine = rows(tmp_path / "run", "ppl_answers")
    theirs = rows(calm[0] / "run", "ppl_answers")
    assert [(a["item"], a["tokens"], a["error"]) for a in mine] == [
        (a["item"], a["tokens"], a["error"]) for a in theirs
    ]
    apart = [abs(a["nll"] - b["nll"]) for a, b in zip(mine, theirs, strict=True) if a["error"] is None]
    assert len(apart) > 40
    assert max(apart) < 1e-3
    assert sum(apart) / len(apart) < 1e-4


def test_another_source_or_model_is_refused_for_the_same_folder(calm, head):
    folder, _ = calm
    config = folder / "ppl.yaml"
    run = folder / "run"
    source = folder / "items.jsonl"
    before = source.read_text()
    source.write_text(before + '{"question": "q", "answers": ["a"]}\n')
    changed = llmpedia(*command(config, run, head))
    source.write_text(before)
    assert (changed.returncode, "has changed since it began" in changed.stderr) == (2, True)
    other = llmpedia(*command(config, run, head), "--set", "engine.dtype=bfloat16")
    assert (other.returncode, "engine.dtype was 'float32', is 'bfloat16'" in other.stderr) == (2, True)


def test_a_finished_job_does_nothing_more(calm, head):
    folder, _ = calm
    before = fingerprint(folder / "run")
    started = time.monotonic()
    assert llmpedia(*command(folder / "ppl.yaml", folder / "run", head)).returncode == 0
    assert time.monotonic() - started < 10
    assert fingerprint(folder / "run") == before


def test_an_altered_score_is_found(calm, tmp_path):
    import shutil

    run = tmp_path / "run"
    shutil.copytree(calm[0] / "run", run)
    file = run / "tables/ppl_answers/wave=00001/part.parquet"
    table = pq.read_table(file)
    pq.write_table(table.set_column(table.column_names.index("nll"), "nll", [[1.0] * table.num_rows]), file)
    assert llmpedia("verify", str(run)).returncode == 1


def test_status_tells_where_a_job_stands(calm):
    told = json.loads(llmpedia("status", str(calm[0] / "run")).stdout)
    assert (told["commits"], told["totals"]["ppl_questions"]) == (4, 24)
    assert told["errors"] == {"empty_answer": 1, "item": 1, "overlength": 1}
