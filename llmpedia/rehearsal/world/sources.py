"""The sources of the world: an encyclopedia of pages, with redirects, disambiguation and gaps, and
web pages that may disagree.

A page states what is true (facts planted as true or false) and nothing of what is absent. Pure
functions of the world.
"""

import re
import unicodedata
from dataclasses import dataclass, field, replace

from llmpedia.rehearsal.world.facts import PlantedFact, facts_of
from llmpedia.rehearsal.world.seeded_random import share
from llmpedia.rehearsal.world.world import World

_MISSING_TAIL = (
    0.4  # share of the least popular entities that have no page; none of the most popular lacks one
)
_DISAGREE = 0.15  # share of web pages' facts that another page contradicts
WEB_PAGES = 3  # of each entity; the paper's judge reads three addresses a subject at most (section 4.2)
# What a web page says before and after the facts: enough for a page to count as one (200
# characters), and no fact.
_ABOUT = (
    (
        "This entry has been put together from printed sources and is looked after by volunteers.",
        (
            "Readers who know more are asked to write to the editors, who check every note before it "
            "is printed here."
        ),
    ),
    (
        "The following notes were collected for an exhibition and have been kept up ever since.",
        "The notes may be quoted freely as long as the place where they were found is named along with them.",
    ),
    (
        "Visitors often ask the same few questions, and the short answers to them are given below.",
        (
            "Longer answers can be had at the reading room, where the staff keep a folder with copies "
            "of all papers."
        ),
    ),
)
_REFUSED = re.compile(r"[#<>\[\]{}|\x00-\x1f\x7f]")
_TITLE_BYTES = 255


@dataclass(frozen=True)
class WikiPage:
    """``title``: as found. ``redirect``: the title asked for, where it is another one. ``senses``:
    of a disambiguation page.
    """

    title: str
    text: str
    entity: int | None
    redirect: str | None = None
    senses: tuple[str, ...] = field(default=())


def normal_title(title: str) -> str | None:
    """The title as MediaWiki keeps it (composed, blanks for underscores, first letter upper); None
    if it allows none such.
    """
    text = " ".join(unicodedata.normalize("NFC", title).replace("_", " ").split())
    first = text[:1].upper()
    text = first + text[1:] if len(first) == 1 else text
    return (
        None
        if not text or _REFUSED.search(text) or len(text.encode(errors="replace")) > _TITLE_BYTES
        else text
    )


def page_title(world: World, entity: int) -> str:
    """The title of the page on an entity: a bare homonym's is its qualified name."""
    others = world.others(entity)
    return others[0] if world.group_kind(entity) == "bare" and others else world.name(entity)


def page(world: World, title: str) -> WikiPage | None:
    """The encyclopedia's page under a title; None if there is none, or can be none."""
    normal = normal_title(title)
    if normal is None:
        return None
    senses = world.senses(title)
    if len(senses) > 1:
        titles = tuple(page_title(world, e) for e in senses)
        lines = "\n".join(f"* [[{t}]], a {world.noun(e)}" for t, e in zip(titles, senses, strict=True))
        name = world.name(senses[0])
        return _under(normal, WikiPage(name, f"'''{name}''' may refer to:\n{lines}", None, None, titles))
    if not senses or not has_page(world, senses[0]):
        return None
    entity = senses[0]
    name = page_title(world, entity)
    text = f"'''{name}''' is a {world.noun(entity)}. {told(world, entity, name)}"
    return _under(normal, WikiPage(name, text, entity))


def _under(asked: str, wiki_page: WikiPage) -> WikiPage:
    """The page as it is found under a title: by a redirect, unless that is its own title, letter by
    letter.
    """
    title = normal_title(wiki_page.title) or wiki_page.title
    return replace(wiki_page, title=title, redirect=None if title == asked else asked)


def has_page(world: World, entity: int) -> bool:
    """Whether the encyclopedia has a page on an entity: fewer of the less popular ones have."""
    return share(world.settings.seed, "page", entity) >= _MISSING_TAIL * world.depth(entity) ** 2


def told(world: World, entity: int, name: str) -> str:
    """What a source says: the actual object of every fact that is in the sources."""
    return " ".join(_stated(f, name, f.actual) for f in facts_of(world, entity) if f.actual is not None)


def web_text(world: World, entity: int, number: int) -> str:
    """The ``number``-th web page on an entity, as plain text of three paragraphs; some facts
    contradict the encyclopedia's.
    """
    name = page_title(world, entity)
    lines = []
    for i, fact in enumerate(facts_of(world, entity)):
        if fact.actual is None:
            continue
        astray = share(world.settings.seed, "web", entity, number, i) < _DISAGREE
        other = facts_of(world, (entity + 17 * (number + 1)) % world.size)
        wrong = next((f.claimed for f in other if f.predicate == fact.predicate), fact.actual)
        lines.append(_stated(fact, name, wrong if astray else fact.actual))
    opening, closing = _ABOUT[number % len(_ABOUT)]
    facts = " ".join(lines) or "Nothing certain has come down to us."
    return f"{name} was a {world.noun(entity)}. {opening}\n\n{facts}\n\n{closing}"


def _stated(fact: PlantedFact, name: str, what: str) -> str:
    return fact.template.format(s=name, o=what)


def search(world: World, query: str, most: int) -> list[int]:
    """Entities whose names a query holds, longest name first; those of its group after them."""
    words = query.split()
    entities: dict[int, None] = {}
    for length in range(min(8, len(words)), 0, -1):
        for at in range(len(words) - length + 1):
            senses = world.senses(" ".join(words[at : at + length]))
            entities.update(dict.fromkeys([*senses, *(f for e in senses for f in world.fellows(e))]))
        if len(entities) >= most:
            break
    return list(entities)[:most]
