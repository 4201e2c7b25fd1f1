"""llmpedia/store/journal.py: what is torn is named, what is whole comes back as it was."""

import time
from pathlib import Path

import pytest

from llmpedia.errors import InputError
from llmpedia.stages import Completion
from llmpedia.store.files import Folder
from llmpedia.store.journal import (
    JournalWriter,
    as_completion,
    completion_record,
    read_piece,
    read_wave,
    wave_folder,
    waves_with_pieces,
)
from tests.support.builders.runs import make_request, one_line, small_disk


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "run")


def record(text="q", answer="a"):
    return completion_record(make_request(text), Completion(answer, "stop", 3, 5))


def piece(folder, records):
    """The name and content of a piece that holds the records."""
    JournalWriter(folder, 7, "w").append(records)
    (name,) = folder.list(wave_folder(7))
    return name, folder.read(name)


def refused(folder, name, damaged: bytes) -> str | None:
    """The complaint about a damaged piece; None if there is none."""
    Path(folder.path(name)).write_bytes(damaged)
    try:
        read_piece(folder, name)
    except InputError as e:
        return str(e)
    return None


def test_a_completion_comes_back_as_it_was(folder):
    answer = Completion("two\nlines\r\n\u2028and\x85 \x1c “all” \x00 of it", "length", 3, None, "why")
    request = make_request("q")
    JournalWriter(folder, 0, "w").append([completion_record(request, answer)])
    assert as_completion(read_wave(folder, 0)[request.key]) == answer


def test_a_piece_cut_anywhere_is_named(folder):
    name, whole = piece(folder, [record("q1"), record("q2")])
    complaints = [refused(folder, name, whole[:n]) for n in range(len(whole) - 1)]
    assert all(c and folder.path(name) in c and "\n" not in c for c in complaints)


def test_a_piece_with_any_byte_altered_is_named(folder):
    name, whole = piece(folder, [record("q1"), record("q2")])
    flipped = [
        whole[:n] + bytes([whole[n] ^ bit]) + whole[n + 1 :] for n in range(len(whole)) for bit in (1, 8, 128)
    ]
    complaints = [refused(folder, name, damaged) for damaged in flipped]
    assert all(c and folder.path(name) in c and "\n" not in c for c in complaints)


def test_a_piece_without_its_trailer_is_named(folder):
    name, whole = piece(folder, [record("q1"), record("q2")])
    folder.write(name, b"\n".join(whole.splitlines()[:-1]) + b"\n")
    with pytest.raises(InputError) as caught:
        read_wave(folder, 7)
    one_line(caught, folder.path(name), "torn", "restore it, or delete it")


def test_a_piece_that_lost_a_record_is_named(folder):
    name, whole = piece(folder, [record("q1"), record("q2")])
    folder.write(name, b"\n".join(whole.splitlines()[1:]) + b"\n")
    with pytest.raises(InputError) as caught:
        read_wave(folder, 7)
    one_line(caught, folder.path(name))


def test_of_two_records_with_one_key_the_earlier_wins(folder):
    JournalWriter(folder, 0, "zz").append([record("q", "first")])
    JournalWriter(folder, 0, "aa").append([record("q", "second")])
    assert [as_completion(r).text for r in read_wave(folder, 0).values()] == ["first"]


def test_within_a_piece_the_earlier_record_wins(folder):
    JournalWriter(folder, 0, "w").append([record("q", "first"), record("q", "second")])
    assert [as_completion(r).text for r in read_wave(folder, 0).values()] == ["first"]


def test_a_clock_set_back_does_not_turn_the_order(folder, monkeypatch):
    times = iter([2_000, 1_000, 2_000])
    monkeypatch.setattr(time, "time_ns", lambda: next(times))
    writer = JournalWriter(folder, 0, "w")
    for answer in ("first", "second", "third"):
        writer.append([record("q", answer)])
    assert [read_piece(folder, n)[0]["completion"]["text"] for n in folder.list(wave_folder(0))] == [
        "first",
        "second",
        "third",
    ]


def test_waves_are_kept_apart(folder):
    for wave in (12, 3):
        JournalWriter(folder, wave, "w").append([record(f"q{wave}")])
    assert waves_with_pieces(folder) == [3, 12]
    assert list(read_wave(folder, 3)) == [make_request("q3").key]


def test_no_journal_holds_nothing(folder):
    assert (read_wave(folder, 0), waves_with_pieces(folder)) == ({}, [])


def test_a_full_disk_is_one_line_and_tears_no_piece(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        folder = Folder(disk.folder)
        writer = JournalWriter(folder, 0, "w")
        writer.append([record("q1")])
        disk.fill()
        with pytest.raises(InputError) as caught:
            writer.append([record("q2", "long " * 2000)])
        disk.free()
        one_line(caught, "cannot be written", disk.hint)
        assert list(read_wave(folder, 0)) == [make_request("q1").key]
