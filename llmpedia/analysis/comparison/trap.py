"""The retrieval trap (paper, section 5.4 and appendix C): several encyclopedias on the same titles,
side by side.

A system is a run or an imported encyclopedia with an audit of a sample of given titles. Only titles
that every system has an audited article on are counted, by canonical key; what that leaves out is
told system by system. Values are macro averages over articles, each with its sample standard
deviation and the number of articles that define it; TF-IDF is fitted on the texts of all systems
together, so that their cosines compare.
"""

import statistics
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from llmpedia.analysis.audits.tables import Findings, audit_tables
from llmpedia.analysis.common.corpus import written_subjects
from llmpedia.analysis.common.systems import (
    SAMPLES,
    System,
    audits_of,
    likeness,
    sampled_keys,
    summary_of,
    systems_of,
)
from llmpedia.analysis.comparison.trap_figures import trap_figures
from llmpedia.analysis.output.formats import TableRow, TableRows
from llmpedia.analysis.output.page import ReportPart
from llmpedia.audit.evidence import TIERS
from llmpedia.audit.measures.similarity import Encoder
from llmpedia.audit.measures.verdicts import SHARES
from llmpedia.audit.stages import NOT_ADJUDICATED
from llmpedia.store.kinds import RunKind
from llmpedia.store.run_folder import RunFolder

SAMPLE = "titles"
TABLE = "table_07_trap"
FULL = "table_10_trap"
TITLES = "trap_titles"
_TITLES = {
    TABLE: "Retrieval trap (table 7)",
    FULL: "Retrieval trap in full (table 10)",
    TITLES: "Retrieval trap: titles that all systems have",
}
_FIGURES_OF = {TABLE: ["figure_trap_factuality", "figure_trap_similarity"]}
_COUNTS = ("found", "fetch_failed", "extraction_failed", "claims", NOT_ADJUDICATED)
# As the paper names them; the others of ``audit.similarity`` under their own names.
_ALIKE = {
    "tfidf_cosine": "tfidf_cosine",
    "unigram_overlap": "overlap_1",
    "bigram_overlap": "overlap_2",
    "trigram_overlap": "overlap_3",
    **{f"jaccard_{n}": f"jaccard_{n}" for n in (1, 2, 3)},
    "semantic_cosine": "semantic_cosine",
}


def trap_part(
    runs: Sequence[RunFolder], audits: Sequence[RunFolder], encode: Encoder | None = None
) -> ReportPart:
    """Tables 7 and 10 of the systems among the runs; ``encode``: for the semantic cosine, None
    leaves it empty.
    """
    missing: TableRows = []
    systems = systems_of(runs, audits)
    chosen = audits_of(systems, SAMPLE, TABLE, missing)
    missing += _unaudited(systems, chosen)
    if len(chosen) < 2:
        return ReportPart({}, [*missing, *_too_few(systems, chosen)])
    sampled = {name: sampled_keys(audit, SAMPLE) for name, audit in chosen.items()}
    common = frozenset.intersection(*sampled.values())
    by_name = {system.name: system for system in systems}
    tables = {
        TITLES: [_titles(by_name[name], audit, sampled[name], common) for name, audit in chosen.items()]
    }
    if not common:
        reason = f"no title is in the samples of {', '.join(chosen)} alike"
        missing += [_row(table, "table", reason, _audit("RUN")) for table in (TABLE, FULL)]
        return ReportPart(tables, missing, _TITLES)
    summaries = [row for name, audit in chosen.items() for row in summary_of(name, audit, SAMPLE, common)]
    alike, single = likeness(chosen, SAMPLE, common, encode)
    paper_tables = audit_tables(Findings(summaries, similarities=alike))
    ordered = [
        {name: row[name] for name in ("part", "measure", *chosen)} for row in paper_tables.tables[TABLE]
    ]
    tables = {TABLE: ordered, FULL: _full(list(chosen), summaries, alike, single), **tables}
    missing += [
        _row(TABLE, m["what"], m["reason"], _command_of(m["what"]))
        for m in paper_tables.missing
        if m["table"] == TABLE
    ]
    return ReportPart(tables, missing, _TITLES, trap_figures(list(chosen), summaries, alike), _FIGURES_OF)


def _row(table: str, what: str, reason: str, command: str) -> TableRow:
    return {"table": table, "what": what, "reason": reason, "command": command}


def _audit(uri: str) -> str:
    return (
        f"llmpedia audit {uri} --name trap --set wikipedia.contact=ADDRESS --set "
        f"sample.random=0 --set sample.titles=TITLES"
    )


def _command_of(what: str) -> str:
    return "llmpedia report RUN... --encoder MODEL" if "semantic" in what else _audit("RUN")


def _unaudited(systems: Sequence[System], chosen: Mapping[str, RunFolder]) -> TableRows:
    """Runs that could be systems and lack an audit: those of a list of titles, and imported ones."""
    reason = f"none of its audits has {SAMPLES[SAMPLE]}"
    return [
        _row(TABLE, system.name, reason, _audit(system.run.uri))
        for system in systems
        if system.name not in chosen and _of_titles(system.run)
    ]


def _of_titles(run: RunFolder) -> bool:
    description = run.description()
    return run.kind == RunKind.IMPORTED or description["identity"].get("run", {}).get("mode") == "titles"


def _too_few(systems: Sequence[System], chosen: Mapping[str, RunFolder]) -> TableRows:
    """What is still to be done, step by step."""
    reason = (
        f"{'one system has' if chosen else 'no system has'} an audit of given titles; a comparison needs two"
    )
    steps = []
    if not any(_of_titles(s.run) and s.run.kind != RunKind.IMPORTED for s in systems):
        steps.append(
            ("articles of our own", "llmpedia materialize configs/trap.yaml --set run.titles=TITLES")
        )
    if not any(s.run.kind == RunKind.IMPORTED for s in systems):
        steps.append(("another encyclopedia", "llmpedia import TEXTS --titles TITLES --name NAME"))
    steps.append(("an audit of each", _audit("RUN")))
    return [_row(table, what, reason, command) for table in (TABLE, FULL) for what, command in steps]


def _titles(
    system: System, audit: RunFolder, sampled: AbstractSet[str], common: AbstractSet[str]
) -> TableRow:
    """How many of an audit's list of titles a system has, and how many of them the others lack."""
    listed = frozenset(audit.description()["seeds"])
    written = frozenset(written_subjects(system.run)["key"].to_pylist())
    return {
        "system": system.name,
        "judge": audit.description()["identity"]["engine"]["model"],
        "listed": len(listed),
        "without_article": len(listed - written),
        "audited": len(sampled),
        "in_all_systems": len(common),
        "left_out": len(sampled - common),
    }


def _full(
    systems: list[str], summaries: TableRows, alike: TableRows, single: Mapping[str, TableRows]
) -> TableRows:
    """Table 10: a line a measure; of each system mean, standard deviation and the articles they are
    of.
    """
    lines: TableRows = []
    for tier in TIERS:
        rows = {row["model"]: row for row in summaries if row["tier"] == tier}
        if rows:
            lines += [_spread(tier, f"{name}_pct", name, rows, systems, 100, 1) for name in SHARES]
            lines += [
                _counted(tier, name, {s: rows[s][name] if s in rows else None for s in systems})
                for name in _COUNTS
            ]
    likenesses = {row["model"]: row for row in alike}
    for label, name in _ALIKE.items():
        if any(row[name] is not None for row in alike):
            lines.append(_spread("similarity", label, name, likenesses, systems, 1, 3))
    words = {row["model"]: row for row in reversed(summaries)}
    for name in ("words_mean", "words_median"):
        lines.append(_counted("words", name, {s: round(words[s][name]) for s in systems}))
    theirs = {s: [row["reference_words"] for row in single[s]] for s in systems}
    if any(theirs.values()):
        means = {s: round(statistics.fmean(measured)) if measured else None for s, measured in theirs.items()}
        medians = {
            s: round(statistics.median(measured)) if measured else None for s, measured in theirs.items()
        }
        lines += [_counted("words", "wikipedia_mean", means), _counted("words", "wikipedia_median", medians)]
    return lines


def _spread(
    part: str,
    label: str,
    name: str,
    rows: Mapping[str, TableRow],
    systems: list[str],
    times: int,
    digits: int,
) -> TableRow:
    line: TableRow = {"part": part, "measure": label}
    for system in systems:
        row = rows.get(system, {})
        mean = row.get(name)
        sd = row.get(f"{name}_sd")
        line[system] = None if mean is None else round(times * mean, digits)
        line[f"{system} sd"] = None if sd is None else round(times * sd, digits)
        line[f"{system} n"] = row.get(f"{name}_n")
    return line


def _counted(part: str, label: str, values: Mapping[str, int | None]) -> TableRow:
    line: TableRow = {"part": part, "measure": label}
    for system, value in values.items():
        line |= {system: None if value is None else float(value), f"{system} sd": None, f"{system} n": None}
    return line
