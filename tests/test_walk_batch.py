"""The same walk online and through the Batch API: the same bytes, in few batches, nothing submitted twice."""

import json
import time
import urllib.request
from collections import Counter

import pytest
from harness import fingerprint, start_driver, write_config

from llmpedia.store.runfolder import RunFolder

pytestmark = pytest.mark.real

SMALL = {"caps": {"articles": 26}, "waves": {"size": 20, "workers": 1}}
BATCH = {
    "engine": {"kind": "openai_batch"},
    "batch": {"settle_s": 0.2, "first_poll_s": 0.1, "longest_poll_s": 0.2},
    "retries": {"first_wait_s": 0.1},
}


def batches(engine) -> list[dict]:
    """Every batch of the service, oldest first."""
    with urllib.request.urlopen(f"{engine.url}/batches?limit=100") as response:
        page = json.loads(response.read())
    assert not page["has_more"]
    return page["data"][::-1]


def walk(config, run, head):
    code = start_driver(config, run, head).wait(200)
    assert code == 0, (run.parent / "driver.log").read_text()[-3000:]
    return bytes_of(run)


def bytes_of(run):
    """The fingerprint, and the hash of every file."""
    return fingerprint(run), {f.name: f.sha256 for m in RunFolder.open(str(run)).manifests for f in m.files}


@pytest.fixture(scope="module")
def online(undisturbed):
    return bytes_of(undisturbed.run(articles=26, wave=20))


def test_online_and_batch_write_the_same_bytes(head, engine, online, tmp_path):
    assert walk(write_config(tmp_path, engine, **SMALL, **BATCH), tmp_path / "run", head) == online
    made = batches(engine)
    assert {"completed", "expired"} <= {b["status"] for b in made}
    # Three waves of outline, article, NER, NER once more and arbitration, and what batches leave: not one a request.
    assert len(made) < 40 < len(engine.asked()) / 3
    assert max(b["request_counts"]["total"] for b in made) >= 16  # a whole wave waits together
    assert {b["metadata"]["run"] for b in made} == {str(tmp_path / "run")}


def test_a_run_begun_online_goes_on_in_batches(head, engine, tmp_path):
    run = tmp_path / "run"
    for articles, kind in ((4, {}), (12, BATCH)):
        walk(write_config(tmp_path, engine, **{**SMALL, "caps": {"articles": articles}}, **kind), run, head)
        assert RunFolder.open(str(run)).manifests[-1].facts["totals"]["articles"] == articles
        assert bool(batches(engine)) == bool(kind)


def test_killed_drivers_leave_the_same_bytes_and_pay_for_nothing_twice(head, engine, online, tmp_path):
    config, run = write_config(tmp_path, engine, **SMALL, **BATCH), tmp_path / "run"
    for _ in range(3):
        driver, before = start_driver(config, run, head), len(batches(engine))
        end = time.monotonic() + 60
        while len(batches(engine)) < before + 2 and driver.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        driver.kill()
        driver.wait()
    assert walk(config, run, head) == online
    # Each line is run once, and once more if its batch lost it; see scripted_engine.faults.
    runs = Counter(engine.asked())
    lost = sum(round(0.1 * b["request_counts"]["total"]) for b in batches(engine)[4::5])
    assert sum(n - 1 for n in runs.values()) <= lost
