"""Tier 1 against a real MediaWiki on loopback, and through the faults of the edge in front of
Wikipedia's.
"""

import asyncio

import pytest

from llmpedia.audit.evidence import Outcome
from llmpedia.audit.settings import WikipediaSection
from llmpedia.audit.wikipedia.mediawiki import MediaWiki
from llmpedia.errors import EngineError, TransientError
from tests.support.wiki.mediawiki import Wiki

pytestmark = pytest.mark.real

AGENT = "llmpedia-test/1 (test@example.org)"
SETTINGS = WikipediaSection(contact="a@example.org", timeout_s=20, batch=50)
OUTCOMES = {
    "Vannevar Bush": Outcome.FOUND,
    "vannevar_Bush": Outcome.FOUND,
    "iPhone": Outcome.FOUND,
    "Sa\u0303o Tome\u0301": Outcome.FOUND,
    "東京": Outcome.FOUND,
    "C++": Outcome.FOUND,
    "AT&T": Outcome.FOUND,
    "AC/DC": Outcome.FOUND,
    "50% (album)": Outcome.FOUND,
    "2001": Outcome.FOUND,
    "2001: A Space Odyssey": Outcome.FOUND,
    "Star Trek: The Next Generation": Outcome.FOUND,
    "V. Bush": Outcome.REDIRECTED,
    "VB": Outcome.REDIRECTED,
    "To section": Outcome.REDIRECTED,
    "Mercury": Outcome.DISAMBIGUATION,
    "To meanings": Outcome.DISAMBIGUATION,
    "Nobody at all": Outcome.MISSING,
    "To missing": Outcome.MISSING,
    "Empty page": Outcome.MISSING,
    "Only a category": Outcome.MISSING,
    "Loop A": Outcome.INVALID,
    "Loop of one": Outcome.INVALID,
    "To interwiki": Outcome.INVALID,
    "To special": Outcome.INVALID,
    "To project": Outcome.INVALID,
    "C#": Outcome.INVALID,
    "A|B": Outcome.INVALID,
    "Bad [title]": Outcome.INVALID,
    "x" * 256: Outcome.INVALID,
    "de:Foo": Outcome.INVALID,
    "Talk:Foo": Outcome.INVALID,
    "WP:Rules": Outcome.INVALID,
    "Special:Version": Outcome.INVALID,
}


@pytest.fixture(scope="module")
def wiki(tmp_path_factory):
    wiki = Wiki(tmp_path_factory.mktemp("wiki"))
    yield wiki
    wiki.close()


def ask(url, *subjects, settings=SETTINGS):
    """The evidence, or the exception, for each subject; all asked for at once."""

    async def run():
        provider = MediaWiki(url, AGENT, settings)
        try:
            return await asyncio.gather(*map(provider.find, subjects), return_exceptions=True)
        finally:
            await provider.close()

    return asyncio.run(run())


@pytest.fixture(scope="module")
def evidence(wiki):
    return dict(zip(OUTCOMES, ask(wiki.url, *OUTCOMES), strict=True))


@pytest.mark.parametrize("subject", OUTCOMES)
def test_outcome(evidence, subject):
    assert evidence[subject].outcome == OUTCOMES[subject], evidence[subject]


def test_a_subject_asked_for_alone_comes_to_the_same(wiki, evidence):
    alone = {
        subject: ask(wiki.url, subject)[0]
        for subject in ("VB", "Loop A", "To interwiki", "Mercury", "Nobody at all")
    }
    for subject, one in alone.items():
        assert (one.outcome, one.detail) == (evidence[subject].outcome, evidence[subject].detail)


def test_a_double_redirect_ends_at_the_article_with_its_revision_and_address(wiki, evidence):
    [source] = evidence["VB"].sources
    assert (source.title, source.revision, source.url) == (
        "Vannevar Bush",
        "2",
        f"{wiki.base}/index.php/Vannevar_Bush",
    )


def test_a_redirect_to_a_section_names_it(evidence):
    assert "section 'Memex'" in evidence["To section"].detail


def test_what_has_no_usable_article_has_no_text(evidence):
    used = {Outcome.FOUND, Outcome.REDIRECTED}
    assert all(bool(e.sources) == (e.outcome in used) for e in evidence.values())


def test_a_fact_that_stands_in_the_infobox_alone_is_evidence(evidence):
    """The wiki's own extracts drop infoboxes: such facts would all be unverifiable."""
    text = evidence["Vannevar Bush"].sources[0].text
    assert {
        "birth date: 1890-03-11",
        "thesis year: 1916",
        "1939 | President of the Carnegie Institution",
    } <= set(text.splitlines())


def test_references_are_no_evidence(evidence):
    assert "example.org" not in evidence["Vannevar Bush"].sources[0].text


def test_more_subjects_than_a_request_takes_are_all_answered(wiki):
    subjects = [f"No article {i}" for i in range(59)] + ["V. Bush"]
    found = ask(wiki.url, *subjects)
    assert [e.outcome for e in found] == [Outcome.MISSING] * 59 + [Outcome.REDIRECTED]


def test_a_batch_that_the_wiki_finds_too_large_is_halved(wiki):
    found = ask(
        wiki.url,
        *(f"No article {i}" for i in range(60)),
        settings=SETTINGS.model_copy(update={"batch": 60}),
    )
    assert {e.outcome for e in found} == {Outcome.MISSING}


@pytest.mark.parametrize(
    ("fault", "wait_s", "limited"), [("429", 7, True), ("503", None, False), ("lag", 5, False)]
)
def test_an_overload_is_worth_another_try_after_the_wait_asked_for(wiki, fault, wait_s, limited):
    [error] = ask(wiki.fault(fault), "Vannevar Bush")
    assert (type(error), error.wait_s, error.rate_limited) == (TransientError, wait_s, limited)


@pytest.mark.parametrize("fault", ["cut", "html"])
def test_what_is_no_json_says_nothing_of_a_subject(wiki, fault):
    [error] = ask(wiki.fault(fault), "Nobody at all")
    assert isinstance(error, TransientError)


def test_a_refused_user_agent_ends_the_tier_with_the_way_out(wiki):
    [error] = ask(wiki.fault("403"), "Vannevar Bush")
    assert isinstance(error, EngineError)
    assert "set wikipedia.contact" in str(error)


def test_check_tells_whether_a_wiki_answers(wiki):
    asyncio.run(MediaWiki(wiki.url, AGENT, SETTINGS).check())
    with pytest.raises(EngineError, match="api_url"):
        asyncio.run(MediaWiki(f"{wiki.base}/nothing", AGENT, SETTINGS).check())
