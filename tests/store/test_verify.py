"""llmpedia/store/verify.py: every kind of damage is found and named; a whole run has no finding."""

from itertools import pairwise

import pytest

from llmpedia.store.journal import JournalWriter
from llmpedia.store.run_folder import RunFolder, manifest_name
from llmpedia.store.verify import imbalances, verify
from llmpedia.tables import Fate
from tests.support.builders.runs import Child, Corpus, Visit, counts_of, three_waves


def findings(folder) -> list[str]:
    return verify(RunFolder.open(str(folder))).findings


def named(found: list[str], *parts: str) -> bool:
    """One finding holds all parts."""
    return any(all(p in f for p in parts) for f in found)


def all_fates(folder) -> Corpus:
    """A run in which every fate occurs, and a subject that is expanded after a cap was raised."""
    corpus = Corpus(folder).seed("Root")
    first = [
        Child("Left"),
        Child("Root", "self_or_loop"),
        Child("Weak", "low_link_score"),
        Child("Capped", "subject_cap"),
    ]
    corpus.walk(Visit("Root", first))
    odd = (
        "ner_rejected",
        "ner_low_confidence",
        "ner_omitted",
        "arbitration_failed",
        "depth_cap",
        "stage_error",
    )
    rest = [Child(f"Some {fate}", fate) for fate in odd]
    again = [Child("Capped"), Child("Left", "known", "Left"), Child("The Left", "duplicate", "Left")]
    twin = Child("The Left", "wave_duplicate", "Left")
    return corpus.walk(Visit("Root", again, visit="expand"), Visit("Left", [twin, *rest]))


def test_a_whole_run_has_no_finding(tmp_path):
    run = all_fates(tmp_path / "run").run
    assert set(run.read("candidates")["fate"].to_pylist()) == set(Fate)
    assert verify(run).findings == []


def change(table, index, **cells):
    """Damage that changes cells of one row."""

    def damage(rows):
        assert cells.keys() <= rows[table][index].keys()
        rows[table][index].update(cells)

    return damage


def double(table, **cells):
    return lambda rows: rows[table].append({**rows[table][0], **cells})


def drop(table, index=0):
    return lambda rows: rows[table].pop(index)


# damage to the rows of wave 1, and what one finding holds; Root (0) names Left (1), Right (2), an
# alias of Left, two rejected
DAMAGES = {
    "entity key doubled": (change("entities", 1, key="left"), ["entity 2 'Right' has the key of entity 1"]),
    "entity key of an earlier wave": (
        change("entities", 0, key="root"),
        ["entity 1 'Left' has the key of entity 0"],
    ),
    "entity number skipped": (change("entities", 1, entity_id=3), ["entity 3 where 2 is next"]),
    "parent missing": (change("entities", 1, parent_id=77), ["entity 2 has parent 77, which is not there"]),
    "hop wrong": (change("entities", 1, hop=2), ["entity 2 is at hop 2", "plus 1 is 1"]),
    "seed below hop 0": (change("entities", 1, parent_id=None), ["entity 2 is at hop 1", "plus 1 is 0"]),
    "entity lost": (drop("entities", 1), ["queued 2 is not entities 1"]),
    "alias with an entity's key": (
        change("aliases", 0, key="root"),
        ["alias 'The Left' has the key of entity 0"],
    ),
    "alias of no entity": (
        change("aliases", 0, entity_id=77),
        ["alias 'The Left' names entity 77, which is not there"],
    ),
    "alias of no candidate": (
        change("aliases", 0, key="other"),
        ["aliases ['other'] come from no duplicate candidate"],
    ),
    "subject generated twice": (double("subjects", position=1), ["subject 0 'Root' was generated twice"]),
    "subject that is no entity": (change("subjects", 0, subject_id=9), ["subject 9 is no entity"]),
    "subjects out of order": (change("subjects", 0, position=1), ["subjects are not in order"]),
    "subject at a wrong hop": (change("subjects", 0, hop=1), ["subject 0 is at hop 1, its entity is at 0"]),
    "article without subject": (
        double("articles", subject_id=1),
        ["article 1 'Root' belongs to no subject generated"],
    ),
    "article too many": (
        double("articles", subject_id=1),
        ["subjects generated 1 is not articles + errored 2"],
    ),
    "article doubled": (double("articles"), ["subject 0 'Root' has two articles"]),
    "article lost": (drop("articles"), ["subject 0 has neither an article nor an error"]),
    "error and article": (
        change("subjects", 0, error="refusal"),
        ["subject 0 has neither an article nor an error, or both"],
    ),
    "expanded without article": (
        change("subjects", 0, visit="expand"),
        ["subject 0 is expanded without an article"],
    ),
    "candidate without fate": (change("candidates", 4, fate=None), ["candidate 5 has no fate (None)"]),
    "candidate with an unknown fate": (
        change("candidates", 4, fate="lost"),
        ["candidate 5 has no fate ('lost')"],
    ),
    "candidate number skipped": (change("candidates", 4, candidate_id=9), ["candidate 9 where 5 is next"]),
    "candidate doubled": (
        change("candidates", 1, key="left", entity_id=1),
        ["candidate 2 'Right' is doubled in subject 0"],
    ),
    "candidate count off": (change("subjects", 0, candidates=6), ["subject 0 has 5 candidates, not 6"]),
    "candidate lost": (drop("candidates", 4), ["subject 0 has 4 candidates, not 5"]),
    "candidate of a stranger": (
        change("candidates", 4, parent_id=1),
        ["candidates of subjects [1], which are not in the wave"],
    ),
    "candidate of the wrong entity": (
        change("candidates", 1, entity_id=1),
        ["candidate 2 (queued) has a key of entity 2"],
    ),
    "queued without entity": (
        change("candidates", 1, entity_id=None),
        ["candidate 2 (queued) and its entity do not agree"],
    ),
    "rejected with entity": (
        change("candidates", 4, entity_id=1),
        ["candidate 5 (ner_rejected) and its entity do not agree"],
    ),
    "rejected by nobody": (
        change("candidates", 4, ner_completion=None),
        ["candidate 5 (ner_rejected) has no completion"],
    ),
    "duplicate by nobody": (
        change("candidates", 2, arbitration_completion=None),
        ["candidate 3 (duplicate) has no completion"],
    ),
    "NER of no completion": (
        change("candidates", 4, ner_completion="x"),
        ["candidate 5", "ner_completion is not in"],
    ),
    "arbitration of no completion": (
        change("candidates", 2, arbitration_completion="x"),
        ["candidate 3", "arbitration_completion is not in"],
    ),
    "completion missing": (drop("completions", 1), ["article 0 has no completion in the completions"]),
    "outline missing": (drop("completions", 0), ["article 0 has no outline_completion in the completions"]),
    "completion doubled": (double("completions"), ["completion ['outline w1 Root'] is stored twice"]),
}


@pytest.mark.parametrize(("damage", "parts"), DAMAGES.values(), ids=DAMAGES)
def test_damaged_rows_are_named_with_their_wave(tmp_path, damage, parts):
    twin = Child("The Left", "duplicate", "Left")
    children = [
        Child("Left"),
        Child("Right"),
        twin,
        Child("Root", "self_or_loop"),
        Child("army", "ner_rejected"),
    ]
    Corpus(tmp_path / "run").seed("Root").walk(Visit("Root", children), damage=damage)
    found = findings(tmp_path / "run")
    assert named(found, "wave 1:", *parts), found


def test_a_subject_generated_again_in_a_later_wave_is_named(tmp_path):
    Corpus(tmp_path / "run").seed("Root").walk(Visit("Root")).walk(Visit("Root", error="refusal"))
    assert named(findings(tmp_path / "run"), "wave 2:", "subject 0 'Root' was generated twice")


def test_an_article_written_again_in_a_later_wave_is_named(tmp_path):
    Corpus(tmp_path / "run").seed("Root").walk(Visit("Root")).walk(Visit("Root"))
    assert named(findings(tmp_path / "run"), "wave 2:", "subject 0 'Root' has two articles")


def test_an_altered_byte_anywhere_in_a_table_names_the_file(tmp_path):
    three_waves(tmp_path / "run")
    (file,) = (tmp_path / "run" / "tables" / "aliases").glob("*/*.parquet")
    whole = file.read_bytes()
    missed = []
    for n in range(0, len(whole), len(whole) // 12):
        file.write_bytes(whole[:n] + bytes([whole[n] ^ 1]) + whole[n + 1 :])
        missed += [] if named(findings(tmp_path / "run"), str(file), "altered after its commit") else [n]
    assert missed == []


def test_every_missing_file_is_named(tmp_path):
    three_waves(tmp_path / "run")
    files = sorted((tmp_path / "run" / "tables").rglob("*.parquet"))
    for file in files:
        file.unlink()
    found = findings(tmp_path / "run")
    assert all(named(found, str(f), "missing", f"wave {int(f.parent.name[5:])} is committed") for f in files)


@pytest.mark.parametrize("lost", ["subjects", "candidates", "fates"])
def test_counts_of_a_manifest_that_its_rows_do_not_bear_out_are_named(lost):
    rows = {
        "subjects": [{"visit": "generate", "error": None}],
        "articles": [{}],
        "entities": [{}],
        "aliases": [],
        "candidates": [{"key": "a", "fate": "queued"}],
    }
    counts = counts_of(rows)
    assert list(imbalances(counts, rows)) == []
    counts[lost] = {"known": 1} if lost == "fates" else 2
    assert named(list(imbalances(counts, rows)), lost)


def test_what_an_interrupted_commit_left_is_a_note_and_no_finding(tmp_path):
    corpus = three_waves(tmp_path / "run")
    (tmp_path / "run" / manifest_name(2)).unlink()
    JournalWriter(corpus.run.folder, 2, "w").append([{"key": "k", "completion": {}}])
    report = verify(RunFolder.open(str(tmp_path / "run")))
    assert report.findings == []
    assert named(report.notes, "entities/wave=00002", "cut short")
    assert named(report.notes, "wave 2 is under way: 1 answers")


def test_findings_are_few_however_many_rows_are_damaged(tmp_path):
    children = [Child(f"Name {n}") for n in range(200)]
    Corpus(tmp_path / "run").seed("Root").walk(
        Visit("Root", children), damage=lambda rows: [e.update(hop=9) for e in rows["entities"]]
    )
    assert len(findings(tmp_path / "run")) == 100


def test_manifests_are_chained(tmp_path):
    manifests = three_waves(tmp_path / "run").run.manifests
    assert [b.previous for b in manifests[1:]] == [a.sha256 for a, _ in pairwise(manifests)]
