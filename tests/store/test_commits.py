"""llmpedia/store/run_folder.py, commits: all of a wave or nothing, whatever cuts one short, and one
writer at a time.
"""

import pytest

from llmpedia.errors import InputError
from llmpedia.store.files import Folder
from llmpedia.store.journal import wave_folder, waves_with_pieces
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import RunFolder, manifest_name
from llmpedia.store.verify import verify
from llmpedia.tables import TABLES
from tests.support.builders.runs import Child, Corpus, Visit, one_line, small_disk, three_waves


def opened(path) -> RunFolder:
    return RunFolder.open(str(path))


def snapshot(folder) -> dict[str, bytes]:
    """Every file of a run but the filler of a small disk."""
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in folder.rglob("*")
        if p.is_file() and p.name != "filler"
    }


def test_a_commit_clears_the_journal_of_its_wave_only(tmp_path):
    corpus = Corpus(tmp_path / "run").seed("Root")
    for wave in (1, 2):
        corpus.journal(wave)
    corpus.walk(Visit("Root"))
    assert waves_with_pieces(corpus.run.folder) == [2]


@pytest.fixture
def cut_short(tmp_path):
    """A run whose third commit ended between tables and manifest; the corpus, and its content when
    whole.
    """
    corpus = three_waves(tmp_path / "run")
    whole = corpus.run.fingerprint()
    (tmp_path / "run" / manifest_name(2)).unlink()
    corpus.journal(2)
    return corpus, whole


def test_tables_without_manifest_are_a_commit_cut_short_only_while_their_journal_is_there(
    cut_short, tmp_path
):
    """The journal goes after the manifest is written: without both, the manifest was lost, and the
    wave is not written again.
    """
    (tmp_path / "run").joinpath(wave_folder(2)).rename(tmp_path / "away")
    before = snapshot(tmp_path / "run")
    with pytest.raises(InputError) as caught:
        opened(tmp_path / "run")
    one_line(
        caught,
        tmp_path / "run" / manifest_name(2),
        "manifest missing, though its wave's tables are there",
        "restore it",
    )
    assert snapshot(tmp_path / "run") == before


def test_a_commit_cut_short_leaves_the_old_state_visible(cut_short, tmp_path):
    run = opened(tmp_path / "run")
    assert (run.last_wave, run.read("entities")["name"].to_pylist()) == (1, ["Root", "Left", "Right"])


def test_the_next_commit_overwrites_one_cut_short(cut_short, tmp_path):
    corpus, whole = cut_short
    run = opened(tmp_path / "run")
    tables = {name: corpus.run.read(name, [2]).drop_columns("wave") for name in TABLES}
    with Lease(run.folder) as lease:
        run.commit(lease, tables, corpus.run.manifests[2].facts)
    assert (opened(tmp_path / "run").fingerprint(), run.uncommitted(), verify(run).findings) == (
        whole,
        [],
        [],
    )


def test_cleaning_removes_what_is_uncommitted_and_nothing_else(cut_short, tmp_path):
    run = opened(tmp_path / "run")
    before = run.fingerprint()
    assert run.uncommitted()
    run.clean()
    assert (run.uncommitted(), verify(run).findings, run.fingerprint()) == ([], [], before)
    assert (waves_with_pieces(run.folder), opened(tmp_path / "run").last_wave) == ([2], 1)


def test_cleaning_removes_journals_of_committed_waves_only(tmp_path):
    corpus = three_waves(tmp_path / "run")
    for wave in (0, 2, 3):
        corpus.journal(wave)
    corpus.run.clean()
    assert waves_with_pieces(corpus.run.folder) == [3]


def test_a_full_disk_at_any_point_of_a_commit_leaves_the_old_state_and_resumes(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        corpus = Corpus(disk.folder / "run").seed("Root").walk(Visit("Root", [Child("Left")]))
        run = corpus.run
        failed = 0
        tables = {name: run.read(name, [1]).drop_columns("wave") for name in TABLES}
        before = run.fingerprint()
        corpus.journal(2)
        with Lease(run.folder) as lease:
            for pages in range(200):
                run.clean()
                disk.fill(pages)
                try:
                    run.commit(lease, tables, run.manifests[1].facts)
                    break
                except InputError as e:
                    failed += 1
                    assert disk.hint in str(e)
                    again = opened(disk.folder / "run")
                    assert (again.fingerprint(), verify(again).findings, run.last_wave) == (before, [], 1)
                finally:
                    disk.free()
        assert failed >= 2
        assert opened(disk.folder / "run").last_wave == 2


def test_a_read_only_folder_commits_nothing_and_resumes(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        corpus = Corpus(disk.folder / "run").seed("Root")
        with Lease(corpus.run.folder) as lease:
            disk.read_only(True)
            before = snapshot(disk.folder)
            with pytest.raises(InputError) as caught:
                corpus.run.commit(lease, {}, {})
            disk.read_only(False)
            one_line(caught, disk.folder, "choose a folder that can be written")
            assert (snapshot(disk.folder), corpus.run.last_wave) == (before, 0)
        assert corpus.walk(Visit("Root")).run.last_wave == 1


def test_a_commit_after_losing_the_lease_is_refused_and_harms_nothing(tmp_path):
    corpus = Corpus(tmp_path / "run").seed("Root")
    late = opened(tmp_path / "run")
    with Lease(late.folder) as lease:
        late.folder.remove("lease.json")  # as after an expiry: the next writer takes over
        corpus.walk(Visit("Root", [Child("Left")]))
        before = snapshot(tmp_path / "run")
        with pytest.raises(InputError, match="the lease was lost"):
            late.commit(lease, {"entities": late.read("entities").drop_columns("wave")}, {})
    assert snapshot(tmp_path / "run") == before


def test_a_lease_lost_while_tables_are_written_leaves_the_wave_invisible(tmp_path, monkeypatch):
    corpus = Corpus(tmp_path / "run").seed("Root")
    write = Folder.write

    def write_and_lose(self, name, data):
        write(self, name, data)
        if name.startswith("tables/"):
            self.remove("lease.json")

    monkeypatch.setattr(Folder, "write", write_and_lose)
    with pytest.raises(InputError, match="the lease was lost"):
        corpus.walk(Visit("Root"))
    assert opened(tmp_path / "run").last_wave == 0


def test_a_reader_that_opens_while_waves_are_committed_sees_no_damage(tmp_path, monkeypatch):
    corpus = Corpus(tmp_path / "run").seed("Root")
    listing = Folder.list
    todo = [Visit("Root", [Child("Left")]), Visit("Left", [Child("Leaf")])]

    def list_then_commit(self, name, recursive=False):
        found = listing(self, name, recursive)
        while todo and self is not corpus.run.folder:
            corpus.walk(todo.pop(0))
        return found

    monkeypatch.setattr(Folder, "list", list_then_commit)
    assert opened(tmp_path / "run").last_wave >= 0
