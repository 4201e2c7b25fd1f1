"""Private information and texts of others in all that a release is made of, and releases that are
whole or not there.
"""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from llmpedia.cli.main import main
from llmpedia.site.export.dataset import write_dataset
from llmpedia.site.export.pii import masked, private_hits
from llmpedia.site.export.release import Filter
from llmpedia.site.export.static_site import PARTS, StaticSettings, write_site
from llmpedia.store.run_folder import RunFolder
from tests.support.builders import site as site_builders
from tests.support.builders.runs import Child, Corpus, Visit, make_config
from tests.support.builders.site import commit_audit

MAIL = "ada@lovelace.org"
PHONE = "+49 30 901820"
STREET = "12 Main Street"
PROMPT = f"Hello\n{MAIL}\nand\n{PHONE}\nor\n{STREET}\nSpringfield, IL 62701"
PASSAGE = "Words of another."
JUDGED = "Words that the judge was shown."
URL = f"https://who.example.net/?of={MAIL}"


def chat(text: str) -> str:
    return json.dumps([{"role": "user", "content": text}], ensure_ascii=False)


def tell(rows):
    for article in rows["articles"]:
        article["wikitext"] = (
            f"'''Root''' was laid. See [[Leaf of {MAIL}]], [[army of {MAIL}]] and [[Left of {MAIL}|Left]]."
        )
    for row in rows["completions"]:
        row |= {"messages": chat(PROMPT), "text": json.dumps({"a": PROMPT}), "sampling": "{}"}
        row |= {"constraint": json.dumps({"enum": [f"Leaf of {MAIL}"]})}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Every place of a run that a page shows holds something private, every place of an audit words
    of others as well.
    """
    corpus = Corpus(
        tmp_path_factory.mktemp("made") / "run", make_config(run={"seed": f"Root of {MAIL}"})
    ).seed("Root")
    children = [Child(f"Leaf of {MAIL}"), Child(f"Left of {MAIL}"), Child(f"army of {MAIL}", "ner_rejected")]
    corpus.walk(Visit("Root", children), damage=tell)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site_builders, "_audited", audited(site_builders._audited))
        commit_audit(corpus.run, {0: ["Root was laid."]}, identity={"engine": {"model": "judge"}})
    return corpus.run


def audited(plain):
    def changed(number, claims):
        made = plain(number, claims)
        source = {
            "title": "T",
            "url": URL,
            "text": PASSAGE,
            "revision": "1",
            "fetched_at": "2026-01-01",
            "sha256": "0",
        }
        made["evidence"] = [row | {"sources": [source]} for row in made["evidence"]]
        made["completions"].append(
            made["completions"][0] | {"key": "judge", "stage": "verdict", "messages": chat(JUDGED)}
        )
        made["verdicts"] = [row | {"completion": "judge"} for row in made["verdicts"]]
        return made

    return changed


def site(run, out, **options):
    given = {"audits": (), "mask": True, "parts": PARTS, "evidence": False, "workers": 1}
    write_site(StaticSettings((run.uri,), **given | options), out, lambda *_: None)
    return {
        p.relative_to(out).as_posix(): p.read_text()
        for p in out.rglob("*")
        if p.suffix in (".html", ".json", ".js")
    }


@pytest.fixture(scope="module")
def pages(run, tmp_path_factory):
    return site(run, tmp_path_factory.mktemp("static") / "site")


@pytest.mark.parametrize("private", [MAIL, PHONE, STREET])
def test_no_page_tells_it_in_a_title_an_address_a_prompt_or_what_bound_an_answer(pages, private):
    assert [name for name, page in pages.items() if private in page] == []
    assert "(e-mail)" in pages["index.html"], "the seed that was asked for"


def test_links_of_masked_names_lead_where_they_did(pages):
    article = pages["r/run/a/0-root.html"]
    assert (
        '<a class="wl queued" href="../../../r/run/unwritten/0.html#e1"' in article
        and ">Leaf of (e-mail)</a>" in article
    )
    assert '#candidate-2" title="No article: The model judged' in article and ">Left</a>" in article
    assert "[[" not in article


def test_prompts_are_still_read_as_turns(pages):
    assert (
        "<h3>user</h3>" in pages["r/run/trace/0-root.html"]
        and "Hello\n(e-mail)\n" in pages["r/run/trace/0-root.html"]
    )


def test_words_of_others_are_on_no_page_unless_asked_for(run, pages, tmp_path):
    assert [name for name, page in pages.items() if PASSAGE in page or JUDGED in page] == []
    assert "No passage of it" not in pages["r/run/a/0-root.html"], "none was looked for"
    asked = site(run, tmp_path / "site", evidence=True)
    assert JUDGED in asked["r/run/trace/0-root.html"] and "No passage of it" in asked["r/run/a/0-root.html"]


def test_every_page_says_what_it_may_load(pages):
    for name, page in pages.items():
        if name.endswith(".html"):
            head, _, rest = page.partition(
                '<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;;'
            )
            assert rest and "<script" not in head and "<link" not in head, name


def test_the_page_for_what_is_not_there_needs_no_file_beside_it(pages):
    assert "href" not in pages["404.html"] and "src=" not in pages["404.html"]


def test_a_view_that_was_left_out_has_no_tab(run, pages, tmp_path):
    assert "Behind this page" in pages["r/run/a/0-root.html"]
    assert "Behind this page" not in site(run, tmp_path / "site", parts=("graph",))["r/run/a/0-root.html"]


def test_a_dataset_tells_it_nowhere_and_its_prompts_are_json(run, tmp_path):
    audits = [RunFolder.open(f"{run.uri}/audits/audit")]
    write_dataset(
        run,
        audits,
        tmp_path / "ds",
        ["articles", "entities", "claims", "completions"],
        "unknown",
        Filter("mask"),
    )
    told = {p.parent.name: pq.read_table(p).to_pylist() for p in (tmp_path / "ds").rglob("*.parquet")}
    whole = f"{told}{(tmp_path / 'ds/README.md').read_text()}"
    assert [private for private in (MAIL, PHONE, STREET) if private in whole] == []
    for row in told["completions"]:
        assert json.loads(row["messages"])[0]["content"].startswith("Hello\n(e-mail)\nand\n(phone)")
    assert "starting from Root of (e-mail) and" in whole


def test_no_line_of_a_setting_ends_the_block_it_stands_in(run, tmp_path, monkeypatch):
    said = run.description()
    identity = said["identity"] | {"note": "x\n```\n# Loud"}
    monkeypatch.setattr(run, "description", lambda: said | {"identity": identity})
    write_dataset(run, [], tmp_path / "ds", ["articles"], "unknown", Filter("mask"))
    block = (tmp_path / "ds/README.md").read_text().partition("## Configuration\n")[2]
    assert "Loud" in block and all(line.startswith("    ") for line in block.splitlines() if line)


@pytest.mark.parametrize("escaped", ["\\n", "\\t", "\\u00a0", '\\"', "\\\\", "\\/"])
def test_an_escape_hides_nothing_and_stays_whole(escaped):
    text = f'["so{escaped}{PHONE}{escaped}{MAIL}"]'
    assert [hit.text for hit in private_hits(text)] == [PHONE, MAIL]
    assert json.loads(masked(text)[0]) == json.loads(f'["so{escaped}(phone){escaped}(e-mail)"]')


# --- whole or not there


@pytest.mark.parametrize("kind", ["site", "huggingface", "jsonl"])
def test_another_machine_is_no_place_to_write(run, kind, capsys):
    assert main(["export", run.uri, "--to", kind, "--out", "s3://bucket/x"]) == 2
    said = capsys.readouterr().err
    assert (
        said.startswith("llmpedia: --out s3://bucket/x:")
        and said.count("\n") == 1
        and not Path("s3:").exists()
    )


def test_a_run_without_an_article_is_no_data(tmp_path, capsys):
    Corpus(tmp_path / "run").seed("Root")
    assert main(["export", str(tmp_path / "run"), "--to", "jsonl", "--out", str(tmp_path / "out.jsonl")]) == 2
    assert "holds no article yet" in capsys.readouterr().err and not (tmp_path / "out.jsonl").exists()
