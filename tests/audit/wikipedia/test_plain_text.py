"""Plain text of an article: what carries facts stays, and broken markup costs neither time nor
words.
"""

import time
import unicodedata

import pytest

from llmpedia.audit.wikipedia.plain_text import wikitext_plain

PLAIN = {
    "parameters of an infobox": (
        "{{Infobox person\n| birth_place = [[Everett, Massachusetts|Everett]]\n}}",
        "birth place: Everett",
    ),
    "dates in templates": ("{{Infobox\n|a=1\n|born={{birth date|1890|3|11}}\n}}", "a: 1\nborn: 1890-03-11"),
    "two dates in one template": (
        "{{death date and age|1974|6|28|1890|3|11|df=y}}",
        "1974-06-28, 1890-03-11",
    ),
    "lists in a parameter": (
        "{{Infobox\n|name=x\n|works={{plainlist|\n* [[A]]\n* B\n}}\n}}",
        "name: x\nworks: A; B",
    ),
    "lines in a parameter": ("{{Infobox\n|name=x\n|works=A<br>B<br/>C}}", "name: x\nworks: A; B; C"),
    "measures": ("It has {{convert|100|km|mi}} of road.", "It has 100 km of road."),
    "foreign words": ("the {{lang|fr|Palais}}", "the Palais"),
    "link labels": ("[[Foo|bar]]s and [[Baz]]", "bars and Baz"),
    "labels of addresses": ("[http://a.b its site]", "its site"),
    "headings": ("a\n== Early ''life'' ==\nb", "a\n\nEarly life\nb"),
    "lists": ("* one\n** two\n# three\n; four: five", "- one\n- two\n- three\nfour: five"),
    "tables": (
        "{| class=x\n|+ Posts\n! Year !! Post\n|-\n| 1939 || [[A]]\n|}",
        "Posts\nYear | Post\n1939 | A",
    ),
    "tables in HTML": ("<table><tr><td>1</td><td>2</td></tr></table>", "1 | 2"),
    "powers": ("10<sup>6</sup>, 1<sup>st</sup>, H<sub>2</sub>O", "10^6, 1st, H2O"),
    "entities": ("a&nbsp;b &amp; c &#8211; d", "a b & c – d"),
    "formulas": ("<math>E=mc^2</math>", "E=mc^2"),
    "choices of a parser function": ("{{#if:x|yes|no}} {{formatnum:1234}}", "yes no 1234"),
    "signs": ("a{{snd}}b {{circa}} 1500", "a – b c. 1500"),
    "a template without parameters": ("of {{USA}}", "of USA"),
    "half of a pair": ("a{{b|\ud800c}}", "a\ud800c"),
}
DROPPED = {
    "references": 'a<ref name="x">{{cite web|title=T|date=1999}}</ref><ref name=x />b',
    "citations": "a{{sfn|Smith|1999}}{{citation needed|date=May 2020}}{{cite book|title=T}}b",
    "comments": "a<!-- 1999 -->b",
    "files": "a[[File:X.jpg|thumb|A [[caption]] of 1999]]b",
    "categories": "ab[[Category:People of 1999]]",
    "other languages": "ab[[de:Foo]]",
    "navigation": "a{{Navbox|title=T|list1=1999}}{{reflist}}{{Main|T}}b",
    "sorting": "a{{DEFAULTSORT:T}}__NOTOC__b",
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_text_keeps(name):
    wikitext, plain = PLAIN[name]
    assert wikitext_plain(wikitext) == plain


@pytest.mark.parametrize("name", DROPPED)
def test_plain_text_drops(name):
    assert wikitext_plain(DROPPED[name]) == "ab"


def test_images_in_an_infobox_are_no_facts():
    assert (
        wikitext_plain("{{Infobox\n|name=x\n|image=X.jpg\n|image_size=20\n|born=1\n}}") == "name: x\nborn: 1"
    )


@pytest.mark.parametrize(
    "mark",
    [
        "'",
        "''a ",
        "{{a|b=",
        "<b a='",
        "<code a='",
        "<ref>",
        "<ref n=a>",
        "\n{|\n|",
        "[http://a ",
        "<p>",
        "}}{{a|b=",
        "|}[[",
        "<!--",
    ],
)
def test_broken_markup_takes_no_longer_than_sound_one(mark):
    """5,000 unclosed marks took the parser up to 30 s."""
    start = time.process_time()
    wikitext_plain(mark * 5000)
    assert time.process_time() - start < 2


def test_broken_markup_keeps_its_words():
    assert wikitext_plain("{{a|b=" * 200 + "born in 1890").endswith("born in 1890")


def test_a_long_page_is_read_to_its_end():
    page = "\n".join(f"== Part {i} ==\n{'word ' * 200}{{{{nowrap|{i}}}}}\n" for i in range(150))
    assert wikitext_plain(page).split()[-1] == "149"


def test_a_page_may_be_cut_anywhere():
    page = PLAIN["tables"][0] + PLAIN["lists in a parameter"][0] + DROPPED["files"] + DROPPED["references"]
    texts = [wikitext_plain(page[:n]) for n in range(len(page))]
    assert all(unicodedata.normalize("NFC", t) == t for t in texts)
