"""Tables of an audit."""

import pyarrow as pa

from llmpedia.tables.schema import ID, INT, STRING, documented_schema

SAMPLE = documented_schema(
    {
        "position": (INT, "order in the audit, from 0; articles of one commit of the run stand together"),
        "subject_id": (ID, "of the run's article"),
        "name": (STRING, ""),
        "hop": (INT, ""),
        "strata": (pa.list_(STRING), "samples it was drawn for: random, hop, frontier, titles"),
        "run_wave": (INT, "commit of the run that holds its article"),
    }
)

AUDITED = documented_schema(
    {
        "position": (INT, "as in sample"),
        "subject_id": (ID, ""),
        "name": (STRING, ""),
        "hop": (INT, ""),
        "strata": (pa.list_(STRING), "as in sample"),
        "words": (INT, "words of the article's plain text"),
        "claims": (INT, "claims extracted; null: extraction failed"),
        "claims_error": (STRING, "why extraction failed; null: it did not"),
        "claims_completion": (STRING, "completions.key of the extraction"),
    }
)

CLAIMS = documented_schema(
    {
        "claim_id": (ID, "running number in commit order, from 0"),
        "subject_id": (ID, ""),
        "position": (INT, "order in the extraction, from 0"),
        "text": (STRING, "one atomic, self-contained claim"),
    }
)

_SOURCE = pa.struct(
    {
        "url": STRING,
        "title": STRING,
        "revision": STRING,
        "fetched_at": STRING,
        "score": INT,
        "how": STRING,
        "text": STRING,
    }
)

EVIDENCE = documented_schema(
    {
        "subject_id": (ID, ""),
        "tier": (STRING, "wikipedia or web"),
        "outcome": (STRING, "one of audit.evidence.Outcome"),
        "detail": (STRING, "why, in words; null: the outcome says it all"),
        "provider": (STRING, "kind and address or file it came from"),
        "sources": (pa.list_(_SOURCE), "texts with address, revision, time (UTC), score (0 to 100) and kind"),
        "attempts": (
            pa.list_(pa.struct({"url": STRING, "result": STRING})),
            "addresses tried or passed over",
        ),
    }
)

VERDICTS = documented_schema(
    {
        "claim_id": (ID, ""),
        "subject_id": (ID, ""),
        "tier": (STRING, ""),
        "verdict": (STRING, "supported, refuted, insufficient; not_adjudicated: no verdict could be had"),
        "error_type": (STRING, "of a refuted claim, one of audit.stages.ErrorType; null: none named"),
        "confidence": (pa.float32(), "the judge's, 0 to 1; null: none given"),
        "explanation": (STRING, "the judge's; null: not adjudicated"),
        "coerced": (pa.bool_(), "it said refuted and explained it by silence, so it counts as insufficient"),
        "reason": (STRING, "why it was not adjudicated; null: it was"),
        "completion": (STRING, "completions.key that decided it"),
    }
)
