"""Questions on planted facts: how the world's model words them, and how it understands them again."""

import re
from dataclasses import dataclass
from functools import lru_cache

from llmpedia.rehearsal.planted import words
from llmpedia.rehearsal.planted.document_reader import About
from llmpedia.rehearsal.planted.kinds import Kind, PlantedAttribute, kinds


@dataclass(frozen=True, slots=True)
class PlantedQuestion:
    """A question understood. ``name``: of its subject, ``mark``: what that is known for; one of
    them is None.
    """

    slot: PlantedAttribute
    noun: str
    region: str
    context: str | None
    name: str | None = None
    mark: str | None = None

    @property
    def formulation(self) -> str:
        """named_entity or clue_based."""
        return "clue_based" if self.name is None else "named_entity"

    def same_fact(self, other: "PlantedQuestion") -> bool:
        """Whether both ask for one attribute of what fits both descriptions."""
        mine, others = ((q.slot.name, q.noun, q.region, q.context) for q in (self, other))
        return mine == others


def named_question(about: About, slot: PlantedAttribute, context: str | None) -> str:
    """The question that names its subject and says what it is, so that namesakes are told apart."""
    who = f"{about.name}, the {about.noun} {_kind(about.noun).preposition} {about.region},"
    return slot.question.format(s=who, c=context).replace(",?", "?")


def clue_question(about: About, slot: PlantedAttribute, context: str | None) -> str:
    """The question that describes its subject by what it is, where it belongs and what it is known
    for.
    """
    who = f"the {about.noun} {_kind(about.noun).preposition} {about.region} known for {about.mark}"
    return slot.question.format(s=who, c=context)


@lru_cache(maxsize=4096)
def understood(text: str) -> PlantedQuestion | None:
    """What a question asks; None for one that is worded in another way."""
    text = " ".join(text.split())
    for pattern, slots in _patterns():
        match = pattern.fullmatch(text)
        subject = match and _who().fullmatch(match["s"].rstrip(","))
        if match and subject:
            noun = subject["n"] or subject["n2"]
            slot = next((s for s in slots if s in _kind(noun).slots), None)
            if slot is not None:
                context = match.groupdict().get("c")
                return PlantedQuestion(
                    slot, noun, subject["r"] or subject["r2"], context, subject["name"], subject["mark"]
                )
    return None


def _kind(noun: str) -> Kind:
    return next(kind for kind in kinds() if noun in kind.nouns)


@lru_cache(maxsize=1)
def _who() -> re.Pattern[str]:
    nouns = "|".join(n for kind in kinds() for n in kind.nouns)
    regions = "|".join(words.REGIONS)
    named = rf"(?P<name>.+), the (?P<n>{nouns}) (?:in|from) (?P<r>{regions})"
    clue = rf"the (?P<n2>{nouns}) (?:in|from) (?P<r2>{regions}) known for (?P<mark>a [a-z ]+)"
    return re.compile(f"{named}|{clue}")


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[re.Pattern[str], tuple[PlantedAttribute, ...]], ...]:
    """Expression -> the attributes that are asked for in these words."""
    by_words: dict[tuple[str, tuple[str, ...]], list[PlantedAttribute]] = {}
    for kind in kinds():
        for slot in kind.slots:
            by_words.setdefault((slot.question, slot.contexts), []).append(slot)
    out = []
    for (question, contexts), slots in by_words.items():
        pieces = re.split(r"\{(\w)\}", question)
        parts = {"s": "(?P<s>.+?)", "c": f"(?P<c>{'|'.join(map(re.escape, contexts))})"}
        out.append(
            (
                re.compile("".join(parts[p] if i % 2 else re.escape(p) for i, p in enumerate(pieces))),
                tuple(slots),
            )
        )
    return tuple(out)
