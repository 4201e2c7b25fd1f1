"""One article through an audit: failures are values, and each of them its own."""

import asyncio

from llmpedia.errors import TransientError
from tests.support.builders.audit import ScriptedJudge, audited

TEXT = "Ada was born in 1815. Ada died in London."


def run(*args, **kwargs):
    return asyncio.run(audited(*args, **kwargs))


def labels(done, tier="wikipedia"):
    return [v["verdict"] for v in done.verdicts if v["tier"] == tier]


def outcomes(done):
    return {e["tier"]: e["outcome"] for e in done.evidence}


def test_claims_meet_evidence_tier_by_tier():
    done = run(TEXT, wikipedia="Ada was born in 1815.", web="Ada died in London.")
    assert labels(done) == ["supported", "insufficient"]
    assert labels(done, "web") == ["insufficient", "supported"]


def test_a_failed_look_up_is_not_an_absent_subject():
    """Cached as missing, a network failure would lower coverage for good."""
    done = run(TEXT, wikipedia=TransientError("HTTP 503"), web=None)
    assert outcomes(done) == {"wikipedia": "fetch_failed", "web": "missing"}
    assert done.verdicts == []
    assert "503" in done.evidence[0]["detail"]


def test_a_failed_extraction_is_an_error_and_evidence_is_still_known():
    done = run(TEXT, wikipedia="Ada.", judge=ScriptedJudge(claims='{"claims": []}'))
    assert (done.claims, done.claims_error) == (None, "no claim in the answer")
    assert outcomes(done)["wikipedia"] == "found"
    assert done.verdicts == []


def test_a_judge_that_fails_leaves_claims_not_adjudicated_and_never_insufficient():
    done = run(TEXT, wikipedia="Ada.", judge=ScriptedJudge(silent=True))
    assert labels(done) == ["not_adjudicated"] * 2
    assert all(v["reason"].startswith("judge: engine: failed") for v in done.verdicts)


def test_a_spoilt_verdict_is_asked_once_more_and_alone():
    judge = ScriptedJudge(spoil={"Ada died in London.": None})
    done = run(TEXT, wikipedia="Ada died in London.", judge=judge)
    assert labels(done) == ["insufficient", "supported"]
    again = judge.asked[-1].messages[-1][1]
    assert "1. Ada died in London." in again
    assert "1815" not in again


def test_a_verdict_spoilt_twice_is_not_adjudicated_and_its_neighbour_stands():
    class Never(ScriptedJudge):
        def _row(self, idx, claim, evidence):
            return (
                {"idx": idx, "verdict": "maybe"} if "London" in claim else super()._row(idx, claim, evidence)
            )

    done = run(TEXT, wikipedia="Ada was born in 1815.", judge=Never())
    assert labels(done) == ["supported", "not_adjudicated"]
    assert done.verdicts[1]["reason"] is not None


def test_evidence_is_looked_for_by_the_name_alone():
    """The article must not shape its own evidence (paper, section 4.2)."""
    other = run("Something else altogether.", wikipedia="Ada.")
    same = run(TEXT, wikipedia="Ada.")
    assert other.evidence == same.evidence


def test_every_completion_that_decided_is_kept():
    done = run(TEXT, wikipedia="Ada.", web="Ada.", judge=ScriptedJudge(spoil={"Ada died in London.": None}))
    keys = {request.key for request, _ in done.completions}
    assert {v["completion"] for v in done.verdicts} | {done.claims_completion} <= keys
