"""Every table that a run stores, column by column.

A table lies at ``tables/NAME/wave=00007/part.parquet``; ``wave`` is the partition's column and is
not repeated in the file. Row order inside a file is part of the format: it follows (subject order,
link order), never arrival.
"""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from llmpedia.tables.audit import AUDITED, CLAIMS, EVIDENCE, SAMPLE, VERDICTS
from llmpedia.tables.perplexity import PPL_ANSWERS, PPL_QUESTIONS
from llmpedia.tables.probe import (
    BENCHMARK,
    CHECKS,
    DOCUMENTS,
    GRADES,
    KNOWLEDGE_POINTS,
    MENTIONS,
    PAIRS,
    QUESTIONS,
    RELATIONS,
    RESPONSES,
    SIGHTINGS,
    SUBGRAPHS,
)
from llmpedia.tables.schema import documented_schema
from llmpedia.tables.walk import (
    ALIASES,
    ARTICLES,
    CANDIDATES,
    CAP_FATES,
    COMPLETIONS,
    ENTITIES,
    IMPORTS,
    SUBJECTS,
    Fate,
)

__all__ = [
    "ALIASES",
    "ARTICLES",
    "AUDITED",
    "BENCHMARK",
    "CANDIDATES",
    "CAP_FATES",
    "CHECKS",
    "CLAIMS",
    "COMPLETIONS",
    "DOCUMENTS",
    "ENTITIES",
    "EVIDENCE",
    "GRADES",
    "IMPORTS",
    "KNOWLEDGE_POINTS",
    "MENTIONS",
    "PAIRS",
    "PPL_ANSWERS",
    "PPL_QUESTIONS",
    "QUESTIONS",
    "RELATIONS",
    "RESPONSES",
    "SAMPLE",
    "SIGHTINGS",
    "SUBGRAPHS",
    "SUBJECTS",
    "TABLES",
    "VERDICTS",
    "Fate",
    "documented_schema",
    "table",
]

TABLES: dict[str, pa.Schema] = {
    "entities": ENTITIES,
    "subjects": SUBJECTS,
    "articles": ARTICLES,
    "candidates": CANDIDATES,
    "aliases": ALIASES,
    "completions": COMPLETIONS,
    # of an imported encyclopedia, in place of completions
    "imports": IMPORTS,
    # of an audit
    "sample": SAMPLE,
    "audited": AUDITED,
    "claims": CLAIMS,
    "evidence": EVIDENCE,
    "verdicts": VERDICTS,
    # of a scoring job
    "ppl_questions": PPL_QUESTIONS,
    "ppl_answers": PPL_ANSWERS,
    # of a probe's build
    "documents": DOCUMENTS,
    "knowledge_points": KNOWLEDGE_POINTS,
    "mentions": MENTIONS,
    "sightings": SIGHTINGS,
    "pairs": PAIRS,
    "relations": RELATIONS,
    "subgraphs": SUBGRAPHS,
    "questions": QUESTIONS,
    "checks": CHECKS,
    "benchmark": BENCHMARK,
    # of a probe's run
    "responses": RESPONSES,
    "grades": GRADES,
}


def table(name: str, rows: Iterable[dict[str, Any]]) -> pa.Table:
    """Rows as the table ``name``; a missing or unknown column is a ``KeyError``/``ValueError``,
    never a silent null.
    """
    schema = TABLES[name]
    rows = list(rows)
    unknown = {k for row in rows for k in row} - set(schema.names)
    if unknown:
        raise ValueError(f"table {name}: unknown columns {sorted(unknown)}")
    return pa.table({f.name: pa.array([row[f.name] for row in rows], f.type) for f in schema}, schema=schema)
