"""The served application on a real Ray head, put there by ``serve deploy``; the rehearsal world is
its judge.
"""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import yaml

from serving.settings import ServeConfig, load_serve_config
from tests.support.harness import ENV, Head, free_port, wait_for

ROOT = Path(__file__).parents[2]
SERVE = str(Path(sys.executable).parent / "serve")
KEY = "a-key-that-no-log-may-hold"
WORLD = ["--seed", "5", "--set", "entities=3000", "--set", "links=20"]
APP = "llmpedia"


class Rehearsal:
    """``llmpedia rehearse serve`` as a process."""

    def __init__(self) -> None:
        self.port = free_port()
        command = [
            sys.executable,
            "-m",
            "llmpedia.cli",
            "rehearse",
            "serve",
            "--port",
            str(self.port),
            *WORLD,
        ]
        self.process = subprocess.Popen(command, env=ENV, stderr=subprocess.DEVNULL)
        wait_for(self.port, 60)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


class Live:
    """A head with the application on it."""

    def __init__(self, folder: Path, settings: dict) -> None:
        self.folder = folder
        self.port = free_port()
        self.revision = 0
        self.file = folder / "serve.yaml"
        self.file.write_text(yaml.safe_dump(settings))
        # Not in the application's runtime_env, which Serve shows and logs.
        self.head = Head(
            jobs=True, env={"PYTHONPATH": str(ROOT), "LLMPEDIA_SERVE_KEYS": f"another-key-of-the-tests,{KEY}"}
        )
        self.http = httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}",
            headers={"Authorization": f"Bearer {KEY}"},
            timeout=100,
            limits=httpx.Limits(max_connections=200),
        )
        self.pool = ThreadPoolExecutor(64)

    @property
    def dashboard(self) -> str:
        return f"http://127.0.0.1:{self.head.dashboard}"

    def config(self, **args) -> ServeConfig:
        return load_serve_config({"config": str(self.file), **args})

    def deploy(self, **args) -> None:
        """``serve deploy`` with settings that differ from the file's; returns once it runs."""
        self.revision += 1
        app = {"name": APP, "route_prefix": "/", "import_path": "serving.app:build"}
        app["args"] = {"config": str(self.file), "revision": self.revision, **args}
        whole = yaml.safe_load((ROOT / "configs" / "serve-deploy.yaml").read_text())
        whole["http_options"]["port"] = self.port
        whole["applications"] = [app]
        path = self.folder / "deploy.yaml"
        path.write_text(yaml.safe_dump(whole))
        before = self.status().get("last_deployed_time_s")
        done = subprocess.run(
            [SERVE, "deploy", str(path), "-a", self.dashboard],
            env=ENV,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        end = time.monotonic() + 120
        while (told := self.status()).get("status") != "RUNNING" or told["last_deployed_time_s"] == before:
            assert told.get("status") != "DEPLOY_FAILED" and time.monotonic() < end, told
            time.sleep(0.3)

    def status(self) -> dict:
        """What Serve tells of the application."""
        return (
            httpx.get(f"{self.dashboard}/api/serve/applications/", timeout=30)
            .json()["applications"]
            .get(APP, {})
        )

    def replicas(self, deployment: str) -> list:
        return self.head.workers(f"ServeReplica:{APP}:{deployment}")

    def post(self, path: str, body: dict) -> httpx.Response:
        return self.http.post(path, json=body)

    def later(self, path: str, body: dict):
        """The same, in a thread."""
        return self.pool.submit(self.post, path, body)

    def logs(self) -> str:
        """Everything that Ray and the application have logged."""
        files = [
            p
            for p in Path(self.head.temp).rglob("*")
            if p.is_file() and "logs" in p.parts and "node_modules" not in p.parts
        ]
        return "\n".join(p.read_text(errors="replace") for p in files)

    def close(self) -> None:
        self.pool.shutdown(cancel_futures=True)
        self.http.close()
        self.head.close()
