"""``llmpedia probe build``: from a corpus to checked questions, step by step; resumes a build that
is there.

A build is a folder like a run. Each commit belongs to one step and says so; a step begins when the
one before has committed all its items, so that every step is a function of what lies there. The
order of the steps is :data:`ORDER`.
"""

import itertools
import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from llmpedia.engines.concurrency.limiter import start_limiter
from llmpedia.errors import InputError
from llmpedia.execution.job import Job, OnProgress, Progress, open_job, running_totals, unique_completions
from llmpedia.execution.provenance import described, machine_of
from llmpedia.execution.ray_stream import Row, Work
from llmpedia.execution.session import Session
from llmpedia.execution.waves import Waves
from llmpedia.probe.candidates.attributes import load_slots
from llmpedia.probe.candidates.pairs import candidate_pairs
from llmpedia.probe.corpus.read import read_corpus
from llmpedia.probe.corpus.readers import corpus_files
from llmpedia.probe.pipeline.prepared import prepared
from llmpedia.probe.pipeline.state import BuildState
from llmpedia.probe.pipeline.step_registry import STEPS, enabled
from llmpedia.probe.pipeline.steps import Step
from llmpedia.probe.pipeline.worker import BUILD_ITEMS, BuildWorker
from llmpedia.probe.questions.subgraphs import facts_of, subgraphs
from llmpedia.probe.questions.web_tools import search_engine
from llmpedia.probe.settings.build import BuildConfig
from llmpedia.prompts import load_prompt
from llmpedia.stage_list import BUILD_STAGES, names_of
from llmpedia.store.kinds import RunKind
from llmpedia.store.run_folder import Manifest, RunFolder
from llmpedia.tables import table

ORDER = ("corpus", "knowledge", "pairs", "relations", "subgraphs", "questions", "read", "web")
_DOCUMENTS = 10_000  # of a commit of the corpus


@dataclass(frozen=True)
class StepPlan:
    """A wave of a step. ``items``: without texts, which are read when the wave is written."""

    wave: int
    step: Step
    items: tuple[Row, ...]
    state: BuildState
    last: bool

    @property
    def title(self) -> str:
        """What progress calls it."""
        return f"{self.step.name}, wave {self.wave}"

    def rows(self) -> list[Row]:
        """The items as the workers take them."""
        loaded = ((i["subject_id"], self.step.loaded(i, self.state)) for i in self.items)
        return [{"subject_id": n, "item": json.dumps(item)} for n, item in loaded]


def describe_build(config: BuildConfig) -> Row:
    """What the build's ``run.yaml`` holds."""
    prompts = {f"probe/{name}": load_prompt(f"probe/{name}").sha256 for name in names_of(BUILD_STAGES)}
    return described(config, [], prompts, kind=RunKind.BUILD.value)


def build(config: BuildConfig, run_uri: str, progress: OnProgress) -> RunFolder:
    """Build as far as it goes without a human; resumes what is already there.

    Raises: ConfigError, InputError, EngineError: one line; what was committed stays, and the same
        call resumes.
    """
    steps = {name: STEPS[name](config) for name in enabled(config)}
    with open_job(run_uri, describe_build(config), machine_of(config)) as job:
        state = BuildState(job.run)
        if not state.finished(_last(config)):
            _check_parts(config, state.finished("corpus"))
            progress(Progress("starting Ray and the engine", 0))
            with Session(config, [step.need() for step in steps.values()], embeds=False) as session:
                _Build(config, job, session, steps, progress).run()
    return job.run


def _check_parts(config: BuildConfig, corpus_read: bool) -> None:
    """Have whatever is missing told before any work.

    Raises:
        ConfigError, InputError: a file, a key or a package is missing.
    """
    if not corpus_read:
        corpus_files(config.corpus)
    load_slots(config.pairs.slots)
    if config.validation.web:
        search_engine(config.web, config.cache)


def _last(config: BuildConfig) -> str:
    return next(name for name in reversed(ORDER) if name not in STEPS or name in enabled(config))


class _Build:
    """The steps in order."""

    def __init__(
        self,
        config: BuildConfig,
        job: Job,
        session: Session,
        steps: dict[str, Step],
        progress: OnProgress,
    ) -> None:
        self._config = config
        self._job = job
        self._run = job.run
        self._progress = progress
        self._steps = steps
        self._limiters: dict[str, Any] = {"model": session.limiter}
        if "web" in steps:
            self._limiters["web"] = start_limiter(config.web.concurrency)

    def run(self) -> None:
        here = {"corpus": self._corpus, "pairs": self._pairs, "subgraphs": self._subgraphs}
        for name in ORDER:
            if BuildState(self._run).finished(name):
                continue
            if name in here:
                here[name]()
            elif name in self._steps:
                self._walk(self._steps[name])

    def _corpus(self) -> None:
        """Documents in commits of a fixed size; what is committed already is read again and must be
        the same.
        """
        before = iter(self._run.read("documents", columns=["document_id"])["document_id"].to_pylist())
        done = BuildState(self._run).committed("corpus")
        rows = read_corpus(self._config.corpus)
        number = 0
        for number, row in enumerate(itertools.islice(rows, done), 1):
            if row["document_id"] != next(before):
                raise InputError(
                    f"{self._run.uri}: document {number - 1} of corpus.source has changed; give another --run"
                )
        if number < done:
            raise InputError(
                f"{self._run.uri}: corpus.source has {number} documents now, {done} are committed; "
                f"give another --run"
            )
        while True:
            some = list(itertools.islice(rows, _DOCUMENTS))
            done += len(some)
            if not done:
                raise InputError(
                    f"corpus.source = {self._config.corpus.source!r}: holds no document; give another one"
                )
            self._commit("corpus", {"documents": table("documents", some)}, len(some), len(some) < _DOCUMENTS)
            self._progress(Progress("corpus", done))
            if len(some) < _DOCUMENTS:
                break

    def _pairs(self) -> None:
        self._progress(Progress("candidate pairs", 0))
        candidates = candidate_pairs(prepared(BuildState(self._run), self._config), self._config.pairs)
        self._commit(
            "pairs",
            {"pairs": table("pairs", candidates.pairs)},
            len(candidates.pairs),
            True,
            {"left_out": candidates.left_out},
        )

    def _subgraphs(self) -> None:
        state = BuildState(self._run)
        rows = subgraphs(facts_of(state.pairs, state.rows("relations")), self._config.subgraphs)
        self._commit("subgraphs", {"subgraphs": table("subgraphs", rows)}, len(rows), True)

    def _walk(self, step: Step) -> None:
        """An LLM step, in waves."""
        state = BuildState(self._run)
        size = self._config.waves.size
        items = step.items(state)
        done = state.committed(step.name)
        if not items:
            self._commit(step.name, {}, 0, True)
            return
        first = self._run.last_wave + 1
        # what all items need is read here once, not by two waves at the same time
        step.loaded(items[0], state)

        def plan(wave: int) -> StepPlan | None:
            at = done + (wave - first) * size
            some = tuple(items[at : at + size])
            return StepPlan(wave, step, some, state, at + size >= len(items)) if some else None

        def tell(phase: str) -> None:
            self._progress(Progress(phase, BuildState(self._run).committed(step.name), len(items)))

        waves = Waves[StepPlan](self._config, list(self._limiters.values()), self._work, self._finish, tell)
        waves.run(first, plan, lambda _: None)

    def _work(self, plan: StepPlan) -> Work:
        arguments = (self._config.model_dump_json(), self._run.uri, plan.wave, plan.step.name, self._limiters)
        return Work(BuildWorker, arguments, BUILD_ITEMS)

    def _finish(self, plan: StepPlan, visits: list[Row]) -> None:
        rows = {name: [row for visit in visits for row in visit[name]] for name in plan.step.tables}
        rows["completions"] = unique_completions(visits)
        tables = {name: table(name, of_table) for name, of_table in rows.items()}
        self._commit(plan.step.name, tables, len(plan.items), plan.last)

    def _commit(
        self, step: str, tables: dict[str, pa.Table], items: int, last: bool, more: Row | None = None
    ) -> None:
        facts = {"step": step, "items": items, "last": last}
        facts |= facts_of_commit(step, tables, self._run.last)
        self._job.commit(tables, facts | (more or {}))


_FATED = {
    "documents": "fate",
    "relations": "relation",
    "subgraphs": "fate",
    "questions": "fate",
    "checks": "fate",
}


def facts_of_commit(step: str, tables: dict[str, pa.Table], previous: Manifest | None) -> Row:
    """What the manifest says of a commit: rows, fates by step, and running totals."""
    counts: Row = {name: rows.num_rows for name, rows in tables.items()}
    fates: Counter[str] = Counter()
    for name, column in _FATED.items():
        if name in tables:
            fates.update(f"{step}: {value or 'error'}" for value in tables[name][column].to_pylist())
    if "knowledge_points" in tables:
        errors = tables["knowledge_points"]["error"].to_pylist()
        fates.update("knowledge: error" if e is not None else "knowledge: labelled" for e in errors)
    before = previous.facts["totals"] if previous else {}
    totals = running_totals(previous, counts, sorted({*before, *counts}))
    return {"counts": {**counts, "fates": dict(sorted(fates.items()))}, "totals": totals}
