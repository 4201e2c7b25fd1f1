"""``llmpedia verify`` of a probe: a build, a model's responses, their grades. Nothing lost, nothing
doubled, every row traced.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from llmpedia.probe.benchmark.grade import Contradiction, Grading, outcome
from llmpedia.probe.benchmark.release import CHECKS, wanted_checks
from llmpedia.probe.documents import DocumentFate, document_id
from llmpedia.store.run_folder import RunFolder
from llmpedia.store.verify import Report, check_files, check_rest

Row = dict[str, Any]
_FATES = frozenset({"kept", "rejected", "error"})
# What a step commits one row for, by the column that names it; and the tables a build has.
_TABLES = ("documents", "knowledge_points", "pairs", "relations", "subgraphs", "questions", "checks")


def verify_build(run: RunFolder) -> Report:
    """Check all of a build. Memory holds its rows without texts of completions."""
    report = Report()
    sound = [check_files(run, manifest, report) for manifest in run.manifests]
    check_rest(run, report)
    if not run.manifests:
        report.notes.append("nothing is committed yet")
    if not all(sound):
        return report
    rows = {name: run.read(name).to_pylist() for name in _TABLES}
    keys = set(run.read("completions", columns=["key"])["key"].to_pylist())
    report.checked.update({name: len(of_table) for name, of_table in rows.items()})
    report.checked["completions"] = len(keys)
    done = {m.facts["step"] for m in run.manifests if m.facts["last"]}
    _documents(rows["documents"], report)
    kept = [row["number"] for row in rows["documents"] if row["fate"] == DocumentFate.KEPT]
    _one_each("knowledge_points", "number", rows["knowledge_points"], kept, "knowledge" in done, report)
    pairs = [row["pair_id"] for row in rows["pairs"]]
    report.need(pairs == list(range(len(pairs))), "pairs: are not numbered from 0")
    _pairs(rows["pairs"], set(kept), report)
    _one_each("relations", "pair_id", rows["relations"], pairs, "relations" in done, report)
    if "subgraphs" in done:
        conflicts = sorted(row["pair_id"] for row in rows["relations"] if row["relation"] == "conflict")
        of_table = sorted(row["seed_pair"] for row in rows["subgraphs"])
        report.need(
            of_table == conflicts,
            f"subgraphs: {len(of_table)} rows do not answer the {len(conflicts)} conflicts one by one",
        )
    graphs = [row["subgraph_id"] for row in rows["subgraphs"] if row["fate"] == "kept"]
    _one_each("questions", "subgraph_id", rows["questions"], graphs, "questions" in done, report)
    _checks(rows, done, wanted_checks(run), report)
    _traced(rows, keys, report)
    return report


def _documents(rows: list[Row], report: Report) -> None:
    report.need([r["number"] for r in rows] == list(range(len(rows))), "documents: are not numbered from 0")
    for row in rows:
        kept = row["fate"] == DocumentFate.KEPT
        name = f"document {row['number']}"
        report.need(row["fate"] in set(DocumentFate), f"{name} has no fate ({row['fate']!r})")
        report.need(
            kept == (row["text"] is not None), f"{name} is {row['fate']} and has {'no' if kept else 'a'} text"
        )
        if kept:
            report.need(
                row["document_id"] == document_id(row["url"], row["text"]),
                f"{name} has the id of another text",
            )
    twice = [
        i
        for i, n in Counter(r["document_id"] for r in rows if r["fate"] == DocumentFate.KEPT).items()
        if n > 1
    ]
    report.need(not twice, f"documents: {twice[:3]} are kept twice")


def _pairs(rows: list[Row], kept: set[int], report: Report) -> None:
    asked = Counter((r["a"], r["b"], r["subject"], r["slot"]) for r in rows)
    report.need(not any(n > 1 for n in asked.values()), "pairs: one is there twice")
    for row in rows:
        there = row["a"] < row["b"] and {row["a"], row["b"]} <= kept
        report.need(
            there,
            f"pair {row['pair_id']}: documents {row['a']} and {row['b']} are not two kept ones in order",
        )


def _one_each(
    table: str, column: str, rows: list[Row], wanted: list[int], finished: bool, report: Report
) -> None:
    """One row for each item, in order; where the step is under way, for the first ones."""
    values = [row[column] for row in rows]
    expected = wanted if finished else wanted[: len(values)]
    report.need(
        values == expected,
        f"{table}: {len(values)} rows do not answer the {len(wanted)} items one by one and in order",
    )
    if not finished and len(values) < len(wanted):
        report.notes.append(f"{len(wanted) - len(values)} of {len(wanted)} items of {table} are not done yet")


def _checks(rows: dict[str, list[Row]], done: set[str], wanted: tuple[str, ...], report: Report) -> None:
    """Groups reach a check only by passing the one before."""
    passed = [row["group_id"] for row in rows["questions"] if row["fate"] == "kept"]
    report.need(len(set(passed)) == len(passed), "questions: two groups have one id")
    for check in CHECKS:
        checks = [row for row in rows["checks"] if row["check"] == check]
        if check not in wanted:
            report.need(
                not checks, f"checks: {len(checks)} rows of the {check} check, which this build does not want"
            )
            continue
        for row in checks:
            report.need(row["fate"] in _FATES, f"{check} check of {row['group_id']}: fate {row['fate']!r}")
            report.need(
                (row["fate"] == "kept") == (row["reason"] is None),
                f"{check} check of {row['group_id']}: fate and reason",
            )
        groups = [row["group_id"] for row in checks]
        if check == "review":
            report.need(
                set(groups) <= set(passed), "checks: a group was reviewed that did not pass the checks before"
            )
        else:
            expected = passed if check in done else passed[: len(groups)]
            report.need(
                groups == expected,
                f"checks: the {check} check does not follow the groups one by one and in order",
            )
        left = len(set(passed) - set(groups))
        if left and (check == "review" or check not in done):
            report.notes.append(f"{left} of {len(passed)} groups are not through the {check} check yet")
        kept = {row["group_id"] for row in checks if row["fate"] == "kept"}
        passed = [group for group in passed if group in kept]


def _traced(rows: dict[str, list[Row]], keys: set[str], report: Report) -> None:
    """What a model decided has its completion."""
    for table in ("knowledge_points", "relations", "questions"):
        lost = [n for n, row in enumerate(rows[table]) if row["completion"] not in keys]
        report.need(not lost, f"{table}: rows {lost[:3]} have no completion that decided them")
    lost = [
        n
        for n, row in enumerate(rows["checks"])
        if row["check"] != "review" and row["completion"] not in keys
    ]
    report.need(not lost, f"checks: rows {lost[:3]} have no completion that decided them")


def verify_responses(run: RunFolder) -> Report:
    """Check a model's responses: of each question of its benchmark, or told as missing."""
    report, rows = _of_questions(run, "responses")
    asked = (
        {row["benchmark_id"] for row in run.read("benchmark").to_pylist()} if not report.findings else set()
    )
    answered = {row["benchmark_id"] for row in rows}
    report.need(
        answered <= asked,
        f"responses: to questions {sorted(answered - asked)[:3]}, which are not in the benchmark",
    )
    if asked - answered:
        report.notes.append(f"{len(asked - answered)} of {len(asked)} questions are not asked yet")
    for row in rows:
        name = f"response to {row['benchmark_id']}"
        report.need(
            (row["text"] is None) == (row["error"] is not None),
            f"{name}: has both a text and an error, or neither",
        )
    return report


def verify_grades(run: RunFolder) -> Report:
    """Check the grades of a model: each outcome is computed anew from its decisions."""
    report, rows = _of_questions(run, "grades")
    for row in rows:
        name = f"grade of {row['benchmark_id']}"
        report.need(
            (row["outcome"] is None) == (row["error"] is not None),
            f"{name}: has both an outcome and an error, or neither",
        )
        if row["outcome"] is not None:
            grading = Grading(tuple(row["covered"]), tuple(Contradiction(**c) for c in row["contradictions"]))
            report.need(
                outcome(grading) == row["outcome"],
                f"{name}: is {row['outcome']}, its decisions say {outcome(grading)}",
            )
    return report


def _of_questions(run: RunFolder, table: str) -> tuple[Report, list[Row]]:
    report = Report()
    sound = [check_files(run, manifest, report) for manifest in run.manifests]
    check_rest(run, report)
    whole = all(sound)
    rows: list[Row] = run.read(table).to_pylist() if whole else []
    keys = set(run.read("completions", columns=["key"])["key"].to_pylist()) if whole else set()
    report.checked.update({table: len(rows), "completions": len(keys)})
    _attempts(table, rows, report)
    for row in rows:
        asked = row["completion"] is not None or table == "grades"
        report.need(
            asked and (row["completion"] is None or row["completion"] in keys),
            f"{table}: {row['benchmark_id']} has no completion",
        )
    return report, rows


def _attempts(table: str, rows: Iterable[Row], report: Report) -> None:
    """Attempts are numbered from 1, and what has succeeded is not tried again (of a grade: unless
    its response was).
    """
    last: dict[str, Row] = {}
    for row in rows:
        before = last.get(row["benchmark_id"])
        name = f"{table}: attempt {row['attempt']} at {row['benchmark_id']}"
        report.need(
            row["attempt"] == (before["attempt"] + 1 if before else 1),
            f"{name} does not follow the one before",
        )
        again = before is None or before["error"] is not None or before.get("response") != row.get("response")
        report.need(again, f"{name} comes after one that succeeded")
        last[row["benchmark_id"]] = row
