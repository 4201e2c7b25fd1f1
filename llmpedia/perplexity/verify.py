"""``llmpedia verify`` of a scoring job: every item of the source once and in order, its numbers
those of its answers.
"""

import math
from typing import Any

from llmpedia.store.run_folder import Manifest, RunFolder
from llmpedia.store.verify import Report, check_files, check_rest

Row = dict[str, Any]
_CLOSE = 1e-9


def verify_scores(run: RunFolder) -> Report:
    """Check all of it. Reads every file; memory holds one wave."""
    report = Report()
    items = 0
    for manifest in run.manifests:
        if check_files(run, manifest, report):
            questions = run.read("ppl_questions", [manifest.wave]).to_pylist()
            answers = run.read("ppl_answers", [manifest.wave]).to_pylist()
            items = _wave(manifest, questions, answers, items, report)
            report.checked.update({"ppl_questions": len(questions), "ppl_answers": len(answers)})
    check_rest(run, report)
    report.need(bool(run.manifests), "nothing is scored yet; start the job again")
    return report


def _wave(manifest: Manifest, questions: list[Row], answers: list[Row], items: int, report: Report) -> int:
    at = f"wave {manifest.wave}"
    of: dict[int, list[Row]] = {}
    for answer in answers:
        of.setdefault(answer["item"], []).append(answer)
    for question in questions:
        n = question["item"]
        report.need(n == items, f"{at}: item {n} where {items} is next")
        items = n + 1
        answer_rows = of.pop(n, [])
        whole = [a["position"] for a in answer_rows] == list(range(question["answers"]))
        report.need(
            whole,
            f"{at}: item {n} has answers {[a['position'] for a in answer_rows]}, not {question['answers']}",
        )
        for answer in answer_rows:
            report.need(
                _answer(answer), f"{at}: item {n}, answer {answer['position']}: its numbers do not agree"
            )
        report.need(
            _question(question, answer_rows), f"{at}: item {n}: its numbers are not those of its answers"
        )
    report.need(not of, f"{at}: answers of items {sorted(of)[:3]}, which are not there")
    totals = manifest.facts["totals"]["ppl_questions"]
    report.need(totals == items, f"{at}: the manifest counts {totals} items, {items} are there")
    return items


def _answer(row: Row) -> bool:
    """Whether an answer has an error and no numbers, or numbers that follow from each other."""
    if row["error"] is not None:
        return row["nll"] is None and row["ppl"] is None
    if row["nll"] is None or not row["tokens"]:
        return False
    logprobs = row["logprobs"]
    summed = logprobs is None or (
        len(logprobs) == row["tokens"]
        and math.isclose(-math.fsum(logprobs), row["total_nll"], rel_tol=_CLOSE)
    )
    mean = math.isclose(row["nll"] * row["tokens"], row["total_nll"], rel_tol=_CLOSE, abs_tol=_CLOSE)
    bits = row["bits_per_byte"] * row["bytes"] * math.log(2)
    mean = mean and math.isclose(bits, row["total_nll"], rel_tol=_CLOSE, abs_tol=_CLOSE)
    return summed and mean and math.isclose(math.exp(row["nll"]), row["ppl"], rel_tol=_CLOSE)


def _question(row: Row, answers: list[Row]) -> bool:
    """Whether a question's numbers follow from its answers'."""
    if row["error"] is not None:
        return row["ppl"] is None and (not answers or any(a["error"] is not None for a in answers))
    if not answers or any(a["nll"] is None for a in answers):
        return False
    mean = math.exp(math.fsum(a["nll"] for a in answers) / len(answers))
    ppls = [a["ppl"] for a in answers]
    pairs = ((mean, row["ppl"]), (min(ppls), row["best_ppl"]), (max(ppls), row["worst_ppl"]))
    return all(math.isclose(a, b, rel_tol=_CLOSE) for a, b in pairs)
