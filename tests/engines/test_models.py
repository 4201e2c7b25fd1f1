"""llmpedia/engines/models.py, and what openai.py makes of it: a model is sent what it takes, and a
refused schema is recorded.
"""

import json

import pytest

from llmpedia.config.walk import load_config
from llmpedia.engines.models import ModelFacts, load_models
from llmpedia.errors import ConfigError
from llmpedia.materialize.subject import completion_row
from llmpedia.stages import Completion, Constraint, Request
from llmpedia.tables import table
from tests.support.builders.runs import make_request, one_line
from tests.support.endpoint import Server, chat, reply

SAMPLING = {
    "temperature": 0.0,
    "frequency_penalty": 0.1,
    "max_tokens": 9,
    "seed": 1,
    "reasoning_effort": "low",
}
SCHEMA = Constraint(json_schema={"type": "object"}).dumps()
UNSUPPORTED = {
    "error": {
        "message": (
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."
        )
    }
}
AT_FAULT = {"error": {"message": "Invalid schema for response_format 'ner': 'minLength' is not permitted."}}


def asked(model, stage="ner", constraint=SCHEMA) -> Request:
    return Request(stage, model, (("user", "answer in JSON"),), constraint, json.dumps(SAMPLING))


@pytest.mark.parametrize(
    ("name", "sent", "missing"),
    [
        (
            "gpt-5-mini",
            {"max_completion_tokens", "reasoning_effort", "seed"},
            {"temperature", "frequency_penalty", "max_tokens"},
        ),
        ("gpt-5.9-whatever", {"max_completion_tokens"}, {"temperature", "max_tokens"}),
        ("o3-2025-04-16", {"max_completion_tokens", "reasoning_effort"}, {"temperature"}),
        ("o4-mini", {"max_completion_tokens"}, {"temperature"}),
        ("gpt-5-chat-latest", {"temperature", "max_completion_tokens"}, {"max_tokens"}),
        ("gpt-4o-mini", {"temperature", "max_tokens", "seed"}, {"reasoning_effort"}),
        ("deepseek-chat", {"temperature", "max_tokens"}, {"seed"}),
        ("meta-llama/Llama-3.3-70B-Instruct", set(SAMPLING), {"max_completion_tokens"}),
    ],
)
def test_a_model_is_sent_what_it_takes(name, sent, missing):
    found = load_models(None).of(name).sampling(SAMPLING)
    assert sent <= set(found)
    assert not missing & set(found)
    assert found.get("max_tokens", found.get("max_completion_tokens")) == 9


def test_the_body_on_the_wire_holds_no_refused_parameter():
    server = Server(reply(chat("{}")))
    server.generate(asked("gpt-5-mini"))
    (body,) = server.bodies
    assert set(body) == {
        "model",
        "messages",
        "max_completion_tokens",
        "seed",
        "reasoning_effort",
        "response_format",
    }


def test_every_built_in_price_belongs_to_a_date():
    models = load_models(None)
    assert models.prices_as_of
    assert all((m.input is None) == (m.output is None) for m in models.models)


def test_cost_counts_cached_tokens_and_batches_and_is_null_without_a_price():
    model = ModelFacts(input=1.0, cached_input=0.1, output=8.0, batch=0.5)
    assert model.cost(1_000_000, 0, 500_000, False) == 5.0
    assert model.cost(1_000_000, 500_000, 0, False) == pytest.approx(0.55)
    assert model.cost(1_000_000, 0, 500_000, True) == 2.5
    assert ModelFacts().cost(5, 0, 5, False) is None
    assert ModelFacts(input=0.0, output=0.0).cost(5, 0, 5, False) == 0.0


def test_a_users_file_comes_first_and_is_found_beside_the_configuration(tmp_path):
    (tmp_path / "mine.yaml").write_text(
        'models: [{match: "gpt-5*", input: 1.0, output: 2.0}]\naccelerators: {X9: 512}\n'
    )
    (tmp_path / "config.yaml").write_text("engine: {models_file: mine.yaml}\n")
    config = load_config(tmp_path / "config.yaml")
    models = load_models(config.engine.models_file)
    assert (models.of("gpt-5-mini").output, models.of("gpt-5-mini").temperature) == (2.0, True)
    assert (models.of("o3").output, models.accelerators["X9"], models.accelerators["H100"]) == (8.0, 512, 80)
    assert (
        config.identity_hash()
        == load_config(tmp_path / "config.yaml", ["engine.models_file=null"]).identity_hash()
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("models: [", "not valid YAML"),
        ("models: [{match: x, inptu: 1}]", "models.0.inptu"),
        ("models: [{input: -1.0}]", "input"),
    ],
)
def test_a_users_file_at_fault_is_one_line(tmp_path, text, says):
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_models(str(tmp_path / "mine.yaml"))
    one_line(caught, "engine.models_file", "mine.yaml", says)


def test_a_users_file_that_is_not_there_is_one_line(tmp_path):
    (tmp_path / "config.yaml").write_text("engine: {models_file: none.yaml}\n")
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / "config.yaml")
    one_line(caught, "engine.models_file", "none.yaml", "no such file")


def refusing(error):
    """An endpoint that answers 400 to every schema, and anything else with {}."""

    async def handle(request):
        body = await request.json()
        refused = body.get("response_format", {}).get("type") == "json_schema"
        return await (reply(error, 400) if refused else reply(chat("{}")))(request)

    return Server(handle)


def kinds(server) -> list[str | None]:
    return [b.get("response_format", {}).get("type") for b in server.bodies]


async def twice(engine):
    return [await engine.generate(asked("m")) for _ in range(2)] + [
        await engine.generate(asked("m", constraint=None))
    ]


def test_where_no_schema_is_taken_plain_json_is_asked_for_from_then_on_and_recorded():
    server = refusing(UNSUPPORTED)
    found = server.ask(twice)
    assert [c.fallback for c in found] == ["json_object", "json_object", None]
    assert kinds(server) == ["json_schema", "json_object", "json_object", None]


def test_one_schema_at_fault_does_not_cost_the_others_theirs():
    server = refusing(AT_FAULT)
    assert [c.fallback for c in server.ask(twice)] == ["json_object", "json_object", None]
    assert kinds(server) == ["json_schema", "json_object", "json_schema", "json_object", None]


def test_a_400_about_something_else_is_final():
    server = Server(reply({"error": {"message": "max_tokens is too large"}}, 400))
    assert server.generate(asked("m")).error == "engine: HTTP 400: max_tokens is too large"
    assert kinds(server) == ["json_schema"]


def test_a_model_known_to_take_no_schema_is_never_sent_one():
    server = refusing(UNSUPPORTED)
    answer = server.generate(asked("deepseek-chat"))
    assert (answer.fallback, kinds(server)) == ("json_object", ["json_object"])


def test_a_completion_row_tells_of_the_fallback_and_of_cached_tokens():
    body = {
        **chat("{}"),
        "usage": {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4}},
    }
    answer = Server(reply(body)).generate(make_request())
    assert answer.cached_tokens == 4
    rows = table(
        "completions", [completion_row(1, make_request(), Completion("{}", "stop", fallback="json_object"))]
    )
    assert rows.select(["fallback", "cached_tokens"]).to_pylist() == [
        {"fallback": "json_object", "cached_tokens": None}
    ]
