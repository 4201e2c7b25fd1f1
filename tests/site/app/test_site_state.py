"""Tests of the runs that a site serves."""

import pytest

pytest.importorskip("fastapi")

from fastapi import HTTPException

from llmpedia.site.app.site_state import Shelf
from llmpedia.site.data.run_reader import open_runs
from llmpedia.site.urls import LiveAddresses
from tests.support.builders.site import written_run


@pytest.fixture
def site(tmp_path):
    for name in ("one", "two"):
        written_run(tmp_path / name, {"A": "a"})
    runs = open_runs([str(tmp_path / name) for name in ("one", "two")])
    return Shelf({run.name: run for run in runs}, {}, LiveAddresses(()))


@pytest.mark.parametrize("slug", ["99-a", "a", "-1", ""])
def test_what_is_not_there_is_not_found(site, slug):
    with pytest.raises(HTTPException) as of_run:
        site.run("three")
    with pytest.raises(HTTPException) as of_entity:
        site.entity(site.run("one"), slug)
    assert of_run.value.status_code == of_entity.value.status_code == 404


def test_an_entity_is_found_by_its_number_whatever_name_follows(site):
    assert site.entity(site.run("one"), "1-other").name == "A"


def test_the_others_are_all_runs_but_one(site):
    assert site.others(site.run("one")) == [site.run("two")]
