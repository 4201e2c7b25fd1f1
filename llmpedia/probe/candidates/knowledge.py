"""The knowledge point of a document: one path of the taxonomy, how sure, and the sentences that say
so (paper, section 4.1).

The list of all paths stands in the system turn, the same for every document, so that an engine with
a prefix cache reads it once. A label of low confidence is an answer like any other; who makes pairs
leaves it out.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from llmpedia.probe.candidates.taxonomy import load_taxonomy
from llmpedia.probe.documents import KnowledgePoint, sentences
from llmpedia.probe.settings.build import BuildConfig
from llmpedia.prompts import load_prompt
from llmpedia.stages import (
    AnswerError,
    Constraint,
    Stage,
    neutral,
    object_schema,
    one_line,
    parse_only_object,
)

_FEW = 4  # of fewer sentences than this, two may be evidence whatever the share


@dataclass(frozen=True)
class Labelled:
    """A document to be labelled."""

    text: str

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """Its sentences in order, each in one line."""
        return tuple(one_line(self.text[start:end]) for start, end in sentences(self.text))


class LabelKnowledge(Stage[Labelled, KnowledgePoint]):
    """Exactly one path, out of those that there are."""

    name = "knowledge_point"
    config: BuildConfig

    def __init__(self, config: BuildConfig) -> None:
        super().__init__(config, load_prompt("probe/knowledge_point"), "")
        self.taxonomy = load_taxonomy(config.knowledge.taxonomy)

    def question(self, text: str) -> Labelled:
        """What is asked of a document."""
        return Labelled(text)

    def most(self, count: int) -> int:
        """Sentences of a document of ``count`` that its evidence may take."""
        if count < _FEW:
            return min(count, 2)
        return max(1, math.floor(count * self.config.knowledge.most_share + 1e-9))

    def values(self, question: Labelled) -> dict[str, str]:
        """See :class:`Stage`."""
        return {
            "taxonomy_block": self.taxonomy.block,
            "most_share": f"{self.config.knowledge.most_share:.0%}",
            "count": str(len(question.sentences)),
            "document_block": "\n".join(f"[{n}] {neutral(s)}" for n, s in enumerate(question.sentences)),
        }

    def constraint(self, question: Labelled) -> Constraint:
        """See :class:`Stage`."""
        place = {"type": "integer", "minimum": 0, "maximum": max(0, len(question.sentences) - 1)}
        point = {
            "path": {"type": "string", "enum": list(self.taxonomy.texts)},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "first": place,
            "last": place,
        }
        return Constraint(json_schema=object_schema(point))

    def parse(self, question: Labelled, text: str) -> KnowledgePoint:
        """The label, where all of it can be used."""
        answer = parse_only_object(text)
        count = len(question.sentences)
        if len(answer.pairs) > len(answer):
            raise AnswerError(
                'the answer says a thing twice; {"path": ..., "confidence": ..., "first": ..., '
                '"last": ...} is asked for'
            )
        path = answer.get("path")
        confidence = answer.get("confidence")
        first = _place(answer, "first", count)
        last = _place(answer, "last", count)
        known = self.taxonomy.by_text.get(path) if isinstance(path, str) else None
        if known is None:
            raise AnswerError(
                f'path {path!r} is not in the list; give one of it in full, as "Discipline > Field '
                f'> Subfield"'
            )
        if (
            not isinstance(confidence, int | float)
            or isinstance(confidence, bool)
            or not 0.0 <= confidence <= 1.0
        ):
            raise AnswerError(f"confidence {confidence!r} is no number from 0.0 to 1.0")
        if first > last:
            raise AnswerError(f"first = {first} comes after last = {last}")
        if last - first + 1 > self.most(count):
            raise AnswerError(
                f"{last - first + 1} sentences of {count} are too many; give at most {self.most(count)}"
            )
        return KnowledgePoint(known, float(confidence), first, last)


def _place(answer: dict[str, Any], key: str, count: int) -> int:
    """The number of a sentence that there is."""
    place = answer.get(key)
    if not isinstance(place, int) or isinstance(place, bool) or not 0 <= place < count:
        raise AnswerError(
            f"{key} = {place!r} is no sentence of the document; they are numbered 0 to {count - 1}"
        )
    return place
