"""A scripted model behind a real socket: an OpenAI-compatible server whose answers are a pure
function of the request.

Run as a program: ``python tests/support/scripted_engine.py PORT LOG [--latency S] [--fail-every
N]``. The log gets one line a request: its body's hash. The little world has 150 entities; articles
link 8 of them, with variants, generic words and loop forms.
"""

import argparse
import asyncio
import hashlib
import json
import math
import random
import re
from pathlib import Path

from aiohttp import web

from llmpedia.rehearsal.server.batch_service import BatchPlan, BatchService, Delays

WORLD = 150
GENERIC = ("engineer", "government", "physics")
_SYLLABLES = "ba ko ri mun ta vel dor shi an pe lo gra wen qui sa tor".split()


def name_of(n: int) -> str:
    """The main name of entity ``n``."""
    rng = random.Random(f"name {n}")
    first, last = ("".join(rng.choices(_SYLLABLES, k=k)).capitalize() for k in (2, 3))
    return f"{first} {last} {'ABCDEFGHIJ'[n % 10]}{n // 10}"


NUMBER = {name_of(n): n for n in range(WORLD)}


def entity(name: str) -> int | None:
    """Which entity a surface form names."""
    plain = name.removeprefix("The ").replace("-", " ")
    return NUMBER.get(plain)


def article(subject: str, headings: list[str]) -> str:
    rng = random.Random(f"article {subject}")
    parts = [
        (
            f"'''{subject}''' is described in the [[{rng.choice(GENERIC)}]] tradition. See [[History "
            f"of {subject}]]."
        )
    ]
    for heading in headings:
        links = []
        for n in rng.sample(range(WORLD), 4):
            form = rng.choice([name_of(n), name_of(n), "The " + name_of(n), name_of(n).replace(" ", "-", 1)])
            links.append(f"It met [[{form}]] in the year {rng.randrange(1000, 2000)}.")
        parts.append(f"== {heading} ==\n" + " ".join(links))
    return "\n\n".join(parts)


def answer(body: dict) -> str:
    """The completion's text."""
    user = body["messages"][-1]["content"]
    if user.startswith("Are you there"):
        return "Yes"
    stage = (body.get("response_format") or {}).get("json_schema", {}).get("name", "article")
    subject = re.search(r"^Subject: (.*)$", user, re.M)
    if stage == "outline":
        return json.dumps({"sections": ["Early years", "Later years"]})
    if stage == "ner":
        phrases = user.split("Candidates:\n", 1)[1].splitlines()
        return json.dumps({p: entity(p) is not None for p in phrases})
    if stage == "arbitration":
        candidate = entity(re.match(r"Candidate: (.*?)\. ", user).group(1))
        for letter, known in re.findall(r"^([A-Z]\d*): (.*?)\. ", user, re.M):
            if entity(known) == candidate:
                return json.dumps({"duplicate_of": letter})
        return json.dumps({"duplicate_of": "none"})
    outline = json.loads(user[user.index('{"sections"') :])
    return article(subject.group(1), outline["sections"])


def completion(body: dict) -> dict:
    text = answer(body)
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": len(text) // 4}}


def vector(name: str) -> list[float]:
    """Forms of one entity lie within 0.90 of each other, different entities apart."""
    n = entity(name)
    rng = random.Random(f"vector {name if n is None else n}")
    base = [rng.gauss(0, 1) for _ in range(32)]
    noise = random.Random(f"noise {name}")
    v = [x + 0.12 * noise.gauss(0, 1) for x in base]
    length = math.sqrt(sum(x * x for x in v))
    return [x / length for x in v]


class Server:
    def __init__(self, log: Path, latency: float, fail_every: int) -> None:
        self.log = log.open("a")
        self.latency = latency
        self.fail_every = fail_every
        self.seen = 0

    async def _arrive(self, request: web.Request) -> dict:
        raw = await request.read()
        self.seen += 1
        if self.fail_every and self.seen % self.fail_every == 0:
            raise web.HTTPTooManyRequests(headers={"Retry-After": "0.05"})
        self.log.write(hashlib.sha256(raw).hexdigest() + "\n")
        self.log.flush()
        if self.latency:
            await asyncio.sleep(random.uniform(0, 2 * self.latency))
        return json.loads(raw)

    async def chat(self, request: web.Request) -> web.Response:
        return web.json_response(completion(await self._arrive(request)))

    def batched(self, body: dict) -> tuple[int, dict]:
        """The same answer for a line of a batch."""
        self.log.write(hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest() + "\n")
        self.log.flush()
        return 200, completion(body)

    async def embed(self, request: web.Request) -> web.Response:
        body = await self._arrive(request)
        rows = [{"index": i, "embedding": vector(n)} for i, n in enumerate(body["input"])]
        random.shuffle(rows)
        return web.json_response({"data": rows})


def faults(number: int) -> BatchPlan:
    """Every third batch expires with a quarter of its lines left, every fifth loses some."""
    return BatchPlan(expire=0.25 * (number % 3 == 2), lose=0.1 * (number % 5 == 4))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("log", type=Path)
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--fail-every", type=int, default=0)
    parser.add_argument("--batch", type=float, default=0.05, help="seconds a batch takes")
    args = parser.parse_args()
    server = Server(args.log, args.latency, args.fail_every)
    app = web.Application(client_max_size=1 << 24)
    app.add_routes([web.post("/v1/chat/completions", server.chat), web.post("/v1/embeddings", server.embed)])
    app.add_routes(BatchService(server.batched, delays=Delays(in_progress=args.batch), plan=faults).routes())
    web.run_app(app, host="127.0.0.1", port=args.port, print=None)


if __name__ == "__main__":
    main()
