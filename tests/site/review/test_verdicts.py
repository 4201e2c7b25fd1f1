"""The review pages: the command's own sheets, saved row by row, whoever else writes them; forms of
this site alone.
"""

import csv
from pathlib import Path

import pytest

from tests.support.builders.audit import audit_config
from tests.support.builders.probe_folders import built
from tests.support.builders.runs import Child, Corpus, Visit, one_line
from tests.support.site_pages import FoundPage

pytest.importorskip("fastapi")
pytest.importorskip("nh3")

from starlette.testclient import TestClient

from llmpedia.audit.audit_folder import review_rows
from llmpedia.audit.review import read_sheet, write_sheet
from llmpedia.audit.run import audit_tables
from llmpedia.cli.main import main
from llmpedia.cli.site import _desk, _is_local
from llmpedia.errors import EXIT_DONE, InputError
from llmpedia.probe.pipeline.review import take_review, write_review_sheet
from llmpedia.probe.pipeline.review_sheet import REASONS
from llmpedia.probe.pipeline.review_sheet import read_sheet as read_groups
from llmpedia.review_csv import read_whole, safe_cell, shown_cell
from llmpedia.site.app.app import create_app
from llmpedia.site.data.run_reader import open_runs
from llmpedia.site.review.sheet import entered
from llmpedia.site.review.store import Desk, open_builds
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import RunFolder

EVIL = "=HYPERLINK(1)<script>alert(1)</script>"
VERDICTS = ("supported", "refuted", "insufficient")
ROOT = [f"It has {word}." for word in ("a tower", "a gate", "walls", "two wells", "a moat", "no roof")]
READER = {"agree", "correct_verdict", "comment"}
ORIGIN = {"Origin": "http://127.0.0.1:8080"}
SHEET = "/r/run/review/check.wikipedia.2.seed42"
FILE = "run.check.wikipedia.2.seed42.csv"


class NoSearch:
    """No text is searched here."""

    note = None

    def find(self, query, most):
        return []

    def refresh(self):
        pass


def add_audit(uri, claims, name="check"):
    """An audit of the first article whose claims are supported, refuted, insufficient in turn, in
    both tiers.
    """
    run = RunFolder.open(str(uri))
    about = {"run": run.uri, "waves": len(run.manifests), "last_manifest": run.manifests[-1].sha256}
    config = audit_config().model_dump(mode="json")
    described = {"kind": "audit", "identity_hash": name, "identity": {}, "seeds": [], "prompts": {}}
    audit = RunFolder.create_or_open(
        f"{run.uri}/audits/{name}", described | {"audited": about, "config": config}
    )
    item = {"position": 0, "subject_id": 0, "name": "Root", "hop": 0, "strata": ["random"]}
    source = {
        "title": "Root <b>",
        "url": "https://en.wikipedia.org/wiki/Root",
        "revision": "7",
        "fetched_at": "2026-01-02T03:04:05Z",
    }
    source |= {
        "score": None,
        "how": "wikitext",
        "text": f"Root is old. It has a tower and a moat. {EVIL} Nothing else is known.",
    }
    none = dict.fromkeys(("reason", "completion"))
    visit = {
        "words": 10,
        "claims": claims,
        "claims_error": None,
        "claims_completion": None,
        "evidence": [
            {
                "subject_id": 0,
                "tier": t,
                "outcome": o,
                "detail": None,
                "provider": "p",
                "sources": [source],
                "attempts": [],
            }
            for t, o in (("wikipedia", "found"), ("web", "pages"))
        ],
        "verdicts": [
            none
            | {"claim": n, "tier": tier, "verdict": VERDICTS[n % 3], "confidence": 0.25, "coerced": False}
            | {"explanation": f"- because {EVIL}", "error_type": "temporal" if n % 3 == 1 else None}
            for tier in ("wikipedia", "web")
            for n in range(len(claims))
        ],
        "completions": [],
    }
    with Lease(audit.folder) as lease:
        audit.commit(lease, {}, {"totals": {}})
        audit.commit(lease, audit_tables((item,), [visit], 0), {"totals": {}})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with an audit of six claims, two of each verdict; one begins as a formula would."""
    folder = tmp_path_factory.mktemp("made") / "run"

    def write(rows):
        rows["articles"][0]["wikitext"] = f"'''Root''' is old. {' '.join(ROOT)}"

    Corpus(folder).seed("Root").walk(Visit("Root", [Child("Left")]), damage=write)
    add_audit(folder, [*ROOT[:5], EVIL])
    return folder


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    return built(tmp_path_factory.mktemp("made") / "build")


class Site:
    """The site with a desk in a folder, as a browser on this machine has it."""

    def __init__(self, folder: Path, run: Path, *builds: str) -> None:
        self.runs = open_runs([str(run)])
        self.desk = Desk.make(folder, open_builds(builds, [f"build{n}" for n in range(len(builds))]))
        app = create_app(self.runs, {r.name: NoSearch() for r in self.runs}, desk=self.desk)
        self.client = TestClient(app, base_url="http://127.0.0.1:8080", follow_redirects=False)

    def page(self, path, status=200) -> FoundPage:
        answer = self.client.get(path)
        assert answer.status_code == status, (path, answer.status_code, answer.text[:400])
        return FoundPage(answer.text)

    def form(self, path) -> dict[str, str]:
        """What a browser without JavaScript would send of the last form of a page."""
        fields: dict[str, str] = {}
        for tag, a in self.page(path).tags:
            if tag == "form":
                fields = {}
            elif (
                tag == "input"
                and a.get("name")
                and (a.get("type") not in ("radio", "checkbox") or "checked" in a)
            ):
                fields[a["name"]] = a.get("value", "")
            elif tag == "textarea":
                fields[a["name"]] = ""
        return fields

    def send(self, path, fields, **headers):
        return self.client.post(path, data=fields, headers={**ORIGIN, **headers})

    def begin(self, tier="wikipedia", each="2", seed="42", **more):
        told = {
            "token": self.desk.token,
            "audit": "check",
            "tier": tier,
            "seed": seed,
            **dict.fromkeys(VERDICTS, each),
        }
        return self.send("/r/run/review", told | more)

    def decide(self, place, answer, comment="", sheet=SHEET, **changed):
        path = f"{sheet}/{place}"
        return self.send(path, {**self.form(path), "answer": answer, "comment": comment, **changed})


@pytest.fixture
def site(tmp_path, run):
    site = Site(tmp_path / "sheets", run)
    assert site.begin().headers["location"] == f"{SHEET}/1"
    return site


@pytest.fixture
def path(site):
    return site.desk.folder / FILE


def rows(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def by_hand(path, change, delimiter=","):
    """Save the sheet as a spreadsheet program does."""
    table = rows(path)
    change(table)
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(table)


# --- the sheet is the command's


@pytest.mark.parametrize("hide", [False, True])
def test_the_sheet_is_the_commands_to_the_byte(tmp_path, run, hide):
    site = Site(tmp_path / "sheets", run)
    site.begin(seed="7", **({"hidden": "on"} if hide else {}))
    args = [
        "audit",
        "sample-for-review",
        str(run / "audits/check"),
        "--each",
        "2",
        "--seed",
        "7",
        "--out",
        str(tmp_path / "s.csv"),
    ]
    assert main([*args, *(["--hide-verdicts"] if hide else [])]) == EXIT_DONE
    made = f"run.check.wikipedia.2.seed7{'.hidden' if hide else ''}"
    assert (site.desk.folder / f"{made}.csv").read_bytes() == (tmp_path / "s.csv").read_bytes()
    if hide:
        assert (site.desk.folder / f"{made}-key.csv").read_bytes() == (tmp_path / "s-key.csv").read_bytes()
    assert {p.name for p in site.desk.folder.iterdir()} == {
        ".lock",
        f"{made}.csv",
        *([f"{made}-key.csv"] if hide else []),
    }


def test_saving_changes_the_readers_columns_of_one_row_and_no_byte_else(site, path):
    before = read_whole(path)
    site.decide(2, "refuted", "=1+1")
    after = read_whole(path)
    names = after.header
    changed = [
        (n, names[i])
        for n, (a, b) in enumerate(zip(before.records, after.records, strict=True))
        for i in range(len(a))
        if a[i] != b[i]
    ]
    assert {row for row, _ in changed} == {1} and {name for _, name in changed} <= READER
    assert rows(path)[1]["comment"] == "'=1+1"
    site.decide(2, "", "")
    assert read_whole(path) == before and path.read_bytes() == before.dumps()


def test_a_whole_sheet_is_read_by_the_command_and_its_agreement_shown(site, path, capsys):
    judged = [row["judge_verdict"] for row in rows(path)]
    told = [judge if n else VERDICTS[(VERDICTS.index(judge) + 1) % 3] for n, judge in enumerate(judged)]
    for place, answer in enumerate(told, 1):
        to = site.decide(place, answer).headers["location"]
        assert to == (f"{SHEET}/{place + 1}" if place < 6 else SHEET)
    assert [row["human"] for row in read_sheet(path)] == told
    assert [row["agree"] for row in rows(path)] == ["no", *["yes"] * 5]
    assert main(["audit", "agreement", str(path)]) == EXIT_DONE
    kappa = capsys.readouterr().out.partition("Cohen's kappa: ")[2].split()[0]
    page = site.page(SHEET)
    # 5 of 6, Wilson's 95% interval: computed by hand
    assert f"Cohen’s kappa: {kappa}" in page.text and kappa == "0.750" and "83.3% (43.6 to 97.0)" in page.text
    assert f"llmpedia audit agreement {path}" in page.text


def test_a_half_filled_sheet_is_gone_on_with_after_a_new_start(site, path, run):
    site.decide(1, "supported", "sure?")
    again = Site(site.desk.folder, run)
    assert "1 of 6 decided" in again.page("/r/run/review").text
    assert again.begin().headers["location"] == f"{SHEET}/2"
    assert "sure?" in again.page(f"{SHEET}/1").text and rows(path)[0]["comment"] == "sure?"


def test_after_an_answer_comes_the_next_open_item_and_after_the_last_the_first(site):
    for place, to in ((3, 4), (4, 5), (6, 1), (1, 2)):
        assert site.decide(place, "supported").headers["location"] == f"{SHEET}/{to}"


def test_no_agreement_before_the_end_and_none_of_a_sheet_that_cannot_be_used(site, path):
    assert "kappa" not in site.page(SHEET).text
    by_hand(
        path,
        lambda table: [row.update(agree="yes") for row in table[1:]] + [table[0].update(agree="perhaps")],
    )
    page = site.page(SHEET)
    assert "5 of 6 decided" in page.text and "has agree = 'perhaps'" in page.text and "kappa" not in page.text
    assert "has agree = 'perhaps'" in site.page(f"{SHEET}/1").text


def test_an_answer_can_be_taken_back_and_a_comment_stand_alone(site, path):
    site.decide(1, "refuted", "one")
    site.decide(1, "", "two\r\nlines\x00\x07")
    assert {name: rows(path)[0][name] for name in READER} == {
        "agree": "",
        "correct_verdict": "",
        "comment": "two\nlines",
    }
    assert "0 decided" in site.page(f"{SHEET}/1").text


def test_hidden_verdicts_are_on_no_page_until_they_are_all_judged(tmp_path, run):
    site = Site(tmp_path / "sheets", run)
    base = site.begin(hidden="on").headers["location"].rpartition("/")[0]
    for path in (base, f"{base}/1", f"{base}/2", "/r/run/review"):
        page = site.page(path)
        assert "because" not in page.text and "confidence" not in page.text and "I agree" not in page.text
        assert not [href for href in page.hrefs if "/a/" in href]
    for place in range(1, 7):
        site.decide(place, "supported", sheet=base)
    assert {
        row["human"] for row in read_sheet(site.desk.folder / "run.check.wikipedia.2.seed42.hidden.csv")
    } == {"supported"}
    assert "33.3%" in site.page(base).text


def test_a_class_that_is_short_is_told_and_numbers_of_their_own_have_a_sheet_of_their_own(site):
    base = site.begin(supported="9", refuted="0", insufficient="1").headers["location"].rpartition("/")[0]
    assert base == "/r/run/review/check.wikipedia.9-0-1.seed42"
    assert "10 rows were asked for; the audit has 3" in site.page(base).text
    assert [
        a["href"] for t, a in site.page("/r/run/review").tags if t == "a" and a["href"] in (base, SHEET)
    ] == [SHEET, base]


@pytest.mark.parametrize(
    "wrong",
    [
        {"audit": "../check"},
        {"audit": ""},
        {"tier": "book"},
        {"seed": "-1"},
        {"seed": "9" * 30},
        {"supported": "x"},
        {"refuted": "1e3"},
        {"insufficient": "10001"},
        dict.fromkeys(VERDICTS, "0"),
    ],
)
def test_what_cannot_be_drawn_is_refused_and_nothing_written(tmp_path, run, wrong):
    site = Site(tmp_path / "sheets", run)
    answer = site.begin(**wrong)
    assert answer.status_code == 400 and "Traceback" not in answer.text
    assert not (tmp_path / "sheets").exists()


def test_a_sheet_of_another_audit_is_not_taken_for_this_one(site, path):
    by_hand(path, lambda table: table[0].update(claim="It has nothing."))
    assert "is no claim of audit" in site.page(f"{SHEET}/2", 500).text
    assert "is no claim of audit" in site.page("/r/run/review").text


def test_a_claim_is_shown_with_its_sentence_evidence_and_verdict(site, path):
    place = next(n for n, row in enumerate(rows(path), 1) if row["claim"] == ROOT[0])
    page = site.page(f"{SHEET}/{place}")
    assert page.link("/r/run/a/0-root#s1")
    assert "Root is old." in page.text and EVIL in page.text and "confidence 0.25" in page.text
    marked = []
    text = site.client.get(f"{SHEET}/{place}").text
    at = 0
    while (at := text.find("<mark>", at) + 6) > 5:
        marked.append(text[at : text.find("</mark>", at)])
    assert marked[0] == ROOT[0] and "a tower and a moat" in marked[1]
    shown = [a for t, a in page.tags if t == "input" and a.get("name") == "answer"]
    assert [a["value"] for a in shown] == [*VERDICTS, ""] and "checked" in shown[-1]
    assert [tag for tag, a in page.tags if tag == "script" and not a["src"].startswith("/static/")] == []


# --- others who write the same sheet


def test_two_tabs_on_different_items_lose_nothing(site, path):
    one = site.form(f"{SHEET}/1")
    other = site.form(f"{SHEET}/2")
    site.send(f"{SHEET}/2", other | {"answer": "refuted"})
    site.send(f"{SHEET}/1", one | {"answer": "supported"})
    assert [bool(row["agree"]) for row in rows(path)] == [True, True, False, False, False, False]


def test_two_tabs_on_one_item_ask_before_one_replaces_the_other(site, path):
    stale = site.form(f"{SHEET}/1")
    site.decide(1, "refuted", "first")
    before = path.read_bytes()
    answer = site.send(f"{SHEET}/1", stale | {"answer": "supported", "comment": "second"})
    page = FoundPage(answer.text)
    assert answer.status_code == 409 and path.read_bytes() == before
    assert "changed meanwhile" in page.text and "first" in page.text and "second" in page.text
    assert [a["value"] for t, a in page.tags if t == "input" and "checked" in a] == ["supported"]
    fresh = {a["name"]: a["value"] for t, a in page.tags if t == "input" and a.get("type") == "hidden"}
    assert site.send(f"{SHEET}/1", fresh | {"answer": "supported", "comment": "second"}).status_code == 303
    assert rows(path)[0]["comment"] == "second"


def test_the_same_sent_twice_is_no_change_by_others(site):
    stale = site.form(f"{SHEET}/1")
    for _ in range(2):
        assert site.send(f"{SHEET}/1", stale | {"answer": "refuted"}).status_code == 303


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_what_a_spreadsheet_saved_meanwhile_stays(site, path, delimiter):
    shown = site.form(f"{SHEET}/1")
    by_hand(path, lambda table: table[3].update(agree="yes", comment="by hand; =1"), delimiter)
    assert site.send(f"{SHEET}/1", shown | {"answer": "refuted"}).status_code == 303
    whole = read_whole(path)
    assert whole.delimiter == delimiter and whole.rows()[3]["comment"] == "by hand; =1"
    assert "2 of 6 decided" in site.page(SHEET).text


def test_rows_that_were_sorted_or_removed_meanwhile_are_found_by_their_item(site, path):
    shown = site.form(f"{SHEET}/1")
    item = rows(path)[0]["item"]
    by_hand(path, lambda table: table.reverse())
    site.send(f"{SHEET}/1", shown | {"answer": "refuted"})
    assert [row["item"] for row in rows(path) if row["agree"]] == [item]
    by_hand(path, lambda table: table.pop())
    assert site.send(f"{SHEET}/1", shown | {"answer": "supported"}).status_code == 500
    assert len(rows(path)) == 5 and "supported" not in [row["correct_verdict"] for row in rows(path)]


def test_a_sheet_that_is_open_elsewhere_is_told_of(site, path):
    path.with_name(f".~lock.{path.name}#").touch()
    assert "LibreOffice has this sheet open" in site.page(f"{SHEET}/1").text


def test_a_lost_column_is_named(site, path):
    path.write_text(
        path.read_text(encoding="utf-8-sig").replace('"comment"', '"remark"', 1), encoding="utf-8-sig"
    )
    assert "no column comment" in site.page(f"{SHEET}/1", 500).text


# --- forms of this site alone


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", **ORIGIN},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"},
    ],
)
def test_a_form_from_elsewhere_is_refused_even_with_the_token(site, path, headers):
    before = path.read_bytes()
    fields = site.form(f"{SHEET}/1") | {"answer": "refuted"}
    assert site.client.post(f"{SHEET}/1", data=fields, headers=headers).status_code == 403
    begin = {
        "token": site.desk.token,
        "audit": "check",
        "tier": "web",
        "seed": "1",
        **dict.fromkeys(VERDICTS, "1"),
    }
    assert site.client.post("/r/run/review", data=begin, headers=headers).status_code == 403
    assert path.read_bytes() == before and len(list(site.desk.folder.glob("*.csv"))) == 1


@pytest.mark.parametrize(
    "headers",
    [
        ORIGIN,
        {"Sec-Fetch-Site": "same-origin", "Origin": "null"},
        {"Sec-Fetch-Site": "same-origin", **ORIGIN},
    ],
)
def test_a_form_of_this_site_is_taken(site, headers):
    fields = site.form(f"{SHEET}/1") | {"answer": "refuted"}
    assert site.client.post(f"{SHEET}/1", data=fields, headers=headers).status_code == 303


def test_without_the_token_of_this_process_nothing_is_saved_and_nothing_entered_is_lost(site, path):
    before = path.read_bytes()
    answer = site.decide(1, "refuted", "much thought", token="of the process before")
    assert answer.status_code == 403 and path.read_bytes() == before
    page = FoundPage(answer.text)
    assert "much thought" in page.text and site.desk.token in [a.get("value") for _, a in page.tags]
    assert site.begin(token="", seed="1").status_code == 403


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"answer=refuted", "application/json", 415),
        (b"answer=refuted", "multipart/form-data; boundary=x", 415),
        (b"comment=" + b"x" * 200_000, "application/x-www-form-urlencoded", 413),
        (b"&".join(b"a%d=1" % n for n in range(50)), "application/x-www-form-urlencoded", 400),
        ("answer=ü".encode(), "application/x-www-form-urlencoded", 400),
        (b"answer=true", "application/x-www-form-urlencoded", 400),
    ],
)
def test_what_is_no_form_is_refused(site, path, body, kind, status):
    before = path.read_bytes()
    answer = site.client.post(f"{SHEET}/1", content=body, headers={**ORIGIN, "Content-Type": kind})
    assert answer.status_code == status and path.read_bytes() == before


@pytest.mark.parametrize(
    "key", ["..%2Fsecret", "check.wikipedia.2.seed42.csv", "check.wikipedia.02.seed42", "x", "%00", "a" * 500]
)
def test_a_sheet_is_found_by_the_names_that_are_there_and_no_other(site, key):
    (site.desk.folder.parent / "secret.csv").write_text("a,b\n1,2\n")
    (site.desk.folder / "run.check.wikipedia.02.seed42.csv").write_text("a,b\n1,2\n")
    page = site.page(f"/r/run/review/{key}/1", 404)
    assert "Not found" in page.text and site.page("/r/run/review").text.count("0 of 6 decided") == 1
    assert site.send(f"/r/run/review/{key}/1", {"token": site.desk.token}).status_code == 404


@pytest.mark.parametrize("place", ["0", "7", "-1", "99999999999"])
def test_an_item_that_is_not_there_is_not_found(site, place):
    site.page(f"{SHEET}/{place}", 404)


def test_a_script_is_told_what_became_of_it(site):
    shown = site.form(f"{SHEET}/1")
    script = {"Accept": "application/json"}
    saved = site.send(f"{SHEET}/1", shown | {"answer": "refuted"}, **script).json()
    assert (saved["decided"], saved["of"], saved["problem"]) == (1, 6, None) and saved["seen"] != shown[
        "seen"
    ]
    refused = site.send(f"{SHEET}/1", shown | {"answer": "supported"}, **script)
    assert refused.status_code == 409 and "changed meanwhile" in refused.json()["told"]
    assert (
        site.send(f"{SHEET}/1", shown | {"seen": saved["seen"], "answer": "supported"}, **script).status_code
        == 200
    )


def test_forms_say_where_they_come_from_and_scripts_are_not_needed(site):
    page = site.page(f"{SHEET}/1")
    assert {"name": "referrer", "content": "same-origin"} in [a for tag, a in page.tags if tag == "meta"]
    form = next(a for tag, a in page.tags if tag == "form" and a["method"] == "post")
    assert form["action"] == f"{SHEET}/1"
    assert [a["rel"] for tag, a in page.tags if tag == "a" and a.get("rel") in ("prev", "next")] == ["next"]


def test_without_a_desk_there_is_no_review(run):
    runs = open_runs([str(run)])
    client = TestClient(
        create_app(runs, {r.name: NoSearch() for r in runs}), base_url="http://127.0.0.1:8080"
    )
    assert client.get("/r/run/review").status_code == 404 and "/review" not in client.get("/").text
    assert client.post("/r/run/review", headers=ORIGIN).status_code == 404


def options(run, **changed):
    from argparse import Namespace

    return Namespace(
        **{
            "host": "127.0.0.1",
            "allow_host": [],
            "allow_review": False,
            "probe": [],
            "sheets": "s",
            **changed,
        }
    )


@pytest.mark.parametrize(
    "changed", [{"host": "0.0.0.0"}, {"host": "::"}, {"host": "box"}, {"allow_host": ["wiki.lan"]}]
)
def test_where_others_may_ask_a_review_must_be_allowed(run, changed):
    assert _desk(options(run, **changed)) is None
    assert _desk(options(run, **changed, allow_review=True)) is not None


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_this_machine_is_known_by_its_addresses(run, host):
    assert _is_local(host) and _desk(options(run, host=host)) is not None


def test_a_folder_that_cannot_be_written_is_named_in_one_line(tmp_path, run):
    (tmp_path / "file").write_text("")
    site = Site(tmp_path / "file" / "sheets", run)
    answer = site.begin()
    assert (
        answer.status_code == 400
        and f"--sheets {tmp_path}/file/sheets: cannot be written" in FoundPage(answer.text).text
    )


# --- cells


@pytest.mark.parametrize("text", ["=1", "'=1", "''=1", "-5 °C", "plain", "'tis", "", " =1", "\tx", "+"])
def test_a_cell_is_shown_as_it_was_before_it_was_made_safe(text):
    assert shown_cell(safe_cell(text)) == (
        text if safe_cell(text) != text or not text.startswith("'") else shown_cell(text)
    )
    assert safe_cell(shown_cell(safe_cell(text))) == safe_cell(text)


def test_a_comment_that_no_cell_can_hold_is_refused():
    with pytest.raises(InputError) as caught:
        entered("x" * 40_000)
    one_line(caught, "40000 characters", "shorten it")


# --- groups of a probe


GROUPS = "/probe/build0/review"


@pytest.fixture
def probe(tmp_path, run, build):
    site = Site(tmp_path / "sheets", run, build.uri)
    assert "1 group waits" in site.page(GROUPS).text
    assert site.send(GROUPS, {"token": site.desk.token}).headers["location"] == f"{GROUPS}/1"
    return site


def test_the_groups_sheet_is_the_commands_and_the_build_is_not_written(tmp_path, probe, build):
    before = sorted((p, p.stat().st_mtime_ns) for p in Path(build.uri).rglob("*"))
    write_review_sheet(build, tmp_path / "s.csv")
    path = probe.desk.folder / "build0.probe-review.csv"
    assert path.read_bytes() == (tmp_path / "s.csv").read_bytes()
    probe.decide(1, "accept", "@fine", sheet=GROUPS, reviewer="Ann")
    assert sorted((p, p.stat().st_mtime_ns) for p in Path(build.uri).rglob("*")) == before
    told = rows(path)[0]
    plain = rows(tmp_path / "s.csv")[0]
    assert {name for name in told if told[name] != plain[name]} == {"decision", "comment", "reviewer"}
    assert probe.page("/r/run/review").link(GROUPS)


def test_a_filled_sheet_is_taken_by_the_build(tmp_path, run):
    made = built(tmp_path / "build")
    site = Site(tmp_path / "sheets", run, made.uri)
    site.send(GROUPS, {"token": site.desk.token})
    assert (
        site.decide(1, "answer_leak", "says\nthe year", sheet=GROUPS, reviewer="Ann").headers["location"]
        == GROUPS
    )
    path = site.desk.folder / "build0.probe-review.csv"
    assert f"llmpedia probe review {made.uri} {path}" in site.page(GROUPS).text
    assert take_review(made, path, False) == {
        "accepted": 0,
        "rejected": 1,
        "decided before": 0,
        "not decided": 0,
    }
    row = made.read("checks").to_pylist()[-1]
    assert (row["reason"], row["by"]) == ("answer_leak: says the year", "Ann")


@pytest.mark.parametrize("answer", ["accept", *REASONS])
def test_every_answer_is_one_that_the_command_reads(probe, answer):
    probe.decide(1, answer, sheet=GROUPS)
    read = read_groups(probe.desk.folder / "build0.probe-review.csv", {"g"})
    assert [(row["fate"], row["reason"]) for row in read.rows] == [
        ("kept", None) if answer == "accept" else ("rejected", answer)
    ]
    probe.decide(1, "", sheet=GROUPS)
    assert read_groups(probe.desk.folder / "build0.probe-review.csv", {"g"}).unfilled == 1


def test_a_group_is_shown_with_its_questions_accounts_and_quoted_words(probe):
    page = probe.page(f"{GROUPS}/1")
    assert "When was Ashton founded?" in page.text and "When was the port founded?" in page.text
    text = probe.client.get(f"{GROUPS}/1").text
    assert "<mark>founded in 1871</mark>" in text and "<mark>founded in 1874</mark>" in text
    assert [a["value"] for t, a in page.tags if t == "input" and a.get("name") == "answer"] == [
        "accept",
        *REASONS,
        "",
    ]


def test_a_row_with_a_broken_seal_is_told_of_before_it_is_decided_on(probe):
    path = probe.desk.folder / "build0.probe-review.csv"
    by_hand(path, lambda table: table[0].update(question="Another?"))
    assert "shows other texts than were written" in probe.page(f"{GROUPS}/1").text
    probe.decide(1, "accept", sheet=GROUPS)
    assert "0 of 1 decided" in probe.page(GROUPS).text


def test_a_build_without_anything_to_review_says_why(tmp_path, run):
    site = Site(tmp_path / "sheets", run, built(tmp_path / "none", review=False).uri)
    assert "validation.review is false" in site.page(GROUPS).text
    assert site.send(GROUPS, {"token": site.desk.token}).status_code == 400
    assert list(site.desk.folder.glob("*.csv")) == []
    site.page("/probe/other/review", 404)


def test_a_folder_that_is_no_build_is_refused(run):
    with pytest.raises(InputError) as caught:
        open_builds([str(run)], ["run"])
    one_line(caught, f"--probe {run}", "is no build of a probe")


def test_the_last_reviewer_is_offered_again(tmp_path, run, build):
    write_review_sheet(build, tmp_path / "s.csv")
    site = Site(tmp_path / "sheets", run, build.uri)
    site.desk.folder.mkdir()
    path = site.desk.folder / "build0.probe-review.csv"
    path.write_bytes((tmp_path / "s.csv").read_bytes())
    by_hand(path, lambda table: table.append(dict(table[0])))  # a second reader's row on the same group
    site.decide(1, "accept", sheet=GROUPS, reviewer="Ann")
    assert site.form(f"{GROUPS}/2")["reviewer"] == "Ann"
    site.decide(2, "accept", sheet=GROUPS, reviewer="Bob")
    assert [row["reviewer"] for row in rows(path)] == ["Ann", "Bob"]


def test_rows_of_a_draw_are_those_of_the_audit(tmp_path, run):
    """``review_rows`` feeds both; a sheet of all rows holds every verdict of the tier."""
    audit = RunFolder.open(str(run / "audits/check"))
    write_sheet(review_rows(audit, "web"), tmp_path / "s.csv", dict.fromkeys(VERDICTS, 9), 1, False)
    site = Site(tmp_path / "sheets", run)
    base = site.begin(tier="web", each="9", seed="1").headers["location"].rpartition("/")[0]
    assert rows(tmp_path / "s.csv") == rows(site.desk.folder / f"run.{base.rpartition('/')[2]}.csv")
    items = {href for href in site.page(base).hrefs if href.startswith(f"{base}/")}
    assert items == {f"{base}/{n}" for n in range(1, 7)}


# --- in a browser


def test_by_keyboard_every_answer_is_saved_as_it_is_entered(tmp_path, run):
    pytest.importorskip("playwright")
    from tests.support.site_server import Watched, browser, served

    desk = Desk.make(tmp_path / "sheets", {})
    path = desk.folder / FILE
    with served(run, desk=desk) as server, browser() as opened:
        watched = Watched(opened, server.url, width=360)
        page = watched.page
        page.goto("/r/run/review")
        form = page.locator("form.offer").first
        for verdict in VERDICTS:
            form.locator(f"[name={verdict}]").fill("2")
        form.locator("button.main").click()
        page.wait_for_url(f"**{SHEET}/1")
        page.keyboard.press("2")
        page.locator("#saved", has_text="Saved").wait_for()
        assert rows(path)[0]["agree"] and not rows(path)[1]["agree"]
        page.keyboard.press("c")
        page.keyboard.type("n p 1 /")
        page.keyboard.press("Escape")
        page.keyboard.press("n")
        page.wait_for_url(f"**{SHEET}/2")
        assert rows(path)[0]["comment"] == "n p 1 /"
        page.keyboard.press("d")
        page.keyboard.press("o")
        page.wait_for_url(f"**{SHEET}/3")
        page.keyboard.press("p")
        page.wait_for_url(f"**{SHEET}/2")
        assert page.locator("[name=answer]:checked").input_value() == "insufficient"
        assert not watched.overflows() and (watched.wrong, watched.outside) == ([], [])


def test_what_was_changed_elsewhere_comes_to_the_page_when_the_script_cannot_save(tmp_path, run):
    pytest.importorskip("playwright")
    from tests.support.site_server import Watched, browser, served

    site = Site(tmp_path / "sheets", run)
    site.begin()
    with served(run, desk=site.desk) as server, browser() as opened:
        page = Watched(opened, server.url).page
        page.goto(f"{SHEET}/1")
        by_hand(site.desk.folder / FILE, lambda table: table[0].update(comment="by hand"))
        page.keyboard.press("1")
        page.locator("#saved", has_text="Not saved yet").wait_for()
        page.keyboard.press("n")
        page.locator("[role=alert]", has_text="by hand").wait_for()
        assert page.locator("[name=answer]:checked").input_value() == "supported"
        page.locator("#decide button").click()
        page.wait_for_url(f"**{SHEET}/2")
    told = rows(site.desk.folder / FILE)[0]
    assert told["comment"] == "" and (told["agree"] == "yes") == (told["judge_verdict"] == "supported")
