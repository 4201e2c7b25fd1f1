"""A small rehearsal world on a real socket, and questions of every stage put to it."""

import asyncio
import json

import aiohttp
from aiohttp import web

from llmpedia.engines.openai import OpenAIEngine
from llmpedia.materialize.stages import Likeness, Phrases, Stages, Subject
from llmpedia.rehearsal.server.server import Server
from llmpedia.rehearsal.settings import load_settings
from llmpedia.rehearsal.world.world import World
from tests.support.builders.runs import make_config

SMALL = ["entities=3000", "links=20"]


def small_world():
    return World(load_settings(SMALL, seed=5))


def run(use, world, *overrides):
    """The outcome of ``await use(base_url, server)``; ``overrides`` replace the world's weather."""

    async def main():
        server = Server(world)
        if overrides:
            server.world = server.model.world = World(load_settings([*SMALL, *overrides], seed=5))
        runner = web.AppRunner(server.app(), access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = site._server.sockets[0].getsockname()[1]
        try:
            return await use(f"http://127.0.0.1:{port}/v1", server)
        finally:
            await runner.cleanup()

    return asyncio.run(main())


def ask(world, stage, question, rejected=None, overrides=(), **sections):
    """What the stage's own parser makes of the answer to its own request."""
    config = make_config(**sections)
    asked = Stages.of(config).named(stage)

    async def use(base, server):
        engine = OpenAIEngine(config.engine.model_copy(update={"base_url": base}))
        try:
            return (await engine.generate(asked.request(question, rejected))).text
        finally:
            await engine.close()

    text = run(use, world, *overrides)
    return asked.parse(question, text), text


QUESTIONS = {
    "self_grounding": Subject("Vannevar Bush"),
    "outline": Subject("Vannevar Bush"),
    "article": Subject("Vannevar Bush", ("One", "Two")),
    "ner": Phrases("Vannevar Bush", ("engineer", "Vannevar")),
    "arbitration": Likeness("A. Named in the article on B: A.", ("C. C is D.",)),
}


def fetch(world, body, *overrides, times=1, timeout=5.0):
    """Per try: (status, headers, parsed body) or the exception."""

    async def use(base, server):
        out = []
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=timeout)) as session:
            for _ in range(times):
                try:
                    async with session.post(f"{base}/chat/completions", json=body) as r:
                        out.append((r.status, dict(r.headers), json.loads(await r.read())))
                except (aiohttp.ClientError, TimeoutError, ValueError) as e:
                    out.append(e)
        return out, server.stats.snapshot()

    return run(use, world, *overrides)


def body_of(stage):
    return {
        "model": "m",
        "messages": Stages.of(make_config()).named(stage).request(QUESTIONS[stage]).chat(),
    }
