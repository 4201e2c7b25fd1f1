"""The scorer behind its route: a deployment that works on several requests at once, and the side
that asks it.
"""

import asyncio
import json
import logging
from collections.abc import Sequence
from typing import Any, Protocol

from llmpedia.engines.vllm_serve import answer_of
from llmpedia.perplexity.replica import ScorerReplica
from llmpedia.perplexity.scores import AnswerScore, Question, QuestionScore
from serving.admission import Gate
from serving.engines import unready
from serving.errors import RefusalError
from serving.settings import BatchingSection

log = logging.getLogger(__name__)


class QuestionScorer(Protocol):
    """Whoever scores questions."""

    async def score(self, questions: Sequence[Question]) -> list[QuestionScore]:
        """One score a question, in order.

        Raises:
            RefusalError: none can be had now.
        """
        ...

    async def ready(self) -> str | None:
        """Why it would not answer now; None: it would."""
        ...


class Scorer(ScorerReplica):
    """One scorer. Questions that wait are scored together, and those of a request that has been
    given up not at all.
    """

    def __init__(self, config_json: str, batching_json: str) -> None:
        from ray import serve

        super().__init__(config_json)
        batching = BatchingSection.model_validate_json(batching_json)
        together = serve.batch(
            max_batch_size=batching.questions,
            batch_wait_timeout_s=batching.wait_s,
            max_concurrent_batches=batching.batches,
        )
        self._batched = together(self._together)

    async def score(self, raw: str) -> str:
        """As a scorer on its own answers it."""
        scores = await asyncio.gather(*(self._batched(question) for question in json.loads(raw)))
        fatal = next((t for t in scores if "fatal" in t), None)
        return json.dumps(scores if fatal is None else fatal)

    async def _together(self, questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        scores = json.loads(await super().score(json.dumps(questions)))
        return [scores] * len(questions) if isinstance(scores, dict) else scores


class DeployedScorer:
    """The scorer's deployment in this application. A request whose replica dies is put once more,
    to another.
    """

    def __init__(self, handle: Any, gate: Gate) -> None:
        self._handle = handle
        self._gate = gate

    async def score(self, questions: Sequence[Question]) -> list[QuestionScore]:
        """See :class:`QuestionScorer`."""
        from ray.exceptions import RayActorError
        from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError

        raw = json.dumps([{"question": q.question, "answers": q.answers} for q in questions])
        try:
            try:
                scores = json.loads(await answer_of(self._handle.score.remote(raw)))
            except RayActorError:
                log.warning("a scorer died at work; its request is put once more")
                scores = json.loads(await answer_of(self._handle.score.remote(raw)))
        except BackPressureError:
            raise self._gate.full() from None
        except (RayActorError, DeploymentUnavailableError) as e:
            raise RefusalError(
                503,
                "engine",
                f"no scorer answers ({type(e).__name__}); ask again later",
                {"Retry-After": "5"},
            ) from e
        if isinstance(scores, dict):
            log.error("%s", scores["fatal"])
            raise RefusalError(
                502, "engine", "the scorer's model answers nobody; the operator finds why in the log"
            )
        return [_read(row) for row in scores]

    async def ready(self) -> str | None:
        """See :class:`QuestionScorer`."""
        return await unready(self._handle)


def _read(row: dict[str, Any]) -> QuestionScore:
    answers = tuple(
        AnswerScore(**{**a, "logprobs": None if a["logprobs"] is None else tuple(a["logprobs"])})
        for a in row["answers"]
    )
    return QuestionScore(**{**row, "answers": answers})
