"""Another encyclopedia's texts as a run: forms, files, folders, and what verify, audits and reports
make of it.
"""

import asyncio
import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from llmpedia.audit.article import AuditHelpers, AuditItem, AuditStages, audit_article
from llmpedia.audit.audit_folder import constants_of
from llmpedia.audit.providers import EvidenceEngine
from llmpedia.audit.run import describe_audit
from llmpedia.audit.sampling import articles_of
from llmpedia.cli.main import main
from llmpedia.errors import ConfigError, InputError
from llmpedia.importing.formats import as_wikitext
from llmpedia.importing.run import ImportSettings, import_texts
from llmpedia.importing.sources import Absent, Columns, Text
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import RunFolder
from llmpedia.store.verify import verify
from llmpedia.tables import TABLES, table
from llmpedia.wikitext import Article
from tests.support.builders.audit import Direct, Pages, ScriptedJudge, audit_config
from tests.support.builders.runs import one_line

ROWS = [
    {"title": "Ada Lovelace", "text": "Ada Lovelace wrote notes. She was born in 1815."},
    {"title": "AC/DC", "text": "AC/DC is a band."},
    {"title": "Nobody", "text": "  "},
    {"title": "ada_lovelace", "text": "A second text on Ada."},
    {"title": "Stranger", "text": "Not on the list."},
]
TITLES = ["Ada Lovelace", "AC/DC", "Nobody", "Missing one", "AC-DC"]


def jsonl(folder, rows=ROWS):
    path = folder / "texts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def titles(folder, names=TITLES):
    path = folder / "titles.txt"
    path.write_text("# wanted\n" + "".join(f"{n}\n" for n in names))
    return str(path)


def imported(folder, texts, wanted=TITLES, run="run", **more):
    settings = ImportSettings(str(texts), titles(folder, wanted) if wanted else None, "other", **more)
    return import_texts(settings, str(folder / run), lambda p: None)


def texts_of(run):
    rows = run.read("articles", columns=["name", "wikitext"]).to_pylist()
    return {row["name"]: row["wikitext"] for row in rows}


def errors_of(run):
    rows = run.read("subjects", columns=["name", "error"]).to_pylist()
    return {row["name"]: row["error"] for row in rows if row["error"]}


HOSTILE = [
    "a [[b|c]] and [http://x.org d] and {{t|x}} {| table |}",
    "== not a heading ==\n=neither\n''it'' '''bold''' it's",
    "1 < 2 && 3 > 2, <ref>note</ref> <!-- comment --> <nowiki>x</nowiki>",
    "&lt;b&gt; &amp; &#91; stays as it is written",
    "[[File:x.png|thumb|caption]] ]] [[ }} {{",
    "日本語の文。次の文。",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_plain_text_reads_the_same_as_wikitext(text):
    article = Article(as_wikitext(text, "text"))
    assert article.text == " ".join(text.split())
    assert (article.links, article.headings, article.other_links) == ([], [], 0)


def test_paragraphs_of_plain_text_stay():
    assert as_wikitext("one\r\n\r\ntwo", "text") == "one\n\ntwo"


MARKDOWN = """# Ada Lovelace

Ada **Lovelace** was a [mathematician](https://x.org/a_(b)) and _writer_ of snake_case.[^1] ![portrait](p.png)

## Early life ##
She met `Babbage` in 1833. 2 * 3 * 4 stays, [[not a link]] too.

### Deeper
```python
x = [1]
```
[^1]: a note
"""


def test_markdown_keeps_headings_and_labels():
    article = Article(as_wikitext(MARKDOWN, "markdown"))
    assert [(h.level, h.title) for h in article.headings] == [(2, "Early life"), (3, "Deeper")]
    assert article.lead == "Ada Lovelace was a mathematician and writer of snake_case."
    assert "She met Babbage in 1833. 2 * 3 * 4 stays, [[not a link]] too." in article.text
    assert "x = [1]" in article.text
    assert "portrait" not in article.text
    assert "^1" not in article.text
    assert article.links == []


def test_wikitext_stays_as_it_is():
    assert as_wikitext("'''A''' [[b]]\n== C ==", "wikitext") == "'''A''' [[b]]\n== C =="


def test_every_title_is_an_article_or_has_the_reason_why_not(tmp_path):
    run = imported(tmp_path, jsonl(tmp_path))
    assert texts_of(run) == {"Ada Lovelace": ROWS[0]["text"], "AC/DC": ROWS[1]["text"]}
    assert errors_of(run) == {
        "Nobody": "its text is empty",
        "Missing one": "the file has no row of this title",
    }
    seeds = run.read("candidates").to_pylist()
    assert [(c["name"], c["fate"], c["entity_id"]) for c in seeds][-1] == ("AC-DC", "wave_duplicate", 1)
    assert run.manifests[0].facts["notes"] == [
        "1 text left out: no such title is on the list",
        "1 text left out: another text comes before under the same title",
    ]
    assert run.manifests[-1].facts["totals"]["articles"] == 2


def test_sources_are_told(tmp_path):
    run = imported(tmp_path, jsonl(tmp_path))
    sources = run.read("imports").to_pylist()
    assert [(s["source"], s["title"], s["form"], s["fetched_at"]) for s in sources] == [
        ("texts.jsonl: line 1", "Ada Lovelace", "text", None),
        ("texts.jsonl: line 2", "AC/DC", "text", None),
    ]


def test_without_a_list_all_titles_are_taken(tmp_path):
    run = imported(tmp_path, jsonl(tmp_path), wanted=None)
    assert list(texts_of(run)) == ["Ada Lovelace", "AC/DC", "Stranger"]
    assert list(errors_of(run)) == ["Nobody"]


def write_csv(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_forms_of_a_file_are_alike(tmp_path):
    long = [*ROWS, {"title": "Missing one", "text": "Long. " * 60_000}]
    write_csv(tmp_path / "texts.csv", long)
    pq.write_table(pa.Table.from_pylist(long), tmp_path / "texts.parquet")
    paths = [jsonl(tmp_path, long), tmp_path / "texts.csv", tmp_path / "texts.parquet"]
    made = [imported(tmp_path, path, run=path.suffix) for path in paths]
    assert texts_of(made[0]) == texts_of(made[1]) == texts_of(made[2])
    assert len(texts_of(made[0])) == 3


def test_columns_of_other_names(tmp_path):
    rows = [{"name": r["title"], "body": r["text"]} for r in ROWS]
    run = imported(tmp_path, jsonl(tmp_path, rows), columns=Columns("name", "body"))
    assert len(texts_of(run)) == 2


def html(words):
    text = "<p>She wrote about engines and numbers.</p>" * words
    return f"<html><body><nav>Menu</nav><article><h1>Ada</h1>{text}</article></body></html>"


def test_a_folder_of_files_named_by_title(tmp_path):
    folder = tmp_path / "texts"
    (folder / "deep").mkdir(parents=True)
    (folder / "Ada_Lovelace.md").write_text("# Ada\n\nA **writer**.")
    (folder / "deep" / "AC%2FDC.wikitext").write_text("A [[band]].")
    (folder / "Nobody.html").write_text(html(40))
    (folder / "Missing one.txt").write_bytes(b"\xff\xfe\xfa")
    (folder / "Stranger.txt").write_text("x")
    (folder / "picture.png").write_bytes(b"x")
    run = imported(tmp_path, folder)
    found = texts_of(run)
    assert found["Ada Lovelace"] == "A writer."
    assert found["AC/DC"] == "A [[band]]."
    assert "engines and numbers" in found["Nobody"]
    assert "Menu" not in found["Nobody"]
    assert errors_of(run) == {"Missing one": "unusable: not UTF-8 (byte 0)"}
    assert run.manifests[0].facts["notes"] == ["1 text left out: no such title is on the list"]


def test_an_import_is_whole_and_the_same_again(tmp_path, capsys):
    first = imported(tmp_path, jsonl(tmp_path))
    second = imported(tmp_path, jsonl(tmp_path), run="again")
    assert verify(first).findings == []
    assert first.fingerprint() == second.fingerprint()
    before = len(first.manifests)
    assert len(imported(tmp_path, jsonl(tmp_path)).manifests) == before
    assert main(["verify", first.uri]) == 0
    assert "whole: nothing lost" in capsys.readouterr().out


def test_an_import_cut_short_goes_on_where_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr("llmpedia.importing.run._WAVE", 2)
    whole = imported(tmp_path, jsonl(tmp_path), run="whole")

    def stop(progress):
        if progress.done == 3:
            raise KeyboardInterrupt

    settings = ImportSettings(str(jsonl(tmp_path)), titles(tmp_path), "other")
    with pytest.raises(KeyboardInterrupt):
        import_texts(settings, str(tmp_path / "cut"), stop)
    assert RunFolder.open(str(tmp_path / "cut")).last_wave == 1
    done = imported(tmp_path, jsonl(tmp_path), run="cut")
    assert done.fingerprint() == whole.fingerprint()


def test_other_texts_in_the_same_folder_are_refused(tmp_path):
    imported(tmp_path, jsonl(tmp_path))
    with pytest.raises(InputError) as caught:
        imported(tmp_path, jsonl(tmp_path, [*ROWS, {"title": "Missing one", "text": "Now."}]))
    one_line(caught, "import.sha256", "give another folder")
    with pytest.raises(InputError) as caught:
        imported(tmp_path, jsonl(tmp_path), wanted=["Ada Lovelace"])
    one_line(caught, "seed titles differ")


class Changing:
    """A source that has more the second time."""

    may_change = True
    notes = []
    identity = {"pattern": "x"}

    def __init__(self, has):
        self.has = has
        self.asked = []

    async def get(self, title):
        self.asked.append(title)
        return (
            Text(title, f"On {title}.", "text", "x", "0", "2026-01-01T00:00:00Z")
            if title in self.has
            else Absent("HTTP 404")
        )

    async def close(self):
        pass


def test_another_start_asks_only_for_what_failed(tmp_path):
    settings = ImportSettings("https://x.org/{title}", titles(tmp_path, ["A", "B", "C"]), "other")
    one = Changing({"A"})
    two = Changing({"A", "C"})
    three = Changing({"A", "C"})
    for source in (one, two, three):
        run = import_texts(settings, str(tmp_path / "run"), lambda p: None, source)
    assert (one.asked, two.asked, three.asked) == (["A", "B", "C"], ["B", "C"], ["B"])
    assert list(texts_of(run)) == ["A", "C"]
    assert run.last_wave == 2
    assert verify(run).findings == []


def damaged(run, change):
    """The run once more, its last commit altered."""
    rows = {t: run.read(t, [run.last_wave]).drop_columns("wave").to_pylist() for t in TABLES}
    change(rows)
    again = RunFolder.create_or_open(f"{run.uri}-damaged", run.description())
    with Lease(again.folder) as lease:
        again.commit(
            lease, {t: run.read(t, [0]).drop_columns("wave") for t in TABLES}, run.manifests[0].facts
        )
        again.commit(lease, {t: table(t, r) for t, r in rows.items()}, run.manifests[1].facts)
    return again


DAMAGES = {
    "no source": (lambda rows: rows["imports"].pop(), "article 1 has not one source"),
    "two sources": (lambda rows: rows["imports"].append(rows["imports"][0]), "article 0 has not one source"),
    "a completion named": (
        lambda rows: rows["articles"][0].update(completion="k"),
        "article 0 names a completion",
    ),
    "source of nothing": (
        lambda rows: rows["imports"].append({**rows["imports"][0], "subject_id": 3}),
        "imports of subjects [3]",
    ),
}


@pytest.mark.parametrize(("change", "finding"), DAMAGES.values(), ids=DAMAGES)
def test_verify_finds_an_import_without_its_source(tmp_path, change, finding):
    run = damaged(imported(tmp_path, jsonl(tmp_path)), change)
    assert any(finding in found for found in verify(run).findings), verify(run).findings


def test_an_audit_takes_an_import_like_a_run(tmp_path):
    run = imported(tmp_path, jsonl(tmp_path))
    assert [a.name for a in articles_of(run, len(run.manifests))] == ["Ada Lovelace", "AC/DC"]
    audit = RunFolder.create_or_open(f"{run.uri}/audits/a", describe_audit(audit_config(), run, {}))
    constants = constants_of(audit)
    assert (constants["model"], constants["persona"], constants["topic"]) == ("other", None, None)
    judge = ScriptedJudge()
    config = audit_config()
    providers = {
        t: Direct(EvidenceEngine(Pages(t, {"Ada Lovelace": "She was born in 1815."})))
        for t in ("wikipedia", "web")
    }
    item = AuditItem(0, "Ada Lovelace", texts_of(run)["Ada Lovelace"])
    done = asyncio.run(
        audit_article(
            item,
            config,
            AuditStages.of(config),
            AuditHelpers(judge, providers, dict.fromkeys(providers, "p")),
        )
    )
    assert len(done.claims) == 2
    assert [v["verdict"] for v in done.verdicts if v["tier"] == "wikipedia"] == ["insufficient", "supported"]


def test_commands_know_an_import(tmp_path, capsys):
    run = imported(tmp_path, jsonl(tmp_path))
    assert main(["status", run.uri]) == 0
    assert json.loads(capsys.readouterr().out)["errored"] == 2
    assert main(["report", run.uri]) == 0
    assert main(["rehearse", "score", run.uri]) == 2
    assert "an imported encyclopedia" in capsys.readouterr().err


def test_the_command(tmp_path, capsys):
    command = [
        "import",
        str(jsonl(tmp_path)),
        "--titles",
        titles(tmp_path),
        "--name",
        "other",
        "--run",
        str(tmp_path / "run"),
    ]
    assert main(command) == 0
    told = capsys.readouterr().out
    assert "2 articles of 4 titles by other" in told
    assert "2 titles could not be had" in told
    assert "left out" in told


def test_a_walk_is_no_import(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/run.yaml").write_text("identity_hash: x\n")
    with pytest.raises(InputError) as caught:
        imported(tmp_path, jsonl(tmp_path))
    one_line(caught, str(tmp_path / "run"), "holds a walk, not an import", "give another --run")


def test_no_bar_is_drawn_before_what_is_wrong(tmp_path, capsys):
    assert (
        main(["import", str(tmp_path / "none.jsonl"), "--name", "other", "--run", str(tmp_path / "run")]) == 2
    )
    (line,) = capsys.readouterr().err.splitlines()
    assert "none.jsonl" in line and "page" not in line and "[00:00" not in line


FAULTS = {
    "no such file": ("none.jsonl", None, {}, ["TEXTS", "none.jsonl", "no such file"]),
    "no titles of an address": ("https://x.org/{title}", None, {}, ["--titles", "missing"]),
    "no contact": ("https://x.org/{title}", TITLES, {}, ["--contact", "x.org"]),
    "title in the host": ("https://{title}.org/", TITLES, {"contact": "a@b.c"}, ["{title} once in its path"]),
    "no title in the address": ("https://x.org/page", TITLES, {"contact": "a@b.c"}, ["{title} once"]),
    "no address": ("ftp://x.org/{title}", TITLES, {"contact": "a@b.c"}, ["http or https"]),
    "of no kind": ("texts.pdf", None, {}, [".jsonl", ".parquet"]),
    "no JSON": ("bad.jsonl", None, {}, ["line 2", "no JSON"]),
    "no column": (
        "texts.jsonl",
        None,
        {"columns": Columns("name")},
        ["'name'", "title, text", "--title-column"],
    ),
    "a number for a text": ("number.jsonl", None, {}, ["line 1", "must be strings"]),
    "empty folder": ("empty", None, {}, ["holds no text", "--form"]),
    "no name": ("texts.jsonl", None, {"name": " "}, ["--name"]),
}


@pytest.mark.parametrize(("texts", "wanted", "more", "parts"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_one_line(tmp_path, texts, wanted, more, parts):
    jsonl(tmp_path)
    (tmp_path / "texts.pdf").write_text("x")
    (tmp_path / "bad.jsonl").write_text('{"title": "A", "text": "b"}\nno\n')
    (tmp_path / "number.jsonl").write_text('{"title": "A", "text": 5}\n')
    (tmp_path / "empty").mkdir()
    with pytest.raises((InputError, ConfigError)) as caught:
        source = texts if "://" in texts else str(tmp_path / texts)
        settings = {"name": "other", **more}
        path = titles(tmp_path, wanted) if wanted else None
        import_texts(ImportSettings(source, path, **settings), str(tmp_path / "run"), lambda p: None)
    one_line(caught, *parts)
