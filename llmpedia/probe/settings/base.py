"""A probe's settings, with their defaults. The judge is the ``engine`` section, as everywhere."""

from typing import ClassVar, Self

from pydantic import Field, model_validator

from llmpedia.config.base import Section
from llmpedia.config.walk import JobConfig
from llmpedia.stage_list import PROBE_STAGES, names_of


class GradingSection(Section):
    """How responses are graded."""

    examples: bool = Field(default=False, description="send the prompt's worked example, for weak judges")


PROBE_IDENTITY: dict[str, tuple[str, ...]] = {
    "grading": (),
    "waves": ("size",),
    "engine": ("kind", "model", "dtype", "context_tokens", "seed"),
    "stages": (),
    "retries": ("malformed",),
}


class ProbeConfig(JobConfig):
    """A whole probe."""

    grading: GradingSection = Field(default=GradingSection(), description="how responses are graded")

    identity_keys: ClassVar[dict[str, tuple[str, ...]]] = PROBE_IDENTITY

    @model_validator(mode="after")
    def _stages_known(self) -> Self:
        strange = set(self.stages) - set(names_of(PROBE_STAGES))
        if strange:
            raise ValueError(f"stages.{min(strange)}: is no stage of a probe; use grade or closed_book")
        return self

    @property
    def examples(self) -> bool:
        """See :class:`JobConfig`."""
        return self.grading.examples
