"""Tests of the routes to look by."""

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("nh3")

from tests.support.builders.site import written_run
from tests.support.site_pages import get, opened


def test_a_comparison_without_a_partner_leads_to_one_that_has_the_subject(tmp_path):
    for name, texts in (("one", {"A": "a"}), ("lacking", {"B": "b"}), ("two", {"A": "c"})):
        written_run(tmp_path / name, texts)
    _, client = opened(*(tmp_path / name for name in ("one", "lacking", "two")))
    answer = client.get("/compare/one/1-a")
    assert answer.status_code == 307 and answer.headers["location"] == "/compare/one/1-a?with=two"
    assert "itself" in get(client, "/compare/one/1-a?with=one", 404).text


def test_one_run_alone_has_nothing_to_be_compared_with(tmp_path):
    written_run(tmp_path / "one", {"A": "a"})
    _, client = opened(tmp_path / "one")
    assert "Only one encyclopedia" in get(client, "/compare/one/1-a", 404).text


def test_a_neighbourhood_shows_who_named_a_subject(tmp_path):
    written_run(tmp_path / "one", {"A": "a"})
    _, client = opened(tmp_path / "one")
    assert "Seed" in get(client, "/r/one/a/1-a/graph").text
