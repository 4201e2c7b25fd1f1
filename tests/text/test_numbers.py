"""Numbers and dates, however a text writes them."""

import pytest

from llmpedia.text.numbers import Date, figures, languages_of


def read(text):
    return figures(text, languages_of(text))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1871", 1871),
        ("1,200", 1200),
        ("1 200 of them", 1200),
        ("1'200", 1200),
        ("1.200 of them", 1200),
        ("the 1.5 million", 1_500_000),
        ("the two million", 2_000_000),
        ("the 5 hundred", 500),
        ("2,5 Milliarden", 2_500_000_000),
        ("5 mille", 5000),
        ("minus five of the", -5),
        ("at -5 °C", -5),
        ("at \u22125 °C", -5),
        ("the eighteen seventy-one", 1871),
        ("eighteen-seventy-one of", 1871),
        ("the nineteen oh five", 1905),
        ("the nineteen hundred and five", 1905),
        ("one thousand eight hundred and seventy-one of", 1871),
        ("the twelve hundred", 1200),
        ("the twenty ten", 2010),
        ("a dozen of the", 12),
        ("half a dozen of the", 6),
        ("the two dozen", 24),
        ("achtzehnhunderteinundsiebzig", 1871),
        ("mille huit cent soixante et onze", 1871),
        ("mil ochocientos setenta y uno", 1871),
        ("milleottocentosettantuno", 1871),
        ("zwölf", 12),
        ("Louis XIV", 14),
        ("MDCCCLXXI", 1871),
        ("George V", 5),
    ],
)
def test_a_number_is_read(text, number):
    assert number in read(text).numbers


@pytest.mark.parametrize(
    "text",
    [
        "Which one of the men",
        "The first and the second",
        "I am the man",
        "Version 2.0.1 of the",
        "CIVIL the MIX",
    ],
)
def test_what_is_no_number_of_one_is_not_read(text):
    assert 1 not in read(text).numbers


@pytest.mark.parametrize("text", ["Once of the due", "the per cent", "the elf"])
def test_an_english_text_is_read_as_english(text):
    assert read(text).numbers == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        "12 May 1900",
        "May 12, 1900",
        "May the 12th, 1900",
        "the twelfth of May 1900",
        "1900-05-12",
        "12. Mai 1900",
        "12 mai 1900",
        "12 de mayo de 1900",
        "12 maggio 1900",
        "1900 May 12",
        "25 words, 12 May 1900",
    ],
)
def test_a_date_is_read_in_any_order_and_language(text):
    assert Date(1900, 5, 12) in read(text).dates


@pytest.mark.parametrize(
    "text", ["1er mars 1901", "1. März 1901", "1 MARCH 1901", "Marzo 1, 1901", "1 Maerz 1901"]
)
def test_months_are_read_whatever_accents_and_case(text):
    assert read(text).dates == {Date(1901, 3, 1)}


def test_a_date_in_figures_may_mean_two_days():
    assert read("05/12/1900").dates == {Date(1900, 5, 12), Date(1900, 12, 5)}
    assert read("25/12/1900").dates == {Date(1900, 12, 25)}
    assert read("25.12.1900").dates == {Date(1900, 12, 25)}
    assert [read(text).dates for text in ("99/99/1900", "45/05/1900")] == [frozenset()] * 2


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("August 1910", Date(1910, 8)),
        ("26 August", Date(0, 8, 26)),
        ("in August of the year", Date(0, 8)),
        ("Dezember", Date(0, 12)),
    ],
)
def test_a_part_of_a_date_is_read(text, date):
    assert read(text).dates == {date}


@pytest.mark.parametrize("text", ["He may of course march", "May Smith of the", "the Mars mission"])
def test_what_only_looks_like_a_month_is_none(text):
    assert read(text).dates == frozenset()


def test_figures_that_stand_side_by_side_are_no_year():
    assert read("on page 18 71 of the men").numbers == {18, 71}


def test_day_and_year_of_a_date_are_no_numbers_besides():
    found = read("on 5 May 1820 of the")
    assert (found.numbers, found.years) == (frozenset(), {1820})


@pytest.mark.parametrize("text", ["the 1870s", "the eighteen seventies", "the eighteen-seventies"])
def test_a_decade_is_read(text):
    assert (read(text).decades, read(text).numbers) == ({187}, frozenset())


@pytest.mark.parametrize(
    "text",
    ["the 19th century", "the nineteenth-century tower", "19. Jahrhundert", "XIXe siècle", "siglo XIX"],
)
def test_a_century_is_read(text):
    assert read(text).centuries == {19}


def test_words_are_what_is_left():
    assert read("12 May 1900, twelve men of Zürich").words.split() == [",", "men", "of", "Zurich"]
