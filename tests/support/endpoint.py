"""An OpenAI-compatible endpoint on a real port, that answers as it is told to."""

import asyncio
import json

from aiohttp import web

from llmpedia.config.engine import OpenAISection
from llmpedia.engines.openai import OpenAIEngine
from llmpedia.stages import Completion
from tests.support.builders.runs import OPENAI, make_request

USAGE = {"prompt_tokens": 3, "completion_tokens": 5}
ERROR = {"error": {"message": "no such\nmodel", "code": 404}}


def chat(content, finish_reason="stop") -> dict:
    return {"choices": [{"message": {"content": content}, "finish_reason": finish_reason}], "usage": USAGE}


def reply(body, status=200, **headers):
    """A handler that gives one answer; text goes as it is."""
    text = body if isinstance(body, str) else json.dumps(body)

    async def handle(request):
        return web.Response(
            text=text, status=status, headers={k.replace("_", "-"): v for k, v in headers.items()}
        )

    return handle


class Server:
    """One handler on a real port; keeps what it was sent."""

    def __init__(self, handler):
        self._handler = handler
        self.bodies = []
        self.headers = []

    async def _serve(self, request):
        self.bodies.append(await request.json())
        self.headers.append(request.headers)
        return await self._handler(request)

    def ask(self, use, **engine):
        """The outcome of ``await use(engine)`` with an engine that talks to this server."""

        async def run():
            app = web.Application()
            app.router.add_post("/v1/chat/completions", self._serve)
            runner = web.AppRunner(app, shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            port = site._server.sockets[0].getsockname()[1]
            openai = OpenAIEngine(
                OpenAISection(**{**OPENAI, "base_url": f"http://127.0.0.1:{port}/v1/", **engine})
            )
            try:
                return await use(openai)
            finally:
                await openai.close()
                await runner.cleanup()

        return asyncio.run(run())

    def generate(self, request=None, **engine) -> Completion:
        return self.ask(lambda openai: openai.generate(request or make_request()), **engine)
