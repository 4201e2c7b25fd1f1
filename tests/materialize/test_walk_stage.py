"""A stage of the walk is declared once: one that a test adds is known everywhere, without further
changes.
"""

import asyncio
import json
import shutil

import pytest

from llmpedia import prompts, stage_list
from llmpedia.cli.schema import schema_text
from llmpedia.config.walk import parse_config
from llmpedia.errors import ConfigError
from llmpedia.grid.sharing import shared_stages
from llmpedia.materialize.context_needs import needs_of
from llmpedia.materialize.plan import plan
from llmpedia.materialize.stages import Stages, Subject, prompts_of, walk_stages
from llmpedia.materialize.walk_stage import STAGE_CLASSES, SampleSize, WalkStage
from llmpedia.rehearsal.model.model import WorldModel, asked
from llmpedia.rehearsal.settings import load_settings
from llmpedia.rehearsal.world.world import World
from llmpedia.site.data.run_reader import SiteRun
from llmpedia.site.pages.trace import _call
from llmpedia.stages import (
    AnswerError,
    Completion,
    Constraint,
    ask,
    completion_row,
    object_schema,
    parse_object,
)
from tests.support.builders.runs import make_config, one_line

PROMPT = "system: |\n  Name the era of a subject. {persona_block}\nuser: |\n  Era of: {subject_name}\n"
ORDER = ["self_grounding", "outline", "article", "toy", "ner", "arbitration"]


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """A class, its prompt and its line in the list: all that a stage is, but for its use in the
    walk.
    """
    folder = tmp_path / "prompts"
    shutil.copytree(prompts._FOLDER, folder)
    for regime in ("general", "topic"):
        (folder / regime / "toy.yaml").write_text(PROMPT)
    monkeypatch.setattr(prompts, "_FOLDER", folder)
    prompts.load_prompt.cache_clear()
    known = list(stage_list.WALK_STAGES)
    known.insert(3, stage_list.StageDescription("toy", "In which era?", 333))
    monkeypatch.setattr(stage_list, "WALK_STAGES", tuple(known))

    class Toy(WalkStage[Subject, str]):
        name = "toy"
        prompt_file = "{regime}/toy"

        @property
        def calls(self):
            return 2.0

        @property
        def answer_tokens(self):
            return 5.0

        def sample(self, size):
            return Subject("N" * (1000 if size is SampleSize.LONGEST else 10))

        def values(self, question):
            return {"subject_name": question.name}

        def constraint(self, question):
            return Constraint(json_schema=object_schema({"era": {"type": "string", "minLength": 3}}))

        def parse(self, question, text):
            era = parse_object(text).get("era")
            if not isinstance(era, str):
                raise AnswerError("no era")
            return era

    yield Toy
    del STAGE_CLASSES["toy"]
    prompts.load_prompt.cache_clear()


def test_the_walk_has_the_stage_with_its_prompt(toy):
    stages = Stages.of(make_config())
    assert (list(walk_stages()), stages[toy], type(stages.named("toy"))) == (ORDER, stages.named("toy"), toy)
    assert stages[toy].request(Subject("Ada")).messages[-1] == ("user", "Era of: Ada")
    assert prompts_of(make_config())["toy"].name == "general/toy"
    topic = make_config(run={"mode": "topic", "root_topic": "T"})
    assert prompts_of(topic)["toy"].name == "topic/toy"


def test_settings_know_the_stage(toy):
    config = make_config(stages={"toy": {"temperature": 0.5}})
    assert (config.stage("toy").temperature, config.stage("toy").max_tokens) == (0.5, 333)
    assert make_config(stages={"toy": {"max_tokens": 9}}).stage("toy").max_tokens == 9
    assert "toy" in json.loads(schema_text("walk"))["properties"]["stages"]["propertyNames"]["enum"]


def test_settings_do_not_know_the_stage_without_its_line():
    with pytest.raises(ConfigError) as caught:
        parse_config({"stages": {"toy": {}}}, "test")
    one_line(
        caught,
        "stages.toy = 'toy'",
        "'self_grounding', 'outline', 'article', 'ner', 'arbitration'",
        "change this value",
    )


def test_settings_of_a_walk_refuse_stages_of_other_jobs_and_name_the_new_one(toy):
    with pytest.raises(ConfigError) as caught:
        parse_config({"stages": {"claims": {}}}, "test")
    one_line(caught, "stages.claims: is no stage of a walk", "article, toy, ner, arbitration")


def test_the_plan_reckons_with_the_stage(toy):
    config = make_config(caps={"articles": 100}, plan={"asked_again": 0.0, "thinking_tokens": 0.0})
    row = {r["stage"]: r for r in plan(config, None).stages}["toy"]
    assert (row["calls"], row["completion_tokens"]) == (200, 1000)


def test_its_longest_prompt_must_fit_the_context(toy):
    need = {n.stage: n for n in needs_of(make_config())}["toy"]
    assert need.max_tokens == 333 and 1000 < need.prompt_chars < 1500


def test_grids_compare_its_requests(toy):
    plain = make_config()
    assert shared_stages(plain, make_config()) == ["outline", "article", "toy", "ner", "arbitration"]
    warmer = make_config(stages={"toy": {"temperature": 0.5}})
    assert shared_stages(plain, warmer) == ["outline", "article", "ner", "arbitration"]


def test_the_site_shows_it_in_its_place_under_its_title(toy, monkeypatch):
    rows = [row_of(name) for name in ("ner", "unheard_of", "toy", "outline")]
    run = object.__new__(SiteRun)
    monkeypatch.setattr(run, "_visited", lambda number: [0], raising=False)
    monkeypatch.setattr(run, "_tables", type("Tables", (), {"rows": lambda *a: rows})(), raising=False)
    shown = run.completions(1)
    assert [row["stage"] for row in shown] == ["outline", "toy", "ner", "unheard_of"]
    assert [_call(row).title for row in shown] == [
        "Outline",
        "In which era?",
        "Which names are entities?",
        "unheard of",
    ]


def row_of(stage):
    request = Stages.of(make_config()).named("outline").request(Subject("Ada"))
    return {**completion_row(1, request, Completion("{}", "stop")), "stage": stage, "key": stage}


def test_a_rehearsal_answers_it(toy):
    world = World(load_settings(["entities=3000", "links=20"], seed=5))

    class Rehearsed:
        async def complete(self, request):
            schema = {"name": request.stage, "schema": json.loads(request.constraint)["json_schema"]}
            body = {"messages": request.chat(), "response_format": {"json_schema": schema}}
            assert asked(body).stage == "toy"
            return Completion(*WorldModel(world).answer(body))

    reply = asyncio.run(ask(Rehearsed(), Stages.of(make_config())[toy], Subject("Ada")))
    assert (reply.value, reply.error, len(reply.completions)) == ("xxx", None, 1)
