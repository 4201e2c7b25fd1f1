"""Two to eight runs side by side (paper, table 5 and figures 32 to 36): what they share, and how
true it is.

Subjects are compared by canonical key, those that have an article. ``entity_overlap``: over
subjects that all runs have, the mean Jaccard of the two articles' sets of linked keys, the subject
itself left out; 1,000 of them, drawn by a hash of seed and key so that neither the order nor the
number of runs matters. Shared factuality is that of the subjects that every run's audit has in its
sample of given titles, independent factuality that of each run's own random sample. Similarity to
Wikipedia is over the same samples, with TF-IDF fitted on all runs together.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from llmpedia.analysis.audits.tables import Findings, audit_tables
from llmpedia.analysis.common.corpus import corpus_means, written_subjects
from llmpedia.analysis.common.statistics import jaccard, percent_of_share
from llmpedia.analysis.common.systems import (
    SAMPLES,
    SEED,
    System,
    audits_of,
    likeness,
    sampled_keys,
    summary_of,
    systems_of,
)
from llmpedia.analysis.comparison.cross_model_figures import cross_model_figures
from llmpedia.analysis.output.formats import TableRow, TableRows
from llmpedia.analysis.output.page import ReportPart
from llmpedia.audit.measures.similarity import Encoder
from llmpedia.audit.measures.verdicts import SHARES, macro
from llmpedia.audit.stages import NOT_ADJUDICATED
from llmpedia.entities.keys import canonical_key
from llmpedia.store.run_folder import RunFolder
from llmpedia.wikitext import Article

if TYPE_CHECKING:
    import numpy as np

MOST_RUNS = 8
SHARED = 1000
"""Shared subjects whose links are compared (paper, figure 34)."""

TABLE = "table_05_models"
_TITLES = {
    TABLE: "Models side by side (table 5)",
    "subject_overlap": "Subjects that runs share (figures 32 and 33)",
    "entity_overlap": "Linked entities on shared subjects (figure 34)",
    "shared_independent": "Factuality: shared and independent subjects (figure 35)",
    "wikipedia_similarity": "Similarity to Wikipedia (figure 36)",
    "shared_subjects": "Shared subjects, as a file of titles for an audit",
}
_FIGURES_OF = {
    "subject_overlap": ["figure_32_subjects", "figure_33_jaccard"],
    "entity_overlap": ["figure_34_entities"],
    "shared_independent": ["figure_35_factuality"],
    "wikipedia_similarity": ["figure_36_similarity"],
}
# A line that an audit takes for a comment, so that the table's CSV is a file of titles as it lies.
_TITLE = "# title"
_SAMPLES = {"shared": "titles", "independent": "random"}


def cross_model_part(
    runs: Sequence[RunFolder], audits: Sequence[RunFolder], encode: Encoder | None = None
) -> ReportPart:
    """Tables and figures of all runs together; ``encode``: for the semantic cosine to Wikipedia,
    None leaves it empty.

    Of fewer than two runs, and of more than eight, all is missing.

    Raises:
        InputError: a run does not fit together.
    """
    if not 2 <= len(runs) <= MOST_RUNS:
        reason = f"runs given: {len(runs)}; 2 to {MOST_RUNS} can be set side by side"
        command = "llmpedia report RUN OTHER_RUN --out DIR"
        return ReportPart(
            {}, [{"table": t, "what": "table", "reason": reason, "command": command} for t in _TITLES]
        )
    systems = systems_of(runs, audits)
    missing: TableRows = []
    subjects = {system.name: written_subjects(system.run) for system in systems}
    overlap = Overlap.of({name: rows["key"] for name, rows in subjects.items()})
    sample = drawn(overlap.in_all, SHARED)
    tables = {
        TABLE: _corpora(systems, overlap),
        "subject_overlap": overlap.rows(),
        "entity_overlap": _entity_overlap(systems, subjects, sample, missing),
        "shared_independent": [],
        "wikipedia_similarity": [],
        "shared_subjects": _titles_of(systems[0], subjects[systems[0].name], sample),
    }
    _audited(systems, encode, tables, missing)
    for table in (t for t in ("shared_independent", "wikipedia_similarity") if not tables[t]):
        reason = (
            "fewer than two runs have an audit with a sample of titles, or with a random one, "
            "that found anything"
        )
        missing.append(
            {"table": table, "what": "table", "reason": reason, "command": _command("independent")}
        )
    return ReportPart(tables, missing, _TITLES, cross_model_figures(tables), _FIGURES_OF)


@dataclass(frozen=True)
class Overlap:
    """``counts[mask]``: keys that exactly the runs of a bit mask have, bit 0 the first name;
    ``in_all``: those that all have.
    """

    names: tuple[str, ...]
    counts: "np.ndarray[Any, Any]"
    in_all: pa.Array

    @classmethod
    def of(cls, keys: Mapping[str, pa.ChunkedArray]) -> "Overlap":
        """Of the keys of each run: one pass that numbers them all, then arithmetic on bit masks."""
        import numpy as np

        whole = pa.chunked_array([chunk for rows in keys.values() for chunk in rows.chunks], pa.string())
        encoded = whole.combine_chunks().dictionary_encode()
        codes = encoded.indices.to_numpy()
        known = encoded.dictionary
        masks = np.zeros(len(known), np.uint16)
        start = 0
        for bit, rows in enumerate(keys.values()):
            masks[codes[start : start + len(rows)]] |= np.uint16(1 << bit)
            start += len(rows)
        everyone = (1 << len(keys)) - 1
        counts = np.bincount(masks, minlength=everyone + 1)
        return cls(tuple(keys), counts, known.filter(pa.array(masks == everyone)))

    def shared(self, members: Collection[int]) -> int:
        """Keys that all of these runs have, whoever else has them."""
        wanted = sum(1 << m for m in members)
        return int(sum(n for mask, n in enumerate(self.counts) if mask & wanted == wanted))

    def union(self, members: Collection[int]) -> int:
        """Keys that any of these runs has."""
        wanted = sum(1 << m for m in members)
        return int(sum(n for mask, n in enumerate(self.counts) if mask & wanted))

    def rows(self) -> TableRows:
        """A row a run, a pair, a triple, and all of them: ``subjects`` that they share, of those
        that any of them has.
        """
        everyone = len(self.names)
        sizes = [*range(1, min(everyone, 3) + 1), *([everyone] if everyone > 3 else [])]
        return [self._row(members) for size in sizes for members in combinations(range(everyone), size)]

    def _row(self, members: tuple[int, ...]) -> TableRow:
        shared = self.shared(members)
        union = self.union(members)
        return {
            "runs": [self.names[m] for m in members],
            "of": len(members),
            "subjects": shared,
            "union": union,
            "jaccard": jaccard(shared, union),
            "jaccard_pct": percent_of_share(jaccard(shared, union)),
        }


def drawn(keys: pa.Array, most: int) -> list[str]:
    """At most so many of the keys, in the order of a hash of seed and key."""
    drawn_keys: list[str] = keys.to_pylist()
    return sorted(drawn_keys, key=lambda key: hashlib.sha256(f"{SEED}\x1fshared\x1f{key}".encode()).digest())[
        :most
    ]


def _corpora(systems: Sequence[System], overlap: Overlap) -> TableRows:
    """Table 5's upper part: a line a measure, a column a run; what belongs to all of them stands in
    every column.
    """
    means = {system.name: corpus_means(system.run) for system in systems}
    names = ("articles", "mean_links", "mean_sections", "mean_words")
    lines = [
        {"part": "corpus", "measure": name, **{s: row[name] for s, row in means.items()}} for name in names
    ]
    everyone = range(len(systems))
    shared = overlap.shared(everyone)
    union = overlap.union(everyone)
    values = {
        "union": union,
        "intersection": shared,
        "intersection_pct": percent_of_share(jaccard(shared, union)),
    }
    return lines + [
        {"part": "overlap", "measure": name, **dict.fromkeys(means, value)} for name, value in values.items()
    ]


def _titles_of(system: System, subjects: pa.Table, sample: list[str]) -> TableRows:
    """The sample by the names that a run gives its subjects."""
    ids = _ids(subjects, sample)
    articles = system.run.read("articles", columns=["subject_id", "name"])
    names = articles["name"].take(pc.index_in(ids, value_set=articles["subject_id"])).to_pylist()
    return [{_TITLE: name} for name in names]


def _ids(subjects: pa.Table, keys: list[str]) -> pa.Array:
    return (
        subjects["subject_id"]
        .take(pc.index_in(pa.array(keys, pa.string()), value_set=subjects["key"]))
        .combine_chunks()
    )


def _entity_overlap(
    systems: Sequence[System], subjects: Mapping[str, pa.Table], sample: list[str], missing: TableRows
) -> TableRows:
    """A row a pair of runs."""
    table = "entity_overlap"
    if not sample:
        reason = "no subject has an article in all of the runs"
        missing.append(
            {
                "table": table,
                "what": "table",
                "reason": reason,
                "command": "llmpedia materialize, with larger caps",
            }
        )
        return []
    linked = {}
    for system in systems:
        links = linked_keys(system.run, _ids(subjects[system.name], sample), sample)
        if any(links):
            linked[system.name] = links
        else:
            reason = "its articles on shared subjects have no links"
            command = "llmpedia import TEXTS --form wikitext, with texts that keep them"
            missing.append({"table": table, "what": system.name, "reason": reason, "command": command})
    return [{"run": a, "other": b, **_pair(linked[a], linked[b])} for a, b in combinations(linked, 2)]


def _pair(ours: list[frozenset[str]], theirs: list[frozenset[str]]) -> TableRow:
    """Subjects of which neither article has a link say nothing, and are left out of the mean."""
    values = [jaccard(len(a & b), len(a | b)) for a, b in zip(ours, theirs, strict=True)]
    return {
        "subjects": len(values),
        "without_links": values.count(None),
        **macro(values, SEED).columns("jaccard"),
    }


def linked_keys(run: RunFolder, ids: pa.Array, sample: list[str]) -> list[frozenset[str]]:
    """Keys that each subject's article links, its ``sample`` key left out; read from its text where
    no candidates are stored.
    """
    place = {n: i for i, n in enumerate(ids.to_pylist())}
    links: list[set[str]] = [set() for _ in sample]
    for wave in range(run.last_wave + 1):
        rows = run.read("candidates", [wave], ["parent_id", "key"])
        rows = rows.filter(pc.is_in(rows["parent_id"], value_set=ids))
        for parent, key in zip(rows["parent_id"].to_pylist(), rows["key"].to_pylist(), strict=True):
            links[place[parent]].add(key)
    unread = pa.array([n for n, i in place.items() if not links[i]], pa.int64())
    for subject, text in _texts(run, unread):
        links[place[subject]].update(canonical_key(link.target) for link in Article(text).links)
    return [frozenset(keys - {key}) for keys, key in zip(links, sample, strict=True)]


def _texts(run: RunFolder, ids: pa.Array) -> list[tuple[int, str]]:
    """Texts of those of the subjects whose articles have links; only waves that hold one are read."""
    wikitexts: list[tuple[int, str]] = []
    for wave in range(run.last_wave + 1):
        rows = run.read("articles", [wave], ["subject_id", "links"])
        wanted = rows["subject_id"].filter(
            pc.and_(pc.is_in(rows["subject_id"], value_set=ids), pc.greater(rows["links"], 0))
        )
        if len(wanted):
            texts = run.read("articles", [wave], ["subject_id", "wikitext"])
            texts = texts.filter(pc.is_in(texts["subject_id"], value_set=wanted.combine_chunks()))
            wikitexts += zip(texts["subject_id"].to_pylist(), texts["wikitext"].to_pylist(), strict=True)
    return wikitexts


def _audited(
    systems: Sequence[System], encode: Encoder | None, tables: dict[str, TableRows], missing: TableRows
) -> None:
    """What needs audits: the lower part of table 5, factuality and similarity on shared and on
    independent subjects.
    """
    summaries: TableRows = []
    for part, sample in _SAMPLES.items():
        chosen = audits_of(systems, sample, TABLE, missing)
        if len(chosen) < 2:
            missing += _no_audits(systems, chosen, part)
            continue
        keys = _common(chosen, sample) if part == "shared" else None
        if keys is not None and not keys:
            reason = f"no subject is in the samples of titles of {', '.join(chosen)} alike"
            missing.append({"table": TABLE, "what": part, "reason": reason, "command": _command(part)})
            continue
        for name, audit in chosen.items():
            summaries += summary_of(name, audit, sample, keys)
        alike, _ = likeness(chosen, sample, keys, encode)
        tables["wikipedia_similarity"] += [
            {"run": row.pop("model"), "subjects_are": part, **row} for row in alike
        ]
    paper_tables = audit_tables(Findings(summaries))
    tables[TABLE] += [row for row in paper_tables.tables.get(TABLE, []) if row["part"] in _SAMPLES]
    tables["shared_independent"] += [_factuality(row) for row in summaries]
    there = {part for part, sample in _SAMPLES.items() if any(row["sample"] == sample for row in summaries)}
    missing_rows = [
        row
        for row in paper_tables.missing
        if row["table"] == TABLE and row["what"].partition(":")[0] in there
    ]
    missing += [
        {**row, "command": "llmpedia status RUN/audits/NAME, for what the audit has found"}
        for row in missing_rows
    ]


def _common(audits: Mapping[str, RunFolder], sample: str) -> frozenset[str]:
    return frozenset.intersection(*(sampled_keys(audit, sample) for audit in audits.values()))


def _factuality(row: TableRow) -> TableRow:
    part = next(name for name, sample in _SAMPLES.items() if sample == row["sample"])
    spread = {f"{name}_{k}": row[f"{name}_{k}"] for name in SHARES for k in ("sd", "n", "low", "high")}
    return {
        "run": row["model"],
        "subjects_are": part,
        "tier": row["tier"],
        "subjects": row["articles"],
        "found": row["found"],
        "coverage_pct": percent_of_share(row["coverage"]),
        **{f"{name}_pct": percent_of_share(row[name]) for name in SHARES},
        "claims": row["claims"],
        NOT_ADJUDICATED: row[NOT_ADJUDICATED],
        **spread,
    }


def _no_audits(systems: Sequence[System], chosen: Mapping[str, RunFolder], part: str) -> TableRows:
    """One row a run that lacks the sample."""
    reason = (
        f"none of its audits has {SAMPLES[_SAMPLES[part]]}, and a comparison needs two runs that have one"
    )
    return [
        {
            "table": TABLE,
            "what": f"{part}: {s.name}",
            "reason": reason,
            "command": _command(part).replace("RUN", s.run.uri),
        }
        for s in systems
        if s.name not in chosen
    ]


def _command(part: str) -> str:
    sample = {
        "shared": "sample.random=0 --set sample.titles=DIR/shared_subjects.csv",
        "independent": "sample.random=1000",
    }
    return f"llmpedia audit RUN --name {part} --set wikipedia.contact=ADDRESS --set {sample[part]}"
