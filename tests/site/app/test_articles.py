"""Tests of the routes to read by."""

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("nh3")

from tests.support.builders.site import written_run
from tests.support.site_pages import get, opened


def test_the_only_run_is_the_start_and_of_several_each_is_listed(tmp_path):
    for name in ("one", "two"):
        written_run(tmp_path / name, {"A": "a"})
    _, alone = opened(tmp_path / "one")
    _, both = opened(tmp_path / "one", tmp_path / "two")
    first_article = "/r/one/a/0-seed"
    assert first_article in get(alone, "/").hrefs and first_article not in get(both, "/").hrefs
    assert {"/r/one/", "/r/two/"} <= set(get(both, "/").hrefs)


def test_chance_leads_to_an_article(tmp_path):
    written_run(tmp_path / "run", {"A": "a"})
    _, client = opened(tmp_path / "run")
    answer = client.get("/r/run/random")
    assert answer.status_code == 307 and answer.headers["location"] in ("/r/run/a/0-seed", "/r/run/a/1-a")


def test_suggestions_are_of_what_was_typed_and_nothing_typed_has_none(tmp_path):
    written_run(tmp_path / "run", {"Apple": "a", "Book": "b"})
    _, client = opened(tmp_path / "run")
    assert "Apple" in client.get("/r/run/search.json?q=app").text
    assert "Book" not in client.get("/r/run/search.json?q=app").text
    assert "Apple" not in client.get("/r/run/search.json?q=+").text
