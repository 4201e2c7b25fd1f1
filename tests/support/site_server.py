"""The site behind a real socket, and pages of a real browser that note whatever they should not do."""

import asyncio
import threading
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

import uvicorn
from playwright.sync_api import sync_playwright

from llmpedia.site.app.app import create_app
from llmpedia.site.data.run_reader import open_runs
from llmpedia.site.search.search import RunSearch
from tests.support.browser import ARGUMENTS, chromium
from tests.support.harness import free_port, wait_for


class Server:
    """An app on a loopback port of its own; ``url`` without a slash at its end."""

    def __init__(self, app) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._server = uvicorn.Server(
            uvicorn.Config(app, host="127.0.0.1", port=self.port, log_level="error")
        )
        self._thread = threading.Thread(target=lambda: asyncio.run(self._server.serve()), daemon=True)
        self._thread.start()
        wait_for(self.port)

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(10)


@contextmanager
def served(*folders, **options):
    """A site over runs, its full-text index ready."""
    runs = open_runs([str(f) for f in folders])
    searches = {run.name: RunSearch(run) for run in runs}
    deadline = time.monotonic() + 60
    while any(search.ready() < 1 for search in searches.values()):
        assert time.monotonic() < deadline, [search.note for search in searches.values()]
        time.sleep(0.05)
    server = Server(create_app(runs, searches, **options))
    try:
        yield server
    finally:
        server.close()
        for run in runs:
            run.close()


@contextmanager
def browser():
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield opened
        opened.close()


class Watched:
    """A page of a browser. ``outside``: requests to other hosts; ``wrong``: dialogs, script errors,
    what the policy refused.
    """

    def __init__(self, opened, url, width=1280, **options) -> None:
        self.context = opened.new_context(viewport={"width": width, "height": 800}, base_url=url, **options)
        self.page = self.context.new_page()
        self.outside = []
        self.wrong = []
        self.page.on("request", self._asked)
        self.page.on("dialog", self._dialog)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda m: self.wrong.append(m.text) if m.type == "error" else None)

    def _asked(self, request) -> None:
        if urlsplit(request.url).hostname != "127.0.0.1" and not request.url.startswith("data:"):
            self.outside.append(request.url)

    def _dialog(self, dialog) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def overflows(self) -> bool:
        """Whether the page is wider than its window."""
        return self.page.evaluate(
            "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        )
