"""What the tests on real parts start: a private Ray head, the scripted engine, drivers; all ended by process id."""

import contextlib
import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import yaml

from llmpedia.cli import main

HERE = Path(__file__).parent
RAY = str(Path(sys.executable).parent / "ray")
ENV = {**os.environ, "HF_HUB_OFFLINE": "1", "RAY_AUTH_MODE": "disabled", "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1"}
ENV.pop("PYTHONDONTWRITEBYTECODE", None)  # a third of a second for each of some hundred processes


def free_port() -> int:
    """A free port outside Ray's worker range (10002 to 19999)."""
    while True:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        if not 10000 <= port < 20000:
            return port


def wait_for(port: int, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError(f"nothing listens on port {port}")


class Head:
    """A local Ray cluster of one node, in a session of its own. ``jobs``: with the server of ``ray job submit``.

    ``env``: of all its processes, beside ``ENV``.
    """

    def __init__(self, jobs: bool = False, env: dict[str, str] | None = None, cpus: int = 16) -> None:
        self.dashboard = free_port() if jobs else None
        self.env, self.cpus = env or {}, cpus
        self.start()

    def start(self) -> None:
        self.port = free_port()
        self.temp = tempfile.mkdtemp(prefix="lp-ray-", dir="/tmp")
        command = [RAY, "start", "--head", "--block", f"--port={self.port}"]
        command += ["--node-ip-address=127.0.0.1", f"--num-cpus={self.cpus}", f"--temp-dir={self.temp}"]
        command += ["--object-store-memory=300000000", "--disable-usage-stats"]
        if self.dashboard is None:
            command += ["--include-dashboard=false"]
        else:
            command += ["--include-dashboard=true", "--dashboard-host=127.0.0.1", f"--dashboard-port={self.dashboard}"]
            ports = ("dashboard-agent-listen-port", "dashboard-agent-grpc-port", "metrics-export-port", "ray-client-server-port")
            command += [f"--{name}={free_port()}" for name in ports]
        # Entry points of jobs are looked up in the head's PATH. At its end there is nothing to drain for half a minute.
        env = {**ENV, **self.env, "PATH": f"{Path(RAY).parent}:{ENV['PATH']}", "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0"}
        self._run(command, env)
        if self.dashboard is not None:
            wait_for(self.dashboard, 60)
            time.sleep(3)  # until its agents take jobs

    def _run(self, command: list[str], env: dict[str, str]) -> None:
        """``ray start``, until it says that all is up."""
        file = Path(self.temp) / "node.log"
        with file.open("w") as log:
            self.process = subprocess.Popen(command, env=env, stdout=log, stderr=log, start_new_session=True)
        end = time.monotonic() + 60
        while "Ray runtime started" not in file.read_text():
            assert time.monotonic() < end and self.process.poll() is None, file.read_text()
            time.sleep(0.1)

    def job(self, *args: str, folder: Path | None = None) -> subprocess.CompletedProcess:
        """``ray job ...`` to its end."""
        command = [RAY, "job", args[0], f"--address=http://127.0.0.1:{self.dashboard}", *args[1:]]
        return subprocess.run(command, env=ENV, cwd=folder, capture_output=True, text=True, timeout=280, check=False)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def workers(self, title: str) -> list[psutil.Process]:
        """Worker processes of this head whose title holds ``title``."""
        found = []
        for p in psutil.Process(self.process.pid).children(recursive=True):
            try:
                if title in " ".join(p.cmdline()):
                    found.append(p)
            except psutil.Error:
                continue
        return found

    def kill(self) -> None:
        """SIGKILL all of it at once."""
        for p in [psutil.Process(self.process.pid), *psutil.Process(self.process.pid).children(recursive=True)]:
            p.kill()
        self.process.wait()
        shutil.rmtree(self.temp, ignore_errors=True)

    def close(self) -> None:
        children = psutil.Process(self.process.pid).children(recursive=True)
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        for p in children:
            if p.is_running():
                p.kill()
        shutil.rmtree(self.temp, ignore_errors=True)


class Node(Head):
    """A further node of a head's cluster. ``number``: of its own loopback address, or drivers would take it for theirs."""

    def __init__(self, head: Head, number: int, cpus: int) -> None:
        self.head, self.number = head, number
        super().__init__(cpus=cpus)

    def start(self) -> None:
        self.port, self.temp = self.head.port, tempfile.mkdtemp(prefix="lp-ray-", dir="/tmp")
        command = [RAY, "start", "--block", f"--address={self.head.address}", f"--node-ip-address=127.0.0.{self.number + 1}"]
        command += [f"--num-cpus={self.cpus}", "--object-store-memory=100000000", "--disable-usage-stats"]
        command += [f"--dashboard-agent-listen-port={free_port()}", f"--metrics-export-port={free_port()}"]
        self._run(command, {**ENV, "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0"})  # two at once get in each other's way

    def raylet(self) -> psutil.Process:
        """The node itself, to Ray: with it all its workers go."""
        return next(p for p in psutil.Process(self.process.pid).children() if p.name() == "raylet")


class ScriptedEngine:
    """The scripted model as a process that can be killed and comes back on its port."""

    def __init__(self, folder: Path, latency: float = 0.0, fail_every: int = 0) -> None:
        self.port, self.log = free_port(), folder / "requests.log"
        self.log.touch()
        self._args = ["--latency", str(latency), "--fail-every", str(fail_every)]
        self.start()

    def start(self) -> None:
        command = [sys.executable, str(HERE / "scripted_engine.py"), str(self.port), str(self.log), *self._args]
        self.process = subprocess.Popen(command)
        wait_for(self.port)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def asked(self) -> list[str]:
        return self.log.read_text().split()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


def write_config(folder: Path, server: ScriptedEngine, **sections: dict) -> Path:
    """A small walk against the scripted engine."""
    data = {
        "run": {"seed": "Vannevar Bush"},
        "caps": {"articles": 60},
        "waves": {"size": 10, "workers": 1, "rows_per_batch": 1},
        "article": {"words": 100, "sections": [2, 3]},
        "engine": {"kind": "openai", "model": "scripted", "base_url": server.url, "concurrency": 16, "request_timeout_s": 20},
        "embedding": {"kind": "openai", "model": "scripted", "base_url": server.url, "batch": 16},
        "retries": {"attempts": 8, "first_wait_s": 0.2, "max_wait_s": 2.0},
    }
    for name, section in sections.items():
        data[name] = {**data.get(name, {}), **section}
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def llmpedia(*args: str, env: dict | None = None, timeout: float = 300) -> subprocess.CompletedProcess:
    """Run the command to its end."""
    command = [sys.executable, "-m", "llmpedia.cli", *args]
    return subprocess.run(command, env={**ENV, **(env or {})}, capture_output=True, text=True, timeout=timeout, check=False)


def start_driver(config: Path, run: Path, head: Head, *args: str) -> subprocess.Popen:
    """A driver that can be killed."""
    command = [sys.executable, "-m", "llmpedia.cli", "materialize", str(config), "--run", str(run)]
    command += ["--set", f"ray.address={head.address}", *args]
    log = (run.parent / "driver.log").open("a")
    return subprocess.Popen(command, env=ENV, stdout=log, stderr=log)


class UndisturbedWalks:
    """Runs of the scripted engine by one worker, one run for each size, walked when it is first asked for."""

    def __init__(self, head: Head, folder: Path) -> None:
        self.head, self.folder = head, folder

    def run(self, articles: int, wave: int) -> Path:
        """The finished run of so many articles, walked in waves of such a size."""
        folder = self.folder / f"{articles}-{wave}"
        if not folder.exists():
            folder.mkdir()
            engine = ScriptedEngine(folder, latency=0.01)
            try:
                config = write_config(folder, engine, caps={"articles": articles}, waves={"size": wave})
                ended = start_driver(config, folder / "run", self.head).wait(300)
            finally:
                engine.kill()
            assert ended == 0, (folder / "driver.log").read_text()[-3000:]
        return folder / "run"


def fingerprint(run: Path) -> str:
    """The fingerprint, after ``verify`` has found the run whole."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main(["verify", str(run)])
    assert code == 0, said.getvalue()
    return said.getvalue().splitlines()[-1].removeprefix("fingerprint: ")
