"""Tables of a probe: its build, the responses of a model, their grades."""

import pyarrow as pa

from llmpedia.tables.schema import ID, INT, STRING, documented_schema

DOCUMENTS = documented_schema(
    {
        "number": (ID, "place in the corpus, from 0"),
        "document_id": (STRING, "sha256 of url and text; null: no text could be read"),
        "url": (STRING, "address, or file and place in it"),
        "source": (STRING, "file that holds it"),
        "text": (STRING, "plain text; null: not kept"),
        "quality": (pa.float32(), "score of the quality classifier; null: none was asked"),
        "fate": (STRING, "one of probe.documents.DocumentFate"),
        "reason": (STRING, "of what could not be read; null: the fate says it all"),
        "duplicate_of": (ID, "number of the document it is a copy of; null: of none"),
    }
)

KNOWLEDGE_POINTS = documented_schema(
    {
        "number": (ID, "of the document"),
        "path": (
            pa.list_(STRING),
            "of the taxonomy, from discipline to subfield; null: no label could be had",
        ),
        "confidence": (pa.float64(), "the model's, 0 to 1"),
        "first_sentence": (INT, "first sentence of the evidence, from 0"),
        "last_sentence": (INT, "last one"),
        "sentences": (INT, "sentences of the document"),
        "error": (STRING, "why there is no label; null: there is one"),
        "completion": (STRING, "completions.key that decided it"),
    }
)

MENTIONS = documented_schema(
    {
        "number": (ID, "of the document"),
        "start": (INT, "character where it begins"),
        "end": (INT, "character after it"),
        "surface": (STRING, "as written"),
        "key": (STRING, "canonical key"),
        "kind": (STRING, "entity or event"),
        "label": (STRING, "the backend's own"),
    }
)

SIGHTINGS = documented_schema(
    {
        "number": (ID, "of the document"),
        "sentence": (INT, "from 0"),
        "subject": (STRING, "canonical key of the mention"),
        "surface": (STRING, "as written"),
        "slot": (STRING, "attribute the sentence speaks of"),
    }
)

PAIRS = documented_schema(
    {
        "pair_id": (ID, "running number, from 0"),
        "a": (ID, "number of a document; less than b"),
        "b": (ID, ""),
        "route": (
            STRING,
            "point: same knowledge point, subject and attribute; mention: a rare mention across points",
        ),
        "subject": (STRING, "canonical key both name"),
        "slot": (STRING, "attribute both speak of; null: not known"),
        "score": (pa.float32(), "by which pairs were preferred; more is better"),
    }
)

RELATIONS = documented_schema(
    {
        "pair_id": (ID, ""),
        "relation": (STRING, "support, conflict or none, derived from the four decisions; null: see error"),
        "same_subject": (pa.bool_(), "decisions of the model; null: see error"),
        "same_attribute": (pa.bool_(), ""),
        "same_context": (pa.bool_(), "same sense, place, time and way of counting"),
        "compatible": (pa.bool_(), "the values can both hold"),
        "model_relation": (STRING, "the label that the model itself gave; never used"),
        "subject": (STRING, "what the fact is about, in the model's words"),
        "attribute": (STRING, "which attribute of it"),
        "value_a": (STRING, "what document a gives; null: nothing"),
        "value_b": (STRING, ""),
        "span_a": (STRING, "its verbatim words in a; null: none"),
        "span_b": (STRING, ""),
        "error": (STRING, "why there is no relation; null: there is one"),
        "completion": (STRING, "completions.key that decided it"),
    }
)

_SIDE = pa.struct({"value": STRING, "documents": pa.list_(ID)})

SUBGRAPHS = documented_schema(
    {
        "subgraph_id": (ID, "running number in order of preference, from 0"),
        "seed_pair": (ID, "the conflict it grew from"),
        "subject": (STRING, "canonical key"),
        "slot": (STRING, "slot of the pairs, or the attribute as a key where they have none"),
        "sides": (
            pa.list_(_SIDE),
            "accounts with the documents that support them; the seed's two first; none of a duplicate",
        ),
        "n_maj": (INT, "documents of the best supported account (paper, section 5.1); null: a duplicate"),
        "n_min": (INT, "documents of the least supported one; null: a duplicate"),
        "fate": (STRING, "kept; duplicate: another one has the same fact and accounts; low_support; cap"),
    }
)

_ANSWER = pa.struct({"value": STRING, "documents": pa.list_(ID), "spans": pa.list_(STRING)})

QUESTIONS = documented_schema(
    {
        "subgraph_id": (ID, ""),
        "group_id": (STRING, "UUID of the fact and its accounts; null: rejected or failed"),
        "fate": (STRING, "kept, rejected, error"),
        "reason": (STRING, "why it was rejected or failed; null: kept"),
        "named_entity": (STRING, "the question that names its subject"),
        "clue_based": (STRING, "the question that describes it"),
        "preferred_answer": (STRING, ""),
        "answers": (pa.list_(_ANSWER), "accounts, each with its documents and verbatim spans of them"),
        "path": (pa.list_(STRING), "knowledge point of the seed's first document"),
        "completion": (STRING, "completions.key that decided it"),
    }
)

_PROOF = pa.struct({"account": INT, "supported": pa.bool_(), "url": STRING, "quote": STRING})

CHECKS = documented_schema(
    {
        "group_id": (STRING, ""),
        "check": (
            STRING,
            "read: the documents in full; web: sources independent of them; review: by a human",
        ),
        "fate": (STRING, "kept, rejected, error"),
        "reason": (STRING, "why it was rejected or failed; null: kept"),
        "proofs": (
            pa.list_(_PROOF),
            "for each account whether it is supported, where, by which verbatim words",
        ),
        "searches": (INT, "that the web agent made; null: no agent"),
        "fetches": (INT, "pages it asked for"),
        "by": (STRING, "review: who decided, or the sheet; else null"),
        "completion": (STRING, "completions.key that decided it; null: none did"),
    }
)

BENCHMARK = documented_schema(
    {
        "benchmark_id": (STRING, "UUID of the question"),
        "group_id": (STRING, "UUID of the fact and its accounts (item_group_id)"),
        "formulation": (STRING, "named_entity, clue_based; null: not told"),
        "question": (STRING, ""),
        "answers": (pa.list_(STRING), "verified accounts"),
        "preferred_answer": (STRING, ""),
        "path": (pa.list_(STRING), "knowledge point; null: not told"),
        "n_maj": (INT, "documents of the best supported account; null: not told"),
        "n_min": (INT, "documents of the least supported one; null: not told"),
    }
)

RESPONSES = documented_schema(
    {
        "benchmark_id": (STRING, "of the question; the last row of a question counts"),
        "attempt": (INT, "from 1; the next start asks again what failed"),
        "text": (STRING, "the raw response; null: see error"),
        "finish_reason": (STRING, "null: see error"),
        "truncated": (pa.bool_(), "the token budget ended before the response did"),
        "error": (STRING, "why there is none; null: there is one"),
        "completion": (STRING, "completions.key"),
    }
)

GRADES = documented_schema(
    {
        "benchmark_id": (STRING, "of the question; the last row of a question counts"),
        "attempt": (INT, "from 1; the next start asks again what failed"),
        "response": (STRING, "completions.key of the response that was graded; null: there is none"),
        "outcome": (STRING, "complete, partial or failed, computed; null: not graded, see error"),
        "covered": (pa.list_(pa.bool_()), "by account; null: not graded"),
        "evidence": (pa.list_(STRING), "the judge's words for it, by account"),
        "contradictions": (pa.list_(pa.struct({"value": STRING, "why": STRING})), ""),
        "error_stage": (
            STRING,
            "closed_book: there was nothing to grade; grade: the judge failed; null: graded",
        ),
        "error": (STRING, "null: graded"),
        "completion": (STRING, "completions.key that decided it; null: no judge was needed"),
    }
)
