"""llmpedia/audit/measures/published.py: FActScore and VeriScore by hand-computed examples."""

import math

import pytest

from llmpedia.audit.measures.published import (
    f1_at_k,
    factscore,
    length_penalty,
    median_claims,
    published_scores,
    published_summaries,
)
from llmpedia.errors import InputError
from tests.audit.measures.test_verdicts import Audit


def test_factscore_is_the_supported_share():
    assert factscore(3, 4) == 0.75


def test_factscore_of_no_fact_is_null():
    assert factscore(0, 0) is None


@pytest.mark.parametrize(
    ("facts", "penalty"), [(5, math.exp(-1)), (1, math.exp(-9)), (9, math.exp(-1 / 9)), (10, 1.0), (50, 1.0)]
)
def test_the_length_penalty_begins_below_gamma(facts, penalty):
    assert length_penalty(facts) == pytest.approx(penalty)


def test_the_length_penalty_of_no_fact_is_null():
    assert length_penalty(0) is None


def test_f1_at_k_by_hand():
    """S = 6 of N = 8, K = 12: P = 3/4, R = 1/2, F1 = 2 * 3/8 / (5/4) = 0.6."""
    assert f1_at_k(6, 8, 12) == pytest.approx(0.6)


def test_recall_counts_supported_claims_and_not_all():
    """VeriFastScore's recall uses all extracted claims: it would be 8/10 here instead of 4/10."""
    assert f1_at_k(4, 8, 10) == pytest.approx(2 * 0.5 * 0.4 / 0.9)


def test_recall_is_at_most_1():
    assert f1_at_k(20, 20, 10) == 1.0


def test_f1_is_0_where_nothing_is_supported():
    assert f1_at_k(0, 8, 10) == 0.0


def test_f1_without_a_positive_k_is_refused():
    with pytest.raises(InputError, match="K = 0"):
        f1_at_k(1, 2, 0)


def test_k_is_the_higher_middle_count_with_each_article_once():
    """Two tiers give two rows an article; the released program takes element n // 2 of the sorted
    counts.
    """
    audit = (
        Audit().add(1, wikipedia=("missing", "-"), web=("nothing", "-")).add(3, wikipedia=("missing", "---"))
    )
    assert median_claims(audit.scores()) == 3


def test_there_is_no_k_without_claims():
    assert median_claims(Audit().add("no JSON", wikipedia=("found", "")).scores()) is None


@pytest.fixture
def audit():
    """5 claims, 4 of 5 supported; 4 claims, 1 supported, 1 not adjudicated; one not covered; one
    with no claim judged.
    """
    audit = Audit().add(5, wikipedia=("found", "ssssu")).add(4, wikipedia=("found", "srux"))
    return audit.add(5, wikipedia=("missing", "-----")).add(2, wikipedia=("found", "xx"))


def test_insufficient_counts_as_not_supported(audit):
    assert published_scores(audit.scores(), k=5)[0]["factscore"] == 0.8


def test_claims_not_adjudicated_are_no_facts_against_the_model(audit):
    assert published_scores(audit.scores(), k=5)[1]["factscore"] == pytest.approx(1 / 3)


def test_the_penalty_goes_by_the_claims_of_the_article(audit):
    """Four claims, three judged."""
    assert published_scores(audit.scores(), k=5)[1]["factscore_penalised"] == pytest.approx(
        math.exp(1 - 10 / 4) / 3
    )


def test_articles_without_usable_evidence_have_no_score(audit):
    assert [r["subject_id"] for r in published_scores(audit.scores(), k=5)] == [0, 1, 3]


def test_an_article_of_which_nothing_was_judged_has_no_number(audit):
    row = published_scores(audit.scores(), k=5)[2]
    assert (row["factscore"], row["factscore_penalised"], row["veriscore_f1"]) == (None, None, None)


def test_an_article_without_claims_has_f1_0_and_no_factscore():
    (row,) = published_scores(Audit().add(0, wikipedia=("found", "")).scores(), k=5)
    assert (row["veriscore_f1"], row["factscore"]) == (0.0, None)


def test_the_summary_is_a_macro_average_with_its_k(audit):
    (row,) = published_summaries(audit.scores(), {"model": "m"}, seed=1)
    assert (row["model"], row["sample"], row["tier"], row["k"], row["articles"]) == (
        "m",
        "random",
        "wikipedia",
        5,
        3,
    )
    assert (row["factscore"], row["factscore_n"]) == (pytest.approx((0.8 + 1 / 3) / 2), 2)
    assert row["veriscore_f1"] == pytest.approx((0.8 + 2 * (1 / 3) * 0.2 / (1 / 3 + 0.2)) / 2)


def test_a_given_k_is_used(audit):
    (row,) = published_summaries(audit.scores(), {}, seed=1, k=4)
    assert (row["k"], row["veriscore_f1"]) == (
        4,
        pytest.approx((2 * 0.8 / 1.8 + 2 * (1 / 3) * 0.25 / (1 / 3 + 0.25)) / 2),
    )


def test_the_summary_shows_what_was_not_adjudicated(audit):
    (row,) = published_summaries(audit.scores(), {}, seed=1)
    assert (row["claims"], row["not_adjudicated"]) == (11, 3)
