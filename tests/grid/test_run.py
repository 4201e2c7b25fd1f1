"""llmpedia/grid: cells from one file, refused before anything starts, walked side by side, and
asked no question twice.
"""

import hashlib
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import yaml

from llmpedia.cli.main import main
from llmpedia.config.walk import load_config
from llmpedia.engines.models import load_models
from llmpedia.engines.openai import chat_body
from llmpedia.engines.usage import asked, committed
from llmpedia.errors import ConfigError, InputError
from llmpedia.execution import session
from llmpedia.grid.cells import cells_of, chosen, grid_of
from llmpedia.grid.settings import load_grid_config
from llmpedia.grid.sharing import shared_stages, sources_of
from llmpedia.stages import Request
from llmpedia.store.run_folder import RunFolder
from tests.support.builders.runs import OPENAI, Corpus, one_line
from tests.support.harness import (
    ENV,
    ScriptedEngine,
    fingerprint,
    free_port,
    start_driver,
    wait_for,
    write_config,
)

CONFIGS = Path(__file__).parents[2] / "configs"
GRIDS = sorted(
    [*CONFIGS.glob("ablation*.yaml"), *CONFIGS.glob("topics*.yaml"), *CONFIGS.glob("topics/*.yaml")]
)
WALK = {"run": {"seed": "Vannevar Bush"}, "engine": OPENAI, "embedding": OPENAI}
STANCES = {
    "left": {"run": {"persona": "left_leaning"}},
    "neutral": {"run": {"persona": "scientific_neutral"}},
}


def write(folder, data) -> Path:
    path = folder / "grid.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return path


def cells(folder, axes, **walk):
    path = write(folder, {"walk": {**WALK, **walk}, "axes": axes})
    return cells_of(load_grid_config(path), path)


def test_a_cell_is_named_by_its_labels_and_holds_the_sections_of_all_of_them(tmp_path):
    models = {
        "llama-3.3": {"engine": {"model": "big"}},
        "gpt": {"engine": {"model": "small", "concurrency": 9}},
    }
    found = cells(tmp_path, {"stance": STANCES, "model": models})
    told = [(c.name, c.config.run.persona, c.config.engine.model, c.config.engine.concurrency) for c in found]
    assert told == [  # those of one engine stand together
        ("left-llama-3.3", "left_leaning", "big", 256),
        ("neutral-llama-3.3", "scientific_neutral", "big", 256),
        ("left-gpt", "left_leaning", "small", 9),
        ("neutral-gpt", "scientific_neutral", "small", 9),
    ]
    assert [c.config.engine.base_url for c in found] == [OPENAI["base_url"]] * 4


def test_files_are_named_relative_to_whoever_names_them_and_a_label_may_bring_its_own_walk(tmp_path):
    (tmp_path / "walks").mkdir()
    (tmp_path / "walks" / "titles.txt").write_text("One\n")
    (tmp_path / "own.txt").write_text("Two\n")
    titles = {"mode": "titles", "titles": "titles.txt", "seed": None}
    (tmp_path / "walks" / "walk.yaml").write_text(
        yaml.safe_dump({**WALK, "run": titles, "caps": {"depth": 3}})
    )
    axes = {
        "list": {
            "theirs": {"file": "walks/walk.yaml"},
            "own": {"run": {"mode": "titles", "titles": "own.txt"}},
        }
    }
    theirs, own = cells(tmp_path, axes, run={"seed": None})
    assert (theirs.config.run.titles, theirs.config.caps.depth) == (str(tmp_path / "walks" / "titles.txt"), 3)
    assert (own.config.run.titles, own.config.caps.depth) == (str(tmp_path / "own.txt"), None)


@pytest.mark.parametrize(
    ("axes", "parts"),
    [
        (
            {"a": {"x": {"run": {"persna": "left_leaning"}}}},
            ["cell x: ", "run.persna = 'left_leaning'", "did you mean persona?"],
        ),
        (
            {"a": {"x": {"run": {"persona": "angry"}}}},
            ["cell x: ", "run.persona = 'angry'", "scientific_neutral"],
        ),
        ({"a": {"x": {"caps": {"articles": 0}}}}, ["cell x: ", "caps.articles = 0"]),
        (
            {"a": {"x": {"run": {"titles": "none.txt"}}}},
            ["cell x: ", "run.titles = 'none.txt'", "no such file"],
        ),
        ({"a": {"x": {"file": "none.yaml"}}}, ["walk.file = 'none.yaml'", "no such file"]),
        ({"a": {"x": {"file": 3}}}, ["walk.file = 3", "is no path"]),
        ({"a": {"x": {}, "y": {}}}, ["x and y", "one and the same run", "remove one"]),
        (
            {"a": {"x": {}, "x-y": {"engine": {"seed": 1}}}, "b": {"y-z": {}, "z": {}}},
            ["two cells are called x-y-z", "rename"],
        ),
        ({"a": {"../x": {}}}, ["axes.a.../x", "match pattern"]),
        ({"a": {True: {}}}, ["axes.a", "True", "valid string"]),
        ({"a": {}}, ["axes.a = {}", "at least 1"]),
        ({}, ["axes = {}", "at least 1"]),
    ],
)
def test_an_axis_at_fault_is_one_line_and_nothing_is_started(tmp_path, capsys, axes, parts):
    path = write(tmp_path, {"walk": WALK, "axes": axes})
    assert main(["grid", str(path), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    for part in parts:
        assert part in said[0], said[0]
    assert not (tmp_path / "out").exists()


def test_a_folder_of_another_run_is_told_before_any_cell_is_walked(tmp_path, capsys):
    there = cells(tmp_path, {"stance": {"neutral": {"run": {"persona": "conservative"}}}})[0]
    path = write(tmp_path, {"walk": WALK, "axes": {"stance": STANCES}})
    Corpus(tmp_path / "out" / "neutral", there.config).seed("Vannevar Bush")
    assert main(["grid", str(path), "--out", str(tmp_path / "out")]) == 2
    assert "run.persona was 'conservative', is 'scientific_neutral'" in capsys.readouterr().err
    assert not (tmp_path / "out" / "left").exists()


@pytest.mark.parametrize("keyed", ["engine", "embedding", "judge"])
def test_a_key_that_is_not_set_is_told_before_any_cell_is_walked(tmp_path, capsys, monkeypatch, keyed):
    """It was found when the cell came up, after those of other engines had been walked."""
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    far = {"api_key_env": "NO_SUCH_KEY"}
    second = {} if keyed == "judge" else {keyed: far}
    audit = {"engine": {**OPENAI, **far}, "wikipedia": {"contact": "me@x.org"}} if keyed == "judge" else None
    axes = {"model": {"first": {}, "second": {**second, "stages": {"article": {"temperature": 0.1}}}}}
    path = write(tmp_path, {"walk": WALK, "axes": axes, "audit": audit})
    assert main(["grid", str(path), "--out", str(tmp_path / "out")]) == 2
    assert "api_key_env = 'NO_SUCH_KEY'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_audit_at_fault_is_one_line(tmp_path):
    path = write(
        tmp_path, {"walk": WALK, "axes": {"stance": STANCES}, "audit": {"file": str(CONFIGS / "audit.yaml")}}
    )
    with pytest.raises(ConfigError) as caught:
        grid_of(load_grid_config(path), path)
    one_line(caught, "audit: ", "wikipedia.contact: null", "--set audit.wikipedia.contact=ADDRESS")
    whole = grid_of(
        load_grid_config(path, ["audit.wikipedia.contact=me@x.org", "audit.sample.random=7"]), path
    )
    assert (whole.audit.name, whole.audit.config.sample.random, whole.audit.config.sample.hop_whole) == (
        "audit",
        7,
        1,
    )


def test_cells_are_chosen_by_name(tmp_path):
    found = cells(tmp_path, {"stance": STANCES, "n": {"a": {}, "b": {"engine": {"seed": 1}}}})
    assert [c.name for c in chosen(found, ["*-b"])] == ["left-b", "neutral-b"]
    assert chosen(found, []) == found
    with pytest.raises(InputError) as caught:
        chosen(found, ["left-a", "right*"])
    one_line(caught, "--only right*", "left-a, neutral-a")


@pytest.mark.parametrize("path", GRIDS, ids=lambda p: p.stem)
def test_every_grid_of_the_project_has_cells_that_can_be_walked(path):
    whole = grid_of(load_grid_config(path, ["audit.wikipedia.contact=me@x.org"]), path)
    assert len(whole.cells) == {
        "ablation": 8,
        "ablation-rehearsal": 8,
        "all": 15,
        "topics-rehearsal": 30,
    }.get(path.stem, 3)
    if path.parent.name == "topics":
        personas = Counter(c.config.run.persona for c in whole.cells)
        assert set(personas.values()) == {len(whole.cells) // 3}
        assert {(c.config.run.mode, c.config.caps.depth) for c in whole.cells} == {("topic", 2)}


def test_what_the_ablation_shares_is_what_does_not_depend_on_what_differs():
    path = CONFIGS / "ablation.yaml"
    found = {c.name: c for c in cells_of(load_grid_config(path), path)}
    assert len(found) == 8
    operating = found["plain-baseline-minimal"].config
    assert shared_stages(found["plain-calibrated-minimal"].config, operating) == ["outline", "arbitration"]
    assert shared_stages(found["grounded-baseline-minimal"].config, operating) == ["ner", "arbitration"]
    calibrated, baseline = (found[f"grounded-{p}-low"].config for p in ("calibrated", "baseline"))
    assert shared_stages(calibrated, baseline) == ["self_grounding", "outline", "arbitration"]
    assert shared_stages(found["plain-baseline-low"].config, operating) == []
    assert [c.name for c in sources_of(2, list(found.values()))] == ["plain-baseline-minimal"]


def test_engines_that_differ_share_nothing_whatever_their_model_is_called(tmp_path):
    warm = {"stages": {"article": {"temperature": 0.5}}}
    near = cells(tmp_path, {"heat": {"cold": {}, "warm": warm}})
    assert shared_stages(near[0].config, near[1].config) == ["outline", "ner", "arbitration"]
    far = cells(
        tmp_path, {"heat": {"cold": {}, "warm": {**warm, "engine": {"base_url": "http://other:1/v1"}}}}
    )
    assert shared_stages(far[0].config, far[1].config) == []


class CountedSession:
    """Stands in for a session: what was started and ended, without Ray."""

    def __init__(self, config, needs, embeds):
        self.model = config.engine.model

    log: list[str] = []  # noqa: RUF012

    def __enter__(self):
        self.log.append(f"start {self.model}")
        return self

    def __exit__(self, *error):
        self.log.append(f"end {self.model}")


def test_an_engine_is_started_once_for_all_cells_of_its_model(tmp_path, monkeypatch):
    monkeypatch.setattr(session, "Session", CountedSession)
    monkeypatch.setattr(CountedSession, "log", [])
    models = {"big": {"engine": {"model": "big"}}, "small": {"engine": {"model": "small"}}}
    with session.KeptSessions() as sessions:
        for cell in cells(tmp_path, {"stance": STANCES, "model": models}):
            with sessions.open(cell.config, [], True) as opened:
                assert opened.model == cell.config.engine.model
    assert CountedSession.log == ["start big", "end big", "start small", "end small"]


HEAT = {"cold": {}, "warm": {"stages": {"article": {"temperature": 0.5}}}}
PROMPTING = {"plain": {}, "calibrated": {"run": {"prompting": "calibrated"}}}


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    engine = ScriptedEngine(tmp_path_factory.mktemp("engine"), latency=0.01)
    yield engine
    engine.kill()


@pytest.fixture(scope="module")
def grid(engine, head, tmp_path_factory):
    """Two walks that differ in the sampling of their articles alone; the scripted model takes no
    notice of it.
    """
    folder = tmp_path_factory.mktemp("grid")
    walk = write_config(
        folder, engine, caps={"articles": 7}, waves={"size": 6}, ray={"address": head.address}
    )
    return write(folder, {"walk": {"file": str(walk)}, "axes": {"heat": HEAT}})


@pytest.fixture(scope="module")
def calm(grid, engine):
    """The grid's runs, left alone, and how often each body was asked for them."""
    out = grid.parent / "calm"
    assert start(grid, out).wait(200) == 0, (grid.parent / "grid.log").read_text()[-3000:]
    return out, Counter(engine.asked())


def start(grid, out, *args):
    command = [sys.executable, "-m", "llmpedia.cli", "grid", str(grid), "--out", str(out), *args]
    log = (out.parent / "grid.log").open("a")
    return subprocess.Popen(command, env=ENV, stdout=log, stderr=log)


def bodies(run, config) -> list[str]:
    """Hashes of the bodies of all requests that a run has been answered, as the scripted engine
    logs them.
    """
    found = []
    for row in RunFolder.open(str(run)).read("completions").to_pylist():
        messages = tuple((m["role"], m["content"]) for m in json.loads(row["messages"]))
        request = Request(row["stage"], row["model"], messages, row["constraint"], row["sampling"])
        body = chat_body(request, config.engine.extra, load_models(None), False)
        found.append(hashlib.sha256(json.dumps(body).encode()).hexdigest())
    return found


@pytest.mark.real
def test_a_question_that_two_cells_have_in_common_is_asked_once(calm, grid, engine):
    out, times = calm
    config = load_config(grid.parent / "config.yaml")
    cold, warm = (bodies(out / name, config) for name in HEAT)
    assert {times[body] for body in {*cold, *warm}} == {1}
    shared = len(set(cold) & set(warm))
    assert shared == len(cold) - 7  # all but the articles

    run = RunFolder.open(str(out / "warm"))
    assert {stage for (stage, _), used in asked(run).items() if used.calls} == {"article"}
    assert sum(used.reused for used in asked(run).values()) == shared
    assert sum(used.calls for used in committed(run).values()) == len(warm)
    assert not any("reused" in m.facts for m in RunFolder.open(str(out / "cold")).manifests)

    before = len(engine.asked())
    assert main(["grid", str(grid), "--out", str(out)]) == 0  # finished: without Ray, in this very process
    assert len(engine.asked()) == before


@pytest.mark.real
def test_a_run_that_was_spared_questions_is_the_run_it_would_have_been(calm, grid, head, tmp_path):
    alone = start_driver(
        grid.parent / "config.yaml", tmp_path / "alone", head, "--set", "stages.article.temperature=0.5"
    )
    assert alone.wait(200) == 0
    assert fingerprint(tmp_path / "alone") == fingerprint(calm[0] / "warm")


@pytest.mark.real
def test_a_grid_that_is_killed_goes_on_where_it_was_and_ends_the_same(calm, grid, tmp_path):
    out = tmp_path / "killed"
    driver = start(grid, out)
    end = time.monotonic() + 200
    while not (out / "warm" / "waves" / "00001.json").exists():
        assert driver.poll() is None and time.monotonic() < end, (tmp_path / "grid.log").read_text()[-3000:]
        time.sleep(0.02)
    driver.kill()
    driver.wait()
    assert len(RunFolder.open(str(out / "warm")).manifests) < len(
        RunFolder.open(str(calm[0] / "warm")).manifests
    )
    assert start(grid, out).wait(200) == 0, (tmp_path / "grid.log").read_text()[-3000:]
    for name in HEAT:
        assert fingerprint(out / name) == fingerprint(calm[0] / name)
        there, want = (RunFolder.open(str(folder / name)).manifests for folder in (out, calm[0]))
        assert [m.sha256 for m in there] == [m.sha256 for m in want]  # what was reused is told alike


@pytest.mark.real
def test_every_cell_is_audited_and_another_engine_is_never_taken_answers_from(head, tmp_path):
    port = free_port()
    serve = [
        sys.executable,
        "-m",
        "llmpedia.cli",
        "rehearse",
        "serve",
        "--port",
        str(port),
        "--set",
        "entities=300",
    ]
    world = subprocess.Popen(serve, env=ENV, stderr=(tmp_path / "world.log").open("w"))
    try:
        wait_for(port, 60)
        url = f"http://127.0.0.1:{port}"
        here = {"base_url": f"{url}/v1"}
        common = {"waves": {"size": 8, "workers": 1}, "ray": {"address": head.address}}
        walk = {
            "file": str(CONFIGS / "rehearsal.yaml"),
            "engine": here,
            "embedding": here,
            "caps": {"articles": 4},
            **common,
        }
        audit = {
            "file": str(CONFIGS / "audit-rehearsal.yaml"),
            "engine": here,
            "sample": {"random": 4},
            **common,
        }
        audit |= {"wikipedia": {"api_url": f"{url}/w/api.php"}, "audit": {"tiers": ["wikipedia"]}}
        path = write(tmp_path, {"walk": walk, "axes": {"prompting": PROMPTING}, "audit": audit})
        assert start(path, tmp_path / "out").wait(120) == 0, (tmp_path / "grid.log").read_text()[-3000:]
    finally:
        world.kill()
        world.wait()
    for name in PROMPTING:
        fingerprint(tmp_path / "out" / name / "audits" / "audit-rehearsal")
    said = (tmp_path / "grid.log").read_text()
    assert f"next: llmpedia report {tmp_path}/out/* --out DIR" in said
    assert f"llmpedia audit report {tmp_path}/out/*/audits/audit-rehearsal --out DIR" in said

    sets = [
        f"engine.base_url={url}/v1",
        f"embedding.base_url={url}/v1",
        f"reuse=[{tmp_path}/out/plain]",
        "engine.seed=7",
    ]
    args = [part for s in sets for part in ("--set", s)]
    assert (
        main(["materialize", str(CONFIGS / "rehearsal.yaml"), "--run", str(tmp_path / "other"), *args]) == 2
    )
    assert not (tmp_path / "other").exists()
