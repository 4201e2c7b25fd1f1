"""A probe on real Ray against the rehearsal world, over HTTP: built, killed, run, graded, reported."""

import gzip
import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from llmpedia.probe.benchmark.run import last_rows
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import RunFolder
from llmpedia.tables import table
from tests.support.builders.probe_folders import PUBLISHED
from tests.support.harness import ENV, fingerprint, free_port, llmpedia, wait_for

ROOT = Path(__file__).parents[3]
PLANTED = {"facts": 10, "agreeing": 4, "noise": 10, "unverified": 0.2}
SETS = ["entities=3000", *(f"disagreements.{name}={value}" for name, value in PLANTED.items())]
ARGS = ["--seed", "1", *(part for s in SETS for part in ("--set", s))]
MODELS = ("small", "large", "large-thinking")

pytestmark = pytest.mark.real


class World:
    """The rehearsal world as a process."""

    def __init__(self, folder, *settings):
        self.port = free_port()
        command = [sys.executable, "-m", "llmpedia.cli", "rehearse", "serve", "--port", str(self.port), *ARGS]
        command += [part for s in settings for part in ("--set", s)]
        self.process = subprocess.Popen(command, env=ENV, stderr=(folder / "world.log").open("w"))
        wait_for(self.port, 60)

    def close(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("world"))
    yield world
    world.close()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    done = llmpedia("rehearse", "corpus", *ARGS, "--out", str(folder))
    assert done.returncode == 0, done.stderr
    return folder


def config_of(name, folder, world, **sections):
    """A configuration of the project with this world's addresses."""
    text = (ROOT / "configs" / name).read_text().replace(":8765", f":{world.port}")
    data = yaml.safe_load(text)
    for section, values in sections.items():
        data[section] = {**data[section], **values} if isinstance(values, dict) else values
    path = folder / name
    path.write_text(yaml.safe_dump(data))
    return path


def build_config(folder, world, corpus, **sections):
    small = {"corpus": {"source": str(corpus)}, "waves": {"size": 150}, "pairs": {"per_document": 10}}
    return config_of("probe-build-rehearsal.yaml", folder, world, **{**small, **sections})


def start_build(config, run, head):
    command = [sys.executable, "-m", "llmpedia.cli", "probe", "build", str(config), "--run", str(run)]
    log = (run.parent / f"{run.name}.log").open("a")
    return subprocess.Popen(
        [*command, "--set", f"ray.address={head.address}"], env=ENV, stdout=log, stderr=log
    )


def export(run, path):
    done = llmpedia("probe", "export", str(run), "--out", str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    return path.read_bytes()


@pytest.fixture(scope="module")
def built(world, corpus, head, tmp_path_factory):
    """An undisturbed build and its export."""
    folder = tmp_path_factory.mktemp("calm")
    assert start_build(build_config(folder, world, corpus), folder / "build", head).wait(400) == 0, (
        folder / "build.log"
    ).read_text()[-3000:]
    return folder / "build", export(folder / "build", folder / "benchmark.jsonl")


def test_a_build_finds_what_was_planted_and_says_what_it_lost(built, tmp_path):
    run, _ = built
    fingerprint(run)
    scored = llmpedia("rehearse", "score", str(run), *ARGS, "--json", str(tmp_path / "score.json"))
    assert scored.returncode == 0, scored.stdout + scored.stderr
    said = (run.parent / "build.log").read_text()
    assert "check: web" in said
    assert "no human has seen these questions" in said


def test_a_killed_build_gives_the_same_export(built, world, corpus, head, tmp_path):
    calm, want = built
    slow = World(tmp_path, "latency.kind=constant", "latency.mean_s=0.05")
    rng = random.Random(7)
    run = tmp_path / "storm"
    kills = 0
    try:
        config = build_config(tmp_path, slow, corpus, engine={"concurrency": 16})
        while kills < 5:
            driver = start_build(config, run, head)
            began = time.monotonic()
            until = committed(run) + rng.randint(0, 3)
            while driver.poll() is None and time.monotonic() - began < 120 and committed(run) < until + 1:
                time.sleep(0.1)
            if driver.poll() is not None:
                break
            driver.kill()
            driver.wait()
            kills += 1
        assert start_build(config, run, head).wait(400) == 0, (tmp_path / "storm.log").read_text()[-3000:]
    finally:
        slow.close()
    assert kills >= 3
    fingerprint(run)
    assert export(run, tmp_path / "storm.jsonl") == want
    for name in ("documents", "pairs", "relations", "subgraphs", "questions"):
        assert rows_of(run, name) == rows_of(calm, name), name


def committed(run):
    return len(list(run.glob("waves/*.json")))


def rows_of(run, name):
    return RunFolder.open(str(run)).read(name).drop_columns(["wave"]).to_pylist()


@pytest.fixture(scope="module")
def answered(built, world, head, tmp_path_factory):
    """Three models run on the export and graded."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "b.jsonl").write_bytes(built[1])
    config = config_of(
        "probe-run-rehearsal.yaml", folder, world, benchmark=str(built[0]), ray={"address": head.address}
    )
    for action in ("run", "grade"):
        done = llmpedia("probe", action, str(config), "--run", str(folder / "run"))
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "run", config


def test_planted_recall_is_recovered_exactly(answered):
    run, _ = answered
    for name in MODELS:
        for folder in (run / "models" / name, run / "models" / name / "grades"):
            fingerprint(folder)
        scored = llmpedia("rehearse", "score", str(run / "models" / name), *ARGS)
        assert scored.returncode == 0, scored.stdout + scored.stderr


def test_a_report_of_three_models_has_every_table_but_what_its_data_lack(answered, tmp_path):
    run, _ = answered
    done = llmpedia("probe", "report", str(run), "--out", str(tmp_path / "report"))
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "report").iterdir()}
    want = (
        "table_01_results.tex fields.csv scale.md reasoning.parquet oracle.csv formulation.csv "
        "exposure.svg oracle.png index.html"
    )
    assert set(want.split()) <= names
    missing = {
        row.split(":")[2].strip().rstrip(";")
        for row in done.stdout.splitlines()
        if row.startswith("missing: ")
    }
    assert not {"table_01_results", "oracle", "formulation"} & missing


def test_what_failed_is_asked_again_and_nothing_else(answered):
    run, config = answered
    uri = str(run / "models" / "small")
    folder = RunFolder.open(uri)
    first = next(iter(last_rows(folder, "responses").values()))
    failed = {
        **{k: first[k] for k in table("responses", []).column_names},
        "attempt": 2,
        "text": None,
        "error": "engine: failed",
    }
    with Lease(folder.folder) as lease:
        facts = {"counts": {"responses": 1, "outcomes": {}}, "totals": {"responses": 0}}
        folder.commit(lease, {"responses": table("responses", [failed])}, facts)
    before = folder.last_wave
    for action in ("run", "grade"):
        done = llmpedia("probe", action, str(config), "--run", str(run), "--model", "small")
        assert done.returncode == 0, done.stderr
    folder = RunFolder.open(uri)
    again = folder.read("responses", [before + 1]).to_pylist()
    assert [(row["benchmark_id"], row["attempt"], row["error"]) for row in again] == [
        (first["benchmark_id"], 3, None)
    ]
    assert folder.last_wave == before + 1


def test_a_published_file_runs_and_scores_unchanged(built, world, head, tmp_path):
    with gzip.open(tmp_path / "eb.jsonl.gz", "wt") as f:
        f.write(json.dumps(PUBLISHED) + "\n")
    config = config_of(
        "probe-run-rehearsal.yaml",
        tmp_path,
        world,
        benchmark=str(tmp_path / "eb.jsonl.gz"),
        ray={"address": head.address},
    )
    for action in ("run", "grade"):
        done = llmpedia("probe", action, str(config), "--run", str(tmp_path / "run"), "--model", "small")
        assert done.returncode == 0, done.stdout + done.stderr
    done = llmpedia("probe", "report", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    assert "small" in done.stdout


def test_what_cannot_work_is_refused_before_any_work(world, tmp_path):
    config = build_config(tmp_path, world, tmp_path / "nowhere")
    done = llmpedia("probe", "build", str(config), "--run", str(tmp_path / "never"))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("llmpedia: corpus.source = ")
    assert not (tmp_path / "never" / "waves").exists()
