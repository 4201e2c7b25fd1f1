"""Canonical keys and loop forms."""

import pytest

from llmpedia.entities.keys import canonical_key, is_self_or_loop


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("U.S.", "US"),
        ("Covid-19", "Covid 19"),
        ("COVID\u201119", "covid_19"),
        ("Straße", "STRASSE"),
        ("Beyonce\u0301", "Beyoncé"),
        ("Γιάννης", "ΓΙΆΝΝΗΣ"),
        ("O\u2019Neill", "O'Neill"),
        ("2001: A Space Odyssey", "2001 A Space Odyssey"),
        ("AT&T", "AT & T"),
        ("1,000 Islands", "1000 Islands"),
        ("ＮＡＳＡ", "NASA"),
        ("zero\u200bwidth", "zerowidth"),
        ("Apollo  11", "apollo 11"),
    ],
)
def test_spellings_of_one_name_share_a_key(a, b):
    assert canonical_key(a) == canonical_key(b)


@pytest.mark.parametrize(
    "names",
    [
        ["AC/DC", "C++", "C#", "C", "!!!"],
        ["C++", "C#", "C", "C+", "C♯"],
        ["3.5", "35", "3/5", "3 5"],
        ["1/2", "12"],
        ["Apollo 1.1", "Apollo 11", "Apollo 1 1"],
        ["AT&T", "ATT"],
        ["दिल्ली", "कमल", "कमला", "कमली"],
        ["กิน", "กัน", "กน"],
        ["القاهرة", "تونس"],
        ["🎉", "🎈"],
        ["!!!", "...", "?", "-", "—"],
        ["$100", "€100", "100"],
        ["World War I", "World War II"],
    ],
)
def test_different_names_have_different_keys_and_none_is_empty(names):
    keys = [canonical_key(name) for name in names]
    assert len(set(keys)) == len(names)
    assert all(keys)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("U.S.", "us"),
        ("Covid-19", "covid19"),
        ("C++", "c++"),
        ("!!!", "!!!"),
        ("3.5", "3.5"),
        ("AC/DC", "acdc"),
        ("½", "1/2"),
    ],
)
def test_key_is_exactly(name, key):
    assert canonical_key(name) == key


@pytest.mark.parametrize(
    "name", ["Straße", "İstanbul", "ŉ", "ΐ", "ﬁ", "½", "दिल्ली", "C++", "...", "AT&T 1/2 3.5", "Ⅷ"]
)
def test_key_of_a_key_is_itself(name):
    assert canonical_key(canonical_key(name)) == canonical_key(name)


@pytest.mark.parametrize(
    ("name", "subject"),
    [
        ("Japan", "Japan"),
        ("JAPAN", "Japan"),
        ("US", "U.S."),
        ("History of Japan", "Japan"),
        ("history of JAPAN", "Japan"),
        ("The history of Japan", "Japan"),
        ("THE LIFE OF Alan Turing", "Alan Turing"),
        ("The History of the U.S.", "the US"),
        ("Early life of Alan Turing", "Alan Turing"),
        ("Part of Japan", "Japan"),
        ("Timeline of the U.S.", "the US"),
        ("Japan's economy", "Japan"),
        ("Japan\u2019s economy", "Japan"),
        ("Dickens' novels", "Dickens"),
        ("Japan in popular culture", "Japan"),
        ("C++'s templates", "C++"),
    ],
)
def test_subject_itself_and_forms_built_on_it_are_loops(name, subject):
    assert is_self_or_loop(name, subject)


@pytest.mark.parametrize(
    ("name", "subject"),
    [
        ("Bank of Japan", "Japan"),
        ("The Bank of Japan", "Japan"),
        ("The history of China", "Japan"),
        ("Thehistory of Japan", "Japan"),
        ("The of Japan", "Japan"),
        ("Japanese", "Japan"),
        ("Japan Airlines", "Japan"),
        ("History of China", "Japan"),
        ("C", "C++"),
        ("C#", "C"),
        ("Lady's Slipper", "Lad"),
        ("Dickens", "Dickens' novels"),
        ("Hong Kong in popular culture", "Hong"),
        ("The A.B's", "A.B"),
    ],
)
def test_other_names_are_no_loops(name, subject):
    assert not is_self_or_loop(name, subject)
