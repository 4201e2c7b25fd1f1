"""A question put to a model from memory (ElephantBench paper, section 3.4): one completion, kept as
it comes.

A response that was cut off, in its thoughts too, or says nothing, is what the model came up with:
it is recorded and not asked for again. Whether there is anything to grade in it is for the grading
to say.

Reasoning: ``stages.closed_book.reasoning_effort`` goes to models that take it, and what
``stages.closed_book.template`` holds to the model's chat template, whatever the engine:
``{enable_thinking: false}`` switches the thoughts of Qwen and its like off. Endpoints that want it
said in another way are told by ``engine.extra``, whose keys go into the body of every request to
that engine. All three are part of a run's identity.
"""

from dataclasses import dataclass, field

from llmpedia.probe.settings.base import ProbeConfig
from llmpedia.prompts import load_prompt
from llmpedia.stages import Completer, Completion, Constraint, Request, Stage


class ClosedBook(Stage[str, str]):
    """The question alone; free text back."""

    name = "closed_book"
    config: ProbeConfig

    def __init__(self, config: ProbeConfig) -> None:
        super().__init__(config, load_prompt("probe/closed_book"), "")

    def values(self, question: str) -> dict[str, str]:
        """See :class:`Stage`."""
        return {"question": question}

    def constraint(self, question: str) -> Constraint:
        """See :class:`Stage`."""
        return Constraint()

    def parse(self, question: str, text: str) -> str:
        """The text as it is, with what the model thought; may be empty."""
        return text


@dataclass(frozen=True)
class Responded:
    """What became of a question. ``text``: the raw response; null: see ``error``. ``truncated``:
    the token budget ended it.
    """

    text: str | None
    finish_reason: str | None
    truncated: bool
    error: str | None
    completions: list[tuple[Request, Completion]] = field(default_factory=list)

    @property
    def key(self) -> str:
        """Key of the completion."""
        return self.completions[-1][0].key


async def respond(client: Completer, stage: ClosedBook, question: str) -> Responded:
    """Put a question once; failures are values."""
    request = stage.request(question)
    completion = await client.complete(request)
    asked = [(request, completion)]
    if completion.error is not None:
        return Responded(None, None, False, completion.error, asked)
    text = stage.parse(question, completion.text)
    truncated = completion.finish_reason == "length"
    return Responded(text, completion.finish_reason, truncated, None, asked)
