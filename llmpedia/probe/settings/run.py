"""Settings of ``llmpedia probe run`` and ``grade``, with their defaults: a benchmark, the models
asked, the judge.

The judge is the ``engine`` section with ``stages.grade``; each model has an engine of its own.
"""

import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from llmpedia.config.base import Section
from llmpedia.config.engine import EngineSection, WritingEngine
from llmpedia.config.files import load_mapping, parse_as
from llmpedia.config.walk import StageSection
from llmpedia.probe.settings.base import PROBE_IDENTITY, ProbeConfig

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


class ModelSection(Section):
    """A model under test."""

    engine: WritingEngine = Field(description="the model, and where it answers")
    closed_book: StageSection = Field(
        default=StageSection(),
        description="how it is asked; its reasoning_effort null leaves reasoning as the model has "
        "it. Switch reasoning off where the chat template can: closed_book: {template: "
        "{enable_thinking: false}}. family, parameters_b (billions), reasoning, group "
        "(of table 1) only tell the report where the model stands; two models of one "
        "base are the same one with reasoning on and off",
    )
    family: str | None = Field(
        default=None, description="for reports: what models of several sizes have in common"
    )
    parameters_b: Annotated[float, Field(gt=0.0)] | None = Field(
        default=None, description="for reports: billions of parameters"
    )
    reasoning: bool | None = Field(
        default=None, description="for reports: whether it thinks before it answers"
    )
    group: str | None = Field(default=None, description="for reports: what models are listed under")
    base: str | None = Field(default=None, description="for reports: the same model without reasoning")


class AskedConfig(ProbeConfig):
    """What one model is asked with."""

    identity_keys: ClassVar[dict[str, tuple[str, ...]]] = {
        k: v for k, v in PROBE_IDENTITY.items() if k not in ("grading", "retries")
    }


class ProbeRunConfig(ProbeConfig):
    """Many models, one judge."""

    benchmark: Annotated[str, Field(min_length=1)] = Field(
        description="a JSONL file in the published format, or the folder of a build"
    )
    models: dict[str, ModelSection] = Field(description="models that are asked, by a name of your choice")

    identity_keys: ClassVar[dict[str, tuple[str, ...]]] = PROBE_IDENTITY

    @model_validator(mode="after")
    def _models_named(self) -> Self:
        if not self.models:
            raise ValueError("models: {}: nobody to ask; name at least one")
        for name in self.models:
            if not _NAME.fullmatch(name):
                raise ValueError(
                    f"models.{name}: a name is a folder too; use letters, digits and . _ + - only"
                )
        return self

    @model_validator(mode="after")
    def _asked_by_model(self) -> Self:
        if "closed_book" in self.stages:
            raise ValueError(
                "stages.closed_book: each model says how it is asked; set models.NAME.closed_book"
            )
        return self

    def of_model(self, name: str) -> ProbeConfig:
        """What a model is asked with: its engine in the place of the judge's. How it is graded is
        no part of its identity.
        """
        model = self.models[name]
        return self._with(AskedConfig, model.engine, {"closed_book": model.closed_book})

    def of_judge(self) -> ProbeConfig:
        """What responses are graded with."""
        return self._with(ProbeConfig, self.engine, {k: v for k, v in self.stages.items() if k == "grade"})

    def _with(
        self, kind: type[ProbeConfig], engine: EngineSection, stages: dict[Any, StageSection]
    ) -> ProbeConfig:
        kept = {name: getattr(self, name) for name in ProbeConfig.model_fields}
        return kind(**{**kept, "engine": engine, "stages": stages})


def load_run_config(path: str | Path, overrides: list[str] | None = None) -> ProbeRunConfig:
    """Read a YAML file, apply ``a.b=c`` overrides (values are YAML) and check it all.

    Raises:
        ConfigError: one line; nothing has been started.
    """
    return parse_as(ProbeRunConfig, load_mapping(path, overrides), str(path))
