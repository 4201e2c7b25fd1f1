"""The report of one or more runs: every analysis that their data allow, in one folder with one
page.

Audits are those that lie in the runs' folders. What the data do not allow is a row of the table
``missing``, with the command that would make it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from llmpedia.analysis.audits.hops import TABLE as HOPS
from llmpedia.analysis.audits.hops import hops_part
from llmpedia.analysis.audits.report import audit_report
from llmpedia.analysis.common.systems import System, systems_of
from llmpedia.analysis.cost import cost_part
from llmpedia.analysis.funnel.tables import funnel_part
from llmpedia.analysis.output.formats import TableRow, TableRows
from llmpedia.analysis.output.page import ReportPart, write_report
from llmpedia.audit.audit_folder import open_audit
from llmpedia.audit.measures.similarity import Encoder
from llmpedia.audit.review import Agreement
from llmpedia.engines.models import Models
from llmpedia.store.run_folder import RUN_FILE, RunFolder

_ABOUT = (
    "Shares are in percent. Intervals are 95%: of proportions Wilson's, of means by bootstrap over articles. "
    "A dash: not known, or not defined. What the data do not allow is listed at the end."
)
_AUDIT_TITLES = {
    "outcomes": "What became of each subject's evidence",
    "summaries": "Scores of each sample, hop and tier",
    "funnel": "From the sample to verdicts",
    "error_types": "Errors of refuted claims",
    "published": "Beside the published scores",
    "usage": "Tokens and cost of the judge",
    "table_02_ablation": "Ablation at the operating point",
    "table_04_topics": "Topics",
    "table_05_models": "Models side by side",
    "table_07_trap": "Retrieval trap",
    "table_08_ablation_full": "Ablation, all cells",
    "table_11_agreement": "Agreement of reader and judge",
    "table_20_personas": "Topics and personas",
}
# Names that would say too little beside other analyses.
_RENAMED = {
    "outcomes": "audit_outcomes",
    "summaries": "audit_summaries",
    "funnel": "audit_funnel",
    "usage": "audit_usage",
}
_AUDITS = "audits"  # stands for a table where a whole audit is missing
_CONTACT = "wikipedia.contact=ADDRESS"  # whom Wikimedia is told; the files that come with us name nobody
_AUDIT = f"llmpedia audit RUN --set {_CONTACT}"
_SHEET = "llmpedia audit sample-for-review AUDIT --out FILE"
_GRID = f"llmpedia grid configs/ablation.yaml --set audit.{_CONTACT}"
_TOPICS = f"llmpedia grid configs/topics/all.yaml --out runs/topics --set audit.{_CONTACT}"
_COMMANDS = {
    "table_02_ablation": _GRID,
    "table_04_topics": _TOPICS,
    HOPS: f"{_AUDIT} --name hops --set sample.hop_whole=1 --set sample.frontier=200",
    "hop_intervals": f"{_AUDIT} --name hops --set sample.hop_whole=1",
    "table_08_ablation_full": _GRID,
    "table_11_agreement": f"{_SHEET}; llmpedia report RUN --out DIR --review FILE",
    "table_20_personas": _TOPICS,
    _AUDITS: _AUDIT,
}


def report(
    runs: Sequence[RunFolder],
    encode: Encoder | None,
    reviews: Mapping[str, Agreement],
    prices: Models | None = None,
) -> list[ReportPart]:
    """All parts, in order. ``encode``: for the semantic cosine to Wikipedia; ``reviews``: tier ->
    agreement of reader and judge.

    ``prices``: instead of those that each run's own settings name.

    Raises:
        InputError: a run or an audit is damaged, or more runs are given than can be compared.
    """
    from llmpedia.analysis.comparison.cross_model import cross_model_part
    from llmpedia.analysis.comparison.trap import trap_part
    from llmpedia.analysis.personas.tables import personas_part

    audits, idle = audits_of(runs)
    systems = systems_of(runs, audits)
    compared = [
        replace(cross_model_part(runs, audits, encode), title="Models side by side"),
        replace(personas_part(runs, audits), title="Personas"),
        replace(trap_part(runs, audits, encode), title="Retrieval trap"),
    ]
    names = {name for part in compared for name in (*part.tables, *(row["table"] for row in part.missing))}
    hops, audited = _of_audits(systems, encode, reviews, names, prices)
    first = ReportPart(
        {"runs": [_about(system) for system in systems]}, idle, {"runs": "Settings and size"}, title="Runs"
    )
    parts = [first, funnel_part(systems), hops, audited, *compared, cost_part(systems, prices)]
    return [replace(part, missing=[_with_command(row) for row in part.missing]) for part in parts]


def write_runs_report(parts: Sequence[ReportPart], folder: Path) -> list[Path]:
    """The report's folder; the files written."""
    names = ", ".join(row["run"] for row in parts[0].tables["runs"])
    return write_report(f"LLMpedia: {names}", _ABOUT, parts, folder)


def audits_of(runs: Sequence[RunFolder]) -> tuple[list[RunFolder], TableRows]:
    """Audits of the runs, in their folders, that have judged something; a row of ``missing`` for
    each that is none or not done.

    Raises:
        InputError: one is damaged, or no audit.
    """
    audits = []
    lacking = []
    for run in runs:
        files = run.folder.list("audits", recursive=True)
        for name in sorted({file.split("/")[1] for file in files if file.count("/") > 1}):
            uri = f"{run.uri.rstrip('/')}/audits/{name}"
            command = f"llmpedia audit {run.uri} --config CONFIG --name"
            audit = open_audit(uri) if f"audits/{name}/{RUN_FILE}" in files else None
            row = {"table": _AUDITS, "what": uri}
            if audit is None or audit.last_wave < 1:
                lacking.append(
                    {**row, "reason": "it has audited nothing yet", "command": f"{command} {name}"}
                )
            elif not _is_of(audit, run):
                lacking.append(
                    {**row, "reason": "it is an audit of another run", "command": f"{command} OTHER_NAME"}
                )
            else:
                audits.append(audit)
                totals = audit.manifests[-1].facts["totals"]
                if totals["audited"] < totals["sample"]:
                    reason = (
                        f"it has audited {totals['audited']:,} of {totals['sample']:,} "
                        f"articles; the tables are of these"
                    )
                    lacking.append({**row, "reason": reason, "command": f"{command} {name}"})
    return audits, lacking


def _is_of(audit: RunFolder, run: RunFolder) -> bool:
    """Whether the run holds the commits that were audited, and not only the audit's folder."""
    audited = audit.description()["audited"]
    commits = int(audited["waves"])
    return (
        1 <= commits <= len(run.manifests) and run.manifests[commits - 1].sha256 == audited["last_manifest"]
    )


def _about(system: System) -> TableRow:
    """What a run is: its settings, its size, and what wrote it."""
    description = system.run.description()
    identity = description["identity"]
    totals = system.run.manifests[-1].facts["totals"] if system.run.manifests else {}
    asked = identity.get("stages", {}).get("article", {})
    of_run = {k: identity["run"][k] for k in ("seed", "root_topic", "persona", "prompting", "self_grounding")}
    return {
        "run": system.name,
        "model": asked.get("model") or identity["engine"]["model"],
        "reasoning": asked.get("reasoning_effort"),
        **of_run,
        "articles": totals.get("articles", 0),
        "entities": totals.get("entities", 0),
        "commits": len(system.run.manifests),
        "audits": [audit.uri.rpartition("/")[2] for audit in system.audits],
        "llmpedia": description.get("versions", {}).get("llmpedia"),
        "content": system.run.fingerprint()[:16],
    }


def _of_audits(
    systems: Sequence[System],
    encode: Encoder | None,
    reviews: Mapping[str, Agreement],
    table_names: set[str],
    prices: Models | None,
) -> tuple[ReportPart, ReportPart]:
    """Table 6, and the other tables of audits but for those that are ``table_names`` elsewhere."""
    audits = [audit for system in systems for audit in system.audits]
    if not audits:
        reason = "no run has an audit"
        lacking = [
            {"table": name, "what": "table", "reason": reason}
            for name in _COMMANDS
            if name not in table_names | {_AUDITS}
        ]
        return ReportPart({}), ReportPart({}, lacking)
    names = {system.run.uri: system.name for system in systems}
    tables, missing = audit_report(audits, encode, encode is not None, reviews, names, prices)
    hops = hops_part(tables, missing)
    left = {name: rows for name, rows in tables.items() if name not in table_names | {HOPS}}
    others = [row for row in missing if row["table"] not in table_names | {HOPS}]
    shown = {_RENAMED.get(name, name): rows for name, rows in left.items()}
    titles = {_RENAMED.get(name, name): title for name, title in _AUDIT_TITLES.items()}
    return hops, ReportPart(shown, others, titles, title="Audits")


def _with_command(row: TableRow) -> TableRow:
    """Null where no command would make it: no run makes an effect significant."""
    return {**row, "command": row.get("command") or _COMMANDS.get(row["table"])}
