"""SIGKILL anything, at any moment, and start again: the finished corpus is byte-identical to an undisturbed one."""

import hashlib
import json
import random
import time

import pytest
from harness import ScriptedEngine, fingerprint, start_driver, write_config

from llmpedia.config import load_config
from llmpedia.engines.models import load_models
from llmpedia.engines.openai import chat_body
from llmpedia.stages import Request
from llmpedia.store.files import Folder
from llmpedia.store.journal import read_wave, waves_with_pieces

KILLS = 22
VICTIMS = ("driver", "engine", "index", "worker")
TITLES = {"index": "ray::EntityIndex", "worker": "SubjectWorker"}


def body_hashes(config, run) -> set[str]:
    """Hashes of the bodies whose answers the journal holds."""
    found, folder = set(), Folder(run)
    for wave in waves_with_pieces(folder):
        for r in read_wave(folder, wave).values():
            messages = tuple((role, text) for role, text in r["messages"])
            request = Request(r["stage"], r["model"], messages, r["constraint"], r["sampling"])
            body = chat_body(request, config.engine.extra, load_models(config.engine.models_file), False)
            if r["stage"] == "embedding":
                body = {"model": r["model"], "input": [t for _, t in messages], "encoding_format": "base64"}
            found.add(hashlib.sha256(json.dumps(body).encode()).hexdigest())
    return found


class Campaign:
    def __init__(self, head, engine, config_path, rng):
        self.head, self.engine, self.config_path, self.rng = head, engine, config_path, rng
        self.config = load_config(config_path)
        self.kills: list[str] = []
        self.asked_again: set[str] = set()
        self.compared = 0

    def finish(self, run) -> None:
        """Drive one run to its end under fire."""
        driver = start_driver(self.config_path, run, self.head)
        while driver.poll() is None:
            if len(self.kills) < KILLS:
                time.sleep(self.rng.uniform(0.5, 6))
                victim = VICTIMS[len(self.kills) % len(VICTIMS)]
                driver = self.kill(victim, driver, run)
            else:
                driver.wait(300)
        assert driver.returncode == 0, (run.parent / "driver.log").read_text()[-3000:]

    def kill(self, victim, driver, run):
        if driver.poll() is not None:
            return driver
        if victim == "driver":
            driver.kill()
            driver.wait()
            answered, before = body_hashes(self.config, run), len(self.engine.asked())
            assert answered <= set(self.engine.asked())  # else the check below would compare nothing
            self.compared += len(answered)
            self.kills.append(victim)
            driver = start_driver(self.config_path, run, self.head)
            time.sleep(self.rng.uniform(3, 7))
            self.asked_again |= answered & set(self.engine.asked()[before:])
        elif victim == "engine":
            self.engine.kill()
            self.kills.append(victim)
            time.sleep(self.rng.uniform(0, 1))
            self.engine.start()
        else:
            for process in self.head.workers(TITLES[victim])[:1]:
                process.kill()
                self.kills.append(victim)
        return driver


@pytest.mark.real
def test_killed_anywhere_the_corpus_is_the_same(head, tmp_path):
    engine = ScriptedEngine(tmp_path, latency=0.03)
    try:
        config = write_config(tmp_path, engine, caps={"articles": 90}, waves={"size": 15})
        assert start_driver(config, tmp_path / "calm", head).wait(300) == 0
        want = fingerprint(tmp_path / "calm")
        campaign = Campaign(head, engine, config, random.Random(7))
        runs = 0
        while len(campaign.kills) < KILLS:
            run = tmp_path / f"storm{runs}"
            campaign.finish(run)
            assert fingerprint(run) == want, campaign.kills
            runs += 1
        print(f"{len(campaign.kills)} kills over {runs} runs: {campaign.kills}")
        assert set(campaign.kills) == set(VICTIMS)
        assert campaign.compared > 0
        assert not campaign.asked_again
    finally:
        engine.kill()
