"""A little web on this machine, the agent's tools over it, and a scripted model: for the tests of
the web check.
"""

import ipaddress
import json
from collections import Counter
from urllib.parse import urlsplit

from aiohttp import web

from llmpedia.config.walk import RetriesSection, parse_as
from llmpedia.engines.client import Client, GroupCommit
from llmpedia.engines.concurrency.client import Permits
from llmpedia.probe.questions.web_tools import PageEngine, SearchEngine, WebTools
from llmpedia.probe.settings.build import BuildConfig
from llmpedia.stages import Completion
from llmpedia.store.files import Folder
from llmpedia.store.journal import JournalWriter, read_wave
from llmpedia.web.guard import Policy
from llmpedia.web.search import make_search
from llmpedia.web.settings import Reach, WebSection

FILLER = " ".join(
    f"The record of year {1800 + i} speaks of storm number {i} off the coast." for i in range(8)
)
# Hosts with a score of their own (100, 95, 94), and Wikipedia as its pages are over https.
SCORES = {"wikipedia.org": 70, "wiki2.org": 70}


def html(text, title="A page"):
    body = f"<article><p>{text}</p><p>{FILLER}</p></article>"
    return f"<!doctype html><html><head><title>{title}</title></head><body>{body}</body></html>"


def build_config(**sections) -> BuildConfig:
    data = {
        "engine": {"kind": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1"},
        "corpus": {"source": "x"},
        **sections,
    }
    return parse_as(BuildConfig, data, "test")


class Web:
    """Serves ``GET /search?q=&n=`` and pages; to be used inside the loop that asks.

    ``results``: query -> [(host and path, title, snippet)]; None: the search engine answers nobody.
    ``pages``: host and path -> HTML, a status, or ``("to", host and path)``, a redirect. ``asked``
    counts searches (``?query``) and pages.
    """

    def __init__(self, results, pages):
        self.results = results
        self.pages = pages
        self.asked = Counter()

    async def __aenter__(self):
        app = web.Application()
        app.router.add_get("/search", self._search)
        app.router.add_get("/{path:.*}", self._page)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_):
        await self._runner.cleanup()

    def url(self, place):
        """The address of a page at ``host/path``."""
        host, _, path = place.partition("/")
        return f"http://{host}:{self.port}/{path}"

    async def _search(self, request):
        query = request.query["q"]
        self.asked[f"?{query}"] += 1
        if self.results is None:
            return web.Response(status=503)
        found = [{"url": self.url(p), "title": t, "snippet": s} for p, t, s in self.results.get(query, [])]
        return web.json_response({"results": found[: int(request.query["n"])]})

    async def _page(self, request):
        place = f"{urlsplit(f'//{request.host}').hostname}/{request.match_info['path']}"
        self.asked[place] += 1
        page = self.pages.get(place, 404)
        if isinstance(page, int):
            return web.Response(status=page)
        if isinstance(page, tuple):
            return web.Response(status=302, headers={"Location": self.url(page[1])})
        return web.Response(text=page, content_type="text/html")

    def settings(self, **changed) -> WebSection:
        """Settings under which the pages may be read."""
        given = {"backend": "rehearsal", "base_url": f"http://127.0.0.1:{self.port}", "timeout_s": 5.0}
        return WebSection(**given, extractors=1, **changed)

    def reach(self) -> Reach:
        """This machine, under the names of the sites."""
        policy = Policy((ipaddress.ip_network("127.0.0.0/8"),), frozenset({self.port}))
        return Reach(policy, SCORES)

    def engines(self, caches=(None, None), **changed):
        """The two engines over this web, of which every name leads to this machine."""
        settings = self.settings(**changed)
        searches = [make_search(settings.backend, settings.base_url, 5.0) for _ in range(2)]
        page = PageEngine(settings, self.reach(), searches[1], caches[1], loopback)
        return SearchEngine(searches[0], settings.results, caches[0]), page


async def loopback(host, port):
    return ["127.0.0.1"]


def durable(engine, folder, attempts=2) -> Client:
    """A client over an engine, with the journal in a folder."""
    commit = GroupCommit(JournalWriter(Folder(folder), 0, type(engine).__name__))
    retries = RetriesSection(attempts=attempts, first_wait_s=0.01, max_wait_s=0.01)
    return Client(engine, read_wave(Folder(folder), 0), commit, retries, Permits(4))


def tools_over(search, page, folder) -> WebTools:
    """Durable tools over two engines."""
    return WebTools(durable(search, folder), durable(page, folder), search.name, page.name, page.refusal)


class Agent:
    """A model, as completer and as engine, that says its lines in turn; the last one for ever.

    A line is an answer, as dict or text, an error (``Completion``), or a function of what it is
    shown.
    """

    def __init__(self, *lines):
        self.lines = lines
        self.shown = []

    async def generate(self, request):
        line = self.lines[min(len(self.shown), len(self.lines) - 1)]
        self.shown.append(request.messages[-1][1])
        line = line(self.shown[-1]) if callable(line) else line
        return (
            line
            if isinstance(line, Completion)
            else Completion(line if isinstance(line, str) else json.dumps(line), "stop")
        )

    complete = generate

    async def close(self):
        pass

    def log(self, turn=-1):
        """The log as it was shown before an action."""
        return self.shown[turn].partition("<log>\n")[2].rpartition("\n</log>")[0]


def search(query):
    return {"action": "search", "query": query, "url": "", "accounts": {}}


def fetch(url):
    return {"action": "fetch", "query": "", "url": url, "accounts": {}}


def finish(*claims):
    """``claims``: (address, quote) by account; None: no support."""
    told = [
        {"supported": c is not None, "url": c[0] if c else "", "quote": c[1] if c else ""} for c in claims
    ]
    return {
        "action": "finish",
        "query": "",
        "url": "",
        "accounts": {str(i): c for i, c in enumerate(told, 1)},
    }
