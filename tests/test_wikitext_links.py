"""What one link of a model's Wikitext says: target, label, score; or that it names no article."""

import pytest

from llmpedia.wikitext import Article


@pytest.mark.parametrize(
    ("text", "target", "label", "score"),
    [
        ("[[X]]", "X", "X", None),
        ("[[X|Y]]", "X", "Y", None),
        ("[[X|]]", "X", "X", None),
        ("[[X_Y|''z'']]", "X Y", "z", None),
        ("[[AT&amp;T]]", "AT&T", "AT&T", None),
        ("[[Foo#Bar|baz]]", "Foo", "baz", None),
        ("[[C#]]", "C#", "C#", None),
        ("[[2001: A Space Odyssey]]", "2001: A Space Odyssey", "2001: A Space Odyssey", None),
        ("[[It: Chapter Two]]", "It: Chapter Two", "It: Chapter Two", None),
        ("[[it: a novel]]", "it: a novel", "it: a novel", None),
        ("[[Apollo (1)]]", "Apollo (1)", "Apollo (1)", None),
        ("[[1984 (novel)]]", "1984 (novel)", "1984 (novel)", None),
        ("[[Blade Runner (1982)]]", "Blade Runner (1982)", "Blade Runner (1982)", None),
        ("[[X (1.5)]]", "X (1.5)", "X (1.5)", None),
        ("[[X (1,05)]]", "X (1,05)", "X (1,05)", None),
        ("[[X (2.0)]]", "X (2.0)", "X (2.0)", None),
        ("[[X (150%)]]", "X (150%)", "X (150%)", None),
        ("[[X (101%)]]", "X (101%)", "X (101%)", None),
        ("[[Project: Hail Mary]]", "Project: Hail Mary", "Project: Hail Mary", None),
        ("[[Book: X]]", "Book: X", "Book: X", None),
        ("[[User: a novel]]", "User: a novel", "User: a novel", None),
        ("[[:Foo]]", "Foo", "Foo", None),
        ("[[ : Foo|bar]]", "Foo", "bar", None),
        ("[[:Project: Hail Mary]]", "Project: Hail Mary", "Project: Hail Mary", None),
        ("[[[X]]]", "X", "X", None),
        ("[[[X|Y (0.9)]]]", "X", "Y", 0.9),
        ("[[X (.85)]]", "X", "X", 0.85),
        ("[[X (0,85)]]", "X", "X", 0.85),
        ("[[X (0.85)]]", "X", "X", 0.85),
        ("[[X (85%)]]", "X", "X", 0.85),
        ("[[X (1.0)]]", "X", "X", 1.0),
        ("[[X (100%)]]", "X", "X", 1.0),
        ("[[X (0%)]]", "X", "X", 0.0),
        ("[[X|Y (0.9)]]", "X", "Y", 0.9),
        ("[[X (0.6)|Y (0.9)]]", "X", "Y", 0.6),
        ("[[X]] (0.8)", "X", "X", 0.8),
        ("[[X (0.6)]] (0.8)", "X", "X", 0.6),
        ("[[X]] (85%)", "X", "X", 0.85),
        ("[[X]] ( 85 % )", "X", "X", 0.85),
        ("[[X]] (150%)", "X", "X", None),
        ("[[X]] (1.5)", "X", "X", None),
        ("[[1984]] (1949)", "1984", "1984", None),
        ("[[X (film) (0.9)]]", "X (film)", "X (film)", 0.9),
    ],
)
def test_link_gives_target_label_and_score(text, target, label, score):
    (link,) = Article(text).links
    assert (link.target, link.label, link.score) == (target, label, score)


@pytest.mark.parametrize(
    "name", ["القاهرة", "תל אביב", "กรุงเทพ", "दिल्ली", "🎉", "👨‍👩‍👧 (0.9)", "Łódź", "C++", "!!!"]
)
def test_name_in_any_script_is_a_target(name):
    (link,) = Article(f"a [[{name}]] b").links
    assert link.target == name.removesuffix(" (0.9)")


@pytest.mark.parametrize(
    "text",
    "[[#Bar]] [[de:Foo]] [[:de:Foo]] [[:Category:X]] [[Category:X]] [[category:X]] [[File:a.jpg]] "
    "[[:File:a.jpg]] "
    "[[wikt:x]] [[Template:X]] [[Talk:X]] [[User_talk:X]] [[Project:X]] [[:Project:X]] [[book:X]] "
    "[[Media:X]] [[:]] [[]] "
    "[[|x]] [[&nbsp;]] [[a<b]] [[a{b]]".split(),
)
def test_link_that_names_no_article_is_only_counted(text):
    article = Article(f"before {text} after")
    assert (article.links, article.other_links) == ([], 1)


def test_target_over_255_bytes_names_no_article():
    article = Article(f"[[{'é' * 127}]] [[{'é' * 128}]]")
    assert ([len(link.target) for link in article.links], article.other_links) == ([127], 1)
