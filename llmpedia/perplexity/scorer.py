"""The scorer: questions in, scores out, one a question and in order; what cannot be scored is an
error in its place.
"""

import hashlib
import json
from collections.abc import Sequence
from functools import singledispatch
from typing import Any, Self

from cachetools import LRUCache

from llmpedia.config.engine import EngineSection, OpenAISection, VllmSection
from llmpedia.engines.packaged_weights import resolve_model
from llmpedia.engines.preflight import check_model
from llmpedia.errors import EngineError
from llmpedia.perplexity.backend import Backend, Ids, Task
from llmpedia.perplexity.endpoint_backend import EndpointBackend
from llmpedia.perplexity.fingerprint import model_fingerprint
from llmpedia.perplexity.scores import (
    AnswerScore,
    ErrorKind,
    Question,
    QuestionScore,
    score_answer,
    score_question,
)
from llmpedia.perplexity.settings import PerplexityConfig, TorchSection
from llmpedia.perplexity.tokens import Encoded, QuestionEncoder
from llmpedia.perplexity.torch_backend import TorchBackend
from llmpedia.perplexity.vllm_backend import VllmBackend

Values = tuple[float, ...]


class Remembered:
    """The last answers' log-probabilities by key; a key holds the model, so scorers may share one."""

    def __init__(self, most: int) -> None:
        self._values: LRUCache[str, Values] = LRUCache(most)

    def get(self, key: str) -> Values | None:
        """What is remembered of a key."""
        return self._values.get(key)

    def put(self, key: str, values: Values) -> None:
        """Remember, and forget what was not asked for the longest; nothing where there is no room
        at all.
        """
        if self._values.maxsize:
            self._values[key] = values


class PerplexityScorer:
    """Prompt, model and arithmetic in one."""

    def __init__(
        self, encoder: QuestionEncoder, backend: Backend, model: str, longest: int, remembered: Remembered
    ) -> None:
        """``model``: fingerprint; ``longest``: tokens of context and answer together;
        ``remembered``: of earlier calls.
        """
        self._encoder = encoder
        self._backend = backend
        self._longest = longest
        self._remembered = remembered
        self._identity = {"model": model, **encoder.describe(), **backend.describe()}
        # An answer's tokens are in its key, so that of all this only what turns tokens into values
        # needs to be.
        self._of_values = {"model": model, **backend.describe()}

    @classmethod
    def load(cls, config: PerplexityConfig) -> Self:
        """Load the model that ``config.engine`` names; takes as long as that does.

        Raises:
            ConfigError, EngineError: it cannot be had.
        """
        check_model(config, [])
        encoder = QuestionEncoder(_tokenizer(config), config.prompt)
        backend = backend_of(config.engine, config, encoder)
        model = model_fingerprint(config.engine)
        return cls(encoder, backend, model, config.engine.context_tokens, Remembered(config.scorer.cache))

    def describe(self) -> dict[str, Any]:
        """What decides the scores: weights, tokenizer, template, prompt, precision, backend."""
        return dict(self._identity)

    async def ready(self) -> None:
        """Prove that scores come.

        Raises:
            EngineError: they do not.
        """
        await self._backend.ready()

    async def check_health(self) -> None:
        """Raises once no more scores can come from this process."""
        await self._backend.check_health()

    async def score(self, questions: Sequence[Question]) -> list[QuestionScore]:
        """Scores, one a question in order.

        Raises:
            EngineError: the model answers nobody.
        """
        encoded = [self._encoder.encode(q) for q in questions]
        scores = [
            [self._first(q, e, n) for n in range(len(q.answers))]
            for q, e in zip(questions, encoded, strict=True)
        ]
        open_places = [(i, [n for n, s in enumerate(row) if s is None]) for i, row in enumerate(scores)]
        asked = [(i, places) for i, places in open_places if places]
        tasks = [
            Task(encoded[i].context, tuple(encoded[i].answers[n].ids for n in places)) for i, places in asked
        ]
        for (i, places), values in zip(
            asked, await self._backend.logprobs(tasks) if tasks else [], strict=True
        ):
            for place, n in enumerate(places):
                logprobs = values if isinstance(values, str) else values[place]
                scores[i][n] = self._scored(questions[i].answers[n], encoded[i], n, logprobs)
        return [score_question([s for s in row if s is not None]) for row in scores]

    def _first(self, question: Question, encoded: Encoded, n: int) -> AnswerScore | None:
        """The score where no model is needed for it: an error, or a remembered one."""
        answer = encoded.answers[n]
        size = len(encoded.context)
        if answer.error is not None:
            return AnswerScore(error=answer.error)
        if not encoded.context:
            return AnswerScore(
                error=ErrorKind.EMPTY_CONTEXT.message(
                    "the first token of an answer needs one before it; give a prompt or a question"
                )
            )
        if (
            size + len(answer.ids) >= self._longest
        ):  # vLLM needs room for a token that it generates; all backends skip alike
            message = (
                f"{size} tokens and {len(answer.ids)} of the answer fill engine.context_tokens "
                f"= {self._longest}"
            )
            return AnswerScore(size, len(answer.ids), error=ErrorKind.OVERLENGTH.message(message))
        known = self._remembered.get(self._key(encoded.context, answer.ids))
        return self._scored(question.answers[n], encoded, n, list(known)) if known is not None else None

    def _scored(self, text: str, encoded: Encoded, n: int, logprobs: list[float] | str) -> AnswerScore:
        answer = encoded.answers[n]
        size = len(encoded.context)
        key = self._key(encoded.context, answer.ids)
        if isinstance(logprobs, str):
            return AnswerScore(size, len(answer.ids), key=key, error=logprobs)
        score = score_answer(text, size, answer.merged, logprobs, key)
        if score.error is None:
            self._remembered.put(key, tuple(logprobs))
        return score

    def _key(self, context: Ids, answer: Ids) -> str:
        whole = json.dumps([self._of_values, context, answer], sort_keys=True)
        return hashlib.sha256(whole.encode()).hexdigest()


def _tokenizer(config: PerplexityConfig) -> Any:
    """The tokenizer, from disk or the hub.

    Raises:
        EngineError: it cannot be loaded.
    """
    from transformers import AutoTokenizer

    name = config.prompt.tokenizer or config.engine.model
    try:
        return AutoTokenizer.from_pretrained(resolve_model(name))
    except (OSError, ValueError) as e:
        setting = "prompt.tokenizer" if config.prompt.tokenizer else "engine.model"
        message = " ".join(str(e).split())[:200]
        raise EngineError(
            f"{setting} = {name!r}: its tokenizer cannot be loaded ({message}); give a folder or a "
            f"cached name"
        ) from e


@singledispatch
def backend_of(engine: EngineSection, config: PerplexityConfig, encoder: QuestionEncoder) -> Backend:
    """What computes the scores of an engine's section: one function a kind, registered below."""
    raise NotImplementedError(f"no scores are read from {type(engine).__name__}")


@backend_of.register
def _vllm(engine: VllmSection, config: PerplexityConfig, encoder: QuestionEncoder) -> Backend:
    return VllmBackend(engine)


@backend_of.register
def _endpoint(engine: OpenAISection, config: PerplexityConfig, encoder: QuestionEncoder) -> Backend:
    known = encoder.encode(Question("Who are you?", ("I",))).context
    return EndpointBackend(engine, config.retries, known)


@backend_of.register
def _torch(engine: TorchSection, config: PerplexityConfig, encoder: QuestionEncoder) -> Backend:
    """The model in this process.

    Raises:
        EngineError: it cannot be loaded.
    """
    import torch
    from transformers import AutoModelForCausalLM

    device = "cpu" if engine.accelerator == "cpu" else "cuda"
    try:
        dtype = getattr(torch, engine.dtype)
        model = AutoModelForCausalLM.from_pretrained(resolve_model(engine.model), dtype=dtype)
        return TorchBackend(
            model.to(device), encoder.head, config.scorer.batch_tokens, config.scorer.share_prefix
        )
    except (AttributeError, OSError, ValueError, RuntimeError) as e:
        message = " ".join(str(e).split())[:300]
        raise EngineError(
            f"engine.model = {engine.model!r}: cannot be loaded as {engine.dtype} on {device} ({message})"
        ) from e
