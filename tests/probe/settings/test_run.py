"""Settings of a probe's run: many models, one judge."""

import json

import pytest

from llmpedia.config.walk import RetriesSection
from llmpedia.engines.models import load_models
from llmpedia.engines.openai import chat_body
from llmpedia.errors import ConfigError
from llmpedia.probe.benchmark.closed_book import ClosedBook
from llmpedia.probe.benchmark.run import chosen
from llmpedia.probe.settings.run import ProbeRunConfig, load_run_config

ENGINE = {"kind": "openai", "base_url": "http://127.0.0.1:1/v1", "context_tokens": 16384}


def config(**models):
    named = models or {"small": {}}
    told = {name: {"engine": {**ENGINE, "model": name}, **more} for name, more in named.items()}
    judge = {**ENGINE, "model": "judge"}
    return ProbeRunConfig.model_validate(
        {"benchmark": "b.jsonl", "models": told, "engine": judge, "stages": {"grade": {"max_tokens": 900}}}
    )


def test_a_model_is_asked_by_its_own_engine_and_the_judge_by_its():
    both = config(small={"closed_book": {"max_tokens": 77}})
    assert (both.of_model("small").engine.model, both.of_judge().engine.model) == ("small", "judge")
    assert both.of_model("small").stage("closed_book").max_tokens == 77
    assert both.of_judge().stage("grade").max_tokens == 900
    assert set(both.of_model("small").stages) == {"closed_book"}


def test_models_differ_in_identity_by_how_they_are_asked():
    one = config(a={}, b={"closed_book": {"template": {"enable_thinking": False}}})
    two = config(a={}, b={})
    assert one.of_model("a").identity_hash() == two.of_model("a").identity_hash()
    assert one.of_model("b").identity_hash() != two.of_model("b").identity_hash()


def test_how_a_model_is_graded_is_no_part_of_how_it_was_asked():
    one, two = (config().model_copy(update={"retries": RetriesSection(malformed=n)}) for n in (1, 3))
    assert one.of_model("small").identity_hash() == two.of_model("small").identity_hash()
    assert one.of_judge().identity_hash() != two.of_judge().identity_hash()


def test_options_of_the_chat_template_travel_with_the_request():
    asked = config(
        a={"closed_book": {"template": {"enable_thinking": False}, "reasoning_effort": "high"}}
    ).of_model("a")
    request = ClosedBook(asked).request("Which year?")
    body = chat_body(request, {}, load_models(None), False)
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert "chat_template_kwargs" not in json.loads(
        ClosedBook(config().of_model("small")).request("Which year?").sampling
    )


def test_models_are_chosen_by_name():
    both = config(a={}, b={})
    assert chosen(both, []) == ["a", "b"]
    assert chosen(both, ["b"]) == ["b"]
    with pytest.raises(ConfigError, match=r"--model c: is no model of the configuration; use one of a, b"):
        chosen(both, ["c"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("benchmark: b.jsonl\nmodels: {}\n", "models: {}: nobody to ask"),
        ("benchmark: b.jsonl\nmodels: {'a/b': {engine: {}}}\n", "models.a/b: a name is a folder too"),
        ("models: {a: {engine: {}}}\n", "benchmark: missing"),
        (
            "benchmark: b\nmodels: {a: {engine: {}}}\nstages: {closed_book: {}}\n",
            "set models.NAME.closed_book",
        ),
        (
            "benchmark: b\nmodels: {a: {engine: {}}}\nstages: {ner: {}}\n",
            "stages.ner: is no stage of a probe",
        ),
        ("benchmark: b\nmodels: {a: {engine: {}, closedbook: {}}}\n", "did you mean closed_book?"),
    ],
)
def test_a_setting_at_fault_is_one_line(tmp_path, text, said):
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(ConfigError) as e:
        load_run_config(tmp_path / "c.yaml")
    assert said in str(e.value)
    assert "\n" not in str(e.value)
