"""Articles, outlines and fact sheets of the world: what its model writes about a subject, known or
not.

The links of an article are ``World.mentions_of(subject)`` whatever its headings, so that the truth
behind each is known.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence

from llmpedia.rehearsal.world import lexicon
from llmpedia.rehearsal.world.facts import PlantedFact, facts_of
from llmpedia.rehearsal.world.seeded_random import dice, share
from llmpedia.rehearsal.world.world import LinkMention, World

# How many links each takes.
SENTENCES: dict[int, tuple[str, ...]] = {
    1: (
        "Much of what is told of this time goes back to {0}, whose part in it is seldom disputed.",
        "In {y} the connection with {0} grew closer than most contemporaries had expected.",
        "A later account gives more room to {0} than to any other name of the period.",
    ),
    2: (
        "From {y} onwards the paths of {0} and {1} crossed here more than once, and both left their mark.",
        "What {0} had begun was carried on by {1} under rather different conditions in the years after {y}.",
        "Visitors compared it with {0}, while those who knew {1} saw the likeness there.",
        "The dispute of {y} set {0} against {1}, and no settlement was found for several years.",
    ),
    3: (
        "By {y} there were ties to {0}, to {1} and, less openly, to {2}, which shaped all that followed.",
        "Letters of {y} mention {0} together with {1} and name {2} as the reason for the delay.",
        "Neither {0} nor {1} could do without the help that came from {2} in the spring of {y}.",
    ),
}


def article(world: World, subject: str, headings: list[str], calibrated: bool) -> str:
    """Wikitext: a bold title and a lead, then the headings in order; all of the subject's links and
    facts.
    """
    entity = world.entity(subject)
    rng = dice(world.settings.seed, "prose", subject)
    noun = "subject" if entity is None else world.noun(entity)
    facts = [fact.sentence(subject) for fact in facts_of(world, entity)] if entity is not None else []
    sentences = linked(world, subject, world.mentions_of(subject), rng, calibrated)
    lead = [opening(subject, noun), *facts[:1], *sentences[:1]]
    return laid_out(" ".join(lead), shuffled([*facts[1:], *sentences[1:]], rng), headings)


def opening(subject: str, noun: str) -> str:
    """The first sentence of an article."""
    return f"'''{subject}''' is {'an' if noun[0] in 'aeiou' else 'a'} {noun}."


def laid_out(lead: str, rest: list[str], headings: list[str]) -> str:
    """A lead and the sentences of the rest, dealt to the headings."""
    parts = [lead]
    for i, heading in enumerate(headings):
        own_part = rest[i :: len(headings)] or ["Little is recorded of this."]
        parts.append(f"== {heading} ==\n{' '.join(own_part)}")
    if not headings:
        parts.append(" ".join(rest))
    return "\n\n".join(parts)


def shuffled(items: list[str], rng: random.Random) -> list[str]:
    """The items in a random order."""
    keyed = sorted((rng.random(), i) for i in range(len(items)))
    return [items[i] for _, i in keyed]


def linked(
    world: World,
    subject: str,
    mentions: Sequence[LinkMention],
    rng: random.Random,
    calibrated: bool,
    templates: Mapping[int, Sequence[str]] = SENTENCES,
) -> list[str]:
    """Sentences that hold the links, one to three each, in order; ``templates``: by how many they
    hold.
    """
    links = [_link(world, subject, mention, rng, calibrated) for mention in mentions]
    out = []
    at = 0
    while at < len(links):
        n = min(len(links) - at, 1 + int(rng.random() * 3))
        template = templates[n][int(rng.random() * len(templates[n]))]
        out.append(template.format(*links[at : at + n], y=1500 + int(rng.random() * 520)))
        at += n
    return out


def _link(world: World, subject: str, mention: LinkMention, rng: random.Random, calibrated: bool) -> str:
    """The link; members of groups come with a word that says what they are, as careful prose does."""
    target = mention.surface
    if calibrated:
        target = f"{target} ({link_score(world, subject, target):.2f})"
    elif rng.random() < 0.04:
        target = f"{target}|{mention.surface.split()[0]}"
    if mention.entity is None or (world.group_kind(mention.entity) == "plain" and rng.random() < 0.7):
        return f"[[{target}]]"
    return f"the {world.noun(mention.entity)} [[{target}]]"


def link_score(world: World, subject: str, surface: str) -> float:
    """The calibrated score of a link."""
    u = share(world.settings.seed, "score", subject, surface)
    low = world.settings.shares.low_scores
    return 0.40 + 0.34 * u / low if u < low else 0.76 + 0.23 * (u - low) / (1.0 - low)


def outline(world: World, subject: str, least: int, most: int, root: str | None) -> list[str]:
    """Between ``least`` and ``most`` different headings; one names the root topic if there is one."""
    rng = dice(world.settings.seed, "outline", subject)
    return chosen_headings(heading_pool(world, subject), least, most, root, rng)


def heading_pool(world: World, subject: str) -> list[str]:
    """All headings that fit a subject."""
    entity = world.entity(subject)
    kind = "" if entity is None else world.kind(entity)
    return list(dict.fromkeys([*lexicon.HEADINGS.get(kind, ()), *lexicon.OTHER_HEADINGS]))


def chosen_headings(
    pool: list[str], least: int, most: int, root: str | None, rng: random.Random
) -> list[str]:
    """Between ``least`` and ``most`` headings of a pool, in its order; one names the root topic if
    there is one.
    """
    wanted = min(len(pool), least + int(rng.random() * (most - least + 1)))
    chosen = sorted(sorted(range(len(pool)), key=lambda _: rng.random())[:wanted])
    headings = [pool[i] for i in chosen]
    if root:
        headings[len(headings) // 2] = f"Role within {root}"
    return headings


def fact_sheet(
    world: World, subject: str, facts_about: Callable[[int], Sequence[PlantedFact]] | None = None
) -> str:
    """The JSON of a self-grounding answer; ``facts_about``: the facts that another model states."""
    entity = world.entity(subject)
    if entity is None:
        return json.dumps(
            {"summary": f"Little is known of {subject}.", "aliases": [], "salient_facts": []},
            ensure_ascii=False,
        )
    seed = world.settings.seed
    facts = [
        {
            "predicate": f.predicate,
            "object": f.claimed,
            "confidence": round(0.5 + 0.5 * share(seed, "sure", entity, f.predicate), 2),
        }
        for f in (facts_about(entity) if facts_about else facts_of(world, entity))
    ]
    sheet = {
        "summary": f"{subject} is a {world.noun(entity)}.",
        "aliases": list(world.others(entity)),
        "salient_facts": facts,
    }
    return json.dumps(sheet, ensure_ascii=False)
