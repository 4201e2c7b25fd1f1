"""A stage is one LLM step: a prompt, the constraint on its answer, and a parser from answer to
value.

The same stage runs against every engine. :func:`ask` is the only way a question is put: it renders,
completes, parses, and asks once more when the answer cannot be used. A failure is a value
(``Reply.error``), never an exception.
"""

import hashlib
import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from llmpedia.config.walk import JobConfig
from llmpedia.prompts import Prompt

Q = TypeVar("Q")
A = TypeVar("A")


@dataclass(frozen=True)
class Constraint:
    """What decoding is bound to: a JSON Schema or an EBNF grammar."""

    json_schema: dict[str, Any] | None = None
    grammar: str | None = None

    def dumps(self) -> str | None:
        """Canonical JSON; None for free text."""
        if self.json_schema is not None:
            return json.dumps({"json_schema": self.json_schema}, ensure_ascii=False)
        return json.dumps({"grammar": self.grammar}, ensure_ascii=False) if self.grammar is not None else None


@dataclass(frozen=True)
class Request:
    """One question to a model, whole: what it is keyed by is what is sent."""

    stage: str
    model: str
    messages: tuple[tuple[str, str], ...]
    constraint: str | None
    sampling: str

    @cached_property
    def key(self) -> str:
        """sha256 (hex) of everything that could change the answer."""
        whole = [self.stage, self.model, self.messages, self.constraint, self.sampling]
        return hashlib.sha256(json.dumps(whole, ensure_ascii=False).encode()).hexdigest()

    def chat(self) -> list[dict[str, str]]:
        """The messages as chat endpoints take them."""
        return [{"role": role, "content": content} for role, content in self.messages]


@dataclass(frozen=True)
class Completion:
    """What came back. ``error`` null means that ``text`` is an answer, cut off if ``finish_reason``
    is ``length``.

    ``cached_tokens``: those of ``prompt_tokens`` that the endpoint had in its cache. ``fallback``:
    ``json_object`` where the endpoint did not take the schema that was to bind the answer, else
    null.
    """

    text: str = ""
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error: str | None = None
    cached_tokens: int | None = None
    fallback: str | None = None


RETRY_OPENINGS = ("That answer cannot be used",)
"""How the last turn of a request begins that puts a question once more: every wording that a
release has sent, the present one last, so that retries in old runs are still known as such.
"""


def is_retry(text: str) -> bool:
    """Whether the last turn of a request puts its question once more."""
    return text.startswith(RETRY_OPENINGS)


class Completer(Protocol):
    """Anything that answers requests durably; see ``engines.client``."""

    async def complete(self, request: Request) -> Completion:
        """Answer one request; what comes back is already in the journal."""
        ...


class AnswerError(Exception):
    """The answer breaks the stage's contract; the message says how."""


class Stage(ABC, Generic[Q, A]):
    """One LLM step. Subclasses say what the prompt is filled with, what binds the answer and how it
    is read.
    """

    name: ClassVar[str]

    def __init__(self, config: JobConfig, prompt: Prompt, persona: str) -> None:
        """``persona``: the instruction text set at the system level of every stage."""
        self.config = config
        self.prompt = prompt
        self.persona = persona
        self.settings = config.stage(self.name)

    @abstractmethod
    def values(self, question: Q) -> dict[str, str]:
        """Placeholder -> text."""

    @abstractmethod
    def constraint(self, question: Q) -> Constraint:
        """What binds the answer."""

    @abstractmethod
    def parse(self, question: Q, text: str) -> A:
        """The answer's value.

        Raises:
            AnswerError: the answer cannot be used.
        """

    def request(self, question: Q, rejected: tuple[str, str] | None = None) -> Request:
        """The question as it is sent; ``rejected`` is (previous answer, why it could not be used)."""
        values = {**self.values(question), "persona_block": self.persona}
        messages = self.prompt.render(values, with_example=self.config.examples)
        if rejected:
            answer, why = rejected
            messages.append(("assistant", answer[:500] or "(empty)"))
            messages.append(
                ("user", f"{RETRY_OPENINGS[-1]}: {why}. Answer again, exactly in the form asked for.")
            )
        sampling = {
            "temperature": self.settings.temperature,
            "frequency_penalty": self.settings.frequency_penalty,
            "max_tokens": self.settings.max_tokens,
            "seed": self.config.engine.seed,
            "reasoning_effort": self.settings.reasoning_effort,
            **({"chat_template_kwargs": self.settings.template} if self.settings.template else {}),
        }
        return Request(
            stage=self.name,
            model=str(self.settings.model),
            messages=tuple(messages),
            constraint=self.constraint(question).dumps(),
            sampling=json.dumps(sampling),
        )


@dataclass
class Reply(Generic[A]):
    """A stage's value or error, with every completion it took, in order asked."""

    value: A | None = None
    error: str | None = None
    completions: list[tuple[Request, Completion]] = field(default_factory=list)

    @property
    def key(self) -> str:
        """Key of the completion that decided."""
        return self.completions[-1][0].key


async def ask(
    client: Completer, stage: Stage[Q, A], question: Q, rejected: tuple[str, str] | None = None
) -> Reply[A]:
    """Put one question; a malformed answer is asked again ``retries.malformed`` times with the
    reason.

    ``rejected``: an earlier answer to it and why that would not do.
    """
    reply: Reply[A] = Reply()
    for _ in range(1 + stage.config.retries.malformed):
        request = stage.request(question, rejected)
        completion = await client.complete(request)
        reply.completions.append((request, completion))
        if completion.error is not None:
            reply.error = completion.error
            return reply
        try:
            reply.value = stage.parse(question, answer_text(completion))
        except AnswerError as e:
            reply.error = str(e)
            rejected = (completion.text, reply.error)
            continue
        reply.error = None
        return reply
    return reply


# Some chat templates open the block in the prompt, so that an answer may hold its end alone.
_THINK = re.compile(r"^\s*<think>.*?</think>|^(?:(?!<think>).)*?</think>", re.DOTALL)


def without_thought(text: str) -> str:
    """The text without a model's ``<think>`` block; may be empty.

    Raises:
        AnswerError: thought without an end.
    """
    text = _THINK.sub("", text, count=1).strip()
    if text.startswith("<think>"):
        raise AnswerError("truncated: the <think> block never ends")
    return text


def answer_text(completion: Completion) -> str:
    """The answer without the model's ``<think>`` block.

    Raises:
        AnswerError: cut off, empty, or thought without an end.
    """
    if completion.finish_reason == "length":
        raise AnswerError("truncated: the token budget ended before the answer did")
    text = without_thought(completion.text)
    if not text:
        raise AnswerError("empty answer")
    return text


# What could close or open a block of the prompts that show text under judgement.
_TAG = re.compile(r"<(?=\s*/?\s*(?:article|claims|evidence|accounts|response|document|page|log)\b)", re.I)


def neutral(text: str) -> str:
    """The text with the prompts' own tags made harmless: text under judgement is data and cannot
    leave its block.
    """
    return _TAG.sub("\u2039", text)


def one_line(text: str) -> str:
    """White space and line breaks as single spaces: a claim cannot begin a line of its own."""
    return " ".join(text.split())


def object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of an object with exactly these keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


class Pairs(dict[str, Any]):
    """A JSON object that remembers repeated keys: ``pairs`` has every (key, value) in order."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


# Group 1: an escaped backslash or a whole surrogate pair. Without it: half a pair, which JSON can
# carry and UTF-8 cannot.
_HALF_CHARACTER = re.compile(
    r"(\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
_DECODER = json.JSONDecoder(object_pairs_hook=Pairs)


def parse_object(text: str) -> Pairs:
    """The first JSON object in an answer, with or without fences or prose around it.

    Raises:
        AnswerError: there is none.
    """
    text = _HALF_CHARACTER.sub(lambda m: m.group(1) or r"\ufffd", text)
    start = text.find("{")
    while start >= 0:
        try:
            value, _ = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):  # ValueError: also a number of too many digits
            start = text.find("{", start + 1)
            continue
        if isinstance(value, Pairs):
            return value
        start = text.find("{", start + 1)
    raise AnswerError("no JSON object in the answer")


def parse_only_object(text: str) -> Pairs:
    """The same, where the answer holds one JSON object and nothing else in braces.

    For answers on text under judgement: that may hold JSON of its own, which a judge that quotes it
    must not hand in.

    Raises:
        AnswerError: there is none, or more.
    """
    text = _HALF_CHARACTER.sub(lambda m: m.group(1) or r"\ufffd", text)
    try:
        value, end = _DECODER.raw_decode(text, max(text.find("{"), 0))
    except (ValueError, RecursionError):
        raise AnswerError("no JSON object in the answer, or one that is broken") from None
    if not isinstance(value, Pairs) or "{" in text[end:]:
        raise AnswerError("the answer is not one JSON object alone")
    return value


def completion_row(subject_id: int | None, request: Request, completion: Completion) -> dict[str, Any]:
    """A row of the completions table."""
    return {
        "key": request.key,
        "stage": request.stage,
        "subject_id": subject_id,
        "model": request.model,
        "messages": json.dumps(request.chat(), ensure_ascii=False),
        "constraint": request.constraint,
        "sampling": request.sampling,
        **completion.__dict__,
    }
