"""What all stages of the walk have in common."""

from abc import abstractmethod
from enum import Enum, auto
from typing import Any, ClassVar, Self

from llmpedia.config.walk import Config
from llmpedia.prompts import Prompt, load_prompt, persona_text
from llmpedia.stages import A, Q, Stage


class SampleSize(Enum):
    """Which made-up question is meant.

    SMALLEST shows what a prompt is made of, USUAL what a call costs, LONGEST what the context must
    hold.
    """

    SMALLEST = auto()
    USUAL = auto()
    LONGEST = auto()


# Stage -> the class that asks it; what is not in ``stage_list.WALK_STAGES`` is no part of the walk.
STAGE_CLASSES: dict[str, "type[WalkStage[Any, Any]]"] = {}


class WalkStage(Stage[Q, A]):
    """A stage of the walk: a :class:`Stage` that also knows its prompt, when it is asked and what
    it takes.

    ``prompt_file``: under ``prompts/``; ``{regime}`` stands for topic or general, ``{prompting}``
    for the run's.
    """

    config: Config
    prompt_file: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" in cls.__dict__:
            STAGE_CLASSES[cls.name] = cls

    @classmethod
    def of(cls, config: Config) -> Self:
        """The stage as a run asks it.

        Raises:
            ConfigError: unknown persona.
        """
        return cls(config, cls.prompt_of(config), persona_text(config.run.persona))

    @classmethod
    def prompt_of(cls, config: Config) -> Prompt:
        """Its prompt; mode titles writes with the general prompts."""
        regime = "topic" if config.run.mode == "topic" else "general"
        return load_prompt(cls.prompt_file.format(regime=regime, prompting=config.run.prompting))

    @property
    def is_asked(self) -> bool:
        """Whether the run asks it at all."""
        return True

    @abstractmethod
    def sample(self, size: SampleSize) -> Q:
        """A made-up question, to measure prompts and to compare them."""

    @property
    def calls(self) -> float:
        """How often an article is thought to ask it; malformed answers apart."""
        return 1.0

    @property
    @abstractmethod
    def answer_tokens(self) -> float:
        """How many tokens its answer is thought to take."""
