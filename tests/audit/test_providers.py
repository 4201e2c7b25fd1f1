"""Evidence behind the engines' interface: a cache that keeps answers and no failures, and probes
that it never answers.
"""

import asyncio
import sqlite3

import pytest

from llmpedia.audit.evidence import Attempt, Evidence, Outcome
from llmpedia.audit.providers import CachedProvider, EvidenceEngine, make_provider, names_of
from llmpedia.errors import ConfigError, InputError, TransientError
from tests.support.builders.audit import Pages, audit_config
from tests.support.builders.runs import make_request, one_line


def twice(folder, pages, subject="Ada", days=30.0):
    """Subjects that the inner provider was asked for by two processes' caches in turn, and the
    second answer.
    """
    inner = Pages("wikipedia", pages)

    async def run():
        for _ in range(2):
            cached = CachedProvider(inner, folder / "wikipedia.sqlite", days)
            found = await cached.find(subject)
            await cached.close()
        return found

    return asyncio.run(run()), inner.asked


def test_what_was_found_or_is_known_to_be_missing_is_not_fetched_again(tmp_path):
    found, asked = twice(tmp_path, {"Ada": "Ada was born."})
    assert (found.sources[0].text, asked) == ("Ada was born.", ["Ada"])
    assert twice(tmp_path, {}, "Bo")[1] == ["Bo"]


def test_a_failure_is_never_kept(tmp_path):
    inner = Pages("wikipedia", {"Ada": TransientError("HTTP 503")})
    cached = CachedProvider(inner, tmp_path / "c.sqlite", 30.0)
    with pytest.raises(TransientError):
        asyncio.run(cached.find("Ada"))
    inner.pages["Ada"] = "Ada."
    assert asyncio.run(cached.find("Ada")).outcome == Outcome.FOUND


def test_evidence_that_rests_on_a_page_that_failed_in_passing_is_not_kept(tmp_path):
    attempt = (Attempt("https://x.org", "snippet used, failed: HTTP 503", passing=True),)
    page = Evidence("web", "Ada", Outcome.SNIPPETS, attempts=attempt)
    assert twice(tmp_path, {"Ada": page})[1] == ["Ada", "Ada"]


def test_the_words_of_an_attempt_decide_nothing(tmp_path):
    """An address may hold the word that says a failure: it is a failure's kind that counts."""
    attempt = (Attempt("https://x.org/failed: 1", "used: https://x.org/failed: 2"),)
    page = Evidence("web", "Ada", Outcome.PAGES, attempts=attempt)
    assert twice(tmp_path, {"Ada": page})[1] == ["Ada"]


def test_stored_evidence_is_what_it_was_before_failures_had_a_kind():
    attempt = Attempt("https://x.org", "failed: HTTP 503", passing=True)
    evidence = Evidence("web", "Ada", Outcome.NOTHING, attempts=(attempt,))
    assert '"attempts": [{"url": "https://x.org", "result": "failed: HTTP 503"}]' in evidence.dumps()
    assert Evidence.loads(evidence.dumps()) == evidence


def test_old_entries_are_fetched_anew(tmp_path):
    assert twice(tmp_path, {"Ada": "Ada."}, days=1e-9)[1] == ["Ada", "Ada"]


def test_a_check_of_health_is_never_answered_from_the_cache(tmp_path):
    """Else a service that is down looks alive, and every subject ends as fetch_failed for good."""
    inner = Pages("wikipedia", {"Earth": "Earth."})
    engine = EvidenceEngine(CachedProvider(inner, tmp_path / "c.sqlite", 30.0))

    async def run():
        await engine.generate(make_request("Earth", stage="evidence_wikipedia"))
        inner.pages["Earth"] = TransientError("down")
        with pytest.raises(TransientError):
            await engine.check_health()

    asyncio.run(run())


def test_half_a_character_does_not_stop_the_wave():
    page = Evidence("web", "Ada", Outcome.NOTHING, detail="cut \ud83d here")
    assert Evidence.loads(page.dumps()).detail == "cut ? here"


def test_a_damaged_cache_is_named(tmp_path):
    (tmp_path / "c.sqlite").write_text("no database " * 200)
    cached = CachedProvider(Pages("wikipedia", {"Ada": "Ada."}), tmp_path / "c.sqlite", 30.0)
    with pytest.raises(InputError) as caught:
        asyncio.run(cached.find("Ada"))
    one_line(caught, "cache.path", "c.sqlite")
    assert isinstance(caught.value.__cause__, sqlite3.Error)


def test_what_another_version_made_of_a_page_is_not_taken(tmp_path, monkeypatch):
    assert twice(tmp_path, {"Ada": "Ada."})[1] == ["Ada"]
    monkeypatch.setattr("llmpedia.audit.providers.__version__", "99")
    assert twice(tmp_path, {"Ada": "Ada."})[1] == ["Ada"]


def test_a_missing_key_is_told_before_any_work(monkeypatch):
    monkeypatch.delenv("VALYU_API_KEY", raising=False)
    with pytest.raises(ConfigError):
        names_of(audit_config(audit={"tiers": ["web"]}, web={"backend": "valyu"}))


def test_providers_that_answer_differently_have_different_names():
    def name(**web):
        return make_provider(
            "web", audit_config(web={"backend": "searxng", "base_url": "http://s.test", **web})
        ).name

    names = {
        name(),
        name(results=50),
        name(threshold=70),
        name(pages=1),
        name(paper_exact=True),
        name(max_bytes=50_000),
    }
    assert len(names) == 6
