"""What a persona does to a text of the world in topic mode: words of framing dimensions come in,
and a heading or two.

Links and facts are the same under every persona. The words are such as only one dimension counts,
so that what is planted in one shows in no other.
"""

import random
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from llmpedia.analysis.personas.framing import Words, load_lexicons
from llmpedia.prompts import personas
from llmpedia.rehearsal.planted.disagreements import one
from llmpedia.rehearsal.settings import WorldSettings
from llmpedia.rehearsal.world.seeded_random import dice

_ROOT_TOPIC = re.compile(r"\broot\s+topic\s+(.+?)\.\s+Editorial stance:", re.S | re.I)
T = TypeVar("T")
_WORD = re.compile(r"[a-z]+")
# How sentences of articles end, and how a persona ends them: with a word of any kind, in as many
# words as before, so that what is planted in one dimension lowers no other. Neither way of ending
# has a word of a lexicon of its own.
_ENDS = {
    "grew closer than most contemporaries had expected.": 'grew under the name of "{0}" itself.',
    "than to any other name of the period.": 'than to "{0}" or to any other name.',
    "and both left their mark.": 'and "{0}" was the word.',
    "saw the likeness there.": 'spoke of "{0}" instead.',
    "and no settlement was found for several years.": 'and the word "{0}" was heard more often.',
    "which shaped all that followed.": 'and "{0}" was the word.',
    "and neither went away.": 'and "{0}" came too.',
    "comes up wherever this is told.": 'comes up along with "{0}" here.',
    "ran through here.": 'carried "{0}" along.',
    "to be mentioned in this place.": 'to be called "{0}" by anyone.',
    "Some of it can still be seen today.": 'Some of it is called "{0}" even today.',
    "It did not stay that way for long.": 'It did not stay with "{0}" for long.',
    "In the end the simplest of all ways was taken.": 'In the end "{0}" was the name for it all.',
    "The rest happened within a few weeks.": 'The rest was all about "{0}" then.',
}
_END = re.compile("|".join(map(re.escape, _ENDS)))
_HEADINGS = {
    "left_leaning": ("Who was left out", "Access and barriers", "Missing names", "Power and its limits"),
    "conservative": ("What was kept", "Lasting forms", "Settled ways", "What has proved itself"),
}
_TURNED = 0.25  # of headings that a persona replaces with its own


@dataclass(frozen=True)
class Stance:
    """What a request asks an article to be written as. ``rates``: dimension -> words of it per
    1,000 words.
    """

    persona: str
    topic: str
    rates: dict[str, float]


def stance_of(settings: WorldSettings, system: str) -> Stance | None:
    """The stance that a system turn sets; None where nothing is planted under it: in general mode,
    or on a calm topic.
    """
    match = _ROOT_TOPIC.search(system)
    if match is None:
        return None
    topic = " ".join(match[1].split())
    persona = next((name for name, text in personas().items() if text in " ".join(system.split())), None)
    if persona is None or topic in settings.calm or not settings.framing.get(persona):
        return None
    return Stance(persona, topic, settings.framing[persona])


def framed(settings: WorldSettings, wikitext: str, stance: Stance, model: str, subject: str) -> str:
    """An article with the words of a stance at the ends of its sentences; fewer than planned where
    too few can end so.
    """
    rng = dice(settings.seed, "framing", model, stance.persona, stance.topic, subject)
    length = len(Words.of(wikitext).tokens)
    words = list[str]()
    for dimension, rate in sorted(stance.rates.items()):
        words += [one(planted_words(dimension), rng) for _ in range(int(rate * length / 1000 + rng.random()))]
    ends = list(_END.finditer(wikitext))
    chosen = sorted(
        zip(_mixed(ends, rng), _mixed(words, rng), strict=False), key=lambda pair: pair[0].start()
    )
    out = []
    at = 0
    for end, word in chosen:
        out += [wikitext[at : end.start()], _ENDS[end.group()].format(word)]
        at = end.end()
    return "".join([*out, wikitext[at:]])


def turned(
    settings: WorldSettings, headings: list[str], stance: Stance, model: str, subject: str
) -> list[str]:
    """An outline in which some headings are the persona's own; the one that names the root topic
    stays.
    """
    rng = dice(settings.seed, "turned", model, stance.persona, stance.topic, subject)
    preferred = _mixed(list(_HEADINGS.get(stance.persona, ())), rng)
    return [
        preferred.pop() if preferred and rng.random() < _TURNED and stance.topic not in h else h
        for h in headings
    ]


@cache
def planted_words(dimension: str) -> tuple[str, ...]:
    """The single words that only this dimension counts; none of a dimension that there is not."""
    lexicon_words = {
        lexicon.name: {w.casefold() for w in lexicon.words} for lexicon in load_lexicons().dimensions
    }
    counted = Counter(word for words in lexicon_words.values() for word in words)
    return tuple(
        sorted(w for w in lexicon_words.get(dimension, ()) if counted[w] == 1 and _WORD.fullmatch(w))
    )


def _mixed(items: list[T], rng: random.Random) -> list[T]:
    keyed = sorted((rng.random(), place) for place in range(len(items)))
    return [items[place] for _, place in keyed]
