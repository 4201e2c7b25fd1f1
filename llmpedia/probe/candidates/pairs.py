"""Candidate pairs: which two documents a model is asked to compare, and on what (paper, section
3.2).

Documents of one knowledge point are compared where both are seen with the same attribute of the
same subject (route ``point``); documents of different ones where they are seen with the same
attribute of the same rare subject, or at least name someone rare (route ``mention``). What grows
with the square of the documents is bounded: large buckets go by shared rare words and by accounts,
each document keeps few pairs for a fact, half of them with documents that tell the same figures and
half with others, so that neither support nor conflict starves.

Only small numbers are kept of a document, never its text. The pairs depend on the documents, not on
the order they come in.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from llmpedia.probe.candidates.accounts import Accounts
from llmpedia.probe.candidates.attributes import Slots, load_slots
from llmpedia.probe.candidates.blocking import (
    Places,
    all_pairs,
    by_account,
    by_shared,
    chained,
    joined,
    near,
    unshared,
)
from llmpedia.probe.candidates.pair_selection import chosen
from llmpedia.probe.candidates.text_sketches import Floats, Ints, Rows, SealedTexts, TextSketches, rarest
from llmpedia.probe.documents import Sighting, sentences
from llmpedia.probe.settings.build import PairsSection

POINT = "point"
MENTION = "mention"
LEFT_OUT_BY = ("near_copy", "bucket", "rare_documents", "per_document", "across", "total")

# A pair's score is that of its kind, and up to 3 for how alike the documents are, what rare words
# or names they share, and how few documents speak of the fact.
_POINT = 6.0
_ACROSS = 3.0
_OPEN = 0.0
_MANY_SHARED = 4
# Among the pairs of one document and fact, what the same knowledge point is worth against shared
# words and likeness.
_SAME_POINT = 0.5
_CHUNK = 500_000  # candidates looked at together
_RARE_MENTIONS = 8  # of a document, by which it looks for others
_REACH = 8  # documents of a mention, to either side, that it is compared with


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is looked at of a document. ``mentions``: keys of all it names."""

    number: int
    path: tuple[str, ...]
    sightings: list[Sighting]
    mentions: list[str]
    text: str


@dataclass
class Candidates:
    """Rows of the table ``pairs``, best first, and how many pairs each setting left out.

    ``near_copy``: copies; ``bucket``: never looked at in a large bucket; ``rare_documents``: the
    same across knowledge points, where too many documents speak of a fact; ``per_document``,
    ``across``, ``total``: over the limit. Pairs that share nothing but a mention are counted only
    from where they are looked at.
    """

    pairs: list[dict[str, Any]]
    left_out: dict[str, int]


def candidate_pairs(documents: Iterable[Prepared], settings: PairsSection) -> Candidates:
    """The pairs of some documents, in time and number that grow like the documents.

    Raises:
        ConfigError: the file of slots is at fault.
        ValueError: two documents have one number.
    """
    corpus = _Corpus(load_slots(settings.slots))
    for document in documents:
        corpus.add(document)
    return _Search(corpus, settings).candidates()


class _Corpus:
    """Documents as columns of small numbers, in the order in which they come."""

    def __init__(self, slots: Slots) -> None:
        self.slots = slots
        self.accounts = Accounts()
        self.texts = TextSketches()
        self.numbers = array("q")
        self.path = array("q")
        self.fact_document, self.fact_subject, self.fact_slot, self.fact_account = (
            array("q") for _ in range(4)
        )
        self.mention_document = array("q")
        self.mention_name = array("q")
        self.names: dict[str, int] = {}
        self.paths: dict[tuple[str, ...], int] = {}
        self._slot_of = {name: i for i, name in enumerate(slots.names)}

    def add(self, document: Prepared) -> None:
        """Take in one more document."""
        place = len(self.numbers)
        self.numbers.append(document.number)
        self.path.append(self.paths.setdefault(document.path, len(self.paths)))
        self.texts.add(document.text)
        for key in sorted(set(document.mentions)):
            self.mention_document.append(place)
            self.mention_name.append(self._name(key))
        for (subject, slot), values in self._told(document).items():
            self.fact_document.append(place)
            self.fact_subject.append(self._name(subject))
            self.fact_slot.append(self._slot_of[slot])
            self.fact_account.append(self.accounts.add(values))

    def _name(self, key: str) -> int:
        return self.names.setdefault(key, len(self.names))

    def _told(self, document: Prepared) -> dict[tuple[str, str], frozenset[str]]:
        """(subject, slot) -> the values of all sentences that speak of it; a subject's own name is
        none.
        """
        if not document.sightings:
            return {}
        cuts = sentences(document.text)
        facts = dict[tuple[str, str], frozenset[str]]()
        values: dict[tuple[int, str], frozenset[str]] = {}
        for seen in document.sightings:
            key = (seen.sentence, seen.slot)
            if key not in values:
                start, end = cuts[seen.sentence]
                values[key] = self.slots.values_in(seen.slot, document.text[start:end])
            value = values[key]
            if self.slots.takes_names(seen.slot):
                value = value.difference(seen.surface.casefold().split())
            facts[seen.subject, seen.slot] = facts.get((seen.subject, seen.slot), frozenset()) | value
        return facts


@dataclass
class _Found:
    """Pairs of documents (in order of their numbers) that are kept."""

    a: Ints
    b: Ints
    point: npt.NDArray[np.bool_]
    subject: Ints
    slot: Ints
    score: Floats

    def where(self, kept: Any) -> "_Found":
        return _Found(*(column[kept] for column in vars(self).values()))


def _together(parts: list[_Found]) -> _Found:
    return _Found(
        *(np.concatenate(columns) for columns in zip(*(vars(p).values() for p in parts), strict=True))
    )


class _Search:
    """All columns sorted, so that nothing depends on the order of arrival; then the pairs, group by
    group.
    """

    def __init__(self, corpus: _Corpus, settings: PairsSection) -> None:
        self._settings = settings
        self._left_out = Counter(dict.fromkeys(LEFT_OUT_BY, 0))
        numbers = np.frombuffer(corpus.numbers, np.int64)
        self._place = np.argsort(
            numbers, kind="stable"
        )  # of a document in order of numbers, where its texts are
        self._numbers = numbers[self._place]
        if len(np.unique(numbers)) < len(numbers):
            raise ValueError("two documents have one number")
        rank = np.empty(len(numbers), np.int64)
        rank[self._place] = np.arange(len(numbers))
        self._names = sorted(corpus.names)
        name = _ranks(corpus.names)
        self._slots = corpus.slots.names
        self._accounts = corpus.accounts
        self._texts: SealedTexts = corpus.texts.sealed()
        self._path = _ranks(corpus.paths)[np.frombuffer(corpus.path, np.int64)[self._place]]
        columns = (corpus.fact_document, corpus.fact_subject, corpus.fact_slot, corpus.fact_account)
        document, subject, slot, account = (np.frombuffer(c, np.int64) for c in columns)
        document = rank[document]
        subject = name[subject]
        order = np.lexsort((document, self._path[document], slot, subject))
        self._document, self._subject, self._slot, self._account = (
            c[order] for c in (document, subject, slot, account)
        )
        self._mentioned = (
            rank[np.frombuffer(corpus.mention_document, np.int64)],
            name[np.frombuffer(corpus.mention_name, np.int64)],
        )
        self._spread = np.bincount(
            self._mentioned[1], minlength=len(self._names)
        )  # documents that mention a name
        self._seen: list[Ints] = []  # pairs of documents across knowledge points that share a fact

    def candidates(self) -> Candidates:
        """See :func:`candidate_pairs`."""
        parts = [self._judged(chunk, sizes) for chunk, sizes in self._groups()]
        pairs = _together([_nothing(), *parts, self._open()])
        order = np.lexsort((pairs.slot, pairs.subject, pairs.b, pairs.a, -pairs.score))
        pairs = pairs.where(order)
        across = np.cumsum(~pairs.point) > self._settings.across
        pairs = self._without(pairs, across & ~pairs.point, "across")
        pairs = self._without(pairs, np.arange(len(pairs.a)) >= self._settings.total, "total")
        return Candidates(list(self._rows(pairs)), dict(self._left_out))

    def _without(self, pairs: _Found, out: npt.NDArray[np.bool_], reason: str) -> _Found:
        self._left_out[reason] += int(out.sum())
        return pairs.where(~out)

    def _rows(self, pairs: _Found) -> Iterator[dict[str, Any]]:
        a = self._numbers[pairs.a].tolist()
        b = self._numbers[pairs.b].tolist()
        columns = (pairs.point.tolist(), pairs.subject.tolist(), pairs.slot.tolist(), pairs.score.tolist())
        for i, (one, other, point, subject, slot, score) in enumerate(zip(a, b, *columns, strict=True)):
            yield {
                "pair_id": i,
                "a": one,
                "b": other,
                "route": POINT if point else MENTION,
                "subject": self._names[subject],
                "slot": self._slots[slot] if slot >= 0 else None,
                "score": score,
            }

    def _groups(self) -> Iterator[tuple[Places, Ints]]:
        """Pairs of facts (same subject, same slot) to be judged, with the size of their group; a
        group is never parted.
        """
        changed = (np.diff(self._subject) != 0) | (np.diff(self._slot) != 0)
        starts = (
            np.concatenate(([0], np.flatnonzero(changed) + 1))
            if len(self._subject)
            else np.zeros(0, np.int64)
        )
        sizes = np.diff(np.concatenate((starts, [len(self._subject)])))
        for size in range(2, self._settings.bucket + 1):
            pairs = all_pairs(size)
            at = starts[sizes == size]
            step = max(_CHUNK // len(pairs.a), 1)
            for i in range(0, len(at), step):
                some = at[i : i + step, None]
                a = (some + pairs.a).ravel()
                b = (some + pairs.b).ravel()
                yield unshared(a, b), np.full(len(a), size)
        held: list[Places] = []
        large: list[Ints] = []
        for start, size in zip(
            starts[sizes > self._settings.bucket], sizes[sizes > self._settings.bucket], strict=True
        ):
            pairs = self._large(int(start), int(size))
            held.append(pairs)
            large.append(np.full(len(pairs.a), size))
            if sum(len(p.a) for p in held) > _CHUNK:
                yield chained(held), np.concatenate(large)
                held = []
                large = []
        if held:
            yield chained(held), np.concatenate(large)

    def _large(self, start: int, size: int) -> Places:
        """Pairs of a group of more documents than all of which are compared."""
        bucket = self._settings.bucket
        rare = self._settings.rare_documents
        documents = self._document[start : start + size]
        path = self._path[documents]
        edges = np.flatnonzero(np.concatenate(([True], np.diff(path) != 0, [True])))
        near_words = by_shared(self._rare_words, self._rare_names, documents)
        same = path[near_words.a] == path[near_words.b]
        shares = np.diff(edges)
        parts = [near_words.where(same)]
        for left, count in zip(edges[:-1].tolist(), shares.tolist(), strict=True):
            accounts = self._account[start + left : start + left + count]
            inside = (
                all_pairs(count)
                if count <= bucket
                else by_account(accounts, max(self._settings.per_document // 2, 1))
            )
            parts.append(inside.moved(left))
        within = joined(parts)
        self._left_out["bucket"] += int((shares * (shares - 1) // 2).sum()) - len(within.a)
        if size <= rare:
            every = all_pairs(size)
            across = joined([near_words.where(~same), every.where(path[every.a] != path[every.b])])
        else:
            across = near_words.where(~same)
            possible = size * (size - 1) // 2 - int((shares * (shares - 1) // 2).sum())
            self._left_out["rare_documents"] += possible - len(across.a)
        return joined([within, across]).moved(start)

    @cached_property
    def _rare_words(self) -> Rows:
        """Of each document the rare words."""
        rare = self._texts.rare(self._settings.rare_documents)
        values, owners = rare.of(self._place)
        return Rows(values, np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=len(self._place))))))

    @cached_property
    def _rare_names(self) -> Rows:
        """Of each document the rare mentions."""
        documents, names = self._mentioned
        spread = self._spread[names]
        rare = np.flatnonzero((spread >= 2) & (spread <= self._settings.rare_documents))
        return rarest(documents[rare], names[rare], spread[rare], _RARE_MENTIONS, len(self._numbers))

    def _judged(self, pairs: Places, sizes: Ints) -> _Found:
        """Of pairs of facts those that are no copies and that their documents have room for."""
        ends = self._document[pairs.a], self._document[pairs.b]
        a = np.minimum(*ends)
        b = np.maximum(*ends)
        point = self._path[a] == self._path[b]
        self._seen.append(np.unique((a << 32 | b)[~point]))
        likeness = self._texts.likeness(self._place[a], self._place[b])
        agree, differ = self._accounts.compared(self._account[pairs.a], self._account[pairs.b])
        copies = self._copies(a, b, likeness) & ~differ
        score = likeness + np.minimum(pairs.shared / _MANY_SHARED, 1) + 1 / np.sqrt(sizes - 1)
        kept = self._kept(pairs, score + _SAME_POINT * point, agree, copies)
        score = np.where(point, _POINT, _ACROSS) + score
        fact = pairs.a[kept]
        return _Found(a[kept], b[kept], point[kept], self._subject[fact], self._slot[fact], score[kept])

    def _copies(self, a: Ints, b: Ints, likeness: Floats) -> npt.NDArray[np.bool_]:
        return self._texts.copies(self._place[a], self._place[b], likeness, self._settings.near_copy)

    def _kept(
        self, pairs: Places, score: Floats, agree: npt.NDArray[np.bool_], copies: npt.NDArray[np.bool_]
    ) -> Ints:
        """Those that are no copies and have room at both ends."""
        kept = np.flatnonzero(~copies)
        room = chosen(pairs.a[kept], pairs.b[kept], score[kept], agree[kept], self._settings.per_document)
        self._left_out["near_copy"] += int(copies.sum())
        self._left_out["per_document"] += int((~room).sum())
        return kept[room]

    def _open(self) -> _Found:
        """Pairs across knowledge points that share a rare mention and, as far as is known, no fact;
        by their rarest one.
        """
        pairs, name = self._sharing()
        likeness = self._texts.likeness(self._place[pairs.a], self._place[pairs.b])
        copies = self._copies(pairs.a, pairs.b, likeness)
        score = _OPEN + likeness + np.minimum(pairs.shared / _MANY_SHARED, 1)
        kept = self._kept(pairs, score, np.zeros(len(score), bool), copies)
        none = np.full(len(kept), -1)
        return _Found(pairs.a[kept], pairs.b[kept], none >= 0, name[kept], none, score[kept])

    def _sharing(self) -> tuple[Places, Ints]:
        """Pairs of documents of different points that hold the same names and no fact, with the
        rarest such name.
        """
        a, b, name = near(self._rare_names, _REACH)
        packed = a << 32 | b
        seen = np.unique(np.concatenate([np.zeros(0, np.int64), *self._seen]))
        fresh = (self._path[a] != self._path[b]) & ~np.isin(packed, seen)
        packed = packed[fresh]
        name = name[fresh]
        order = np.lexsort((name, self._spread[name], packed))
        packed, first, shared = np.unique(packed[order], return_index=True, return_counts=True)
        return Places(packed >> 32, packed & 0xFFFFFFFF, shared), name[order][first]


def _ranks(numbered: dict[Any, int]) -> Ints:
    """Number of a key by arrival -> its place among all keys in order."""
    ranks = np.empty(len(numbered), np.int64)
    ranks[np.array([numbered[key] for key in sorted(numbered)], np.int64)] = np.arange(len(numbered))
    return ranks


def _nothing() -> _Found:
    whole = np.zeros(0, np.int64)
    return _Found(whole, whole, whole.astype(bool), whole, whole, whole.astype(float))
