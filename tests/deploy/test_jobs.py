"""Jobs on a real cluster: ``ray job submit`` of what the repository holds; how each ends is told by
the last line of its log.
"""

import json
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.support.harness import ENV, HERE, Head, ScriptedEngine, fingerprint, write_config

pytestmark = pytest.mark.real

ROOT = HERE.parents[1]
LIMIT = 100 << 20  # of a job's working directory: Ray's job server answers 413 to more
# Of a job's supervisor, which inherits it from the job: seconds between SIGTERM and SIGKILL, 3 by
# default.
GRACE = json.dumps({"env_vars": {"RAY_JOB_STOP_WAIT_TIME_S": "30"}})


@pytest.fixture(scope="module")
def cluster():
    head = Head(jobs=True)
    yield head
    head.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What a clone holds, and what is to be committed next; not what lies about."""
    folder = tmp_path_factory.mktemp("clone") / "llmpedia"
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    for name in names:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    engine = ScriptedEngine(tmp_path_factory.mktemp("engine"), latency=0.03)
    yield engine
    engine.kill()


@pytest.fixture(scope="module")
def config(folder, engine):
    """Inside of the working directory, as for a user."""
    return write_config(folder / "configs", engine, caps={"articles": 25}).relative_to(folder)


def submit(cluster, folder, *entry: str) -> tuple[subprocess.CompletedProcess, list[str]]:
    """Submit and wait; what ``ray job submit`` answered, and the job's own lines."""
    done = cluster.job(
        "submit",
        f"--submission-id={entry[-1]}",
        "--working-dir=.",
        "--",
        "python",
        *entry[:-1],
        folder=folder,
    )
    return done, log_of(cluster, entry[-1])


def told(cluster, path: str) -> dict:
    """What the job server tells ``ray job status`` (path: the job) and ``ray job logs`` (JOB/logs)."""
    with urllib.request.urlopen(f"http://127.0.0.1:{cluster.dashboard}/api/jobs/{path}") as response:
        return json.loads(response.read())


def log_of(cluster, name: str) -> list[str]:
    """The lines that a job itself wrote."""
    lines = told(cluster, f"{name}/logs")["logs"].splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith("Running entrypoint"))
    return [line for line in lines[begin + 1 :] if line]


@pytest.fixture(scope="module")
def calm(cluster, folder, config, tmp_path_factory):
    """A job left alone: its run folder, what ``ray job submit`` answered, its own lines."""
    run = tmp_path_factory.mktemp("calm") / "run"
    return run, *submit(
        cluster, folder, "jobs/materialize.py", "--config", str(config), "--run", str(run), "calm"
    )


def test_what_is_uploaded_is_far_below_the_limit(folder, config, tmp_path):
    """Packed as Ray packs it: without what .gitignore names and without .git."""
    from ray._private.runtime_env.packaging import create_package

    create_package(str(folder), tmp_path / "package.zip", include_gitignore=True)
    size = (tmp_path / "package.zip").stat().st_size
    print(f"{size / (1 << 20):.2f} MiB")
    assert size < LIMIT / 20


def test_a_job_runs_to_its_end_and_says_so_last(calm):
    run, done, lines = calm
    assert done.returncode == 0, done.stdout
    assert lines[-1] == "exit 0 (done)"
    assert lines[-3].startswith(f"run {run}: 25 articles, ")
    assert lines[-2].endswith(f"next: llmpedia verify {run}; llmpedia report {run}")
    fingerprint(run)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (
            ("jobs/materialize.py", "--config", "configs/demo.yaml", "--set", "caps.articels=9"),
            "did you mean articles?",
        ),
        (
            ("jobs/audit.py", "/nowhere/run", "--config", "configs/audit-demo.yaml"),
            "/nowhere/run: no run.yaml there",
        ),
    ],
    ids=["materialize", "audit"],
)
def test_a_job_that_cannot_work_says_why_last(cluster, folder, entry, says):
    done, lines = submit(cluster, folder, *entry, f"bad-{Path(entry[0]).stem}")
    assert done.returncode != 0
    assert lines[-1].startswith("exit 2 (bad configuration or input): ")
    assert says in lines[-1]


def test_a_run_folder_that_ray_would_remove_is_told_before_any_work(folder, config, tmp_path):
    """A job's working directory is a copy under this name, which is gone when Ray needs the space."""
    copy = tmp_path / "runtime_resources" / "working_dir_files" / "_ray_pkg_1"
    copy.mkdir(parents=True)
    program = [sys.executable, str(folder / "jobs/materialize.py"), "--config", str(folder / config)]
    program += ["--set", "engine.context_tokens=600"]
    env = {**ENV, "PYTHONPATH": str(folder)}
    done = subprocess.run(program, cwd=copy, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    note = (
        f"note: run folder {copy}/runs/config: is in this job's copy of its working directory, "
        f"which Ray removes"
    )
    assert done.stderr.splitlines()[0].startswith(note)


def test_a_stopped_job_leaves_cleanly_and_resumes_when_it_is_submitted_again(
    cluster, folder, config, engine, calm, tmp_path
):
    run = tmp_path / "run"
    entry = ("jobs/materialize.py", "--config", str(config), "--run", str(run))
    options = ("--no-wait", "--submission-id=stopped", f"--runtime-env-json={GRACE}", "--working-dir=.")
    assert cluster.job("submit", *options, "--", "python", *entry, folder=folder).returncode == 0
    end = time.monotonic() + 60
    while len(list((run / "waves").glob("*.json"))) < 2:
        assert time.monotonic() < end, log_of(cluster, "stopped")
        time.sleep(0.05)
    # Nothing is answered from here on: however slow this machine, the walk is not done when it is
    # stopped.
    engine.process.send_signal(signal.SIGSTOP)
    try:
        stopped = cluster.job("stop", "stopped")
    finally:
        engine.process.send_signal(signal.SIGCONT)
    assert "was stopped" in stopped.stdout, stopped.stdout
    assert told(cluster, "stopped")["status"] == "STOPPED"
    last = log_of(cluster, "stopped")[-1]
    assert (
        last
        == "exit 130 (stopped from outside): interrupted; nothing committed is lost, the same command resumes"
    )
    assert not (run / "lease.json").exists()  # it ended by itself and was not killed
    fingerprint(run)
    assert len(list((run / "waves").glob("*.json"))) < len(list((calm[0] / "waves").glob("*.json")))

    done, lines = submit(cluster, folder, *entry, "resumed")
    assert (done.returncode, lines[-1]) == (0, "exit 0 (done)"), done.stdout
    assert fingerprint(run) == fingerprint(calm[0])
