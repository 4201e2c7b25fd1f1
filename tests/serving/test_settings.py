"""Settings of the served application: one line for what is wrong, and the settings that audit and
probe would have.
"""

import pytest
import yaml

from llmpedia.errors import ConfigError
from serving.settings import load_serve_config
from tests.support.builders.runs import one_line
from tests.support.builders.serving import JUDGE, serve_config

OPENAI_BATCH = {"kind": "openai_batch", "base_url": "http://x"}
FAULTS = {
    "nothing served": (
        {"judge": None, "perplexity": None},
        {},
        ["judge", "null", "set judge, perplexity or both"],
    ),
    "batches are no answer": (
        {"judge": {"engine": OPENAI_BATCH}},
        {},
        ["judge.engine.kind", "'openai_batch'", "use openai or vllm"],
    ),
    "torch judges nothing": ({"judge": {"engine": {"kind": "torch"}}}, {}, ["judge.engine.kind", "'torch'"]),
    "batches score nothing": (
        {"perplexity": {"engine": OPENAI_BATCH}},
        {},
        ["perplexity.engine.kind", "'openai_batch'", "torch"],
    ),
    "a stage that is not served": (
        {"judge": {**JUDGE, "stages": {"claims": {}}}},
        {},
        ["judge.stages.claims", "verdict or grade"],
    ),
    "vllm has one model": (
        {"judge": {"stages": {"grade": {"model": "x"}}}},
        {},
        ["judge.stages.grade.model", "'x'"],
    ),
    "unknown key of a null section": (
        {"judge": {"evidnce_chars": 9}},
        {},
        ["judge.evidnce_chars", "did you mean evidence_chars?"],
    ),
    "unknown key": (
        {"judge": JUDGE},
        {"queue.max_quued": "3"},
        ["queue.max_quued = 3", "did you mean max_queued?"],
    ),
    "a queue of none": (
        {"judge": JUDGE},
        {"queue.max_queued": "0"},
        ["queue.max_queued = 0", "greater than or equal to 1"],
    ),
    "replicas reversed": ({"judge": JUDGE}, {"replicas.ingress": [2, 1]}, ["replicas.ingress", "[2, 1]"]),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_wrong_is_told_in_one_line(tmp_path, name):
    data, args, parts = FAULTS[name]
    path = tmp_path / "serve.yaml"
    path.write_text(yaml.safe_dump(data))
    with pytest.raises(ConfigError) as caught:
        load_serve_config({"config": str(path), **args})
    one_line(caught, *parts)


def test_without_a_file_the_way_to_give_one_is_told():
    with pytest.raises(ConfigError) as caught:
        load_serve_config({})
    one_line(caught, "config", "serve run serving.app:build config=")


@pytest.mark.parametrize("value", ["7", 7])
def test_arguments_are_settings_whether_typed_or_out_of_yaml(tmp_path, value):
    path = tmp_path / "serve.yaml"
    path.write_text(yaml.safe_dump({"judge": JUDGE}))
    assert load_serve_config({"config": str(path), "queue.max_queued": value}).queue.max_queued == 7


def test_a_revision_changes_nothing_but_what_serve_sees(tmp_path):
    path = tmp_path / "serve.yaml"
    path.write_text(yaml.safe_dump({"judge": JUDGE}))
    one, other = (load_serve_config({"config": str(path), "revision": n}) for n in (1, 2))
    assert one == other


def test_the_judge_gets_what_audit_and_probe_are_told():
    judge = serve_config(
        judge={**JUDGE, "stages": {"verdict": {"max_tokens": 99}, "grade": {"model": "big"}}}
    ).judge
    assert judge.judging().stage("verdict").max_tokens == 99
    assert judge.judging().audit.evidence_chars == judge.evidence_chars
    assert judge.grading().stage("grade").model == "big"
