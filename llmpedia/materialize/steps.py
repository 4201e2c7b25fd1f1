"""The stages of the walk: self-grounding, outline, article, NER and arbitration (paper, sections
3.2, 3.3, appendix L).
"""

import json
import re
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from llmpedia.config.walk import Config, StageName
from llmpedia.entities.keys import canonical_key
from llmpedia.grammar import wikitext_grammar
from llmpedia.prompts import Prompt, load_prompt, persona_text
from llmpedia.stages import A, AnswerError, Constraint, Pairs, Stage, object_schema, parse_object
from llmpedia.wikitext import Article

_REFUSAL = re.compile(
    r"^\W*(i'?m sorry|i am sorry|sorry,|i apologi[sz]e|i can( ?no|')t|i( am|'m) (unable|not "
    r"able)|i won't|as an ai\b|"
    r"unfortunately, i|i do not have|i don't have|i have no information)",
    re.I,
)


# Markup; and what JSON escapes can carry but grammars (NUL) and UTF-8 (half a surrogate pair)
# cannot.
_NOT_IN_HEADINGS = re.compile(r"[=\[\]{}|<>*#\x00-\x1f\x7f\ud800-\udfff]")


class _Answer(BaseModel):
    """Base of the answers' models: extra keys are forbidden in the schema that binds decoding."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Fact(_Answer):
    """One predicate-object pair with the model's confidence in it."""

    predicate: str
    object: str
    confidence: float = Field(ge=0.0, le=1.0)


class FactSheet(_Answer):
    """What the model says it knows before it writes (paper, section 3.2)."""

    summary: str
    aliases: list[str]
    salient_facts: list[Fact]


@dataclass(frozen=True)
class Subject:
    """What a stage needs to know of a subject."""

    name: str
    outline: tuple[str, ...] = ()
    facts: FactSheet | None = None


def _facts_block(facts: FactSheet | None, threshold: float) -> str:
    """The confident part of a fact sheet (paper: confidence >= 0.75), as lines; empty without one."""
    if facts is None:
        return ""
    lines = [f"- {f.predicate}: {f.object}" for f in facts.salient_facts if f.confidence >= threshold]
    names = f"\nAlso known as: {', '.join(facts.aliases)}" if facts.aliases else ""
    return "\n".join([f"What you know of it: {facts.summary}{names}", *lines])


class _SubjectStage(Stage[Subject, A]):
    """A stage whose question is a subject."""

    config: Config

    def values(self, question: Subject) -> dict[str, str]:
        low, high = self.config.article.sections
        return {
            "subject_name": question.name,
            "root_subject": self.config.run.root_topic or "",
            "avg_words_per_article": str(self.config.article.words),
            "min_sections": str(low),
            "max_sections": str(high),
            "outline_block": json.dumps({"sections": question.outline}, ensure_ascii=False),
            "facts_block": _facts_block(question.facts, self.config.entities.min_confidence),
        }


class SelfGrounding(_SubjectStage[FactSheet]):
    """A fact sheet from memory."""

    name: ClassVar[StageName] = "self_grounding"

    def constraint(self, question: Subject) -> Constraint:
        return Constraint(json_schema=FactSheet.model_json_schema())

    def parse(self, question: Subject, text: str) -> FactSheet:
        try:
            return FactSheet.model_validate(parse_object(text))
        except ValidationError as e:
            raise AnswerError(f"not a fact sheet: {e.errors()[0]['msg']} at {e.errors()[0]['loc']}") from e


class Outline(_SubjectStage[tuple[str, ...]]):
    """Section headings made for the subject."""

    name: ClassVar[StageName] = "outline"

    def constraint(self, question: Subject) -> Constraint:
        low, high = self.config.article.sections
        item = {"type": "string", "minLength": 3, "maxLength": 80}
        sections = {"type": "array", "items": item, "minItems": low, "maxItems": high}
        return Constraint(
            json_schema={
                "type": "object",
                "properties": {"sections": sections},
                "required": ["sections"],
                "additionalProperties": False,
            }
        )

    def parse(self, question: Subject, text: str) -> tuple[str, ...]:
        """Headings without markup, repeated ones dropped, at most the largest number asked for."""
        sections = parse_object(text).get("sections")
        if not isinstance(sections, list) or not all(isinstance(s, str) for s in sections):
            raise AnswerError('the answer is not {"sections": ["...", "..."]}')
        kept: dict[str, str] = {}
        for section in sections:
            title = " ".join(_NOT_IN_HEADINGS.sub(" ", section).split())
            if title and canonical_key(title):
                kept.setdefault(canonical_key(title), title)
        low, high = self.config.article.sections
        if len(kept) < low:
            raise AnswerError(f"{len(kept)} different headings, {low} to {high} are asked for")
        return tuple(kept.values())[:high]


class WriteArticle(_SubjectStage[str]):
    """The article, as Wikitext under the outline's exact headings."""

    name: ClassVar[StageName] = "article"

    def constraint(self, question: Subject) -> Constraint:
        if not self.config.article.guided:
            return Constraint()
        article = self.config.article
        return Constraint(
            grammar=wikitext_grammar(
                question.name, list(question.outline), article.guided_links, article.words
            )
        )

    def parse(self, question: Subject, text: str) -> str:
        """The Wikitext; refusals and empty articles are errors. Headings that differ are kept and
        counted, not rejected.
        """
        text = re.sub(r"^```(?:wiki|wikitext|mediawiki)?\s*\n|\n?```\s*$", "", text)
        article = Article(text)
        if _REFUSAL.match(article.lead.replace("\u2019", "'")) and not article.headings:
            raise AnswerError("refusal")
        if not article.words:
            raise AnswerError("empty article")
        return text


@dataclass(frozen=True)
class Phrases:
    """One chunk of candidates of a subject."""

    subject: str
    phrases: tuple[str, ...]


@dataclass(frozen=True)
class Decision:
    """``accepted``: a named entity worth an article. ``confidence``: calibrated prompting; None:
    none given.
    """

    accepted: bool
    confidence: float | None = None


class Ner(Stage[Phrases, dict[str, Decision]]):
    """Which candidates deserve an article. What the answer leaves out is left out of the value,
    never guessed.
    """

    name: ClassVar[StageName] = "ner"
    config: Config

    @property
    def _calibrated(self) -> bool:
        return self.config.run.prompting == "calibrated"

    def values(self, question: Phrases) -> dict[str, str]:
        return {
            "subject_name": question.subject,
            "root_subject": self.config.run.root_topic or "",
            "phrases_block": "\n".join(question.phrases),
            "answer_block": _NER_ANSWERS[self.config.entities.ner_answer, self._calibrated],
        }

    def constraint(self, question: Phrases) -> Constraint:
        phrases = list(question.phrases)
        if self.config.entities.ner_answer == "rows":
            row: dict[str, Any] = {"phrase": {"enum": phrases}, "is_ne": {"type": "boolean"}}
            if self._calibrated:
                row["confidence"] = {"type": "number"}
            rows = {
                "type": "array",
                "items": object_schema(row),
                "minItems": len(phrases),
                "maxItems": len(phrases),
            }
            return Constraint(json_schema=object_schema({"phrases": rows}))
        decision: dict[str, Any] = {"type": "boolean"}
        if self._calibrated:
            decision = object_schema({"is_ne": {"type": "boolean"}, "confidence": {"type": "number"}})
        return Constraint(json_schema=object_schema(dict.fromkeys(phrases, decision)))

    def parse(self, question: Phrases, text: str) -> dict[str, Decision]:
        """Phrase as asked -> decision. Phrases renamed beyond spelling and phrases decided both
        ways are left out.
        """
        asked = {p: p for p in question.phrases} | {
            " ".join(p.casefold().split()): p for p in question.phrases
        }
        found: dict[str, set[Decision]] = {}
        for phrase, raw in _rows(parse_object(text)):
            decision = _decision(raw)
            name = asked.get(phrase) or asked.get(" ".join(phrase.casefold().split()))
            if decision is None or name is None or (self._calibrated and decision.confidence is None):
                continue
            found.setdefault(name, set()).add(decision)
        if not found:
            raise AnswerError("no phrase is decided")
        agreed = {p: ds for p, ds in found.items() if len({d.accepted for d in ds}) == 1}
        return {
            p: min(ds, key=lambda d: d.confidence if d.confidence is not None else 1.0)
            for p, ds in agreed.items()
        }


_NER_ANSWERS = {
    ("keyed", False): 'Answer with JSON only, one key a phrase: {"<phrase>": true or false, ...}',
    (
        "keyed",
        True,
    ): (
        'Answer with JSON only, one key a phrase: {"<phrase>": {"is_ne": true or false, '
        '"confidence": 0.0}, ...}'
    ),
    (
        "rows",
        False,
    ): 'Answer with JSON only: {"phrases": [{"phrase": "<phrase>", "is_ne": true or false}, ...]}',
    (
        "rows",
        True,
    ): (
        'Answer with JSON only: {"phrases": [{"phrase": "<phrase>", "is_ne": true or false, '
        '"confidence": 0.0}, ...]}'
    ),
}


def _rows(answer: Pairs) -> list[tuple[str, Any]]:
    """(phrase, decision) of both answer forms, whichever was asked for."""
    rows = answer.get("phrases")
    if isinstance(rows, list):
        return [(str(r.get("phrase")), r) for r in rows if isinstance(r, dict)]
    # A mapping with is_ne is the decision on a phrase called "phrases".
    return rows.pairs if isinstance(rows, Pairs) and "is_ne" not in rows else answer.pairs


def _decision(raw: Any) -> Decision | None:
    """A decision with a true boolean in it; None for anything else ("false" as text is no
    decision).
    """
    if isinstance(raw, bool):
        return Decision(raw)
    if not isinstance(raw, dict) or not isinstance(raw.get("is_ne"), bool):
        return None
    confidence = raw.get("confidence")
    if confidence is None:
        return Decision(raw["is_ne"])
    if (
        isinstance(confidence, bool)
        or not isinstance(confidence, int | float)
        or not 0.0 <= confidence <= 1.0
    ):
        return None
    return Decision(raw["is_ne"], float(confidence))


@dataclass(frozen=True)
class Likeness:
    """A candidate and the known names it is near to, each as one line of context."""

    candidate: str
    known: tuple[str, ...]


class Arbitrate(Stage[Likeness, int | None]):
    """Which of the known entities the candidate is; None: a thing of its own."""

    name: ClassVar[StageName] = "arbitration"
    config: Config

    def values(self, question: Likeness) -> dict[str, str]:
        known = "\n".join(f"{letter(i)}: {line}" for i, line in enumerate(question.known))
        return {
            "root_subject": self.config.run.root_topic or "",
            "candidate_block": question.candidate,
            "known_block": known,
        }

    def constraint(self, question: Likeness) -> Constraint:
        letters = [letter(i) for i in range(len(question.known))]
        return Constraint(json_schema=object_schema({"duplicate_of": {"enum": [*letters, "none"]}}))

    def parse(self, question: Likeness, text: str) -> int | None:
        answer = parse_object(text).get("duplicate_of")
        letters = [letter(i) for i in range(len(question.known))]
        if not isinstance(answer, str) or answer not in [*letters, "none"]:
            raise AnswerError(f"duplicate_of is {answer!r}; one of {', '.join(letters)} or none is asked for")
        return None if answer == "none" else letters.index(answer)


def letter(number: int) -> str:
    """A, B, ... Z, A1, B1, ..."""
    return chr(ord("A") + number % 26) + (str(number // 26) if number >= 26 else "")


@dataclass(frozen=True)
class Stages:
    """All stages of a run, with their prompts for its mode and prompting."""

    self_grounding: SelfGrounding
    outline: Outline
    article: WriteArticle
    ner: Ner
    arbitration: Arbitrate

    @classmethod
    def of(cls, config: Config) -> "Stages":
        """The stages that ``config`` asks for.

        Raises:
            ConfigError: unknown persona.
        """
        persona = persona_text(config.run.persona)
        prompts = prompts_of(config)
        return cls(
            SelfGrounding(config, prompts["self_grounding"], persona),
            Outline(config, prompts["outline"], persona),
            WriteArticle(config, prompts["article"], persona),
            Ner(config, prompts["ner"], persona),
            Arbitrate(config, prompts["arbitration"], persona),
        )


def prompts_of(config: Config) -> dict[StageName, Prompt]:
    """Stage -> prompt; mode titles writes with the general prompts."""
    regime = "topic" if config.run.mode == "topic" else "general"
    kind = config.run.prompting
    return {
        "self_grounding": load_prompt(f"{regime}/self_grounding"),
        "outline": load_prompt(f"{regime}/outline"),
        "article": load_prompt(f"{regime}/article.{kind}"),
        "ner": load_prompt(f"{regime}/ner.{kind}"),
        "arbitration": load_prompt(f"{regime}/arbitration"),
    }
