"""An article that attacks, is broken or never ends: nothing of it runs, nothing of it is lost, and
it is read in time.
"""

import random
import re
import time

import pytest

from llmpedia.site.wikitext import html as wiki_html
from llmpedia.site.wikitext import page as wiki
from llmpedia.site.wikitext.page import ArticlePage, Mark, Target
from tests.support.builders.wikitext import HEADINGS, RED, Seen, page_of, shown_words
from tests.support.payloads import HOST, NAMES, PAYLOADS, TEXTS

# What the renderer writes, and nothing else: tag -> attributes.
WRITTEN = {
    **{tag: {"dir"} for tag in "p li dd dt blockquote caption pre td th h2 h3 h4 h5 h6".split()},
    **{tag: set() for tag in "b br code dl hr i ol s section small sub table tbody tr u ul".split()},
    "a": {"href", "title", "rel", "id", "aria-label"},
    "span": {"id", "title"},
    "sup": {"id"},
}
ADDED = {
    "li": {"id"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    **{h: {"id"} for h in HEADINGS},
}
CLASSES = set(
    "s supported refuted insufficient not_adjudicated tpl file plain wl queued red ext ref infobox "
    "wt fn notes cats".split()
)
SITE_LINK = re.compile(r"/red|#(?:fn|claim)-\d+")

# Forms in which a payload may come.
FORMS = [
    "{}",
    "a {} b",
    "'''{}'''",
    "== {} ==",
    "* {}",
    "; {} : {}",
    "[[{}]]",
    "[[A|{}]]",
    "[[File:{}|thumb|{}]]",
    "[[Category:{}]]",
    "[https://a.example/ {}]",
    "[https://a.example/{} x]",
    "https://a.example/{}",
    "[{}](https://a.example/)",
    "[x]({})",
    "{{{{Infobox x|name={}|{}=1|b={}}}}}",
    "{{{{{}|{}}}}}",
    "{{{{lang|en|{}}}}}",
    "{{| {}\n|+ {}\n! {} !! {}\n|- {}\n| {} | {}\n|}}",
    "| {} | b |\n|---|---|\n| {} | c |",
    '<ref name="{}">{}</ref>',
    "<b {}>x</b>",
    "<{}>x</{}>",
    "<table {}><tr><td {}>{}</table>",
    "<nowiki>{}</nowiki>",
    "<pre {}>{}</pre>",
    "```{}\n{}\n```",
    "`{}`",
    "**{}**",
    "<!-- {}",
    "> {}",
]


def html_of(text, title="Title"):
    marks = {n: [Mark(n + 1, "refuted")] for n in range(0, 40, 3)}
    made = ArticlePage(text, title).html(lambda _: Target("red", "/red", f"why: {title}"), marks)
    return made.infobox + made.lead + made.body


def strange(html):
    """Whatever is in some HTML that the renderer does not write."""
    found = []
    for tag, attributes in Seen(html).tags:
        allowed = WRITTEN.get(tag, set()) | ADDED.get(tag, set()) | {"class"}
        found += [tag] if tag not in WRITTEN else []
        found += [f"{tag} {name}" for name in attributes if name not in allowed]
        found += [f"class {c}" for c in (attributes.get("class") or "").split() if c not in CLASSES]
        if "id" in attributes and not re.fullmatch(
            r"(?:s|ref-|fn-|fnref-)\d+|h-[a-z0-9-]+", attributes["id"]
        ):
            found.append(f"id {attributes['id']}")
        href = attributes.get("href")
        if href is not None and not SITE_LINK.fullmatch(href):
            outside = (
                re.match(r"https?://[^/\s]", href) and attributes.get("rel") == "nofollow noreferrer noopener"
            )
            found += [] if outside and attributes.get("class") == "ext" else [f"href {href}"]
    return found


def all_forms():
    return [(form, payload) for form in FORMS for payload in PAYLOADS]


def filled(form, payload):
    return form.format(*[payload] * form.count("{}"))


def test_there_are_forty_payloads_and_more():
    assert len(set(PAYLOADS)) == len(PAYLOADS) == len(NAMES) + len(TEXTS) >= 40
    assert all(
        ("__pwned" in p)
        or ("alert(" in p)
        or (HOST in p)
        or ("etc/passwd" in p)
        or ("2fx" in p)
        or "7*7" in p
        for p in PAYLOADS
    )


def test_checker_sees_what_is_unsafe():
    bad = [
        "<script>",
        "<b onclick=x>",
        "<img src=x>",
        "<a href='javascript:x'>",
        "<a class='wl' href='https://evil.example'>",
        "<p style=x>",
        "<b class=other>",
        "<span id=search>",
    ]
    assert all(strange(html) for html in bad)


def test_no_payload_in_any_form_leaves_anything_that_is_not_ours():
    wrong = {
        text: found
        for form, payload in all_forms()
        if (found := strange(html_of(text := filled(form, payload), payload)))
    }
    assert wrong == {}


def test_first_wall_holds_without_the_second(monkeypatch):
    """nh3 must find nothing to clean: if it ever did, an escape was forgotten."""
    monkeypatch.setattr(wiki, "cleaned", lambda html: html)
    wrong = {
        text: found
        for form, payload in all_forms()
        if (found := strange(html_of(text := filled(form, payload), payload)))
    }
    assert wrong == {}


def test_second_wall_holds_without_the_first(monkeypatch):
    """What is left are tags and addresses that the renderer writes as well."""
    monkeypatch.setattr(wiki_html, "_escaped", lambda text: text)
    wrong = {}
    for form, payload in all_forms():
        found = strange(html_of(filled(form, payload)))
        wrong |= (
            {filled(form, payload): bad}
            if (bad := [what for what in found if not what.startswith("href http")])
            else {}
        )
    assert wrong == {}


def test_words_of_payloads_are_shown_and_not_swallowed():
    for payload in (
        "<script>window.alpha</script>",
        "<img src=beta>",
        "<x>gamma</x>",
        "<style>delta</style>",
    ):
        assert re.search("alpha|beta|gamma|delta", shown_words(html_of(payload)))


# Pieces of broken articles; each word of the second list comes once.
MARKS = (
    "[[ ]] [[A| | {{ }} {{a| {{Infobox\n|a= {{Quote| {{ubl| {| |} \n{|\n \n|}\n \n|- \n| \n! || !! "
    "\n|+ == \n==_ _==\n \n* "
    "\n** \n# \n; \n: : ''' '' ''''' ** * ` ``` \n```\n <b> </b> <i </i> <sub> </sub> <ref> </ref> "
    "<ref/> <ref_name=a> "
    "<references/> <!-- --> <nowiki> </nowiki> <pre> </pre> <code> </code> <math> <blockquote> "
    "</blockquote> <table> "
    "</table> <tr> <td> <div> </p> <br> <li> <script> [https://a.example/ https://b.example/ ] "
    "[x](https://c.example/ ) "
    "[[File:x.jpg| [[Category: [[de: [[# (0.9) &lt; &amp; &#x202e; &bogus; \n\n \n> \n- \n1._ "
    "\n2._ |---| \n|---|\n "
    "{{reflist}} <!--> {{!}} = \\ __TOC__ [[[ ]]] }}} {{{ . ! ? 。"
)
PIECES = MARKS.split(" ")


def broken(seed, marks=PIECES):
    rng = random.Random(seed)
    marks = [mark.replace("_", " ") for mark in marks]
    words = [f"w{seed}x{n}" for n in range(60)]
    out = []
    for word in words:
        out += [rng.choice(marks) for _ in range(rng.randrange(4))]
        out.append(rng.choice(("", " ")) + word + rng.choice(("", " ", ". ")))
    return "".join(out), words


@pytest.mark.parametrize("seed", range(0, 1500, 100))
def test_broken_markup_is_shown_safely_with_all_its_sentences(seed):
    for number in range(seed, seed + 100):
        text, _ = broken(number)
        page = page_of(text)
        made = page.html(lambda _: RED, {})
        html = made.infobox + made.lead + made.body
        assert strange(html) == [], text
        assert shown_words(html) == "".join("".join(page.sentences).split()), text
        ids = [a["id"] for _, a in Seen(html).tags if "id" in a]
        assert len(ids) == len(set(ids)) and [i for i in ids if re.fullmatch(r"s\d+", i)] == [
            f"s{n}" for n in range(len(page.sentences))
        ], text


# Marks behind which a word may be what no reader sees: a comment, a target, an attribute, part of
# an address, a language.
HIDING = re.compile(r"<!--|-->|\[\[|\]\]|://|<i$|=|TOC|\|-|```")


def test_no_word_of_broken_markup_is_lost():
    for number in range(600):
        text, words = broken(number, [mark for mark in PIECES if not HIDING.search(mark)])
        page = page_of(text)
        told = " ".join([*page.sentences, *(h.title for h in page.contents)])
        assert [w for w in words if w not in told] == [], text


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("<b>", "</b>"),
        ("{{a|", "}}"),
        ("[[a|", "]]"),
        ("{|\n|", "\n|}"),
        ("<blockquote>", "</blockquote>"),
        ("<div>", "</div>"),
        ("<ref>", "</ref>"),
        ("<table><tr><td>", "</table>"),
        ("[[A|{{b|", " x}}]]"),
        ("*", ""),
        ("> ", ""),
        ("<small>'''", "'''</small>"),
        ("[[File:a|", "]]"),
        ("{{Quote|", "}}"),
    ],
)
def test_a_thousand_levels_are_read_and_the_innermost_word_stays(opening, closing):
    start = time.process_time()
    page = page_of(opening * 1000 + " innermost " + closing * 1000 + "\n\nafter")
    html = page.html(lambda _: RED, {})
    assert time.process_time() - start < 1.0
    assert "innermost" in " ".join(page.sentences) and "after" in shown_words(html.lead + html.body)


LOOPS = [
    "[[", "[[a|", "{{", "{{a|", "{|", "<ref>", "<ref ", "<!--", "<a", "<b>", "[http://", "[http://a ", "http://a", "&amp;",
    "]]", "'''", "'", "(", "{|\n|-\n| ", "{{{", "{{a|b=", "<b><i>", "*:#", "\n* a", "\n- a", ("\n  "
                                                                                             "- a"), "|}\n{|\n", "''a'''b",
    "<table><tr><td>", "**a", "*a", "`a", "[a](http://b", "\n|a|\n|-|", "\n", "\n \n", "\n## x", "\n> x", "<nowiki>", "<pre>",
    "\n```\n", "{{Quote|", "[[File:a|", "[[A|[[B]] ", "[[[A]]]", "<ref name='", "\n== a ==\n", "; a : b\n",
    "{{Infobox\n|a=b\n", "[[a]] (0.9", "a. B ", "\x02L0\x03", "\ud800", " ",
]  # fmt: skip


@pytest.mark.parametrize("loop", LOOPS)
def test_a_model_that_loops_is_read_in_time(loop):
    """Half a second alone on one core; the limit leaves room for other tests beside it."""
    start = time.process_time()
    page_of(loop * (99_000 // len(loop))).html(lambda _: RED, {})
    assert time.process_time() - start < 2.0


def test_a_megabyte_is_shown_without_its_markup_and_with_all_its_words():
    text = "\n\n".join(
        f"Word{n} '''bold''' [[X]] <script>alert(1)</script> " + "filler " * 110 for n in range(1300)
    )
    assert len(text) > 1_000_000
    start = time.process_time()
    page = page_of(text)
    html = page.html(lambda _: RED, {}).lead
    assert time.process_time() - start < 2.0
    assert "".join(" ".join(page.sentences).split()) == "".join(text.split()) and strange(html) == []


def test_pages_of_the_same_text_are_the_same():
    text, _ = broken(7)
    assert html_of(text) == html_of(text)
