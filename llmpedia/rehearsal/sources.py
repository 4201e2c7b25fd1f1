"""The sources of the world: an encyclopedia of pages, with redirects, disambiguation and gaps, and web pages that may disagree.

A page states what is true (facts planted as true or false) and nothing of what is absent. Pure functions of the world.
"""

from dataclasses import dataclass, field

from llmpedia.rehearsal.draws import share
from llmpedia.rehearsal.facts import Fact, facts_of
from llmpedia.rehearsal.names import fold
from llmpedia.rehearsal.world import World

_MISSING_TAIL = 0.4  # share of the least popular entities that have no page; none of the most popular lacks one
_DISAGREE = 0.15  # share of web pages' facts that another page contradicts


@dataclass(frozen=True)
class Page:
    """``title``: as found. ``redirect``: the title asked for, where it is another name. ``senses``: of a disambiguation page."""

    title: str
    text: str
    entity: int | None
    redirect: str | None = None
    senses: tuple[str, ...] = field(default=())


def page(world: World, title: str) -> Page | None:
    """The encyclopedia's page under a title; None if there is none."""
    senses = world.senses(title)
    if len(senses) > 1:
        titles = tuple((world.others(e) or (world.name(e),))[0] for e in senses)
        lines = "\n".join(f"* [[{t}]], a {world.noun(e)}" for t, e in zip(titles, senses, strict=True))
        return Page(world.name(senses[0]), f"'''{title}''' may refer to:\n{lines}", None, None, titles)
    if not senses or not has_page(world, senses[0]):
        return None
    entity = senses[0]
    name = world.others(entity)[0] if world.group_kind(entity) == "bare" and world.others(entity) else world.name(entity)
    text = f"'''{name}''' is a {world.noun(entity)}. {told(world, entity, name)}"
    return Page(name, text, entity, None if fold(name) == fold(title) else title)


def has_page(world: World, entity: int) -> bool:
    """Whether the encyclopedia has a page on an entity: fewer of the less popular ones have."""
    return share(world.settings.seed, "page", entity) >= _MISSING_TAIL * world.depth(entity) ** 2


def told(world: World, entity: int, name: str) -> str:
    """What a source says: the actual object of every fact that is in the sources."""
    return " ".join(_stated(f, name, f.actual) for f in facts_of(world, entity) if f.actual is not None)


def web_text(world: World, entity: int, number: int) -> str:
    """The ``number``-th web page on an entity, as plain text; some of its facts contradict the encyclopedia's."""
    name = world.name(entity)
    lines = []
    for i, fact in enumerate(facts_of(world, entity)):
        if fact.actual is None:
            continue
        astray = share(world.settings.seed, "web", entity, number, i) < _DISAGREE
        other = facts_of(world, (entity + 17 * (number + 1)) % world.size)
        wrong = next((f.claimed for f in other if f.predicate == fact.predicate), fact.actual)
        lines.append(_stated(fact, name, wrong if astray else fact.actual))
    return f"{name} was a {world.noun(entity)}. {' '.join(lines)}"


def _stated(fact: Fact, name: str, what: str) -> str:
    return fact.template.format(s=name, o=what)


def search(world: World, query: str, most: int) -> list[int]:
    """Entities whose names a query holds, longest name first; those of its group after it."""
    words = query.split()
    found: dict[int, None] = {}
    for length in range(min(8, len(words)), 0, -1):
        for at in range(len(words) - length + 1):
            for entity in world.senses(" ".join(words[at : at + length])):
                found.update(dict.fromkeys([entity, *world.fellows(entity)]))
        if len(found) >= most:
            break
    return list(found)[:most]
