"""Planted facts: what an article claims, and what the sources of the world say about it.

The shares of true and false claims change from the most popular entity to the least
(``settings.Facts``); a claim that is neither is in no source.
"""

from dataclasses import dataclass
from typing import Literal

from llmpedia.rehearsal.world.seeded_random import dice
from llmpedia.rehearsal.world.world import World

Truth = Literal["true", "false", "absent"]

# Predicate, sentence, kind of object, by type of entity; "" fits all.
_PREDICATES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "person": (
        ("year of birth", "{s} was born in {o}.", "year"),
        ("place of birth", "The family of {s} came from {o}.", "place"),
        ("occupation", "By profession {s} was known as the {o}.", "trade"),
        ("number of children", "There were {o} children in the house of {s}.", "count"),
        ("place of death", "{s} is buried in {o}.", "place"),
    ),
    "place": (
        ("population", "At the last census {s} had {o} inhabitants.", "large"),
        ("elevation", "The highest point of {s} lies {o} metres above the sea.", "large"),
        ("year of first mention", "A charter of {o} names {s} for the first time.", "year"),
        ("twin town", "{s} has long been twinned with {o}.", "place"),
    ),
    "work": (
        ("year of publication", "{s} was first shown to the public in {o}.", "year"),
        ("place of first showing", "The first audience of {s} gathered in {o}.", "place"),
        ("number of parts", "In its final form {s} has {o} parts.", "count"),
    ),
    "": (
        ("year of beginning", "Most accounts date the beginning of {s} to {o}.", "year"),
        ("place", "The records of {s} are kept in {o}.", "place"),
        ("number of members", "At its height {s} counted {o} people.", "large"),
        ("year of change", "A thorough change of {s} followed in {o}.", "year"),
        ("colour", "The colour by which {s} is remembered is {o}.", "colour"),
        ("anniversary", "The {o} anniversary of {s} was marked in public.", "count"),
    ),
}


@dataclass(frozen=True, slots=True)
class Template:
    """A sentence that states a fact: ``text`` over {s} and {o}; ``kind`` of its object: year,
    large, count, place, ...
    """

    text: str
    kind: str


TEMPLATES = tuple(Template(text, kind) for rows in _PREDICATES.values() for _, text, kind in rows)
_KINDS = {template.text: template.kind for template in TEMPLATES}
_TRADES = (
    "cartographer printer surveyor organist watchmaker notary gardener actuary glassblower navigator".split()
)
_COLOURS = "crimson ochre indigo silver emerald ivory black saffron".split()
_COUNTS = "two three four five six seven eight nine ten eleven twelve".split()


@dataclass(frozen=True, slots=True)
class PlantedFact:
    """``claimed``: the object that articles state. ``actual``: what sources state; None: nothing.
    ``template``: the sentence.
    """

    predicate: str
    claimed: str
    actual: str | None
    truth: Truth
    template: str

    def sentence(self, name: str) -> str:
        """The claim as a sentence about ``name``."""
        return self.template.format(s=name, o=self.claimed)


def facts_of(world: World, entity: int) -> tuple[PlantedFact, ...]:
    """The 6 or more facts that the article on an entity states, in order."""
    settings = world.settings.facts
    p = world.depth(entity)
    true = settings.true_head + (settings.true_tail - settings.true_head) * p
    false = settings.false_head + (settings.false_tail - settings.false_head) * p
    rng = dice(world.settings.seed, "facts", entity)
    out = []
    for predicate, template, kind in (*_PREDICATES.get(world.kind(entity), ()), *_PREDICATES[""]):
        u = rng.random()
        claimed = _object(world, kind, rng.random())
        other = _object(world, kind, rng.random())
        if u < true:
            out.append(PlantedFact(predicate, claimed, claimed, "true", template))
        elif u < true + false and other != claimed:
            out.append(PlantedFact(predicate, claimed, other, "false", template))
        else:
            out.append(PlantedFact(predicate, claimed, None, "absent", template))
    return tuple(out)


def object_for(world: World, fact: PlantedFact, u: float) -> str:
    """Another object for a fact, drawn by ``u`` in [0, 1); now and then the same one."""
    return _object(world, _KINDS[fact.template], u)


def _object(world: World, kind: str, u: float) -> str:
    if kind == "year":
        return str(1500 + int(u * 520))
    if kind == "large":
        return f"{100 + int(u * u * 900_000):,}"
    if kind == "place":
        return world.name(int(u * world.size))
    words = {"trade": _TRADES, "colour": _COLOURS, "count": _COUNTS}[kind]
    return words[int(u * len(words))]
