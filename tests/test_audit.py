"""An audit on real Ray against the rehearsal world, over HTTP: whole, resumable, the same whatever was killed."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from harness import ENV, fingerprint, free_port, llmpedia, start_driver, wait_for

from llmpedia.store.files import Folder
from llmpedia.store.journal import read_piece, wave_folder
from llmpedia.store.runfolder import RunFolder

ROOT = Path(__file__).parent.parent


class World:
    """The rehearsal world as a process."""

    def __init__(self, folder, *settings):
        self.port = free_port()
        sets = ("entities=3000", "links=12", *settings)
        command = [sys.executable, "-m", "llmpedia.cli", "rehearse", "serve", "--port", str(self.port), "--seed", "1"]
        command += [part for s in sets for part in ("--set", s)]
        self.sets = [part for s in sets for part in ("--set", s)]
        self.process = subprocess.Popen(command, env=ENV, stderr=(folder / "world.log").open("w"))
        wait_for(self.port, 60)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Slow enough to be killed at work."""
    world = World(tmp_path_factory.mktemp("world"), "latency.kind=constant", "latency.mean_s=0.1")
    yield world
    world.process.kill()
    world.process.wait()


@pytest.fixture(scope="module")
def run(world, head, tmp_path_factory):
    """A run of 40 articles."""
    folder = tmp_path_factory.mktemp("walked")
    base = f"{world.url}/v1"
    sets = [f"engine.base_url={base}", f"embedding.base_url={base}", "engine.concurrency=16"]
    sets += ["caps.articles=40", "waves.size=20", "waves.workers=1"]
    config = ROOT / "configs" / "rehearsal.yaml"
    driver = start_driver(config, folder / "run", head, *[part for s in sets for part in ("--set", s)])
    assert driver.wait(300) == 0, (folder / "driver.log").read_text()[-3000:]
    return folder / "run"


def audit_config(folder, world, **sections):
    data = yaml.safe_load((ROOT / "configs" / "audit-rehearsal.yaml").read_text())
    changed = {
        "sample": {"random": 40},
        "wikipedia": {"api_url": f"{world.url}/w/api.php"},
        "web": {"base_url": f"http://localhost:{world.port}"},
        "engine": {"base_url": f"{world.url}/v1"},
        "waves": {"size": 8, "workers": 1},
    }
    for part in (changed, sections):
        for name, section in part.items():
            data[name] = {**data.get(name, {}), **section}
    path = folder / "audit.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def start_audit(config, run, head, folder, name):
    command = [sys.executable, "-m", "llmpedia.cli", "audit", str(run), "--config", str(config), "--name", name]
    log = (folder / "audit.log").open("a")
    return subprocess.Popen([*command, "--set", f"ray.address={head.address}"], env=ENV, stdout=log, stderr=log)


@pytest.fixture(scope="module")
def calm(world, run, head, tmp_path_factory):
    """An audit left alone, and what it said."""
    folder = tmp_path_factory.mktemp("calm")
    done = start_audit(audit_config(folder, world), run, head, folder, "calm").wait(300)
    said = (folder / "audit.log").read_text()
    assert done == 0, said[-3000:]
    return run / "audits" / "calm", said


@pytest.mark.real
def test_an_audit_is_whole_and_recovers_the_planted_verdicts(world, calm, tmp_path):
    audit, said = calm
    assert "table_06_hops" in said
    fingerprint(audit)
    scored = llmpedia("rehearse", "score", str(audit), "--seed", "1", *world.sets)
    assert scored.returncode == 0, scored.stdout + scored.stderr
    out = llmpedia("audit", "report", str(audit), "--out", str(tmp_path / "report"), "--similarity")
    assert out.returncode == 0, out.stderr
    assert (tmp_path / "report" / "table_06_hops.tex").exists()
    assert (tmp_path / "report" / "similarity.parquet").exists()
    sheet = llmpedia("audit", "sample-for-review", str(audit), "--each", "3", "--out", str(tmp_path / "sheet.csv"))
    assert sheet.returncode == 0, sheet.stderr


@pytest.mark.real
def test_a_killed_audit_resumes_to_the_same_bytes_and_asks_nothing_again(world, run, calm, head, tmp_path):
    """Two workers, where the calm one has had one."""
    config = audit_config(tmp_path, world, engine={"concurrency": 8}, waves={"workers": 2})
    storm = run / "audits" / "storm"
    for pause in (4, 7, 9):
        driver = start_audit(config, run, head, tmp_path, "storm")
        wait_until_journaled(storm, driver)
        time.sleep(pause / 4)
        driver.kill()
        driver.wait()
        keys = journaled_keys(storm)
        assert len(keys) == len(set(keys)), "what the journal held was asked again"
    assert start_audit(config, run, head, tmp_path, "storm").wait(300) == 0
    fingerprint(storm)
    assert verdicts_of(storm) == verdicts_of(calm[0])


def wait_until_journaled(audit, driver):
    """Until the wave under way has answers on disk."""
    end = time.monotonic() + 120
    while time.monotonic() < end and driver.poll() is None:
        if list(audit.glob("journal/*/*.jsonl")):
            return
        time.sleep(0.1)
    raise AssertionError(f"no answer in the journal of {audit}")


def journaled_keys(audit):
    """Keys of all answers in the journal of the wave under way, one for each time they were written."""
    folder = Folder(audit)
    wave = RunFolder.open(str(audit)).last_wave + 1
    return [r["key"] for name in folder.list(wave_folder(wave)) for r in read_piece(folder, name)]


def verdicts_of(audit):
    folder = RunFolder.open(str(audit))
    rows = [folder.read(t).to_pylist() for t in ("sample", "audited", "claims", "verdicts", "completions")]
    evidence = folder.read("evidence", columns=["subject_id", "tier", "outcome", "provider"]).to_pylist()
    return [*rows, evidence]


@pytest.mark.real
def test_what_cannot_work_is_refused_before_any_work(run, world, tmp_path):
    config = audit_config(tmp_path, world, wikipedia={"contact": None})
    done = llmpedia("audit", str(run), "--config", str(config), "--name", "never")
    assert done.returncode == 2
    assert "wikipedia.contact" in done.stderr
    assert not (run / "audits" / "never").exists()
