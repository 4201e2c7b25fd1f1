"""Rules of titles: what may be asked for, and what would silently become another page."""

import pytest

from llmpedia.audit.wikipedia.titles import RefusedTitle, Site, Title, safe_title

SITE = {
    "general": {"case": "first-letter"},
    "namespaces": {
        "0": {"id": 0, "name": "", "content": True},
        "1": {"id": 1, "name": "Talk", "canonical": "Talk"},
        "-1": {"id": -1, "name": "Spezial", "canonical": "Special"},
        "5": {"id": 5, "name": "Wikipedia talk", "canonical": "Project talk"},
        "100": {"id": 100, "name": "Appendix", "canonical": "Appendix", "content": True},
    },
    "namespacealiases": [{"id": 5, "alias": "WT"}],
    "interwikimap": [{"prefix": "de"}, {"prefix": "it"}],
}
LIKE_TITLES = [
    "2001: A Space Odyssey",
    "Star Trek: The Next Generation",
    "Who?",
    "50% (album)",
    "AC/DC",
    "AT&T",
    "C++",
    "!!!",
    "...",
]
NOT_TITLES = [
    "C#",
    "#",
    "A|B",
    "A<b>",
    "[x]",
    "{x}",
    "a\x00b",
    "a\x7f",
    "a\ufffdb",
    "a\ud800",
    ":Foo",
    ".",
    "..",
    "./x",
    "a/../b",
]
NOT_TITLES += ["", " _ ", "~~~~", "100%25", "AT&amp;T", "a&#35;b", "x" * 256, "é" * 128, "a\x1fb\x01"]


@pytest.fixture
def site():
    return Site.read(SITE)


@pytest.mark.parametrize("subject", LIKE_TITLES)
def test_what_looks_odd_but_is_a_title_is_asked_for_as_it_stands(subject):
    assert safe_title(subject) == Title(subject)


@pytest.mark.parametrize("subject", NOT_TITLES)
def test_what_a_wiki_would_cut_split_or_refuse_is_never_asked_for(subject):
    """The API answers C# with the article on the letter C, and A|B with two."""
    assert isinstance(safe_title(subject), RefusedTitle)


@pytest.mark.parametrize("subject", ["x" * 255, "é" * 127, "東" * 85])
def test_a_title_may_have_255_bytes(subject):
    assert safe_title(subject) == Title(subject)


@pytest.mark.parametrize(
    "subject",
    ["São_Tomé", "  São \t Tomé\n", "Sa\u0303o Tome\u0301", "\u200eSão\u00a0Tomé", "São\u3000\u180eTomé"],
)
def test_spaces_underscores_and_unicode_form_are_made_one(subject):
    assert safe_title(subject) == Title("São Tomé")


@pytest.mark.parametrize(
    "text",
    [
        "Talk:X",
        "talk : X",
        "Spezial:Version",
        "special:version",
        "Wikipedia_talk:X",
        "WT:X",
        "de:Foo",
        "DE:Foo",
    ],
)
def test_prefixes_of_the_wiki_lead_out_of_it(site, text):
    assert site.leads_out(Title(text)) is not None


def test_a_refusal_names_the_prefix(site):
    assert "'de:'" in site.leads_out(Title("de:Foo")).reason


@pytest.mark.parametrize(
    "text",
    ["2001: A Space Odyssey", "Star Trek: First Contact", "Talk", "Appendix:Verbs", "Deadpool: Talk: X"],
)
def test_a_colon_alone_leads_nowhere(site, text):
    assert site.leads_out(Title(text)) is None


@pytest.mark.parametrize(
    ("one", "other"), [("iPhone", "IPhone"), ("a_b", "A b"), ("Cafe\u0301", "Café"), ("ǆ", "ǅ")]
)
def test_forms_of_one_title_are_the_same(site, one, other):
    assert site.same(one, other)


@pytest.mark.parametrize(
    ("one", "other"), [("C#", "C"), ("A B", "AB"), ("WHO", "Who"), ("A", ""), ("WP:X", "Wikipedia:X")]
)
def test_other_titles_are_not(site, one, other):
    assert not site.same(one, other)


def test_where_a_wiki_tells_first_letters_apart_so_do_we():
    site = Site.read({**SITE, "general": {"case": "case-sensitive"}})
    assert not site.same("iPhone", "IPhone")
