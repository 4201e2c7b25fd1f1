"""What the stages of a walk take of the engine's context."""

from typing import Any

from llmpedia.config.walk import STAGE_NAMES, Config
from llmpedia.engines.preflight import Need
from llmpedia.materialize.steps import Likeness, Phrases, Stages, Subject

# What the longest prompts of a run are measured with: names and headings of a usual length.
_NAME = "N" * 30
_HEADING = "H" * 40


def needs_of(config: Config) -> list[Need]:
    """What each stage of the run takes of the context."""
    stages = Stages.of(config)
    subject = Subject(_NAME, (_HEADING,) * config.article.sections[1])
    questions: dict[str, Any] = {
        "self_grounding": subject,
        "outline": subject,
        "article": subject,
        "ner": Phrases(_NAME, tuple(f"{_NAME}{i}" for i in range(config.entities.ner_chunk))),
        "arbitration": Likeness(_NAME * 10, (_NAME * 10,) * config.entities.neighbours),
    }
    skipped = set() if config.run.self_grounding else {"self_grounding"}
    needs = []
    for name in STAGE_NAMES:
        if name not in skipped:
            stage = getattr(stages, name)
            chars = sum(len(content) for _, content in stage.request(questions[name]).messages)
            needs.append(Need(name, chars, stage.settings.max_tokens))
    return needs
