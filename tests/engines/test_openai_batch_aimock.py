"""The batch engine against a Batch API that this project did not write: @copilotkit/aimock,
installed from npm.
"""

import asyncio
import json
import shutil
import subprocess

import pytest

from llmpedia.config.engine import OpenAIBatchSection
from llmpedia.config.walk import BatchSection
from llmpedia.engines.client import GroupCommit
from llmpedia.engines.openai_batch import OpenAIBatchEngine
from llmpedia.errors import EngineError, TransientError
from llmpedia.stages import Completion
from llmpedia.store.files import Folder
from llmpedia.store.journal import JournalWriter, read_batches
from tests.support.builders.runs import OPENAI, make_request
from tests.support.harness import free_port, wait_for

pytestmark = pytest.mark.npm

PACKAGE = "@copilotkit/aimock@1.43.0"
QUICK = BatchSection(settle_s=0.05, first_poll_s=0.05, longest_poll_s=0.3)
ENDS = {
    "completed": Completion,
    "failed": EngineError,
    "expired": TransientError,
    "cancelled": TransientError,
}


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    folder = tmp_path_factory.mktemp("aimock")
    assert shutil.which("npm"), "npm is missing: this test installs aimock with it (apt-get install npm)"
    subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", PACKAGE],
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=120,
    )
    (folder / "f.json").write_text(
        json.dumps({"fixtures": [{"match": {}, "response": {"content": "canned"}}]})
    )
    port = free_port()
    server = subprocess.Popen(
        [folder / "node_modules/.bin/llmock", "-f", "f.json", "-p", str(port)],
        cwd=folder,
        stdout=subprocess.DEVNULL,
    )
    wait_for(port)
    yield f"http://127.0.0.1:{port}/v1"
    server.kill()
    server.wait()


async def ask(url, folder, outcome=None) -> list:
    commit = GroupCommit(JournalWriter(folder, 0, f"{outcome}"))
    section = OpenAIBatchSection(**{**OPENAI, "kind": "openai_batch", "base_url": url})
    engine = OpenAIBatchEngine(section, QUICK, "run", 0, commit, read_batches(folder, 0))
    if outcome:
        engine._endpoint._headers["X-AIMock-Batch-Outcome"] = outcome
    try:
        asks = (engine.generate(make_request(f"q{i}")) for i in range(5))
        return await asyncio.wait_for(asyncio.gather(*asks, return_exceptions=True), 30)
    finally:
        await engine.close()


@pytest.mark.parametrize("outcome", ENDS)
def test_every_end_of_a_batch_is_told(url, tmp_path, outcome):
    found = asyncio.run(ask(url, Folder(tmp_path), outcome))
    assert [type(f) for f in found] == [ENDS[outcome]] * 5


def test_a_new_start_takes_the_answers_of_the_batch_in_the_journal(url, tmp_path):
    folder = Folder(tmp_path)
    first = asyncio.run(ask(url, folder))
    records = read_batches(folder, 0)
    assert asyncio.run(ask(url, folder)) == first
    assert read_batches(folder, 0) == records
