"""llmpedia/analysis/personas/stylometry.py: each measure by hand."""

import pytest

from llmpedia.analysis.common.statistics import jaccard_of_sets
from llmpedia.analysis.personas.framing import Words, load_lexicons, tokens_of
from llmpedia.analysis.personas.stylometry import (
    Style,
    StyleWords,
    cosine,
    load_style_words,
    mean,
    sentence_length,
    style_row,
)

LISTS = StyleWords(("the", "of", "a"), ("good",), ("bad",))


def style(text):
    return Style.of(text, Words.of(text), LISTS)


def test_the_lists_are_what_they_are_said_to_be():
    """100 function words; nothing that praises, blames or binds is framing too."""
    lists = load_style_words()
    assert len(lists.function) == len(set(lists.function)) == 100
    assert not set(lists.positive) & set(lists.negative)
    every = [*lists.function, *lists.positive, *lists.negative]
    assert all(tokens_of(word) == [word] for word in every)
    assert not set(every) & {word for d in load_lexicons().dimensions for word in d.words}


def test_outlines_are_sets_of_section_headings():
    a = style("Lead.\n== Early Life ==\nx\n=== Detail ===\ny\n== Legacy ==\nz\n== Legacy ==\nz")
    b = style("Lead.\n==early life==\nx\n== Death ==\ny\n== '''Legacy''' ==\nz\n== Works ==\nz")
    assert a.outline == {("early", "life"), ("legacy",)}
    assert jaccard_of_sets(a.outline, b.outline) == 2 / 4


def test_grams_by_hand():
    """a b c a b, a b d: {a b c} and {a b d}; {ab bc ca} and {ab bd}; {abc bca cab} and {abd}."""
    a = style("a b c a b")
    b = style("a b d")
    assert [jaccard_of_sets(x, y) for x, y in zip(a.grams, b.grams, strict=True)] == [2 / 4, 1 / 4, 0.0]
    assert jaccard_of_sets(style("a b").grams[2], style("c").grams[2]) is None


def test_the_cosine_by_hand():
    """the, of, a: (2, 1, 0) and (1, 1, 1) give 3 / sqrt(5 * 3)."""
    a = style("the king of the hill")
    b = style("the house of a man")
    assert (a.function, b.function) == ((2, 1, 0), (1, 1, 1))
    assert cosine(a.function, b.function) == pytest.approx(3 / 15**0.5, abs=1e-15)
    assert cosine((2, 1, 0), (4, 2, 0)) == 1.0
    assert cosine((0, 0, 0), (1, 0, 0)) is None


def test_sentences_are_measured_in_tokens():
    """4 and 2 tokens; Dr. ends no sentence, a heading is none."""
    assert (
        sentence_length(
            "{{Infobox|a. B. C.}}Dr. King came [[Memphis|home]].\n== A long heading here ==\nHe spoke."
        )
        == 3.0
    )
    assert sentence_length("== Only ==") is None


def test_type_token_ratio_and_sentiment():
    s = style("Good good bad x")
    assert s.type_token_ratio == 3 / 4
    assert s.sentiment == 250_000_000  # two less one, of four


def test_a_pair_of_personas_is_the_mean_over_subjects():
    a = [style("== X ==\na b"), style("good a. A c")]
    b = [style("== X ==\na b"), style("bad a d")]
    row = style_row(a, b)
    assert row["outlines"] == 1  # the second pair has no heading
    assert row["outline_jaccard"] == 1.0
    assert row["jaccard_1"] == round((1 + 1 / 5) / 2, 4)  # good a c; bad a d
    assert row["function_word_cosine"] == 1.0
    assert (row["sentence_length_a"], row["sentence_length_b"]) == (2.0, 2.5)
    assert (row["type_token_ratio_a"], row["type_token_ratio_b"]) == (round((1 + 3 / 4) / 2, 4), 1.0)
    assert (row["sentiment_a"], row["sentiment_b"]) == (125.0, round(-1000 / 6, 4))


def test_the_mean_does_not_depend_on_the_order():
    values = [0.1, 0.2, 0.3, 1e16, -1e16, None]
    assert mean(values) == mean(values[::-1]) == round(0.6 / 5, 4)
    assert mean([None]) is None
