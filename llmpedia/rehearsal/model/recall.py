"""What a model of the world remembers of planted disagreements when nothing but the question is
sent.

Which accounts it recalls is drawn by its name, the fact and, now and then, the formulation. The
words hold no figure but those of the values: a judge takes another one of as many digits for a
contradiction.
"""

from dataclasses import dataclass
from typing import Literal

from llmpedia.rehearsal.planted.disagreements import PlantedFact, one, planted
from llmpedia.rehearsal.planted.questions import PlantedQuestion, understood
from llmpedia.rehearsal.world.names import fold
from llmpedia.rehearsal.world.seeded_random import dice, share
from llmpedia.rehearsal.world.world import World

Drawn = Literal["complete", "partial", "failed"]
_APART = 0.2  # of questions whose two formulations are drawn apart
_MAJORITY = 0.75  # of partial answers that give the account of the majority
_INVENTED = 0.5  # of failed answers that give a value, which no document has
_UNKNOWN = ("I do not know.", "I do not remember this.", "This is not something that I can recall.")
_ONE = ("It is {0}.", "The answer is {0}.", "As far as I remember, {0}.")
_SEVERAL = (
    "Sources differ: {0}.",
    "Reliable sources disagree on this and give {0}.",
    "There are several accounts: {0}.",
)
_THOUGHT = "The question is about {0}. Whatever comes to mind is weighed before an answer is given."
# Of a model that the settings do not name: the complete share, and the part of the rest that is
# partial, from and by how much.
_COMPLETE = (0.05, 0.55)
_PARTIAL = (0.2, 0.5)


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a model says to a question. ``accounts``: places of the accounts it gives; ``invented``:
    a value that none is.
    """

    fact: PlantedFact | None
    drawn: Drawn
    accounts: tuple[int, ...] = ()
    invented: str | None = None


def fact_of(world: World, question: PlantedQuestion) -> PlantedFact | None:
    """The fact that a question asks for."""
    for fact in planted(world):
        subject = fact.subject
        there = (fact.slot.name, subject.noun, subject.region, fact.context)
        named = question.name is not None and fold(question.name) == fold(subject.name)
        if there == (question.slot.name, question.noun, question.region, question.context) and (
            named or question.mark == subject.mark
        ):
            return fact
    return None


def recalled(world: World, model: str, text: str) -> Recalled:
    """What a model recalls of what a question asks for."""
    question = understood(text)
    fact = fact_of(world, question) if question is not None else None
    if question is None or fact is None:
        return Recalled(None, "failed")
    seed = world.settings.seed
    apart = share(seed, "apart", model, fact.number) < _APART
    rng = dice(seed, "recall", model, fact.number, question.formulation if apart else "")
    complete, partial = shares_of(world, model)
    u = rng.random()
    if u < complete:
        return Recalled(fact, "complete", tuple(range(len(fact.accounts))))
    if u < complete + partial:
        place = 0 if rng.random() < _MAJORITY else 1 + int(rng.random() * (len(fact.accounts) - 1))
        return Recalled(fact, "partial", (min(place, len(fact.accounts) - 1),))
    return Recalled(fact, "failed", (), fact.strange[2] if rng.random() < _INVENTED else None)


def shares_of(world: World, model: str) -> tuple[float, float]:
    """Shares of the disagreements that a model recalls in full and in part."""
    shares = world.settings.recall.get(model)
    if shares is not None:
        return shares
    complete = _COMPLETE[0] + _COMPLETE[1] * share("complete", model)
    return complete, (1.0 - complete) * (_PARTIAL[0] + _PARTIAL[1] * share("partial", model))


def answer(world: World, model: str, text: str, thinks: bool) -> str:
    """The response to a question; ``thinks``: after a block of thought."""
    memory = recalled(world, model, text)
    rng = dice(world.settings.seed, "wording", model, text)
    values = [memory.fact.accounts[place].value for place in memory.accounts] if memory.fact else []
    values += [memory.invented] if memory.invented else []
    if not values:
        words = one(_UNKNOWN, rng)
    elif len(values) == 1:
        words = one(_ONE, rng).format(values[0])
    else:
        words = one(_SEVERAL, rng).format(f"{', '.join(values[:-1])} and {values[-1]}")
    topic = memory.fact.subject.noun if memory.fact else "something else"
    return f"<think>\n{_THOUGHT.format(f'a {topic}')}\n</think>\n\n{words}" if thinks else words
