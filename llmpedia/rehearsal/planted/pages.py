"""Web pages on the subjects of planted disagreements, and the search that finds them.

Each account that can be verified is on pages of its own; a namesake has one too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from llmpedia.rehearsal.planted.corpus import page_text, statement
from llmpedia.rehearsal.planted.disagreements import PlantedFact, PlantedSubject, planted
from llmpedia.rehearsal.world.names import fold
from llmpedia.rehearsal.world.seeded_random import dice, share
from llmpedia.rehearsal.world.world import World

_OF_THE_MAJORITY = 2  # pages that give the first account; one gives each other
_LONGEST = 8  # words of a name that is sought


@dataclass(frozen=True, slots=True)
class PlantedPage:
    """A page under a title; ``number``: among those of its title, from 0."""

    title: str
    number: int
    text: str


@lru_cache(maxsize=4)
def planted_pages(world: World) -> dict[str, tuple[PlantedPage, ...]]:
    """Key of a title -> its pages, shuffled."""
    seed = world.settings.seed
    pages = dict[str, list[tuple[float, str, str]]]()
    for fact in planted(world):
        for place, (subject, sentence) in enumerate(_told(fact, seed) if fact.disputed else ()):
            text = page_text(subject, sentence, dice(seed, "page", fact.number, place))
            order = share(seed, "page order", fact.number, place)
            pages.setdefault(fold(subject.name), []).append((order, subject.name, text))
    return {
        key: tuple(PlantedPage(title, n, text) for n, (_, title, text) in enumerate(sorted(rows)))
        for key, rows in pages.items()
    }


def _told(fact: PlantedFact, seed: int) -> Iterator[tuple[PlantedSubject, str]]:
    """Subject and telling sentence of each page on a fact."""
    rng = dice(seed, "page told", fact.number)
    for place, account in enumerate(fact.accounts):
        for _ in range((1 if place else _OF_THE_MAJORITY) if account.page else 0):
            yield fact.subject, statement(fact.slot, fact.subject.name, account.value, fact.context, rng)
    if fact.trap is not None:
        yield fact.trap, statement(fact.slot, fact.trap.name, fact.strange[1], fact.context, rng)


def search_planted(world: World, query: str, most: int) -> list[PlantedPage]:
    """Pages whose title a query holds, those of the longest title; none where it names an entity of
    the world as long as that.
    """
    words = query.split()
    pages = planted_pages(world)
    for length in range(min(_LONGEST, len(words)), 0, -1):
        parts = [" ".join(words[at : at + length]) for at in range(len(words) - length + 1)]
        if any(world.senses(part) for part in parts):
            return []
        hits = [page for part in parts for page in pages.get(fold(part), ())]
        if hits:
            return hits[:most]
    return []
