"""Wikitext as models write it: brackets, templates, headings, lead, sentences. What one link says:
test_links.
"""

import contextlib
import signal

import pytest

from llmpedia.wikitext import Article, Heading, first_words


@contextlib.contextmanager
def within(seconds):
    def stop(*_):
        raise TimeoutError(f"took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def targets(text):
    return [link.target for link in Article(text).links]


def test_link_in_a_file_caption_is_the_only_link():
    article = Article("[[File:a.jpg|thumb|Statue at [[Abu Simbel]]]]")
    assert [(link.target, link.sentence) for link in article.links] == [
        ("Abu Simbel", "Statue at Abu Simbel")
    ]
    assert article.other_links == 1


@pytest.mark.parametrize(
    ("text", "found", "other"),
    [
        ("[[Unclosed then [[Foo]] and on", ["Foo"], 1),
        ("[[Unclosed\n\nNew paragraph ]] [[Foo]]", ["Foo"], 1),
        ("[[Unclosed\n== Heading ==\n]] [[Foo]]", ["Foo"], 1),
        ("text [[", [], 1),
        ("]] text ]] [[Foo]]", ["Foo"], 0),
        ("[[Foo\nBar]]", ["Foo Bar"], 0),
    ],
)
def test_unclosed_link_takes_nothing_with_it(text, found, other):
    assert (targets(text), Article(text).other_links) == (found, other)


def test_links_inside_nested_templates_are_read_in_order():
    text = "{{Infobox|a=[[One]]|b={{lang|x|{{small|[[Two]]}}}}}}\n'''S''' met [[Three]]."
    assert targets(text) == ["One", "Two", "Three"]


def test_nested_templates_leave_no_text():
    assert Article("{{Infobox|b={{lang|x|{{small|[[Two]]}}}}}} Out [[Foo]].").text == "Out Foo."


def test_tables_leave_no_text_and_keep_links():
    article = Article('before {| class="a"\n|-\n| [[Cell]]\n|} after')
    assert (article.text, [link.target for link in article.links]) == ("before after", ["Cell"])


@pytest.mark.parametrize(
    "hidden",
    ["<!-- [[No]] -->", "<nowiki>[[No]]</nowiki>", "<ref>[[No]]</ref>", "<ref name='a'>[[No]]</ref>"],
)
def test_hidden_text_has_no_links(hidden):
    assert targets(f"{hidden}<ref name=a/> [[Yes]]") == ["Yes"]


def test_comment_that_never_ends_hides_the_rest():
    assert targets("[[Yes]] <!-- [[No]]") == ["Yes"]


def test_repeated_links_are_all_there():
    assert targets("[[A]] [[B]] [[A|b]]") == ["A", "B", "A"]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It rained. He met [[Bob]] there! Then [[Eve]].", ["He met Bob there!", "Then Eve."]),
        ("From the U.S. Army came [[Bob]].", ["From the U.S. Army came Bob."]),
        ("== Head ==\nOne [[A]]\n* two [[B]] (0.9)", ["One A", "* two B"]),
        ("उसने [[दिल्ली]] देखी। फिर [[आगरा]]।", ["उसने दिल्ली देखी।", "फिर आगरा।"]),
        ("彼は[[東京]]へ行った。次に[[大阪]]。", ["彼は東京へ行った。", "次に大阪。"]),
        ("'''He''' <b>saw</b> [[X (0.9)|''it'']].", ["He saw it."]),
    ],
)
def test_sentence_is_the_plain_text_around_the_link(text, sentences):
    assert [link.sentence for link in Article(text).links] == sentences


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("== [[Life]] ==", Heading(2, "Life")),
        ("== Life ==", Heading(2, "Life")),
        ("==Life==", Heading(2, "Life")),
        ("==  ''Life'' of [[X|x]]  == ", Heading(2, "Life of x")),
        ("=== Deep ===", Heading(3, "Deep")),
        ("== a = b ==", Heading(2, "a = b")),
        ("== A ===", Heading(2, "A =")),
    ],
)
def test_heading_gives_level_and_plain_title(line, heading):
    assert Article(f"text\n{line}\nmore").headings == [heading]


@pytest.mark.parametrize("line", ["= Top =", "== open", "a == b ==", "==", "===="])
def test_line_that_is_no_heading_gives_none(line):
    assert Article(f"text\n{line}\nmore").headings == []


def test_lead_ends_at_the_first_heading_and_text_has_no_headings():
    article = Article("'''S''' is a [[B|b]].\n\n== Life ==\nBorn &amp; bred [http://x.org there].\n")
    assert (article.lead, article.text, article.words) == ("S is a b.", "S is a b. Born & bred there.", 8)


def test_article_without_headings_is_all_lead():
    assert Article("One two.").lead == "One two."


def test_external_link_without_a_caption_takes_no_text_with_it():
    """The URL ran over its bracket to the next one, and links between lost their sentence."""
    assert Article("See [http://a.b/x] and [http://c.d there] now.").text == "See and there now."


def test_control_characters_and_carriage_returns_are_white_space():
    article = Article("a\x00b [[X\x02Y]]\r\n\r\n== H ==\r\n")
    assert (article.lead, article.links[0].target, article.headings) == ("a b X Y", "X Y", [Heading(2, "H")])


def test_ten_thousand_links_take_under_two_seconds():
    text = " ".join(f"He met [[Entity {i}|him]] (0.9) at [[#here]] the [[Place {i}]]." for i in range(5000))
    with within(2.0):
        article = Article(text)
        assert (len(article.links), article.other_links, article.links[-2].sentence) == (
            10_000,
            5000,
            "He met him at",
        )


@pytest.mark.parametrize(("levels", "dropped"), [(20, 0), (21, 1), (25, 5), (10_000, 9_980)])
def test_brackets_nested_deeper_than_twenty_are_dropped_and_counted(levels, dropped):
    """The innermost stay. Each level was read with all that it holds: a looping model took a
    worker's minutes.
    """
    names = [f"L{n}" for n in range(levels)]
    with within(0.5):
        article = Article("[[" + "|[[".join(names) + "]]" * levels)
        assert ([link.target for link in article.links], article.other_links) == (names[dropped:], dropped)


LOOPS = [
    "[[",
    "[[a|",
    "{{",
    "{{a|",
    "{|",
    "<ref>",
    "<ref ",
    "<!--",
    "<a",
    "[http://",
    "[http://a ",
    "&amp;",
    "]]",
    "'''",
    "(",
    ".",
]


@pytest.mark.parametrize(
    "text", [loop * (16_000 // len(loop)) for loop in LOOPS] + ["== " + " " * 16_000, "\n== " * 4000]
)
def test_degenerate_repetition_is_read_within_two_seconds(text):
    """Two patterns backtracked in cubic time: a looping model stopped the worker for good."""
    with within(2.0):
        article = Article(text)
        assert (article.links, article.headings) == ([], []) and article.text is not None


def test_first_words_counts_across_white_space():
    assert first_words(" a  b\nc d ", 3) == "a b c"
