"""``llmpedia verify``: a fsck for runs. Proves, wave by wave, that nothing was lost, doubled or
left without its source.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from llmpedia.store import journal
from llmpedia.store.kinds import RunKind
from llmpedia.store.run_folder import Manifest, RunFolder, content_hash, parquet_rows
from llmpedia.tables import Fate

Row = dict[str, Any]

# Fates that say which entity the candidate is.
_NAMES_ENTITY = frozenset({Fate.QUEUED, Fate.KNOWN, Fate.WAVE_DUPLICATE, Fate.DUPLICATE})
_MAX_FINDINGS = 100


@dataclass
class Report:
    """What was checked, and what is wrong; no findings means the run is whole."""

    findings: list[str] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def need(self, holds: bool, finding: str) -> None:
        """Record a finding unless ``holds``."""
        if not holds and len(self.findings) < _MAX_FINDINGS:
            self.findings.append(finding)


@dataclass
class _State:
    """What earlier waves have established. ``imported``: see
    :class:`~llmpedia.store.kinds.RunKind`.
    """

    imported: bool = False
    hops: list[int] = field(default_factory=list)
    keys: dict[str, int] = field(default_factory=dict)
    written: set[int] = field(default_factory=set)
    visited: set[int] = field(default_factory=set)
    candidates: int = 0


def verify(run: RunFolder) -> Report:
    """Check all of a run. Reads every file; memory holds the keys and one wave."""
    report = Report()
    state = _State(run.kind == RunKind.IMPORTED)
    for manifest in run.manifests:
        if check_files(run, manifest, report):
            rows = {t: run.read(t, [manifest.wave]).to_pylist() for t in _TABLES_READ}
            for check in (_entities, _subjects, _articles, _candidates, _completions, _balance):
                check(manifest, rows, state, report)
            report.checked.update({t: len(r) for t, r in rows.items()})
    check_rest(run, report)
    return report


def check_rest(run: RunFolder, report: Report) -> None:
    """Note what lies in the folder beside the commits."""
    report.checked["waves"] = len(run.manifests)
    report.notes += [
        f"uncommitted file {n} (a commit was cut short; the next start removes it)" for n in run.uncommitted()
    ]
    for wave in journal.waves_with_pieces(run.folder):
        if wave > run.last_wave:
            report.notes.append(
                f"wave {wave} is under way: {len(journal.read_wave(run.folder, wave))} answers in its journal"
            )


_TABLES_READ = ("entities", "subjects", "articles", "candidates", "aliases", "completions", "imports")


def check_files(run: RunFolder, manifest: Manifest, report: Report) -> bool:
    """Whether every file of a commit is there and holds what its manifest says; findings go to
    ``report``.
    """
    before = len(report.findings)
    for file in manifest.files:
        path = run.folder.path(file.name)
        try:
            raw = run.folder.read(file.name)
        except FileNotFoundError:
            report.need(False, f"{path}: missing, though wave {manifest.wave} is committed")
            continue
        if hashlib.sha256(raw).hexdigest() != file.sha256:
            report.need(False, f"{path}: wrong checksum; the file was altered after its commit")
            continue
        rows = parquet_rows(raw)
        report.need(
            rows.num_rows == file.rows, f"{path}: {rows.num_rows} rows, its manifest says {file.rows}"
        )
        report.need(content_hash(raw) == file.content, f"{path}: content differs from what its manifest says")
        report.checked["files"] += 1
    return len(report.findings) == before


def _entities(manifest: Manifest, rows: dict[str, list[Row]], state: _State, report: Report) -> None:
    at = f"wave {manifest.wave}"
    for row in rows["entities"]:
        n = row["entity_id"]
        report.need(n == len(state.hops), f"{at}: entity {n} where {len(state.hops)} is next")
        report.need(
            row["key"] not in state.keys,
            f"{at}: entity {n} {row['name']!r} has the key of entity {state.keys.get(row['key'])}",
        )
        parent = row["parent_id"]
        known = parent is None or parent < len(state.hops)
        report.need(known, f"{at}: entity {n} has parent {parent}, which is not there")
        want = 0 if parent is None else state.hops[parent] + 1 if known else row["hop"]
        report.need(
            row["hop"] == want, f"{at}: entity {n} is at hop {row['hop']}, its parent's plus 1 is {want}"
        )
        state.hops.append(row["hop"])
        state.keys[row["key"]] = n
    for row in rows["aliases"]:
        report.need(
            row["key"] not in state.keys,
            f"{at}: alias {row['name']!r} has the key of entity {state.keys.get(row['key'])}",
        )
        report.need(
            row["entity_id"] < len(state.hops),
            f"{at}: alias {row['name']!r} names entity {row['entity_id']}, which is not there",
        )
        state.keys[row["key"]] = row["entity_id"]


def _subjects(manifest: Manifest, rows: dict[str, list[Row]], state: _State, report: Report) -> None:
    at = f"wave {manifest.wave}"
    written = {a["subject_id"] for a in rows["articles"]}
    per_parent = Counter(c["parent_id"] for c in rows["candidates"])
    positions = [s["position"] for s in rows["subjects"]]
    report.need(positions == list(range(len(positions))), f"{at}: subjects are not in order")
    for row in rows["subjects"]:
        n = row["subject_id"]
        hop = state.hops[n] if n < len(state.hops) else None
        report.need(hop is not None, f"{at}: subject {n} is no entity")
        report.need(row["hop"] == hop, f"{at}: subject {n} is at hop {row['hop']}, its entity is at {hop}")
        report.need(
            per_parent[n] == row["candidates"],
            f"{at}: subject {n} has {per_parent[n]} candidates, not {row['candidates']}",
        )
        if row["visit"] == "generate":
            # what could not be read is read anew when an import is started once more
            before = state.written if state.imported else state.visited
            report.need(n not in before, f"{at}: subject {n} {row['name']!r} was generated twice")
            report.need(
                (row["error"] is None) == (n in written),
                f"{at}: subject {n} has neither an article nor an error, or both",
            )
            state.visited.add(n)
        else:
            report.need(n in state.written, f"{at}: subject {n} is expanded without an article")
    strangers = {c for c in per_parent if c is not None} - {s["subject_id"] for s in rows["subjects"]}
    report.need(
        not strangers, f"{at}: candidates of subjects {sorted(strangers)[:3]}, which are not in the wave"
    )


def _articles(manifest: Manifest, rows: dict[str, list[Row]], state: _State, report: Report) -> None:
    keys = {c["key"] for c in rows["completions"]}
    for row in rows["articles"]:
        n = row["subject_id"]
        report.need(
            n in state.visited,
            f"wave {manifest.wave}: article {n} {row['name']!r} belongs to no subject generated",
        )
        report.need(
            n not in state.written, f"wave {manifest.wave}: subject {n} {row['name']!r} has two articles"
        )
        state.written.add(n)
        if not state.imported:
            for column in ("completion", "outline_completion"):
                report.need(
                    row[column] in keys,
                    f"wave {manifest.wave}: article {n} has no {column} in the completions",
                )
    if state.imported:
        _imports(manifest, rows, report)


def _imports(manifest: Manifest, rows: dict[str, list[Row]], report: Report) -> None:
    """Each article of an import has its source in place of completions, and nothing else has one."""
    at = f"wave {manifest.wave}"
    sources = Counter(row["subject_id"] for row in rows["imports"])
    report.need(not rows["completions"], f"{at}: holds completions, though it was imported")
    for row in rows["articles"]:
        n = row["subject_id"]
        named = row["completion"] is None and row["outline_completion"] is None
        report.need(named, f"{at}: article {n} names a completion, though it was imported")
        report.need(sources.pop(n, 0) == 1, f"{at}: article {n} has not one source in the imports")
    report.need(
        not sources, f"{at}: imports of subjects {sorted(sources)[:3]}, which have no article in the wave"
    )


def _candidates(manifest: Manifest, rows: dict[str, list[Row]], state: _State, report: Report) -> None:
    at = f"wave {manifest.wave}"
    keys = {c["key"] for c in rows["completions"]}
    seen: set[tuple[int | None, str]] = set()
    for row in rows["candidates"]:
        n = row["candidate_id"]
        fate = row["fate"]
        report.need(n == state.candidates, f"{at}: candidate {n} where {state.candidates} is next")
        state.candidates += 1
        if row["parent_id"] is not None:
            pair = (row["parent_id"], row["key"])
            report.need(
                pair not in seen,
                f"{at}: candidate {n} {row['name']!r} is doubled in subject {row['parent_id']}",
            )
            seen.add(pair)
        report.need(fate in set(Fate), f"{at}: candidate {n} has no fate ({fate!r})")
        report.need(
            (row["entity_id"] is not None) == (fate in _NAMES_ENTITY),
            f"{at}: candidate {n} ({fate}) and its entity do not agree",
        )
        if fate in _NAMES_ENTITY and fate != Fate.DUPLICATE:
            known = state.keys.get(row["key"])
            report.need(
                known == row["entity_id"],
                f"{at}: candidate {n} ({fate}) has a key of entity {known}, not {row['entity_id']}",
            )
        report.need(not _unasked(row), f"{at}: candidate {n} ({fate}) has no completion that decided it")
        for column in ("ner_completion", "arbitration_completion"):
            report.need(
                row[column] is None or row[column] in keys,
                f"{at}: candidate {n}: its {column} is not in the completions",
            )


def _unasked(row: Row) -> bool:
    """True where the fate is a model's decision and no completion is named."""
    by_ner = row["fate"] in (Fate.NER_REJECTED, Fate.NER_LOW_CONFIDENCE)
    by_arbiter = row["fate"] == Fate.DUPLICATE
    return bool((by_ner and not row["ner_completion"]) or (by_arbiter and not row["arbitration_completion"]))


def _completions(manifest: Manifest, rows: dict[str, list[Row]], state: _State, report: Report) -> None:
    keys = Counter(c["key"] for c in rows["completions"])
    doubled = [k for k, n in keys.items() if n > 1]
    report.need(not doubled, f"wave {manifest.wave}: completion {doubled[:1]} is stored twice")


def _balance(manifest: Manifest, rows: dict[str, list[Row]], state: _State, report: Report) -> None:
    """In = out + rejected + errored, as the manifest counted them."""
    for finding in imbalances(manifest.facts["counts"], rows):
        report.need(False, f"wave {manifest.wave}: {finding}")


def imbalances(counts: dict[str, Any], rows: dict[str, list[Row]]) -> Iterator[str]:
    """Where a wave's counts and rows disagree; nothing when all of it adds up."""
    fates = Counter(str(c["fate"]) for c in rows["candidates"])
    generated = [s for s in rows["subjects"] if s["visit"] == "generate"]
    errored = sum(1 for s in generated if s["error"] is not None)
    pairs = [
        ("subjects in", counts["subjects"], "subjects out", len(rows["subjects"])),
        ("subjects generated", len(generated), "articles + errored", len(rows["articles"]) + errored),
        ("candidates in", counts["candidates"], "fates", sum(fates.values())),
        ("queued", fates[Fate.QUEUED], "entities", len(rows["entities"])),
        ("fates counted", counts["fates"], "fates", dict(sorted(fates.items()))),
    ]
    for left, a, right, b in pairs:
        if a != b:
            yield f"{left} {a} is not {right} {b}"
    strange = {a["key"] for a in rows["aliases"]} - {
        c["key"] for c in rows["candidates"] if c["fate"] == Fate.DUPLICATE
    }
    if strange:
        yield f"aliases {sorted(strange)[:3]} come from no duplicate candidate"
