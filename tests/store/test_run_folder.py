"""llmpedia/store/run_folder.py: what is committed stays whole, what is damaged is named, nothing is
taken for an empty run.
"""

import json
import shutil

import pyarrow as pa
import pytest

from llmpedia.errors import InputError
from llmpedia.materialize.run import describe_run
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import RunFolder, manifest_name, parquet_bytes, table_name
from llmpedia.store.verify import verify
from llmpedia.tables import TABLES
from tests.support.builders.runs import Corpus, Visit, make_config, one_line, three_waves


def edit(path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) >= 1
    path.write_text(text.replace(old, new, 1))


def opened(path) -> RunFolder:
    return RunFolder.open(str(path))


def cut(path, n: int) -> None:
    path.write_bytes(path.read_bytes()[:n])


def lose(run, *waves: int) -> None:
    for wave in waves:
        (run / manifest_name(wave)).unlink()


def reformat(path, **keys) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **keys}))


LOST = "manifest missing, though its wave's tables are there"
OTHER = "format 7, this version reads 1"
# damage to a run of three waves, and what the one line names
DAMAGES = {
    "a count in a manifest altered": (
        lambda r: edit(r / manifest_name(1), '"articles": 1', '"articles": 2'),
        manifest_name(1),
    ),
    "a checksum in a manifest altered": (
        lambda r: edit(r / manifest_name(1), '"sha256": "', '"sha256": "0'),
        manifest_name(1),
    ),
    "a manifest cut": (lambda r: cut(r / manifest_name(2), 99), manifest_name(2)),
    "a manifest emptied": (lambda r: cut(r / manifest_name(2), 0), manifest_name(2)),
    "a manifest of another shape": (lambda r: (r / manifest_name(0)).write_bytes(b"[1]"), manifest_name(0)),
    "the first manifest gone": (lambda r: lose(r, 0), manifest_name(0)),
    "a manifest in the middle gone": (lambda r: lose(r, 1), manifest_name(1)),
    "the last manifest gone": (lambda r: lose(r, 2), f"{manifest_name(2)}: {LOST}"),
    "the last two manifests gone": (lambda r: lose(r, 1, 2), LOST),
    "all manifests gone": (lambda r: lose(r, 0, 1, 2), LOST),
    "a manifest of another format": (
        lambda r: reformat(r / manifest_name(1), format=7),
        f"{manifest_name(1)}: {OTHER}",
    ),
    "one whose files are told otherwise": (
        lambda r: reformat(r / manifest_name(1), format=7, files=[{"x": 1}]),
        OTHER,
    ),
    "run.yaml gone": (lambda r: (r / "run.yaml").unlink(), "run.yaml"),
}


@pytest.mark.parametrize(
    "open_it", [opened, lambda p: RunFolder.create_or_open(str(p), describe_run(make_config()))]
)
@pytest.mark.parametrize(("damage", "named"), DAMAGES.values(), ids=DAMAGES)
def test_damage_is_named_and_never_an_empty_run(tmp_path, open_it, damage, named):
    three_waves(tmp_path / "run")
    damage(tmp_path / "run")
    with pytest.raises(InputError) as caught:
        open_it(tmp_path / "run")
    one_line(caught, tmp_path / "run", named)


def test_a_manifest_of_another_run_is_named(tmp_path):
    three_waves(tmp_path / "run")
    Corpus(tmp_path / "other").seed("Other").walk(Visit("Other"))
    shutil.copy(tmp_path / "other" / manifest_name(1), tmp_path / "run" / manifest_name(1))
    with pytest.raises(InputError) as caught:
        opened(tmp_path / "run")
    one_line(caught, manifest_name(1), "does not follow")


def test_a_damaged_run_yaml_is_named(tmp_path):
    three_waves(tmp_path / "run")
    (tmp_path / "run" / "run.yaml").write_text("format: 1\n")
    with pytest.raises(InputError) as caught:
        RunFolder.create_or_open(str(tmp_path / "run"), describe_run(make_config()))
    one_line(caught, "run.yaml", "damaged", "restore it")


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda f: f.unlink(), "missing"),
        (lambda f: cut(f, -20), "damaged"),
        (lambda f: f.write_bytes(parquet_bytes(TABLES["entities"].empty_table())), "holds 0 rows"),
    ],
    ids=["deleted", "cut", "swapped"],
)
def test_reading_a_damaged_table_names_the_file(tmp_path, damage, says):
    run = three_waves(tmp_path / "run").run
    file = tmp_path / "run" / table_name("entities", 1)
    damage(file)
    with pytest.raises(InputError) as caught:
        run.read("entities")
    one_line(caught, file, says, "restore it")


def test_rows_come_back_in_commit_order_with_their_wave(tmp_path):
    rows = three_waves(tmp_path / "run").run.read("entities", columns=["name"])
    assert rows.to_pylist() == [
        {"name": n, "wave": w} for n, w in [("Root", 0), ("Left", 1), ("Right", 1), ("Leaf", 2)]
    ]


def test_hidden_files_that_a_file_browser_leaves_are_no_damage(tmp_path):
    three_waves(tmp_path / "run")
    for name in (".", "waves", "tables", "tables/entities", "journal"):
        (tmp_path / "run" / name).mkdir(exist_ok=True)
        (tmp_path / "run" / name / ".DS_Store").write_bytes(b"x")
    report = verify(opened(tmp_path / "run"))
    assert (report.findings, report.notes) == ([], [])


STRAYS = (
    "tables/a.txt tables/entities/a tables/entities/wave=x/a tables/completions/a "
    "journal/a.txt journal/wave=x/a"
).split()


@pytest.mark.parametrize("name", STRAYS)
def test_a_stray_file_is_no_damage(tmp_path, name):
    before = three_waves(tmp_path / "run").run.fingerprint()
    (tmp_path / "run" / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "run" / name).write_text("x")
    run = opened(tmp_path / "run")
    assert (run.last_wave, run.fingerprint(), verify(run).findings) == (2, before, [])


def rows_of(*names) -> pa.Table:
    row = {"entity_id": 0, "hop": 0, "parent_id": None, "sentence": None, "embedding": [0.6, 0.8]}
    return pa.Table.from_pylist([{**row, "key": n, "name": n} for n in names], TABLES["entities"])


def fingerprint_of(folder, rows) -> str:
    run = RunFolder.create_or_open(str(folder), describe_run(make_config()))
    with Lease(run.folder) as lease:
        run.commit(lease, {"entities": rows}, {"time": str(folder)})
    return run.fingerprint()


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (rows_of("a", "b"), True),
        (pa.concat_tables([rows_of("a"), rows_of("b")]), True),
        (rows_of("a", "c"), False),
        (rows_of("b", "a"), False),
        (rows_of("a", "b").set_column(2, TABLES["entities"].field(2), [["a", None]]), False),
    ],
    ids=["equal", "in two chunks", "one cell", "order", "null"],
)
def test_a_fingerprint_tells_content_and_nothing_else(tmp_path, other, same):
    assert (
        fingerprint_of(tmp_path / "a", rows_of("a", "b")) == fingerprint_of(tmp_path / "b", other)
    ) is same


@pytest.mark.parametrize(
    ("section", "key", "was", "now"),
    [
        ("article", "words", 100, 101),
        ("run", "seed", "A", "B"),
        ("engine", "model", "m", "n"),
        ("waves", "size", 3, 4),
    ],
)
def test_a_run_of_other_settings_is_refused_with_the_setting_and_both_values(
    tmp_path, section, key, was, now
):
    Corpus(tmp_path / "run", make_config(**{section: {key: was}})).seed("Root")
    with pytest.raises(InputError) as caught:
        RunFolder.create_or_open(str(tmp_path / "run"), describe_run(make_config(**{section: {key: now}})))
    one_line(caught, tmp_path / "run", f"{section}.{key} was {was!r}, is {now!r}", "give another folder")


@pytest.mark.parametrize("what", ["seeds", "prompts"])
def test_a_run_of_other_seeds_or_prompts_is_refused(tmp_path, what):
    Corpus(tmp_path / "run").seed("Root")
    other = describe_run(make_config())
    other[what] = ["Other"] if what == "seeds" else {**other[what], "general/outline": "0"}
    with pytest.raises(InputError) as caught:
        RunFolder.create_or_open(str(tmp_path / "run"), other)
    one_line(caught, what[:-1], "give another folder")


def with_titles(path, titles) -> dict:
    path.parent.mkdir(exist_ok=True)
    path.write_text(titles)
    return describe_run(make_config(run={"titles": str(path)}))


def test_a_titles_file_may_move_and_may_not_change(tmp_path):
    run = RunFolder.create_or_open(
        str(tmp_path / "run"), with_titles(tmp_path / "here" / "titles.txt", "One\nTwo\n")
    )
    with Lease(run.folder) as lease:
        run.commit(lease, {}, {})
    moved = with_titles(tmp_path / "there" / "list.txt", "One\nTwo\n")
    assert RunFolder.create_or_open(str(tmp_path / "run"), moved).last_wave == 0
    with pytest.raises(InputError) as caught:
        RunFolder.create_or_open(
            str(tmp_path / "run"), with_titles(tmp_path / "here" / "titles.txt", "One\nThree\n")
        )
    one_line(caught, tmp_path / "run", "its seed titles differ")


def test_a_run_with_only_a_larger_cap_goes_on(tmp_path):
    Corpus(tmp_path / "run", make_config(caps={"articles": 1})).seed("Root")
    more = RunFolder.create_or_open(str(tmp_path / "run"), describe_run(make_config(caps={"articles": 2})))
    assert more.last_wave == 0


def test_settings_may_be_mended_until_the_run_has_written_something(tmp_path):
    """A first start that ended with "model missing" must not tie the folder to the wrong model."""
    wrong, right = (describe_run(make_config(engine={"model": m})) for m in ("typo", "right"))
    RunFolder.create_or_open(str(tmp_path / "run"), wrong)
    assert RunFolder.create_or_open(str(tmp_path / "run"), right).description() == json.loads(
        json.dumps(right)
    )
