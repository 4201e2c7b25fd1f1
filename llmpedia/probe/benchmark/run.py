"""``llmpedia probe run`` and ``grade``: closed-book responses of many models, then a judge's
decisions on each.

``RUN/models/NAME`` is a folder like a run: commit 0 holds the benchmark, later ones responses;
``RUN/models/NAME/grades`` holds their grades. Of each question the last row counts; a start asks
those that have none, and once more those that failed.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llmpedia.engines.preflight import Need, check_model
from llmpedia.errors import ConfigError, InputError, LlmpediaError
from llmpedia.execution.job import Job, OnProgress, Progress, open_job, running_totals
from llmpedia.execution.provenance import described, machine_of
from llmpedia.execution.ray_stream import Row, Work
from llmpedia.execution.session import Session
from llmpedia.execution.waves import Waves
from llmpedia.probe.benchmark.release import read_benchmark
from llmpedia.probe.benchmark.worker import PROBE_ITEMS, GradeWorker, RespondWorker
from llmpedia.probe.settings.base import ProbeConfig
from llmpedia.probe.settings.run import ProbeRunConfig
from llmpedia.prompts import load_prompt
from llmpedia.store.files import Folder
from llmpedia.store.kinds import RunKind
from llmpedia.store.run_folder import RUN_FILE, RunFolder
from llmpedia.tables import BENCHMARK, table

_PROMPTS = {RunKind.RESPONSES: "closed_book", RunKind.GRADES: "grade"}
_WORKERS = {RunKind.RESPONSES: RespondWorker, RunKind.GRADES: GradeWorker}
# what the configuration says of the model, as of the last start; no part of the run's identity
FACTS_FILE = "facts.json"
_QUESTION_CHARS = 1000  # of a question, for a first check that it fits
_RESPONSE_CHARS = 2000  # of a response without its thought


@dataclass(frozen=True)
class QuestionPlan:
    """A wave: questions to one model, or responses to the judge."""

    wave: int
    items: tuple[Row, ...]

    @property
    def title(self) -> str:
        """What progress calls it."""
        return f"wave {self.wave}"

    def rows(self) -> list[Row]:
        """The items as the workers take them."""
        return [{"subject_id": item["subject_id"], "item": json.dumps(item)} for item in self.items]


def model_folder(run_uri: str, name: str) -> str:
    """Where a model's responses lie."""
    return f"{run_uri.rstrip('/')}/models/{name}"


def grades_folder(run_uri: str, name: str) -> str:
    """Where their grades lie."""
    return f"{model_folder(run_uri, name)}/grades"


def models_of(run_uri: str) -> list[str]:
    """Names of the models that a run has asked, in order.

    Raises:
        InputError: there are none.
    """
    ending = f"/{RUN_FILE}"
    files = (
        name.removeprefix("models/")
        for name in Folder(run_uri).list("models", recursive=True)
        if name.endswith(ending)
    )
    names = sorted(name.removesuffix(ending) for name in files if name.count("/") == 1)
    if not names:
        raise InputError(
            f"{run_uri}: no model was asked there; give a folder of llmpedia probe run, or of a build"
        )
    return names


def chosen(config: ProbeRunConfig, names: list[str]) -> list[str]:
    """The models named, or all of them.

    Raises:
        ConfigError: there is no such model.
    """
    for name in names:
        if name not in config.models:
            raise ConfigError(
                f"--model {name}: is no model of the configuration; use one of {', '.join(config.models)}"
            )
    return names or list(config.models)


def last_rows(folder: RunFolder, name: str) -> dict[str, Row]:
    """benchmark_id -> the row of a table that counts."""
    return {row["benchmark_id"]: row for row in folder.read(name).to_pylist()}


def respond(config: ProbeRunConfig, run_uri: str, names: list[str], progress: OnProgress) -> dict[str, int]:
    """Ask the models, one after the other, each by its own engine; how many questions each was
    asked now.

    Raises: ConfigError, InputError, EngineError: one line; what was committed stays, and the same
        call resumes.
    """
    benchmark = read_benchmark(config.benchmark)
    asked = chosen(config, names)
    for name in asked:  # what is wrong with the last one is told before the first is asked
        _check_engine(name, config.of_model(name))
    return {
        name: _respond_one(config, model_folder(run_uri, name), name, benchmark, progress) for name in asked
    }


def _check_engine(name: str, settings: ProbeConfig) -> None:
    try:
        check_model(settings, [_need(settings)])
    except LlmpediaError as e:
        raise type(e)(f"models.{name}: {e}") from e


def _need(settings: ProbeConfig) -> Need:
    return Need("closed_book", _QUESTION_CHARS, settings.stage("closed_book").max_tokens or 0)


def _respond_one(
    config: ProbeRunConfig,
    uri: str,
    name: str,
    benchmark: list[Row],
    progress: OnProgress,
) -> int:
    settings = config.of_model(name)
    model = config.models[name]
    description = _described(settings, RunKind.RESPONSES, benchmark, name)
    with open_job(uri, description, machine_of(settings)) as job:
        folder = job.run
        facts = model.model_dump(
            mode="json", include={"family", "parameters_b", "reasoning", "group", "base"}
        )
        folder.folder.write(FACTS_FILE, (json.dumps(facts, indent=1) + "\n").encode())
        _same_benchmark(folder, benchmark)
        if folder.last_wave < 0:
            job.commit({"benchmark": table("benchmark", benchmark)}, _facts(folder, {}, 0))
        before = last_rows(folder, "responses")
        left = ((n, row) for n, row in enumerate(benchmark) if _unanswered(before.get(row["benchmark_id"])))
        items = sorted((_question(n, row, before) for n, row in left), key=_never_tried_first)
        if not items:
            return 0
        tell = _teller(name, len(benchmark), progress)
        tell("starting Ray and the engine", len(before))
        with Session(settings, [_need(settings)], embeds=False) as session:
            _Asking(settings, job, session, tell).run(items)
    return len(items)


def _teller(name: str, total: int, progress: OnProgress) -> Callable[[str, int], None]:
    return lambda phase, done: progress(Progress(f"{name}, {phase}", done, total))


def _never_tried_first(item: Row) -> bool:
    """A sorting key. Waves of what was never tried are the same however many others have failed,
    and so are their journals.
    """
    return bool(item["attempt"] > 1)


def _unanswered(row: Row | None) -> bool:
    return row is None or row["error"] is not None


def _question(number: int, row: Row, before: dict[str, Row]) -> Row:
    attempt = before[row["benchmark_id"]]["attempt"] + 1 if row["benchmark_id"] in before else 1
    return {
        "subject_id": number,
        "benchmark_id": row["benchmark_id"],
        "question": row["question"],
        "attempt": attempt,
    }


def grade_responses(
    config: ProbeRunConfig, run_uri: str, names: list[str], progress: OnProgress
) -> dict[str, int]:
    """Have the judge grade the responses that are there and not graded yet, and once more those
    that it failed on.

    How many of each model it was given now.

    Raises: ConfigError, InputError, EngineError: one line; what was committed stays, and the same
        call resumes.
    """
    judge = config.of_judge()
    answered = {name: _open_responses(model_folder(run_uri, name)) for name in chosen(config, names)}
    for name, responses in answered.items():  # grades that are there may be another judge's
        if Folder(grades_folder(run_uri, name)).exists(RUN_FILE):
            _check_grades(judge, run_uri, name, responses)
    left = {name: _ungraded(folder, grades_folder(run_uri, name)) for name, folder in answered.items()}
    if not any(left.values()):
        return dict.fromkeys(answered, 0)
    longest = max(
        sum(map(len, row["answers"])) for f in answered.values() for row in f.read("benchmark").to_pylist()
    )
    prompt = len(load_prompt("probe/grade").system)
    need = Need(
        "grade", longest + _QUESTION_CHARS + _RESPONSE_CHARS + prompt, judge.stage("grade").max_tokens or 0
    )
    with Session(judge, [need], embeds=False) as session:
        for name, responses in answered.items():
            uri = grades_folder(run_uri, name)
            benchmark = _benchmark_of(responses)
            description = _described(judge, RunKind.GRADES, benchmark, name)
            with open_job(uri, description, machine_of(judge)) as job:
                _same_benchmark(job.run, benchmark)
                items = _ungraded(responses, uri)
                if items:
                    _Asking(judge, job, session, _teller(name, len(benchmark), progress)).run(items)
    return {name: len(items) for name, items in left.items()}


def _check_grades(judge: ProbeConfig, run_uri: str, name: str, responses: RunFolder) -> None:
    """Raise unless the grades of a model that are there are by this judge and of this benchmark."""
    benchmark = _benchmark_of(responses)
    description = _described(judge, RunKind.GRADES, benchmark, name)
    _same_benchmark(RunFolder.create_or_open(grades_folder(run_uri, name), description), benchmark)


def _benchmark_of(responses: RunFolder) -> list[Row]:
    return [{k: r[k] for k in BENCHMARK.names} for r in responses.read("benchmark").to_pylist()]


def _open_responses(uri: str) -> RunFolder:
    folder = RunFolder.open(uri)
    if folder.kind != RunKind.RESPONSES:
        raise InputError(f"{uri}: holds no responses; run llmpedia probe run first")
    return folder


def _ungraded(responses: RunFolder, grades_uri: str) -> list[Row]:
    """Responses without a grade of their own, in order of the benchmark. What the engine failed on
    is no response.
    """
    before = last_rows(RunFolder.open(grades_uri), "grades") if Folder(grades_uri).exists(RUN_FILE) else {}
    answered = last_rows(responses, "responses")
    items = []
    for number, row in enumerate(responses.read("benchmark").to_pylist()):
        key = row["benchmark_id"]
        response = answered.get(key)
        grade = before.get(key)
        if response is None or response["error"] is not None:
            continue
        if grade is None or grade["error_stage"] == "grade" or grade["response"] != response["completion"]:
            fields = {k: row[k] for k in ("benchmark_id", "question", "answers")}
            attempt = grade["attempt"] + 1 if grade else 1
            more = {"text": response["text"], "response": response["completion"], "attempt": attempt}
            items.append({"subject_id": number, **fields, **more})
    return sorted(items, key=_never_tried_first)


def _described(config: ProbeConfig, kind: RunKind, benchmark: list[Row], model: str) -> Row:
    prompt = f"probe/{_PROMPTS[kind]}"
    return described(
        config,
        [],
        {prompt: load_prompt(prompt).sha256},
        kind=kind.value,
        benchmark_sha256=_hash(benchmark),
        model=model,
    )


def _hash(benchmark: list[Row]) -> str:
    return hashlib.sha256(json.dumps(benchmark, sort_keys=True).encode()).hexdigest()


def _same_benchmark(folder: RunFolder, benchmark: list[Row]) -> None:
    if folder.description().get("benchmark_sha256") != _hash(benchmark):
        raise InputError(f"{folder.uri}: is about another benchmark; give another --run folder")


class _Asking:
    """The loop over waves of one model's questions, or of their grades."""

    def __init__(
        self,
        config: ProbeConfig,
        job: Job,
        session: Session,
        tell: Callable[[str, int], None],
    ) -> None:
        """``tell``: of progress, in words and questions done."""
        self._config = config
        self._job = job
        self._folder = job.run
        self._session = session
        self._kind = job.run.kind
        self._progress = tell
        self._done = len(last_rows(job.run, self._kind))

    def run(self, items: list[Row]) -> None:
        first = self._folder.last_wave + 1
        size = self._config.waves.size

        def plan(wave: int) -> QuestionPlan | None:
            some = tuple(items[(wave - first) * size : (wave - first + 1) * size])
            return QuestionPlan(wave, some) if some else None

        waves = Waves[QuestionPlan](
            self._config, [self._session.limiter], self._work, self._finish, self._tell
        )
        waves.run(first, plan, lambda _: None)

    def _work(self, plan: QuestionPlan) -> Work:
        arguments = (self._config.model_dump_json(), self._folder.uri, plan.wave, self._session.limiter)
        return Work(_WORKERS[self._kind], arguments, PROBE_ITEMS)

    def _tell(self, phase: str) -> None:
        self._progress(f"{self._kind}: {phase}", self._done)

    def _finish(self, plan: QuestionPlan, visits: list[Row]) -> None:
        rows = [visit["row"] for visit in visits]
        # Of a request that several questions share the last row stays, as folders hold it that are
        # there.
        completions = {row["key"]: row for visit in visits for row in visit["completions"]}
        self._done += sum(row["attempt"] == 1 for row in rows)
        tables = {
            self._kind: table(self._kind, rows),
            "completions": table("completions", completions.values()),
        }
        outcomes = Counter(str(row.get("outcome") or row.get("error_stage") or _outcome(row)) for row in rows)
        self._job.commit(tables, _facts(self._folder, dict(sorted(outcomes.items())), len(rows)))


def _outcome(row: Row) -> str:
    if row["error"] is not None:
        return "failed to answer"
    return "truncated" if row.get("truncated") else "answered"


def _facts(folder: RunFolder, outcomes: dict[str, int], rows: int) -> dict[str, Any]:
    counts = {folder.kind.value: rows}
    return {"counts": {**counts, "outcomes": outcomes}, "totals": running_totals(folder.last, counts, counts)}
