"""llmpedia/store/lease.py: one writer a run."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest

from llmpedia.errors import InputError
from llmpedia.store import lease as lease_module
from llmpedia.store.files import Folder
from llmpedia.store.lease import NAME, TTL_S, Lease, read_lease
from tests.support.builders.runs import one_line, small_disk

HOLDER = """
import sys, time
from llmpedia.store.files import Folder
from llmpedia.store.lease import Lease
with Lease(Folder(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "run")


@pytest.fixture
def other(folder):
    """A live process that holds the run."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, folder.uri], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def leave(folder, **holder) -> None:
    """The lease of a writer that is not there to give it back."""
    me = {
        "owner": "other",
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "started": psutil.Process().create_time(),
    }
    folder.write(NAME, json.dumps({**me, "renewed": time.time(), **holder}).encode())


def test_a_second_live_writer_is_refused_and_told_who_writes(folder, other):
    with pytest.raises(InputError) as caught, Lease(folder):
        pass
    one_line(
        caught, folder.path(NAME), f"pid {other.pid} on {socket.gethostname()}", "wait for it or stop it"
    )


def test_a_refused_writer_leaves_the_lease_alone(folder, other):
    with pytest.raises(InputError), Lease(folder):
        pass
    assert read_lease(folder)["pid"] == other.pid


@pytest.mark.parametrize("reaped", [True, False], ids=["gone", "zombie"])
def test_the_lease_of_a_killed_writer_is_taken_over(folder, other, reaped):
    other.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    if reaped:
        other.wait()
    with Lease(folder):
        assert read_lease(folder)["pid"] == os.getpid()


def test_a_pid_that_now_is_another_process_holds_nothing(folder):
    leave(folder, started=psutil.Process().create_time() - 1000)
    with Lease(folder):
        assert read_lease(folder)["owner"] != "other"


@pytest.mark.parametrize(
    ("age", "refused"), [(TTL_S - 30, True), (TTL_S + 1, False)], ids=["renewed", "expired"]
)
def test_a_writer_on_another_host_counts_while_it_renews(folder, age, refused):
    leave(folder, host="elsewhere", pid=1, renewed=time.time() - age)
    if refused:
        with pytest.raises(InputError) as caught, Lease(folder):
            pass
        one_line(caught, "pid 1 on elsewhere")
    else:
        with Lease(folder):
            assert read_lease(folder)["host"] == socket.gethostname()


@pytest.mark.parametrize("content", [b"", b'{"owner": "oth', b"\xff\xfe"], ids=["empty", "cut", "not text"])
def test_a_lease_that_a_crash_left_unreadable_is_taken_over(folder, content):
    folder.write(NAME, content)
    with Lease(folder) as lease:
        lease.check()


def test_a_lease_is_gone_after_its_end(folder):
    with Lease(folder):
        pass
    assert not folder.exists(NAME)


def test_a_lease_that_was_taken_over_is_not_removed_by_its_old_owner(folder):
    with Lease(folder):
        leave(folder)
    assert read_lease(folder)["owner"] == "other"


@pytest.mark.parametrize("taken", [True, False], ids=["taken over", "deleted"])
def test_a_lost_lease_is_noticed(folder, taken):
    with Lease(folder) as lease:
        if taken:
            leave(folder, pid=12345)
        else:
            folder.remove(NAME)
        with pytest.raises(InputError) as caught:
            lease.check()
    one_line(
        caught, folder.path(NAME), "lost to", "pid 12345" if taken else "nobody", "nothing was committed"
    )


def renewals(folder, seconds: float) -> set[float]:
    seen = set()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        seen.add((read_lease(folder) or {}).get("renewed"))
        time.sleep(0.02)
    return seen - {None}


def test_a_held_lease_is_renewed(folder, monkeypatch):
    monkeypatch.setattr(lease_module, "RENEW_S", 0.05)
    with Lease(folder):
        assert len(renewals(folder, 0.5)) > 1


def test_a_lost_lease_is_not_renewed_over_its_new_owner(folder, monkeypatch):
    monkeypatch.setattr(lease_module, "RENEW_S", 0.05)
    with Lease(folder):
        leave(folder, renewed=1.0)
        assert renewals(folder, 0.3) == {1.0}


@pytest.mark.filterwarnings("error")
def test_renewal_outlives_a_full_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(lease_module, "RENEW_S", 0.05)
    with small_disk(tmp_path / "disk") as disk, Lease(Folder(disk.folder)):
        disk.fill()
        time.sleep(0.3)
        disk.free()
        assert len(renewals(Folder(disk.folder), 0.5)) > 1


def test_a_full_disk_gives_no_lease_until_space_is_freed(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        folder = Folder(disk.folder)
        disk.fill()
        with pytest.raises(InputError) as caught, Lease(folder):
            pass
        disk.free()
        one_line(caught, folder.path(NAME), disk.hint)
        with Lease(folder) as lease:
            lease.check()


def test_the_error_that_ends_a_run_is_not_hidden_by_a_lease_that_cannot_be_removed(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        with pytest.raises(InputError, match="the cause"), Lease(Folder(disk.folder)):
            disk.read_only(True)
            raise InputError("the cause")
        disk.read_only(False)
