"""The judge behind the routes: the stages of audit and probe over an engine, without a journal,
within a request's time.
"""

import asyncio
import json
import logging
import math
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from llmpedia.audit.article import Row, judge
from llmpedia.audit.evidence import Evidence
from llmpedia.audit.stages import Judge
from llmpedia.config.walk import RetriesSection
from llmpedia.engines.base import Engine, wait_before_retry
from llmpedia.engines.concurrency.client import Permits
from llmpedia.errors import EngineError, TransientError
from llmpedia.probe.benchmark.grade import Grade, Graded, Response, grade
from llmpedia.stages import Completion, Request
from serving.errors import RefusalError
from serving.settings import JudgeSection

log = logging.getLogger(__name__)

T = TypeVar("T")


class ChatEngine(Engine, Protocol):
    """An engine that also answers whole chats."""

    async def chat(self, request: Request, response_format: dict[str, Any] | None) -> dict[str, Any]:
        """One try at a chat, answered in the form of OpenAI.

        Raises:
            TransientError: worth another try.
            RefusalError: the engine can never serve it.
        """
        ...

    async def ready(self) -> str | None:
        """Why it would not answer now; None: it would."""
        ...


class Passing:
    """Answers requests of stages and keeps nothing. A failure is told in the durable client's words
    (``engines.client``).
    """

    def __init__(self, engine: Engine, retries: RetriesSection, permits: Permits) -> None:
        self._engine = engine
        self._retries = retries
        self._permits = permits

    async def complete(self, request: Request) -> Completion:
        """See :class:`~llmpedia.stages.Completer`.

        Raises:
            RefusalError: the engine takes no more requests, or none from this server.
        """
        try:
            return await self.tried(lambda: self._engine.generate(request))
        except TransientError as e:
            return Completion(error=f"engine: failed {self._retries.attempts} times, last: {e}")

    async def tried(self, call: Callable[[], Awaitable[T]]) -> T:
        """What a call comes to, tried as often as ``retries`` allows.

        Raises:
            TransientError: every try failed.
            RefusalError: see :meth:`complete`.
        """
        for attempt in range(self._retries.attempts):
            try:
                async with self._permits.slot():
                    return await call()
            except TransientError as e:
                last = e
                wait_s = wait_before_retry(e, attempt, self._retries)
            except EngineError as e:
                log.error("%s", e)
                raise RefusalError(
                    502, "engine", "the engine refuses this server; its operator finds why in the log"
                ) from e
            if attempt + 1 == self._retries.attempts or (
                last.rate_limited and wait_s > self._retries.max_wait_s
            ):
                break
            await asyncio.sleep(min(wait_s, self._retries.max_wait_s))
        if last.rate_limited:
            headers = {"Retry-After": str(max(1, math.ceil(wait_s)))}
            raise RefusalError(
                503, "over_capacity", f"the engine takes no more requests now ({last})", headers
            )
        raise last


class ServedJudge:
    """What verify, grade and chat are answered by."""

    def __init__(self, section: JudgeSection, engine: ChatEngine, permits: Permits) -> None:
        self.section = section
        self.engine = engine
        self._client = Passing(engine, section.retries, permits)
        self._judge = Judge(section.judging())
        self._grade = Grade(section.grading())

    async def verify(self, subject: str, claims: tuple[str, ...], evidence: Evidence) -> list[Row]:
        """A verdict row a claim, as an audit writes it."""
        rows, _ = await judge(subject, claims, evidence, self._judge, self._client)
        return rows

    async def grade(self, response: Response) -> Graded:
        """As a probe grades."""
        return await grade(self._client, self._grade, response)

    async def chat(self, request: Request, response_format: dict[str, Any] | None) -> dict[str, Any]:
        """A chat passed to the engine."""
        try:
            return await self._client.tried(lambda: self.engine.chat(request, response_format))
        except TransientError as e:
            log.warning("the engine does not answer: %s", e)
            message = f"the engine does not answer in {self.section.retries.attempts} tries; ask again later"
            raise RefusalError(503, "engine", message, {"Retry-After": "5"}) from e

    def models(self) -> list[str]:
        """Models that may be asked: the engine's and the stages' own."""
        return list(
            dict.fromkeys(
                [self.section.engine.model, *(s.model for s in self.section.stages.values() if s.model)]
            )
        )


def chat_request(model: str, messages: tuple[tuple[str, str], ...], sampling: dict[str, Any]) -> Request:
    """A chat as a request of a stage that has neither prompt nor parser."""
    return Request("chat", model, messages, None, json.dumps(sampling))
