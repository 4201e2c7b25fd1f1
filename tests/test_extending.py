"""The recipes of docs/extending.md that are short: a search backend and a table are added here as
it says.

A stage is added in tests/materialize/test_walk_stage.py, an engine in
tests/execution/test_clients.py.
"""

import asyncio

import pyarrow as pa
import pytest
from aiohttp import web
from pydantic import ValidationError

import llmpedia
from llmpedia.execution.job import open_job
from llmpedia.tables import TABLES, table
from llmpedia.tables.schema import ID, STRING, documented_schema
from llmpedia.web import search
from llmpedia.web.search import Hit, make_search
from llmpedia.web.settings import WebSection


def ask(backend, query):
    """What a backend makes of a server that speaks its form."""

    async def answer(request):
        return web.json_response({"pages": [{"at": f"http://x.org/{request.query['q']}", "name": "Found"}]})

    async def run():
        app = web.Application()
        app.router.add_get("/find", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        engine = make_search(backend, f"http://127.0.0.1:{runner.addresses[0][1]}", 5.0)
        try:
            return await engine.search(query, 3)
        finally:
            await engine.close()
            await runner.cleanup()

    return asyncio.run(run())


def test_a_search_backend_is_one_row(monkeypatch):
    with pytest.raises(ValidationError, match="no such search engine"):
        WebSection(backend="toy")
    row = search._Api(
        lambda query, most, key: search._Call("GET", "find", {"params": {"q": query}}),
        lambda data: data["pages"],
        ("at", "name", "snippet"),
    )
    monkeypatch.setitem(search._APIS, "toy", row)
    assert WebSection(backend="toy").backend == "toy"
    assert ask("toy", "Ada") == [Hit("http://x.org/Ada", "Found", "")]


def test_a_table_is_a_schema_and_a_name(monkeypatch, tmp_path):
    schema = documented_schema({"toy_id": (ID, "of the toy"), "name": (STRING, "of the toy")})
    monkeypatch.setitem(TABLES, "toys", schema)
    description = {"identity_hash": "x", "identity": {}, "seeds": [], "prompts": {}}
    with open_job(str(tmp_path / "run"), description) as job:
        job.commit({"toys": table("toys", [{"toy_id": 1, "name": "top"}])}, {"totals": {}})
    run = llmpedia.open_run(str(tmp_path / "run"))
    assert run.manifest.rows == {"toys": 1}
    rows: pa.Table = run.table("toys")
    assert rows.select(["toy_id", "name"]).to_pylist() == [{"toy_id": 1, "name": "top"}]
    with pytest.raises(ValueError, match="unknown columns"):
        table("toys", [{"toy_id": 1, "name": "top", "colour": "red"}])
