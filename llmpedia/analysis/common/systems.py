"""Runs that are compared, by name and with their audits; what an audit says of some of its subjects
alone.

A run and an imported encyclopedia are both systems: all that is asked of either is articles and an
audit of them.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from llmpedia.analysis.output.formats import TableRows
from llmpedia.audit.audit_folder import audit_data, constants_of, text_pairs
from llmpedia.audit.measures.similarity import Encoder, similarities, similarity_summary
from llmpedia.audit.measures.verdicts import article_scores, summaries
from llmpedia.entities.keys import canonical_key
from llmpedia.store.run_folder import RunFolder

# Of every draw and bootstrap, so that a report is the same each time.
SEED = 42
SAMPLES = {"titles": "a sample of given titles", "random": "a random sample"}
"""What a sample is called in a sentence."""


@dataclass(frozen=True)
class System:
    """A run under the name that tables give it, and its audits."""

    name: str
    run: RunFolder
    audits: tuple[RunFolder, ...]


def systems_of(runs: Sequence[RunFolder], audits: Sequence[RunFolder]) -> list[System]:
    """The runs in their order, each with those of the audits that lie in its folder."""
    names = run_names([run.uri for run in runs])
    return [
        System(name, run, tuple(a for a in audits if _run_of(a) == run.uri.rstrip("/")))
        for name, run in zip(names, runs, strict=True)
    ]


def run_names(uris: Sequence[str]) -> list[str]:
    """Each by its folder's name; those that share one by as many of the folders above as tell them
    apart.
    """
    parts = [uri.rstrip("/").split("/") for uri in uris]
    longest = max(map(len, parts), default=0)

    def name(mine: Sequence[str], deep: int) -> str:
        return "/".join(mine[-deep:])

    names = []
    for mine in parts:
        others = [p for p in parts if p != mine]
        deep = next(
            (d for d in range(1, longest) if all(name(p, d) != name(mine, d) for p in others)), longest
        )
        names.append(name(mine, deep))
    return names


def _run_of(audit: RunFolder) -> str:
    uri = audit.uri.rstrip("/")
    above = uri.rpartition("/audits/")[0]
    return above or str(audit.description()["audited"]["run"]).rstrip("/")


def audits_of(systems: Sequence[System], sample: str, table: str, missing: TableRows) -> dict[str, RunFolder]:
    """System -> its audit that has the sample; a system with several such audits has none, which is
    told in ``missing``.
    """
    audits = {}
    for system in systems:
        fitting = [audit for audit in system.audits if _has(audit, sample)]
        if len(fitting) == 1:
            audits[system.name] = fitting[0]
        elif fitting:
            named = ", ".join(audit.uri.rpartition("/")[2] for audit in fitting)
            reason = f"its audits {named} all have {SAMPLES[sample]}, and which one is meant cannot be told"
            command = f"llmpedia report {system.run.uri} --out DIR, with all but one of them moved elsewhere"
            missing.append(
                {
                    "table": table,
                    "what": f"{system.name}: sample {sample}",
                    "reason": reason,
                    "command": command,
                }
            )
    return audits


def _has(audit: RunFolder, sample: str) -> bool:
    if audit.last_wave < 1:  # a sample of which nothing is audited yet
        return False
    return any(sample in strata for strata in audit.read("sample", [0], ["strata"])["strata"].to_pylist())


def sampled_keys(audit: RunFolder, sample: str) -> frozenset[str]:
    """Canonical keys of the audited subjects that a sample has drawn."""
    rows = audit.read("audited", columns=["name", "strata"]).to_pylist()
    return frozenset(canonical_key(row["name"]) for row in rows if sample in row["strata"])


def summary_of(name: str, audit: RunFolder, sample: str, keys: AbstractSet[str] | None) -> TableRows:
    """A summary a tier (``audit.metrics``) over a sample, or those of its subjects that are among
    ``keys``.

    The system's name stands for the model, and no topic is told: whoever compares systems has
    chosen them.
    """
    scores = [
        {**row, "strata": [sample]}
        for row in article_scores(audit_data(audit))
        if sample in row["strata"] and (keys is None or canonical_key(row["name"]) in keys)
    ]
    return summaries(scores, ("sample",), {**constants_of(audit), "model": name, "topic": None}, SEED)


def likeness(
    audits: Mapping[str, RunFolder], sample: str, keys: AbstractSet[str] | None, encode: Encoder | None
) -> tuple[TableRows, dict[str, TableRows]]:
    """A summary a system of how like its articles are to Wikipedia's, and the rows of the single
    articles.

    TF-IDF is fitted once, on the texts of all systems: fitted on each alone, their values would not
    compare.
    """
    pairs = {name: _pairs(audit, sample, keys) for name, audit in audits.items()}
    rows = (
        similarities([pair for some in pairs.values() for pair in some], encode)
        if any(pairs.values())
        else []
    )
    by_name = {}
    start = 0
    for name, some in pairs.items():
        by_name[name] = rows[start : start + len(some)]
        start += len(some)
    summaries = [
        similarity_summary(own_rows, {"model": name, "sample": sample}, SEED)
        for name, own_rows in by_name.items()
        if own_rows
    ]
    return summaries, by_name


def _pairs(audit: RunFolder, sample: str, keys: AbstractSet[str] | None) -> list[tuple[str, str]]:
    wanted = {
        row["subject_id"]
        for row in audit.read("sample", [0], ["subject_id", "name", "strata"]).to_pylist()
        if sample in row["strata"] and (keys is None or canonical_key(row["name"]) in keys)
    }
    return [(ours, theirs) for subject, ours, theirs in text_pairs(audit) if subject in wanted]
