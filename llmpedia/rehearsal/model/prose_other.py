"""What a model with a mind of its own writes: other links and facts, words, headings and lengths,
and infoboxes.
"""

from llmpedia.rehearsal.planted.disagreements import one
from llmpedia.rehearsal.world import lexicon, prose
from llmpedia.rehearsal.world.model_profiles import OtherMind
from llmpedia.rehearsal.world.seeded_random import dice, share

_OWN_TEMPLATES = 0.5  # of all sentences of a kind that one model uses
_OWN_HEADINGS = 0.7  # of all headings that one model uses
_IN_BOX = 4  # links of an infobox at most
_SENTENCES: dict[int, tuple[str, ...]] = {
    1: (
        *prose.SENTENCES[1],
        "Without {0} there would be little to tell of the years before {y}.",
        "The name of {0} comes up wherever this is told.",
        "It took until {y} for {0} to be mentioned in this place.",
    ),
    2: (
        *prose.SENTENCES[2],
        "Both {0} and {1} were near when it began, and neither went away.",
        "After {y} it was {0}, and hardly ever {1}, that came to mind first.",
        "A link from {0} to {1} ran through here.",
    ),
    3: (
        *prose.SENTENCES[3],
        "Side by side stood {0}, {1} and {2}, as a visitor of {y} noted down.",
        "What can be told of {0} and of {1} comes down through {2}.",
        "In {y} three names were heard here again and again: {0}, {1} and {2}.",
    ),
}
# Sentences that say nothing, without a name or a figure.
_REMARKS = (
    "Much of this is better seen on a map than put into words.",
    "The weather of that year did its part as well.",
    "More than once it looked as if nothing would come of it.",
    "Those who came later found it hard to believe.",
    "For a long while nobody outside took much notice.",
    "There were smaller steps in between, and most of them are forgotten.",
    "It did not stay that way for long.",
    "What followed was quieter than anyone had foreseen.",
    "The rest happened within a few weeks.",
    "Some of it can still be seen today.",
    "Plans for more were drawn up and put aside again.",
    "In the end the simplest of all ways was taken.",
)
_BOX = (
    "origin",
    "associated with",
    "part of",
    "known for",
)  # rows that hold the links of an infobox, one to three each
_BOXED = {1: ("{0}",), 2: ("{0} and {1}",), 3: ("{0}, {1} and {2}",)}


def article(mind: OtherMind, subject: str, headings: list[str], calibrated: bool) -> str:
    """Wikitext: an infobox here and there, a bold title and a lead, then the headings in order; all
    its links and facts.
    """
    world = mind.world
    seed = mind.world.settings.seed
    entity = world.entity(subject)
    rng = dice(seed, "prose", mind.model, subject)
    noun = "subject" if entity is None else world.noun(entity)
    facts = [fact.sentence(subject) for fact in mind.facts(entity)] if entity is not None else []
    mentions = list(mind.mentions_of(subject))
    boxed = entity is not None and rng.random() < mind.knowledge.infoboxes
    in_box = mentions[1 : 1 + _IN_BOX] if boxed else []
    box = _infobox(subject, noun, prose.linked(world, subject, in_box, rng, calibrated, _BOXED))
    left = [mentions[0], *mentions[1 + len(in_box) :]] if mentions else []
    sentences = prose.linked(world, subject, left, rng, calibrated, _templates(mind))
    remarks = [one(_REMARKS, rng) for _ in range(round(mind.knowledge.remarks * len(sentences)))]
    lead = " ".join([prose.opening(subject, noun), *facts[:1], *sentences[:1]])
    text = prose.laid_out(lead, prose.shuffled([*facts[1:], *sentences[1:], *remarks], rng), headings)
    return f"{box}\n{text}" if boxed else text


def _infobox(subject: str, noun: str, values: list[str]) -> str:
    rows = [f"| name = {subject}", f"| type = {noun}"]
    rows += [f"| {name} = {value}" for name, value in zip(_BOX, values, strict=False)]
    return "\n".join(["{{Infobox " + noun, *rows, "}}"])


def _templates(mind: OtherMind) -> dict[int, tuple[str, ...]]:
    """Those sentences that this model uses."""
    out = {}
    for n, templates in _SENTENCES.items():
        preferred = tuple(t for t in templates if share("sentence", mind.model, t) < _OWN_TEMPLATES)
        out[n] = preferred or templates
    return out


def outline(mind: OtherMind, subject: str, least: int, most: int, root: str | None) -> list[str]:
    """Between ``least`` and ``most`` headings that this model uses; one names the root topic if
    there is one.
    """
    pool = [*prose.heading_pool(mind.world, subject), *lexicon.MORE_HEADINGS]
    preferred = [h for h in pool if share("heading", mind.model, h) < _OWN_HEADINGS]
    rng = dice(mind.world.settings.seed, "outline", mind.model, subject)
    return prose.chosen_headings(preferred if len(preferred) >= most else pool, least, most, root, rng)
