"""llmpedia/config/engine.py: an engine's kind chooses its section; what a run records of it, and is
by it, has one form for all kinds.
"""

import pytest

from llmpedia.config.engine import EngineSection, OpenAIBatchSection, OpenAISection, VllmSection
from llmpedia.config.walk import Config, parse_config
from llmpedia.errors import ConfigError
from llmpedia.perplexity.settings import PerplexityConfig, TorchSection
from tests.support.builders.runs import one_line

URL = "http://127.0.0.1:1/v1"
KEYS = (
    "kind model base_url api_key_env tensor_parallel pipeline_parallel replicas accelerator dtype "
    "context_tokens sequences concurrency seed models_file start_timeout_s request_timeout_s extra"
).split()
SECTIONS = (
    VllmSection(),
    OpenAISection(base_url=URL),
    OpenAIBatchSection(base_url=URL),
    TorchSection(dtype="float32"),
)


def config_of(section: EngineSection):
    """A job that takes an engine of the section's kind, of what a file would hold."""
    kind = PerplexityConfig if isinstance(section, TorchSection) else Config
    return kind.model_validate({"engine": section.model_dump(mode="json"), "waves": {"workers": 1}})


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.kind)
def test_a_kind_chooses_its_section(section):
    engine = config_of(section).engine
    assert type(engine) is type(section)
    assert engine == section


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.kind)
def test_what_is_recorded_of_an_engine_has_the_same_keys_in_the_same_order(section):
    """Records of runs, and hashes of them, would differ from those of earlier releases."""
    assert list(config_of(section).model_dump(mode="json")["engine"])[: len(KEYS)] == KEYS


def test_identities_of_earlier_releases_hold():
    told = {"engine": {"kind": "openai", "base_url": URL, "model": "m", "extra": {"top_k": 3}}}
    assert parse_config(told, "x").identity()["engine"] == {
        "kind": "openai",
        "model": "m",
        "dtype": "bfloat16",
        "context_tokens": 8192,
        "seed": 42,
        "extra": {"top_k": 3},
    }
    assert Config().identity_hash() == "3ea8eb6ec1126edb850f6bb92253117b564b8f2680c90c11758746145fc72c94"
    assert (
        PerplexityConfig(engine=TorchSection(dtype="float32")).identity_hash()
        == "c89299c6e209c206c7b23adea1b3bd34484d262750a639007e4ab5d5cc4c99f3"
    )


def test_how_vllm_is_started_is_no_identity_of_a_walk():
    assert (
        "extra" not in parse_config({"engine": {"extra": {"enforce_eager": True}}}, "x").identity()["engine"]
    )


def test_without_a_kind_vllm_is_meant():
    assert type(parse_config({"engine": {"model": "m"}}, "x").engine) is VllmSection
    assert type(PerplexityConfig.model_validate({"engine": {"model": "m"}}).engine) is VllmSection


def test_keys_of_another_kind_are_no_error():
    """``--set engine.kind=...`` changes one key of a complete file."""
    whole = VllmSection(tensor_parallel=4, accelerator="A100").model_dump(mode="json")
    engine = parse_config({"engine": {**whole, "kind": "openai", "base_url": URL}}, "x").engine
    assert (engine.kind, engine.tensor_parallel) == ("openai", 4)
    assert parse_config({"engine": {**whole, "base_url": URL}}, "x").engine.base_url == URL


@pytest.mark.parametrize(
    ("section", "local", "deployed", "in_process", "batched", "constrains", "extra_is_sent"),
    [
        (VllmSection, True, True, False, False, True, False),
        (OpenAISection, False, False, False, False, False, True),
        (OpenAIBatchSection, False, False, False, True, False, True),
        (TorchSection, True, False, True, False, False, True),
    ],
)
def test_what_each_kind_can_do(section, local, deployed, in_process, batched, constrains, extra_is_sent):
    told = (section.is_local, section.is_deployed, section.is_in_process, section.is_batched)
    assert told == (local, deployed, in_process, batched)
    assert (section.constrains_decoding, section.extra_is_sent) == (constrains, extra_is_sent)


def test_accelerators_are_those_of_all_replicas():
    replicas = {"tensor_parallel": 2, "replicas": (1, 3)}
    assert VllmSection(accelerator="A100", **replicas).accelerators == 6
    assert VllmSection(**replicas).accelerators == 0


@pytest.mark.parametrize("url", [None, ""])
@pytest.mark.parametrize("kind", ["openai", "openai_batch"])
def test_an_endpoint_without_an_address_is_refused_in_one_line(kind, url):
    with pytest.raises(ConfigError) as caught:
        parse_config({"engine": {"kind": kind, "base_url": url}, "waves": {"workers": 1}}, "x")
    one_line(caught, "engine.base_url: null", f"kind {kind}", "http://host/v1")
