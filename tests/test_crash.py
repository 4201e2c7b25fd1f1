"""SIGKILL anything, at any moment, and start again: the finished corpus is byte-identical to an undisturbed one."""

import random

import pytest
from campaign import VICTIMS, Campaign
from harness import Head, ScriptedEngine, fingerprint, write_config

KILLS = 2 * len(VICTIMS)  # more of them: campaign.py


@pytest.mark.real
def test_killed_anywhere_the_corpus_is_the_same(undisturbed, tmp_path):
    engine, head = ScriptedEngine(tmp_path, latency=0.03), Head()
    try:
        config = write_config(tmp_path, engine, caps={"articles": 36}, waves={"size": 10, "workers": 2})
        want = fingerprint(undisturbed.run(articles=36, wave=10))
        campaign = Campaign(head, engine, config, random.Random(7), KILLS)
        walks = campaign.run(tmp_path, want, order=list(VICTIMS))
        print(f"{len(campaign.kills)} kills over {walks} walks: {campaign.kills}")
        assert set(campaign.kills) == set(VICTIMS)
        assert campaign.compared > 0
        assert not campaign.asked_again
    finally:
        engine.kill()
        head.close()
