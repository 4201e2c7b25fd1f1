"""Shared fixtures: offline hubs, one Ray head a session, scripted engines."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("RAY_AUTH_MODE", "disabled")
os.environ.setdefault(
    "RAY_ENABLE_AUTO_CONNECT", "0"
)  # threads of Ray Serve ask on after ray.shutdown, and would start a Ray
os.environ.setdefault(
    "RAY_DATA_USAGE_DISABLED", "1"
)  # as the product has it; its threads outlive ray.shutdown too

import pytest

from tests.support.harness import Head, ScriptedEngine


@pytest.fixture(scope="session")
def head():
    head = Head()
    yield head
    head.close()


@pytest.fixture
def engine(tmp_path):
    engine = ScriptedEngine(tmp_path, latency=0.01)
    yield engine
    engine.kill()
