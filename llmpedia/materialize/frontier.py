"""Which subjects a wave holds: a function of committed content alone, so that a restart plans the
same waves.

Wave w is planned from commits up to w-2 while w-1 is under way; where those leave it nothing to do,
it waits for commit w-1.
"""

import itertools
from collections import deque
from dataclasses import dataclass, field

from llmpedia.config.walk import Config
from llmpedia.materialize.subject import Row, SubjectItem
from llmpedia.store.run_folder import RunFolder
from llmpedia.tables import Fate


@dataclass(frozen=True)
class Plan:
    """A wave to be walked. ``upto``: last commit its canonical screen may see."""

    wave: int
    hop: int
    upto: int
    items: tuple[SubjectItem, ...]

    @property
    def title(self) -> str:
        """What progress calls it."""
        return f"wave {self.wave}, hop {self.hop}"

    def rows(self) -> list[Row]:
        """The items as the workers take them."""
        return [{**item.__dict__, "expand": str(item.expand)} for item in self.items]


@dataclass
class _Seen:
    """What the planner knows after some commit; grown commit by commit."""

    names: list[str] = field(default_factory=list)
    hops: list[int] = field(default_factory=list)
    waiting: dict[int, deque[int]] = field(default_factory=dict)
    unexpanded: dict[int, set[int]] = field(default_factory=dict)
    articles: int = 0
    upto: int = -1


class Frontier:
    """Plans waves. Memory: a name and a few numbers an entity."""

    def __init__(self, run: RunFolder, config: Config) -> None:
        self._run = run
        self._config = config
        self._seen = _Seen()
        self._planned: tuple[SubjectItem, ...] = ()

    def plan(self, wave: int) -> Plan | None:
        """The plan of ``wave``, whose predecessor need not be committed; None if it has to wait for
        it, or nothing is left.
        """
        for upto in (wave - 2, wave - 1):
            if upto < 0 or upto > self._run.last_wave:
                continue
            self._see(upto)
            items = self._choose(wave)
            if items:
                self._planned = items
                return Plan(wave, items[0].hop, upto, items)
        return None

    def _see(self, upto: int) -> None:
        for wave in range(self._seen.upto + 1, upto + 1):
            entities = self._run.read("entities", [wave], ["entity_id", "name", "hop"])
            self._seen.names += entities["name"].to_pylist()
            self._seen.hops += entities["hop"].to_pylist()
            for n, hop in zip(entities["entity_id"].to_pylist(), entities["hop"].to_pylist(), strict=True):
                self._seen.waiting.setdefault(hop, deque()).append(n)
            self._see_subjects(wave)
            self._seen.upto = wave

    def _see_subjects(self, wave: int) -> None:
        subjects = self._run.read("subjects", [wave], ["subject_id", "hop", "visit", "error", "expanded"])
        gone: dict[int, set[int]] = {}
        for row in subjects.to_pylist():
            n = row["subject_id"]
            hop = row["hop"]
            if row["visit"] == "generate":
                gone.setdefault(hop, set()).add(n)
                self._seen.articles += row["error"] is None
            unexpanded = self._seen.unexpanded.setdefault(hop, set())
            unexpanded.discard(n)
            if row["error"] is None and not row["expanded"]:
                unexpanded.add(n)
        for hop, done in gone.items():
            queue = self._seen.waiting[hop]
            while (
                queue and queue[0] in done
            ):  # subjects are generated in queue order, so they are at its head
                queue.popleft()

    def _under_way(self, wave: int) -> dict[int, str]:
        """Subject -> visit of the wave before ``wave``, if what the planner has seen does not hold
        it yet.
        """
        before = wave - 1
        if before <= self._seen.upto:
            return {}
        if before > self._run.last_wave:
            return {i.subject_id: i.visit for i in self._planned}
        rows = self._run.read("subjects", [before], ["subject_id", "visit"])
        return dict(zip(rows["subject_id"].to_pylist(), rows["visit"].to_pylist(), strict=True))

    def _choose(self, wave: int) -> tuple[SubjectItem, ...]:
        """The next subjects of the lowest hop that has any: capped ones that may now be expanded,
        then the frontier.
        """
        room = self._config.waves.size
        under_way = self._under_way(wave)
        for hop in sorted({*self._seen.waiting, *self._seen.unexpanded}):
            mode = self._expansion(hop)
            again: list[int] = []
            if mode == "full":
                again = sorted(n for n in self._seen.unexpanded.get(hop, ()) if n not in under_way)[:room]
            fresh = self._fresh(hop, room - len(again), under_way)
            if again or fresh:
                texts = self._texts(again)
                return tuple(
                    [SubjectItem(n, self._seen.names[n], hop, "expand", mode, texts[n]) for n in again]
                    + [SubjectItem(n, self._seen.names[n], hop, "generate", mode) for n in fresh]
                )
        return ()

    def _fresh(self, hop: int, room: int, under_way: dict[int, str]) -> list[int]:
        depth = self._config.caps.depth
        cap = self._config.caps.articles
        if depth is not None and hop > depth:
            return []
        if cap is not None:
            generating = sum(1 for visit in under_way.values() if visit == "generate")
            room = min(room, cap - self._seen.articles - generating)
        fresh = (n for n in self._seen.waiting.get(hop, ()) if n not in under_way)
        return list(itertools.islice(fresh, max(0, room)))

    def _expansion(self, hop: int) -> str:
        """What happens to the links of a subject at ``hop``; see ``Item.expand``."""
        caps = self._config.caps
        if self._config.run.mode == "titles":
            return "none"
        if caps.subjects is not None and len(self._seen.names) >= caps.subjects:
            return Fate.SUBJECT_CAP
        return Fate.DEPTH_CAP if caps.depth is not None and hop >= caps.depth else "full"

    def _texts(self, subjects: list[int]) -> dict[int, str]:
        texts: dict[int, str] = {}
        left = set(subjects)
        for wave in range(self._seen.upto, -1, -1):
            if not left:
                break
            articles = self._run.read("articles", [wave], ["subject_id", "wikitext"])
            for n, text in zip(
                articles["subject_id"].to_pylist(), articles["wikitext"].to_pylist(), strict=True
            ):
                if n in left:
                    texts[n] = text
                    left.discard(n)
        return texts
