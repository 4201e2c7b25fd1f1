"""The planted truth: which entities there are, what they are called, how they are grouped, what
their articles link.

An entity is its popularity rank, from 0. Entities are cut into groups of neighbours in (blurred)
rank: ``plain`` ones stand alone; ``sibling`` groups are series; ``qualified`` homonyms share a base
name, ``bare`` ones the whole name. All of it is a function of
:class:`~llmpedia.rehearsal.settings.WorldSettings`.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from llmpedia.entities.keys import is_self_or_loop
from llmpedia.rehearsal.settings import WorldSettings
from llmpedia.rehearsal.world import lexicon
from llmpedia.rehearsal.world.names import Named, Namer, fold, respelled, unaccented
from llmpedia.rehearsal.world.seeded_random import dice, number, remixed, shares, stream

GROUPS = ("plain", "sibling", "qualified", "bare")
_MEAN_SIZE = {"plain": 1.0, "sibling": 4.0, "qualified": 2.5, "bare": 2.0}
_BLUR = 0.7  # neighbours in a group differ in rank by a factor of 2 at most
_GENERIC = frozenset(map(fold, lexicon.GENERIC))


@dataclass(frozen=True, slots=True)
class LinkMention:
    """A link of an article as planned. ``entity`` is None for what is no entity: a generic word, a
    form of the subject.
    """

    surface: str
    entity: int | None


class World:
    """All entities of one world. Building takes about 2 s and 150 MB for 200,000 entities."""

    def __init__(self, settings: WorldSettings) -> None:
        self.settings = settings
        self.size = settings.entities
        self._namer = Namer(settings.seed)
        self._cut()
        self._names: list[str] = [""] * self.size
        self._kinds: list[str] = [""] * self.size
        self._others: dict[int, tuple[str, ...]] = {}
        self._index: dict[str, int] = {}
        self._senses: dict[str, tuple[int, ...]] = {}
        self._name_all()
        self._log = math.log(self.size + 1)
        self.mentions_of = lru_cache(maxsize=4096)(self._mentions)

    def _cut(self) -> None:
        """Put entities into slots, blurred by rank, and cut the slots into groups."""
        seed = self.settings.seed
        n = self.size
        ranks = np.log(np.arange(n) + 1.0) + _BLUR * shares(number(seed, "slot"), n)
        self._entity_at: npt.NDArray[np.int64] = np.argsort(ranks, kind="stable")
        share = self.settings.shares
        planted = {"sibling": share.siblings, "qualified": share.qualified, "bare": share.bare}
        planted["plain"] = 1.0 - sum(planted.values())
        weights = np.array([planted[kind] / _MEAN_SIZE[kind] for kind in GROUPS])
        cuts = np.cumsum(weights / weights.sum())[:-1]
        kinds = np.searchsorted(cuts, shares(number(seed, "kind"), n), side="right")
        draw = (stream(number(seed, "size"), n) >> np.uint64(33)).astype(np.int64)
        sizes = np.choose(kinds, [np.ones_like(draw), 2 + draw % 5, 2 + draw % 2, np.full_like(draw, 2)])
        starts = np.cumsum(sizes) - sizes
        count = int(np.searchsorted(starts, n))
        self._starts = starts[:count]
        self._group_kinds = kinds[:count].astype(np.int8)
        ends = np.append(starts[1:count], n)
        slot_group = np.repeat(np.arange(count), ends - self._starts)
        self._group: npt.NDArray[np.int32] = np.empty(n, np.int32)
        self._group[self._entity_at] = slot_group
        self._ends = ends

    def _name_all(self) -> None:
        seed = self.settings.seed
        hashes = stream(number(seed, "name"), len(self._starts)).tolist()
        aliased = int(self.settings.shares.aliased * 1000)
        members = self._entity_at.tolist()
        rows = zip(
            self._group_kinds.tolist(), self._starts.tolist(), self._ends.tolist(), hashes, strict=True
        )
        for kind, start, end, h in rows:
            if kind == 0:
                self._name_one(members[start], h, aliased)
            else:
                self._name_group(GROUPS[kind], members[start:end], h, aliased)

    def _name_one(self, entity: int, h: int, aliased: int) -> None:
        while True:
            named = self._namer.alone(h)
            key = fold(named.forms[0])
            if key not in self._index:
                break
            h = remixed(h)
        self._index[key] = entity
        self._keep(entity, named, remixed(h), aliased)

    def _name_group(self, kind: str, entities: list[int], h: int, aliased: int) -> None:
        while True:
            if kind == "sibling":
                names = self._namer.siblings(h, len(entities))
            else:
                names = self._namer.homonyms(h, len(entities), kind == "bare")
            keys = [fold(n.forms[0]) for n in names]
            if not any(key in self._index for key in keys):
                break
            h = remixed(h)
        if kind == "bare":
            self._senses[keys[0]] = tuple(sorted(entities))
            self._index[keys[0]] = min(entities)
        else:
            self._index.update(zip(keys, entities, strict=True))
        for entity, named in zip(entities, names, strict=True):
            h = remixed(h)
            self._keep(entity, named, h, 1000 if kind == "bare" else aliased)

    def _keep(self, entity: int, named: Named, h: int, aliased: int) -> None:
        """Store a name; its other names where it is to have any and nothing else is called so."""
        name = named.forms[0]
        self._names[entity] = name
        self._kinds[entity] = named.kind
        if h % 1000 >= aliased:
            return
        plain = unaccented(name)
        kept: list[str] = []
        for other in (*named.forms[1:], plain) if plain else named.forms[1:]:
            key = fold(other)
            if key not in self._index:
                self._index[key] = entity
                kept.append(other)
        if kept:
            self._others[entity] = tuple(kept)

    def name(self, entity: int) -> str:
        """The main name."""
        return self._names[entity]

    def others(self, entity: int) -> tuple[str, ...]:
        """Other names of it, each with a canonical key of its own."""
        return self._others.get(entity, ())

    def kind(self, entity: int) -> str:
        """person, place, ...; a key of ``lexicon.TYPES``."""
        return self._kinds[entity]

    def noun(self, entity: int) -> str:
        """What it is, in a word or two."""
        qualified = self.others(entity)[:1] if self.group_kind(entity) == "bare" else (self.name(entity),)
        for name in qualified:
            qualifier = name.partition(" (")[2][:-1]
            if qualifier.islower():
                return qualifier
        nouns = lexicon.TYPES[self.kind(entity)]
        return nouns[number(self.settings.seed, "noun", entity) % len(nouns)]

    def group(self, entity: int) -> int:
        """Number of its group; members of one are siblings or homonyms of each other."""
        return int(self._group[entity])

    def group_kind(self, entity: int) -> str:
        """One of ``GROUPS``."""
        return GROUPS[int(self._group_kinds[self.group(entity)])]

    def fellows(self, entity: int) -> list[int]:
        """All members of its group, itself included."""
        g = self.group(entity)
        members: list[int] = self._entity_at[int(self._starts[g]) : int(self._ends[g])].tolist()
        return members

    def entity(self, surface: str) -> int | None:
        """What a surface names; the most popular one of bare homonyms; None for what is no entity."""
        return self._index.get(fold(surface))

    def senses(self, surface: str) -> tuple[int, ...]:
        """All entities that a surface names: more than one for bare homonyms."""
        key = fold(surface)
        if key in self._senses:
            return self._senses[key]
        numbers = self._index.get(key)
        return () if numbers is None else (numbers,)

    def depth(self, entity: int) -> float:
        """0 for the most popular entity, 1 for the least, by the logarithm of the rank."""
        return math.log(entity + 1) / self._log

    def popular(self, u: float) -> int:
        """The entity at ``u`` in [0, 1) of the Zipf distribution (the chance of rank r is
        proportional to 1 / r).
        """
        return min(self.size - 1, int(math.exp(u * self._log)) - 1)

    def _mentions(self, subject: str) -> tuple[LinkMention, ...]:
        """The links of the article on ``subject`` in order, each key once but for respellings.
        Cached as ``mentions_of``.
        """
        entity = self.entity(subject)
        rng = dice(self.settings.seed, "links", fold(subject) if entity is None else entity)
        wanted = max(1, round(self.settings.links * (0.6 + 0.8 * rng.random())))
        return self.drawn_links(subject, rng, wanted)

    def drawn_links(
        self,
        subject: str,
        rng: random.Random,
        wanted: int,
        kept: Sequence[LinkMention] = (),
        knows: Callable[[int], bool] = lambda entity: True,
    ) -> tuple[LinkMention, ...]:
        """As many links of an article as are ``wanted``, or nearly: those ``kept``, then drawn ones
        to entities it ``knows``.
        """
        known_entity = self.entity(subject)
        share = self.settings.shares
        taken = {fold(subject), *(fold(m.surface) for m in kept)}
        out = list(kept)
        fellows = (
            [e for e in self.fellows(known_entity) if e != known_entity] if known_entity is not None else []
        )
        for _ in range(4 * wanted):
            if len(out) >= wanted:
                break
            u = rng.random()
            if u < share.generic:
                mention = LinkMention(lexicon.GENERIC[int(rng.random() * len(lexicon.GENERIC))], None)
            elif u < share.generic + share.loops:
                mention = self._loop(subject, known_entity, rng.random())
            else:
                near = fellows and rng.random() < 0.06
                entity = fellows[int(rng.random() * len(fellows))] if near else self.popular(rng.random())
                if entity == known_entity or not knows(entity):
                    continue
                mention = LinkMention(self._surface(entity, rng.random(), rng.random()), entity)
            key = fold(mention.surface)
            if key not in taken or (mention.entity is None and u >= share.generic):
                taken.add(key)
                out.append(mention)
        return tuple(out)

    def sense(
        self,
        surface: str,
        subject: str | None,
        mentions_of: Callable[[str], tuple[LinkMention, ...]] | None = None,
    ) -> int | None:
        """What a surface means where the article on ``subject`` links it; its first sense where
        that is not known.

        ``mentions_of``: the links of the articles of another model.
        """
        senses = self.senses(surface)
        if len(senses) > 1 and subject is not None:
            key = fold(surface)
            for mention in (mentions_of or self.mentions_of)(subject):
                if mention.entity in senses and fold(mention.surface) == key:
                    return mention.entity
        return senses[0] if senses else None

    def deserves(self, subject: str, phrase: str) -> bool:
        """Whether a phrase of the article on ``subject`` names an entity other than the subject."""
        entity = self.entity(phrase)
        if entity is not None:
            return entity != self.entity(subject) and fold(phrase) != fold(subject)
        if fold(phrase) in _GENERIC or is_self_or_loop(phrase, subject):
            return False
        return any(word[:1].isupper() or not word.isascii() for word in phrase.split())

    def _loop(self, subject: str, entity: int | None, u: float) -> LinkMention:
        """A form built on the subject, or another name of it."""
        forms = [
            *(form % subject for form in lexicon.LOOPS),
            *(self.others(entity) if entity is not None else ()),
        ]
        return LinkMention(forms[int(u * len(forms))], None)

    def _surface(self, entity: int, u: float, v: float) -> str:
        """The main name, or in the planned share of cases another one or another spelling."""
        name = self._names[entity]
        others = self.others(entity)
        h = int(v * (1 << 32))
        if u >= self.settings.shares.variants:
            return name
        if others and h % 4:
            return others[(h >> 8) % len(others)]
        return respelled(name, h)
