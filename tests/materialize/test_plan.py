"""llmpedia plan: what a run will take, before anything is spent."""

import json

import pytest

from llmpedia.cli.main import main
from llmpedia.config.walk import Config, parse_config
from llmpedia.engines.memory import kv_bytes, memory_rows, parameters
from llmpedia.engines.models import load_models
from llmpedia.materialize.plan import plan
from llmpedia.stages import Completion
from tests.engines.test_usage import rows_of
from tests.support.builders.runs import Child, Corpus, Visit, make_config

LLAMA_70B = {
    "hidden_size": 8192,
    "num_hidden_layers": 80,
    "intermediate_size": 28672,
    "vocab_size": 128256,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "torch_dtype": "bfloat16",
}
DEEPSEEK_V3 = {
    "hidden_size": 7168,
    "num_hidden_layers": 61,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "vocab_size": 129280,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "first_k_dense_replace": 3,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "quantization_config": {"quant_method": "fp8"},
}


def by_stage(planned) -> dict:
    return {row["stage"]: row for row in planned.stages}


def priced(**sections) -> Config:
    return make_config(engine={"model": "gpt-4o-mini"}, caps={"articles": 1000}, **sections)


def test_calls_follow_from_the_settings():
    config = priced(plan={"links": 100.0, "known": 0.5, "arbitrations": 2.0, "asked_again": 0.0})
    calls = {stage: row["calls"] for stage, row in by_stage(plan(config, None)).items()}
    assert calls == {"outline": 1000, "article": 1000, "ner": 2000, "arbitration": 2000, "all": 6000}


def test_cost_is_the_sum_of_its_stages_and_follows_prices():
    rows = by_stage(plan(priced(), None))
    article = rows["article"]
    assert article["cost"] == pytest.approx(
        (article["prompt_tokens"] * 0.15 + article["completion_tokens"] * 0.6) / 1e6, abs=0.01
    )
    assert rows["all"]["cost"] == pytest.approx(
        sum(r["cost"] for s, r in rows.items() if s != "all"), abs=0.01
    )


def test_a_stage_without_a_price_makes_the_sum_null():
    planned = plan(priced(stages={"article": {"model": "mine"}}), None)
    rows = by_stage(planned)
    assert (rows["article"]["cost"], rows["all"]["cost"]) == (None, None)
    assert rows["outline"]["cost"] is not None
    assert any("mine: no price is known" in line for line in planned.assumptions)


def test_a_longer_article_costs_more_and_self_grounding_is_a_stage():
    short, long = (
        by_stage(plan(priced(article={"words": n}), None))["article"]["completion_tokens"] for n in (100, 200)
    )
    assert long == pytest.approx(2 * short, rel=0.01)
    assert "self_grounding" in by_stage(plan(priced(run={"self_grounding": True}), None))


def test_titles_are_written_without_ner(tmp_path):
    (tmp_path / "titles.txt").write_text("One\nTwo\nThree\n")
    config = make_config(run={"mode": "titles", "titles": str(tmp_path / "titles.txt")})
    rows = by_stage(plan(config, None))
    assert (set(rows), rows["article"]["calls"]) == ({"outline", "article", "all"}, 3)


def test_without_a_cap_it_is_a_sample_and_says_so():
    planned = plan(make_config(), None)
    assert "no cap is set" in planned.assumptions[0]
    assert by_stage(planned)["outline"]["calls"] == 1020


@pytest.mark.parametrize("line", ["takes no temperature", "hidden tokens a call", "prices as of"])
def test_what_a_reasoning_model_changes_is_said(line):
    planned = plan(make_config(engine={"model": "gpt-5-mini"}), None)
    assert any(line in said for said in planned.assumptions)


def test_averages_are_those_of_a_run_like_it(tmp_path):
    answers = {
        "outline": [Completion("{}", "stop", 100, 10)] * 1,
        "article": [Completion("x", "stop", 200, 1000)],
    }
    corpus = Corpus(tmp_path / "run").seed("Root")
    corpus.walk(
        Visit("Root", [Child("A")]), damage=lambda rows: rows.update(completions=rows_of("m", answers))
    )
    planned = plan(priced(), corpus.run)
    rows = by_stage(planned)
    assert (rows["outline"]["calls"], rows["outline"]["prompt_tokens"]) == (1000, 100_000)
    assert rows["article"]["completion_tokens"] == 1_000_000
    assert any(line.startswith("outline: measured in") for line in planned.assumptions)
    assert any(line.startswith("ner: assumed") for line in planned.assumptions)


def memory(tmp_path, model_config, **engine):
    (tmp_path / "config.json").write_text(json.dumps(model_config))
    sections = {"engine": {"kind": "vllm", "model": str(tmp_path), "dtype": "auto", **engine}}
    return memory_rows(parse_config(sections, "test").engine, load_models(None))


def test_weights_and_keys_are_told_from_the_models_config():
    assert parameters(LLAMA_70B) == pytest.approx(70.55e9, rel=0.002)
    assert parameters(DEEPSEEK_V3) == pytest.approx(671e9, rel=0.005)
    assert kv_bytes(LLAMA_70B) == 327_680
    assert kv_bytes(DEEPSEEK_V3) == 61 * 576 * 2


def test_70b_fits_four_cards_of_80_gb_and_not_one(tmp_path):
    (four,) = memory(tmp_path, LLAMA_70B, accelerator="A100", tensor_parallel=4)
    assert (four["weights_gb"], four["kv_gb_a_sequence"], four["fits"]) == (141.1, 2.684, True)
    assert four["sequences_at_full_length"] == 50
    (one,) = memory(tmp_path, LLAMA_70B, accelerator="A100")
    assert (one["fits"], one["sequences_at_full_length"]) == (False, 0)


def test_memory_of_an_unknown_card_is_null(tmp_path):
    (row,) = memory(tmp_path, LLAMA_70B, accelerator="gpu", tensor_parallel=4)
    assert (row["gpu_gb"], row["fits"], row["sequences_at_full_length"]) == (None, None, None)


@pytest.mark.parametrize("engine", [{"accelerator": "cpu"}, {"accelerator": "A100", "model": "no/where"}])
def test_memory_is_left_out_where_it_cannot_be_told(tmp_path, engine):
    assert memory(tmp_path, LLAMA_70B, **engine) == []


def test_the_command_prints_it_and_starts_nothing(tmp_path, capsys):
    path = tmp_path / "config.yaml"
    path.write_text("engine: {kind: openai, model: gpt-4o-mini, base_url: http://127.0.0.1:1/v1}\n")
    assert main(["plan", str(path), "--set", "caps.articles=7"]) == 0
    said = capsys.readouterr().out
    assert all(
        part in said for part in ("arbitration", "gpt-4o-mini", "7 articles: caps.articles", "prices as of")
    )
    assert main(["plan", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stages"][-1]["stage"] == "all"
    assert [p.name for p in tmp_path.iterdir()] == ["config.yaml"]
