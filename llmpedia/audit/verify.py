"""``llmpedia verify`` of an audit: every sampled article judged once or accounted for, every
verdict traced to its completion.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from llmpedia.audit.evidence import USABLE, Outcome
from llmpedia.audit.stages import LABELS, NOT_ADJUDICATED, ErrorType
from llmpedia.store.run_folder import Manifest, RunFolder
from llmpedia.store.verify import Report, check_files, check_rest

Row = dict[str, Any]
_READ = ("sample", "audited", "claims", "evidence", "verdicts", "completions")
_VERDICTS = frozenset({*LABELS, NOT_ADJUDICATED})


@dataclass
class _State:
    """What earlier waves have established. ``sample``: subjects in order."""

    sample: list[int] = field(default_factory=list)
    audited: int = 0
    claims: int = 0


def verify_audit(audit: RunFolder) -> Report:
    """Check all of an audit. Reads every file; memory holds the sample and one wave."""
    report = Report()
    state = _State()
    tiers = tuple(audit.description()["identity"]["audit"]["tiers"])
    for manifest in audit.manifests:
        if check_files(audit, manifest, report):
            rows = {t: audit.read(t, [manifest.wave]).to_pylist() for t in _READ}
            if manifest.wave == 0:
                state.sample = [row["subject_id"] for row in rows["sample"]]
                twice = [n for n, k in Counter(state.sample).items() if k > 1]
                report.need(not twice, f"sample: subjects {twice[:3]} are drawn twice")
            else:
                _wave(manifest, rows, tiers, state, report)
            report.checked.update({t: len(r) for t, r in rows.items()})
    check_rest(audit, report)
    if state.audited < len(state.sample):
        report.notes.append(
            f"{len(state.sample) - state.audited} of {len(state.sample)} sampled articles are not audited yet"
        )
    return report


def _wave(
    manifest: Manifest, rows: dict[str, list[Row]], tiers: tuple[str, ...], state: _State, report: Report
) -> None:
    at = f"wave {manifest.wave}"
    keys = {row["key"] for row in rows["completions"]}
    evidence = Counter((e["subject_id"], e["tier"]) for e in rows["evidence"])
    usable = {(e["subject_id"], e["tier"]) for e in rows["evidence"] if e["outcome"] in USABLE}
    for row in rows["evidence"]:
        report.need(
            row["outcome"] in set(Outcome),
            f"{at}: subject {row['subject_id']} has no outcome ({row['outcome']!r})",
        )
    for row in rows["audited"]:
        n = row["subject_id"]
        want = state.sample[state.audited] if state.audited < len(state.sample) else None
        report.need(n == want, f"{at}: subject {n} is audited where the sample has {want}")
        state.audited += 1
        report.need(
            (row["claims"] is None) != (row["claims_error"] is None),
            f"{at}: subject {n} has neither claims nor an error",
        )
        report.need(
            row["claims_completion"] in keys, f"{at}: subject {n} has no extraction in the completions"
        )
        report.need(
            all(evidence[n, t] == 1 for t in tiers), f"{at}: subject {n} does not have one outcome a tier"
        )
    _claims(at, rows, usable, state, report)
    for row in rows["verdicts"]:
        _verdict(at, row, keys, report)


def _claims(
    at: str, rows: dict[str, list[Row]], usable: set[tuple[int, str]], state: _State, report: Report
) -> None:
    """Claims numbered in order, as many as the articles say, each with one verdict for each tier
    with evidence.
    """
    per_subject = Counter(c["subject_id"] for c in rows["claims"])
    for row in rows["audited"]:
        n = row["subject_id"]
        report.need(
            per_subject[n] == (row["claims"] or 0),
            f"{at}: subject {n} has {per_subject[n]} claims, not {row['claims']}",
        )
    judged = Counter((v["claim_id"], v["tier"]) for v in rows["verdicts"])
    wanted: Counter[tuple[int, str]] = Counter()
    tiers: dict[int, list[str]] = {}
    for n, tier in usable:
        tiers.setdefault(n, []).append(tier)
    for claim in rows["claims"]:
        report.need(
            claim["claim_id"] == state.claims, f"{at}: claim {claim['claim_id']} where {state.claims} is next"
        )
        state.claims += 1
        wanted.update((claim["claim_id"], tier) for tier in tiers.get(claim["subject_id"], ()))
    wrong = sorted((judged - wanted) + (wanted - judged))
    report.need(not wrong, f"{at}: claims without one verdict for each tier with evidence: {wrong[:3]}")


def _verdict(at: str, row: Row, keys: set[str], report: Report) -> None:
    name = f"{at}: verdict on claim {row['claim_id']} ({row['tier']})"
    report.need(row["verdict"] in _VERDICTS, f"{name} is {row['verdict']!r}")
    report.need(
        (row["verdict"] == NOT_ADJUDICATED) == (row["reason"] is not None),
        f"{name} and its reason do not agree",
    )
    report.need(
        row["error_type"] is None or row["verdict"] == "refuted",
        f"{name} has an error type but is {row['verdict']}",
    )
    report.need(
        row["error_type"] in {None, *map(str, ErrorType)}, f"{name} has error type {row['error_type']!r}"
    )
    report.need(row["completion"] in keys, f"{name} has no completion that decided it")
