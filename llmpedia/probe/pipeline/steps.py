"""The LLM steps of a build, each as what it asks about, how an item is taken through, and what it
commits.

A step is made twice: in the driver, which lists its items from committed tables, and in worker
processes, which visit them. A visit gives rows of tables and the completions they rest on; whatever
fails is a row's error.
"""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from llmpedia.engines.preflight import Need
from llmpedia.probe.benchmark.release import content_id
from llmpedia.probe.candidates.attribute_mentions import sightings
from llmpedia.probe.candidates.attributes import Slots, load_slots
from llmpedia.probe.candidates.knowledge import LabelKnowledge
from llmpedia.probe.candidates.mentions import Tagger, make_tagger, title_of
from llmpedia.probe.documents import KnowledgePoint, sentences
from llmpedia.probe.pipeline.state import BuildState
from llmpedia.probe.questions.relation import Compare, Compared
from llmpedia.probe.questions.web_tools import WebTools
from llmpedia.probe.questions.writing import Conflict, WriteQuestions
from llmpedia.probe.settings.build import BuildConfig
from llmpedia.stages import Completer, Completion, Request, ask, completion_row

Row = dict[str, Any]
Asked = list[tuple[Request, Completion]]
_SHOWN = 3  # documents of an account that a writer of questions is shown at most


@dataclass(frozen=True)
class StepHelpers:
    """Who answers in a worker: the model; searches and pages, of steps that look things up (else
    null).
    """

    model: Completer
    web: WebTools | None = None


@dataclass(frozen=True)
class StepVisit:
    """What became of an item: rows by table, and all that was asked for it."""

    rows: dict[str, list[Row]]
    asked: Asked


class Step(ABC):
    """One LLM step of a build."""

    name: ClassVar[str]
    tables: ClassVar[tuple[str, ...]]

    def __init__(self, config: BuildConfig) -> None:
        self.config = config

    @abstractmethod
    def items(self, state: BuildState) -> list[Row]:
        """What it asks about, in order, each with a running ``subject_id`` of its own; without
        texts.
        """

    @abstractmethod
    def loaded(self, item: Row, state: BuildState) -> Row:
        """An item with its texts, as JSON can carry it to a worker."""

    @abstractmethod
    async def visit(self, item: Row, helpers: StepHelpers) -> StepVisit:
        """Take an item through, in a worker."""

    @abstractmethod
    def need(self) -> Need:
        """What it takes of the engine's context at most."""

    @property
    def budget(self) -> int:
        """Characters of documents in one request at most: two of the longest."""
        return 2 * self.config.corpus.most_chars

    def dump(self, item: Row, visit: StepVisit) -> str:
        """A visit for its way to the driver."""
        rows = [completion_row(item["subject_id"], r, c) for r, c in visit.asked]
        return json.dumps({**visit.rows, "completions": rows})


class KnowledgeStep(Step):
    """A knowledge point a document; of the sure ones also mentions, and who is seen with which
    attribute.
    """

    name = "knowledge"
    tables = ("knowledge_points", "mentions", "sightings")

    def items(self, state: BuildState) -> list[Row]:
        """See :class:`Step`."""
        return [{"subject_id": number} for number in state.texts.numbers]

    def loaded(self, item: Row, state: BuildState) -> Row:
        """See :class:`Step`."""
        number = item["subject_id"]
        return {**item, "text": state.texts.text(number), "url": state.texts.url(number)}

    def need(self) -> Need:
        """See :class:`Step`."""
        stage = self._stage
        prompt = len(stage.prompt.system) + len(stage.taxonomy.block)
        return Need(stage.name, self.config.corpus.most_chars + prompt, stage.settings.max_tokens or 0)

    @cached_property
    def _stage(self) -> LabelKnowledge:
        return LabelKnowledge(self.config)

    @cached_property
    def _tagging(self) -> tuple[Tagger, Slots, asyncio.Lock]:
        return make_tagger(self.config.mentions), load_slots(self.config.pairs.slots), asyncio.Lock()

    async def visit(self, item: Row, helpers: StepHelpers) -> StepVisit:
        """See :class:`Step`."""
        text = item["text"]
        cuts = sentences(text)
        reply = await ask(helpers.model, self._stage, self._stage.question(text))
        point = reply.value
        row = {
            "number": item["subject_id"],
            "path": list(point.path) if point else None,
            "confidence": point.confidence if point else None,
            "first_sentence": point.first if point else None,
            "last_sentence": point.last if point else None,
            "sentences": len(cuts),
            "error": reply.error,
            "completion": reply.key,
        }
        tables: dict[str, list[Row]] = {"mentions": [], "sightings": []}
        if point is not None and point.confidence >= self.config.knowledge.least_confidence:
            tables = await self._tagged(item, point, cuts)
        return StepVisit({"knowledge_points": [row], **tables}, reply.completions)

    async def _tagged(
        self, item: Row, point: KnowledgePoint, cuts: list[tuple[int, int]]
    ) -> dict[str, list[Row]]:
        tagger, slots, lock = self._tagging
        async with lock:  # the taggers are not made for threads
            points = (
                await asyncio.to_thread(
                    tagger.mentions, [item["text"]], [title_of(item["url"], item["text"])]
                )
            )[0]
        seen = sightings(item["text"], cuts, point, points, slots)
        number = {"number": item["subject_id"]}
        return {
            "mentions": [{**number, **_plain(m, "start end surface key kind label")} for m in points],
            "sightings": [{**number, **_plain(s, "sentence subject surface slot")} for s in seen],
        }


class RelationStep(Step):
    """Support, conflict or none of each candidate pair, from both documents in full."""

    name = "relations"
    tables = ("relations",)

    def items(self, state: BuildState) -> list[Row]:
        """See :class:`Step`."""
        return [
            {"subject_id": p["pair_id"], **{k: p[k] for k in ("a", "b", "subject", "slot")}}
            for p in state.pairs
        ]

    def loaded(self, item: Row, state: BuildState) -> Row:
        """See :class:`Step`."""
        surfaces = state.surfaces
        texts = {"text_a": state.texts.text(item["a"]), "text_b": state.texts.text(item["b"])}
        return {**item, **texts, "name": surfaces.get(item["subject"], item["subject"])}

    def need(self) -> Need:
        """See :class:`Step`."""
        stage = self._stage
        return Need(stage.name, self.budget + len(stage.prompt.system), stage.settings.max_tokens or 0)

    @cached_property
    def _stage(self) -> Compare:
        return Compare(self.config)

    @cached_property
    def _words(self) -> Slots:
        return load_slots(self.config.pairs.slots)

    async def visit(self, item: Row, helpers: StepHelpers) -> StepVisit:
        """See :class:`Step`."""
        slot = self._words.words(item["slot"]) if item["slot"] else None
        reply = await ask(
            helpers.model, self._stage, Compared(item["name"], slot, item["text_a"], item["text_b"])
        )
        names = (
            "relation same_subject same_attribute same_context compatible model_relation subject attribute"
        )
        fields = _plain(reply.value, names) if reply.value else dict.fromkeys(names.split())
        for side in ("a", "b"):
            for what in ("value", "span"):
                fields[f"{what}_{side}"] = (
                    (getattr(reply.value, f"{what}_{side}") or None) if reply.value else None
                )
        row = {"pair_id": item["subject_id"], **fields, "error": reply.error, "completion": reply.key}
        return StepVisit({"relations": [row]}, reply.completions)


class QuestionStep(Step):
    """Two questions on each kept subgraph."""

    name = "questions"
    tables = ("questions",)

    def items(self, state: BuildState) -> list[Row]:
        """See :class:`Step`."""
        paths = state.paths
        kept = [row for row in state.graphs.values() if row["fate"] == "kept"]
        attributes = {
            row["pair_id"]: row["attribute"] for row in state.rows("relations", ["pair_id", "attribute"])
        }
        return [
            {
                "subject_id": row["subgraph_id"],
                "subject": row["subject"],
                "slot": row["slot"],
                "attribute": self._words.words(row["slot"])
                if row["slot"] in self._words.names
                else attributes[row["seed_pair"]],
                "sides": row["sides"],
                "path": paths.get(row["sides"][0]["documents"][0]),
            }
            for row in kept
        ]

    def loaded(self, item: Row, state: BuildState) -> Row:
        """See :class:`Step`."""
        texts = state.texts
        shown = shown_documents(
            [s["documents"] for s in item["sides"]], lambda n: len(texts.text(n)), self.budget
        )
        accounts = [
            [side["value"], [[n, texts.document_id(n), texts.text(n)] for n in numbers]]
            for side, numbers in zip(item["sides"], shown, strict=True)
        ]
        return {**item, "name": state.surfaces.get(item["subject"], item["subject"]), "accounts": accounts}

    def need(self) -> Need:
        """See :class:`Step`."""
        stage = self._stage
        return Need(stage.name, self.budget + len(stage.prompt.system), stage.settings.max_tokens or 0)

    @cached_property
    def _stage(self) -> WriteQuestions:
        return WriteQuestions(self.config)

    @cached_property
    def _words(self) -> Slots:
        return load_slots(self.config.pairs.slots)

    async def visit(self, item: Row, helpers: StepHelpers) -> StepVisit:
        """See :class:`Step`."""
        accounts = tuple(
            (value, tuple((n, text) for n, _, text in documents)) for value, documents in item["accounts"]
        )
        conflict = Conflict(item["name"], item["attribute"], accounts)
        reply = await ask(helpers.model, self._stage, conflict)
        written = reply.value
        row = dict.fromkeys(("group_id", "named_entity", "clue_based", "preferred_answer", "answers"))
        fate, reason = (
            ("error", reply.error) if written is None else ("rejected", f"writer: {written.reason}")
        )
        if written is not None and written.keep:
            fate = "kept"
            reason = None
            ids = {n: i for _, documents in item["accounts"] for n, i, _ in documents}
            answers = [_plain(answer, "value documents spans") for answer in written.answers]
            account_list = sorted([a["value"], sorted(ids[n] for n in a["documents"])] for a in answers)
            row |= _plain(written, "named_entity clue_based preferred_answer")
            row |= {"group_id": content_id(item["subject"], item["slot"], account_list), "answers": answers}
        row |= {
            "subgraph_id": item["subject_id"],
            "fate": fate,
            "reason": reason,
            "path": item["path"],
            "completion": reply.key,
        }
        return StepVisit({"questions": [row]}, reply.completions)


def shown_documents(accounts: list[list[int]], length: Callable[[int], int], budget: int) -> list[list[int]]:
    """Documents of each account that are shown, in order: its shortest whatever its length, others
    while the budget lasts.
    """
    ordered = [sorted(documents, key=lambda n: (length(n), n)) for documents in accounts]
    shown = [documents[:1] for documents in ordered]
    left = budget - sum(length(n) for documents in shown for n in documents)
    for place in range(1, _SHOWN):
        for documents, taken in zip(ordered, shown, strict=True):
            if place < len(documents) and length(documents[place]) <= left:
                taken.append(documents[place])
                left -= length(documents[place])
    return [sorted(documents) for documents in shown]


def _plain(value: Any, names: str) -> Row:
    """Some attributes as a row; tuples become lists."""
    values = ((name, getattr(value, name)) for name in names.split())
    return {name: list(v) if isinstance(v, tuple) else v for name, v in values}
