"""A model's closed-book responses and their grades against what the world planted. A pure function
of the folders and the world.

Definitions planted     what a response deserves: all accounts of the question given and nothing
    else complete, some partial, none or a
                value that no account of the question is, beside one that is, failed. By the draw of
                the world's model, whose name stands in the request; ``drawn`` is that draw,
                whatever accounts the question lists.
    graded      outcome of the judge; ``ungraded``: questions without one. mismatched  graded
    questions whose outcome is another one than planted; ``PLANTED -> GRADED`` counts all. strangers
    questions that ask for nothing planted; they are in no other figure.
"""

from collections import Counter
from typing import Any

from llmpedia.rehearsal.model.recall import Recalled, recalled
from llmpedia.rehearsal.planted.disagreements import PlantedFact
from llmpedia.rehearsal.planted.document_reader import compatible
from llmpedia.rehearsal.world.world import World
from llmpedia.store.files import Folder
from llmpedia.store.run_folder import RUN_FILE, RunFolder

Row = dict[str, Any]
OUTCOMES = ("complete", "partial", "failed")
_UNGRADED = "ungraded"


def score_responses(run: RunFolder, world: World) -> dict[str, Row]:
    """Figures: section -> name -> number, text for questions. ``run``: of a model's responses, the
    grades in its ``grades``.

    Raises:
        InputError: a file is missing or damaged.
    """
    questions = run.read("benchmark").to_pylist()
    models = {
        row["key"]: row["model"] for row in run.read("completions", columns=["key", "model"]).to_pylist()
    }
    responses = {row["benchmark_id"]: row for row in run.read("responses").to_pylist()}
    grades = _grades(run)
    counts = Counter[str]()
    confusion = Counter[str]()
    mismatches = dict[str, str]()
    for question in questions:
        response = responses.get(question["benchmark_id"])
        if response is None:
            counts["unanswered"] += 1
            continue
        memory = recalled(world, models[response["completion"]], question["question"])
        if memory.fact is None:
            counts["strangers"] += 1
            continue
        planted = deserved(memory, question["answers"])
        graded = grades.get(question["benchmark_id"]) or _UNGRADED
        counts[f"drawn {memory.drawn}"] += 1
        counts[f"planted {planted}"] += 1
        confusion[f"{planted} -> {graded}"] += 1
        if graded != planted:
            mismatches[question["question"]] = f"{planted} -> {graded}"
    summary = {"questions": len(questions), **_totals(counts, confusion)}
    return {
        "responses": summary,
        "confusion": dict(sorted(confusion.items())),
        "mismatches": dict(mismatches),
    }


def _totals(counts: Counter[str], confusion: Counter[str]) -> Row:
    names = ("unanswered", "strangers", *(f"{what} {o}" for what in ("drawn", "planted") for o in OUTCOMES))
    graded = {
        o: sum(n for name, n in confusion.items() if name.endswith(f"> {o}")) for o in (*OUTCOMES, _UNGRADED)
    }
    matched = sum(confusion[f"{o} -> {o}"] for o in OUTCOMES)
    return {
        **{name: counts[name] for name in names},
        **{f"graded {o}": graded[o] for o in OUTCOMES},
        _UNGRADED: graded[_UNGRADED],
        "mismatched": confusion.total() - matched - graded[_UNGRADED],
    }


def deserved(memory: Recalled, answers: list[str]) -> str:
    """The outcome that what a model recalled deserves, by the accounts that a question lists."""
    fact = memory.fact
    if fact is None:
        return "failed"
    values = [fact.accounts[place].value for place in memory.accounts] + (
        [memory.invented] if memory.invented else []
    )
    covered = [any(_same(fact, answer, value) for value in values) for answer in answers]
    strange = any(not any(_same(fact, answer, value) for answer in answers) for value in values)
    if strange or not any(covered):
        return "failed"
    return "complete" if all(covered) else "partial"


def _same(fact: PlantedFact, answer: str, value: str) -> bool:
    return compatible(fact.slot.value, answer, value)


def _grades(run: RunFolder) -> dict[str, str | None]:
    """benchmark_id -> outcome, of the last grade; empty before anything was graded."""
    uri = f"{run.uri.rstrip('/')}/grades"
    if not Folder(uri).exists(RUN_FILE):
        return {}
    return {row["benchmark_id"]: row["outcome"] for row in RunFolder.open(uri).read("grades").to_pylist()}
