"""llmpedia/store/completion_lookup.py: what other runs were answered, found by key, with little of
it in memory.
"""

import asyncio
import dataclasses

import pytest

from llmpedia.config.walk import RetriesSection
from llmpedia.engines.client import Client, GroupCommit
from llmpedia.engines.concurrency.client import Permits
from llmpedia.errors import InputError
from llmpedia.stages import Completion, completion_row
from llmpedia.store.completion_lookup import Answers
from llmpedia.store.files import Folder
from llmpedia.store.journal import JournalWriter, read_wave, reused_keys
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import RunFolder
from llmpedia.tables import table
from tests.support.builders.runs import make_request, one_line
from tests.support.client_bench import SAMPLING, ScriptedEngine


def asking(text):
    return make_request(text, sampling=SAMPLING)


def answered(folder, *waves: dict[str, Completion]) -> str:
    """A run whose commits hold these completions and nothing else."""
    run = RunFolder.create_or_open(str(folder), {"identity_hash": "h", "seeds": [], "prompts": {}})
    with Lease(run.folder) as lease:
        for wave in waves:
            rows = [completion_row(0, asking(text), completion) for text, completion in wave.items()]
            run.commit(lease, {"completions": table("completions", rows)}, {})
    return str(folder)


def said(text, **more) -> Completion:
    return Completion(text=text, finish_reason="stop", prompt_tokens=7, completion_tokens=3, **more)


def test_an_answer_is_found_whole_in_whichever_run_and_commit_it_lies(tmp_path):
    whole = said("c", cached_tokens=5, fallback="json_object")
    one = answered(tmp_path / "one", {"a": said("A")}, {}, {"b": said("B")})
    other = answered(tmp_path / "other", {"c": whole})
    answers = Answers([one, other])
    assert [answers.find(asking(t).key) for t in "abcd"] == [said("A"), said("B"), whole, None]
    assert len(answers) == 3


def test_the_run_named_first_comes_first_and_a_failure_answers_nothing(tmp_path):
    failed = answered(
        tmp_path / "failed",
        {"a": Completion(error="engine: failed 5 times, last: HTTP 500"), "b": said("first")},
    )
    other = answered(tmp_path / "other", {"a": said("A"), "b": said("second")})
    answers = Answers([failed, other])
    assert [answers.find(asking(t).key).text for t in "ab"] == ["A", "first"]
    assert Answers([failed]).find(asking("a").key) is None


def test_two_keys_with_one_beginning_are_told_apart(tmp_path):
    """Memory holds 64 bits of a key; the rest of it is compared where its text lies."""
    answers = Answers([answered(tmp_path / "run", {"a": said("A")})])
    key = asking("a").key
    assert answers.find(key[:16] + "0" * 48) is None
    assert answers.find(key).text == "A"


def test_texts_of_one_commit_at_a_time_are_kept_where_there_is_room_for_no_more(tmp_path):
    waves = [{str(n): said(f"{n} " * 5000)} for n in range(4)]
    answers = Answers([answered(tmp_path / "run", *waves)], room=1)
    for n in (3, 0, 2, 1):
        assert answers.find(asking(str(n)).key).text == f"{n} " * 5000
        assert len(answers._read) == 1


def test_a_run_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError) as caught:
        Answers([str(tmp_path / "nowhere")])
    assert "nowhere: no run.yaml there" in one_line(caught)


def test_what_another_run_was_answered_is_journaled_as_such_and_not_asked(tmp_path):
    answers = Answers([answered(tmp_path / "other", {"a": said("theirs")})])
    folder = Folder(tmp_path / "run")
    engine = ScriptedEngine()

    def completed(others):
        commit = GroupCommit(JournalWriter(folder, 0, "w"))
        client = Client(engine, read_wave(folder, 0), commit, RetriesSection(), Permits(4), others)

        async def both():
            return [await client.complete(asking(t)) for t in "ab"]

        return asyncio.run(both())

    first = completed(answers)
    assert [c.text for c in first] == ["theirs", "re: b"]
    assert engine.asked == {"b": 1}
    assert reused_keys(folder, 0) == {asking("a").key}
    assert completed(None) == first  # a restart has it from its own journal, wherever the other run has gone
    assert engine.asked == {"b": 1}
    assert dataclasses.asdict(first[0]) == dataclasses.asdict(said("theirs"))
