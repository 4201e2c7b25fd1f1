"""llmpedia/store/commit_times.py: when commits happened lies beside them, and nothing but the
report of costs asks for it.
"""

import json
import shutil
import time

import pytest

from llmpedia.errors import InputError
from llmpedia.execution.provenance import machine_of
from llmpedia.store.commit_times import UNTOLD, Machine, read_moments
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import RunFolder
from llmpedia.store.verify import verify
from tests.support.builders.runs import Visit, make_config, one_line, three_waves


def test_each_commit_tells_its_session_and_when_it_was(tmp_path):
    before = time.time()
    run = three_waves(tmp_path / "run").run
    moments = read_moments(run.folder, range(3))
    assert sorted(moments) == [0, 1, 2]
    assert len({m.session for m in moments.values()}) == 3  # the builder takes a lease for each commit
    assert all(before - 0.01 <= m.began <= m.committed <= time.time() + 0.01 for m in moments.values())
    assert {m.machine for m in moments.values()} == {UNTOLD}


def test_commits_of_one_lease_are_one_session_on_its_machine(tmp_path):
    run = three_waves(tmp_path / "run").run
    with Lease(run.folder, Machine(8, "H100")) as lease:
        for _ in range(2):
            run.commit(lease, {}, {"totals": {}})
    moments = read_moments(run.folder, [3, 4])
    assert (moments[3].session, moments[3].began) == (moments[4].session, moments[4].began)
    assert {m.machine for m in moments.values()} == {Machine(8, "H100")}


def test_without_its_times_a_run_is_whole_and_the_same(tmp_path):
    corpus = three_waves(tmp_path / "run")
    before = corpus.run.fingerprint()
    shutil.rmtree(tmp_path / "run" / "times")
    run = RunFolder.open(str(tmp_path / "run"))
    assert (run.fingerprint(), verify(run).findings, read_moments(run.folder, range(3))) == (before, [], {})
    assert corpus.walk(Visit("Leaf")).run.last_wave == 3
    assert sorted(read_moments(corpus.run.folder, range(4))) == [3]


def test_no_time_is_part_of_a_manifest(tmp_path):
    three_waves(tmp_path / "run")
    told = json.loads((tmp_path / "run" / "times" / "00001.json").read_text())
    manifest = (tmp_path / "run" / "waves" / "00001.json").read_text()
    assert not [
        value for value in (told["session"], str(told["committed"]), str(told["began"])) if value in manifest
    ]


@pytest.mark.parametrize("text", ["", "{}", '{"session": "s", "began": "x", "committed": 1, "machine": {}}'])
def test_a_damaged_time_is_named_with_the_way_out(tmp_path, text):
    run = three_waves(tmp_path / "run").run
    file = tmp_path / "run" / "times" / "00001.json"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        read_moments(run.folder, range(3))
    one_line(caught, file, "damaged", "delete it")


@pytest.mark.parametrize(
    ("engine", "machine"),
    [
        ({"kind": "openai"}, UNTOLD),
        (
            {
                "kind": "vllm",
                "base_url": None,
                "tensor_parallel": 4,
                "replicas": [1, 3],
                "accelerator": "A100",
            },
            Machine(12, "A100"),
        ),
        ({"kind": "vllm", "base_url": None, "tensor_parallel": 2, "accelerator": "cpu"}, Machine(0, "cpu")),
    ],
    ids=["endpoint", "gpus", "cpu"],
)
def test_what_a_session_works_on_is_told_by_its_engine(engine, machine):
    assert machine_of(make_config(engine=engine)) == machine
