"""The two LLM steps of an audit: claims out of an article, verdicts on claims (paper, section 4.2
and appendix D).

Text under judgement is data: it stands between tags that cannot occur in it, and a verdict that was
not offered is no verdict.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from llmpedia.audit.settings import JudgingConfig
from llmpedia.entities.keys import canonical_key
from llmpedia.prompts import load_prompt
from llmpedia.stages import AnswerError, Constraint, Stage, neutral, object_schema, one_line, parse_object

Label = Literal["supported", "refuted", "insufficient"]
LABELS: tuple[Label, ...] = ("supported", "refuted", "insufficient")
NOT_ADJUDICATED = "not_adjudicated"


class ErrorType(StrEnum):
    """What is wrong with a refuted claim (paper, appendix D.2)."""

    TEMPORAL = "temporal"
    NUMERICAL = "numerical"
    SPATIAL_GEOGRAPHIC = "spatial_geographic"
    PERSON_ATTRIBUTION = "person_attribution"
    ENTITY_RELATION = "entity_relation"
    CAUSAL_MOTIVATIONAL = "causal_motivational"
    CATEGORICAL_TAXONOMIC = "categorical_taxonomic"
    DEFINITIONAL_PROPERTY = "definitional_property"
    FABRICATED_ENTITY = "fabricated_entity"
    PARTIAL_TRUTH_OVERGENERALIZATION = "partial_truth_overgeneralization"
    TERMINOLOGICAL_NAMING = "terminological_naming"
    OTHER = "other"


# "Refuted" because the evidence is silent is no refutation (paper, appendix D.2, parser safety
# net).
_SILENCE = re.compile(
    r"\b(do(es)? not|doesn't|don't|did not|didn't|never) (explicitly |directly |specifically )?"
    r"(mention|state|specify|address|say|indicate|discuss|provide|contain|include|refer|describe|confirm)|"
    r"\bnot (explicitly |directly |specifically "
    r")?(mentioned|stated|specified|addressed|indicated|discussed|provided|found)\b|"
    r"\bno (mention|indication|information|evidence|reference|record)\b|\bsilent (on|about)\b|\babsence of\b",
    re.I,
)


@dataclass(frozen=True)
class WrittenArticle:
    """An article to take apart: subject and plain text."""

    subject: str
    text: str


class ExtractClaims(Stage[WrittenArticle, tuple[str, ...]]):
    """Up to ``audit.claims`` atomic claims. No claim at all is an answer that cannot be used, never
    "nothing to check".
    """

    name = "claims"
    config: JudgingConfig

    def __init__(self, config: JudgingConfig) -> None:
        super().__init__(config, load_prompt("audit/claims"), "")

    def values(self, question: WrittenArticle) -> dict[str, str]:
        """See :class:`Stage`."""
        most = str(self.config.audit.claims)
        return {
            "subject_name": one_line(question.subject),
            "article_block": neutral(question.text),
            "most_claims": most,
        }

    def constraint(self, question: WrittenArticle) -> Constraint:
        """See :class:`Stage`."""
        claims = {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "minItems": 1,
            "maxItems": self.config.audit.claims,
        }
        return Constraint(json_schema=object_schema({"claims": claims}))

    def parse(self, question: WrittenArticle, text: str) -> tuple[str, ...]:
        """Claims in order, repeated ones once, at most as many as asked for."""
        claims = parse_object(text).get("claims")
        if not isinstance(claims, list) or not all(isinstance(c, str) for c in claims):
            raise AnswerError('the answer is not {"claims": ["...", "..."]}')
        kept: dict[str, str] = {}
        for claim in map(one_line, claims):
            if claim:
                kept.setdefault(canonical_key(claim), claim)
        if not kept:
            raise AnswerError("no claim in the answer")
        return tuple(kept.values())[: self.config.audit.claims]


@dataclass(frozen=True)
class Case:
    """Claims on a subject, and the evidence they are judged by. ``source``: where it comes from, in
    words.
    """

    subject: str
    claims: tuple[str, ...]
    source: str
    evidence: str


@dataclass(frozen=True)
class Verdict:
    """A judge's decision on one claim. ``coerced``: it said refuted, but explained it by the
    evidence's silence.
    """

    label: Label
    error_type: ErrorType | None
    confidence: float | None
    explanation: str
    coerced: bool


class Judge(Stage[Case, dict[int, Verdict]]):
    """Verdicts by number of the claim, from 0. What the answer leaves out or spoils is left out of
    the value, never guessed.
    """

    name = "verdict"
    config: JudgingConfig

    def __init__(self, config: JudgingConfig) -> None:
        super().__init__(config, load_prompt("audit/verdict"), "")

    def values(self, question: Case) -> dict[str, str]:
        """See :class:`Stage`."""
        return {
            "subject_name": one_line(question.subject),
            "claims_block": "\n".join(
                f"{i}. {neutral(one_line(c))}" for i, c in enumerate(question.claims, 1)
            ),
            "evidence_source": neutral(one_line(question.source)),
            "evidence_block": neutral(question.evidence),
            "count": str(len(question.claims)),
        }

    def constraint(self, question: Case) -> Constraint:
        """See :class:`Stage`."""
        n = len(question.claims)
        verdict = object_schema(
            {
                "idx": {"type": "integer", "minimum": 1, "maximum": n},
                "verdict": {"enum": list(LABELS)},
                "error_type": {"enum": [*map(str, ErrorType), None]},
                "confidence": {"type": "number", "minimum": 0, "maximum": 1},
                "explanation": {"type": "string", "maxLength": 300},
            }
        )
        return Constraint(
            json_schema=object_schema(
                {"verdicts": {"type": "array", "items": verdict, "minItems": n, "maxItems": n}}
            )
        )

    def parse(self, question: Case, text: str) -> dict[int, Verdict]:
        """Verdicts that can be read; claims decided both ways are left out."""
        rows = parse_object(text).get("verdicts")
        if not isinstance(rows, list):
            raise AnswerError('the answer is not {"verdicts": [...]}')
        verdicts: dict[int, list[Verdict]] = {}
        for row in (r for r in rows if isinstance(r, dict)):
            number = _number(row, len(question.claims))
            verdict = _verdict(row)
            if number is not None and verdict is not None:
                verdicts.setdefault(number, []).append(verdict)
        agreed = {n: vs[0] for n, vs in verdicts.items() if len({v.label for v in vs}) == 1}
        if not agreed:
            raise AnswerError("no verdict in the answer can be read")
        return agreed


def _number(row: dict[str, Any], claims: int) -> int | None:
    """The claim's number from 0, where the row names one that was asked."""
    idx = row.get("idx")
    if isinstance(idx, str) and idx.isascii() and idx.isdigit():
        idx = int(idx)
    return idx - 1 if isinstance(idx, int) and not isinstance(idx, bool) and 1 <= idx <= claims else None


def _verdict(row: dict[str, Any]) -> Verdict | None:
    """The verdict, where the row holds one of the three that were offered."""
    label = row.get("verdict")
    if label not in LABELS:
        return None
    confidence = row.get("confidence")
    explanation = row.get("explanation")
    sure = (
        isinstance(confidence, int | float) and not isinstance(confidence, bool) and 0.0 <= confidence <= 1.0
    )
    explanation = one_line(explanation) if isinstance(explanation, str) else ""
    coerced = label == "refuted" and bool(_SILENCE.search(explanation))
    kind = row.get("error_type")
    known = kind in set(ErrorType) if isinstance(kind, str) else False
    return Verdict(
        label="insufficient" if coerced else label,
        error_type=ErrorType(str(kind)) if label == "refuted" and not coerced and known else None,
        confidence=float(confidence) if sure else None,  # type: ignore[arg-type]
        explanation=explanation,
        coerced=coerced,
    )
