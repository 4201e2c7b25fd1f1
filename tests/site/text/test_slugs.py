"""Slugs: unique, safe as a path and as a file name, and the number comes back out of each."""

import re

import pytest

from llmpedia.site.text.slugs import MAX_CHARS, ascii_words, number_in, slug

HOSTILE = [
    "AC/DC",
    "../x",
    "..",
    "../../etc/passwd",
    "..\\..\\windows",
    "/",
    "C:\\x",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "//evil.example/x",
    "a" * 300,
    "é" * 300,
    "القاهرة",
    "תל אביב",
    "東京",
    "\u202egnp.exe",
    "a\x00b",
    "a\nb",
    "CON",
    "nul.txt",
    "LPT1",
    "",
    " ",
    ".",
    "~",
    "-",
    "--help",
    "🎉👨‍👩‍👧",
    "index",
    "index.html",
    "100%",
    "%2e%2e%2f",
    "a%00b",
    "?q=1#x",
    "x;y&z",
    "<script>",
    '" onclick="x',
    "'''",
    "C++",
    "C#",
    "\ud800",
    "1-2",
    "١٢٣",
]


@pytest.mark.parametrize(
    ("number", "name", "expected"),
    [
        (123, "AC/DC", "123-ac-dc"),
        (0, "Vannevar Bush", "0-vannevar-bush"),
        (4, "../x", "4-x"),
        (5, "القاهرة", "5"),
        (6, "", "6"),
        (7, "Łódź Straße", "7-lodz-strasse"),
        (8, "Ærø", "8-aero"),
        (9, "CON", "9-con"),
        (10, "index", "10-index"),
        (11, "100% %2F", "11-100-2f"),
        (12, "ﬁne ½", "12-fine-1-2"),
        (13, "İstanbul", "13-istanbul"),
    ],
)
def test_slug_is_the_number_and_the_plain_letters(number, name, expected):
    assert slug(number, name) == expected


@pytest.mark.parametrize("name", HOSTILE)
def test_slug_of_any_name_is_safe_and_short_and_leads_back(name):
    made = slug(1_234_567, name)
    assert re.fullmatch(r"[0-9]+(-[a-z0-9]+)*", made) and len(made) <= MAX_CHARS
    assert number_in(made) == 1_234_567


def test_slugs_of_different_numbers_differ_whatever_the_case_of_the_file_system():
    names = ["Polish", "polish", "POLISH", "", "1-polish", "2", *HOSTILE]
    made = [slug(n, name).lower() for n, name in enumerate(names)]
    assert len(set(made)) == len(names)
    assert [number_in(s) for s in made] == list(range(len(names)))


@pytest.mark.parametrize(
    "other",
    [
        "",
        "x",
        "-1",
        "+1",
        "1.5",
        "01",
        "1_x",
        "1/x",
        "1-X",
        "1 ",
        " 1",
        "1\n",
        "١",
        "²",
        "9" * 19,
        "1-é",
        "../1",
        "index",
        "1%",
    ],
)
def test_what_is_no_slug_holds_no_number(other):
    assert number_in(other) is None


def test_number_comes_whatever_name_follows():
    """An address that someone kept still works when the name was written in another way."""
    assert [number_in(s) for s in ("12", "12-", "12-other-name", "12-12")] == [12] * 4


def test_ascii_words_of_other_scripts_are_empty():
    assert [ascii_words(t) for t in ("東京", "!!!", "")] == ["", "", ""]
