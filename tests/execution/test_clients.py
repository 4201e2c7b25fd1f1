"""llmpedia/execution/clients.py: every kind of engine that settings take is made, and a new one
needs no more than its section, its client and the function that makes it.
"""

from typing import Annotated, Literal, get_args

import pytest

from llmpedia.config.engine import EngineSection, VllmSection, WritingEngine
from llmpedia.config.kinds import ByKind, kind_of
from llmpedia.config.walk import Config
from llmpedia.engines.concurrency.client import Permits, SharedPermits
from llmpedia.engines.openai import OpenAIEngine
from llmpedia.engines.openai_batch import OpenAIBatchEngine
from llmpedia.execution.clients import Asker, batches_in_flight, engine_of, make_engine, make_permits
from llmpedia.perplexity.scorer import backend_of
from llmpedia.perplexity.settings import ScoringEngine
from tests.support.builders.runs import make_config


def sections(union) -> tuple[type[EngineSection], ...]:
    """The sections that a setting of engines takes."""
    return next(mark for mark in get_args(union) if isinstance(mark, ByKind)).sections


class EchoSection(EngineSection):
    """An engine that is no part of the product."""

    kind: Literal["echo"] = "echo"
    loudness: int = 3


class EchoEngine:
    """Its client."""

    def __init__(self, section: EchoSection, asker: Asker) -> None:
        self.loudness = section.loudness
        self.asker = asker


class EchoConfig(Config):
    """A walk that may be written by it."""

    engine: Annotated[EngineSection, ByKind((VllmSection, EchoSection), default=VllmSection)] = VllmSection()


@pytest.mark.parametrize("section", sections(WritingEngine), ids=kind_of)
def test_every_engine_that_may_write_is_made_somewhere(section):
    assert engine_of.dispatch(section) is not engine_of.dispatch(EngineSection)


@pytest.mark.parametrize("section", sections(ScoringEngine), ids=kind_of)
def test_every_engine_that_may_score_is_made_somewhere(section):
    assert backend_of.dispatch(section) is not backend_of.dispatch(EngineSection)


def test_an_engine_is_added_by_its_section_and_a_function(tmp_path):
    engine_of.register(EchoSection, EchoEngine)
    config = EchoConfig.model_validate({"engine": {"kind": "echo", "loudness": 5}})
    engine = make_engine(config, str(tmp_path), 3, "driver")
    assert (type(engine), engine.loudness, engine.asker.wave) == (EchoEngine, 5, 3)
    assert config.identity()["engine"]["kind"] == "echo"


def test_an_engine_that_nothing_makes_is_named(tmp_path):
    with pytest.raises(NotImplementedError, match="EngineSection"):
        engine_of(EngineSection(kind="none"), Asker(make_config(), str(tmp_path), 0, "driver"))


@pytest.mark.parametrize(
    ("kind", "engine", "permits"),
    [("openai", OpenAIEngine, SharedPermits), ("openai_batch", OpenAIBatchEngine, Permits)],
)
def test_a_kind_has_its_engine_and_its_permits(tmp_path, kind, engine, permits):
    config = make_config(engine={"kind": kind}, waves={"workers": 1})
    assert type(make_engine(config, str(tmp_path), 0, "driver")) is engine
    assert type(make_permits(config, object(), "driver", 0)) is permits


def test_a_batch_holds_the_whole_wave():
    waves = {"size": 512, "workers": 1, "rows_per_batch": 4}
    batched = make_config(engine={"kind": "openai_batch"}, waves=waves)
    online = make_config(engine={"kind": "openai", "concurrency": 32}, waves=waves)
    assert (batches_in_flight(batched), batches_in_flight(online)) == (128, 24)
