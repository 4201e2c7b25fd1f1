"""A probe's settings, with their defaults. The judge is the ``engine`` section, as everywhere."""

from typing import ClassVar, Self

from pydantic import model_validator

from llmpedia.config.base import Section
from llmpedia.config.walk import JobConfig
from llmpedia.stage_list import PROBE_STAGES, names_of


class GradingSection(Section):
    """How responses are graded. ``examples``: send the prompt's worked example, for weak judges."""

    examples: bool = False


PROBE_IDENTITY: dict[str, tuple[str, ...]] = {
    "grading": (),
    "waves": ("size",),
    "engine": ("kind", "model", "dtype", "context_tokens", "seed"),
    "stages": (),
    "retries": ("malformed",),
}


class ProbeConfig(JobConfig):
    """A whole probe."""

    grading: GradingSection = GradingSection()

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
