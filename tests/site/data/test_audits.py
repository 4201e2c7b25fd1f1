"""Tests of what audits say of an article."""

from llmpedia.site.data.audits import RunAudits
from llmpedia.site.data.row_reader import WaveTables
from tests.support.builders.site import TIERS, commit_audit, written_run


def test_claims_are_in_order_with_a_verdict_a_tier(tmp_path):
    run = written_run(tmp_path / "run", {"A": "a", "B": "b"}).run
    commit_audit(run, {1: ["One.", "Two."], 2: ["Three."]}, waves=2)
    audits, notes = RunAudits(run, (), WaveTables).refresh()
    assert notes == [] and sorted(audits[0].subjects()) == [1, 2]
    audited = audits[0].of(1)
    assert [(claim.number, claim.text) for claim in audited.claims] == [(1, "One."), (2, "Two.")]
    assert {row["tier"] for row in audited.claims[0].verdicts} == set(TIERS)
    assert audits[0].of(0) is None
    assert audits[0].completion(1, "claims 1")["subject_id"] == 1 and audits[0].completion(1, "x") is None


def test_an_audit_without_new_commits_stays_the_object_it_was(tmp_path):
    run = written_run(tmp_path / "run", {"A": "a"}).run
    commit_audit(run, {1: ["One."]}, "first")
    audits = RunAudits(run, (), WaveTables)
    first = audits.refresh()[0]
    commit_audit(run, {1: ["One."]}, "second")
    both = audits.refresh()[0]
    assert both[0] is first[0] and [audit.name for audit in both] == ["first", "second"]


def test_an_audit_of_another_run_is_left_out_and_named(tmp_path):
    other = written_run(tmp_path / "other", {"B": "b"}).run
    run = written_run(tmp_path / "run", {"A": "a"}).run
    about = {"waves": len(other.manifests), "last_manifest": other.manifests[-1].sha256}
    commit_audit(run, {1: ["One."]}, audited=about)
    audits, notes = RunAudits(run, (), WaveTables).refresh()
    assert audits == [] and "is an audit of another run" in notes[0]


def test_only_the_audits_that_were_asked_for_are_opened(tmp_path):
    run = written_run(tmp_path / "run", {"A": "a"}).run
    for name in ("first", "second"):
        commit_audit(run, {1: ["One."]}, name)
    audits, _ = RunAudits(run, ["second"], WaveTables).refresh()
    assert [audit.name for audit in audits] == ["second"]
