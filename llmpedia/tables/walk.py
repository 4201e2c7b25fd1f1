"""Tables of a walk and of an imported encyclopedia; the fates of candidates."""

from enum import StrEnum

import pyarrow as pa

from llmpedia.tables.schema import ID, INT, STRING, documented_schema


class Fate(StrEnum):
    """Where a candidate ended; each ends in exactly one (docs/design/overview.md, section 4)."""

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


ENTITIES = documented_schema(
    {
        "entity_id": (ID, "running number in commit order, from 0; the subject_id once it is walked"),
        "key": (STRING, "canonical key; unique over entities and aliases"),
        "name": (STRING, "first surface form"),
        "hop": (INT, "distance from the seed; the parent's plus 1"),
        "parent_id": (ID, "subject whose article named it; null for a seed"),
        "sentence": (STRING, "sentence of the parent's article that names it; null for a seed"),
        "embedding": (
            pa.list_(pa.float32()),
            "unit vector of the name; null where no index is kept (mode titles)",
        ),
    }
)

SUBJECTS = documented_schema(
    {
        "subject_id": (ID, "entity_id"),
        "position": (INT, "order in the wave"),
        "name": (STRING, ""),
        "hop": (INT, ""),
        "visit": (
            STRING,
            (
                "generate: an article was asked for; expand: its stored article is expanded after a "
                "cap was raised"
            ),
        ),
        "error_stage": (STRING, "stage that failed; null: none"),
        "error": (STRING, "what failed; null: an article was written"),
        "expanded": (pa.bool_(), "its links were processed and none ended at a cap (paper, appendix H.5)"),
        "candidates": (INT, "rows of the candidates table in this wave"),
    }
)

ARTICLES = documented_schema(
    {
        "subject_id": (ID, ""),
        "name": (STRING, ""),
        "hop": (INT, ""),
        "outline": (pa.list_(STRING), "section headings asked for, in order"),
        "fact_sheet": (STRING, "self-grounding answer as JSON; null when off"),
        "wikitext": (STRING, "the article as the model wrote it"),
        "lead": (STRING, "plain text before the first heading"),
        "words": (INT, "words of the plain text"),
        "links": (INT, "wikilinks to article titles, mentions counted (raw links)"),
        "other_links": (
            INT,
            "wikilinks that name no article: files, categories, other wikis, anchors, empty",
        ),
        "sections_missing": (pa.list_(STRING), "headings asked for and not written"),
        "sections_extra": (pa.list_(STRING), "level-2 headings written and not asked for"),
        "outline_completion": (STRING, "completions.key of the outline"),
        "completion": (STRING, "completions.key of the article"),
    }
)

CANDIDATES = documented_schema(
    {
        "candidate_id": (ID, "running number in commit order, from 0"),
        "parent_id": (ID, "subject whose article links it; null for a seed"),
        "position": (INT, "order of first mention in the article"),
        "key": (STRING, "canonical key; unique within the parent's visit"),
        "name": (STRING, "first surface form"),
        "mentions": (INT, "links of the article with this key"),
        "score": (pa.float32(), "highest link score, calibrated prompting; null: none given"),
        "sentence": (STRING, "sentence of the first mention, plain text"),
        "fate": (STRING, "one of tables.Fate"),
        "reason": (STRING, "for stage_error and arbitration_failed: what failed"),
        "entity_id": (
            ID,
            "queued: the new entity; known, wave_duplicate, duplicate: the one it is; else null",
        ),
        "ner_confidence": (pa.float32(), "calibrated prompting; null: none given"),
        "similarity": (pa.float32(), "cosine to the nearest neighbour at or above the threshold; null: none"),
        "ner_completion": (STRING, "completions.key that decided it; null: never asked"),
        "arbitration_completion": (STRING, "completions.key that decided it; null: never asked"),
    }
)

ALIASES = documented_schema(
    {
        "key": (STRING, "canonical key; unique over entities and aliases"),
        "name": (STRING, "surface form"),
        "entity_id": (ID, "the entity it names"),
        "candidate_id": (ID, "the candidate that was found to be a duplicate"),
    }
)

COMPLETIONS = documented_schema(
    {
        "key": (STRING, "sha256 of stage, model, messages, constraint and sampling"),
        "stage": (STRING, ""),
        "subject_id": (
            ID,
            "subject it was asked for (arbitration: the candidate's parent; null for a seed)",
        ),
        "model": (STRING, ""),
        "messages": (STRING, "the rendered prompt: JSON list of {role, content}"),
        "constraint": (STRING, "JSON of the JSON Schema or grammar that bound the answer; null: free text"),
        "sampling": (STRING, "JSON of temperature, max_tokens, seed, reasoning_effort"),
        "text": (STRING, "the raw answer"),
        "finish_reason": (STRING, "stop, length, ...; null: errored"),
        "prompt_tokens": (INT, "null: not told by the engine"),
        "completion_tokens": (INT, "null: not told by the engine"),
        "error": (STRING, "null: an answer came"),
        "cached_tokens": (INT, "prompt tokens that the endpoint had in its cache; null: not told"),
        "fallback": (
            STRING,
            "json_object: the endpoint took no schema, so any JSON object was asked for; null: as bound",
        ),
    }
)

IMPORTS = documented_schema(
    {
        "subject_id": (ID, "of the article"),
        "source": (STRING, "file and place in it, or address after redirects"),
        "title": (STRING, "as the source has it"),
        "form": (STRING, "of the text there: text, markdown, wikitext or html"),
        "sha256": (STRING, "of the text as it was read there"),
        "fetched_at": (STRING, "UTC; null: read from a file"),
    }
)
