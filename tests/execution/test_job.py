"""llmpedia/execution/job.py: a folder is opened under its lease and cleared; what is shared is
counted once.
"""

import pytest

from llmpedia.errors import InputError
from llmpedia.execution.job import open_job, running_totals, unique_completions
from llmpedia.store.lease import read_lease
from llmpedia.store.run_folder import RunFolder
from tests.support.builders.runs import one_line

DESCRIPTION = {"identity_hash": "a", "identity": {}, "seeds": [], "prompts": {}}


def test_a_job_makes_its_folder_and_holds_it_while_it_runs(tmp_path):
    uri = str(tmp_path / "run")
    with open_job(uri, DESCRIPTION) as job:
        assert read_lease(job.run.folder) is not None
        with pytest.raises(InputError), open_job(uri, DESCRIPTION):
            pass
    assert read_lease(RunFolder.open(uri).folder) is None


def test_a_job_commits_the_next_wave(tmp_path):
    with open_job(str(tmp_path / "run"), DESCRIPTION) as job:
        assert (job.run.last, job.run.totals) == (None, {})
        job.commit({}, {"totals": {"articles": 1}})
        job.commit({}, {"totals": {"articles": 3}})
    run = RunFolder.open(str(tmp_path / "run"))
    assert (run.last_wave, run.totals, run.last.wave) == (1, {"articles": 3}, 1)


def test_what_a_crash_left_uncommitted_is_removed(tmp_path):
    uri = str(tmp_path / "run")
    with open_job(uri, DESCRIPTION) as job:
        job.commit({}, {"totals": {}})
    left = tmp_path / "run" / "tables" / "articles" / "wave=00001" / "part.parquet"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"x")
    with open_job(uri, DESCRIPTION) as job:
        assert not left.exists()
        assert job.run.uncommitted() == []


def test_another_jobs_folder_is_refused(tmp_path):
    uri = str(tmp_path / "run")
    with open_job(uri, DESCRIPTION) as job:
        job.commit({}, {"totals": {}})
    with pytest.raises(InputError) as caught, open_job(uri, {**DESCRIPTION, "identity_hash": "b"}):
        pass
    one_line(caught)


def test_a_completion_that_several_visits_asked_for_is_kept_once():
    visits = [
        {"completions": [{"key": "a", "n": 1}, {"key": "b", "n": 2}]},
        {"completions": [{"key": "a", "n": 3}]},
    ]
    assert unique_completions(visits) == [{"key": "a", "n": 1}, {"key": "b", "n": 2}]


def test_totals_run_on_from_the_manifest_before(tmp_path):
    with open_job(str(tmp_path / "run"), DESCRIPTION) as job:
        assert running_totals(job.run.last, {"a": 2}, ["a", "b"]) == {"a": 2, "b": 0}
        job.commit({}, {"totals": {"a": 2, "b": 0}})
        assert running_totals(job.run.last, {"b": 5}, ["a", "b"]) == {"a": 2, "b": 5}
