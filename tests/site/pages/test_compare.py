"""One subject in two runs side by side: sentences held against each other, parts that belong
together, figures, links.
"""

import random

import pytest

from tests.support.builders.runs import Child, Corpus, Visit, make_config

pytest.importorskip("fastapi")
pytest.importorskip("nh3")

from llmpedia.site.pages.compare import _aligned, compare_page
from llmpedia.site.urls import OPTIONAL, LiveAddresses
from llmpedia.site.wikitext.page import ArticlePage
from tests.support.builders.site import commit_audit
from tests.support.site_pages import EVIL, get, opened, with_texts

OURS = (
    "{{Infobox x\n| born = 1900\n}}\n'''Root''' was laid in 1900 in [[Left]]. It stood for long.\n"
    "== History ==\nMasons built it.\n\nIt burnt down in 1950.\n== Legacy ==\n[[Army|The army]] "
    "came. [[U.S.]] too."
)
THEIRS = (
    "'''The Root''' was laid in 1901 in [[Left]]. It stood for long.\n"
    "== Reception ==\nNobody minded.\n== History ==\nAll was new. [[The Right]] came.\n"
    "== Remains ==\nMasons built it. [[US]] too."
)


# --- sentences


# --- parts


def test_parts_are_joined_by_heading_then_by_order_and_each_stands_once():
    ours = ArticlePage(OURS, "Root").parts()
    theirs = ArticlePage(THEIRS, "Root").parts()
    pairs = [
        tuple(part and (part.heading.title if part.heading else part.kind) for part in pair)
        for pair in _aligned(ours, theirs)
    ]
    assert pairs == [
        ("infobox", None),
        ("lead", "lead"),
        (None, "Reception"),
        ("History", "History"),
        ("Legacy", "Remains"),
    ]


@pytest.mark.parametrize("seed", range(20))
def test_no_part_is_lost_whatever_the_order(seed):
    drawn = random.Random(seed)
    texts = [
        "".join(f"== {drawn.choice('ABCDE')} ==\nx\n" for _ in range(drawn.randrange(7))) for _ in range(2)
    ]
    ours, theirs = (ArticlePage(f"lead\n{text}", "T").parts() for text in texts)
    pairs = _aligned(ours, theirs)
    assert [a for a, _ in pairs if a] == ours
    assert sorted((b for _, b in pairs if b), key=theirs.index) == theirs
    assert all(a or b for a, b in pairs)


def test_every_sentence_stands_in_one_part():
    page = ArticlePage(OURS + "\n[[Category:Trees]]\n<ref>A note.</ref>\n{|\n| cell\n|}\n* item", "Root")
    numbers = [n for part in page.parts() for first, end in part.paragraphs for n in range(first, end)]
    assert numbers == list(range(len(page.sentences)))


# --- the page


@pytest.fixture
def two(tmp_path):
    """Root in two runs; in the second it is called The Root, of which Root is another name."""
    first = Corpus(tmp_path / "first").seed("Root")
    fates = [Child("Left"), Child("Army"), Child("U.S.", "ner_rejected")]
    first.walk(Visit("Root", fates), damage=with_texts({"Root": OURS}))
    second = Corpus(tmp_path / "second", make_config(engine={"model": "other"})).seed("The Root")
    second.walk(
        Visit("The Root", [Child("Left"), Child("The Right"), Child("Root", "duplicate", "The Root")]),
        damage=with_texts({"The Root": THEIRS}),
    )
    return tmp_path / "first", tmp_path / "second"


def context(runs, name="Root"):
    entity = runs[0].entity(runs[0].number_of(name))
    return compare_page(runs[0], entity, runs[1], runs[1:], LiveAddresses(OPTIONAL))


def test_figures_are_those_of_the_two_texts(two):
    runs, _ = opened(*two)
    found = {row[0]: row[1:] for row in context(runs)["measures"]}
    assert found["Sections"] == ("2", "3") and found["Sentences"] == ("7", "7")
    assert found["the same in both"] == ("2", "2")  # It stood for long; Masons built it
    assert found["in other words"] == ("1", "1")  # 1900 and 1901
    assert found["here only"] == ("4", "4")
    assert (
        found["Names linked"] == ("3", "3")
        and found["by both"] == ("2",)
        and found["by this one only"] == ("1", "1")
    )
    left, right = (
        {w for s in ArticlePage(text, "").sentences for w in s.lower().replace(".", " ").split()}
        for text in (OURS, THEIRS)
    )
    assert found["Words in common"] == (f"{100 * len(left & right) / len(left | right):.1f}%",)


def test_the_page_shows_both_texts_and_leads_to_both(two):
    _, client = opened(*two)
    page = get(client, "/compare/first/0-root?with=second")
    assert page.link("/r/first/a/0-root")["href"] and page.link("/r/second/a/0-the-root")["href"]
    for words in (
        "Masons built it.",
        "Nobody minded.",
        "Born 1900",
        "In other words:",
        "Only here:",
        "There it stands in Remains",
    ):
        assert words in page.text, words
    marked = [tag for tag, _ in page.tags].count("mark")
    assert marked >= 2
    assert [a["href"] for tag, a in page.tags if tag == "a" and a.get("aria-current")] == [
        "/compare/first/0-root?with=second"
    ] * 1
    hrefs = [href[1:] for href in page.hrefs if href.startswith("#")]
    assert set(hrefs) <= set(page.ids) and len(page.ids) == len(set(page.ids))


def test_links_lead_to_the_run_that_has_them(two):
    runs, client = opened(*two)
    shared, mine, theirs = context(runs)["links"]
    assert [name for name, _, _ in shared.names] == ["Left", "U.S."]
    assert [(name, a.href, b) for name, a, b in mine.names] == [("Army", "/r/first/a/2-army", None)]
    assert [(name, a, b.href) for name, a, b in theirs.names] == [
        ("The Right", None, "/r/second/a/2-the-right")
    ]
    red = {name: a for name, a, _ in shared.names}["U.S."]
    assert red.kind == "red" and "no subject" in red.hint
    assert get(client, "/compare/first/0-root?with=second").link("candidate-2")["class"] == "wl red"


def test_claims_are_counted_where_both_were_audited(two):
    runs, _ = opened(*two)
    assert context(runs)["verdicts"] == []
    commit_audit(runs[0].run, {0: ["It was laid.", "It burnt."]})
    runs, _ = opened(*two)
    assert context(runs)["verdicts"] == []
    commit_audit(runs[1].run, {0: ["It was laid."]})
    runs, _ = opened(*two)
    assert [(verdict, a, b) for verdict, _, a, b in context(runs)["verdicts"] if a or b] == [
        ("supported", 2, 1)
    ]


def test_a_subject_that_the_other_lacks_is_said_to_be_lacking(two):
    _, client = opened(*two)
    page = get(client, "/compare/first/2-army?with=second")
    assert "has no article on this subject" in page.text


def test_what_cannot_be_compared_is_not_found(two, tmp_path):
    _, client = opened(*two)
    assert client.get("/compare/first/0-root").headers["location"] == "/compare/first/0-root?with=second"
    for path in (
        "/compare/first/0-root?with=first",
        "/compare/first/0-root?with=x",
        "/compare/x/0?with=first",
    ):
        get(client, path, 404)
    _, alone = opened(two[0])
    get(alone, "/compare/first/0-root", 404)


def test_of_several_runs_one_is_chosen_and_the_others_are_offered(two, tmp_path):
    Corpus(tmp_path / "third").seed("Root").walk(
        Visit("Root", []), damage=with_texts({"Root": "'''Root''' is."})
    )
    _, client = opened(*two, tmp_path / "third")
    page = get(client, "/compare/first/0-root?with=third")
    links = [
        (a["href"], a.get("aria-current"))
        for tag, a in page.tags
        if tag == "a" and "?with=" in a.get("href", "")
    ]
    assert ("/compare/first/0-root?with=second", None) in links and (
        "/compare/first/0-root?with=third",
        "page",
    ) in links


def test_hostile_and_empty_texts_are_shown_and_never_run(tmp_path):
    for name, text in (
        ("first", f"{EVIL} [[{EVIL}]]\n== {EVIL} ==\n{EVIL}"),
        ("second", ""),
        ("third", f"== {EVIL} ==\nx {EVIL}"),
    ):
        Corpus(tmp_path / name).seed("Root").walk(
            Visit("Root", [], lead=EVIL), damage=with_texts({"Root": text})
        )
    _, client = opened(*(tmp_path / name for name in ("first", "second", "third")))
    for path in (
        "/compare/first/0-root?with=second",
        "/compare/first/0-root?with=third",
        "/compare/second/0-root?with=third",
    ):
        page = get(client, path)
        for tag, attributes in page.tags:
            assert tag not in ("img", "style") and not [
                a for a in attributes if a.startswith("on") or a == "style"
            ], (path, tag)
            assert tag != "script" or attributes["src"].startswith("/static/")
    assert "alert(1)" in get(client, "/compare/first/0-root?with=third").text
