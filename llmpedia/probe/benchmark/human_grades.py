"""Responses graded by a human, beside the judge: a balanced sample as a sheet without the judge's
decisions, and back.

The reader decides what the judge decides, account by account, and the outcome is computed from that
as the judge's is.
"""

import random
from pathlib import Path
from typing import Any

from llmpedia.errors import InputError
from llmpedia.probe.benchmark.grade import OUTCOMES, Contradiction, Grading, outcome
from llmpedia.probe.benchmark.run import grades_folder, last_rows, model_folder, models_of
from llmpedia.review_csv import (
    NUMBER,
    cells,
    check_columns,
    columns,
    need_free,
    need_none,
    read_rows,
    write_rows,
)
from llmpedia.stages import one_line, without_thought
from llmpedia.store.files import Folder
from llmpedia.store.run_folder import RUN_FILE, RunFolder

Row = dict[str, Any]
_SHOWN = ("model", "benchmark_id", "question", "accounts")
READER_COLUMNS = ("covered", "contradicted", "comment")
_DECISIONS = {"yes": True, "no": False}


def write_grade_sheet(run_uri: str, path: Path, each: int, seed: int) -> int:
    """Draw ``each`` responses of each outcome of all models together, shuffle and write them; the
    number of rows.

    Raises:
        InputError: nothing is graded, or the file is there already.
    """
    need_free(path)
    graded: dict[str, list[Row]] = {name: [] for name in OUTCOMES}
    for model in models_of(run_uri):
        if not Folder(grades_folder(run_uri, model)).exists(RUN_FILE):
            continue
        folder = RunFolder.open(model_folder(run_uri, model))
        questions = {row["benchmark_id"]: row for row in folder.read("benchmark").to_pylist()}
        responses = last_rows(folder, "responses")
        for key, grade in last_rows(RunFolder.open(grades_folder(run_uri, model)), "grades").items():
            if grade["outcome"] is not None:
                graded[grade["outcome"]].append(_sheet_row(model, questions[key], responses[key]))
    rng = random.Random(seed)  # noqa: S311 - a sample, not a secret
    drawn = [row for rows in graded.values() for row in rng.sample(rows, min(each, len(rows)))]
    if not drawn:
        raise InputError(f"{run_uri}: no response is graded yet; run llmpedia probe grade first")
    rng.shuffle(drawn)
    wide = max(len(cells([row["response"]])) for row in drawn)
    write_rows(path, [{**_in_cells(row, wide), **dict.fromkeys(READER_COLUMNS, "")} for row in drawn])
    return len(drawn)


def _sheet_row(model: str, question: Row, response: Row) -> Row:
    accounts = "\n".join(f"{n}. {one_line(answer)}" for n, answer in enumerate(question["answers"], 1))
    row = {
        "model": model,
        "benchmark_id": question["benchmark_id"],
        "question": question["question"],
        "accounts": accounts,
    }
    return {**row, "response": without_thought(response["text"])}  # graded, so that its thought has an end


def _in_cells(row: Row, wide: int) -> Row:
    """The row with its response in as many columns as the longest one takes."""
    return {**{name: row[name] for name in _SHOWN}, **columns("response", cells([row["response"]]), wide)}


def read_grade_sheet(path: Path) -> list[Row]:
    """What a reader says: ``model, benchmark_id, outcome, covered`` a filled row.

    ``covered`` lists the numbers of the accounts that the response covers ("1 2"), or says none;
    ``contradicted``, yes or no, whether it puts forward another value than the accounts.

    Raises:
        InputError: it is no such sheet, or rows cannot be used; all are counted and the first ten
        named.
    """
    rows = read_rows(path)
    check_columns(path, rows[0], (*_SHOWN, *READER_COLUMNS))
    grades = []
    problems = []
    for row in rows:
        if not (row["covered"].strip() or row["contradicted"].strip()):
            continue
        accounts = len(row["accounts"].strip().splitlines())
        covered = _numbers(row["covered"], accounts)
        contradicted = _DECISIONS.get(row["contradicted"].strip().lower())
        if covered is None or contradicted is None:
            rule = f"covered must be none or numbers from 1 to {accounts}, contradicted yes or no"
            cells = f"covered = {row['covered']!r}, contradicted = {row['contradicted']!r}"
            problems.append(f"row {row[NUMBER]} has {cells}; {rule}")
            continue
        against = (Contradiction("", ""),) if contradicted else ()
        graded = {"outcome": outcome(Grading(covered, against)), "covered": covered}
        grades.append({"model": row["model"], "benchmark_id": row["benchmark_id"], **graded})
    need_none(path, problems)
    return grades


def _numbers(text: str, accounts: int) -> tuple[bool, ...] | None:
    """Which accounts a cell names; None where it cannot be read."""
    parts = text.replace(",", " ").replace(";", " ").split()
    if [p.lower() for p in parts] == ["none"]:
        return (False,) * accounts
    if not parts or not all(p.isdecimal() and 1 <= int(p) <= accounts for p in parts):
        return None
    named = {int(p) for p in parts}
    return tuple(n in named for n in range(1, accounts + 1))
