"""Every stage that a model is asked in, by job, in the order in which it is asked: the one list of
them.

It lies below settings, jobs and the site, so that all of them read it. What a stage asks and how
its answer is read is in the class of its name (``materialize/stages.py``, ``audit/stages.py``,
``probe/``); docs/extending.md says how to add one.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class StageDescription:
    """A stage, as settings and pages need it.

    Args:
        name: in settings, requests and stored completions.
        title: what the site calls its questions.
        max_tokens: of an answer, where the settings do not say.
    """

    name: str
    title: str
    max_tokens: int


# Outline and fact-sheet budgets follow the paper's released program; an article of 716 words with
# 80 links needs about 2,500 tokens, and 25 phrases with a decision each about 700.
WALK_STAGES: tuple[StageDescription, ...] = (
    StageDescription("self_grounding", "What the model said it knows", 1024),
    StageDescription("outline", "Outline", 1024),
    StageDescription("article", "Article", 4096),
    StageDescription("ner", "Which names are entities?", 2048),
    StageDescription("arbitration", "Is it another name of a known entity?", 256),
)

# 10 verdicts with explanations need about 1,000 tokens.
AUDIT_STAGES: tuple[StageDescription, ...] = (
    StageDescription("claims", "Claims of the article", 1024),
    StageDescription("verdict", "Verdicts on its claims", 2048),
)

BUILD_STAGES: tuple[StageDescription, ...] = (
    StageDescription("knowledge_point", "Knowledge point", 256),
    StageDescription("relation", "Relation of two documents", 1024),
    StageDescription("questions", "Questions", 2048),
    StageDescription("read_check", "Check against the documents", 1024),
    StageDescription("web_check", "Check against the web", 1024),
)

# A closed-book response of three sentences may be thought over at length (ElephantBench allows
# 8,192 tokens).
PROBE_STAGES: tuple[StageDescription, ...] = (
    StageDescription("closed_book", "Answer from memory", 8192),
    StageDescription("grade", "Grade", 2048),
)


def all_stages() -> tuple[StageDescription, ...]:
    """The stages of all jobs."""
    return (*WALK_STAGES, *AUDIT_STAGES, *BUILD_STAGES, *PROBE_STAGES)


def names_of(stages: Sequence[StageDescription]) -> tuple[str, ...]:
    """Their names, in their order."""
    return tuple(stage.name for stage in stages)


def walk_stage_names() -> tuple[str, ...]:
    """The names of the stages of a walk, in the order in which they are asked."""
    return names_of(WALK_STAGES)


def stage_titles() -> dict[str, str]:
    """Name of a stage -> its title."""
    return {stage.name: stage.title for stage in all_stages()}


def default_max_tokens(name: str) -> int:
    """Tokens that an answer may take where the settings do not say."""
    return next(stage.max_tokens for stage in all_stages() if stage.name == name)
