"""Which addresses count as evidence."""

import pytest

from llmpedia.web.address import Address, parse
from llmpedia.web.domains import Domains

PAPER = Domains.load(paper_exact=True)
OURS = Domains.load(paper_exact=False)


def test_the_papers_133_domains_are_there():
    assert len(PAPER.scores) == 133


@pytest.mark.parametrize(
    ("url", "score"),
    [
        ("https://www.gov.uk/x", 87),
        ("https://ons.gov.uk/", 87),
        ("https://www.bbc.co.uk/news", 93),
        ("https://ox.ac.uk", 92),
        ("https://law.cornell.edu/uscode", 90),
        ("https://www.cornell.edu/", 89),
        ("https://pubmed.ncbi.nlm.nih.gov/1", 92),
        ("https://nlm.nih.gov/", 94),
        ("https://www.europarl.europa.eu/", 85),
        ("https://ec.europa.eu/", 35),
        ("HTTPS://WWW.NASA.GOV.:443/", 95),
        ("http://nasa.gov/", 95),
    ],
)
def test_the_longest_entry_that_covers_a_host_wins(url, score):
    """Guards against "root domain = last two labels", by which bbc.co.uk and europarl.europa.eu
    score 35.
    """
    assert OURS.score(url) == score


@pytest.mark.parametrize(
    ("url", "score"),
    [
        ("https://notwikipedia.org/", 70),
        ("https://wikipedia.org.evil.com/", 35),
        ("https://fox.com/", 35),
        ("https://netflix.com/", 35),
        ("https://notnasa.gov/", 70),
        ("https://nasa.gov.evil.com/", 35),
    ],
)
def test_a_domain_is_compared_by_whole_labels(url, score):
    assert (OURS.score(url), OURS.blocked(url)) == (score, None)


@pytest.mark.parametrize(
    "url",
    [
        "https://en.m.wikipedia.org/wiki/X",
        "https://x.com/a",
        "https://scholar.google.com/x",
        "https://www.wikidata.org/",
        "https://m.facebook.com",
    ],
)
def test_a_blocked_domain_has_no_score(url):
    assert PAPER.score(url) is None


def test_a_block_is_told_with_its_reason():
    assert PAPER.blocked("https://scholar.google.com/") == "search engine"


@pytest.mark.parametrize(
    "host", ["en.wiktionary.org", "dbpedia.org", "wiki2.org", "www.wikiwand.com", "species.wikimedia.org"]
)
def test_mirrors_and_sister_projects_are_blocked(host):
    """Guards against the default of 70 for .org letting Wikipedia's own text in."""
    assert OURS.blocked(f"https://{host}/wiki/X")


def test_strict_paper_knows_no_mirrors():
    assert PAPER.score("https://en.wiktionary.org/wiki/x") == 70


def test_what_the_paper_scores_by_name_is_no_mirror():
    assert OURS.score("https://www.newworldencyclopedia.org/entry/X") == 75


def test_no_scored_domain_is_a_mirror():
    assert [
        d for d in PAPER.scores if OURS.blocked(f"https://{d}/") and not PAPER.blocked(f"https://{d}/")
    ] == []


@pytest.mark.parametrize("url", ["https://unknown.org/", "https://unknown.edu/", "https://unknown.gov/"])
def test_unknown_domains_of_trusted_kinds_have_70(url):
    assert OURS.score(url) == 70


@pytest.mark.parametrize(
    "url", ["https://unknown.com/", "https://x.gov.au/", "https://x.edu.cn/", "https://org/"]
)
def test_other_unknown_domains_have_35(url):
    assert OURS.score(url) == 35


@pytest.mark.parametrize("url", ["http://unknown.org/", "http://unknown.com/"])
def test_an_unknown_domain_without_https_is_ineligible(url):
    assert OURS.score(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/",
        "https://8.8.8.8/",
        "https://[2606:4700::1]/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://①②⑦.0.0.1/",
    ],
)
def test_an_ip_address_is_ineligible_in_any_spelling(url):
    assert OURS.score(url) is None


def test_extra_domains_are_scored():
    assert Domains.load(False, {"localhost": 80}).score("http://localhost:8000/x") == 80


def test_extra_domains_do_not_lift_a_block():
    assert Domains.load(True, {"wikipedia.org": 100}).score("https://wikipedia.org/") is None


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("https://en.wikipedia.org/", "blocked: circular"),
        ("https://unknown.com/", "score 35 is under 60"),
        ("https://8.8.8.8/", "IP address"),
        ("http://unknown.org/", "without https"),
        ("ftp://nasa.gov/", "neither http"),
    ],
)
def test_a_refusal_tells_why(url, word):
    assert word in OURS.refusal(url, 60)


def test_the_threshold_is_the_callers():
    assert OURS.refusal("https://unknown.com/", 35) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://nasa.gov@evil.com/",
        "https://evil.com\\@nasa.gov/",
        "https://nasa.gov\n.evil.com/",
        "https://nasa.gov\t/",
        "https://na sa.gov/",
        "https://[fe80::1%25eth0]/",
        "https://nasa.gov:99999/",
        "https://a..gov/",
        "https://[/",
        "https:///x",
        "javascript:alert(1)",
        "https://nasa.gov/" + "x" * 9000,
        "https://" + "a." * 200 + "gov/",
        "",
    ],
)
def test_what_parsers_disagree_on_is_no_address(url):
    """Guards against a host that is scored by one parser and connected to by another."""
    assert isinstance(parse(url), str)


def test_an_address_has_one_normal_form():
    assert (
        parse("HTTPS://BÜCHER.example.:443/ä b?q=ü#part").url
        == "https://xn--bcher-kva.example/%C3%A4%20b?q=%C3%BC"
    )


def test_the_normal_form_is_its_own():
    once = parse("https://bücher.example/ä%20b?q=ü&r=%2F")
    assert parse(once.url) == once


def test_a_redirect_is_joined_to_where_it_came_from():
    assert Address("https", "nasa.gov", 443, "/a/b").join("../c").url == "https://nasa.gov/c"
