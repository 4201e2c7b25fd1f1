"""What leaves the machine: datasets, JSON lines, static sites; private information masked, counted
and listed.
"""

import csv
import gzip
import json
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow.parquet as pq
import pytest

from llmpedia.cli.export import _say_private
from llmpedia.cli.main import main
from llmpedia.errors import InputError
from llmpedia.importing.run import ImportSettings, import_texts
from llmpedia.site.export.dataset import write_dataset, write_jsonl
from llmpedia.site.export.release import RELEASED, Filter
from llmpedia.site.export.static_site import PARTS, StaticSettings, write_site
from tests.support.builders.runs import Child, Corpus, Visit, one_line
from tests.support.builders.site import commit_audit
from tests.support.harness import free_port, wait_for
from tests.support.site_server import Watched, browser

MAIL = "ada@lovelace.org"
TEXT = (
    f"'''Root''' was laid in 1900 by masons. Write to {MAIL} about the [[Left]] and the "
    f"[[army]].\n== After ==\nZola came."
)
TABLES = ["articles", "entities", "claims", "completions"]
OFFLINE = """
import datasets, sys
for name in sys.argv[2:]:
    print(name, datasets.load_dataset(sys.argv[1], name)["train"].num_rows)
"""


def written(texts):
    def change(rows):
        for article in rows["articles"]:
            article["wikitext"] = texts.get(article["name"], article["wikitext"])
            article["lead"] = article["wikitext"][:60]

    return change


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Root with Left and army (turned down), Left with Leaf (never visited) and an alias that is an
    address.
    """
    corpus = Corpus(tmp_path_factory.mktemp("made") / "run").seed("Root")
    corpus.walk(Visit("Root", [Child("Left"), Child("army", "ner_rejected")]), damage=written({"Root": TEXT}))
    corpus.walk(Visit("Left", [Child("Leaf"), Child(f"Leaf of {MAIL}", "duplicate", "Leaf")]))
    judged_by = {"engine": {"model": "judge"}}
    commit_audit(corpus.run, {0: ["Root was laid in 1900.", f"One writes to {MAIL}."]}, identity=judged_by)
    return corpus


@pytest.fixture
def audits(corpus):
    from llmpedia.store.run_folder import RunFolder

    return [RunFolder.open(f"{corpus.run.uri}/audits/audit")]


def settings(corpus, **options):
    given = {"audits": (), "mask": True, "parts": PARTS, "evidence": False, "workers": 1}
    return StaticSettings((corpus.run.uri,), **{**given, **options})


def everything(folder: Path) -> str:
    return "\n".join(
        p.read_text(errors="replace")
        for p in sorted(folder.rglob("*"))
        if p.suffix in (".html", ".md", ".json")
    )


# --- data


def test_a_dataset_is_loaded_offline_table_by_table(corpus, audits, tmp_path):
    done = write_dataset(corpus.run, audits, tmp_path / "ds", TABLES, "cc-by-4.0", Filter("mask"))
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")}
    asked = [sys.executable, "-c", OFFLINE, str(tmp_path / "ds"), *TABLES]
    told = subprocess.run(asked, env=env, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr[-2000:]
    assert dict(line.split() for line in told.stdout.splitlines()) == {
        t: str(n) for t, n in done.rows.items()
    }
    # Two articles; Root, Left, Leaf; two claims with a verdict of two tiers each.
    assert {t: done.rows[t] for t in TABLES[:3]} == {"articles": 2, "entities": 3, "claims": 4}


def test_the_card_tells_model_licence_columns_and_counts(corpus, audits, tmp_path):
    write_dataset(corpus.run, audits, tmp_path / "ds", TABLES, "cc-by-4.0", Filter("mask"))
    card = (tmp_path / "ds/README.md").read_text()
    assert "license: cc-by-4.0" in card and "- model: m\n" in card and "### articles (2 rows)" in card
    assert all(f"| {f.name} |" in card for name in TABLES for f in RELEASED[name])
    assert "- email in articles:" in card


def test_a_card_without_claims_names_no_such_table(corpus, tmp_path):
    write_dataset(corpus.run, [], tmp_path / "ds", TABLES, "unknown", Filter("mask"))
    card = (tmp_path / "ds/README.md").read_text()
    assert "`claims`" not in card and "**Nothing in them is checked**; read" in card


def test_an_imported_encyclopedia_is_not_said_to_be_a_models(tmp_path):
    texts = tmp_path / "others.jsonl"
    texts.write_text('{"title": "Ada", "text": "Ada wrote notes."}\n')
    run = import_texts(ImportSettings(str(texts), None, "Otherpedia"), str(tmp_path / "run"), lambda _: None)
    write_dataset(run, [], tmp_path / "ds", ["articles", "entities"], "unknown", Filter("mask"))
    card = (tmp_path / "ds/README.md").read_text()
    assert (
        "# Articles of Otherpedia, imported from others.jsonl\n" in card
        and "- encyclopedia: Otherpedia\n" in card
    )
    assert not [words for words in ("from memory", "language model", "None", "synthetic") if words in card]
    write_site(StaticSettings((run.uri,), (), True, PARTS, False, 1), tmp_path / "site", lambda *_: None)
    home, article, trace = (
        (tmp_path / "site" / name).read_text()
        for name in ("index.html", "r/run/a/0-ada.html", "r/run/trace/0-ada.html")
    )
    (row,) = run.read("imports").to_pylist()
    assert (
        "imported from <b><bdi>others.jsonl</bdi></b>" in home
        and row["sha256"] in trace
        and "read from a file" in trace
    )
    for page in (home, article, trace):
        assert "imported as they stood there" in page and str(tmp_path) not in page
        wrong = (
            "A language model wrote",
            "was written by a language model",
            "Planned and written",
            "not kept",
            "a seed",
            "None",
        )
        assert not [words for words in wrong if words in page]


def test_private_information_is_masked_everywhere_counted_and_listed_beside_the_release(
    corpus, audits, tmp_path
):
    done = write_dataset(corpus.run, audits, tmp_path / "ds", TABLES, "unknown", Filter("mask"))
    for path in (tmp_path / "ds").rglob("*.parquet"):
        assert MAIL not in str(pq.read_table(path).to_pylist()), path
    assert MAIL not in everything(tmp_path / "ds")
    assert done.listed == tmp_path / "ds.private.csv"
    with done.listed.open(encoding="utf-8-sig") as file:
        listed = list(csv.DictReader(file))
    assert {row["text"] for row in listed} == {MAIL}
    assert sum(done.private.values()) == len(listed)
    # Once an entity, whatever says it: both articles (Left links the alias), and one claim in two
    # tiers.
    assert done.private["articles", "email"] == 2 and done.private["claims", "email"] == 1
    assert [row["columns"] for row in listed if row["table"] == "articles"] == ["wikitext, text"] * 2


def test_what_is_kept_is_counted_all_the_same(corpus, audits, tmp_path):
    done = write_dataset(corpus.run, audits, tmp_path / "ds", ["articles"], "unknown", Filter("keep"))
    assert MAIL in str(pq.read_table(tmp_path / "ds/articles/00000.parquet").to_pylist())
    assert done.private["articles", "email"] == 2


def test_a_run_without_private_information_makes_no_list(tmp_path, capsys):
    corpus = Corpus(tmp_path / "run").seed("Root").walk(Visit("Root"))
    done = write_jsonl(corpus.run, [], tmp_path / "run.jsonl", Filter("mask"))
    assert done.listed is None and not list(tmp_path.glob("*.private.csv"))
    _say_private(done.private, done.listed, "mask")
    assert capsys.readouterr().out == "private information: none found\n"


def test_json_lines_hold_an_article_each_with_its_claims_and_are_the_same_each_time(corpus, audits, tmp_path):
    done = write_jsonl(corpus.run, audits, tmp_path / "a.jsonl", Filter("mask"))
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [(row["title"], len(row["claims"])) for row in rows] == [("Root", 4), ("Left", 0)]
    assert done.rows == {"articles": 2, "claims": 4}
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        write_jsonl(corpus.run, audits, tmp_path / name, Filter("mask"))
    assert (tmp_path / "a.jsonl.gz").read_bytes()[10:] == (tmp_path / "b.jsonl.gz").read_bytes()[10:]
    assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()) == (tmp_path / "a.jsonl").read_bytes()


def test_nothing_is_written_over(corpus, audits, tmp_path):
    (tmp_path / "there").mkdir()
    for write in (
        lambda: write_dataset(corpus.run, audits, tmp_path / "there", TABLES, "unknown", Filter("mask")),
        lambda: write_jsonl(corpus.run, audits, tmp_path / "there", Filter("mask")),
        lambda: write_site(settings(corpus), tmp_path / "there", lambda *_: None),
    ):
        with pytest.raises(InputError) as caught:
            write()
        one_line(caught, "--out", tmp_path / "there", "already", "new path")


# --- the command


@pytest.mark.parametrize(
    ("to", "given", "kind"),
    [
        ("jsonl", ["--completions"], "huggingface"),
        ("site", ["--licence", "mit"], "huggingface"),
        ("huggingface", ["--without", "trace"], "site"),
        ("jsonl", ["--evidence"], "site"),
        ("huggingface", ["--workers", "1"], "site"),
    ],
)
def test_an_option_of_another_target_is_refused(corpus, tmp_path, capsys, to, given, kind):
    assert main(["export", corpus.run.uri, "--to", to, "--out", str(tmp_path / "out.jsonl"), *given]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{given[0]}: is for --to {kind}, not for --to {to}" in line and "leave it out" in line
    assert not list(tmp_path.iterdir())


def test_json_lines_have_a_name_that_says_so(corpus, tmp_path, capsys):
    assert main(["export", corpus.run.uri, "--to", "jsonl", "--out", str(tmp_path / "demo")]) == 2
    assert "must end in .jsonl, or in .jsonl.gz" in capsys.readouterr().err


def test_claims_and_verdicts_are_counted_apart(corpus, tmp_path, capsys):
    assert main(["export", corpus.run.uri, "--to", "jsonl", "--out", str(tmp_path / "a.jsonl")]) == 0
    assert "2 articles, 2 claims with 4 verdicts\n" in capsys.readouterr().out


def test_what_is_wrong_is_said_before_a_bar_is_drawn(corpus, tmp_path, capsys):
    (tmp_path / "there").mkdir()
    for run, out in ((corpus.run.uri, tmp_path / "there"), (str(tmp_path), tmp_path / "new")):
        assert main(["export", run, "--to", "site", "--out", str(out)]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


# --- the static site


class Links(HTMLParser):
    """Addresses and ids of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.to = []
        self.ids = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids.add(found.get("id"))
        self.to += [found[name] for name in ("href", "src", "action") if found.get(name)]


@pytest.fixture(scope="module")
def static(corpus, tmp_path_factory):
    out = tmp_path_factory.mktemp("static") / "site"
    write_site(settings(corpus), out, lambda *_: None)
    return out


def test_every_link_of_every_page_is_relative_and_leads_to_a_file_and_a_place_in_it(static):
    pages = {path: Links(path.read_text()) for path in static.rglob("*.html")}
    assert len(pages) > 10
    for path, page in pages.items():
        for address in page.to:
            parts = urlsplit(address)
            if parts.scheme in ("http", "https"):
                continue
            assert not parts.scheme and not address.startswith("/"), (path, address)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), (path, address)
            if parts.fragment and target.suffix == ".html":
                assert unquote(parts.fragment) in pages[target].ids, (path, address)


def test_an_entity_without_an_article_has_its_place_on_a_shared_page(static):
    (article,) = (static / "r/run/a").glob("1-left.html")
    assert "unwritten/0.html#e2" in article.read_text()
    assert 'id="e2"' in (static / "r/run/unwritten/0.html").read_text()


def test_private_information_is_on_no_page(static):
    assert MAIL not in everything(static)


def test_prompts_and_evidence_are_left_out_on_demand(corpus, tmp_path):
    write_site(settings(corpus, parts=()), tmp_path / "site", lambda *_: None)
    assert not (tmp_path / "site/r/run/trace").exists()
    assert "trace/" not in everything(tmp_path / "site")


def test_the_bytes_do_not_depend_on_the_number_of_processes(corpus, static, tmp_path):
    write_site(settings(corpus, workers=2), tmp_path / "site", lambda *_: None)
    names = sorted(p.relative_to(static) for p in static.rglob("*.html"))
    assert names == sorted(p.relative_to(tmp_path / "site") for p in (tmp_path / "site").rglob("*.html"))
    assert [n for n in names if (static / n).read_bytes() != (tmp_path / "site" / n).read_bytes()] == []


def test_the_static_site_is_read_and_searched_in_a_browser(static):
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "http.server",
        str(port),
        "--bind",
        "127.0.0.1",
        "--directory",
        str(static),
    ]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        with browser() as opened:
            watched = Watched(opened, f"http://127.0.0.1:{port}")
            page = watched.page
            page.goto("/index.html")
            page.fill("#q", "zola")
            page.wait_for_selector("#suggestions li", timeout=20_000)
            assert page.inner_text("#suggestions mark") == "Zola"
            assert "After. Zola came." in page.inner_text("#suggestions .bit")
            for furniture in ("words", "named", "audit", "graph"):  # of the box, the claims and the tabs
                page.goto(f"/r/run/search.html?q={furniture}")
                page.wait_for_selector("#found-status:has-text('found for')")
                assert page.inner_text("#found-status") == f"0 found for {furniture}"
            page.goto("/index.html")
            page.fill("#q", "zola")
            page.wait_for_selector("#suggestions li", timeout=20_000)
            page.press("#q", "Enter")
            page.wait_for_selector("#found li")
            assert page.inner_text("#found mark") == "Zola"
            page.click("#found li a")
            assert page.url.endswith("/r/run/a/0-root.html")
            page.click("article a.wl:has-text('Left')")
            assert page.url.endswith("/r/run/a/1-left.html")
            assert (watched.outside, watched.wrong) == ([], [])
    finally:
        server.terminate()
        server.wait(10)


def test_two_runs_are_set_beside_each_other(corpus, tmp_path):
    other = Corpus(tmp_path / "other").seed("Root")
    other.walk(Visit("Root"), damage=written({"Root": "'''Root''' was laid in 1901 by sailors."}))
    both = StaticSettings((corpus.run.uri, other.run.uri), (), True, PARTS, False, 1)
    write_site(both, tmp_path / "site", lambda *_: None)
    assert "1901" in (tmp_path / "site/r/run/compare/other/0-root.html").read_text()
    assert not (tmp_path / "site/r/run/compare/other/1-left.html").exists()
    test_every_link_of_every_page_is_relative_and_leads_to_a_file_and_a_place_in_it(tmp_path / "site")


def test_a_subject_that_failed_in_one_run_has_no_link_to_a_comparison(tmp_path):
    for name, error in (("one", "refusal"), ("two", None)):
        corpus = Corpus(tmp_path / name).seed("Root")
        corpus.walk(Visit("Root", [Child("Left")])).walk(Visit("Left", error=error))
    both = StaticSettings((str(tmp_path / "one"), str(tmp_path / "two")), (), True, PARTS, False, 1)
    write_site(both, tmp_path / "site", lambda *_: None)
    assert "compare/" not in (tmp_path / "site/r/one/a/1-left.html").read_text()
    assert "compare/" in (tmp_path / "site/r/one/a/0-root.html").read_text()
    test_every_link_of_every_page_is_relative_and_leads_to_a_file_and_a_place_in_it(tmp_path / "site")
