"""``llmpedia ppl``: score every answer of a source into a folder like a run; resumes one that is
there.

A wave is the next ``waves.size`` items of the source. The scorers are a Serve deployment that lives
as long as the job, so that a large model is loaded once and not once a wave. There is no journal: a
unit's scores depend on the unit alone, so that what was in flight is computed again, to the same
numbers on the same kind of machine.
"""

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from llmpedia.errors import EngineError, InputError
from llmpedia.execution.job import Job, OnProgress, Progress, open_job
from llmpedia.execution.provenance import described, machine_of
from llmpedia.execution.ray_stream import Row, Work
from llmpedia.execution.session import Session
from llmpedia.execution.waves import Waves
from llmpedia.perplexity.items import ItemSource, ScoringItem, open_source, read_items
from llmpedia.perplexity.replica import DEPLOYMENT, app_name, served
from llmpedia.perplexity.scores import ErrorKind, kind_of
from llmpedia.perplexity.settings import PerplexityJobConfig
from llmpedia.perplexity.worker import PPL_ITEMS, ScoreWorker
from llmpedia.prompts import load_prompt
from llmpedia.store.kinds import RunKind
from llmpedia.store.run_folder import Manifest, RunFolder
from llmpedia.tables import PPL_ANSWERS, table


@dataclass(frozen=True)
class ItemPlan:
    """A wave: the next items of the source."""

    wave: int
    items: tuple[ScoringItem, ...]

    @property
    def title(self) -> str:
        """What progress calls it."""
        return f"wave {self.wave}"

    def rows(self) -> list[Row]:
        """The items that can be scored, as the workers take them."""
        usable = [i for i in self.items if i.error is None]
        return [{"subject_id": i.number, "question": i.question, "answers": list(i.answers)} for i in usable]


def describe_job(config: PerplexityJobConfig, source: ItemSource) -> Row:
    """What ``run.yaml`` holds."""
    prompt = config.prompt.name
    prompts = {prompt: load_prompt(prompt).sha256} if prompt else {}
    return described(config, [], prompts, kind=RunKind.SCORES.value, source_sha256=source.sha256)


def score_items(config: PerplexityJobConfig, run_uri: str, progress: OnProgress) -> RunFolder:
    """Score a source to its end; resumes what is already there.

    Raises: ConfigError, InputError, EngineError: one line; what was committed stays, and the same
        call resumes.
    """
    # Determinism: what is remembered depends on what came before.
    config = config.model_copy(update={"scorer": config.scorer.model_copy(update={"cache": 0})})
    source = open_source(config.items)
    with open_job(run_uri, describe_job(config, source), machine_of(config)) as job:
        run = job.run
        if run.description().get("source_sha256") != source.sha256:
            raise InputError(
                f"{run_uri}: items.source = {config.items.source!r} has changed since it began; "
                f"give another --run"
            )
        done = run.totals.get("ppl_questions", 0)
        items = itertools.islice(read_items(source, config.items), done, None)
        first = next(items, None)
        if first is None:
            if not run.manifests:
                raise InputError(
                    f"items.source = {config.items.source!r}: holds no item; give questions and answers"
                )
            return run
        progress(Progress("starting Ray and the scorers", done))
        with Session(config, [], embeds=False, served=served(config, run.uri)) as session:
            _Scoring(config, job, session, progress).run(itertools.chain([first], items))
    return run


class _Scoring:
    """The loop over waves."""

    def __init__(self, config: PerplexityJobConfig, job: Job, session: Session, progress: OnProgress) -> None:
        self._config = config
        self._job = job
        self._run = job.run
        self._session = session
        self._progress = progress
        self._scorer = _describe(config, job.run.uri)

    def run(self, items: Iterator[ScoringItem]) -> None:
        self._same_scorer()
        waves = Waves[ItemPlan](self._config, [self._session.limiter], self._work, self._finish, self._tell)
        waves.run(self._run.last_wave + 1, lambda w: self._plan(w, items), lambda _: None)

    def _same_scorer(self) -> None:
        """All scores of a folder come from the same weights and tokenizer."""
        before = self._run.last.facts["scorer"] if self._run.last else self._scorer
        for name, value in self._scorer.items():
            if before.get(name) != value:
                changed = f"its scores have {name} {before.get(name)!r}, new ones would have {value!r}"
                raise InputError(f"{self._run.uri}: {changed}; give another --run")

    def _plan(self, wave: int, items: Iterator[ScoringItem]) -> ItemPlan | None:
        batch = tuple(itertools.islice(items, self._config.waves.size))
        return ItemPlan(wave, batch) if batch else None

    def _work(self, plan: ItemPlan) -> Work:
        return Work(ScoreWorker, (self._config.model_dump_json(), self._run.uri), PPL_ITEMS)

    def _tell(self, phase: str) -> None:
        self._progress(Progress(phase, self._run.totals.get("ppl_questions", 0)))

    def _finish(self, plan: ItemPlan, visits: list[Row]) -> None:
        tables = score_tables(plan.items, visits, self._config.scorer.per_token)
        self._job.commit(tables, {**facts_of(tables, self._run.last), "scorer": self._scorer})


def _describe(config: PerplexityJobConfig, run_uri: str) -> dict[str, Any]:
    """What decides the scores, from a scorer.

    Raises:
        EngineError: none answers.
    """
    from ray import serve
    from ray.exceptions import RayError

    handle = serve.get_deployment_handle(DEPLOYMENT, app_name(config, run_uri))
    try:
        return dict(handle.describe.remote().result(timeout_s=config.engine.request_timeout_s))
    except (RayError, TimeoutError) as e:
        raise EngineError(
            f"engine: no scorer answers ({type(e).__name__}); start again once it is back"
        ) from e
    finally:
        handle.shutdown()  # its metrics would go on being sent after Ray has gone


def score_tables(items: tuple[ScoringItem, ...], visits: list[Row], per_token: bool) -> dict[str, pa.Table]:
    """Tables of a wave, in order of the source; ``visits`` are of the usable items, in order."""
    questions: list[Row] = []
    answers: list[Row] = []
    scored = iter(visits)
    for item in items:
        visit = next(scored) if item.error is None else {"error": item.error}
        numbers = {name: visit.get(name) for name in ("ppl", "best_ppl", "worst_ppl", "error")}
        scores = visit.get("answers") or [{"error": visit["error"]}] * len(item.answers)
        row = {
            "item": item.number,
            "item_id": item.item_id,
            "question": item.question,
            "answers": len(item.answers),
        }
        questions.append({**row, **numbers})
        for n, (text, score) in enumerate(zip(item.answers, scores, strict=True)):
            values = {
                name: score.get(name)
                for name in PPL_ANSWERS.names
                if name not in ("item", "position", "answer")
            }
            if not per_token:
                values["logprobs"] = None
            answers.append({"item": item.number, "position": n, "answer": text, **values})
    return {"ppl_questions": table("ppl_questions", questions), "ppl_answers": table("ppl_answers", answers)}


def facts_of(tables: dict[str, pa.Table], previous: Manifest | None) -> dict[str, Any]:
    """What the manifest says of the wave: counts, errors by kind, and running totals."""
    counts: dict[str, Any] = {name: rows.num_rows for name, rows in tables.items()}
    errors = [kind_of(e) for e in tables["ppl_answers"]["error"].to_pylist() if e is not None]
    errors += [
        kind_of(e)
        for e in tables["ppl_questions"]["error"].to_pylist()
        if e is not None and kind_of(e) == ErrorKind.ITEM
    ]
    counts["tokens"] = sum(n for n in tables["ppl_answers"]["tokens"].to_pylist() if n is not None)
    before = previous.facts["totals"] if previous else {}
    totals: dict[str, Any] = {name: before.get(name, 0) + n for name, n in counts.items()}
    totals["errors"] = dict(sorted((Counter(before.get("errors", {})) + Counter(errors)).items()))
    return {"counts": {**counts, "errors": dict(sorted(Counter(errors).items()))}, "totals": totals}
