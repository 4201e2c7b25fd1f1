"""The LLM steps of a build by name."""

from llmpedia.probe.settings.build import BuildConfig
from llmpedia.probe.build.steps import KnowledgeStep, QuestionStep, RelationStep, Step
from llmpedia.probe.build.check_steps import ReadStep, WebStep

STEPS: dict[str, type[Step]] = {s.name: s for s in (KnowledgeStep, RelationStep, QuestionStep, ReadStep, WebStep)}


def enabled(config: BuildConfig) -> tuple[str, ...]:
    """Names of the steps that a build takes, in order."""
    checks = config.validation
    return tuple(name for name in STEPS if getattr(checks, name, True))
