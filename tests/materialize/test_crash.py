"""SIGKILL anything, at any moment, and start again: the finished corpus is byte-identical to an
undisturbed one.
"""

import random

import pytest

from tests.support.campaign import VICTIMS, Campaign
from tests.support.harness import Head, ScriptedEngine, fingerprint, start_driver, write_config

KILLS = 18


@pytest.mark.real
def test_killed_anywhere_the_corpus_is_the_same(tmp_path):
    engine = ScriptedEngine(tmp_path, latency=0.03)
    head = Head()
    try:
        config = write_config(tmp_path, engine, caps={"articles": 60}, waves={"size": 15, "workers": 2})
        assert start_driver(config, tmp_path / "calm", head).wait(300) == 0
        want = fingerprint(tmp_path / "calm")
        campaign = Campaign(head, engine, config, random.Random(7), KILLS)
        walks = campaign.run(tmp_path, want, order=list(VICTIMS))
        print(f"{len(campaign.kills)} kills over {walks} walks: {campaign.kills}")
        assert set(campaign.kills) == set(VICTIMS)
        assert campaign.compared > 0
        assert not campaign.asked_again
    finally:
        engine.kill()
        head.close()
