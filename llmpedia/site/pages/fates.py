"""What became of a linked name, in words for readers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from llmpedia.tables import Fate

Kind = Literal["in", "same", "out", "cap"]


@dataclass(frozen=True)
class Meaning:
    """``kind``: in (it became an entity), same (it is one that was there), out (turned down), cap
    (no room left).
    """

    kind: Kind
    word: str
    sentence: str


_MEANINGS = {
    Fate.QUEUED: Meaning("in", "queued", "It was new, and got a place in the queue of articles."),
    Fate.KNOWN: Meaning("same", "known", "It was known already under this name."),
    Fate.WAVE_DUPLICATE: Meaning("same", "same wave", "Another article of the same wave had just named it."),
    Fate.DUPLICATE: Meaning(
        "same", "another name", "The model found it to be another name of a known entity."
    ),
    Fate.SELF_OR_LOOP: Meaning(
        "same", "itself", "It is the article itself, or one on the way from the seed to it."
    ),
    Fate.LOW_LINK_SCORE: Meaning("out", "low score", "The model's own confidence in this link was too low."),
    Fate.NER_REJECTED: Meaning(
        "out", "no entity", "The model judged that this is no subject for an article of its own."
    ),
    Fate.NER_LOW_CONFIDENCE: Meaning(
        "out", "low confidence", "The model was not sure enough that this is a named entity."
    ),
    Fate.NER_OMITTED: Meaning(
        "out", "left out", "The model's answer on which names are entities left this one out."
    ),
    Fate.ARBITRATION_FAILED: Meaning(
        "out", "undecided", "It could not be decided whether it is another name of a known entity."
    ),
    Fate.STAGE_ERROR: Meaning("out", "failed", "The question whether it is an entity failed."),
    Fate.DEPTH_CAP: Meaning("cap", "too deep", "It lies deeper than this run was allowed to go."),
    Fate.SUBJECT_CAP: Meaning("cap", "no room", "The run had as many subjects as it was allowed."),
}


def meaning(fate: str) -> Meaning:
    """What a fate means."""
    return _MEANINGS[Fate(fate)]


def reason(row: Mapping[str, Any]) -> str:
    """Why a candidate ended as it did, with its figures where it has some."""
    sentence = meaning(row["fate"]).sentence
    figures = {
        "score": "link score",
        "ner_confidence": "confidence",
        "similarity": "similarity to the nearest known name",
    }
    known = ", ".join(
        f"{word} {row[column]:.2f}" for column, word in figures.items() if row[column] is not None
    )
    return " ".join(part for part in (sentence, f"({known})" if known else "", row["reason"] or "") if part)
