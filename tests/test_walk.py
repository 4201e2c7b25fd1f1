"""The walk on real Ray with the scripted engine: modes, caps, faults, determinism, errors before any work."""

import pyarrow.dataset as pads
import pytest
from harness import ScriptedEngine, fingerprint, llmpedia, start_driver, write_config
from scripted_engine import name_of

from llmpedia.store.runfolder import RunFolder

pytestmark = pytest.mark.real


def rows(run, table):
    return pads.dataset(run / "tables" / table, partitioning="hive").to_table().to_pylist()


def walk(config, run, head, *sets):
    args = [a for s in sets for a in ("--set", s)]
    code = start_driver(config, run, head, *args).wait(280)
    assert code == 0, (run.parent / "driver.log").read_text()[-3000:]
    return fingerprint(run)


def hashes(run):
    return {f.name: f.sha256 for m in RunFolder.open(str(run)).manifests for f in m.files}


def test_workers_arrival_and_retried_faults_do_not_change_a_byte(head, undisturbed, tmp_path):
    """One worker; five with random delays, against an endpoint that refuses every 7th request."""
    calm = undisturbed.run(articles=26, wave=20)
    engine = ScriptedEngine(tmp_path, latency=0.05, fail_every=7)
    try:
        config = write_config(tmp_path, engine, caps={"articles": 26}, waves={"size": 20})
        whole = walk(config, tmp_path / "run", head, "waves.workers=5")
    finally:
        engine.kill()
    assert whole == fingerprint(calm)
    assert hashes(tmp_path / "run") == hashes(calm)


def test_raised_caps_resume_and_expand_what_was_cut(head, engine, tmp_path):
    config, run = write_config(tmp_path, engine, waves={"size": 25}), tmp_path / "run"
    walk(config, run, head, "caps.depth=1", "caps.subjects=15", "caps.articles=100")
    first = {a["subject_id"] for a in rows(run, "articles")}
    fates = {c["fate"] for c in rows(run, "candidates")}
    assert {"depth_cap"} <= fates or {"subject_cap"} <= fates
    assert max(s["hop"] for s in rows(run, "subjects")) == 1
    walk(config, run, head, "caps.depth=2", "caps.subjects=40", "caps.articles=100")
    subjects = rows(run, "subjects")
    assert len(rows(run, "entities")) == 40
    assert {s["subject_id"] for s in subjects if s["visit"] == "expand"} <= first
    assert any(s["visit"] == "expand" for s in subjects)
    assert len({a["subject_id"] for a in rows(run, "articles")}) == len(rows(run, "articles")) > len(first)
    again = len(engine.asked())
    walk(config, run, head, "caps.depth=2", "caps.subjects=40", "caps.articles=100")
    assert len(engine.asked()) == again


def test_topic_mode_walks_a_seed_list_to_its_depth(head, engine, tmp_path):
    (tmp_path / "seeds.txt").write_text(f"{name_of(1)}\n{name_of(2)}\n{name_of(2).upper()}\n")
    topic = {"mode": "topic", "root_topic": "Ancient Babylon", "titles": str(tmp_path / "seeds.txt"), "seed": None}
    config = write_config(tmp_path, engine, run=topic, caps={"depth": 1, "articles": 16}, waves={"size": 20})
    walk(config, tmp_path / "run", head)
    subjects, completions = rows(tmp_path / "run", "subjects"), rows(tmp_path / "run", "completions")
    assert [s["name"] for s in subjects if s["hop"] == 0] == [name_of(1), name_of(2)]
    assert max(s["hop"] for s in subjects) == 1
    assert all("Ancient Babylon" in c["messages"] for c in completions if c["stage"] in ("outline", "article", "ner"))
    assert [c["fate"] for c in rows(tmp_path / "run", "candidates") if c["parent_id"] is None].count("wave_duplicate") == 1


def test_title_list_mode_writes_articles_and_expands_none(head, engine, tmp_path):
    (tmp_path / "titles.txt").write_text("".join(f"{name_of(n)}\n" for n in range(12)))
    titles = {"mode": "titles", "titles": str(tmp_path / "titles.txt"), "seed": None}
    walk(write_config(tmp_path, engine, run=titles), tmp_path / "run", head)
    assert len(rows(tmp_path / "run", "articles")) == 12
    assert {c["fate"] for c in rows(tmp_path / "run", "candidates")} == {"queued"}
    assert not any("embedding" in c["stage"] for c in rows(tmp_path / "run", "completions"))


def test_a_dead_engine_ends_with_exit_code_3_and_the_run_resumes(head, engine, tmp_path):
    config = write_config(tmp_path, engine, caps={"articles": 4}, retries={"attempts": 2, "first_wait_s": 0.1})
    run = tmp_path / "run"
    engine.kill()
    done = llmpedia("materialize", str(config), "--run", str(run), "--set", f"ray.address={head.address}")
    assert done.returncode == 3
    assert "no answer in 2 tries" in done.stderr.splitlines()[-1]
    engine.start()
    walk(config, run, head)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("engine.model=/nowhere/model", "no such folder"),
        ("engine.accelerator=A100", "available: 1 node(s) with 0 GPUs"),
        ("engine.context_tokens=600", "set it to"),
    ],
)
def test_what_cannot_work_is_refused_before_any_work(head, tmp_path, setting, says):
    run = tmp_path / "run"
    args = ("--set", f"ray.address={head.address}", "--set", setting)
    done = llmpedia("materialize", "configs/demo.yaml", "--run", str(run), *args)
    assert done.returncode in (2, 3)
    assert says in done.stderr.splitlines()[-1]
    assert not (run / "waves").exists()
