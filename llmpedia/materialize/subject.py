"""One subject's way through a wave: outline, article, links, canonical screen, NER. Nothing here
depends on other subjects.

What comes out is a :class:`Visit`: the article or an error, and candidates whose fate is decided or
still open (None). Open ones go to similarity, which needs the whole wave (``resolve``).
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any, Protocol

from llmpedia.config.walk import Config
from llmpedia.entities.keys import canonical_key, is_self_or_loop
from llmpedia.materialize.stages import (
    Decision,
    FactSheet,
    Ner,
    Outline,
    Phrases,
    SelfGrounding,
    Stages,
    Subject,
    WriteArticle,
)
from llmpedia.stages import Completer, Completion, Reply, Request, ask, completion_row
from llmpedia.tables import Fate
from llmpedia.wikitext import Article

Row = dict[str, Any]


@dataclass(frozen=True)
class SubjectItem:
    """One subject of a plan.

    ``visit``: generate or expand (see tables.SUBJECTS). ``expand``: ``full``; ``none`` (mode
    titles); or the cap that its open candidates end at. ``wikitext``: the stored article of an
    expand visit.
    """

    subject_id: int
    name: str
    hop: int
    visit: str
    expand: str
    wikitext: str | None = None


@dataclass
class Visit:
    """What became of an item. ``completions`` are in the order of the stages, whenever they
    arrived.
    """

    item: SubjectItem
    article: Row | None = None
    error_stage: str | None = None
    error: str | None = None
    lead: str = ""
    candidates: list[Row] = field(default_factory=list)
    completions: list[tuple[Request, Completion]] = field(default_factory=list)

    def take(self, stage: str, reply: Reply[Any]) -> bool:
        """Keep a reply's completions; False (and the error noted) if it has no value."""
        self.completions += reply.completions
        if reply.error is not None:
            self.error_stage = stage
            self.error = reply.error
        return reply.error is None


class Screen(Protocol):
    """The canonical screen: which entity each key already names, None for a new one."""

    async def __call__(self, keys: list[str]) -> list[int | None]:
        """Look keys up."""
        ...


async def visit_subject(
    item: SubjectItem, config: Config, stages: Stages, client: Completer, screen: Screen
) -> Visit:
    """Take one item through all of its stages. Failures of the model are values in the visit."""
    visit = Visit(item)
    article = Article(item.wikitext) if item.wikitext is not None else None
    if item.visit == "generate":
        article = await _write(visit, config, stages, client)
    if article is None:
        return visit
    visit.lead = article.lead
    if item.expand == "none":
        return visit
    visit.candidates = candidates_of(article, item.name, config)
    await _screen(visit.candidates, screen)
    if item.expand != "full":
        for row in _open(visit.candidates):
            row["fate"] = Fate(item.expand)
        return visit
    await _filter(visit, config, stages, client)
    return visit


async def _write(visit: Visit, config: Config, stages: Stages, client: Completer) -> Article | None:
    """Outline and article; the article as read, or None with the error noted."""
    name = visit.item.name
    facts: FactSheet | None = None
    if config.run.self_grounding:
        sheet = await ask(client, stages[SelfGrounding], Subject(name))
        if not visit.take("self_grounding", sheet):
            return None
        facts = sheet.value
    outline = await ask(client, stages[Outline], Subject(name, facts=facts))
    if not visit.take("outline", outline):
        return None
    headings = outline.value or ()
    written = await ask(client, stages[WriteArticle], Subject(name, headings, facts))
    if not visit.take("article", written):
        return None
    wikitext = written.value or ""
    article = Article(wikitext)
    got = {canonical_key(h.title): h.title for h in article.headings if h.level == 2}
    asked = {canonical_key(h): h for h in headings}
    visit.article = {
        "subject_id": visit.item.subject_id,
        "name": name,
        "hop": visit.item.hop,
        "outline": list(headings),
        "fact_sheet": facts.model_dump_json() if facts else None,
        "wikitext": wikitext,
        "lead": article.lead,
        "words": article.words,
        "links": len(article.links),
        "other_links": article.other_links,
        "sections_missing": [h for k, h in asked.items() if k not in got],
        "sections_extra": [h for k, h in got.items() if k not in asked],
        "outline_completion": outline.key,
        "completion": written.key,
    }
    return article


def candidates_of(article: Article, subject: str, config: Config) -> list[Row]:
    """One candidate a key, in order of first mention; self-links, loop forms and low scores have
    their fate already.
    """
    by_key: dict[str, Row] = {}
    for link in article.links:
        key = canonical_key(link.target)
        row = by_key.get(key)
        if row is None:
            row = by_key[key] = _candidate(len(by_key), key, link.target, link.sentence)
        row["mentions"] += 1
        if link.score is not None:
            row["score"] = max(link.score, row["score"] or 0.0)
    calibrated = config.run.prompting == "calibrated"
    for row in by_key.values():
        if is_self_or_loop(row["name"], subject):
            row["fate"] = Fate.SELF_OR_LOOP
        elif calibrated and row["score"] is not None and row["score"] < config.entities.min_confidence:
            row["fate"] = Fate.LOW_LINK_SCORE
    return list(by_key.values())


def _candidate(position: int, key: str, name: str, sentence: str) -> Row:
    return {
        "position": position,
        "key": key,
        "name": name,
        "mentions": 0,
        "score": None,
        "sentence": sentence,
        "fate": None,
        "reason": None,
        "entity_id": None,
        "ner_confidence": None,
        "similarity": None,
        "ner_completion": None,
        "arbitration_completion": None,
    }


def _open(candidates: list[Row]) -> list[Row]:
    return [row for row in candidates if row["fate"] is None]


async def _screen(candidates: list[Row], screen: Screen) -> None:
    rows = _open(candidates)
    for row, entity in zip(rows, await screen([r["key"] for r in rows]) if rows else [], strict=True):
        if entity is not None:
            row["fate"] = Fate.KNOWN
            row["entity_id"] = entity


async def _filter(visit: Visit, config: Config, stages: Stages, client: Completer) -> None:
    """NER over the open candidates, chunk by chunk at once; completions are kept in chunk order."""
    rows = _open(visit.candidates)
    size = config.entities.ner_chunk
    chunks = [rows[i : i + size] for i in range(0, len(rows), size)]
    for replies in await asyncio.gather(
        *(_decide(chunk, visit.item.name, config, stages, client) for chunk in chunks)
    ):
        for reply in replies:
            visit.completions += reply.completions


async def _decide(
    chunk: list[Row], subject: str, config: Config, stages: Stages, client: Completer
) -> list[Reply[Any]]:
    reply = await ask(client, stages[Ner], Phrases(subject, tuple(r["name"] for r in chunk)))
    if reply.value is None:
        for row in chunk:
            row["fate"] = Fate.STAGE_ERROR
            row["reason"] = f"ner: {reply.error}"
            row["ner_completion"] = reply.key
        return [reply]
    left = [row for row in chunk if row["name"] not in reply.value]
    _apply(chunk, reply, config)
    if not left:
        return [reply]
    why = (reply.completions[-1][1].text, "these phrases were left out or decided both ways")
    again = await ask(client, stages[Ner], Phrases(subject, tuple(r["name"] for r in left)), why)
    _apply(left, again, config)
    for row in left:
        if row["name"] not in (again.value or {}):
            row["fate"] = Fate.NER_OMITTED
            row["ner_completion"] = again.key
    return [reply, again]


def _apply(rows: list[Row], reply: Reply[dict[str, Decision]], config: Config) -> None:
    for row in rows:
        decision = (reply.value or {}).get(row["name"])
        if decision is None:
            continue
        row["ner_confidence"] = decision.confidence
        row["ner_completion"] = reply.key
        if not decision.accepted:
            row["fate"] = Fate.NER_REJECTED
        elif decision.confidence is not None and decision.confidence < config.entities.min_confidence:
            row["fate"] = Fate.NER_LOW_CONFIDENCE


def dump_visit(visit: Visit) -> Row:
    """The visit as plain data, for its way to the driver."""
    return {
        "article": visit.article,
        "error_stage": visit.error_stage,
        "error": visit.error,
        "lead": visit.lead,
        "candidates": visit.candidates,
        "completions": [completion_row(visit.item.subject_id, r, c) for r, c in visit.completions],
    }
