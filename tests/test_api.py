"""llmpedia/api.py: run folders read from Python, and by DuckDB, pandas and datasets as docs/run-format.md says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from builders import three_waves
from test_audit_verify import write as write_audit

import llmpedia
from llmpedia.api import verifiers
from llmpedia.cli import KINDS, main
from llmpedia.errors import InputError
from llmpedia.store.runfolder import RunFolder

DOC = (Path(__file__).parent.parent / "docs" / "run-format.md").read_text()
README = (Path(__file__).parent.parent / "README.md").read_text()


def blocks(text, title):
    """The blocks of Python in a section."""
    body = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", body, re.DOTALL)


READERS = blocks(DOC, "Reading it without this package")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder in which the documents' runs/demo lies, with an audit."""
    place = tmp_path_factory.mktemp("place")
    run = three_waves(place / "runs" / "demo").run
    write_audit(place / "runs" / "demo" / "audits" / "mine", of=run)
    return place


@pytest.fixture
def run(place):
    return llmpedia.open_run(str(place / "runs" / "demo"))


def test_tables_hold_the_rows_of_all_waves(run):
    articles = run.table("articles")
    assert (run.kind, articles["name"].to_pylist(), articles["wave"].to_pylist()) == ("walk", ["Root", "Left"], [1, 2])
    assert run.table("articles", columns=["name"]).column_names == ["name", "wave"]
    assert run.table("verdicts").num_rows == 0


def test_articles_come_as_records(run):
    first, second = run.articles()
    assert (first.name, first.hop, first.wave) == ("Root", 0, 1)
    assert (second.name, second.hop, second.wave) == ("Left", 1, 2)
    assert first.wikitext == run.table("articles")["wikitext"][0].as_py()


def test_totals_are_of_all_commits(run):
    totals = run.manifest
    assert totals.waves == 3
    assert {name: run.table(name).num_rows for name in totals.rows} == totals.rows
    assert totals.facts == RunFolder.open(run.uri).manifests[-1].facts
    assert totals.bytes == sum(path.stat().st_size for path in Path(run.uri).glob("tables/*/*/*.parquet"))


def test_an_audit_opens_as_what_it_is(run):
    audit = llmpedia.open_run(f"{run.uri}/audits/mine")
    assert (audit.kind, list(audit.articles())) == ("audit", [])
    assert audit.table("verdicts").num_rows == audit.manifest.rows["verdicts"]
    assert audit.verify().findings == ()


def test_verify_says_what_the_command_says(run, capsys):
    main(["verify", run.uri])
    printed = capsys.readouterr().out
    result = run.verify()
    assert f"fingerprint: {result.fingerprint}" in printed
    assert ("whole: nothing lost" in printed) == (result.findings == ())


def test_verify_finds_what_is_damaged(tmp_path):
    folder = three_waves(tmp_path / "run").run
    path = next(Path(folder.uri).glob("tables/articles/*/*.parquet"))
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert any("articles" in finding for finding in llmpedia.open_run(folder.uri).verify().findings)


def test_every_kind_of_run_folder_has_its_check():
    assert set(verifiers()) == {"walk", *KINDS}


def test_what_is_not_there_is_named(run, tmp_path):
    with pytest.raises(InputError, match=r"no table 'article'; give one of .*articles"):
        run.table("article")
    with pytest.raises(InputError, match=r"has no column 'title'; give some of .*name"):
        run.table("articles", columns=["title"])
    with pytest.raises(InputError, match=r"no run\.yaml there"):
        llmpedia.open_run(str(tmp_path))
    with pytest.raises(AttributeError, match="no attribute 'close_run'"):
        llmpedia.close_run  # noqa: B018  asking for it is the test


def test_importing_the_package_loads_nothing():
    program = "import sys, llmpedia; print(*({'pyarrow', 'pydantic', 'yaml', 'llmpedia.api'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_what_the_readme_shows_runs(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    (program,) = blocks(README, "From Python")
    exec(program, {})
    assert "Root" in capsys.readouterr().out


NAMES = {
    "duckdb": "result.fetchnumpy()['name']",
    "pandas": "result['name']",
    "datasets": "result['name']",
}


def test_the_document_tells_how_three_readers_read():
    assert [re.match(r"(import|from) (\w+)", block)[2] for block in READERS] == list(NAMES)


@pytest.mark.parametrize(("reader", "block"), zip(NAMES, READERS, strict=False), ids=NAMES)
def test_other_readers_read_what_the_document_says(reader, block, place):
    statement, expression = block.strip().split("\n\n")
    program = f"{statement}\nresult = {expression}\nprint(sorted(map(str, {NAMES[reader]})))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=place,
        env={"HF_HUB_OFFLINE": "1", "HF_HOME": str(place / "hf"), "HOME": str(place), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "['Left', 'Root']", done.stderr
