"""Reading an audit back: its tables for metrics, its verdicts with what the judge was shown, its
texts for similarity.
"""

from typing import Any

from llmpedia.audit.article import shown
from llmpedia.audit.evidence import USABLE, Evidence, Outcome, Source
from llmpedia.audit.measures.verdicts import AuditData
from llmpedia.audit.settings import AuditConfig
from llmpedia.errors import InputError
from llmpedia.store.kinds import RunKind
from llmpedia.store.run_folder import RunFolder
from llmpedia.wikitext import Article

Row = dict[str, Any]
_OUTCOMES = ["subject_id", "tier", "outcome"]


def open_audit(uri: str) -> RunFolder:
    """Open an audit's folder.

    Raises:
        InputError: nothing is there, or it is no audit.
    """
    audit = RunFolder.open(uri)
    if audit.kind != RunKind.AUDIT:
        raise InputError(
            f"{uri}: is a run, not an audit; give a folder such as {uri.rstrip('/')}/audits/audit"
        )
    return audit


def audited_run(audit: RunFolder) -> RunFolder:
    """The run an audit is about; the folder it lies in, wherever that was moved to, before the one
    it was made in.

    Raises:
        InputError: it is gone.
    """
    above = audit.uri.rstrip("/").rpartition("/audits/")[0]
    return RunFolder.open(above or audit.description()["audited"]["run"])


def audit_data(audit: RunFolder) -> AuditData:
    """All that metrics need; texts of the evidence are not read.

    Raises:
        InputError: the tables do not fit each other.
    """
    return AuditData.of(
        audit.read("audited"),
        audit.read("claims"),
        audit.read("evidence", columns=_OUTCOMES),
        audit.read("verdicts"),
    )


def constants_of(audit: RunFolder) -> Row:
    """What all articles of an audit have in common: model, persona and prompting of the run, judge
    of the audit.
    """
    run = audited_run(audit).description()["identity"]
    judge = audit.description()["identity"]
    asked = run.get("stages", {}).get("article", {})
    return {
        "run": audited_run(audit).uri.rstrip("/").rpartition("/")[2],
        "audit": audit.uri.rstrip("/").rpartition("/")[2],
        "model": asked.get("model") or run["engine"]["model"],
        "topic": run["run"]["root_topic"],
        "persona": run["run"]["persona"],
        "prompting": run["run"]["prompting"],
        "self_grounding": run["run"]["self_grounding"],
        "reasoning": asked.get("reasoning_effort"),
        "judge": judge["engine"]["model"],
    }


def evidence_of(row: Row, subject: str) -> Evidence:
    """The evidence in a row of its table."""
    sources = tuple(Source(**source) for source in row["sources"] or ())
    return Evidence(row["tier"], subject, Outcome(row["outcome"]), sources, row["detail"])


def review_rows(audit: RunFolder, tier: str) -> list[Row]:
    """A row a verdict of a tier, as ``review.write_sheet`` takes them, with the evidence as the
    judge was shown it.
    """
    config = AuditConfig.model_validate(audit.description()["config"])
    rows: list[Row] = []
    for wave in range(1, audit.last_wave + 1):
        names = {
            a["subject_id"]: a["name"]
            for a in audit.read("audited", [wave], ["subject_id", "name"]).to_pylist()
        }
        claims: dict[int, list[Row]] = {}
        for claim in audit.read("claims", [wave]).to_pylist():
            claims.setdefault(claim["subject_id"], []).append(claim)
        shown_to: dict[int, str] = {}
        for row in audit.read("evidence", [wave]).to_pylist():
            if row["tier"] == tier and row["outcome"] in USABLE:
                n = row["subject_id"]
                texts = tuple(c["text"] for c in claims.get(n, []))
                shown_to[n] = shown(evidence_of(row, names[n]), texts, config)
        texts_of = {c["claim_id"]: c["text"] for cs in claims.values() for c in cs}
        for verdict in audit.read("verdicts", [wave]).to_pylist():
            if verdict["tier"] == tier:
                n = verdict["subject_id"]
                rows.append(
                    {
                        **verdict,
                        "name": names[n],
                        "text": texts_of[verdict["claim_id"]],
                        "evidence": [shown_to[n]],
                    }
                )
    return rows


def text_pairs(audit: RunFolder) -> list[tuple[int, str, str]]:
    """(subject_id, article as written, Wikipedia's) as plain text, of every article that Wikipedia
    has.
    """
    run = audited_run(audit)
    pairs = []
    sampled = {row["subject_id"]: row["run_wave"] for row in audit.read("sample", [0]).to_pylist()}
    for wave in range(1, audit.last_wave + 1):
        theirs = {
            row["subject_id"]: row["sources"][0]["text"]
            for row in audit.read("evidence", [wave]).to_pylist()
            if row["tier"] == "wikipedia" and row["outcome"] in USABLE
        }
        for run_wave in sorted({sampled[n] for n in theirs}):
            rows = run.read("articles", [run_wave], ["subject_id", "wikitext"]).to_pylist()
            pairs += [
                (row["subject_id"], Article(row["wikitext"]).text, theirs[row["subject_id"]])
                for row in rows
                if row["subject_id"] in theirs
            ]
    return sorted(pairs)
