"""llmpedia/materialize/subject.py: the candidates of an article, one a key, with the score that decides."""

import time

import pytest

from llmpedia.config import parse_config
from llmpedia.materialize.subject import candidates_of
from llmpedia.tables import Fate
from llmpedia.wikitext import Article


def article(*links):
    return f"'''Japan''' met {', '.join(f'[[{x}]]' for x in links)}.\n\n== Life ==\nLong.\n\n== Works ==\nMany."


def candidates(text, prompting="baseline"):
    return candidates_of(Article(text), "Japan", parse_config({"run": {"prompting": prompting}}, "test"))


@pytest.mark.parametrize(
    ("prompting", "links", "score", "fate"),
    [
        ("baseline", "[[X (0.74)]]", 0.74, None),
        ("calibrated", "[[X (0.74)]]", 0.74, Fate.LOW_LINK_SCORE),
        ("calibrated", "[[X (0.75)]]", 0.75, None),
        ("calibrated", "[[X]]", None, None),
        ("calibrated", "[[X (0.5)]] [[x (0.9)]] [[X]] [[X (0.6)]]", 0.9, None),
        ("calibrated", "[[X]] (0,7)", 0.7, Fate.LOW_LINK_SCORE),
        ("calibrated", "[[Japan (0.1)]]", 0.1, Fate.SELF_OR_LOOP),
    ],
)
def test_candidate_has_its_highest_score_which_decides_when_calibrated(prompting, links, score, fate):
    assert [(row["score"], row["fate"]) for row in candidates(links, prompting)] == [(score, fate)]


def test_one_candidate_a_key_with_first_surface_mentions_and_sentence():
    rows = candidates("See [[Covid 19]] now. Then [[U.S.]] and [[COVID-19|it]]. Last [[us]], [[Covid_19#Spread]].")
    found = [(r["position"], r["key"], r["name"], r["mentions"], r["sentence"]) for r in rows]
    assert found == [(0, "covid19", "Covid 19", 3, "See Covid 19 now."), (1, "us", "U.S.", 2, "Then U.S. and it.")]


def test_names_in_all_scripts_and_signs_are_candidates_of_their_own():
    names = ["القاهرة", "กิน", "กัน", "กน", "दिल्ली", "कमल", "कमला", "🎉", "AC/DC", "C++", "C#", "C", "!!!"]
    assert [row["name"] for row in candidates(article(*names))] == names


def test_ten_thousand_links_become_candidates_in_under_two_seconds():
    start = time.process_time()  # not the time that other processes take from it
    assert len(candidates(article(*(f"Entity {i}" for i in range(10_000))))) == 10_000
    assert time.process_time() - start < 2.0
