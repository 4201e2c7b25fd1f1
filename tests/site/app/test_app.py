"""The site as a web app: every page and link, what stands behind an article, hostile text, headers,
damage, colours.
"""

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest

from tests.support.builders.runs import Child, Corpus, Visit, one_line, three_waves

pytest.importorskip("fastapi")
pytest.importorskip("nh3")


from llmpedia.cli.main import main
from llmpedia.cli.site import _listening
from llmpedia.errors import EXIT_BAD_INPUT, EXIT_DONE, ConfigError, InputError
from llmpedia.site.app import articles
from llmpedia.site.app.middleware import HEADERS
from llmpedia.site.data.run_reader import open_runs
from llmpedia.site.pages import charts, fates, views
from llmpedia.site.pages.charts import charts_page, counted, funnel_part
from llmpedia.site.pages.run_summary import story
from llmpedia.site.pages.templating import STATIC
from llmpedia.site.urls import OPTIONAL, LiveAddresses
from tests.support.site_pages import EVIL, FoundPage, add_audit, get, opened, with_texts


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Root with Left, Right (failed) and army (turned down); Left with Leaf; one claim, refuted."""
    folder = tmp_path_factory.mktemp("made")
    text = (
        "'''Root''' was laid in 1900. It has a [[Left]], a [[Right]] and an [[army]].\n== After "
        "==\nMuch came [[Root|later]]."
    )
    corpus = Corpus(folder / "run").seed("Root")
    children = [Child("Left"), Child("Right"), Child("Root", "self_or_loop"), Child("army", "ner_rejected")]
    corpus.walk(Visit("Root", children, lead="Root was laid in 1900."), damage=with_texts({"Root": text}))
    corpus.walk(
        Visit(
            "Left",
            [Child("Leaf"), Child("The Right", "duplicate", "Right"), Child("Right", "known", "Right")],
        ),
        Visit("Right", error="a refusal <b>"),
    )
    add_audit(str(folder / "run"), ["The root was laid in 1900."])
    return folder / "run"


@pytest.fixture
def audited(made, tmp_path):
    """The same, to be changed."""
    return Path(shutil.copytree(made, tmp_path / "run"))


# --- pages and links


def test_every_link_of_the_site_leads_somewhere_and_every_anchor_is_there(audited):
    runs, client = opened(audited)
    todo = ["/"]
    pages = {}
    while todo:
        path = todo.pop()
        answer = client.get(path)
        if answer.status_code == 307:
            todo.append(answer.headers["location"])
            pages[path] = None
            continue
        assert answer.status_code == 200, path
        pages[path] = FoundPage(answer.text) if "html" in answer.headers["content-type"] else None
        if pages[path]:
            links = [
                urljoin(path, href).partition("#")[0]
                for href in pages[path].hrefs
                if href.startswith(("/", "#"))
            ]
            todo += [link for link in dict.fromkeys(links) if link and link not in pages and link not in todo]
    assert {runs[0].entity(n).name for n in range(4)} == {"Root", "Left", "Right", "Leaf"}
    assert sum(path.endswith("/trace") for path in pages) == 4
    for path, page in pages.items():
        for href in page.hrefs if page else ():
            to, _, anchor = urljoin(path, href).partition("#")
            if anchor and href.startswith(("/", "#")):
                assert anchor in pages[to].ids, (path, href)


def test_an_id_stands_once_on_a_page(audited):
    _, client = opened(audited)
    for path in ("/r/run/", "/r/run/a/0-root", "/r/run/a/0-root/trace"):
        ids = get(client, path).ids
        assert len(ids) == len(set(ids)), path


def test_several_runs_have_a_page_of_their_own_and_names_of_their_own(tmp_path):
    three_waves(tmp_path / "a" / "run")
    three_waves(tmp_path / "b" / "run")
    runs, client = opened(tmp_path / "a" / "run", tmp_path / "b" / "run")
    page = get(client, "/")
    assert [href for href in page.hrefs if href.startswith("/r/")] == [f"/r/{run.name}/" for run in runs]
    assert len({run.name for run in runs}) == 2


def test_a_number_alone_or_with_another_name_leads_to_the_right_address(audited):
    _, client = opened(audited)
    for path in ("/r/run/a/1", "/r/run/a/1-something"):
        assert client.get(path).headers["location"] == "/r/run/a/1-left"


@pytest.mark.parametrize(
    "path",
    [
        "/r/none/",
        "/r/run/a/99-x",
        "/r/run/a/x",
        "/r/run/a/-1",
        f"/r/run/a/{'9' * 5000}",
        "/x",
        "/static/../app.py",
    ],
)
def test_what_is_not_there_is_a_page_that_says_so(audited, path):
    _, client = opened(audited)
    assert "Not found" in get(client, path, 404).text


@pytest.mark.parametrize("query", ["hop=x", "page=0", "page=-1", "hop=", f"letter={'x' * 400}"])
def test_an_address_that_makes_no_sense_is_refused_in_words(audited, query):
    _, client = opened(audited)
    assert "not understood" in get(client, f"/r/run/list?{query}", 400).text


@pytest.mark.parametrize("query", [f"hop={10**30}", "letter=%00", "letter=%FF"])
def test_a_list_without_articles_says_so(audited, query):
    _, client = opened(audited)
    assert "No article stands here" in get(client, f"/r/run/list?{query}").text


def test_a_long_list_is_in_pages_that_hold_every_article_once(tmp_path, monkeypatch):
    monkeypatch.setattr(views, "NAMES_A_PAGE", 3)
    names = [f"N{n:02}" for n in range(10)]
    Corpus(tmp_path / "run").seed(*names).walk(*(Visit(name) for name in names))
    _, client = opened(tmp_path / "run")
    shown = []
    path = "/r/run/list"
    while path:
        page = get(client, path)
        shown += [href for href in page.hrefs if "/a/" in href]
        path = next((a["href"] for tag, a in page.tags if a.get("rel") == "next"), None)
    assert shown == [f"/r/run/a/{n}-n{n:02}" for n in range(10)]


def test_search_finds_as_a_page_and_as_data(audited):
    _, client = opened(audited)
    page = get(client, "/r/run/search?q=lef")
    assert page.link("/a/1-left") and "on lef here" in page.text
    assert [tag for tag, _ in page.tags].count("mark") == 1
    hits = client.get("/r/run/search.json?q=lef").json()["hits"]
    bits = [{"text": "on ", "hit": False}, {"text": "lef", "hit": True}, {"text": " here", "hit": False}]
    assert hits == [{"name": "Left", "href": "/r/run/a/1-left", "snippet": bits}]
    assert client.get("/r/run/search.json?q=").json() == {"hits": []}


def test_waves_that_are_committed_while_one_reads_are_taken_up(tmp_path):
    corpus = Corpus(tmp_path / "run").seed("Root")
    _, client = opened(tmp_path / "run")
    assert "No article has been written yet" in get(client, "/").text
    corpus.walk(Visit("Root", [Child("Left")]))
    assert get(client, "/").link("/a/0-root")


# --- an article


def test_links_tell_whether_their_article_is_there_waits_or_was_turned_down_and_why(audited):
    _, client = opened(audited)
    page = get(client, "/r/run/a/0-root")
    body = {
        a["href"]: a for tag, a in reversed(page.tags) if tag == "a" and "wl" in a.get("class", "")
    }  # the first of each
    assert body["/r/run/a/1-left"]["class"] == "wl"
    assert body["/r/run/a/2-right"]["class"] == "wl queued" and "failed" in body["/r/run/a/2-right"]["title"]
    red = body["/r/run/a/0-root/trace#candidate-3"]
    assert red["class"] == "wl red" and fates.meaning("ner_rejected").sentence in red["title"]
    assert "later" in page.text and "/r/run/a/0-root" not in body  # a link to the page itself is no link


def test_an_entity_without_an_article_says_why(audited):
    _, client = opened(audited)
    assert (
        "failed at the stage article" in (page := get(client, "/r/run/a/2-right")).text
        and "a refusal <b>" in page.text
    )
    assert "not" in get(client, "/r/run/a/3-leaf").text and "queued" in get(client, "/r/run/a/3-leaf").text


def test_path_aliases_and_where_it_was_named(audited):
    _, client = opened(audited)
    right = get(client, "/r/run/a/2-right")
    leaf = get(client, "/r/run/a/3-leaf")
    assert "Also known as The Right" in right.text
    assert [href for href in leaf.hrefs if "/a/" in href][:2] == ["/r/run/a/0-root", "/r/run/a/1-left"]
    assert "“On Leaf.”" in leaf.text


def test_a_claim_stands_at_its_sentence_with_verdict_source_and_passage(audited):
    _, client = opened(audited)
    page = get(client, "/r/run/a/0-root")
    ref = page.link("#claim-1")
    assert ref["class"] == "ref refuted" and page.link("#s0")["href"] == "#s0"
    assert "Refuted by Wikipedia" in page.text and "so it says" in page.text and "revision 77" in page.text
    assert "The root was laid in 1900 by masons." in page.text
    source = page.link("https://en.wikipedia.org/wiki/Root")
    assert source["rel"] == "noopener noreferrer nofollow"


def test_claims_of_several_audits_are_numbered_through(audited):
    add_audit(str(audited), ["It has a left.", "Much came later."], "supported", name="second")
    _, client = opened(audited)
    page = get(client, "/r/run/a/0-root")
    assert [i for i in page.ids if i.startswith("claim-")] == ["claim-1", "claim-2", "claim-3"]


def test_one_audit_can_be_asked_for_and_one_that_is_not_there_is_named(audited):
    add_audit(str(audited), ["It has a left."], name="second")
    run = open_runs([str(audited)], ["second"])[0]
    run.refresh()
    assert run.audit_names == ["second"]
    with pytest.raises(InputError) as caught:
        open_runs([str(audited)], ["second", "third"])
    one_line(caught, "--audit third")


def test_what_stands_behind_an_article_is_word_for_word_there(audited):
    def ask(rows):
        rows["completions"][0]["messages"] = json.dumps([{"role": "system", "content": "Be <i>brief</i>"}])
        rows["completions"][0]["text"] = "raw {answer"

    Corpus(audited.parent / "two").seed("Root").walk(
        Visit("Root", [Child("Left"), Child("army", "ner_rejected")]), damage=ask
    )
    runs, client = opened(audited.parent / "two")
    page = get(client, "/r/two/a/0-root/trace")
    assert "Be <i>brief</i>" in page.text and "raw {answer" in page.text
    asked = [row["key"] for row in runs[0].completions(0)]
    assert len([i for i in page.ids if i.startswith("answer-")]) == len(asked) == 3
    decisions = [a for tag, a in page.tags if tag == "a" and "answer-ner" in a["href"]]
    assert len(decisions) == 2


def test_the_trace_leads_from_a_sentence_to_its_article_and_to_the_judge(audited):
    _, client = opened(audited)
    page = get(client, "/r/run/a/0-root/trace")
    assert page.link("/a/0-root#s0") and page.link("/a/0-root#claim-1")
    assert {"answer-k1", "answer-k2"} <= set(page.ids) and page.link("#answer-k2")
    assert "it is said" in page.text


# --- the story


def test_the_home_page_shows_the_numbers_of_the_charts(audited, monkeypatch):
    monkeypatch.setattr(articles, "_WAIT", 30)
    runs, client = opened(audited)
    bars = funnel_part(runs[0], counted(runs[0]))["funnel"]
    assert [(n, lost) for _, n, _, lost in bars] == [(7, 0), (6, 1), (5, 1), (4, 1), (3, 1), (3, 0)]
    (chart,) = [
        chart
        for chart in charts_page(runs[0], counted(runs[0]), LiveAddresses(OPTIONAL))["charts"]
        if chart.anchor == "funnel"
    ]
    assert [(label, f"{n:,}") for label, n, _, _ in bars] == [
        (line.label, line.text.split()[0]) for line in chart.lines
    ]
    page = get(client, "/")
    assert "judged to be an entity 4 −1" in page.text and "being counted" not in page.text


def test_a_name_known_after_the_entity_check_passes_that_check_on_the_home_page(tmp_path):
    late = Child("Root", "known")

    def asked(rows):
        for row in rows["candidates"]:
            row["ner_completion"] = row["ner_completion"] or "k"

    Corpus(tmp_path / "run").seed("Root").walk(Visit("Root", [Child("Left")])).walk(
        Visit("Left", [late]), damage=asked
    )
    (run,), _ = opened(tmp_path / "run")
    bars = {label: n for label, n, _, _ in funnel_part(run, counted(run))["funnel"]}
    assert (
        bars["not known before"],
        bars["judged to be an entity"],
        bars["no other name of a known one"],
    ) == (2, 2, 1)


def test_the_home_page_does_not_wait_for_the_counting(audited, monkeypatch):
    going = threading.Event()
    monkeypatch.setattr(charts, "counted", lambda run: going.wait(30) and counted(run))
    _, client = opened(audited)
    page = get(client, "/")
    going.set()
    assert "is being counted" in page.text and page.link("/r/run/")


def test_a_list_ends_with_its_last_page(audited):
    _, client = opened(audited)
    get(client, "/r/run/list?page=1")
    assert "no page 99: its last one is 1" in get(client, "/r/run/list?page=99", 404).text
    get(client, f"/r/run/list?page={10**30}", 404)


def test_the_story_tells_hops_and_what_audits_found(audited):
    runs, _ = opened(audited)
    told = story(runs[0])
    assert [(h.hop, h.entities, h.written) for h in told.hops] == [(0, 1, 1), (1, 2, 1), (2, 1, 0)]
    assert [(f.audit, f.tier, f.articles, f.shares["true"], f.shares["false"]) for f in told.audits] == [
        ("check", "Wikipedia", 1, 0.0, 1.0)
    ]


# --- hostile text, headers, damage


def test_hostile_text_is_shown_and_never_run(tmp_path):
    lead = (
        f"{EVIL} [[{'x' * 300}]] [[Left|{EVIL}]] {{{{Infobox|a={EVIL}}}}} [javascript:alert(1) "
        f"x] <svg onload=alert(1)>"
    )
    bad = Child("Left"), Child("\u202eevil ../x AC/DC"), Child('"><script>x</script>', "ner_rejected")

    def hurt(rows):
        with_texts({"Root": lead})(rows)
        rows["candidates"][2]["reason"] = EVIL
        for row in rows["completions"]:
            row["text"] = row["messages"] = EVIL

    Corpus(tmp_path / "run").seed("Root").walk(Visit("Root", list(bad), lead=EVIL), damage=hurt).walk(
        Visit("Left", error=EVIL)
    )
    add_audit(str(tmp_path / "run"), [EVIL], url="javascript:alert(3)")
    _, client = opened(tmp_path / "run")
    for path in (
        "/",
        "/r/run/a/0-root",
        "/r/run/a/0-root/trace",
        "/r/run/a/1-left",
        "/r/run/list",
        "/r/run/search?q=%3Cscript%3E",
    ):
        page = get(client, path)
        for tag, attributes in page.tags:
            assert tag not in ("style", "iframe", "object", "embed", "base", "img"), (path, tag)
            assert not [
                name
                for name in attributes
                if name.startswith("on") or name in ("style", "srcdoc", "formaction")
            ], (
                path,
                tag,
            )
            assert tag != "script" or attributes["src"].startswith("/static/"), path
        for href in page.hrefs:
            assert urlsplit(href).scheme in ("", "http", "https") and not href.startswith("//"), (path, href)
    assert "alert(1)" in get(client, "/r/run/a/0-root").text


def test_every_answer_forbids_what_comes_from_elsewhere(audited, monkeypatch):
    _, client = opened(audited)
    (audited / "tables/articles/wave=00002/part.parquet").write_bytes(b"no parquet")
    answers = [
        client.get(path)
        for path in ("/", "/x", "/r/run/a/1", "/static/site.css", "/r/run/a/1-left", "/r/run/search.json?q=a")
    ]
    answers += [client.get("/", headers={"Host": "evil.example"}), client.post("/")]
    monkeypatch.setattr(views, "home_page", lambda run: 1 / 0)
    answers.append(client.get("/"))
    assert [a.status_code for a in answers] == [200, 404, 307, 200, 500, 200, 421, 405, 500]
    for answer in answers:
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS


@pytest.mark.parametrize("host", ["localhost:8080", "127.0.0.1", "[::1]:8080", "LOCALHOST"])
def test_this_machine_is_answered_under_its_own_names(audited, host):
    _, client = opened(audited)
    assert client.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8080", "", "127.0.0.1@evil"]
)
def test_a_foreign_name_is_not_answered(audited, host):
    _, client = opened(audited)
    assert client.get("/", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_sent(audited, method):
    _, client = opened(audited)
    for path in ("/", "/r/run/a/0-root", "/r/run/search"):
        assert client.request(method, path).status_code == 405


def test_a_damaged_file_is_one_line_on_a_page_and_no_traceback(audited):
    _, client = opened(audited)
    (audited / "tables/articles/wave=00002/part.parquet").write_bytes(b"no parquet")
    page = get(client, "/r/run/a/1-left", 500)
    assert "damaged" in page.text and "Traceback" not in page.text and 'File "' not in page.text


def test_a_defect_is_a_page_without_a_traceback_and_the_log_has_it(audited, monkeypatch, caplog):
    _, client = opened(audited)
    monkeypatch.setattr(views, "home_page", lambda run: 1 / 0)
    page = get(client, "/", 500)
    assert "ZeroDivisionError" not in page.text and "Something went wrong" in page.text
    assert "ZeroDivisionError" in caplog.text


# --- colours and files


def colours() -> dict[str, tuple[str, str]]:
    found = re.findall(r"--(\w+): light-dark\((#\w{6}), (#\w{6})\);", (STATIC / "site.css").read_text())
    return {name: (light, dark) for name, light, dark in found}


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, contrast ratio of two sRGB colours."""

    def luminance(colour):
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_computed_as_published():
    assert contrast("#000000", "#ffffff") == pytest.approx(21) and contrast(
        "#777777", "#ffffff"
    ) == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["paper", "panel", "glow", "wrong", "unsure"])
def test_text_can_be_read_on_every_ground(mode, ground):
    found = colours()
    for text in ("ink", "muted", "link", "visited", "queued", "red", "good", "doubt"):
        assert contrast(found[text][mode], found[ground][mode]) >= 4.5, text


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_edges_of_fields_bars_and_focus_can_be_seen(mode):
    found = colours()
    for mark in ("edge", "focus", "bar"):
        for ground in ("paper", "panel"):
            assert contrast(found[mark][mode], found[ground][mode]) >= 3, (mark, ground)


def test_all_colours_are_among_those_that_are_checked():
    css = (STATIC / "site.css").read_text()
    rest = re.sub(r"--\w+: light-dark\([^)]*\);", "", css)
    assert set(re.findall(r"#[0-9a-fA-F]{3,8}\b", rest)) <= {"#fff"}  # paper, printed
    assert set(re.findall(r"var\(--(\w+)\)", css)) <= set(colours()) | {"serif", "sans", "mono"}


def test_nothing_is_loaded_from_elsewhere():
    for path in STATIC.iterdir():
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|@import|url\(|eval\(|innerHTML", text), path


# --- the command


def test_a_port_that_is_taken_is_named_in_one_line():
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ConfigError) as caught:
        _listening("127.0.0.1", port := taken.getsockname()[1])
    one_line(caught, f"--port {port}", "give another --port")


@pytest.mark.parametrize(
    ("host", "port", "named", "never"),
    [
        ("127.0.0.1", 65_536, "--port 65536: must be 0 to 65535", "--host"),
        ("127.0.0.1", -1, "--port -1: must be 0 to 65535", "--host"),
        ("no such host", 0, "--host no such host", "--port"),
        ("192.0.2.1", 0, "--host 192.0.2.1", "--port"),
        (f"{'a' * 70}.x", 0, "--host a", "--port"),
    ],
)
def test_the_option_at_fault_is_named(host, port, named, never):
    with pytest.raises(ConfigError) as caught:
        _listening(host, port)
    one_line(caught, named, "give")
    assert never not in str(caught.value)


def test_a_folder_that_is_no_run_is_named_also_where_the_port_is_taken(tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["browse", str(tmp_path), "--port", str(taken.getsockname()[1])]) == EXIT_BAD_INPUT
    told = capsys.readouterr().err
    assert str(tmp_path) in told and "--port" not in told


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_it_can_listen_on_the_other_loopback_address():
    with _listening("::1", 0) as listening, socket.create_connection(("::1", listening.getsockname()[1])):
        pass


def test_a_folder_that_is_no_run_ends_the_command(tmp_path, capsys):
    assert main(["browse", str(tmp_path), "--port", "0"]) == EXIT_BAD_INPUT
    assert str(tmp_path) in capsys.readouterr().err


def test_browse_serves_until_it_is_interrupted(audited, monkeypatch, tmp_path):
    monkeypatch.setenv("LLMPEDIA_CACHE", str(tmp_path / "cache"))
    command = [sys.executable, "-m", "llmpedia.cli", "browse", str(audited), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as served:
        address = next(line for line in served.stdout if line.startswith("http://127.0.0.1:")).split()[0]
        with urllib.request.urlopen(address) as answer:
            assert "Root" in answer.read().decode()
        served.send_signal(signal.SIGINT)
        _, errors = served.communicate(timeout=30)
    assert (served.returncode, errors) == (EXIT_DONE, "")
