"""A client over an engine that fails as it is told to, and a journal on disk."""

import asyncio
from collections import Counter

from llmpedia.config.walk import RetriesSection
from llmpedia.engines.client import Client, GroupCommit
from llmpedia.engines.concurrency.client import Permits
from llmpedia.errors import TransientError
from llmpedia.stages import Completion
from llmpedia.store.files import Folder
from llmpedia.store.journal import JournalWriter, read_wave
from tests.support.builders.runs import make_request

SAMPLING = '{"temperature": 0.5, "max_tokens": 4096}'


class ScriptedEngine:
    """Answers ``text`` with "re: text" after ``latency``.

    ``outcomes``: text -> errors that come first, one a try. ``answers``: how many it gives before
    it dies; None for no end.
    """

    def __init__(
        self, outcomes: dict | None = None, latency: float = 0.0, answers: int | None = None
    ) -> None:
        self.outcomes = {text: list(errors) for text, errors in (outcomes or {}).items()}
        self.latency = latency
        self.answers = answers
        self.asked = Counter()
        self.probes = []
        self.open = self.most_open = 0

    async def generate(self, request):
        text = request.messages[-1][1]
        if request.stage == "health_check":
            self.probes.append(request)
        else:
            self.asked[text] += 1
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            await asyncio.sleep(self.latency)
            errors = self.outcomes.get(text)
            if errors:
                raise errors.pop(0)
            if self.answers is not None:
                self.answers -= 1
                if self.answers < 0:
                    raise TransientError("connection refused")
        finally:
            self.open -= 1
        return Completion(f"re: {text}", "stop")

    async def close(self):
        pass


class Bench:
    """A client over a scripted engine and a journal on disk."""

    def __init__(self, folder, engine, attempts=3, first_wait_s=0.01, max_wait_s=0.05, concurrency=8):
        self.folder = Folder(folder)
        self.engine = engine
        self._retries = RetriesSection(attempts=attempts, first_wait_s=first_wait_s, max_wait_s=max_wait_s)
        self._concurrency = concurrency

    def client(self) -> Client:
        commit = GroupCommit(JournalWriter(self.folder, 0, "w"))
        return Client(self.engine, self.journaled(), commit, self._retries, Permits(self._concurrency))

    def journaled(self) -> dict:
        return read_wave(self.folder, 0)

    def answers(self, *texts, client=None):
        """Completions (or exceptions) of the texts, asked at once."""

        async def ask():
            answering = client or self.client()
            requests = [make_request(t, sampling=SAMPLING) for t in texts]
            return await asyncio.gather(*(answering.complete(r) for r in requests), return_exceptions=True)

        return asyncio.run(ask())


def key(text) -> str:
    return make_request(text, sampling=SAMPLING).key


def failing(n, wait_s=None) -> list[TransientError]:
    return [TransientError("HTTP 503", wait_s) for _ in range(n)]
