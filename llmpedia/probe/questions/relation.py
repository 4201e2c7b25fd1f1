"""What two documents say of one fact: support, conflict or none (ElephantBench paper, section 3.2
and figure 11).

The relation is derived from four decisions; the label that the model itself gives is kept beside it
and never used.
"""

from dataclasses import dataclass
from typing import Any, Literal

from llmpedia.entities.keys import canonical_key
from llmpedia.probe.documents import held
from llmpedia.probe.questions.answer_leakage import without_figures
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

Label = Literal["support", "conflict", "none"]
LABELS: tuple[Label, ...] = ("support", "conflict", "none")
_OPEN = "(open)"
_TEXTS = ("subject", "attribute", "value_a", "span_a", "value_b", "span_b")
_DECISIONS = ("same_subject", "same_attribute", "same_context", "values_compatible")


@dataclass(frozen=True)
class Compared:
    """Two documents that both name a subject. ``slot``: the attribute in words; null: none is
    known.
    """

    subject: str
    slot: str | None
    text_a: str
    text_b: str


@dataclass(frozen=True)
class Relation:
    """The four decisions, and the values with their verbatim words; empty where a document gives
    none.

    ``model_relation``: the model's own label; null: none that was offered.
    """

    same_subject: bool
    same_attribute: bool
    same_context: bool
    compatible: bool
    subject: str
    attribute: str
    value_a: str
    span_a: str
    value_b: str
    span_b: str
    model_relation: Label | None

    @property
    def relation(self) -> Label:
        """What the decisions come to."""
        if not (self.same_subject and self.same_attribute and self.same_context):
            return "none"
        return "support" if self.compatible else "conflict"


class Compare(Stage[Compared, Relation]):
    """Four decisions on two documents in full."""

    name = "relation"
    config: BuildConfig

    def __init__(self, config: BuildConfig) -> None:
        super().__init__(config, load_prompt("probe/relation"), "")

    def values(self, question: Compared) -> dict[str, str]:
        """See :class:`Stage`."""
        return {
            "subject_name": neutral(one_line(question.subject)),
            "attribute": neutral(one_line(question.slot)) if question.slot is not None else _OPEN,
            "document_a": neutral(question.text_a),
            "document_b": neutral(question.text_b),
        }

    def constraint(self, question: Compared) -> Constraint:
        """See :class:`Stage`."""
        texts = {
            key: {"type": "string", "maxLength": 400 if key.startswith("span") else 200} for key in _TEXTS
        }
        decisions = {key: {"type": "boolean"} for key in _DECISIONS}
        return Constraint(
            json_schema=object_schema({**texts, **decisions, "relation": {"enum": list(LABELS)}})
        )

    def parse(self, question: Compared, text: str) -> Relation:
        """The decisions, where each is a true boolean and what they rest on stands in the
        documents.
        """
        answer = parse_only_object(text)
        if len(answer.pairs) > len(answer):
            raise AnswerError("the answer says a thing twice; give each key once")
        texts = {key: _text(answer, key) for key in _TEXTS}
        same_subject, same_attribute, same_context, compatible = (
            _decision(answer, key) for key in _DECISIONS
        )
        label = answer.get("relation")
        relation = Relation(
            same_subject,
            same_attribute,
            same_context,
            compatible,
            **texts,
            model_relation=label if label in LABELS else None,
        )
        _check_span("a", relation.value_a, relation.span_a, question.text_a)
        _check_span("b", relation.value_b, relation.span_b, question.text_b)
        if relation.relation != "none":
            _check_fact(relation)
        return relation


def _text(answer: dict[str, Any], key: str) -> str:
    text = answer.get(key)
    if not isinstance(text, str):
        raise AnswerError(f'{key} = {text!r} is no text; give "" where there is none')
    return one_line(text)


def _decision(answer: dict[str, Any], key: str) -> bool:
    decision = answer.get(key)
    if not isinstance(decision, bool):
        raise AnswerError(f"{key} = {decision!r} is no decision; give true or false")
    return decision


def _check_span(side: str, value: str, span: str, text: str) -> None:
    if bool(value) != bool(span):
        raise AnswerError(f"value_{side} and span_{side} go together; give both, or leave both empty")
    if span and not held(span, text):
        raise AnswerError(
            f"span_{side} {span!r} does not stand in document {side}; copy its words exactly, in one piece"
        )
    if without_figures(value, span):
        raise AnswerError(
            f"span_{side} {span!r} does not tell value_{side} {value!r}; copy the words that do"
        )


def _check_fact(relation: Relation) -> None:
    """Raise unless a fact is named, both documents give a value for it, and a conflict is one."""
    if not relation.value_a or not relation.value_b:
        raise AnswerError(
            "a document without a value can neither support nor conflict; same_attribute is then false"
        )
    if not relation.subject or not relation.attribute:
        raise AnswerError("subject and attribute must name the fact that both documents give a value for")
    if not relation.compatible and canonical_key(relation.value_a) == canonical_key(relation.value_b):
        raise AnswerError(
            f"value_a and value_b are both {relation.value_a!r}; values_compatible is then true"
        )
