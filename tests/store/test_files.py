"""llmpedia/store/files.py: atomic writes, and one line when the disk says no."""

import os

import pytest

from llmpedia.errors import InputError
from llmpedia.store.files import Folder
from tests.support.builders.runs import one_line, small_disk


@pytest.fixture(params=["path", "file URI"])
def folder(request, tmp_path):
    return Folder(f"file://{tmp_path}/run" if request.param == "file URI" else tmp_path / "run")


def test_what_was_written_is_read(folder):
    folder.write("a/b/c.bin", b"\x00\xff")
    assert folder.read("a/b/c.bin") == b"\x00\xff"


def test_a_write_replaces_the_whole_file(folder):
    folder.write("a", b"long content")
    folder.write("a", b"short")
    assert folder.read("a") == b"short"


def test_a_list_is_relative_sorted_and_without_temporary_files(folder):
    for name in ("b/2", "b/1", "a", "b/c/3"):
        folder.write(name, b"")
    folder.write("b/.tmp-left-by-a-crash", b"half")
    assert (folder.list("b"), folder.list("", recursive=True)) == (
        ["b/1", "b/2"],
        ["a", "b/1", "b/2", "b/c/3"],
    )


def test_a_list_of_no_folder_is_empty(folder):
    assert folder.list("none") == []


@pytest.mark.parametrize("name", ["x/file", "x"])
def test_remove_takes_a_file_or_a_whole_folder(folder, name):
    folder.write("x/file", b"")
    folder.remove(name)
    assert not folder.exists(name)


def test_removing_nothing_is_fine(folder):
    folder.remove("none")


def test_create_never_replaces(folder):
    assert folder.create("lease.json", b"first")
    assert not folder.create("lease.json", b"second")
    assert folder.read("lease.json") == b"first"


def test_size_tells_a_file_from_nothing_and_from_a_folder(folder):
    folder.write("x/file", b"12345")
    assert [folder.size(n) for n in ("x/file", "x", "none")] == [5, None, None]


def test_a_missing_file_is_told_apart_from_an_unreadable_one(folder):
    with pytest.raises(FileNotFoundError):
        folder.read("none")


def test_an_unreadable_file_is_named(folder):
    folder.write("x/file", b"")
    with pytest.raises(InputError) as caught:
        folder.read("x")
    one_line(caught, folder.path("x"), "cannot be read")


def test_an_unknown_filesystem_is_named():
    with pytest.raises(InputError) as caught:
        Folder("nosuch://bucket/run")
    one_line(caught, "nosuch://bucket/run", "s3:// or gs://")


def test_a_relative_path_stays_where_it_was_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = Folder("run")
    monkeypatch.chdir("/")
    folder.write("a", b"")
    assert (tmp_path / "run" / "a").exists()


@pytest.mark.parametrize("operation", ["write", "create"])
def test_a_file_where_the_folder_should_be_is_named(tmp_path, operation):
    (tmp_path / "run").write_text("a file")
    with pytest.raises(InputError) as caught:
        assert getattr(Folder(tmp_path / "run"), operation)("lease.json", b"x")
    one_line(caught, tmp_path / "run" / "lease.json")


@pytest.mark.parametrize("operation", ["write", "create"])
def test_a_full_disk_is_one_line_that_says_what_to_do(tmp_path, operation):
    with small_disk(tmp_path / "disk") as disk:
        folder = Folder(disk.folder)
        disk.fill()
        with pytest.raises(InputError) as caught:
            getattr(folder, operation)("new", b"x" * 9000)
        disk.free()
        one_line(caught, folder.path("new"), "cannot be written", disk.hint)


@pytest.mark.parametrize("operation", ["write", "create"])
def test_a_write_that_failed_leaves_nothing_behind(tmp_path, operation):
    with small_disk(tmp_path / "disk") as disk:
        folder = Folder(disk.folder)
        disk.fill()
        with pytest.raises(InputError):
            getattr(folder, operation)("new", b"x" * 9000)
        disk.free()
        assert set(os.listdir(disk.folder)) - {"filler"} == set()


def test_a_write_that_failed_leaves_the_old_content(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        folder = Folder(disk.folder)
        folder.write("a", b"old")
        disk.fill()
        with pytest.raises(InputError):
            folder.write("a", b"x" * 9000)
        disk.free()
        assert folder.read("a") == b"old"


@pytest.mark.parametrize("operation", ["write", "create", "remove"])
def test_a_read_only_folder_is_one_line_that_says_what_to_do(tmp_path, operation):
    with small_disk(tmp_path / "disk") as disk:
        folder = Folder(disk.folder)
        folder.write("old", b"x")
        disk.read_only(True)
        name, content = ("old", ()) if operation == "remove" else ("new", (b"x",))
        with pytest.raises(InputError) as caught:
            getattr(folder, operation)(name, *content)
        one_line(caught, folder.path(name), "choose a folder that can be written")
