"""The grammar of guided Wikitext, compiled and matched by xgrammar itself."""

import os
from pathlib import Path

import pytest

from llmpedia.grammar import wikitext_grammar
from llmpedia.wikitext import Article, Heading

xgrammar = pytest.importorskip("xgrammar")

MODEL = Path(os.path.expanduser("~/.cache/llmpedia/smollm2-135m-instruct"))
HEADINGS = ["Early life", "Works"]
ODD_NAMES = [
    'The "Old" Man',
    "C:\\new\\dir",
    'Back\\"slash',
    "\\n",
    "O'Neill",
    "Łódź",
    "दिल्ली",
    "القاهرة",
    "🎉",
    "# no comment",
]


@pytest.fixture(scope="module")
def compiler():
    if (MODEL / "tokenizer.json").is_file():
        from transformers import AutoTokenizer

        info = xgrammar.TokenizerInfo.from_huggingface(AutoTokenizer.from_pretrained(MODEL))
    else:
        info = xgrammar.TokenizerInfo([bytes([i]) for i in range(256)] + [b"</s>"], stop_token_ids=[256])
    return xgrammar.GrammarCompiler(info, max_threads=1)


@pytest.fixture(scope="module")
def accepts(compiler):
    def check(text, subject="Ada", headings=tuple(HEADINGS), links=2, words=100):
        matcher = xgrammar.GrammarMatcher(
            compiler.compile_grammar(wikitext_grammar(subject, list(headings), links, words))
        )
        return matcher.accept_string(text) and matcher.is_completed()

    return check


def write(subject="Ada", headings=tuple(HEADINGS), links=2, prose="was known at the time in"):
    paragraph = " and ".join(f"{prose} [[Place {i}]]" for i in range(links)) + " in the end."
    return f"'''{subject}''' {paragraph}" + "".join(
        f"\n\n== {heading} ==\n{paragraph}" for heading in headings
    )


GOOD = write()


def test_well_formed_article_is_accepted(accepts):
    assert accepts(GOOD)


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(GOOD.replace("Works", "Work"), id="heading renamed"),
        pytest.param(GOOD.replace("Works", "works"), id="heading in other case"),
        pytest.param(GOOD.replace("== Works", "=== Works"), id="heading of another level"),
        pytest.param(write(headings=HEADINGS[::-1]), id="headings in another order"),
        pytest.param(write(headings=HEADINGS[:1]), id="heading missing"),
        pytest.param(write(headings=[*HEADINGS, "Legacy"]), id="heading added"),
        pytest.param(write(headings=[HEADINGS[0], *HEADINGS]), id="heading repeated"),
        pytest.param(write(links=1), id="too few links"),
        pytest.param(write(links=0), id="no links"),
        pytest.param(GOOD.replace("[[Place 1]]", "Place 1", 1), id="link missing in the lead"),
        pytest.param(GOOD.replace("[[Place 1]]", "[[place 1]]", 1), id="link to a common noun"),
        pytest.param(GOOD.replace("[[Place 1]]", "[[Place 1", 1), id="link not closed"),
        pytest.param(GOOD.replace("'''Ada'''", "Ada"), id="title not bold"),
        pytest.param(write(subject="Bob"), id="title of another"),
        pytest.param(GOOD[:-1], id="cut off"),
        pytest.param(GOOD + " And", id="text after the end"),
        pytest.param(write(prose="x" * 200), id="prose without an end"),
        pytest.param("I'm sorry, I can't write that.", id="refusal"),
        pytest.param("", id="empty"),
    ],
)
def test_article_of_another_form_is_refused(accepts, bad):
    assert not accepts(bad)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_title_is_matched_to_the_letter(accepts, name):
    assert accepts(write(name), name)
    assert not accepts(write(name[1:]), name)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_heading_is_matched_to_the_letter(accepts, name):
    assert accepts(write(headings=[name, "Works"]), headings=[name, "Works"])
    assert not accepts(write(headings=[name[1:], "Works"]), headings=[name, "Works"])


@pytest.mark.parametrize(
    "name", ["New York (state)", "9th Street", "St. Mary-le-Bow", "Smith, J. (2)", "A.B. Co", "UN2"]
)
def test_titles_of_many_shapes_may_be_linked(accepts, name):
    assert accepts(GOOD.replace("Place 0", name))


@pytest.mark.parametrize("links", [1, 3, 20])
@pytest.mark.parametrize("words", [1, 716])
def test_prose_of_natural_length_fits_at_any_size(accepts, links, words):
    assert accepts(write(links=links, prose="stands at"), links=links, words=words)


def test_accepted_article_is_read_back_as_asked(accepts):
    assert accepts(GOOD)
    article = Article(GOOD)
    assert article.headings == [Heading(2, title) for title in HEADINGS]
    assert [link.target for link in article.links] == ["Place 0", "Place 1"] * 3
    assert article.lead.startswith("Ada was known")
