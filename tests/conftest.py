"""Shared fixtures: offline hubs, one Ray head a session, scripted engines."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
# Threads of OpenMP spin while one of them waits for a core, and other tests are at work on the cores too.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("RAY_AUTH_MODE", "disabled")
os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")  # threads of Ray Serve ask on after ray.shutdown, and would start a Ray
os.environ.setdefault("RAY_DATA_USAGE_DISABLED", "1")  # as the product has it; its threads outlive ray.shutdown too

import pytest
from harness import Head, ScriptedEngine, UndisturbedWalks


@pytest.fixture(scope="session")
def head():
    head = Head()
    yield head
    head.close()


@pytest.fixture(scope="session")
def undisturbed(head, tmp_path_factory):
    """Walks that nobody disturbs, for all tests that compare their own with one."""
    return UndisturbedWalks(head, tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture
def engine(tmp_path):
    engine = ScriptedEngine(tmp_path, latency=0.01)
    yield engine
    engine.kill()
