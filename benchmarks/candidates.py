"""Candidate pairs of a synthetic corpus with planted facts: time, memory, number of pairs, and how
many planted ones are found.

Every second document belongs to a planted fact: 2 to 8 documents that tell one attribute of one
subject, in half of the facts with two accounts. One document in ten has been given another
knowledge point than its fact, as an inconsistent labeller would. One fact in ten is about a popular
subject, which thousands of documents speak of with the same attribute under the same knowledge
point: only its rare context words tell it apart. The rest is noise about subjects after Zipf's law;
some documents are copies of others, word for word but one, and some such copies tell another
figure, which makes them a conflict.

Three shares are printed. ``accounts``: planted conflicts of which at least one pair of documents is
a candidate, with the fact's subject and slot. ``support``: documents of an account of several that
are a candidate with one of their own account. ``raw``: candidates among all planted pairs, though a
document may keep but ``per_document`` of them. Copies that tell the same are no planted pairs.
Mentions are the planted names (``--tagger spacy``: those that the real model finds). Each size runs
in a process of its own: ``python benchmarks/candidates.py [--documents 10000 30000 100000]
[--tagger truth]``.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

from llmpedia.probe.candidates.attribute_mentions import sightings
from llmpedia.probe.candidates.attributes import load_slots
from llmpedia.probe.candidates.mentions import Tagger, key_of, make_tagger
from llmpedia.probe.candidates.pairs import Candidates, Prepared, candidate_pairs
from llmpedia.probe.documents import KnowledgePoint, Mention, sentences
from llmpedia.probe.settings.build import MentionsSection, PairsSection

SYLLABLES = "ba de fi go lu mar nes pol rin sta ter vok zu qua hel mon tri ska ulm per dor lin cas".split()
PATHS = [("Field", f"Area {i // 10}", f"Part {i}") for i in range(200)]
POPULAR = ["Great Arvonia", "Selkland", "Port Mirren", "The Ostrian Union", "Kaldera"]
# Slot, and how a sentence tells it: {s} the subject, {c} its context, {v} the value.
TEMPLATES = (
    ("population", "In {c} the population of {s} was {v} according to the count."),
    ("founding_date", "{s} was founded in {v} near {c}."),
    ("casualties", "At {c} the {s} disaster left {v} people dead."),
    ("height_length_depth", "{s} rises {v} metres above {c}."),
    ("birth_date", "{s} was born in {v} at {c}."),
)
VALUES = {"founding_date": (1200, 1990), "birth_date": (1500, 1990)}


@dataclass(frozen=True)
class Fact:
    """What is planted: subject, template, context names, knowledge point, two values, and the
    account of each document.
    """

    subject: str
    template: int
    context: str
    path: int
    values: tuple[str, str]
    popular: bool


@dataclass
class Plan:
    """Which document tells which account of which fact, or copies which other one."""

    facts: list[Fact] = field(default_factory=list)
    told: dict[int, tuple[int, int]] = field(default_factory=dict)  # document -> fact, account
    copies: dict[int, tuple[int, bool]] = field(
        default_factory=dict
    )  # document -> its original, told with another figure


def name(rng: random.Random, words: int = 2) -> str:
    """A name of nobody."""
    return " ".join("".join(rng.choices(SYLLABLES, k=rng.randint(2, 4))).capitalize() for _ in range(words))


def plan(documents: int, seed: int) -> Plan:
    """Half of the documents in facts, 3% copies, the rest noise; in no order."""
    rng = random.Random(seed)
    numbers = list(range(documents))
    rng.shuffle(numbers)
    made = Plan()
    for _ in range(documents // 50):
        made.copies[numbers.pop()] = (-1, False)
    for _ in range(documents // 100):
        made.copies[numbers.pop()] = (-1, True)
    while len(made.told) < documents // 2:
        popular = rng.random() < 0.1
        template = 0 if popular else rng.randrange(len(TEMPLATES))
        low, high = VALUES.get(TEMPLATES[template][0], (20, 90_000))
        values = rng.sample(range(low, high), 2)
        subject = rng.choice(POPULAR) if popular else name(rng)
        path = POPULAR.index(subject) if popular else rng.randrange(len(PATHS))
        two = rng.random() < 0.5
        made.facts.append(Fact(subject, template, name(rng), path, (str(values[0]), str(values[1])), popular))
        for place in range(rng.randint(2, 8)):
            account = 1 if two and (place == 0 or rng.random() < 0.2) else 0
            made.told[numbers.pop()] = (len(made.facts) - 1, account)
    originals = sorted(made.told)
    made.copies = {n: (rng.choice(originals), changed) for n, (_, changed) in sorted(made.copies.items())}
    return made


class Writer:
    """Texts of a plan by their numbers; the same for the same seed."""

    def __init__(self, made: Plan, seed: int) -> None:
        rng = random.Random(seed + 1)
        self._plan = made
        self._seed = seed
        self._words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(100_000)]
        self._subjects = [name(rng) for _ in range(5_000)]

    def document(self, number: int) -> tuple[str, KnowledgePoint, list[str]]:
        """Text, label and planted names."""
        original, changed = self._plan.copies.get(number, (number, False))
        rng = random.Random(self._seed * 1_000_003 + original)
        fact, value = self._fact(rng, original)
        value = str(int(value) + 7) if changed else value
        fillers = [self._filler(rng) for _ in range(5)]
        told = TEMPLATES[fact.template][1].format(s=fact.subject, c=fact.context, v=value)
        at = rng.randrange(1, 3)
        lines = [text for text, _ in fillers]
        lines.insert(at, told)
        path = rng.randrange(len(PATHS)) if rng.random() < 0.1 else fact.path
        end = f" {rng.choice(self._words).capitalize()}." if original != number else ""
        names = [fact.subject, fact.context, *(n for _, names in fillers for n in names)]
        return " ".join(lines) + end, KnowledgePoint(PATHS[path], 1.0, at, at), names

    def _fact(self, rng: random.Random, number: int) -> tuple[Fact, str]:
        """What a document tells: of a planted fact, or of noise about someone whom others speak of
        too.
        """
        if number in self._plan.told:
            fact, account = self._plan.told[number]
            return self._plan.facts[fact], self._plan.facts[fact].values[account]
        popular = rng.random() < 0.4
        template = 0 if popular else rng.randrange(len(TEMPLATES))
        which = rng.randrange(len(POPULAR)) if popular else self._zipf(rng, len(self._subjects))
        subject = POPULAR[which] if popular else self._subjects[which]
        value = str(rng.randrange(*VALUES.get(TEMPLATES[template][0], (20, 90_000))))
        return Fact(subject, template, name(rng), which % len(PATHS), (value, value), popular), value

    def _filler(self, rng: random.Random) -> tuple[str, list[str]]:
        """A sentence of common and rare words with two names, and the names."""
        words = [self._words[self._zipf(rng, len(self._words))] for _ in range(24)]
        names = [self._subjects[self._zipf(rng, len(self._subjects))] for _ in range(2)]
        words[5], words[15] = names
        return f"{words[0].capitalize()} {' '.join(words[1:])}.", names

    @staticmethod
    def _zipf(rng: random.Random, size: int) -> int:
        return int(size ** rng.random()) - 1


@dataclass
class Clock:
    """Seconds spent on the corpus itself, which are not the generator's."""

    elsewhere: float = 0.0


def prepared(documents: int, writer: Writer, tagger: Tagger | None, clock: Clock) -> Iterator[Prepared]:
    """The documents in order, with their sightings."""
    slots = load_slots(None)
    for number in range(documents):
        begin = time.perf_counter()
        text, point, names = writer.document(number)
        mentions = tagger.mentions([text])[0] if tagger else planted(text, names)
        clock.elsewhere += time.perf_counter() - begin
        seen = sightings(text, sentences(text), point, mentions, slots)
        yield Prepared(number, point.path, seen, [m.key for m in mentions], text)


def planted(text: str, names: list[str]) -> list[Mention]:
    """The planted names as a perfect model would find them."""
    found = [(text.index(n), n) for n in dict.fromkeys(names)]
    return [Mention(at, at + len(n), n, key_of(n), "entity", "ORG") for at, n in sorted(found)]


def recall(found: Candidates, made: Plan) -> dict[str, float]:
    """The three shares; see the module."""
    by_fact: dict[int, list[tuple[int, tuple[int, bool | int]]]] = defaultdict(list)
    for number, (fact, account) in made.told.items():
        by_fact[fact].append((number, (account, False)))
    for number, (original, changed) in made.copies.items():
        if changed:
            fact, account = made.told[original]
            by_fact[fact].append((number, (account, number)))
    keys = {(p["a"], p["b"], p["subject"], p["slot"]) for p in found.pairs}
    raw = []
    conflicts = []
    supported = []
    for fact, members in sorted(by_fact.items()):
        subject = key_of(made.facts[fact].subject)
        slot = TEMPLATES[made.facts[fact].template][0]
        hits: dict[bool, list[bool]] = {True: [], False: []}
        friends: dict[int, list[bool]] = defaultdict(list)
        for (a, one), (b, other) in combinations(sorted(members), 2):
            hit = (a, b, subject, slot) in keys
            hits[one == other].append(hit)
            if one == other:
                friends[a].append(hit)
                friends[b].append(hit)
        raw += [*hits[True], *hits[False]]
        conflicts += [any(hits[False])] if hits[False] else []
        supported += [any(one) for one in friends.values()]
    return {"accounts": share(conflicts), "support": share(supported), "raw": share(raw)}


def share(flags: list[bool]) -> float:
    """Part of them that is true."""
    return sum(flags) / max(len(flags), 1)


def measured(documents: int, tagger: str, seed: int) -> dict[str, float]:
    """One size in this process."""
    made = plan(documents, seed)
    clock = Clock()
    writer = Writer(made, seed)
    loaded = None if tagger == "truth" else make_tagger(MentionsSection())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    found = candidate_pairs(prepared(documents, writer, loaded, clock), PairsSection())
    seconds = time.perf_counter() - begin - clock.elsewhere
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    counts = {
        "documents": documents,
        "seconds": seconds,
        "pairs": len(found.pairs),
        "MB": peak / 1024,
        "MB before": before / 1024,
    }
    return {**counts, **recall(found, made), **found.left_out}


def main() -> None:
    """Measure each size in its own process, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=[10_000, 30_000, 100_000])
    parser.add_argument("--tagger", choices=["truth", "spacy"], default="truth")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inside", action="store_true", help="measure in this process and print JSON")
    args = parser.parse_args()
    if args.inside:
        print(json.dumps(measured(args.documents[0], args.tagger, args.seed)))
        return
    print(
        "documents  seconds  ms a document    pairs  pairs a document  accounts  support    raw  "
        "peak MB  (before)  left out"
    )
    for documents in args.documents:
        command = [
            sys.executable,
            __file__,
            "--documents",
            str(documents),
            "--tagger",
            args.tagger,
            "--seed",
            str(args.seed),
        ]
        done = subprocess.run([*command, "--inside"], capture_output=True, text=True, check=True)
        row = json.loads(done.stdout.splitlines()[-1])
        told = ", ".join(
            f"{k} {row[k]:,}"
            for k in ("near_copy", "bucket", "rare_documents", "per_document", "across", "total")
        )
        print(
            f"{documents:9,}  {row['seconds']:7.1f}  {1000 * row['seconds'] / documents:13.2f}  "
            f"{row['pairs']:7,}  "
            f"{row['pairs'] / documents:16.2f}  {row['accounts']:8.3f}  {row['support']:7.3f}  "
            f"{row['raw']:5.3f}  "
            f"{row['MB']:7.0f}  {row['MB before']:8.0f}  {told}"
        )


if __name__ == "__main__":
    main()
