"""A node lost in mid-wave with all that lies on it: the walk goes on elsewhere, and its corpus is the undisturbed one's."""

import time

import pytest
from harness import Head, Node, ScriptedEngine, fingerprint, start_driver, write_config

pytestmark = pytest.mark.real


@pytest.fixture
def cluster():
    """A head for the driver alone, and three nodes for what it starts."""
    head = Head(cpus=0)
    nodes = [Node(head, number, cpus=1) for number in (1, 2, 3)]
    yield head, nodes
    for node in [*nodes, head]:
        node.close()


def commits(run) -> int:
    return len(list((run / "waves").glob("*.json"))) if run.exists() else 0


def in_mid_wave(driver, run, nodes: list[Node], title: str) -> Node:
    """Wait for a moment between two commits; the node where ``title`` lies."""
    begin, seen = time.monotonic(), commits(run)
    while time.monotonic() - begin < 60:
        assert driver.poll() is None, (run.parent / "driver.log").read_text()[-3000:]
        there = [node for node in nodes if node.workers(title)]
        if commits(run) > seen and there:
            time.sleep(0.5)
            return there[0]
        time.sleep(0.02)
    raise TimeoutError(f"{title} is nowhere, {commits(run) - seen} commits later")


def test_a_walk_survives_the_loss_of_nodes(cluster, undisturbed, tmp_path):
    """First the node of the index, then one more: of three, one is left."""
    head, nodes = cluster
    engine = ScriptedEngine(tmp_path, latency=0.03)
    try:
        config, run = write_config(tmp_path, engine, caps={"articles": 36}, waves={"size": 10, "workers": 2}), tmp_path / "run"
        calm = undisturbed.run(articles=36, wave=10)
        driver = start_driver(config, run, head)
        for title in ("EntityIndex", "SubjectWorker"):
            victim = in_mid_wave(driver, run, nodes, title)
            lost = {t: len(victim.workers(t)) for t in ("EntityIndex", "Limiter", "SubjectWorker")}
            victim.raylet().kill()
            nodes.remove(victim)
            victim.close()
            print(f"lost a node with {lost} after {commits(run)} of {commits(calm)} commits")
            assert commits(run) < commits(calm)
        assert driver.wait(200) == 0, (tmp_path / "driver.log").read_text()[-3000:]
        assert fingerprint(run) == fingerprint(calm)
    finally:
        engine.kill()
