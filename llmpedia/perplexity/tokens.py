"""A question and its answers as tokens: the answer begins exactly where generation would, and the
context is never rebuilt.

The context is the model's own prompt up to and with the generation prompt; its trailing newlines
belong to it. An answer's tokens are what the joint encoding has after the context's; where the
tokenizer joins the end of the context and the beginning of the answer in one token, the answer is
encoded alone and flagged, so that the context stays what the model would be given.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from llmpedia.errors import ConfigError
from llmpedia.perplexity.backend import Ids
from llmpedia.perplexity.scores import ErrorKind, Question
from llmpedia.perplexity.settings import PromptSection
from llmpedia.prompts import load_prompt


@dataclass(frozen=True)
class AnswerTokens:
    """An answer's tokens, or why it has none. ``merged``: see the module."""

    ids: Ids = ()
    merged: bool = False
    error: str | None = None


@dataclass(frozen=True)
class Encoded:
    """A question as tokens."""

    context: Ids
    answers: tuple[AnswerTokens, ...]


class QuestionEncoder:
    """Turns questions into tokens. ``head``: tokens that every context begins with, at least one
    short of any context.
    """

    def __init__(self, tokenizer: Any, settings: PromptSection) -> None:
        """``tokenizer``: of transformers.

        Raises:
            ConfigError: the model has no chat template though one is to be used or one that refuses
            the prompt, or no end token.
        """
        self._tokenizer = tokenizer
        self._settings = settings
        if settings.chat and not tokenizer.chat_template:
            raise ConfigError("prompt.chat = true: the model has no chat template; set prompt.chat to false")
        if settings.score_end and tokenizer.eos_token_id is None:
            raise ConfigError("prompt.score_end = true: the tokenizer has no end token; set it to false")
        self._prompt = load_prompt(settings.name) if settings.name else None
        self._bos = self._beginning()
        self.head = self._common()

    def encode(self, question: Question) -> Encoded:
        """Tokens of the question and each of its answers."""
        text = self.context_text(question.question)
        context = self._ids(text)
        return Encoded(context, tuple(self._answer(text, context, answer) for answer in question.answers))

    def context_text(self, question: str) -> str:
        """What stands before the answer, as text."""
        turns = self._prompt.render({"question": question}, False) if self._prompt else [("user", question)]
        if not self._settings.chat:
            return "\n\n".join(content for _, content in turns) + ("\n\n" if self._prompt else "")
        messages = [{"role": role, "content": content} for role, content in turns]
        options = self._settings.options
        return str(
            self._tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True, **options
            )
        )

    def describe(self) -> dict[str, Any]:
        """What decides the tokens: template, beginning, prompt."""
        template = self._tokenizer.chat_template if self._settings.chat else None
        vocabulary = json.dumps(sorted(self._tokenizer.get_vocab().items()))
        return {
            "tokenizer_sha256": hashlib.sha256(vocabulary.encode()).hexdigest(),
            "template_sha256": hashlib.sha256(json.dumps(template).encode()).hexdigest()
            if template
            else None,
            "prompt_sha256": self._prompt.sha256 if self._prompt else None,
            "bos": list(self._bos),
            # Some templates put today's date into every context.
            "context_sha256": hashlib.sha256(self.context_text("When?").encode()).hexdigest(),
            "options": dict(self._settings.options),
            "score_end": self._settings.score_end,
        }

    def _answer(self, text: str, context: Ids, answer: str) -> AnswerTokens:
        if not answer:
            return AnswerTokens(error=ErrorKind.EMPTY_ANSWER.message("there is nothing to score"))
        joint = self._ids(text + answer)
        merged = joint[: len(context)] != context
        ids = self._plain(answer) if merged else joint[len(context) :]
        if not ids:
            return AnswerTokens(error=ErrorKind.EMPTY_ANSWER.message("the tokenizer makes no token of it"))
        end = (int(self._tokenizer.eos_token_id),) if self._settings.score_end else ()
        return AnswerTokens(ids + end, merged)

    def _ids(self, text: str) -> Ids:
        """The text's tokens with the beginning token exactly once, as the tokenizer or the template
        wants it.
        """
        ids = self._plain(text)
        return ids if ids[: len(self._bos)] == self._bos else self._bos + ids

    def _plain(self, text: str) -> Ids:
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _beginning(self) -> Ids:
        """The beginning token, where the tokenizer puts one before a text; a chat template brings
        its own.
        """
        bos = self._tokenizer.bos_token_id
        if self._settings.chat or bos is None:
            return ()
        return (bos,) if bos in self._tokenizer("a")["input_ids"][:1] else ()

    def _common(self) -> Ids:
        from jinja2 import TemplateError

        try:
            contexts = [self._ids(self.context_text(q)) for q in ("a", "When?", "1")]
        except TemplateError as e:  # no system turn, or an option that is missing
            message = " ".join(str(e).split())[:200]
            raise ConfigError(
                f"prompt.name = {self._settings.name!r}: the model's chat template refuses it ({message}); "
                "set prompt.name to null, prompt.chat to false, or prompt.options to what it needs"
            ) from e
        size = 0
        while all(size < len(c) - 1 and c[size] == contexts[0][size] for c in contexts):
            size += 1
        return contexts[0][:size]
