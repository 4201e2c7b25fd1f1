"""A run of any size in minutes: the rehearsal world's prose, committed wave by wave without a
model, HTTP or Ray.

Sizes are those of a real run: some 700 words and 50 candidates an article, prompts and answers of
every stage. Fates follow the world's own truth: generic words are rejected, other names of an
entity become aliases. Embeddings are left out.
"""

import hashlib
import json
import random
import re
from collections import Counter, deque
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from llmpedia.config.walk import Config, load_config
from llmpedia.entities.keys import canonical_key, is_self_or_loop
from llmpedia.materialize.run import describe_run
from llmpedia.materialize.stages import Likeness, Phrases, Stages, Subject
from llmpedia.rehearsal.settings import WorldSettings
from llmpedia.rehearsal.world import prose
from llmpedia.rehearsal.world.names import fold
from llmpedia.rehearsal.world.world import World
from llmpedia.stages import Request
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import RunFolder
from llmpedia.tables import TABLES, Fate, table

Row = dict[str, Any]
Rows = dict[str, list[Row]]

ROOT = Path(__file__).resolve().parent.parent
_key = lru_cache(maxsize=1 << 20)(canonical_key)
_TABLES = ("entities", "subjects", "articles", "candidates", "aliases", "completions")
_LINK = re.compile(r"\[\[([^\]|]+)(?:\|([^\]]+))?\]\]")
_END = re.compile(r"(?<=[a-z\])][.])\s+(?=[A-Z])")
_CHUNK = 25
_FILLERS = 20_000
_FILLER_WORDS = 18
_VOCABULARY = 40_000


@dataclass
class Walk:
    """A breadth-first walk through a world, as far as ``articles``."""

    world: World
    config: Config
    run: RunFolder
    numbers: dict[str, int] = field(default_factory=dict)  # key -> entity of the run
    of_world: dict[int, int] = field(default_factory=dict)  # entity of the world -> of the run
    hops: list[int] = field(default_factory=list)
    frontier: deque[tuple[int, str]] = field(default_factory=deque)
    candidates: int = 0
    totals: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.asking = _Asking(Stages.of(self.config))
        self.fillers = _fillers()
        self.blank = {name: dict.fromkeys(TABLES[name].names) for name in _TABLES}

    def go(self, articles: int, size: int) -> None:
        """Commit the seed and then waves until so many articles are written or nothing is left."""
        rows: Rows = {name: [] for name in _TABLES}
        seed = str(self.config.run.seed)
        self._add(
            rows, {"candidate_id": 0, "parent_id": None, "position": 0, "mentions": 0, "name": seed}, None, 0
        )
        with Lease(self.run.folder) as lease:
            self._commit(lease, rows, 0)
            while self.frontier and self.totals["articles"] < articles:
                self._wave(lease, min(size, articles - self.totals["articles"]))

    def _wave(self, lease: Lease, size: int) -> None:
        rows: Rows = {name: [] for name in _TABLES}
        hop = self.hops[self.frontier[0][0]]
        before = len(self.hops)
        while self.frontier and len(rows["subjects"]) < size and self.hops[self.frontier[0][0]] == hop:
            number, name = self.frontier.popleft()
            self._visit(rows, number, name, hop, before)
        self._commit(lease, rows, hop)

    def _visit(self, rows: Rows, number: int, name: str, hop: int, before: int) -> None:
        headings = prose.outline(self.world, name, *self.config.article.sections, None)
        text = self._article(name, headings)
        told, found = _read(text)
        at = {"subject_id": number, "name": name, "hop": hop}
        asked = [
            self.asking.subject(
                "outline", name, headings, json.dumps({"sections": headings}, ensure_ascii=False)
            ),
            self.asking.subject("article", name, headings, text),
        ]
        planned = {mention.surface: mention.entity for mention in self.world.mentions_of(name)}
        candidates = [
            self._candidate(rows, {**of, "position": place}, planned.get(of["name"]), at, before)
            for place, of in enumerate(found)
        ]
        asked += self._decide(candidates, name)
        rows["completions"] += [{**self.blank["completions"], **row, "subject_id": number} for row in asked]
        rows["subjects"].append(
            {
                **self.blank["subjects"],
                **at,
                **{
                    "position": len(rows["subjects"]),
                    "visit": "generate",
                    "expanded": True,
                    "candidates": len(candidates),
                },
            }
        )
        rows["articles"].append(
            {
                **self.blank["articles"],
                **at,
                **told,
                **{"outline": headings, "wikitext": text, "other_links": 0},
                **{"sections_missing": [], "sections_extra": []},
                **{"outline_completion": asked[0]["key"], "completion": asked[1]["key"]},
            }
        )

    def _article(self, name: str, headings: list[str]) -> str:
        """The world's article with some 90 words of a large vocabulary, as prose has and templates
        have not.
        """
        draw = random.Random(name)
        return (
            f"{prose.article(self.world, name, headings, False)} "
            f"{' '.join(draw.choice(self.fillers) for _ in range(5))}"
        )

    def _candidate(self, rows: Rows, link: Row, entity: int | None, subject: Row, before: int) -> Row:
        """``entity``: the world's, None for none; ``before``: entities of earlier commits."""
        row = {
            **self.blank["candidates"],
            **link,
            "candidate_id": self.candidates,
            "parent_id": subject["subject_id"],
        }
        name = row["name"]
        key = _key(name)
        known = self.numbers.get(key)
        if entity is None:
            row["fate"] = Fate.SELF_OR_LOOP if is_self_or_loop(name, subject["name"]) else Fate.NER_REJECTED
        elif known is not None:
            row["fate"] = Fate.KNOWN if known < before else Fate.WAVE_DUPLICATE
            row["entity_id"] = known
        elif entity in self.of_world:
            row["fate"] = Fate.DUPLICATE
            row["entity_id"] = self.of_world[entity]
            row["similarity"] = 0.93
            self.numbers[key] = row["entity_id"]
            alias = {"key": key, "name": name, "entity_id": row["entity_id"], "candidate_id": self.candidates}
            rows["aliases"].append(alias)
        else:
            self._add(rows, row, entity, subject["hop"] + 1)
            return row
        row["key"] = key
        self.candidates += 1
        rows["candidates"].append(row)
        return row

    def _add(self, rows: Rows, row: Row, entity: int | None, hop: int) -> None:
        """A new entity and the candidate it was."""
        number = len(self.hops)
        row |= {"key": _key(row["name"]), "fate": Fate.QUEUED, "entity_id": number}
        self.numbers[row["key"]] = number
        if entity is not None:
            self.of_world[entity] = number
        self.hops.append(hop)
        self.frontier.append((number, row["name"]))
        made = {name: row.get(name) for name in TABLES["entities"].names}
        rows["entities"].append({**made, "hop": hop})
        rows["candidates"].append({**self.blank["candidates"], **row})
        self.candidates += 1

    def _decide(self, candidates: list[Row], name: str) -> list[Row]:
        """NER and arbitration of a subject's candidates."""
        asked = [row for row in candidates if row["fate"] not in (Fate.KNOWN, Fate.SELF_OR_LOOP)]
        out = list[Row]()
        for start in range(0, len(asked), _CHUNK):
            chunk = asked[start : start + _CHUNK]
            made = self.asking.ner(name, {row["name"]: row["fate"] != Fate.NER_REJECTED for row in chunk})
            out.append(made)
            for row in chunk:
                row["ner_completion"] = made["key"]
        for row in (row for row in asked if row["fate"] == Fate.DUPLICATE):
            made = self.asking.arbitration(row["name"], row["sentence"])
            out.append(made)
            row["arbitration_completion"] = made["key"]
        return out

    def _commit(self, lease: Lease, rows: Rows, hop: int) -> None:
        self.totals.update({name: len(found) for name, found in rows.items()})
        counts = {
            "subjects": len(rows["subjects"]),
            "articles": len(rows["articles"]),
            "errored": 0,
            "candidates": len(rows["candidates"]),
            "fates": dict(sorted(Counter(str(row["fate"]) for row in rows["candidates"]).items())),
        }
        facts = {
            "hop": hop,
            "counts": counts,
            "caps": self.config.caps.model_dump(),
            "totals": dict(self.totals),
        }
        self.run.commit(lease, {name: table(name, found) for name, found in rows.items()}, facts)


class _Asking:
    """Questions and answers: each prompt is rendered once by its stage and then filled in."""

    def __init__(self, stages: Stages) -> None:
        self._requests: dict[str, Request] = {
            "outline": stages.named("outline").request(Subject("SUBJECT")),
            "article": stages.named("article").request(Subject("SUBJECT", ("HEADINGS",))),
            "ner": stages.named("ner").request(Phrases("SUBJECT", ("PHRASES",))),
            "arbitration": stages.named("arbitration").request(Likeness("SUBJECT", ("HEADINGS",))),
        }
        self._chats = {name: json.dumps(r.chat(), ensure_ascii=False) for name, r in self._requests.items()}

    def subject(self, stage: str, name: str, headings: list[str], answer: str) -> Row:
        return self._row(
            stage, self._filled(stage, name, json.dumps(headings, ensure_ascii=False)[1:-1]), None, answer
        )

    def ner(self, name: str, decided: dict[str, bool]) -> Row:
        answer = json.dumps(decided, ensure_ascii=False)
        properties = {name: {"type": "boolean"} for name in decided}
        schema = {
            "type": "object",
            "properties": properties,
            "required": list(decided),
            "additionalProperties": False,
        }
        chat = self._filled("ner", name, "").replace(
            "PHRASES", json.dumps("\n".join(decided), ensure_ascii=False)[1:-1]
        )
        return self._row("ner", chat, json.dumps({"json_schema": schema}, ensure_ascii=False), answer)

    def arbitration(self, name: str, sentence: str) -> Row:
        return self._row(
            "arbitration", self._filled("arbitration", name, sentence), None, '{"duplicate_of": "A"}'
        )

    def _filled(self, stage: str, name: str, headings: str) -> str:
        quoted = json.dumps(name, ensure_ascii=False)[1:-1]
        return (
            self._chats[stage]
            .replace("SUBJECT", quoted)
            .replace('\\"HEADINGS\\"', json.dumps(headings)[1:-1])
        )

    def _row(self, stage: str, chat: str, constraint: str | None, answer: str) -> Row:
        request = self._requests[stage]
        return {
            "key": hashlib.sha256(f"{stage}{chat}".encode()).hexdigest(),
            "stage": stage,
            "model": request.model,
            "messages": chat,
            "constraint": constraint or request.constraint,
            "sampling": request.sampling,
            "text": answer,
            "finish_reason": "stop",
            "prompt_tokens": len(chat) // 4,
            "completion_tokens": len(answer) // 4,
        }


def _read(text: str) -> tuple[Row, list[Row]]:
    """Words, links and lead, and a row a link. For the world's own tidy wikitext alone."""
    found: dict[str, Row] = {}
    links = words = 0
    lead = ""
    ended = False
    for paragraph in text.split("\n"):
        ended = ended or paragraph.startswith("==")
        if paragraph.startswith("=="):
            continue
        for sentence in _END.split(paragraph):
            plain = _LINK.sub(lambda m: m.group(2) or m.group(1), sentence).replace("'''", "")
            words += plain.count(" ") + 1
            for match in _LINK.finditer(sentence):
                links += 1
                row = found.setdefault(
                    fold(match.group(1)), {"name": match.group(1), "mentions": 0, "sentence": plain}
                )
                row["mentions"] += 1
            lead = lead if ended else f"{lead} {plain}"
    return {"links": links, "words": words, "lead": lead.strip()}, list(found.values())


def _fillers() -> list[str]:
    """Sentences of made-up words whose frequencies follow Zipf's law."""
    draw = random.Random(7)
    syllables = (
        "ba de fi go lu mar nes pol rin sta ter vok zu qua hel mon tri ska ulm per dor lin cas en ot ar is"
    ).split()
    words = ["".join(draw.choice(syllables) for _ in range(draw.randint(2, 4))) for _ in range(_VOCABULARY)]
    weights = [1 / (rank + 1) for rank in range(_VOCABULARY)]
    drawn = draw.choices(words, weights, k=_FILLERS * _FILLER_WORDS)
    starts = range(0, len(drawn), _FILLER_WORDS)
    return [f"{' '.join(drawn[n : n + _FILLER_WORDS]).capitalize()}." for n in starts]


def written(folder: Path, articles: int, size: int) -> RunFolder:
    """The run in a folder; it is written there if there is none, which takes some 5 ms an article."""
    if (folder / "run.yaml").exists():
        return RunFolder.open(str(folder))
    config = load_config(
        ROOT / "configs" / "rehearsal.yaml", [f"waves.size={size}", f"caps.articles={articles}"]
    )
    part = folder.with_name(f".{folder.name}.part")
    run = RunFolder.create_or_open(str(part), describe_run(config))
    Walk(World(WorldSettings(seed=1, entities=max(2000, 4 * articles))), config, run).go(articles, size)
    part.rename(folder)
    return RunFolder.open(str(folder))
