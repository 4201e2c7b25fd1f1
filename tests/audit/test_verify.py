"""``verify`` of an audit finds what is lost, doubled or without its source; what is whole passes."""

import asyncio
from collections import Counter

import pytest

from llmpedia.audit.audit_folder import audit_data, review_rows
from llmpedia.audit.measures.verdicts import audit_metrics
from llmpedia.audit.run import audit_tables, facts_of
from llmpedia.audit.verify import verify_audit
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import RunFolder
from llmpedia.tables import TABLES, table
from tests.support.builders.audit import ScriptedJudge, audit_config, audited

TEXTS = {"Ada": "Ada was born in 1815. Ada died in London.", "Bo": "Bo was a dog.", "Cy": "Cy wrote plays."}
PAGES = {"Ada": "Ada was born in 1815.", "Bo": None, "Cy": "Cy sang."}


def description():
    config = audit_config(audit={"tiers": ["wikipedia"]})
    identity = {
        "identity": config.identity(),
        "config": config.model_dump(mode="json"),
        "identity_hash": config.identity_hash(),
    }
    return {
        "format": 1,
        "kind": "audit",
        **identity,
        "seeds": [],
        "audited": {"run": "r", "waves": 1, "last_manifest": ""},
    }


def visits():
    judges = {"Cy": ScriptedJudge(silent=True)}
    done = [
        asyncio.run(
            audited(text, PAGES[name], judge=judges.get(name), name=name, audit={"tiers": ["wikipedia"]})
        )
        for name, text in TEXTS.items()
    ]
    rows = [d.dump() for d in done]
    for n, visit in enumerate(rows):
        for row in [*visit["evidence"], *visit["completions"]]:
            row["subject_id"] = n
    return rows


def write(folder, change=None, of=None, sampled=3):
    """An audit of three articles; ``change`` may spoil the tables of wave 1 before they are
    committed.

    ``of``: the run it is about; ``sampled``: articles drawn, of which three are audited.
    """
    names = [*TEXTS, *(f"More {n}" for n in range(sampled - len(TEXTS)))]
    sample = [
        {"position": n, "subject_id": n, "name": name, "hop": n, "strata": ["random"], "run_wave": 0}
        for n, name in enumerate(names)
    ]
    tables = audit_tables(tuple(sample[: len(TEXTS)]), visits(), 0)
    if change:
        rows = {name: made.to_pylist() for name, made in tables.items()}
        change(rows)
        tables = {name: table(name, found) for name, found in rows.items()}
    audited = (
        {"run": of.uri, "waves": len(of.manifests), "last_manifest": of.manifests[-1].sha256} if of else {}
    )
    own = description()
    own["audited"] |= audited
    audit = RunFolder.create_or_open(str(folder), {**own, "prompts": {}})
    with Lease(audit.folder) as lease:
        first = {"sample": table("sample", sample)}
        audit.commit(lease, first, {**facts_of(first, None), "notes": []})
        audit.commit(lease, tables, facts_of(tables, audit.manifests[-1]))
    return audit


def test_a_sound_audit_is_whole(tmp_path):
    audit = write(tmp_path / "audit")
    assert verify_audit(audit).findings == []
    facts = audit.manifests[-1].facts
    assert facts["totals"] == {
        "sample": 3,
        "audited": 3,
        "claims": 4,
        "evidence": 3,
        "verdicts": 3,
        "completions": 5,
    }
    assert facts["counts"]["outcomes"] == {"wikipedia: found": 2, "wikipedia: missing": 1}
    assert facts["counts"]["verdicts_by_label"] == {
        "wikipedia: insufficient": 1,
        "wikipedia: not_adjudicated": 1,
        "wikipedia: supported": 1,
    }


def test_the_funnel_of_the_audit_adds_up(tmp_path):
    funnel = audit_metrics(audit_data(write(tmp_path / "audit")), {}, 42)["funnel"][0]
    assert (funnel["sampled"], funnel["with_claims"]) == (3, 3)
    assert (funnel["missing"], funnel["judged_in_full"], funnel["not_judged"]) == (1, 1, 1)


def test_a_reader_is_shown_what_the_judge_was_shown(tmp_path):
    rows = review_rows(write(tmp_path / "audit"), "wikipedia")
    assert Counter(row["name"] for row in rows) == {"Ada": 2, "Cy": 1}
    assert rows[0]["evidence"] == ["Ada was born in 1815."]
    assert rows[0]["text"] == "Ada was born in 1815."


def drop(name, place=0):
    return lambda rows: rows[name].pop(place)


def double(name):
    return lambda rows: rows[name].append(rows[name][0])


def put(name, column, value):
    return lambda rows: rows[name][0].update({column: value})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (drop("audited"), "is audited where the sample has"),
        (drop("claims"), "claims, not"),
        (drop("evidence"), "does not have one outcome a tier"),
        (double("evidence"), "does not have one outcome a tier"),
        (drop("verdicts"), "without one verdict for each tier"),
        (double("verdicts"), "without one verdict for each tier"),
        (drop("completions"), "has no"),
        (put("verdicts", "verdict", "maybe"), "is 'maybe'"),
        (put("verdicts", "reason", "why"), "its reason do not agree"),
        (put("verdicts", "error_type", "temporal"), "has an error type but is"),
        (put("verdicts", "completion", "0" * 64), "has no completion that decided it"),
        (put("audited", "claims_error", "refusal"), "neither claims nor an error"),
        (put("claims", "claim_id", 7), "where 0 is next"),
        (put("evidence", "outcome", "perhaps"), "has no outcome"),
    ],
)
def test_what_is_wrong_is_found(tmp_path, change, says):
    findings = verify_audit(write(tmp_path / "audit", change)).findings
    assert any(says in f for f in findings), findings


def test_every_audit_table_is_documented():
    for name in ("sample", "audited", "claims", "evidence", "verdicts"):
        assert all(field.metadata for field in TABLES[name])
