"""Human validation of the judge: a balanced sample as a spreadsheet, the filled one read back,
agreement (paper, 4.3 and E).

Each row of the sheet holds a claim, the evidence that the judge was shown, and the reader's
columns. Where the judge's verdicts are hidden they stand in a key sheet beside it,
``NAME-key.csv``; the reader then gives the class and agrees with nobody.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from llmpedia.audit.measures.verdicts import Row, Rows, wilson
from llmpedia.audit.stages import LABELS
from llmpedia.errors import InputError
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

_DECISION = ("agree", "correct_verdict")
READER_COLUMNS = (*_DECISION, "comment")
_SHOWN = 3
_ITEM_COLUMNS = ("item", "tier", "subject", "claim")
_JUDGE_COLUMNS = ("judge_verdict", "judge_error_type", "judge_confidence", "judge_explanation")


@dataclass(frozen=True)
class SheetWritten:
    """What became of a sheet. ``short``: one line for each class with fewer rows than asked for,
    with both numbers.
    """

    rows: int
    by_class: dict[str, int]
    short: tuple[str, ...]
    key: Path | None


def write_sheet(
    rows: Sequence[Row], path: Path, balanced: Mapping[str, int], seed: int, hide_verdicts: bool
) -> SheetWritten:
    """Draw ``balanced[verdict]`` rows of each verdict, shuffle them and write them; the same for
    the same rows and seed.

    Rows have ``claim_id, tier, name, text, verdict``, ``evidence`` (the passages as shown to the
    judge, in order), and may have ``error_type, confidence, explanation``.

    Raises:
        InputError: a class is unknown, a number is below 1, no row is left, or the file is there
        already.
    """
    wrong = {c: n for c, n in balanced.items() if c not in LABELS or n < 1}
    if wrong:
        raise InputError(
            f"balanced sample = {wrong}: must be {', '.join(LABELS)}, each with a number from 1; "
            f"correct or omit them"
        )
    need_free(path, key_path(path))
    drawn = _draw(rows, balanced, seed)
    by_class = {c: sum(r["verdict"] == c for r in drawn) for c in balanced}
    short = tuple(f"{c}: {n} rows, {balanced[c]} asked for" for c, n in by_class.items() if n < balanced[c])
    if not drawn:
        raise InputError(
            f"{path}: no row to review ({'; '.join(short) or 'none asked for'}); ask for classes "
            f"that the audit has"
        )
    passages = max(len(_pieces(r)) for r in drawn)
    shown = [_sheet_row(r, passages, hide_verdicts) for r in drawn]
    write_rows(path, shown)
    if hide_verdicts:
        write_rows(key_path(path), [{"item": _item(r), **_judged(r)} for r in drawn])
    return SheetWritten(len(drawn), by_class, short, key_path(path) if hide_verdicts else None)


def key_path(path: Path) -> Path:
    """Where the verdicts of a sheet that hides them stand."""
    return path.with_name(f"{path.stem}-key.csv")


def _draw(rows: Sequence[Row], balanced: Mapping[str, int], seed: int) -> Rows:
    import numpy as np

    rng = np.random.default_rng(seed)
    drawn: Rows = []
    for verdict, n in balanced.items():
        # Sorted: the draw is the same whatever the order of the rows.
        of_class = sorted(
            (r for r in rows if r["verdict"] == verdict), key=lambda r: (r["tier"], r["claim_id"])
        )
        drawn += [of_class[i] for i in rng.permutation(len(of_class))[:n]]
    return [drawn[i] for i in rng.permutation(len(drawn))]


def _item(row: Row) -> str:
    return f"{row['tier']}:{row['claim_id']}"


def _judged(row: Row) -> Row:
    return {
        "judge_verdict": row["verdict"],
        **{f"judge_{c}": row.get(c) for c in ("error_type", "confidence", "explanation")},
    }


def _sheet_row(row: Row, passages: int, hide_verdicts: bool) -> Row:
    evidence = columns("evidence", _pieces(row), passages)
    shown = {
        "item": _item(row),
        "tier": row["tier"],
        "subject": row["name"],
        "claim": row["text"],
        **evidence,
    }
    if hide_verdicts:
        return {**shown, **dict.fromkeys(READER_COLUMNS[1:], "")}
    return {**shown, **_judged(row), **dict.fromkeys(READER_COLUMNS, "")}


def _pieces(row: Row) -> list[str]:
    """Passages (one text is one passage), long ones in several cells."""
    return cells([row["evidence"]] if isinstance(row["evidence"], str) else row["evidence"])


def read_sheet(path: Path) -> Rows:
    """A filled sheet: ``item, tier, judge, human, comment`` for each row, the classes as the judge
    and the reader have them.

    The reader writes ``agree`` = yes, or no with a ``correct_verdict``; on a sheet that hides
    verdicts, ``correct_verdict`` alone. A sheet saved with semicolons or tabs is read too.

    Raises:
        InputError: it is no such sheet, or rows are not filled in or wrong; all are counted and the
            first ones named, with their row in the spreadsheet.
    """
    table = read_rows(path)
    hidden = "judge_verdict" not in table[0]
    wanted = (*_ITEM_COLUMNS, *(READER_COLUMNS[1:] if hidden else READER_COLUMNS))
    check_columns(path, table[0], wanted)
    judged = (
        judge_verdicts(key_path(path), read_rows(key_path(path))) if hidden else judge_verdicts(path, table)
    )
    problems = [
        f"item {item} is in the key but not in the sheet"
        for item in judged.keys() - {r["item"] for r in table}
    ]
    times = Counter(row["item"] for row in table)
    rows: Rows = []
    still_open: list[str] = []
    for row in table:
        where = f"row {row[NUMBER]} (item {row['item']})"
        human, problem = human_class(row, judged.get(row["item"]), hidden)
        if times[row["item"]] > 1:
            problem = "is there more than once"
        elif problem and row["item"] in judged and not any(row[c].strip() for c in wanted if c in _DECISION):
            still_open.append(where)
            problem = None
        if problem:
            problems.append(f"{where} {problem}")
        rows.append(
            {"item": row["item"], "tier": row["tier"], "judge": judged.get(row["item"]), "human": human}
        )
        rows[-1]["comment"] = row["comment"].strip() or None
    if still_open:
        raise InputError(
            f"{path}: "
            f"{_open_rows(still_open, len(table), problems, 'correct_verdict' if hidden else 'agree')}"
        )
    need_none(path, problems)
    return rows


def _open_rows(still_open: Sequence[str], rows: int, problems: Sequence[str], column: str) -> str:
    more = f"; {len(problems)} cannot be used: {'; '.join(problems[:_SHOWN])}" if problems else ""
    examples = f"{', '.join(still_open[:_SHOWN])}{', ...' if len(still_open) > _SHOWN else ''}"
    verb = "is" if len(still_open) == 1 else "are"
    return f"{len(still_open)} of {rows} rows {verb} still open; fill {column} of {examples}{more}"


def human_class(row: Row, judge: str | None, hidden: bool) -> tuple[str | None, str | None]:
    """The reader's class, and what is wrong with the row; one of them is null. ``judge``: null for
    an item without a verdict.
    """
    given = row["correct_verdict"].strip().lower()
    agree = row["agree"].strip().lower() if not hidden else "no"
    problem = None
    if judge is None:
        problem = "is not an item of the key"
    elif agree not in ("yes", "no"):
        problem = f"has agree = {row['agree']!r}; must be yes or no"
    elif given not in LABELS and (given or agree == "no"):
        problem = f"has correct_verdict = {row['correct_verdict']!r}; must be one of {', '.join(LABELS)}"
    elif not hidden and given and (agree == "yes") != (given == judge):
        problem = f"has agree = {agree} with correct_verdict = {given} where the judge said {judge}"
    return (None, problem) if problem else (given or judge, None)


def judge_verdicts(path: Path, table: Rows) -> dict[str, str]:
    """Item -> the judge's verdict, of rows that hold it.

    Raises:
        InputError: one holds none.
    """
    check_columns(path, table[0], ("item", "judge_verdict"))
    verdicts = {row["item"]: row["judge_verdict"].strip().lower() for row in table}
    wrong = [item for item, verdict in verdicts.items() if verdict not in LABELS]
    if wrong:
        raise InputError(
            f"{path}: item {wrong[0]} has judge_verdict = {verdicts[wrong[0]]!r}; do not change this column"
        )
    return verdicts


@dataclass(frozen=True)
class Agreement:
    """Reader against judge. ``rows``: a row a class, and ``overall``; ``kappa``: Cohen's, null
    where it is not defined.
    """

    rows: Rows
    kappa: float | None


def agreement(rows: Sequence[Row]) -> Agreement:
    """Agreement of each of the judge's classes with Wilson's 95% interval, and the drift of class
    totals (paper, table 11, E).

    Columns: ``class, judged`` (rows the judge put there), ``agreed, agreement, low, high``,
    ``human`` (rows the reader put there), ``drift`` = human - judged, and ``to_CLASS``: where the
    reader put the judge's rows.
    """
    confusion = Counter((r["judge"], r["human"]) for r in rows)
    table = []
    for c in LABELS:
        moved = {f"to_{h}": confusion[c, h] for h in LABELS}
        judged = sum(moved.values())
        human = sum(confusion[j, c] for j in LABELS)
        table.append(
            {"class": c, **_agreed(confusion[c, c], judged), "human": human, "drift": human - judged, **moved}
        )
    totals = {f"to_{h}": sum(confusion[j, h] for j in LABELS) for h in LABELS}
    agreed = sum(confusion[c, c] for c in LABELS)
    table.append(
        {"class": "overall", **_agreed(agreed, len(rows)), "human": len(rows), "drift": None, **totals}
    )
    return Agreement(table, _kappa(rows))


def _agreed(agreed: int, judged: int) -> Row:
    low, high = wilson(agreed, judged) or (None, None)
    return {
        "judged": judged,
        "agreed": agreed,
        "agreement": agreed / judged if judged else None,
        "low": low,
        "high": high,
    }


def _kappa(rows: Sequence[Row]) -> float | None:
    """Not defined where both use one and the same class throughout: chance alone would agree."""
    from sklearn.metrics import cohen_kappa_score

    judge = [r["judge"] for r in rows]
    human = [r["human"] for r in rows]
    return float(cohen_kappa_score(judge, human)) if len({*judge, *human}) > 1 else None


def agreement_by_tier(rows: Sequence[Row]) -> dict[str, Agreement]:
    """Tier -> agreement."""
    tiers: defaultdict[str, Rows] = defaultdict(list)
    for row in rows:
        tiers[row["tier"]].append(row)
    return {tier: agreement(of_tier) for tier, of_tier in sorted(tiers.items())}
