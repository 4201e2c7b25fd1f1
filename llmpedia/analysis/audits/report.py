"""What one or more audits found, as tables: counts, metrics, the paper's forms of them, the
published scores beside, cost.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from llmpedia.analysis.audits.tables import Findings, audit_tables
from llmpedia.analysis.common.corpus import corpus_means, subject_keys
from llmpedia.analysis.output.formats import TableRow, TableRows
from llmpedia.audit.audit_folder import audit_data, audited_run, constants_of, text_pairs
from llmpedia.audit.measures.published import median_claims, published_summaries
from llmpedia.audit.measures.similarity import Encoder, similarities, similarity_summary
from llmpedia.audit.measures.verdicts import audit_metrics
from llmpedia.audit.review import Agreement
from llmpedia.engines.models import Models
from llmpedia.engines.packaged_weights import PACKAGES, resolve_model
from llmpedia.engines.usage import usage_table
from llmpedia.errors import ConfigError
from llmpedia.store.run_folder import RunFolder

# Of the bootstrap, so that a report is the same each time.
_SEED = 42
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_LONGEST_WHY = 200  # characters of a loader's message
_WAY_OUT = f"give {PACKAGES[1]}, a local folder, or a hub name OWNER/NAME that this machine can load"


def audit_report(
    audits: Sequence[RunFolder],
    encode: Encoder | None,
    with_similarity: bool,
    reviews: Mapping[str, Agreement],
    names: Mapping[str, str] | None = None,
    prices: Models | None = None,
) -> tuple[dict[str, TableRows], TableRows]:
    """(name -> rows, what is missing and why).

    Args:
        audits: of one or more runs.
        encode: for the semantic cosine to Wikipedia; None leaves that one column empty.
        with_similarity: compare texts with Wikipedia's; reads all of them.
        reviews: tier -> agreement of a reader with the judge.
        names: URI of a run -> what it is called; None, or one that is not in it: by its folder.
        prices: instead of those that each run's own settings name.

    Raises:
        InputError: tables that do not fit each other.
    """
    tables: dict[str, TableRows] = {
        "outcomes": [],
        "summaries": [],
        "funnel": [],
        "error_types": [],
        "published": [],
        "usage": [],
    }
    similar: TableRows = []
    scores: list[tuple[TableRow, TableRows]] = []
    corpora = _Corpora()
    for audit in audits:
        run = audited_run(audit)
        constants = constants_of(audit)
        constants["run"] = (names or {}).get(run.uri, constants["run"])
        corpora.take(run, constants)
        metrics = audit_metrics(audit_data(audit), constants, _SEED)
        tables["outcomes"] += _outcomes(audit, constants)
        tables["summaries"] += metrics["summaries"]
        tables["funnel"] += metrics["funnel"]
        tables["error_types"] += _error_types(audit, constants)
        scores.append((constants, metrics["articles"]))
        tables["usage"] += [
            {"run": constants["run"], "audit": row.pop("run"), **row} for row in usage_table(audit, prices)
        ]
        if with_similarity:
            pairs = [(ours, theirs) for _, ours, theirs in text_pairs(audit)]
            similar += [similarity_summary(similarities(pairs, encode), constants, _SEED)] if pairs else []
    k = median_claims([{**row, "audit": n} for n, (_, rows) in enumerate(scores) for row in rows])
    tables["published"] = [row for c, rows in scores for row in published_summaries(rows, c, _SEED, k)]
    findings = Findings(
        tables["summaries"],
        similarities=similar,
        corpora=corpora.means,
        subjects=corpora.subjects,
        entities=corpora.by_topic,
        reviews=reviews,
    )
    paper_tables = audit_tables(findings)
    return {**tables, "similarity": similar, **paper_tables.tables}, paper_tables.missing


@dataclass
class _Corpora:
    """The runs behind the audits, each read once."""

    means: TableRows = field(default_factory=list)
    subjects: dict[str, frozenset[str]] = field(default_factory=dict)
    by_topic: dict[str, dict[str, frozenset[str]]] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)

    def take(self, run: RunFolder, constants: TableRow) -> None:
        """Read a run; of one model's several runs subjects are joined, and means are the first
        one's.
        """
        if run.uri in self._seen:
            return
        self._seen.add(run.uri)
        model = constants["model"]
        topic = constants["topic"]
        keys = subject_keys(run)
        if model not in self.subjects:
            self.means.append({"model": model, **corpus_means(run)})
        self.subjects[model] = self.subjects.get(model, frozenset()) | keys
        if topic is not None:
            models = self.by_topic.setdefault(topic, {})
            models[model] = models.get(model, frozenset()) | keys


def _outcomes(audit: RunFolder, constants: TableRow) -> TableRows:
    """How many subjects each outcome has, tier by tier, and how many verdicts were coerced or not
    adjudicated.
    """
    evidence = audit.read("evidence", columns=["tier", "outcome"]).to_pylist()
    verdicts = audit.read("verdicts", columns=["tier", "verdict", "coerced"]).to_pylist()
    rows = []
    for tier in sorted({e["tier"] for e in evidence}):
        counted = Counter(e["outcome"] for e in evidence if e["tier"] == tier)
        judged = [v for v in verdicts if v["tier"] == tier]
        refuted = sum(v["verdict"] == "refuted" for v in judged)
        coerced = sum(v["coerced"] for v in judged)
        rows.append(
            {
                **constants,
                "tier": tier,
                "subjects": counted.total(),
                **dict(sorted(counted.items())),
                "verdicts": len(judged),
                "not_adjudicated": sum(v["verdict"] == "not_adjudicated" for v in judged),
                "coerced": coerced,
                "coerced_of_refuted_pct": round(100 * coerced / (refuted + coerced), 1)
                if refuted + coerced
                else None,
            }
        )
    columns = dict.fromkeys(k for row in rows for k in row)
    return [{k: row.get(k, 0) for k in columns} for row in rows]


def _error_types(audit: RunFolder, constants: TableRow) -> TableRows:
    """Refuted claims by kind of error and tier."""
    rows = audit.read("verdicts", columns=["tier", "verdict", "error_type"]).to_pylist()
    counted = Counter((r["tier"], r["error_type"] or "none named") for r in rows if r["verdict"] == "refuted")
    return [
        {**constants, "tier": t, "error_type": kind, "claims": n} for (t, kind), n in sorted(counted.items())
    ]


def local_encoder(model: str) -> Encoder:
    """A sentence-transformers model as an encoder of texts, loaded when it is given the first ones.

    Raises:
        ConfigError: nothing that could be loaded is called that; from the encoder: it cannot be
        loaded.
    """
    if not (model in PACKAGES or Path(model).is_dir() or _HUB_NAME.fullmatch(model)):
        raise ConfigError(
            f"--encoder = {model!r}: is no known package, no folder and no hub name; {_WAY_OUT}"
        )
    load = cache(lambda: _loaded(model))
    return lambda texts: load().encode(texts, batch_size=32, show_progress_bar=False)


def _loaded(model: str) -> Any:
    from sentence_transformers import SentenceTransformer

    try:
        return SentenceTransformer(resolve_model(model))
    except Exception as e:  # a loader raises whatever its libraries do
        why = " ".join(str(e).split())[:_LONGEST_WHY]
        raise ConfigError(
            f"--encoder = {model!r}: cannot be loaded ({type(e).__name__}: {why}); {_WAY_OUT}"
        ) from e


def headline(tables: Mapping[str, TableRows]) -> list[str]:
    """Names of the tables that are printed after an audit: what happened, then hops, then the
    published scores.
    """
    wanted = ("outcomes", "table_06_hops", "published")
    return [name for name in wanted if tables.get(name)]


def write_report(tables: Mapping[str, TableRows], missing: TableRows, out: Path) -> list[Path]:
    """Each table as Parquet, CSV, Markdown and LaTeX; what is missing as a table of its own."""
    from llmpedia.analysis.output.formats import write_tables

    whole = {
        **{name: rows for name, rows in tables.items() if rows},
        **({"missing": missing} if missing else {}),
    }
    return write_tables(whole, out)
