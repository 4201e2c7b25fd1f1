"""Numbers of an answer and of a question, by hand."""

import math

import pytest

from llmpedia.perplexity.scores import AnswerScore, score_answer, score_question

HALF = math.log(0.5)
QUARTER = math.log(0.25)


def test_an_answer_by_hand():
    got = score_answer("ab\u00e9", 7, False, (HALF, QUARTER), "k")
    assert (got.context_tokens, got.tokens, got.bytes, got.key) == (7, 2, 4, "k")
    assert got.total_nll == pytest.approx(3 * math.log(2))
    assert got.nll == pytest.approx(1.5 * math.log(2))
    assert got.ppl == pytest.approx(2**1.5)
    assert got.bits_per_byte == pytest.approx(3 / 4)
    assert got.logprobs == (HALF, QUARTER)


def test_a_question_weighs_accounts_alike_whatever_their_length():
    short = score_answer("a", 1, False, (HALF,), "")
    long = score_answer("b", 1, False, (QUARTER,) * 9, "")
    got = score_question([short, long])
    assert got.ppl == pytest.approx(2**1.5)
    assert (got.best_ppl, got.worst_ppl) == (pytest.approx(2), pytest.approx(4))
    assert got.error is None


def test_a_question_with_an_unscored_account_has_no_number():
    got = score_question([score_answer("a", 1, False, (HALF,), ""), AnswerScore(error="overlength: no")])
    assert (got.ppl, got.best_ppl, got.worst_ppl) == (None, None, None)
    assert got.error == "1 of 2 answers not scored"


@pytest.mark.parametrize("wrong", [math.nan, -math.inf, math.inf, 0.5, -701.0])
def test_what_cannot_be_a_log_probability_is_an_error(wrong):
    got = score_answer("a", 1, False, (HALF, wrong), "")
    assert (got.nll, got.ppl, got.logprobs) == (None, None, None)
    assert got.error.startswith("scorer: ")
