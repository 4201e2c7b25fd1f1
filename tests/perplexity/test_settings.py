"""Settings of a scoring job: what is refused, in one line, and what makes two jobs the same."""

from pathlib import Path

import pytest

from llmpedia.config.walk import parse_as, parse_config
from llmpedia.errors import ConfigError
from llmpedia.perplexity.settings import PerplexityJobConfig, load_perplexity_config

CONFIGS = Path(__file__).parents[2] / "configs"
ITEMS = {"source": "x.jsonl"}


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({}, "items: missing"),
        ({"items": {"source": "x", "sorce": 1}}, "items.sorce = 1: unknown key; did you mean source?"),
        (
            {"items": ITEMS, "engine": {"kind": "torch", "tensor_parallel": 2}},
            "kind torch keeps a model on one device",
        ),
        (
            {"items": ITEMS, "engine": {"kind": "openai_batch", "base_url": "http://h/v1"}},
            "takes one of torch, vllm, openai",
        ),
        ({"items": ITEMS, "engine": {"kind": "openai"}}, "engine.base_url: null"),
        ({"items": ITEMS, "scorer": {"batch_tokens": 1}}, "scorer.batch_tokens = 1"),
    ],
)
def test_an_impossible_setting_is_one_line(sections, said):
    with pytest.raises(ConfigError) as caught:
        parse_as(PerplexityJobConfig, sections, "ppl.yaml")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_walk_cannot_be_written_by_torch():
    with pytest.raises(ConfigError, match="takes one of vllm, openai, openai_batch"):
        parse_config({"engine": {"kind": "torch"}}, "run.yaml")


@pytest.mark.parametrize("name", ["ppl", "ppl-70b-4xa100"])
def test_shipped_files_load(name):
    assert load_perplexity_config(CONFIGS / f"{name}.yaml").prompt.name == "probe/closed_book"


def test_a_source_is_found_beside_the_configuration(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert (
        Path(load_perplexity_config(CONFIGS / "ppl.yaml").items.source)
        == CONFIGS / "reference" / "questions.jsonl"
    )


@pytest.mark.parametrize(
    ("override", "same"),
    [
        ("engine.dtype=bfloat16", False),
        ("prompt.score_end=true", False),
        ("items.question=q", False),
        ("waves.rows_per_batch=8", False),
        ("engine.replicas=[1, 3]", True),
        ("scorer.threads=1", True),
        ("retries.attempts=9", True),
    ],
)
def test_what_decides_the_numbers_is_the_jobs_identity(override, same):
    path = CONFIGS / "ppl.yaml"
    hashes = {load_perplexity_config(path, sets).identity_hash() for sets in ([], [override])}
    assert (len(hashes) == 1) is same
