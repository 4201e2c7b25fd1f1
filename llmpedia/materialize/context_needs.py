"""What the stages of a walk take of the engine's context."""

from llmpedia.config.walk import Config
from llmpedia.engines.preflight import Need
from llmpedia.materialize.stages import Stages
from llmpedia.materialize.walk_stage import SampleSize


def needs_of(config: Config) -> list[Need]:
    """What each stage that the run asks takes of the context."""
    needs = []
    for stage in Stages.of(config).asked():
        messages = stage.request(stage.sample(SampleSize.LONGEST)).messages
        chars = sum(len(content) for _, content in messages)
        needs.append(Need(stage.name, chars, stage.settings.max_tokens or 0))
    return needs
