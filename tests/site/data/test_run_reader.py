"""Runs as a site reads them: every row where it belongs, nothing written, damage in one line."""

import random
import shutil
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from llmpedia.errors import InputError
from llmpedia.site.data.run_reader import SiteRun, open_runs, safe_names
from llmpedia.store.files import Folder
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import RunFolder
from tests.support.builders.runs import Child, Corpus, Visit, one_line, three_waves
from tests.support.builders.site import commit_audit, written_run


def opened(folder) -> SiteRun:
    return open_runs([str(folder)])[0]


def names(entities) -> list[str]:
    return [entity.name for entity in entities]


def files_of(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(p): (p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(folder.rglob("*"))}


def parquet(folder: Path, table: str, wave: int) -> Path:
    return folder / f"tables/{table}/wave={wave:05d}/part.parquet"


def rewrite(path: Path, change=lambda rows: rows, **how) -> None:
    pq.write_table(change(pq.read_table(path, partitioning=None)), path, **how)


def links_here(run: SiteRun, name: str, most: int = 10) -> list[str]:
    end = time.monotonic() + 10
    while (found := run.parents_of_links(run.number_of(name), most)) is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    return names(found)


def test_an_entity_has_its_path_children_and_aliases(tmp_path):
    three_waves(tmp_path)
    run = opened(tmp_path)
    right = run.entity(run.number_of("The Right"))
    assert (right.name, right.hop, right.parent, right.written) == ("Right", 1, 0, False)
    assert run.aliases(right.id) == ["The Right"]
    assert names(run.path(run.number_of("leaf"))) == ["Root", "Left", "Leaf"]
    assert names(run.children(0)) == ["Left", "Right"]
    assert (
        run.children(right.id),
        run.aliases(0),
        run.entity(99),
        run.entity(-1),
        run.number_of("Nobody"),
    ) == (
        [],
        [],
        None,
        None,
        None,
    )


def test_each_row_is_read_from_the_wave_that_wrote_it(tmp_path):
    three_waves(tmp_path)
    run = opened(tmp_path)
    left = run.number_of("Left")
    assert run.article(left)["wikitext"] == "[[Leaf]] [[The Right]] [[Right]]"
    assert [(c["name"], c["fate"]) for c in run.candidates(left)] == [
        ("Leaf", "queued"),
        ("The Right", "duplicate"),
        ("Right", "known"),
    ]
    assert [c["stage"] for c in run.completions(left)] == ["outline", "article", "ner", "arbitration"]
    assert run.completion("article w2 Left", left)["subject_id"] == left
    assert run.completion("article w1 Root", left) is None
    failed = run.number_of("Right")
    assert (run.article(failed), run.subject(failed)["error"]) == (None, "refusal")
    never = run.number_of("Leaf")
    assert (run.article(never), run.subject(never), run.candidates(never), run.completions(never)) == (
        None,
        None,
        [],
        [],
    )


def test_a_subject_expanded_anew_shows_the_candidates_of_its_last_visit_and_its_one_article(tmp_path):
    corpus = Corpus(tmp_path).seed("Root")
    corpus.walk(Visit("Root", [Child("Left"), Child("Right", "subject_cap")]))
    corpus.walk(Visit("Root", [Child("Left", "known", "Left"), Child("Right")], visit="expand"))
    run = opened(tmp_path)
    assert [(c["name"], c["fate"]) for c in run.candidates(0)] == [("Left", "known"), ("Right", "queued")]
    assert run.article(0)["wikitext"] == "[[Left]] [[Right]]"
    assert run.subject(0)["visit"] == "expand"
    assert links_here(run, "Left") == ["Root"]
    assert run.totals()["hops"] == {0: (1, 1, 1), 1: (2, 0, 0)}


def test_totals_are_counted_by_hop(tmp_path):
    three_waves(tmp_path)
    totals = opened(tmp_path).totals()
    assert totals["hops"] == {0: (1, 1, 1), 1: (2, 1, 1), 2: (1, 0, 0)}
    assert (totals["articles"], totals["entities"], totals["aliases"], totals["words"], totals["links"]) == (
        2,
        4,
        1,
        2,
        7,
    )


def test_what_links_here_names_each_article_once_and_the_nearest_first(tmp_path):
    corpus = Corpus(tmp_path).seed("Root")
    corpus.walk(Visit("Root", [Child("Left"), Child("Right")]))
    twice = [Child("Root", "known", "Root"), Child("The Root", "duplicate", "Root")]
    corpus.walk(
        Visit("Left", twice), Visit("Right", [Child("Root", "known", "Root"), Child("Right", "self_or_loop")])
    )
    run = opened(tmp_path)
    assert links_here(run, "Root") == ["Left", "Right"]
    assert links_here(run, "Root", most=1) == ["Left"]
    assert links_here(run, "Left") == ["Root"]


def test_written_articles_are_listed_by_name_whatever_the_script(tmp_path):
    texts = dict.fromkeys(
        ["zebra", "Émile", "Emil", "“Apple”", "東京", "Ωmega", "99 Luftballons", "あさ", "Ян"], "x"
    )
    written_run(tmp_path, texts)
    run = opened(tmp_path)
    listed, total = run.listed(None, None, 0, 100)
    assert names(listed) == [
        "99 Luftballons",
        "“Apple”",
        "Emil",
        "Émile",
        "Seed",
        "zebra",
        "Ωmega",
        "Ян",
        "あさ",
        "東京",
    ]
    assert total == 10
    assert run.letters() == {"#": 1, "A": 1, "E": 2, "S": 1, "Z": 1, "Ω": 1, "Я": 1, "あ": 1, "漢": 1}
    assert run.letters(hop=0) == {"S": 1}
    assert names(run.listed(1, "E", 1, 1)[0]) == ["Émile"]
    assert run.listed(1, "E", 1, 1)[1] == 2
    assert run.listed(1, "Q", 0, 10) == ([], 0)


def test_a_walk_that_is_writing_is_read_up_to_its_last_commit_and_then_refreshed(tmp_path):
    corpus = Corpus(tmp_path).seed("Root")
    corpus.walk(Visit("Root", [Child("Left"), Child("Right")]))
    shutil.copytree(
        parquet(tmp_path, "entities", 1).parent, parquet(tmp_path, "entities", 2).parent
    )  # cut short
    with Lease(corpus.run.folder):
        before = files_of(tmp_path)
        run = opened(tmp_path)
        assert (run.totals()["entities"], run.refresh()) == (3, False)
        assert files_of(tmp_path) == before
    corpus.walk(
        Visit("Left", [Child("Leaf"), Child("The Root", "duplicate", "Root")]),
        Visit("Right", error="refusal"),
    )
    assert run.refresh()
    assert names(run.path(run.number_of("Leaf"))) == ["Root", "Left", "Leaf"]
    fresh = opened(tmp_path)
    for name, value in vars(fresh.catalogue).items():
        grown = getattr(run.catalogue, name)
        assert np.array_equal(value, grown) if isinstance(value, np.ndarray) else value == grown, name


def test_reading_writes_nothing(tmp_path):
    three_waves(tmp_path)
    before = files_of(tmp_path)
    run = opened(tmp_path)
    (
        run.article(0),
        run.completions(0),
        run.listed(None, None, 0, 9),
        links_here(run, "Left"),
        run.refresh(),
        run.close(),
    )
    assert files_of(tmp_path) == before


def test_a_file_of_many_row_groups_gives_the_same_rows(tmp_path):
    written_run(tmp_path, {f"Subject {n}": f"text {n}" for n in range(40)}, aliases={"Alias": "Subject 0"})
    whole = opened(tmp_path)
    numbers = range(41)
    tables = ("article", "subject", "candidates", "completions")
    found = {name: [getattr(whole, name)(n) for n in numbers] for name in tables}
    for path in tmp_path.rglob("*.parquet"):
        rewrite(path, row_group_size=3)
    parted = opened(tmp_path)
    assert {name: [getattr(parted, name)(n) for n in numbers] for name in tables} == found
    assert found["article"][1]["wikitext"] == "text 0"


def test_a_column_that_an_earlier_version_did_not_write_is_null(tmp_path):
    three_waves(tmp_path)
    rewrite(parquet(tmp_path, "completions", 1), lambda rows: rows.drop_columns(["fallback"]))
    assert [row["fallback"] for row in opened(tmp_path).completions(0)] == [None, None, None]


@pytest.mark.parametrize("size", [0, 10, -20])
def test_a_damaged_file_ends_a_page_with_one_line_and_no_other_page(tmp_path, size):
    three_waves(tmp_path)
    run = opened(tmp_path)
    path = parquet(tmp_path, "candidates", 2)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(InputError) as caught:
        run.candidates(run.number_of("Left"))
    one_line(caught, path, "damaged", "restore")
    assert len(run.candidates(0)) == 4


def test_a_missing_file_and_one_of_other_rows_are_named(tmp_path):
    three_waves(tmp_path)
    run = opened(tmp_path)
    shutil.copy(parquet(tmp_path, "candidates", 1), parquet(tmp_path, "candidates", 2))
    with pytest.raises(InputError) as caught:
        run.candidates(1)
    one_line(caught, parquet(tmp_path, "candidates", 2), "4 rows", "says 3")
    parquet(tmp_path, "articles", 1).unlink()
    with pytest.raises(InputError) as caught:
        run.article(0)
    one_line(caught, "missing")
    with pytest.raises(InputError) as caught:
        opened(tmp_path)
    one_line(caught, parquet(tmp_path, "articles", 1))


def test_no_flipped_byte_ends_in_anything_but_rows_or_one_line(tmp_path):
    written_run(tmp_path, {f"Sübject {n}": f"téxt {n} " * 20 for n in range(20)})
    path = parquet(tmp_path, "articles", 2)
    good = path.read_bytes()
    draw = random.Random(4)
    outcomes = {"rows": 0, "error": 0}
    for _ in range(150):
        bad = bytearray(good)
        bad[draw.randrange(len(bad))] ^= 1 << draw.randrange(8)
        path.write_bytes(bad)
        try:
            opened(tmp_path).article(5)
            outcomes["rows"] += 1
        except InputError as e:
            outcomes["error"] += 1
            assert "\n" not in str(e)
    assert min(outcomes.values()) > 5


def test_entities_out_of_order_are_no_run_to_browse(tmp_path):
    three_waves(tmp_path)
    rewrite(parquet(tmp_path, "entities", 1), lambda rows: rows.take([1, 0]))
    with pytest.raises(InputError) as caught:
        opened(tmp_path)
    one_line(caught, tmp_path, "llmpedia verify")


def test_a_folder_that_is_no_run_is_told_what_to_give(tmp_path):
    run = three_waves(tmp_path / "run").run
    audit = commit_audit(run, {0: ["One."]})
    with pytest.raises(InputError) as caught:
        opened(audit.uri)
    one_line(caught, audit.uri, "is an audit", f"give the run it is about, {run.uri}")
    RunFolder.create_or_open(str(tmp_path / "build"), {"kind": "probe", "identity_hash": "x"})
    with pytest.raises(InputError) as caught:
        opened(tmp_path / "build")
    one_line(caught, tmp_path / "build", "'probe'", "give the folder of a run")
    with pytest.raises(InputError) as caught:
        opened(tmp_path)
    one_line(caught, "run.yaml")


def test_runs_opened_together_have_names_of_their_own_that_fit_an_address(tmp_path):
    folders = ["a/demo", "b/demo", "c/Ein Lauf?", "c/Ein Lauf!", "c/日本", "d-demo", "b demo"]
    for folder in folders:
        three_waves(tmp_path / folder)
    found = [run.name for run in open_runs([str(tmp_path / f) for f in folders])]
    assert found[:4] == ["a-demo", "b-demo", "Ein-Lauf", "c-Ein-Lauf"]
    assert len(set(found)) == len(folders)
    assert all(
        name and set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
        for name in found
    )
    with pytest.raises(InputError) as caught:
        open_runs([str(tmp_path / "a/demo"), str(tmp_path / "a/demo/")])
    one_line(caught, "given twice")


def test_a_run_is_opened_by_its_uri_and_shown_by_what_it_is(tmp_path):
    corpus = Corpus(tmp_path).seed("Root")
    corpus.walk(Visit("Root"))
    run = opened(f"file://{tmp_path}")
    assert run.article(0)["name"] == "Root"
    assert run.title == f"{corpus.config.run.seed} · m · scientific neutral"


def test_a_random_article_is_written_and_the_same_for_a_seed(tmp_path):
    written_run(tmp_path, {f"Subject {n}": "x" for n in range(30)})
    run = opened(tmp_path)
    drawn = [run.random(n) for n in range(50)]
    assert all(entity.written for entity in drawn)
    assert len({entity.id for entity in drawn}) > 15
    assert drawn == [run.random(n) for n in range(50)]


def test_an_audit_gives_an_article_its_claims_with_a_verdict_a_tier(tmp_path):
    run = written_run(tmp_path, {f"Subject {n}": "x" for n in range(4)}).run
    commit_audit(run, {3: ["C one.", "C two."], 1: [], 4: ["D one."]}, waves=2)
    site = opened(tmp_path)
    [found] = site.audits(3)
    assert (found.audit, found.row["claims"], [e["tier"] for e in found.evidence]) == (
        "audit",
        2,
        ["wikipedia", "web"],
    )
    assert [(c.number, c.text) for c in found.claims] == [(1, "C one."), (2, "C two.")]
    assert [[v["verdict"] for v in c.verdicts] for c in found.claims] == [
        ["supported", "not_adjudicated"]
    ] * 2
    assert site.audits(1)[0].claims == []
    assert site.audits(4)[0].claims[0].text == "D one."
    assert (site.audits(2), site.audits(0), site.notes, site.audit_names) == ([], [], [], ["audit"])


def test_audits_that_cannot_be_shown_are_named_and_hinder_nothing(tmp_path):
    run = written_run(tmp_path, {"Subject": "x"}).run
    commit_audit(run, {1: ["One."]}, "good")
    other = {"run": "elsewhere", "waves": 2, "last_manifest": "0" * 64}
    commit_audit(run, {1: ["One."]}, "of another", audited=other)
    damaged = Path(commit_audit(run, {1: ["One."]}, "damaged").uri) / "waves/00001.json"
    damaged.write_text(damaged.read_text().replace("audited", "awdited"))
    site = opened(tmp_path)
    assert site.audit_names == ["good"]
    assert len(site.notes) == 2
    assert "wrong checksum" in site.notes[0]
    assert "another run" in site.notes[1]
    assert [a.audit for a in site.audits(1)] == ["good"]


def test_an_audit_that_goes_on_is_taken_up_on_refresh(tmp_path):
    corpus = three_waves(tmp_path)
    site = opened(tmp_path)
    commit_audit(corpus.run, {0: ["One."]})
    assert site.audits(0) == []
    assert site.refresh()
    assert [a.audit for a in site.audits(0)] == ["audit"]


def test_an_audit_without_new_commits_is_not_opened_again(tmp_path, monkeypatch):
    """Every look at a run's first page opened all its audits anew and threw away what was read of
    them.
    """
    corpus = three_waves(tmp_path)
    commit_audit(corpus.run, {0: ["One."]}, "first")
    site = opened(tmp_path)
    [first] = site.site_audits
    uris = []
    open_folder = RunFolder.open
    monkeypatch.setattr(RunFolder, "open", lambda uri: uris.append(uri) or open_folder(uri))
    assert [site.refresh(), site.refresh()] == [False, False]
    assert uris == []
    commit_audit(corpus.run, {0: ["Two."]}, "second")
    assert site.refresh()
    assert [uri.rpartition("/")[2] for uri in uris] == ["second"]
    assert site.site_audits[0] is first


def test_an_audit_with_more_commits_is_read_anew(tmp_path):
    corpus = three_waves(tmp_path)
    commit_audit(corpus.run, {0: ["One."]})
    site = opened(tmp_path)
    before = site.site_audits[0]
    audit = RunFolder.open(before.run.uri)
    with Lease(audit.folder) as lease:
        audit.commit(lease, {}, {"totals": {}})
    assert site.refresh()
    assert len(site.site_audits[0].run.manifests) == len(before.run.manifests) + 1


def test_an_audit_that_is_made_anew_with_as_many_commits_is_read_anew(tmp_path):
    corpus = three_waves(tmp_path)
    commit_audit(corpus.run, {0: ["One."]})
    site = opened(tmp_path)
    shutil.rmtree(tmp_path / "audits" / "audit")
    commit_audit(corpus.run, {0: ["Another."]})
    site.refresh()
    assert [c.text for c in site.audits(0)[0].claims] == ["Another."]


def test_a_look_lists_three_folders_and_each_audits_commits(tmp_path, monkeypatch):
    """On an object store a listing of all that audits hold is thousands of names."""
    corpus = three_waves(tmp_path)
    commit_audit(corpus.run, {0: ["One."]}, "first")
    damaged = Path(commit_audit(corpus.run, {0: ["Two."]}, "second").uri) / "waves/00001.json"
    damaged.write_text(damaged.read_text().replace("audited", "awdited"))
    site = opened(tmp_path)
    assert len(site.notes) == 1
    asked = []
    for name in ("list", "folders", "state", "read", "exists"):
        method = getattr(Folder, name)
        monkeypatch.setattr(
            Folder, name, lambda f, p, *a, m=method, n=name, **k: asked.append((n, p)) or m(f, p, *a, **k)
        )
    assert not site.refresh()
    assert asked == [
        ("list", "waves"),
        ("folders", "audits"),
        ("state", "audits/first/waves"),
        ("state", "audits/second/waves"),
    ]
    assert len(site.notes) == 1


def test_a_folder_that_holds_no_audit_is_none(tmp_path):
    three_waves(tmp_path)
    (tmp_path / "audits" / "notes" / "waves").mkdir(parents=True)
    assert (opened(tmp_path).audit_names, opened(tmp_path).notes) == ([], [])


def test_names_differ_by_more_than_their_case():
    names = safe_names(["/a/Run", "/b/run", "/c/other"])
    assert names == ["a-Run", "b-run", "other"]
    assert len({name.casefold() for name in safe_names(["/a/X", "/A/x", "/a/x"])}) == 3
