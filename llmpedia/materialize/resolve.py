"""Stage 3, similarity: which open candidates of a wave are new entities (paper, section 3.3 and
appendix G.2).

All decisions are taken in (subject order, link order), whenever their answers arrive. A failure
rejects (strict gate).
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from llmpedia.config.walk import Config
from llmpedia.engines.embeddings import Vectors, embed
from llmpedia.entities.index import Known, Neighbour
from llmpedia.materialize.stages import Arbitrate, Likeness, Stages
from llmpedia.materialize.subject import Row
from llmpedia.stages import Completer, Reply, ask, completion_row
from llmpedia.tables import Fate
from llmpedia.wikitext import first_words

_SENTENCE_WORDS = 60


@dataclass
class Proposal:
    """A name of the wave that no key screen stopped: the first candidate with its key, and the
    others.

    ``rows`` are candidates, the deciding one first; ``parent`` is None for a seed; ``lead`` is the
    parent's.
    """

    rows: list[Row]
    parent_id: int | None
    parent: str | None
    lead: str
    hop: int
    vector: Vectors | None = None
    neighbours: list[Neighbour] = field(default_factory=list)
    reply: Reply[int | None] | None = None

    @property
    def first(self) -> Row:
        """The candidate that decides."""
        return self.rows[0]


class Index(Protocol):
    """The committed entities, as the resolver needs them."""

    async def screen(self, keys: list[str]) -> list[int | None]:
        """Entity of each committed key."""
        ...

    async def neighbours(self, vectors: Vectors) -> list[list[Neighbour]]:
        """Committed and earlier neighbours of each vector."""
        ...

    async def describe(self, entity_ids: list[int]) -> list[Known]:
        """What is known of committed entities."""
        ...


@dataclass
class Resolved:
    """New rows of a wave, ready to commit; candidates were changed in place."""

    entities: list[Row] = field(default_factory=list)
    aliases: list[Row] = field(default_factory=list)
    completions: list[Row] = field(default_factory=list)


@dataclass(frozen=True)
class Resolver:
    """Everything that resolving needs. ``embedder`` answers embedding requests, ``client``
    arbitration.
    """

    config: Config
    stages: Stages
    index: Index
    client: Completer
    embedder: Completer

    async def resolve(self, proposals: Iterable[Proposal], next_id: int) -> Resolved:
        """Decide every proposal; ``next_id``: entity_id of the first new entity."""
        kept = await self._screen(list(proposals))
        await self._embed(kept)
        await self._arbitrate(kept)
        return _decide(kept, next_id, self.config.caps.subjects)

    async def _screen(self, proposals: list[Proposal]) -> list[Proposal]:
        """Once more by key: the wave before may have committed it since; then one proposal a key."""
        kept: dict[str, Proposal] = {}
        for proposal, entity in zip(
            proposals, await self.index.screen([p.first["key"] for p in proposals]), strict=True
        ):
            if entity is not None:
                proposal.first["fate"] = Fate.KNOWN
                proposal.first["entity_id"] = entity
            elif proposal.first["key"] in kept:
                kept[proposal.first["key"]].rows += proposal.rows
            else:
                kept[proposal.first["key"]] = proposal
        return list(kept.values())

    async def _embed(self, proposals: list[Proposal]) -> None:
        if self.config.run.mode == "titles":
            return
        vectors, errors = await embed(self.embedder, self.config, [p.first["name"] for p in proposals])
        for proposal, vector, error in zip(proposals, vectors, errors, strict=True):
            proposal.vector = vector
            proposal.first["reason"] = error
        embedded = [p for p in proposals if p.vector is not None]
        if not embedded:
            return
        neighbours = await self.index.neighbours(
            np.stack([p.vector for p in embedded if p.vector is not None])
        )
        place = {id(p): i for i, p in enumerate(proposals)}
        for proposal, hits in zip(embedded, neighbours, strict=True):
            proposal.neighbours = [
                h if h.query is None else Neighbour(h.cosine, None, place[id(embedded[h.query])])
                for h in hits
            ]

    async def _arbitrate(self, proposals: list[Proposal]) -> None:
        asked = [p for p in proposals if p.neighbours]
        ids = sorted({h.entity_id for p in asked for h in p.neighbours if h.entity_id is not None})
        known = dict(zip(ids, await self.index.describe(ids) if ids else [], strict=True))
        questions = [self._likeness(p, proposals, known) for p in asked]
        replies = await asyncio.gather(*(ask(self.client, self.stages[Arbitrate], q) for q in questions))
        for proposal, reply in zip(asked, replies, strict=True):
            proposal.reply = reply

    def _likeness(self, proposal: Proposal, proposals: list[Proposal], known: dict[int, Known]) -> Likeness:
        lines = []
        for hit in proposal.neighbours:
            if hit.entity_id is not None:
                lines.append(_known_line(known[hit.entity_id]))
            elif hit.query is not None:
                lines.append(self._line(proposals[hit.query]))
        return Likeness(self._line(proposal), tuple(lines))

    def _line(self, proposal: Proposal) -> str:
        lead = first_words(proposal.lead, self.config.entities.lead_words)
        return _context(proposal.first["name"], proposal.parent, proposal.first["sentence"], lead)


def _context(name: str, parent: str | None, sentence: str | None, lead: str) -> str:
    if parent is None:
        return f"{name}. A starting point of this encyclopedia."
    about = f" ({lead})" if lead else ""
    return f"{name}. Named in the article on {parent}{about}: {first_words(sentence or '', _SENTENCE_WORDS)}"


def _known_line(known: Known) -> str:
    return (
        f"{known.name}. {known.lead}"
        if known.lead
        else _context(known.name, known.parent, known.sentence, "")
    )


def _decide(proposals: list[Proposal], next_id: int, cap: int | None) -> Resolved:
    out = Resolved()
    seen: set[str] = set()
    for proposal in proposals:
        if proposal.reply is not None:
            proposal.first["arbitration_completion"] = proposal.reply.key
            proposal.first["similarity"] = proposal.neighbours[0].cosine
            for request, completion in proposal.reply.completions:
                if request.key not in seen:
                    seen.add(request.key)
                    out.completions.append(completion_row(proposal.parent_id, request, completion))
        _settle(proposal, proposals, out, next_id, cap)
        for other in proposal.rows[1:]:
            settled = proposal.first["entity_id"] is not None
            other["fate"] = Fate.WAVE_DUPLICATE if settled else proposal.first["fate"]
            other["entity_id"] = proposal.first["entity_id"]
            other["reason"] = proposal.first["reason"]
    return out


def _settle(
    proposal: Proposal, proposals: list[Proposal], out: Resolved, next_id: int, cap: int | None
) -> None:
    row = proposal.first
    reply = proposal.reply
    if row["reason"] is not None:
        row["fate"] = Fate.ARBITRATION_FAILED
    elif reply is not None and reply.error is not None:
        row["fate"] = Fate.ARBITRATION_FAILED
        row["reason"] = f"arbitration: {reply.error}"
    elif reply is not None and reply.value is not None:
        _same_as(proposal, proposal.neighbours[reply.value], proposals, out)
    elif cap is not None and next_id + len(out.entities) >= cap:
        row["fate"] = Fate.SUBJECT_CAP
    else:
        row["fate"] = Fate.QUEUED
        row["entity_id"] = next_id + len(out.entities)
        out.entities.append(_entity(proposal))


def _same_as(proposal: Proposal, hit: Neighbour, proposals: list[Proposal], out: Resolved) -> None:
    """The candidate is another name of a committed entity or of an earlier proposal, whatever
    became of that.
    """
    row = proposal.first
    winner: Any = hit.entity_id
    if hit.query is not None:
        earlier = proposals[hit.query].first
        winner = earlier["entity_id"]
        if winner is None:
            row["fate"] = earlier["fate"]
            row["reason"] = f"same as {earlier['name']}, which was rejected"
            return
    row["fate"] = Fate.DUPLICATE
    row["entity_id"] = winner
    out.aliases.append(
        {"key": row["key"], "name": row["name"], "entity_id": winner, "parent_id": proposal.parent_id}
    )


def _entity(proposal: Proposal) -> Row:
    return {
        "entity_id": proposal.first["entity_id"],
        "key": proposal.first["key"],
        "name": proposal.first["name"],
        "hop": proposal.hop,
        "parent_id": proposal.parent_id,
        "sentence": proposal.first["sentence"],
        "embedding": proposal.vector,
    }
