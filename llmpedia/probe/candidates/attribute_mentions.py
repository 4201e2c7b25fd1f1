"""Sightings: in which sentence of a document's evidence whom is seen with which attribute. They
decide who is compared with whom.

Rather too many than too few: a sighting in vain costs a comparison by the model, which then says
``none``; one that is missing loses a fact for good. So a sentence of a slot counts for each name in
it, be it the subject or the value. Who is meant by a pronoun is guessed in the simplest way that
does not lose the subject: whoever the sentence before was about.
"""

import re
from collections.abc import Iterable, Sequence

from llmpedia.probe.candidates.attributes import Slots
from llmpedia.probe.candidates.mentions import TITLE
from llmpedia.probe.documents import KnowledgePoint, Mention, Sighting

MOST_SUBJECTS = 4  # of a sentence, besides the title
_HANDED_ON = 2  # subjects that a sentence with a pronoun takes over

_PERSONS = frozenset({"person", "per"})

_Named = dict[str, str]  # key -> surface, in order


def sightings(
    text: str,
    sentences: Sequence[tuple[int, int]],
    point: KnowledgePoint,
    mentions: Iterable[Mention],
    slots: Slots,
) -> list[Sighting]:
    """Each (sentence, subject, slot) of a document's evidence once, in order of the text.

    The evidence is what the knowledge point points at; a fact in another sentence is not what the
    document was labelled for. Subjects are found over the whole document up to there, since the one
    who is meant is usually named before.
    """
    listed = list(mentions)
    title = next(({m.key: m.surface} for m in listed if m.label == TITLE), {})
    subjects = _subjects(text, sentences[: point.last + 1], listed, slots)
    sightings_of = []
    for i in range(max(point.first, 0), len(subjects)):
        start, end = sentences[i]
        spoken = slots.of(text[start:end])
        seen = {**title, **subjects[i]} if spoken else {}
        sightings_of += [Sighting(i, key, surface, slot) for key, surface in seen.items() for slot in spoken]
    return sightings_of


def _subjects(
    text: str, sentences: Sequence[tuple[int, int]], mentions: list[Mention], slots: Slots
) -> list[_Named]:
    """Whom each sentence may be about, at most :data:`MOST_SUBJECTS`.

    Those it names; before them, where it holds a pronoun or names nobody, the first of those that
    the sentence before was about. So "He was born in Ulm. He died in 1955." speaks of him twice,
    not of Ulm the second time.
    """
    named = _named(sentences, mentions)
    subjects: list[_Named] = []
    before: _Named = {}
    for (start, end), named_here in zip(sentences, named, strict=True):
        taken = before and (not named_here or slots.refers(text[start:end]))
        about = {**dict(list(before.items())[:_HANDED_ON]), **named_here} if taken else named_here
        subjects.append(dict(list(about.items())[:MOST_SUBJECTS]))
        before = subjects[-1] or before
    return subjects


def _named(sentences: Sequence[tuple[int, int]], mentions: list[Mention]) -> list[_Named]:
    """Whom each sentence names; the title counts where the text holds it."""
    full = _full_names(mentions)
    ordered = sorted((m for m in mentions if m.start < m.end), key=lambda m: m.start)
    named: list[_Named] = []
    at = 0
    for start, end in sentences:
        inside: _Named = {}
        while at < len(ordered) and ordered[at].start < end:
            mention = ordered[at]
            if mention.start >= start:
                whole = full.get(mention.key, mention)
                inside.setdefault(whole.key, mention.surface if whole is mention else whole.surface)
            at += 1
        named.append(inside)
    return named


def _full_names(mentions: list[Mention]) -> dict[str, Mention]:
    """Key of a person's last name -> the first longer name of the document that ends with it:
    "Bush" is Vannevar Bush.

    For persons only: after New York, York is another town.
    """
    full: dict[str, Mention] = {}
    alone = {
        m.surface.casefold(): m.key
        for m in mentions
        if m.label.casefold() in _PERSONS and not re.search(r"\s", m.surface)
    }
    for mention in mentions:
        words = mention.surface.casefold().split()
        person = mention.label.casefold() in _PERSONS or mention.label == TITLE
        if person and len(words) > 1 and words[-1] in alone:
            full.setdefault(alone[words[-1]], mention)
    return full
