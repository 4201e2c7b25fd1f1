"""Every table that a run stores, column by column.

A table lies at ``tables/NAME/wave=00007/part.parquet``; ``wave`` is the partition's column and is
not repeated in the file. Row order inside a file is part of the format: it follows (subject order,
link order), never arrival.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import pyarrow as pa


class Fate(StrEnum):
    """Where a candidate ended; each ends in exactly one (DESIGN section 4)."""

    SELF_OR_LOOP = "self_or_loop"
    LOW_LINK_SCORE = "low_link_score"
    KNOWN = "known"
    NER_REJECTED = "ner_rejected"
    NER_LOW_CONFIDENCE = "ner_low_confidence"
    NER_OMITTED = "ner_omitted"
    WAVE_DUPLICATE = "wave_duplicate"
    DUPLICATE = "duplicate"
    ARBITRATION_FAILED = "arbitration_failed"
    DEPTH_CAP = "depth_cap"
    SUBJECT_CAP = "subject_cap"
    QUEUED = "queued"
    STAGE_ERROR = "stage_error"


CAP_FATES = frozenset({Fate.DEPTH_CAP, Fate.SUBJECT_CAP})


def documented_schema(columns: dict[str, tuple[pa.DataType, str]]) -> pa.Schema:
    """Column -> (type, what it holds) as a schema whose fields carry the words as ``doc``."""
    return pa.schema([pa.field(name, kind, metadata={"doc": doc}) for name, (kind, doc) in columns.items()])


_STRING = pa.string()
_INT = pa.int32()
_ID = pa.int64()

ENTITIES = documented_schema(
    {
        "entity_id": (_ID, "running number in commit order, from 0; the subject_id once it is walked"),
        "key": (_STRING, "canonical key; unique over entities and aliases"),
        "name": (_STRING, "first surface form"),
        "hop": (_INT, "distance from the seed; the parent's plus 1"),
        "parent_id": (_ID, "subject whose article named it; null for a seed"),
        "sentence": (_STRING, "sentence of the parent's article that names it; null for a seed"),
        "embedding": (
            pa.list_(pa.float32()),
            "unit vector of the name; null where no index is kept (mode titles)",
        ),
    }
)

SUBJECTS = documented_schema(
    {
        "subject_id": (_ID, "entity_id"),
        "position": (_INT, "order in the wave"),
        "name": (_STRING, ""),
        "hop": (_INT, ""),
        "visit": (
            _STRING,
            (
                "generate: an article was asked for; expand: its stored article is expanded after a "
                "cap was raised"
            ),
        ),
        "error_stage": (_STRING, "stage that failed; null: none"),
        "error": (_STRING, "what failed; null: an article was written"),
        "expanded": (pa.bool_(), "its links were processed and none ended at a cap (paper, appendix H.5)"),
        "candidates": (_INT, "rows of the candidates table in this wave"),
    }
)

ARTICLES = documented_schema(
    {
        "subject_id": (_ID, ""),
        "name": (_STRING, ""),
        "hop": (_INT, ""),
        "outline": (pa.list_(_STRING), "section headings asked for, in order"),
        "fact_sheet": (_STRING, "self-grounding answer as JSON; null when off"),
        "wikitext": (_STRING, "the article as the model wrote it"),
        "lead": (_STRING, "plain text before the first heading"),
        "words": (_INT, "words of the plain text"),
        "links": (_INT, "wikilinks to article titles, mentions counted (raw links)"),
        "other_links": (
            _INT,
            "wikilinks that name no article: files, categories, other wikis, anchors, empty",
        ),
        "sections_missing": (pa.list_(_STRING), "headings asked for and not written"),
        "sections_extra": (pa.list_(_STRING), "level-2 headings written and not asked for"),
        "outline_completion": (_STRING, "completions.key of the outline"),
        "completion": (_STRING, "completions.key of the article"),
    }
)

CANDIDATES = documented_schema(
    {
        "candidate_id": (_ID, "running number in commit order, from 0"),
        "parent_id": (_ID, "subject whose article links it; null for a seed"),
        "position": (_INT, "order of first mention in the article"),
        "key": (_STRING, "canonical key; unique within the parent's visit"),
        "name": (_STRING, "first surface form"),
        "mentions": (_INT, "links of the article with this key"),
        "score": (pa.float32(), "highest link score, calibrated prompting; null: none given"),
        "sentence": (_STRING, "sentence of the first mention, plain text"),
        "fate": (_STRING, "one of tables.Fate"),
        "reason": (_STRING, "for stage_error and arbitration_failed: what failed"),
        "entity_id": (
            _ID,
            "queued: the new entity; known, wave_duplicate, duplicate: the one it is; else null",
        ),
        "ner_confidence": (pa.float32(), "calibrated prompting; null: none given"),
        "similarity": (pa.float32(), "cosine to the nearest neighbour at or above the threshold; null: none"),
        "ner_completion": (_STRING, "completions.key that decided it; null: never asked"),
        "arbitration_completion": (_STRING, "completions.key that decided it; null: never asked"),
    }
)

ALIASES = documented_schema(
    {
        "key": (_STRING, "canonical key; unique over entities and aliases"),
        "name": (_STRING, "surface form"),
        "entity_id": (_ID, "the entity it names"),
        "candidate_id": (_ID, "the candidate that was found to be a duplicate"),
    }
)

COMPLETIONS = documented_schema(
    {
        "key": (_STRING, "sha256 of stage, model, messages, constraint and sampling"),
        "stage": (_STRING, ""),
        "subject_id": (
            _ID,
            "subject it was asked for (arbitration: the candidate's parent; null for a seed)",
        ),
        "model": (_STRING, ""),
        "messages": (_STRING, "the rendered prompt: JSON list of {role, content}"),
        "constraint": (_STRING, "JSON of the JSON Schema or grammar that bound the answer; null: free text"),
        "sampling": (_STRING, "JSON of temperature, max_tokens, seed, reasoning_effort"),
        "text": (_STRING, "the raw answer"),
        "finish_reason": (_STRING, "stop, length, ...; null: errored"),
        "prompt_tokens": (_INT, "null: not told by the engine"),
        "completion_tokens": (_INT, "null: not told by the engine"),
        "error": (_STRING, "null: an answer came"),
        "cached_tokens": (_INT, "prompt tokens that the endpoint had in its cache; null: not told"),
        "fallback": (
            _STRING,
            "json_object: the endpoint took no schema, so any JSON object was asked for; null: as bound",
        ),
    }
)

IMPORTS = documented_schema(
    {
        "subject_id": (_ID, "of the article"),
        "source": (_STRING, "file and place in it, or address after redirects"),
        "title": (_STRING, "as the source has it"),
        "form": (_STRING, "of the text there: text, markdown, wikitext or html"),
        "sha256": (_STRING, "of the text as it was read there"),
        "fetched_at": (_STRING, "UTC; null: read from a file"),
    }
)

SAMPLE = documented_schema(
    {
        "position": (_INT, "order in the audit, from 0; articles of one commit of the run stand together"),
        "subject_id": (_ID, "of the run's article"),
        "name": (_STRING, ""),
        "hop": (_INT, ""),
        "strata": (pa.list_(_STRING), "samples it was drawn for: random, hop, frontier, titles"),
        "run_wave": (_INT, "commit of the run that holds its article"),
    }
)

AUDITED = documented_schema(
    {
        "position": (_INT, "as in sample"),
        "subject_id": (_ID, ""),
        "name": (_STRING, ""),
        "hop": (_INT, ""),
        "strata": (pa.list_(_STRING), "as in sample"),
        "words": (_INT, "words of the article's plain text"),
        "claims": (_INT, "claims extracted; null: extraction failed"),
        "claims_error": (_STRING, "why extraction failed; null: it did not"),
        "claims_completion": (_STRING, "completions.key of the extraction"),
    }
)

CLAIMS = documented_schema(
    {
        "claim_id": (_ID, "running number in commit order, from 0"),
        "subject_id": (_ID, ""),
        "position": (_INT, "order in the extraction, from 0"),
        "text": (_STRING, "one atomic, self-contained claim"),
    }
)

_SOURCE = pa.struct(
    {
        "url": _STRING,
        "title": _STRING,
        "revision": _STRING,
        "fetched_at": _STRING,
        "score": _INT,
        "how": _STRING,
        "text": _STRING,
    }
)

EVIDENCE = documented_schema(
    {
        "subject_id": (_ID, ""),
        "tier": (_STRING, "wikipedia or web"),
        "outcome": (_STRING, "one of audit.evidence.Outcome"),
        "detail": (_STRING, "why, in words; null: the outcome says it all"),
        "provider": (_STRING, "kind and address or file it came from"),
        "sources": (pa.list_(_SOURCE), "texts with address, revision, time (UTC), score (0 to 100) and kind"),
        "attempts": (
            pa.list_(pa.struct({"url": _STRING, "result": _STRING})),
            "addresses tried or passed over",
        ),
    }
)

VERDICTS = documented_schema(
    {
        "claim_id": (_ID, ""),
        "subject_id": (_ID, ""),
        "tier": (_STRING, ""),
        "verdict": (_STRING, "supported, refuted, insufficient; not_adjudicated: no verdict could be had"),
        "error_type": (_STRING, "of a refuted claim, one of audit.stages.ErrorType; null: none named"),
        "confidence": (pa.float32(), "the judge's, 0 to 1; null: none given"),
        "explanation": (_STRING, "the judge's; null: not adjudicated"),
        "coerced": (pa.bool_(), "it said refuted and explained it by silence, so it counts as insufficient"),
        "reason": (_STRING, "why it was not adjudicated; null: it was"),
        "completion": (_STRING, "completions.key that decided it"),
    }
)

PPL_QUESTIONS = documented_schema(
    {
        "item": (_ID, "running number of the item in its source, from 0"),
        "item_id": (_STRING, "the source's own; null: it has none"),
        "question": (_STRING, "null: it could not be read"),
        "answers": (_INT, "rows of ppl_answers"),
        "ppl": (pa.float64(), "exp of the mean of its answers' nll; null: see error"),
        "best_ppl": (pa.float64(), "of the answer the model finds likeliest"),
        "worst_ppl": (pa.float64(), "of the one it finds least likely"),
        "error": (_STRING, "why it has no numbers; null: it has"),
    }
)

PPL_ANSWERS = documented_schema(
    {
        "item": (_ID, "as in ppl_questions"),
        "position": (_INT, "order of the answer, from 0"),
        "answer": (_STRING, ""),
        "context_tokens": (_INT, "tokens before the answer"),
        "tokens": (_INT, "tokens of the answer"),
        "bytes": (_INT, "of the answer in UTF-8"),
        "total_nll": (pa.float64(), "negative log-probability of the answer, nats"),
        "nll": (pa.float64(), "total_nll / tokens"),
        "ppl": (pa.float64(), "exp(nll)"),
        "bits_per_byte": (pa.float64(), "total_nll / ln 2 / bytes"),
        "boundary_merge": (
            pa.bool_(),
            "tokenized alone, since the tokenizer would join it with the end of the prompt",
        ),
        "logprobs": (pa.list_(pa.float64()), "of each token, nats; null unless scorer.per_token"),
        "key": (_STRING, "sha256 of model, precision, backend, context and answer"),
        "error": (_STRING, "kind and reason; null: scored"),
    }
)

DOCUMENTS = documented_schema(
    {
        "number": (_ID, "place in the corpus, from 0"),
        "document_id": (_STRING, "sha256 of url and text; null: no text could be read"),
        "url": (_STRING, "address, or file and place in it"),
        "source": (_STRING, "file that holds it"),
        "text": (_STRING, "plain text; null: not kept"),
        "quality": (pa.float32(), "score of the quality classifier; null: none was asked"),
        "fate": (_STRING, "one of probe.documents.DocumentFate"),
        "reason": (_STRING, "of what could not be read; null: the fate says it all"),
        "duplicate_of": (_ID, "number of the document it is a copy of; null: of none"),
    }
)

KNOWLEDGE_POINTS = documented_schema(
    {
        "number": (_ID, "of the document"),
        "path": (
            pa.list_(_STRING),
            "of the taxonomy, from discipline to subfield; null: no label could be had",
        ),
        "confidence": (pa.float64(), "the model's, 0 to 1"),
        "first_sentence": (_INT, "first sentence of the evidence, from 0"),
        "last_sentence": (_INT, "last one"),
        "sentences": (_INT, "sentences of the document"),
        "error": (_STRING, "why there is no label; null: there is one"),
        "completion": (_STRING, "completions.key that decided it"),
    }
)

MENTIONS = documented_schema(
    {
        "number": (_ID, "of the document"),
        "start": (_INT, "character where it begins"),
        "end": (_INT, "character after it"),
        "surface": (_STRING, "as written"),
        "key": (_STRING, "canonical key"),
        "kind": (_STRING, "entity or event"),
        "label": (_STRING, "the backend's own"),
    }
)

SIGHTINGS = documented_schema(
    {
        "number": (_ID, "of the document"),
        "sentence": (_INT, "from 0"),
        "subject": (_STRING, "canonical key of the mention"),
        "surface": (_STRING, "as written"),
        "slot": (_STRING, "attribute the sentence speaks of"),
    }
)

PAIRS = documented_schema(
    {
        "pair_id": (_ID, "running number, from 0"),
        "a": (_ID, "number of a document; less than b"),
        "b": (_ID, ""),
        "route": (
            _STRING,
            "point: same knowledge point, subject and attribute; mention: a rare mention across points",
        ),
        "subject": (_STRING, "canonical key both name"),
        "slot": (_STRING, "attribute both speak of; null: not known"),
        "score": (pa.float32(), "by which pairs were preferred; more is better"),
    }
)

RELATIONS = documented_schema(
    {
        "pair_id": (_ID, ""),
        "relation": (_STRING, "support, conflict or none, derived from the four decisions; null: see error"),
        "same_subject": (pa.bool_(), "decisions of the model; null: see error"),
        "same_attribute": (pa.bool_(), ""),
        "same_context": (pa.bool_(), "same sense, place, time and way of counting"),
        "compatible": (pa.bool_(), "the values can both hold"),
        "model_relation": (_STRING, "the label that the model itself gave; never used"),
        "subject": (_STRING, "what the fact is about, in the model's words"),
        "attribute": (_STRING, "which attribute of it"),
        "value_a": (_STRING, "what document a gives; null: nothing"),
        "value_b": (_STRING, ""),
        "span_a": (_STRING, "its verbatim words in a; null: none"),
        "span_b": (_STRING, ""),
        "error": (_STRING, "why there is no relation; null: there is one"),
        "completion": (_STRING, "completions.key that decided it"),
    }
)

_SIDE = pa.struct({"value": _STRING, "documents": pa.list_(_ID)})

SUBGRAPHS = documented_schema(
    {
        "subgraph_id": (_ID, "running number in order of preference, from 0"),
        "seed_pair": (_ID, "the conflict it grew from"),
        "subject": (_STRING, "canonical key"),
        "slot": (_STRING, "slot of the pairs, or the attribute as a key where they have none"),
        "sides": (
            pa.list_(_SIDE),
            "accounts with the documents that support them; the seed's two first; none of a duplicate",
        ),
        "n_maj": (_INT, "documents of the best supported account (paper, section 5.1); null: a duplicate"),
        "n_min": (_INT, "documents of the least supported one; null: a duplicate"),
        "fate": (_STRING, "kept; duplicate: another one has the same fact and accounts; low_support; cap"),
    }
)

_ANSWER = pa.struct({"value": _STRING, "documents": pa.list_(_ID), "spans": pa.list_(_STRING)})

QUESTIONS = documented_schema(
    {
        "subgraph_id": (_ID, ""),
        "group_id": (_STRING, "UUID of the fact and its accounts; null: rejected or failed"),
        "fate": (_STRING, "kept, rejected, error"),
        "reason": (_STRING, "why it was rejected or failed; null: kept"),
        "named_entity": (_STRING, "the question that names its subject"),
        "clue_based": (_STRING, "the question that describes it"),
        "preferred_answer": (_STRING, ""),
        "answers": (pa.list_(_ANSWER), "accounts, each with its documents and verbatim spans of them"),
        "path": (pa.list_(_STRING), "knowledge point of the seed's first document"),
        "completion": (_STRING, "completions.key that decided it"),
    }
)

_PROOF = pa.struct({"account": _INT, "supported": pa.bool_(), "url": _STRING, "quote": _STRING})

CHECKS = documented_schema(
    {
        "group_id": (_STRING, ""),
        "check": (
            _STRING,
            "read: the documents in full; web: sources independent of them; review: by a human",
        ),
        "fate": (_STRING, "kept, rejected, error"),
        "reason": (_STRING, "why it was rejected or failed; null: kept"),
        "proofs": (
            pa.list_(_PROOF),
            "for each account whether it is supported, where, by which verbatim words",
        ),
        "searches": (_INT, "that the web agent made; null: no agent"),
        "fetches": (_INT, "pages it asked for"),
        "by": (_STRING, "review: who decided, or the sheet; else null"),
        "completion": (_STRING, "completions.key that decided it; null: none did"),
    }
)

BENCHMARK = documented_schema(
    {
        "benchmark_id": (_STRING, "UUID of the question"),
        "group_id": (_STRING, "UUID of the fact and its accounts (item_group_id)"),
        "formulation": (_STRING, "named_entity, clue_based; null: not told"),
        "question": (_STRING, ""),
        "answers": (pa.list_(_STRING), "verified accounts"),
        "preferred_answer": (_STRING, ""),
        "path": (pa.list_(_STRING), "knowledge point; null: not told"),
        "n_maj": (_INT, "documents of the best supported account; null: not told"),
        "n_min": (_INT, "documents of the least supported one; null: not told"),
    }
)

RESPONSES = documented_schema(
    {
        "benchmark_id": (_STRING, "of the question; the last row of a question counts"),
        "attempt": (_INT, "from 1; the next start asks again what failed"),
        "text": (_STRING, "the raw response; null: see error"),
        "finish_reason": (_STRING, "null: see error"),
        "truncated": (pa.bool_(), "the token budget ended before the response did"),
        "error": (_STRING, "why there is none; null: there is one"),
        "completion": (_STRING, "completions.key"),
    }
)

GRADES = documented_schema(
    {
        "benchmark_id": (_STRING, "of the question; the last row of a question counts"),
        "attempt": (_INT, "from 1; the next start asks again what failed"),
        "response": (_STRING, "completions.key of the response that was graded; null: there is none"),
        "outcome": (_STRING, "complete, partial or failed, computed; null: not graded, see error"),
        "covered": (pa.list_(pa.bool_()), "by account; null: not graded"),
        "evidence": (pa.list_(_STRING), "the judge's words for it, by account"),
        "contradictions": (pa.list_(pa.struct({"value": _STRING, "why": _STRING})), ""),
        "error_stage": (
            _STRING,
            "closed_book: there was nothing to grade; grade: the judge failed; null: graded",
        ),
        "error": (_STRING, "null: graded"),
        "completion": (_STRING, "completions.key that decided it; null: no judge was needed"),
    }
)

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
