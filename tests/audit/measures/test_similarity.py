"""llmpedia/audit/measures/similarity.py: each measure by hand, and what has no value."""

import math

import numpy as np
import pytest

from llmpedia.audit.measures.similarity import ngrams, similarities, similarity_summary, words_of
from llmpedia.errors import EngineError

A = "the cat sat on the mat"
B = "The cat lay on a mat."


def one(generated, reference, encode=None):
    (row,) = similarities([(generated, reference)], encode)
    return row


def test_words_are_case_folded_and_without_punctuation():
    assert words_of("Straße, STRASSE: C-3") == ["strasse", "strasse", "c", "3"]


def test_ngrams_are_distinct():
    assert ngrams("a b a b".split(), 2) == {("a", "b"), ("b", "a")}


def test_a_text_shorter_than_n_has_no_ngrams():
    assert ngrams(["a"], 2) == set()


def test_token_jaccard_by_hand():
    """{the cat sat on mat} and {the cat lay on a mat}: 4 shared of 7."""
    assert one(A, B)["jaccard_1"] == pytest.approx(4 / 7)


def test_bigram_measures_by_hand():
    """Shared: "the cat". 5 and 5 distinct bigrams: 1/9 of all, 1/5 of the fewer."""
    row = one(A, B)
    assert (row["jaccard_2"], row["overlap_2"]) == (pytest.approx(1 / 9), 0.2)


def test_overlap_is_of_the_text_with_fewer_ngrams():
    assert one("a b c", "a b c d e f g")["overlap_3"] == one("a b c d e f g", "a b c")["overlap_3"] == 1.0


def test_a_measure_for_which_a_text_is_too_short_is_null():
    row = one("a b", "a b c d")
    assert (row["overlap_2"], row["overlap_3"], row["jaccard_3"]) == (1.0, None, None)


def test_an_empty_side_has_no_values():
    """An article that was lost is not one unlike Wikipedia."""
    row = one("", B, lambda texts: np.ones((len(texts), 2)))
    assert {v for k, v in row.items() if not k.endswith("words")} == {None}
    assert (row["words"], row["reference_words"]) == (0, 6)


def test_tfidf_cosine_by_hand():
    """Texts "a b" and "a c": idf of a (both) = ln(3/3) + 1 = 1; of b, c = ln(3/2) + 1."""
    rare = math.log(1.5) + 1
    assert one("a b", "a c")["tfidf_cosine"] == pytest.approx(1 / (1 + rare**2))


def test_tfidf_is_fitted_on_all_pairs():
    """Fitted on each pair alone the first value would not depend on the second pair."""
    alone = one("a b", "a c")["tfidf_cosine"]
    assert similarities([("a b", "a c"), ("b b c", "c d")], None)[0]["tfidf_cosine"] != pytest.approx(alone)


def test_tfidf_of_texts_without_common_words_is_0():
    assert one("a b", "c d")["tfidf_cosine"] == 0.0


def test_the_same_text_is_wholly_similar():
    row = one(A, A, lambda texts: np.array([[3.0, 4.0]] * len(texts)))
    assert [row[m] for m in ("jaccard_1", "overlap_3", "jaccard_3")] == [1.0] * 3
    assert (row["tfidf_cosine"], row["semantic_cosine"]) == (pytest.approx(1.0), pytest.approx(1.0))


def test_no_value_is_above_1():
    rows = similarities(
        [(f"{A} {i}", f"{A} {i}") for i in range(50)], lambda texts: np.full((len(texts), 7), 0.1)
    )
    assert max(v for r in rows for k, v in r.items() if not k.endswith("words")) <= 1.0


def test_semantic_cosine_by_hand():
    vectors = {A: [1.0, 0.0], B: [3.0, 4.0]}
    assert one(A, B, lambda texts: np.array([vectors[t] for t in texts]))["semantic_cosine"] == pytest.approx(
        0.6
    )


def test_semantic_cosines_stay_with_their_pairs():
    vectors = {"n": [1.0, 0.0], "e": [0.0, 1.0]}
    pairs = [("n", "n"), ("n", "e"), ("e", "e")]
    rows = similarities(pairs, lambda texts: np.array([vectors[t] for t in texts]))
    assert [r["semantic_cosine"] for r in rows] == [1.0, 0.0, 1.0]


def test_without_an_encoder_the_semantic_cosine_is_null():
    assert one(A, B)["semantic_cosine"] is None


@pytest.mark.parametrize("bad", [[0.0, 0.0], [math.nan, 1.0]])
def test_a_failed_embedding_is_no_number(bad):
    """An earlier program took the zero vector of a failed embedding for one."""
    assert one(A, B, lambda texts: np.array([bad, [1.0, 0.0]]))["semantic_cosine"] is None


@pytest.mark.parametrize("vectors", [np.ones((1, 2)), np.ones(2)])
def test_an_encoder_that_loses_texts_is_an_error(vectors):
    with pytest.raises(EngineError, match=r"2 texts gave an array of shape"):
        one(A, B, lambda texts: vectors)


def test_no_pairs_are_no_rows():
    assert similarities([], lambda texts: np.ones((0, 2))) == []


def test_the_summary_averages_what_is_defined():
    rows = similarities([("a b", "a b"), ("", "a b")], None)
    summary = similarity_summary(rows, {"model": "m"}, seed=1)
    assert (summary["model"], summary["pairs"]) == ("m", 2)
    assert (summary["jaccard_1"], summary["jaccard_1_n"], summary["semantic_cosine"]) == (1.0, 1, None)
