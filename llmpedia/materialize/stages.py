"""The stages of the walk (paper, sections 3.2 and 3.3, appendix L).

Their names, titles and order are in ``stage_list.py``; a class here is the stage of its ``name``.
"""

import json
import math
import re
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from llmpedia.config.walk import Config
from llmpedia.entities.keys import canonical_key
from llmpedia.grammar import wikitext_grammar
from llmpedia.materialize.walk_stage import STAGE_CLASSES, SampleSize, WalkStage
from llmpedia.prompts import Prompt
from llmpedia.stage_list import walk_stage_names
from llmpedia.stages import A, AnswerError, Constraint, Pairs, object_schema, parse_object
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


# Names and headings as long as they usually are, and as long as they may well get.
_USUAL_NAME = "N" * 18
_USUAL_HEADING = "H" * 24
_USUAL_CONTEXT = " ".join(["word"] * 90)
_LONG_NAME = "N" * 30
_LONG_HEADING = "H" * 40


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


class _SubjectStage(WalkStage[Subject, A]):
    """A stage whose question is a subject."""

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

    def sample(self, size: SampleSize) -> Subject:
        low, high = self.config.article.sections
        if size is SampleSize.LONGEST:
            return Subject(_LONG_NAME, (_LONG_HEADING,) * high)
        if size is SampleSize.SMALLEST:
            fact = Fact(predicate="p", object="o", confidence=1.0)
            facts = FactSheet(summary="S", aliases=["A"], salient_facts=[fact])
            return Subject("N", ("H",) * high, self._known(facts))
        plan = self.config.plan
        summary = "x" * round(plan.fact_sheet_tokens * plan.chars_a_token)
        headings = tuple(f"{_USUAL_HEADING}{i}" for i in range((low + high) // 2))
        facts = FactSheet(summary=summary, aliases=[], salient_facts=[])
        return Subject(_USUAL_NAME, headings, self._known(facts))

    def _known(self, facts: FactSheet) -> FactSheet | None:
        return facts if self.config.run.self_grounding else None


class SelfGrounding(_SubjectStage[FactSheet]):
    """A fact sheet from memory."""

    name = "self_grounding"
    prompt_file = "{regime}/self_grounding"

    @property
    def is_asked(self) -> bool:
        return self.config.run.self_grounding

    @property
    def answer_tokens(self) -> float:
        return self.config.plan.fact_sheet_tokens

    def constraint(self, question: Subject) -> Constraint:
        return Constraint(json_schema=FactSheet.model_json_schema())

    def parse(self, question: Subject, text: str) -> FactSheet:
        try:
            return FactSheet.model_validate(parse_object(text))
        except ValidationError as e:
            raise AnswerError(f"not a fact sheet: {e.errors()[0]['msg']} at {e.errors()[0]['loc']}") from e


class Outline(_SubjectStage[tuple[str, ...]]):
    """Section headings made for the subject."""

    name = "outline"
    prompt_file = "{regime}/outline"

    @property
    def answer_tokens(self) -> float:
        return sum(self.config.article.sections) // 2 * self.config.plan.heading_tokens

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

    name = "article"
    prompt_file = "{regime}/article.{prompting}"

    @property
    def answer_tokens(self) -> float:
        return self.config.article.words * self.config.plan.word_tokens

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


class Ner(WalkStage[Phrases, dict[str, Decision]]):
    """Which candidates deserve an article. What the answer leaves out is left out of the value,
    never guessed.
    """

    name = "ner"
    prompt_file = "{regime}/ner.{prompting}"

    @property
    def is_asked(self) -> bool:
        return self.config.run.mode != "titles"

    @property
    def _phrases_asked(self) -> float:
        """Names of an article that no screen stops."""
        return self.config.plan.links * (1 - self.config.plan.known)

    @property
    def calls(self) -> float:
        return float(max(1, math.ceil(self._phrases_asked / self.config.entities.ner_chunk)))

    @property
    def _usual_chunk(self) -> int:
        return max(1, round(self._phrases_asked / self.calls))

    @property
    def answer_tokens(self) -> float:
        return self._usual_chunk * self.config.plan.decision_tokens

    def sample(self, size: SampleSize) -> Phrases:
        if size is SampleSize.SMALLEST:
            return Phrases("N", ("M",))
        longest = size is SampleSize.LONGEST
        name = _LONG_NAME if longest else _USUAL_NAME
        count = self.config.entities.ner_chunk if longest else self._usual_chunk
        return Phrases(name, tuple(f"{name}{i}" for i in range(count)))

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
        """Phrase as asked -> decision; without phrases that were renamed or decided both ways."""
        asked = {p: p for p in question.phrases} | {
            " ".join(p.casefold().split()): p for p in question.phrases
        }
        decisions: dict[str, set[Decision]] = {}
        for phrase, raw in _rows(parse_object(text)):
            decision = _decision(raw)
            name = asked.get(phrase) or asked.get(" ".join(phrase.casefold().split()))
            if decision is None or name is None or (self._calibrated and decision.confidence is None):
                continue
            decisions.setdefault(name, set()).add(decision)
        if not decisions:
            raise AnswerError("no phrase is decided")
        agreed = {p: ds for p, ds in decisions.items() if len({d.accepted for d in ds}) == 1}
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


class Arbitrate(WalkStage[Likeness, int | None]):
    """Which of the known entities the candidate is; None: a thing of its own."""

    name = "arbitration"
    prompt_file = "{regime}/arbitration"

    @property
    def is_asked(self) -> bool:
        return self.config.run.mode != "titles"

    @property
    def calls(self) -> float:
        return self.config.plan.arbitrations

    @property
    def answer_tokens(self) -> float:
        return self.config.plan.arbitration_tokens

    def sample(self, size: SampleSize) -> Likeness:
        if size is SampleSize.SMALLEST:
            return Likeness("N", ("M",))
        if size is SampleSize.LONGEST:
            return Likeness(_LONG_NAME * 10, (_LONG_NAME * 10,) * self.config.entities.neighbours)
        return Likeness(_USUAL_CONTEXT, (_USUAL_CONTEXT,) * 2)

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


AnyStage = TypeVar("AnyStage", bound=WalkStage[Any, Any])


class Stages:
    """All stages of a run, with their prompts for its mode and prompting."""

    def __init__(self, stages: dict[str, WalkStage[Any, Any]]) -> None:
        """``stages``: by name, in the order of the list."""
        self._stages = stages

    @classmethod
    def of(cls, config: Config) -> "Stages":
        """The stages that ``config`` asks for.

        Raises:
            ConfigError: unknown persona.
        """
        return cls({name: kind.of(config) for name, kind in walk_stages().items()})

    def __getitem__(self, kind: type[AnyStage]) -> AnyStage:
        """The stage of a class."""
        stage = self._stages[kind.name]
        assert isinstance(stage, kind)
        return stage

    def named(self, name: str) -> WalkStage[Any, Any]:
        """The stage of a name."""
        return self._stages[name]

    def asked(self) -> list[WalkStage[Any, Any]]:
        """Those that the run asks, in order."""
        return [stage for stage in self._stages.values() if stage.is_asked]


def walk_stages() -> dict[str, type[WalkStage[Any, Any]]]:
    """Name -> class of every stage of the walk, in the order of ``stage_list.WALK_STAGES``."""
    return {name: STAGE_CLASSES[name] for name in walk_stage_names()}


def prompts_of(config: Config) -> dict[str, Prompt]:
    """Stage -> prompt."""
    return {name: kind.prompt_of(config) for name, kind in walk_stages().items()}
