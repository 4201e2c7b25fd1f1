"""An article as a page: what models write is shown as they mean it, and every word and every link
of it is there.
"""

import time

import pytest

from llmpedia.rehearsal.settings import WorldSettings
from llmpedia.rehearsal.world.prose import article, outline
from llmpedia.rehearsal.world.world import World
from llmpedia.site.wikitext.page import ArticlePage, Mark, PageHeading, Target
from llmpedia.wikitext import Article
from tests.support.builders.wikitext import RED, bare, page_of, shown_words, written

# As a small real model wrote them.
WEAK = [
    "'''Minnesota Sketcher''' was a 1923 book about the life and work, [[Minnesota "
    "Sketcher]](https:https:www.britannica.com) by "
    "the [[Alan Turing]] was published by [[Rochester Stock Tower]]. In this book, Turing "
    "discusses.\n\n== Merit Category 2 ==\n"
    "Turing was a British mathematician who, [[Minnesota Sketcher]](https:https:www.britannica.com), had "
    "[[Drawn from Live Science]] as his first draft,  [[BBC FactFiles]] at the [[BBC FactFiles "
    "2018]] London Science Fair.",
    "She has [[Icons]](https:; [[Mirror People of Wisdom]] (check)). He is also an artist. She is "
    "[[Icons]](https:; [[Batman]] "
    "(check)). She also has (see) a (see) on.\n\n== Other ==\n[[A) Star Trek Into the Dark]], she "
    "said [[Lady Brown]]s and a .t.",
]


@pytest.fixture(scope="module")
def prose():
    """Articles of the rehearsal's world, plain and calibrated."""
    world = World(WorldSettings(seed=5, entities=3000))
    names = [world.name(e) for e in range(0, 3000, 60)]
    return [
        article(world, name, outline(world, name, 4, 6, None), calibrated)
        for name in names
        for calibrated in (False, True)
    ]


def lead(text):
    return written(text).lead


def test_links_of_real_prose_are_those_of_the_walk_each_asked_once_in_order(prose):
    for text in [*prose, *WEAK]:
        asked: list[str] = []
        ArticlePage(text, "x").html(lambda target, asked=asked: asked.append(target) or RED, {})
        assert asked == [link.target for link in Article(text).links] and asked


def test_headings_and_words_of_real_prose_are_those_of_the_walk(prose):
    for text in prose:
        page = ArticlePage(text, "x")
        assert [(h.level, h.title) for h in page.contents] == [
            (h.level, h.title) for h in Article(text).headings
        ]
        assert " ".join(page.sentences).split() == Article(text).text.split()


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("[[X (0.85)]] [[Y|z]] (0.9)", ["X", "Y"]),
        (
            "{{Infobox|a=[[One]]|b={{lang|x|{{small|[[Two]]}}}}}}\n'''S''' met [[Three]].",
            ["One", "Two", "Three"],
        ),
        ("{|\n! [[H]]\n|-\n| [[C]] || [[D]]\n|}", ["H", "C", "D"]),
        ("[[File:a.jpg|thumb|Statue at [[Abu Simbel]]]] [[Category:X]] [[de:Y]] [[#Z]]", ["Abu Simbel"]),
        ("<!-- [[No]] --> <nowiki>[[No]]</nowiki> <ref>[[No]]</ref> <ref name=a/> [[Yes]]", ["Yes"]),
        ("[[A|see [[B]] there]]", ["A", "B"]),
        (
            "[[[X]]] [[Foo\nBar]] [[AT&amp;T]] [[2001: A Space Odyssey]]",
            ["X", "Foo Bar", "AT&T", "2001: A Space Odyssey"],
        ),
        ("<code>[[A]]</code> <pre>[[B]]</pre> {{Quote|[[C]]}}", ["A", "B", "C"]),
        ("[[Foo<ref>x</ref>|bar]] [[X]]<ref>y</ref>(0.8) z", ["Foo", "X"]),
        ("== [[Head]] ==\n* [[L]]\n; [[T]] : [[D]]", ["Head", "L", "T", "D"]),
        ("[https://a.example see [[X]] here]", ["X"]),
        ("| a | b |\n|---|---|\n| [[X]] | [[Y]] |", ["X", "Y"]),
    ],
)
def test_links_wherever_they_stand(text, targets):
    page = ArticlePage(text, "x")
    assert page.links == targets == [link.target for link in Article(text).links]
    html = written(text)
    shown = html.infobox + html.lead + html.body
    assert all(f'href="/a/{i}"' in shown for i in range(len(targets)))


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("'''B''' ''i'' '''''bi'''''", "<b>B</b> <i>i</i> <b><i>bi</i></b>"),
        ("**B** and *i* and 5*3*2 and a * b * c", "<b>B</b> and <i>i</i> and 5*3*2 and a * b * c"),
        ("a **open", "a **open"),
        (
            "H<sub>2</sub>O<sup>+</sup> <small>s</small> <code>c<d</code>",
            "H<sub>2</sub>O<sup>+</sup> <small>s</small> <code>c&lt;d</code>",
        ),
        ("<b>open and <i class=x>closed</i>", "&lt;b&gt;open and <i>closed</i>"),
        ("<div class='x'><span>t</span></div>", "t"),
        ("&lt;b&gt; &amp;amp; &nbsp;x", "&lt;b&gt; &amp;amp; x"),
        ("<nowiki>''x'' [[y]]</nowiki>", "''x'' [[y]]"),
        ("`a*b` rock 'n' roll", "<code>a*b</code> rock 'n' roll"),
        ("{{lang|fr|oui}} {{nowrap|a b}} {{snd}}c", "oui a b – c"),
        ("{{birth date|df=yes|1815|12|10}}", "1815-12-10"),
        ("{{citation needed}}", '<span class="tpl">citation needed</span>'),
        ("{{Some box|x|k=v}}", '<span class="tpl">Some box: x · k: v</span>'),
        ("one\ntwo", "one two"),
    ],
)
def test_running_text(text, html):
    assert bare(lead(text)) == f"<p>{html}</p>"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("* a\n** b\n* c", "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>"),
        ("# a\n#* b", "<ol><li>a<ul><li>b</li></ul></li></ol>"),
        ("; t : d\n: e", "<dl><dt>t</dt><dd>d</dd><dd>e</dd></dl>"),
        ("- a\n  - b\n- c", "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>"),
        ("1. a\n2. b", "<ol><li>a</li><li>b</li></ol>"),
        ("1. FC Example is a club.", "<p>1. FC Example is a club.</p>"),
        ("1984. A year.\n3. Or two.", "<p>1984. A year. 3. Or two.</p>"),
        ("**Born** in X", "<p><b>Born</b> in X</p>"),
        ("a\n\nb", "<p>a</p><p>b</p>"),
        ("> said\n> so", "<blockquote><p>said so</p></blockquote>"),
        ("<blockquote>a\n\nb</blockquote>", "<blockquote><p>a</p><p>b</p></blockquote>"),
        ("{{Quote|a|author=b}}", "<blockquote><p>a</p><p>author: b</p></blockquote>"),
        ("a\n----\nb", "<p>a</p><hr><p>b</p>"),
        ("```\nx  <y\n```", "<pre><code>x  &lt;y</code></pre>"),
        (
            "| a | b |\n|---|:-:|\n| 1 | 2 |",
            (
                "<table "
                'class="wt"><tbody><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></tbody></table>'
            ),
        ),
        (
            '{| class="x"\n|+ cap\n! a !! b\n|-\n| colspan="2" style="x" | c\nd\n|}',
            '<table class="wt"><caption>cap</caption><tbody><tr><th>a</th><th>b</th></tr>'
            '<tr><td colspan="2">c d</td></tr></tbody></table>',
        ),
        (
            "{|\n| a | b || c\n|}",
            '<table class="wt"><tbody><tr><td>a</td><td>b</td><td>c</td></tr></tbody></table>',
        ),
        (
            "<table border=1><tr><th>a</th></tr><tr><td>b<td>c</tr></table>",
            '<table class="wt"><tbody><tr><th>a</th></tr><tr><td>b</td><td>c</td></tr></tbody></table>',
        ),
        (
            "{{Infobox person\n| name = N\n| birth_place = P\n| list = {{ubl|x|y}}\n}}",
            '<table class="infobox"><caption>N</caption><tbody><tr><th scope="row">Birth '
            "place</th><td>P</td></tr>"
            '<tr><th scope="row">List</th><td><ul><li>x</li><li>y</li></ul></td></tr></tbody></table>',
        ),
        ("[[Category:A]] [[Category:B|c]]", '<section class="cats"><ul><li>A</li><li>B</li></ul></section>'),
        ("[[File:a.jpg|thumb|200px|A cap]]", '<p><span class="file">A cap</span></p>'),
        ("[[File:a.jpg]] [[de:B]] [[#C|see]]", '<p><span class="file">File:a.jpg</span> de:B see</p>'),
    ],
)
def test_blocks(text, html):
    made = written(text)
    assert bare(made.infobox + made.lead + made.body) == html


def test_headings_are_contents_with_anchors_of_their_own():
    page = ArticlePage(
        "== Life ==\nx\n=== Life ===\n== Life 2 ==\n== Life ==\n== 東京 ==\n== القاهرة ==\n## "
        "Markdown\n== ''It'' & [[X|y]] ==\n",
        "x",
    )
    assert page.contents == [
        PageHeading(2, "Life", "h-life"),
        PageHeading(3, "Life", "h-life-2"),
        PageHeading(2, "Life 2", "h-life-2-2"),
        PageHeading(2, "Life", "h-life-3"),
        PageHeading(2, "東京", "h-section"),
        PageHeading(2, "القاهرة", "h-section-2"),
        PageHeading(2, "Markdown", "h-markdown"),
        PageHeading(2, "It & y", "h-it-y"),
    ]
    html = page.html(lambda _: RED, {}).body
    assert [html.count(f'id="{h.anchor}"') for h in page.contents] == [1] * 8


def test_heading_without_a_word_is_text_and_no_empty_line_of_the_contents():
    page = page_of("== ==\n=== \u202e ===\nx")
    assert page.contents == [] and "x" in page.sentences[-1]


def test_numbered_list_deeper_than_one_is_no_heading_of_markdown():
    assert ArticlePage("# a\n## b\n## c\n", "x").contents == []


def test_lead_ends_at_the_first_heading_and_the_first_infobox_stands_apart():
    made = written("Lead.\n{{Infobox x|a=b}}\n== H ==\n{{Infobox y|c=d}}")
    assert [x.count("infobox") for x in (made.infobox, made.lead, made.body)] == [1, 0, 1]
    assert "Lead." in made.lead and "<h2" in made.body


def test_notes_are_listed_once_each_where_the_article_wants_them():
    text = "So.<ref name=a>See [https://x.example/ it] and [[No]].</ref> Yes<ref>two</ref><ref name='a'/>."
    text += "\n== Notes ==\n{{reflist}}\n== After ==\nx"
    page = page_of(text)
    made = page.html(lambda _: RED, {})
    assert (
        made.lead.count('href="#fn-1"') == 2
        and made.lead.count('id="fnref-1"') == 1
        and made.lead.count('href="#fn-2"') == 1
    )
    notes = made.body[made.body.index('<section class="notes">') : made.body.index("</section>")]
    assert "See it and No." in notes and "<a" not in notes and notes.count("<li") == 2
    assert made.body.index("h-notes") < made.body.index("fn-1") < made.body.index("h-after")
    assert page.sentences == ["So.", "Yes.", "See it and No.", "two", "x"]


def test_note_without_a_text_anywhere_is_not_shown():
    assert written("A<ref name=x/> b.").lead.count("<sup") == 0


def test_marks_colour_the_sentence_as_the_worst_and_lead_to_the_claims():
    marks = {
        0: [Mark(3, "supported"), Mark(5, "not_adjudicated")],
        1: [Mark(4, "refuted"), Mark(3, "supported")],
    }
    html = page_of("One. Two.").html(lambda _: RED, marks).lead
    assert (
        '<span class="s not_adjudicated" id="s0">One.<a class="ref supported" href="#claim-3" id="ref-3"'
        in html
    )
    assert '<span class="s refuted" id="s1">Two.<a class="ref refuted" href="#claim-4" id="ref-4"' in html
    assert (html.count('id="ref-3"'), html.count('href="#claim-3"')) == (1, 2)


def test_targets_are_shown_by_their_kind():
    kinds = {
        "A": Target("article", "/a/1", None),
        "Q": Target("queued", "/a/2", "not yet"),
        "R": Target("red", "/red?n=R", 'NER: no "name"'),
        "P": Target("plain", None, None),
    }
    html = page_of("[[A]] [[Q]] [[R|''r'']] [[P]]").html(kinds.__getitem__, {}).lead
    for part in (
        '<a class="wl" href="/a/1">A</a>',
        '<a class="wl queued" href="/a/2" title="not yet">Q</a>',
        '<a class="wl red" href="/red?n=R" title="NER: no &quot;name&quot;"><i>r</i></a> P</span>',
    ):
        assert part in html


def test_addresses_of_this_site_survive_the_second_wall():
    for href in ("/r/run/a/1-x", "../a/1-x.html", "a.html#h-life", "?q=%C3%A9&p=1", "1-x.html"):
        assert (
            f'href="{href.replace("&", "&amp;")}"'
            in page_of("[[A]]").html(lambda _, h=href: Target("article", h, None), {}).lead
        )


@pytest.mark.parametrize(
    "href",
    [
        "javascript:alert(1)",
        "//evil.example",
        "data:x",
        "/\\evil.example",
        "ftp://x/",
        "java\nscript:x",
        "x:y",
    ],
)
def test_addresses_that_lead_elsewhere_are_taken_out(href):
    html = page_of("[[A]]").html(lambda _: Target("article", href, None), {}).lead
    assert "href" not in html and ">A</a>" in html


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("[https://a.example/x?y=1&z=2 words]", "https://a.example/x?y=1&amp;z=2"),
        ("[https://a.example]", "https://a.example"),
        ("See https://a.example/b_(c).", "https://a.example/b_(c)"),
        ("(https://a.example/b)", "https://a.example/b"),
        ("[words](https://a.example/b)", "https://a.example/b"),
        ("![words](http://a.example/b.png)", "http://a.example/b.png"),
    ],
)
def test_link_to_another_site_is_inert_until_it_is_followed(text, url):
    html = lead(text)
    assert (
        f'<a class="ext" href="{url}" title="{url}" rel="nofollow noreferrer noopener">' in html
        and "<img" not in html
    )


@pytest.mark.parametrize(
    "url",
    [
        "https://",
        "http://[x",
        "https://user@evil.example/",
        "https://a.example:x/",
        "https://a.example\\x",
        "ftp://a.example",
    ],
)
def test_address_that_is_none_or_deceives_stays_text(url):
    assert "<a" not in lead(f"See [{url} it] and {url} and [x]({url}).")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            "Dr. Smith met St. John in No. 5 on Jan. 3. Then left.",
            ["Dr. Smith met St. John in No. 5 on Jan. 3.", "Then left."],
        ),
        (
            'He said "No." Then (it was over.) She left.',
            ['He said "No."', "Then (it was over.)", "She left."],
        ),
        ("In VA . They won.", ["In VA .", "They won."]),
        ("By [[Law of M. By Max. Newman|Law. By Max]] it. Was.", ["By Law. By Max it.", "Was."]),
        ("''One. Two.'' Three", ["One.", "Two.", "Three"]),
        ("彼は行った。次に。", ["彼は行った。", "次に。"]),
        ("a<br>b<br/>C.", ["a", "b", "C."]),
        ("{{Infobox x|born=1 May. In X|k={{ubl|a|b}}}}\nLead.", ["Born 1 May.", "In X", "K a", "b", "Lead."]),
        ("* One. Two\n* Three", ["One.", "Two", "Three"]),
        ("{|\n! H\n| a. B\n|}", ["H", "a.", "B"]),
    ],
)
def test_sentences_in_order(text, sentences):
    page = page_of(text)
    made = page.html(lambda _: RED, {})
    assert page.sentences == sentences
    assert [f'id="s{i}"' in made.infobox + made.lead + made.body for i in range(len(sentences) + 1)] == [
        True
    ] * len(sentences) + [False]


def test_ten_thousand_characters_take_a_few_milliseconds(prose):
    text = "\n\n".join(prose)[:10_000]
    spent = []
    for _ in range(5):
        start = time.process_time()
        ArticlePage(text, "x").html(lambda _: RED, {})
        spent.append(time.process_time() - start)
    assert min(spent) < 0.06  # 9 ms alone on one core of the machine it was made on


def test_infobox_that_nothing_closes_ends_with_its_last_parameter():
    made = written("{{Infobox person\n| name = N\n| born = 1900\n\n'''N''' was [[X]].\n== H ==\ny")
    assert ">Born</th>" in made.infobox and "<b>N</b> was" in made.lead


def test_text_direction_is_each_blocks_own():
    made = written("שלום\n* a\n{|\n|+ c\n! h\n| d\n|}\n> q\n== H ==\n; t : d")
    html = made.lead + made.body
    for tag in ("p", "li", "caption", "th", "td", "blockquote", "h2", "dt", "dd"):
        assert f'<{tag} dir="auto"' in html and f"<{tag}>" not in html


def test_characters_that_turn_text_around_or_hide_are_gone_and_the_words_stay():
    text = "ab\u202ecd\u2066ef\x00 g\ufeffh &#x202e;ij [[X\u202e|k\u202el]] <nowiki>m\u2067n</nowiki> \ud800o"
    page = page_of(text)
    html = page.html(lambda _: RED, {}).lead
    assert page.sentences == ["abcdef gh ij kl mn \ufffdo"]
    assert not set(html) & set("\u202e\u2066\u2067\ufeff\x00\ud800") and shown_words(html) == page.sentences[
        0
    ].replace(" ", "")
    assert page.links == ["X\u202e"]  # the name itself is asked as it is
