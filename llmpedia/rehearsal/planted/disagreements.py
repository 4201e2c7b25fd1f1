"""Planted facts on which documents disagree, others on which they agree, and the subjects that they
are about.

A fact is a subject and one attribute of it. Its subjects are no entities of the world's
encyclopedia: no name of theirs is one's. A pure function of the world's settings.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from llmpedia.rehearsal.planted.kinds import Kind, PlantedAttribute, kinds
from llmpedia.rehearsal.planted.words import (
    COUNTRY,
    FAMILY,
    GIVEN,
    MARK_THINGS,
    MARK_WORDS,
    MONTHS,
    REGIONS,
    TOWNS,
)
from llmpedia.rehearsal.world.names import fold
from llmpedia.rehearsal.world.seeded_random import dice
from llmpedia.rehearsal.world.world import World

_SHARED = 0.1  # of facts on a subject that another fact is about as well
_OTHERS = 3  # values that no account gives: of another context, of another subject, of a model's invention
_MOST_ACCOUNTS = 3
_SHORT_TRIES = 8  # after so many names that are taken, longer ones are drawn
T = TypeVar("T")
_FEET = 3.28084
_SQUARE_KM = 2.589988


@dataclass(frozen=True, slots=True)
class PlantedSubject:
    """Who or what a fact is about. ``mark``: what it is known for; with noun and region it tells a
    subject from all others.
    """

    name: str
    kind: Kind
    noun: str
    region: str
    mark: str

    @property
    def path(self) -> tuple[str, ...]:
        """Knowledge point of documents on it."""
        return tuple(self.kind.nouns[self.noun].split(" > "))


@dataclass(frozen=True, slots=True)
class Account:
    """What some documents say. ``value``: in words; ``also``: the same rounded, more exactly or in
    another unit.

    ``documents``: that give it in its usual form. ``page``: whether web pages do.
    """

    value: str
    also: str
    documents: int
    page: bool


@dataclass(frozen=True, slots=True)
class PlantedFact:
    """A fact. The first account is that of the majority.

    ``context``: the time, edition or part it is about, None: there is only one. ``compatible``: the
    account that a document gives in its other form; ``elsewhere``: another context that a document
    is about; ``trap``: another subject of the same name; each None where there is no such document.
    ``strange``: values that no account gives, for ``elsewhere``, ``trap`` and inventions.
    """

    number: int
    subject: PlantedSubject
    slot: PlantedAttribute
    context: str | None
    accounts: tuple[Account, ...]
    compatible: int | None
    elsewhere: str | None
    trap: PlantedSubject | None
    strange: tuple[str, ...]

    @property
    def disputed(self) -> bool:
        """Whether there are several accounts."""
        return len(self.accounts) > 1

    @property
    def verifiable(self) -> bool:
        """Whether web pages give every account."""
        return all(account.page for account in self.accounts)


@lru_cache(maxsize=4)
def planted(world: World) -> tuple[PlantedFact, ...]:
    """All facts: the disputed ones first. No two share subject and attribute."""
    settings = world.settings.disagreements
    makers = Subjects(world)
    facts = list[PlantedFact]()
    for number in range(settings.facts + settings.agreeing):
        rng = dice(world.settings.seed, "disagreement", number)
        subject, slot = _what(makers, facts, rng)
        facts.append(_fact(number, subject, slot, makers, world, rng))
    return tuple(facts)


def _what(
    makers: "Subjects", facts: list[PlantedFact], rng: random.Random
) -> tuple[PlantedSubject, PlantedAttribute]:
    """A subject, new or that of another fact, and an attribute of it that no fact is about."""
    if facts and rng.random() < _SHARED:
        subject = one(facts, rng).subject
        taken = {f.slot.name for f in facts if f.subject == subject}
        free = [slot for slot in subject.kind.slots if slot.name not in taken]
        if free:
            return subject, one(free, rng)
    subject = makers.new(rng)
    return subject, one(subject.kind.slots, rng)


def _fact(
    number: int,
    subject: PlantedSubject,
    slot: PlantedAttribute,
    makers: "Subjects",
    world: World,
    rng: random.Random,
) -> PlantedFact:
    settings = world.settings.disagreements
    wanted = (
        1 if number >= settings.facts else _MOST_ACCOUNTS if rng.random() < settings.three_accounts else 2
    )
    values = list(_values(slot, subject, rng))
    context = one(slot.contexts, rng) if slot.contexts else None
    most = between(settings.majority, rng)
    unverified = (
        1 + int(rng.random() * (wanted - 1)) if wanted > 1 and rng.random() < settings.unverified else None
    )
    accounts = tuple(
        Account(value, also, most if i == 0 else min(most, between(settings.minority, rng)), i != unverified)
        for i, (value, also) in enumerate(values[:wanted])
    )
    others = [c for c in slot.contexts if c != context]
    compatible = int(rng.random() * wanted) if rng.random() < settings.compatible else None
    elsewhere = one(others, rng) if others and rng.random() < settings.context else None
    trap = makers.namesake(subject, rng) if rng.random() < settings.traps else None
    strange = tuple(value for value, _ in values[_MOST_ACCOUNTS:])
    return PlantedFact(number, subject, slot, context, accounts, compatible, elsewhere, trap, strange)


class Subjects:
    """Makes subjects, each with a name and a description that no other has, but for namesakes."""

    def __init__(self, world: World, facts: Sequence[PlantedFact] = ()) -> None:
        """``facts``: whose subjects there are already."""
        self._world = world
        self._kinds = kinds()
        there = [s for f in facts for s in (f.subject, f.trap) if s is not None]
        self._names = {fold(s.name) for s in there}
        self._descriptions = {(s.noun, s.region, s.mark) for s in there}

    def new(self, rng: random.Random) -> PlantedSubject:
        """A subject of a new name."""
        kind = one(self._kinds, rng)
        for tries in range(1 << 16):
            first = one(FAMILY, rng)
            family = first if tries < _SHORT_TRIES else f"{first} {one(FAMILY, rng)}"
            name = one(kind.forms, rng).format(g=one(GIVEN, rng), f=family)
            if fold(name) not in self._names and self._world.entity(name) is None:
                break
        self._names.add(fold(name))
        return self._described(name, kind, tuple(kind.nouns), REGIONS, rng)

    def namesake(self, subject: PlantedSubject, rng: random.Random) -> PlantedSubject:
        """Another subject of the same kind and name, that name as such or with what tells it apart."""
        regions = tuple(r for r in REGIONS if r != subject.region)
        nouns = tuple(n for n in subject.kind.nouns if n != subject.noun)
        other = self._described(subject.name, subject.kind, nouns, regions, rng)
        if rng.random() < 0.5:
            return other
        accounts = (
            f"{other.name} ({other.noun})"
            if subject.kind.name == "person"
            else f"{other.name}, {other.region}"
        )
        return PlantedSubject(accounts, other.kind, other.noun, other.region, other.mark)

    def _described(
        self, name: str, kind: Kind, nouns: Sequence[str], regions: Sequence[str], rng: random.Random
    ) -> PlantedSubject:
        while True:
            mark = f"a {one(MARK_WORDS, rng)} {one(MARK_THINGS, rng)}"
            description = (one(nouns, rng), one(regions, rng), mark)
            if description not in self._descriptions:
                self._descriptions.add(description)
                return PlantedSubject(name, kind, *description)


def _values(slot: PlantedAttribute, subject: PlantedSubject, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Values that cannot be the same, each with its other form: one for every account and for what
    no account gives.
    """
    wanted = _MOST_ACCOUNTS + _OTHERS
    if slot.value in ("person", "town"):
        pool = TOWNS if slot.value == "town" else [name for name in FAMILY if name not in subject.name]
        for last in some(pool, wanted, rng):
            yield (last, f"{last}, {COUNTRY[last]}") if slot.value == "town" else _person(last, rng)
        return
    if slot.value == "date":
        base = slot.low + int(rng.random() * (slot.high - slot.low))
        numbers = [base + offset for offset in some(list(range(-9, 10)), wanted, rng)]
    else:
        base = slot.low + int(rng.random() ** 2 * (slot.high - slot.low))
        steps = some(list(range(-2, 4)), wanted, rng)
        numbers = [round(base * 1.25**step * (0.98 + 0.04 * rng.random())) for step in steps]
    for number in numbers:
        yield _SHOWN[slot.value](number, rng)


def new_value(slot: PlantedAttribute, subject: PlantedSubject, rng: random.Random) -> str:
    """A value of an attribute."""
    return next(_values(slot, subject, rng))[0]


def _person(last: str, rng: random.Random) -> tuple[str, str]:
    first = one(GIVEN, rng)
    return f"{first} {last}", f"{first[0]}. {last}"


def _date(year: int, rng: random.Random) -> tuple[str, str]:
    return str(year), f"{1 + int(rng.random() * 28)} {one(MONTHS, rng)} {year}"


def _length(metres: int, rng: random.Random) -> tuple[str, str]:
    also = f"{metres * _FEET:,.0f} feet" if rng.random() < 0.5 else f"about {_rounded(metres):,} metres"
    return f"{metres:,} metres", also


def _surface(tenths: int, rng: random.Random) -> tuple[str, str]:
    km = tenths / 10
    also = (
        f"{km / _SQUARE_KM:,.1f} square miles"
        if rng.random() < 0.5
        else f"about {_rounded(round(km)):,} square kilometres"
    )
    return f"{km:,.1f} square kilometres", also


def _count(number: int, _: random.Random) -> tuple[str, str]:
    return f"{number:,}", f"about {_rounded(number):,}"


def _rounded(number: int) -> int:
    """To two figures."""
    step = 10 ** max(0, len(str(number)) - 2)
    return int(round(number / step) * step)


_SHOWN = {"date": _date, "length": _length, "surface": _surface, "count": _count}


def one(items: Sequence[T], rng: random.Random) -> T:
    """Any of them."""
    return items[int(rng.random() * len(items))]


def some(items: Sequence[T], n: int, rng: random.Random) -> list[T]:
    """``n`` different ones, in random order."""
    keyed = sorted((rng.random(), i) for i in range(len(items)))
    return [items[i] for _, i in keyed[:n]]


def between(bounds: tuple[int, int], rng: random.Random) -> int:
    """A number from the first to the second."""
    low, high = bounds
    return low + int(rng.random() * (high - low + 1))
