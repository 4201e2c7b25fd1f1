"""What the models of a world know, and so write: the model ``rehearsal`` all of it, one called
``rehearsal-NAME`` its own part.

Links, facts and the sense of a link are asked of a mind; the names, kinds and sources of entities
are the world's, whoever asks.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from llmpedia.rehearsal.settings import OTHER_MODEL, Knowledge
from llmpedia.rehearsal.world.facts import PlantedFact, facts_of, object_for
from llmpedia.rehearsal.world.names import fold
from llmpedia.rehearsal.world.seeded_random import dice, number, shares
from llmpedia.rehearsal.world.world import LinkMention, World

# how the name of a model ends that thinks before it answers, and writes what it would write without
THINKING = "-thinking"


class Mind:
    """The mind of the model ``rehearsal``, and of every model that has none of its own."""

    def __init__(self, world: World) -> None:
        self.world = world

    def mentions_of(self, subject: str) -> tuple[LinkMention, ...]:
        """The links of its article on a subject, in order."""
        return self.world.mentions_of(subject)

    def facts(self, entity: int) -> tuple[PlantedFact, ...]:
        """The facts that its article on an entity states, in order."""
        return facts_of(self.world, entity)

    def sense(self, surface: str, subject: str | None) -> int | None:
        """What a surface means where its article on a subject links it."""
        return self.world.sense(surface, subject, self.mentions_of)


class OtherMind(Mind):
    """The mind of one other model."""

    def __init__(self, world: World, model: str) -> None:
        super().__init__(world)
        self.model = model
        self.knowledge = knowledge_of(world, model)
        self._seed = world.settings.seed
        self.known = _known(world, model, self.knowledge)
        self.mentions_of = lru_cache(maxsize=4096)(self._mentions)  # type: ignore[method-assign]

    def _mentions(self, subject: str) -> tuple[LinkMention, ...]:
        """A share of the links that ``rehearsal`` makes, where it knows what they name; the rest of
        its own choice.
        """
        entity = self.world.entity(subject)
        knowledge = self.knowledge
        rng = dice(self._seed, "links", self.model, fold(subject) if entity is None else entity)
        common = [m for m in self.world.mentions_of(subject) if m.entity is None or self.known[m.entity]]
        kept = [m for m in common if rng.random() < knowledge.shared_links]
        wanted = max(1, round(knowledge.links * self.world.settings.links * (0.6 + 0.8 * rng.random())))
        return self.world.drawn_links(subject, rng, wanted, kept[:wanted], lambda e: bool(self.known[e]))

    def facts(self, entity: int) -> tuple[PlantedFact, ...]:
        """The world's facts: those that sources have are stated rightly or wrongly, some of the
        others are left out.
        """
        knowledge = self.knowledge
        depth = self.world.depth(entity)
        out = list[PlantedFact]()
        right = knowledge.right_head + (knowledge.right_tail - knowledge.right_head) * depth
        for place, fact in enumerate(facts_of(self.world, entity)):
            rng = dice(self._seed, "recalled", self.model, entity, place)
            if fact.actual is None:
                if rng.random() < knowledge.guesses:
                    out.append(
                        PlantedFact(
                            fact.predicate,
                            object_for(self.world, fact, rng.random()),
                            None,
                            "absent",
                            fact.template,
                        )
                    )
                continue
            claimed = fact.actual if rng.random() < right else object_for(self.world, fact, rng.random())
            out.append(
                PlantedFact(
                    fact.predicate,
                    claimed,
                    fact.actual,
                    "true" if claimed == fact.actual else "false",
                    fact.template,
                )
            )
        return tuple(out)


class Minds:
    """The minds of one world, each made when its model is first asked."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._plain = Mind(world)
        self._others = dict[str, OtherMind]()

    def of(self, model: str) -> Mind:
        """The mind of a model."""
        name = model.removesuffix(THINKING)
        if not name.startswith(OTHER_MODEL) or name == OTHER_MODEL:
            return self._plain
        if name not in self._others:
            self._others[name] = OtherMind(self._world, name)
        return self._others[name]


def knowledge_of(world: World, model: str) -> Knowledge:
    """What a model with a mind of its own knows."""
    return world.settings.models.get(model, Knowledge())


def overlap(minds: list[OtherMind]) -> float:
    """Jaccard of the entities that minds know: what the subjects of their walks come to once
    nothing is left to find.
    """
    known = [mind.known for mind in minds]
    return float(np.logical_and.reduce(known).sum() / np.logical_or.reduce(known).sum())


def _known(world: World, model: str, knowledge: Knowledge) -> npt.NDArray[np.bool_]:
    depth = np.log(np.arange(world.size) + 1.0) / np.log(world.size + 1)
    drawn = shares(number(world.settings.seed, "known", model), world.size)
    out: npt.NDArray[np.bool_] = (
        drawn < knowledge.known_head + (knowledge.known_tail - knowledge.known_head) * depth
    )
    return out
