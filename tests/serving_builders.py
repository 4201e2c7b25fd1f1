"""The served application in this process: real routes and middleware over scripted engines and scorers."""

import asyncio
import hashlib
import json
import math

import httpx
from audit_builders import ScriptedJudge

from llmpedia.config import parse_as
from llmpedia.engines.permits import Permits
from llmpedia.perplexity.scores import QuestionScore, score_answer, score_question
from llmpedia.stages import Completion
from serving.api import make_api
from serving.counts import Counts, render
from serving.gate import Gate
from serving.judge import ServedJudge
from serving.parts import Parts
from serving.settings import ServeConfig

KEY, OTHER = "first-key-of-the-tests", "other-key-of-the-tests"
JUDGE = {"engine": {"kind": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1", "context_tokens": 128_000}}
CLAIMS = {"subject": "Ada", "claims": ["Ada was a Dane.", "Ada was born in 1815."]}
VERIFY = {**CLAIMS, "evidence": [{"title": "Ada", "text": "Ada was born in 1815."}]}
GRADE = {"question": "In which year?", "accounts": ["1871", "1874"], "response": "In 1871."}
ITEMS = {"items": [{"question": "Who?", "answers": ["Ada", "Charles Babbage"]}, {"question": "When?", "answers": ["1815"]}]}
CHAT = {"messages": [{"role": "user", "content": "Are you there?"}]}
BODIES = {"/v1/verify": VERIFY, "/v1/grade": GRADE, "/v1/perplexity": ITEMS, "/v1/chat/completions": CHAT}


def serve_config(**sections) -> ServeConfig:
    data = {"judge": JUDGE, "perplexity": {"engine": {"kind": "torch", "dtype": "float32"}}}
    for name, section in sections.items():
        merge = isinstance(section, dict) and isinstance(data.get(name), dict)
        data[name] = {**data[name], **section} if merge else section
    return parse_as(ServeConfig, data, "test")


class ScriptedEngine:
    """Verdicts as :class:`ScriptedJudge` gives them; grades: an account is covered if the response holds it.

    ``wait``: an event that every answer waits for. ``errors``: raised one after the other before the first answer.
    """

    def __init__(self, judge=None, wait=None, errors=()):
        self.judge, self.wait, self.errors, self.asked = judge or ScriptedJudge(), wait, list(errors), []
        self.why, self.chatted, self.closed = None, {"choices": [{"message": {"content": "Yes"}}]}, False

    async def _turn(self, request):
        self.asked.append(request)
        if self.wait is not None:
            await self.wait.wait()
        if self.errors:
            raise self.errors.pop(0)

    async def generate(self, request):
        await self._turn(request)
        if request.stage != "grade":
            return await self.judge.complete(request)
        user = request.messages[-1][1]
        accounts = [line.split(". ", 1)[1] for line in user.split("<accounts>\n")[1].split("\n</accounts>")[0].splitlines()]
        said = user.split("<response>\n")[1].split("\n</response>")[0]
        decisions = {str(i): {"evidence": "as it says", "covered": a in said} for i, a in enumerate(accounts, 1)}
        return Completion(json.dumps({"accounts": decisions, "contradictions": []}), "stop", 20, 9)

    async def chat(self, request, response_format):
        await self._turn(request)
        return self.chatted

    async def ready(self):
        return self.why

    async def close(self):
        self.closed = True


class ScriptedScorer:
    """A log-probability a letter, out of the letters alone; an empty answer is an error."""

    def __init__(self, wait=None):
        self.wait, self.asked, self.why = wait, [], None

    async def score(self, questions):
        self.asked += questions
        if self.wait is not None:
            await self.wait.wait()
        return [scored(q) for q in questions]

    async def ready(self):
        return self.why


def scored(question) -> QuestionScore:
    return score_question(
        [score_answer(a, 3, False, [-(ord(c) % 7 + 1) / 8 for c in a] or [math.nan], "k") for a in question.answers]
    )


class Served:
    """An application and a way to ask it."""

    def __init__(self, config=None, engine=None, scorer=None, keys=(KEY, OTHER)):
        self.config = config or serve_config()
        self.engine = engine or ScriptedEngine()
        self.scorer = scorer or ScriptedScorer()
        self.counts = Counts()
        judge = ServedJudge(self.config.judge, self.engine, Permits(64)) if self.config.judge else None
        gates = Gate("judge", self.config.queue), Gate("perplexity", self.config.queue)
        scorer = self.scorer if self.config.perplexity else None
        digests = tuple(hashlib.sha256(key.encode()).hexdigest() for key in keys)
        self.app = make_api(self.config, digests, Parts(judge, scorer, "m", *gates, self.counts, self._scrape))

    async def _scrape(self):
        return render({"r1": self.counts.families()}, 0)

    def client(self, client=("127.0.0.1", 1)) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self.app, client=client)
        return httpx.AsyncClient(transport=transport, base_url="http://localhost:8000")

    async def ask(self, path, body=None, key=KEY, client=("127.0.0.1", 1), **what) -> httpx.Response:
        """POST with a body, else GET."""
        headers = {**({"Authorization": f"Bearer {key}"} if key else {}), **what.pop("headers", {})}
        method = what.pop("method", "GET" if body is None and "content" not in what else "POST")
        async with self.client(client) as http:
            return await http.request(method, path, json=body, headers=headers, **what)


def ask(path, body=None, served=None, **what) -> httpx.Response:
    return asyncio.run((served or Served()).ask(path, body, **what))


def error(response) -> tuple[int, str, str]:
    """(status, type, message) of a refusal."""
    told = response.json()["error"]
    return response.status_code, told["type"], told["message"]
