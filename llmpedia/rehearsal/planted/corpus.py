"""The documents that planted facts are told in, and what is true of each: a corpus for ``llmpedia
probe build``.

``llmpedia rehearse corpus --out DIR`` writes them as ``DIR/documents.jsonl.gz``, a document a line
under ``url`` and ``text``.
"""

import gzip
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from llmpedia.rehearsal.planted import words
from llmpedia.rehearsal.planted.disagreements import (
    PlantedFact,
    PlantedSubject,
    Subjects,
    new_value,
    one,
    planted,
    some,
)
from llmpedia.rehearsal.planted.kinds import PlantedAttribute
from llmpedia.rehearsal.world.seeded_random import dice, share
from llmpedia.rehearsal.world.world import World

Role = Literal["account", "agreeing", "compatible", "context", "trap", "noise"]
Relation = Literal["support", "conflict", "none"]
FILE = "documents.jsonl.gz"
# sentences beside the lead, the mark and the fact
_FEWEST = 4
_MOST = 7
_TELLING = frozenset({"account", "agreeing", "compatible"})
_WITH_A_FACT = 0.5  # of the documents of noise: a fact that no other document is about


@dataclass(frozen=True, slots=True)
class PlantedDocument:
    """A document. ``fact``: number of the planted fact it bears on; ``account``: place of the
    account that it gives.

    ``copy_of``: address of the document that it repeats all but verbatim.
    """

    url: str
    text: str
    role: Role
    fact: int | None = None
    account: int | None = None
    copy_of: str | None = None


def true_relation(one: PlantedDocument, other: PlantedDocument) -> Relation:
    """What two documents are to each other, by the facts they were made from."""
    if one.fact is None or one.fact != other.fact or not {one.role, other.role} <= _TELLING:
        return "none"
    return "support" if one.account == other.account else "conflict"


def documents(world: World) -> Iterator[dict[str, str]]:
    """Address and text of each document, in the order of the corpus."""
    return ({"url": d.url, "text": d.text} for d in planted_documents(world))


def truth(world: World) -> dict[str, PlantedDocument]:
    """Address -> document."""
    return {d.url: d for d in planted_documents(world)}


@lru_cache(maxsize=4)
def planted_documents(world: World) -> tuple[PlantedDocument, ...]:
    """All documents, shuffled. Their addresses have different hosts."""
    seed = world.settings.seed
    documents = list[PlantedDocument]()
    for fact in planted(world):
        for role, account, subject, sentence in _told(fact, seed):
            text = _text(subject, sentence, dice(seed, "document", len(documents)))
            documents.append(PlantedDocument(_url(subject, len(documents)), text, role, fact.number, account))
    documents += _noise(world, len(documents))
    for original in tuple(documents):
        if (
            original.role in _TELLING
            and share(seed, "copied", original.url) < world.settings.disagreements.near_copies
        ):
            documents.append(_copy(original, seed, len(documents)))
    return tuple(sorted(documents, key=lambda d: share(seed, "order", d.url)))


def write_corpus(world: World, folder: Path) -> Path:
    """Write the file; its bytes are the same each time.

    Raises:
        OSError: it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(d, ensure_ascii=False) + "\n" for d in documents(world))
    path = folder / FILE
    path.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))
    return path


def _told(fact: PlantedFact, seed: int) -> Iterator[tuple[Role, int | None, PlantedSubject, str]]:
    """Role, account, subject and the telling sentence of each document on a fact."""
    rng = dice(seed, "told", fact.number)
    role: Role = "account" if fact.disputed else "agreeing"
    subject = fact.subject
    slot = fact.slot
    context = fact.context
    for place, account in enumerate(fact.accounts):
        for _ in range(account.documents):
            yield role, place, subject, statement(slot, subject.name, account.value, context, rng)
    if fact.compatible is not None:
        also = fact.accounts[fact.compatible].also
        yield "compatible", fact.compatible, subject, statement(slot, subject.name, also, context, rng)
    if fact.elsewhere is not None:
        yield "context", None, subject, statement(slot, subject.name, fact.strange[0], fact.elsewhere, rng)
    if fact.trap is not None:
        yield "trap", None, fact.trap, statement(slot, fact.trap.name, fact.strange[1], context, rng)


def statement(slot: PlantedAttribute, name: str, value: str, context: str | None, rng: random.Random) -> str:
    """A sentence that states a value."""
    opener = one(words.OPENERS, rng).format(q=one(words.SOURCES, rng))
    shown = value if slot.value != "date" else f"on {value}" if " " in value else f"in {value}"
    return f"{opener}{one(slot.cores, rng).format(s=name, v=shown, c=context)}{one(words.TAILS, rng)}."


def introduction(subject: PlantedSubject, rng: random.Random) -> str:
    """The sentence that a text on a subject begins with: its name, what it is and where it belongs."""
    noun = f"an {subject.noun}" if subject.noun[0] in "aeiou" else f"a {subject.noun}"
    return one(words.LEADS, rng).format(s=subject.name, n=noun, p=subject.kind.preposition, r=subject.region)


def remark(subject: PlantedSubject, rng: random.Random) -> str:
    """The sentence on what a subject is known for."""
    return one(words.MARKS, rng).format(s=subject.name, m=subject.mark)


def _text(subject: PlantedSubject, sentence: str | None, rng: random.Random) -> str:
    count = _FEWEST + int(rng.random() * (_MOST - _FEWEST + 1))
    fillers = [
        _filler(template, subject, rng) for template in some(words.FILLERS, count + (sentence is None), rng)
    ]
    body = [remark(subject, rng), *fillers, *([sentence] if sentence else [])]
    return " ".join([introduction(subject, rng), *some(body, len(body), rng)])


def page_text(subject: PlantedSubject, sentence: str, rng: random.Random) -> str:
    """The text of a web page that states something, as paragraphs."""
    fillers = [_filler(template, subject, rng) for template in some(words.FILLERS, _FEWEST, rng)]
    return "\n\n".join(
        [
            f"{introduction(subject, rng)} {remark(subject, rng)}",
            f"{fillers[0]} {sentence}",
            " ".join(fillers[1:]),
        ]
    )


def _filler(template: str, subject: PlantedSubject, rng: random.Random) -> str:
    drawn = {key: one(options, rng) for key, options in words.FILLER_WORDS.items()}
    return template.format(n=subject.noun, o=f"{one(words.GIVEN, rng)} {one(words.FAMILY, rng)}", **drawn)


def _noise(world: World, first: int) -> Iterator[PlantedDocument]:
    """Documents on subjects of their own, some with a fact."""
    makers = Subjects(world, planted(world))
    seed = world.settings.seed
    for n in range(first, first + world.settings.disagreements.noise):
        rng = dice(seed, "document", n)
        subject = makers.new(rng)
        sentence = None
        if rng.random() < _WITH_A_FACT:
            slot = one(subject.kind.slots, rng)
            context = one(slot.contexts, rng) if slot.contexts else None
            sentence = statement(slot, subject.name, new_value(slot, subject, rng), context, rng)
        yield PlantedDocument(_url(subject, n), _text(subject, sentence, rng), "noise")


def _copy(original: PlantedDocument, seed: int, number: int) -> PlantedDocument:
    closing = one(words.CLOSINGS, dice(seed, "closing", original.url))
    url = f"https://site{number}.example/copies/{number}.html"
    return replace(original, url=url, text=f"{original.text} {closing}", copy_of=original.url)


def _url(subject: PlantedSubject, number: int) -> str:
    slug = "".join(c if c.isalnum() else "-" for c in subject.name.lower())
    return f"https://site{number}.example/notes/{slug}.html"
