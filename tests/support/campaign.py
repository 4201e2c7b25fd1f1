"""A campaign of random SIGKILLs against walks of the scripted engine: every finished corpus must be
the undisturbed one's.

``python tests/support/campaign.py --kills 200`` runs a long one and prints its result;
``test_crash`` runs a short one.
"""

import argparse
import hashlib
import json
import random
import tempfile
import time
from collections import Counter
from pathlib import Path

from llmpedia.config.walk import Config, load_config
from llmpedia.engines.models import load_models
from llmpedia.engines.openai import chat_body
from llmpedia.stages import Request
from llmpedia.store.files import Folder
from llmpedia.store.journal import read_wave, waves_with_pieces
from tests.support.harness import Head, ScriptedEngine, fingerprint, start_driver, write_config

# "ray" is the whole cluster: raylet, GCS and all workers at once.
VICTIMS = ("driver", "engine", "index", "worker", "limiter", "ray")
TITLES = {"index": "ray::EntityIndex", "worker": "SubjectWorker", "limiter": "ray::Limiter"}


def body_hashes(config: Config, run: Path) -> set[str]:
    """Hashes of the bodies whose answers the journal holds."""
    found = set()
    folder = Folder(run)
    models = load_models(config.engine.models_file)
    for wave in waves_with_pieces(folder):
        for r in read_wave(folder, wave).values():
            messages = tuple((role, text) for role, text in r["messages"])
            request = Request(r["stage"], r["model"], messages, r["constraint"], r["sampling"])
            body = chat_body(request, config.engine.extra, models, False)
            if r["stage"] == "embedding":
                body = {"model": r["model"], "input": [t for _, t in messages], "encoding_format": "base64"}
            found.add(hashlib.sha256(json.dumps(body).encode()).hexdigest())
    return found


class Campaign:
    """Walks driven to their end under fire. ``asked_again``: answered requests that a restarted
    driver asked once more.
    """

    def __init__(
        self, head: Head, engine: ScriptedEngine, config_path: Path, rng: random.Random, kills: int
    ) -> None:
        self.head = head
        self.engine = engine
        self.config_path = config_path
        self.rng = rng
        self.config = load_config(config_path)
        self.left = kills
        self.kills: list[str] = []
        self.asked_again: set[str] = set()
        self.compared = 0

    def run(self, folder: Path, want: str, order: list[str] | None = None) -> int:
        """Walk after walk until all kills are done; how many walks it took. ``order``: of the
        victims; random where None.
        """
        walks = 0
        while len(self.kills) < self.left:
            run = folder / f"storm{walks}"
            self.finish(run, order)
            assert fingerprint(run) == want, self.kills
            walks += 1
        return walks

    def finish(self, run: Path, order: list[str] | None) -> None:
        """Drive one run to its end under fire."""
        driver = start_driver(self.config_path, run, self.head)
        while driver.poll() is None:
            if len(self.kills) < self.left:
                time.sleep(self.rng.uniform(0.2, 4))
                victim = order[len(self.kills) % len(order)] if order else self.rng.choice(VICTIMS)
                driver = self.kill(victim, driver, run)
            else:
                driver.wait(300)
        assert driver.returncode == 0, (run.parent / "driver.log").read_text()[-3000:]

    def kill(self, victim: str, driver, run: Path):
        """Kill one and see to it that the walk goes on; the driver that goes on."""
        if driver.poll() is not None:
            return driver
        if victim in ("driver", "ray"):
            return self.restart(victim, driver, run)
        if victim == "engine":
            self.engine.kill()
            self.kills.append(victim)
            time.sleep(self.rng.uniform(0, 1))
            self.engine.start()
            return driver
        for process in self.head.workers(TITLES[victim])[:1]:
            process.kill()
            self.kills.append(victim)
        return driver

    def restart(self, victim: str, driver, run: Path):
        """Kill the driver, or the cluster under it; a new driver, and what it asks first compared
        with the journal.
        """
        end = (
            time.monotonic() + 20
        )  # on a busy machine Ray may be starting still, and there would be nothing to ask again
        while driver.poll() is None and time.monotonic() < end and not body_hashes(self.config, run):
            time.sleep(0.1)
        if victim == "ray":
            self.head.kill()
            self.head.start()
        driver.kill()
        driver.wait()
        answered = body_hashes(self.config, run)
        before = len(self.engine.asked())
        assert answered <= set(self.engine.asked())  # else the check below would compare nothing
        self.compared += len(answered)
        self.kills.append(victim)
        driver = start_driver(self.config_path, run, self.head)
        time.sleep(self.rng.uniform(3, 7))
        self.asked_again |= answered & set(self.engine.asked()[before:])
        return driver


def main() -> None:
    """A long campaign, and its result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="campaign-") as name:
        folder = Path(name)
        engine = ScriptedEngine(folder, latency=0.03)
        head = Head()
        try:
            config = write_config(folder, engine, caps={"articles": 90}, waves={"size": 15, "workers": 2})
            assert start_driver(config, folder / "calm", head).wait(300) == 0
            want = fingerprint(folder / "calm")
            campaign = Campaign(head, engine, config, random.Random(args.seed), args.kills)
            walks = campaign.run(folder, want)
        finally:
            engine.kill()
            head.close()
    print(
        f"{len(campaign.kills)} SIGKILLs over {walks} walks in "
        f"{(time.monotonic() - begin) / 60:.0f} min, seed {args.seed}:"
    )
    print("  " + ", ".join(f"{victim} {n}" for victim, n in Counter(campaign.kills).most_common()))
    print(f"every corpus has the undisturbed one's fingerprint, {want}; verify found each whole")
    print(
        f"answered requests compared after restarts: {campaign.compared:,}; asked again: "
        f"{len(campaign.asked_again)}"
    )


if __name__ == "__main__":
    main()
