"""``verify`` of scores: numbers that do not follow from each other are found though every checksum
is right.
"""

import copy

import pytest

from llmpedia.perplexity.items import ScoringItem
from llmpedia.perplexity.run import facts_of, score_tables
from llmpedia.perplexity.scores import score_answer, score_question
from llmpedia.perplexity.verify import verify_scores
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import FORMAT, RunFolder

ITEMS = (
    ScoringItem(0, "x", "q0", ("a", "bc")),
    ScoringItem(1, None, None, (), "item: not JSON"),
    ScoringItem(2, None, "q2", ("d",)),
)


def visit(*logprobs):
    from dataclasses import asdict

    return asdict(score_question([score_answer("ab", 5, False, values, "k") for values in logprobs]))


VISITS = [visit((-1.0, -2.0), (-0.5,)), visit((-3.0,))]


def committed(tmp_path, spoil=lambda tables: tables):
    run = RunFolder(str(tmp_path / "run"))
    description = {
        "format": FORMAT,
        "kind": "ppl",
        "identity_hash": "h",
        "identity": {},
        "seeds": [],
        "prompts": {},
    }
    with Lease(run.folder) as lease:
        run = RunFolder.create_or_open(run.uri, description)
        tables = spoil(score_tables(ITEMS, copy.deepcopy(VISITS), True))
        run.commit(lease, tables, {**facts_of(tables, None), "scorer": {}})
    return verify_scores(run).findings


def changed(table, column, row, value):
    def spoil(tables):
        rows = tables[table].to_pylist()
        rows[row][column] = value
        return {**tables, table: tables[table].from_pylist(rows, schema=tables[table].schema)}

    return spoil


def test_right_numbers_are_whole(tmp_path):
    assert committed(tmp_path) == []


@pytest.mark.parametrize(
    ("table", "column", "row", "value"),
    [
        ("ppl_answers", "nll", 0, 1.0),
        ("ppl_answers", "ppl", 0, 1.0),
        ("ppl_answers", "tokens", 0, 3),
        ("ppl_answers", "total_nll", 0, 9.0),
        ("ppl_answers", "bits_per_byte", 0, 99.0),
        ("ppl_answers", "logprobs", 0, [-1.0, -1.0]),
        ("ppl_answers", "position", 1, 0),
        ("ppl_answers", "item", 2, 1),
        ("ppl_answers", "error", 0, "engine: no"),
        ("ppl_questions", "ppl", 0, 2.0),
        ("ppl_questions", "best_ppl", 0, 2.0),
        ("ppl_questions", "worst_ppl", 0, 2.0),
        ("ppl_questions", "ppl", 1, 2.0),
        ("ppl_questions", "error", 2, "engine: no"),
        ("ppl_questions", "item", 2, 3),
    ],
)
def test_a_number_that_does_not_follow_is_found(tmp_path, table, column, row, value):
    assert committed(tmp_path, changed(table, column, row, value)) != []
