"""Tests of output that gets its name once it is whole."""

from pathlib import Path

import pytest

from llmpedia.errors import InputError
from llmpedia.site.export.atomic_output import new_file, new_folder
from tests.support.builders.runs import one_line


def write_to(out: Path):
    with new_folder(out) as made:
        (made / "a").write_text("new")


def test_a_part_that_was_left_is_emptied_and_taken_over(tmp_path):
    (tmp_path / "out.part" / "old").mkdir(parents=True)
    write_to(tmp_path / "out")
    assert [p.name for p in tmp_path.rglob("*")] == ["out", "a"]
    (tmp_path / "file.part").write_bytes(b"longer than new")
    with new_file(tmp_path / "file") as file:
        file.write(b"new")
    assert (tmp_path / "file").read_bytes() == b"new" and not (tmp_path / "file.part").exists()


@pytest.mark.parametrize("new", [new_folder, new_file])
def test_of_two_that_write_the_same_the_second_is_refused_and_the_first_is_whole(tmp_path, new):
    with new(tmp_path / "out"):
        with pytest.raises(InputError) as caught, new(tmp_path / "out"):
            pass
        one_line(caught, "--out", "another command is writing it")
        assert not (tmp_path / "out").exists()
    assert (tmp_path / "out").exists()


def test_what_fails_has_no_name(tmp_path):
    with pytest.raises(ZeroDivisionError), new_folder(tmp_path / "out"):
        _ = 1 / 0
    assert not (tmp_path / "out").exists()


def test_what_a_link_leads_to_is_not_emptied(tmp_path):
    (tmp_path / "dear").mkdir()
    (tmp_path / "dear/a").write_text("a")
    (tmp_path / "out.part").symlink_to(tmp_path / "dear")
    with pytest.raises(OSError):
        write_to(tmp_path / "out")
    assert (tmp_path / "dear/a").exists()
