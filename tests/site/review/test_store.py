"""Tests of where sheets lie and of a sheet as its pages show it."""

from pathlib import Path

from llmpedia.site.review.sheet import SheetItem, State
from llmpedia.site.review.store import Desk, Opened


def item(place: int, answer: str = "", reviewer: str = "") -> SheetItem:
    return SheetItem(place, f"id{place}", {"comment": "", "reviewer": reviewer}, "", State(answer))


def test_the_next_open_item_is_looked_for_from_the_beginning_after_the_last():
    opened = Opened(None, "/sheet", [item(1), item(2, "yes"), item(3, "no")])
    assert opened.decided == 2 and opened.open_after(1) is opened.items[0]
    assert opened.at(3) is opened.items[2] and opened.at(0) is None and opened.at(4) is None
    assert opened.href(opened.items[1]) == "/sheet/2" and opened.href(None) == "/sheet"


def test_the_reviewer_is_that_of_the_last_row_before():
    items = [item(1, "yes", "Ann"), item(2, "yes", "Bob"), item(3)]
    opened = Opened(None, "/sheet", items)
    assert opened.reviewer(items[2]) == "Bob" and opened.reviewer(items[1]) == "Ann"


def test_a_store_without_a_folder_has_no_files_and_each_has_its_own_token(tmp_path: Path):
    store = Desk.make(tmp_path / "sheets", {})
    assert store.names() == [] and store.token != Desk.make(tmp_path / "sheets", {}).token
    store.folder.mkdir()
    (store.folder / "b.csv").touch()
    (store.folder / "a.csv").touch()
    assert store.names() == ["a.csv", "b.csv"]
