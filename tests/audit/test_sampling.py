"""Samples are seeded, saved in commit order, and say what they could not draw."""

import asyncio

import pytest

from llmpedia.audit.evidence import Evidence, Outcome
from llmpedia.audit.sampling import AuditableArticle, draw, sample
from llmpedia.audit.settings import SampleSection
from llmpedia.errors import InputError
from tests.support.builders.runs import one_line

ARTICLES = [AuditableArticle(n, f"Subject {n}", min(3, n // 5), n // 4) for n in range(40)]


def drawn(look_up=None, articles=ARTICLES, **settings):
    return asyncio.run(sample(articles, SampleSection(**{"random": 0, **settings}), look_up))


def ids(found):
    return [s.article.subject_id for s in found]


def test_the_same_seed_draws_the_same_and_another_one_does_not():
    assert ids(drawn(random=10)[0]) == ids(drawn(random=10)[0])
    assert ids(drawn(random=10)[0]) != ids(drawn(random=10, seed=7)[0])


def test_a_longer_sample_holds_the_shorter_and_order_of_articles_does_not_matter():
    assert set(ids(drawn(random=5)[0])) < set(ids(drawn(random=20)[0]))
    assert ids(drawn(random=5, articles=ARTICLES[::-1])[0]) == ids(drawn(random=5)[0])


def test_hops_are_taken_whole_up_to_a_hop_and_sampled_after_it():
    found, notes = drawn(hop_whole=1, hop_each=3)
    hops = [s.article.hop for s in found]
    assert [hops.count(h) for h in range(4)] == [5, 5, 3, 3]
    assert notes == []


def test_strata_overlap_and_an_article_is_audited_once():
    found, _ = drawn(random=30, hop_whole=3)
    assert len(set(ids(found))) == len(found) == 40
    assert sum("random" in s.strata for s in found) == 30
    assert all("hop" in s.strata for s in found)


def test_the_sample_is_in_commit_order():
    assert ids(drawn(random=20)[0]) == sorted(ids(drawn(random=20)[0]))


def test_too_few_articles_are_said():
    _, notes = drawn(random=99)
    assert notes == ["sample random: 40 of 99 asked for; the run has no more"]


def test_the_frontier_is_what_wikipedia_is_known_to_lack():
    """A subject that could not be looked up says nothing of Wikipedia."""

    async def look_up(name):
        n = int(name.split()[1])
        outcome = Outcome.MISSING if n % 4 == 0 else Outcome.FETCH_FAILED if n % 4 == 1 else Outcome.FOUND
        return Evidence("wikipedia", name, outcome)

    found, notes = drawn(look_up, frontier=5)
    assert len(found) == 5
    assert all(n % 4 == 0 for n in ids(found))
    assert notes == ["sample frontier: 10 subjects passed over, since they could not be looked up"]


def test_titles_are_matched_by_canonical_key(tmp_path):
    (tmp_path / "titles.txt").write_text("# mine\nsubject-3\nSUBJECT 7\nSubject 99\n")
    found, notes = drawn(titles=str(tmp_path / "titles.txt"))
    assert ids(found) == [3, 7]
    assert notes == ["sample titles: 2 of 3 asked for; the run has no more"]


def test_an_empty_sample_is_refused(tmp_path):
    (tmp_path / "titles.txt").write_text("Elsewhere\n")
    with pytest.raises(InputError) as caught:
        drawn(titles=str(tmp_path / "titles.txt"))
    one_line(caught, "sample is empty")


def test_draws_of_different_strata_differ():
    assert draw(ARTICLES, 42, "random") != draw(ARTICLES, 42, "hop 1")
