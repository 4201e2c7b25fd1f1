"""The LLM steps of a build by name."""

from llmpedia.probe.pipeline.check_steps import ReadStep, WebStep
from llmpedia.probe.pipeline.steps import KnowledgeStep, QuestionStep, RelationStep, Step
from llmpedia.probe.settings.build import BuildConfig

STEPS: dict[str, type[Step]] = {
    s.name: s for s in (KnowledgeStep, RelationStep, QuestionStep, ReadStep, WebStep)
}


def enabled(config: BuildConfig) -> tuple[str, ...]:
    """Names of the steps that a build takes, in order."""
    checks = config.validation
    return tuple(name for name in STEPS if getattr(checks, name, True))
