"""SIGTERM is taken as Ctrl-C at any moment of a command: exit code 130, one line, and the same command resumes."""

import signal
import subprocess
import sys
import time

import pytest
from harness import ENV, fingerprint, start_driver, write_config

SLEEPER = """
import signal, sys, time
from llmpedia import cli, interrupts
def command(args):
    print("at work", flush=True)
    try:
        {work}
    finally:
        print("cleaning up", flush=True)
        time.sleep(1)
        print("cleaned up", flush=True)
cli._materialize = command
sys.exit(cli.main(["materialize", "x.yaml"]))
"""


def sleeper(work: str, **options) -> subprocess.Popen:
    """A command that works until it is interrupted, then takes a second to clean up."""
    program = [sys.executable, "-c", SLEEPER.format(work=work)]
    process = subprocess.Popen(program, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    assert process.stdout.readline() == "at work\n"
    time.sleep(0.2)
    return process


def test_a_sigterm_ends_a_command_with_130_and_one_line_and_a_second_one_does_not_cut_its_clean_up_short():
    process = sleeper("time.sleep(60)")
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "cleaning up\n"
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "cleaned up\n")
    assert err == "llmpedia: interrupted; nothing committed is lost, the same command resumes\n"


@pytest.mark.parametrize(
    "before",
    [lambda: signal.signal(signal.SIGINT, signal.SIG_IGN), lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})],
    ids=["ignored", "blocked"],
)
def test_it_does_so_where_ctrl_c_is_ignored_or_blocked_as_in_jobs(before):
    process = sleeper("time.sleep(60)", preexec_fn=before)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 130


def test_it_cancels_what_runs_in_an_event_loop():
    process = sleeper("import asyncio; asyncio.run(asyncio.sleep(60))")
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=20)[0] == "cleaning up\ncleaned up\n"
    assert process.returncode == 130


def test_a_handler_that_ray_sets_meanwhile_is_taken_back():
    ray = "interrupts.signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))"
    work = f"""
        with interrupts.own_sigterm_kept():
            {ray}
        time.sleep(60)"""
    process = sleeper(work.strip())
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 130


def test_a_sigterm_while_ray_starts_is_an_interrupt_too_and_a_second_one_ignored():
    ray = "interrupts.signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))"
    work = f"""
        with interrupts.own_sigterm_kept():
            {ray}
            time.sleep(60)"""
    process = sleeper(work.strip())
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "cleaning up\n"
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, len(err.splitlines())) == (130, "cleaned up\n", 1)


def commits(run) -> int:
    return len(list((run / "waves").glob("*.json"))) if run.exists() else 0


def interrupted(driver, run, log: str) -> None:
    """SIGTERM twice; the driver ends cleanly: code, one line, no lease, a whole run that status can tell of."""
    begin = time.monotonic()
    driver.send_signal(signal.SIGTERM)
    time.sleep(0.05)  # not as late as when Ray has gone down and set the system's default, for a moment
    driver.send_signal(signal.SIGTERM)
    assert driver.wait(60) == 130
    print(f"ended {time.monotonic() - begin:.1f} s after SIGTERM")
    said = (run.parent / "driver.log").read_text()[len(log) :]
    assert said.splitlines()[-1] == "llmpedia: interrupted; nothing committed is lost, the same command resumes"
    assert "Traceback" not in said
    assert not (run / "lease.json").exists()


@pytest.mark.real
def test_a_walk_terminated_again_and_again_is_the_undisturbed_one(head, engine, undisturbed, tmp_path):
    """As a commit ends, and a quarter of a second later each time."""
    config, run = write_config(tmp_path, engine, caps={"articles": 36}, waves={"size": 10}), tmp_path / "run"
    calm = undisturbed.run(articles=36, wave=10)
    (tmp_path / "driver.log").touch()
    for times in range(3):
        log = (tmp_path / "driver.log").read_text()
        driver, before = start_driver(config, run, head), commits(run)
        while commits(run) == before:
            assert driver.poll() is None, f"ended after {times} interruptions"
            time.sleep(0.02)
        time.sleep(0.25 * times)
        interrupted(driver, run, log)
    assert commits(run) < commits(calm)
    assert start_driver(config, run, head).wait(200) == 0
    assert fingerprint(run) == fingerprint(calm)


@pytest.mark.real
def test_a_walk_terminated_while_its_own_ray_starts_leaves_nothing_running(engine, tmp_path):
    import psutil

    config, run = write_config(tmp_path, engine), tmp_path / "run"
    (tmp_path / "driver.log").touch()
    command = [sys.executable, "-m", "llmpedia.cli", "materialize", str(config), "--run", str(run)]
    with (tmp_path / "driver.log").open("a") as log:
        driver = subprocess.Popen(command, env={**ENV, "RAY_ADDRESS": ""}, stdout=log, stderr=log)
    started: set[psutil.Process] = set()
    while not started:
        assert driver.poll() is None
        started = {p for p in psutil.Process(driver.pid).children(recursive=True) if "gcs_server" in p.name()}
        time.sleep(0.05)
    started |= set(psutil.Process(driver.pid).children(recursive=True))
    interrupted(driver, run, "")
    _, alive = psutil.wait_procs(started, timeout=15)
    assert [p.cmdline() for p in alive] == []


def test_a_job_tells_its_exit_code_last_whatever_happens(tmp_path):
    program = """
import sys
from llmpedia import cli
def command(args):
    raise {raises}
cli._materialize = command
sys.exit(cli.job("materialize", "--config", "x.yaml"))
"""
    for raises, code, says in [
        ("KeyboardInterrupt", 130, "exit 130 (stopped from outside): interrupted; nothing committed is lost"),
        ("cli.InputError('no such thing')", 2, "exit 2 (bad configuration or input): no such thing"),
        ("AssertionError('rows do not\\nadd up')", 1, "exit 1 (a defect): AssertionError: rows do not add up"),
    ]:
        command = [sys.executable, "-c", program.format(raises=raises)]
        done = subprocess.run(command, env=ENV, capture_output=True, text=True, check=False)
        assert done.returncode == code
        assert done.stdout.splitlines()[-1].startswith(says)
