"""A run in charts: the numbers they show, that pieces add up, and that counting is done once and
never waited for.
"""

import re
import threading

import pytest

from tests.support.builders.runs import Child, Corpus, Visit, three_waves

pytest.importorskip("fastapi")
pytest.importorskip("nh3")

from llmpedia.errors import InputError
from llmpedia.site.app import explore
from llmpedia.site.pages import charts
from llmpedia.site.pages.charts import ChartCounts, Counting, charts_page, counted
from llmpedia.site.pages.templating import rendered
from llmpedia.site.urls import OPTIONAL, LiveAddresses
from tests.support.builders.site import commit_audit
from tests.support.site_pages import EVIL, get, opened

TO = LiveAddresses(OPTIONAL)


def made(run):
    return {chart.anchor: chart for chart in charts_page(run, counted(run), TO)["charts"]}


@pytest.fixture
def run(tmp_path):
    three_waves(tmp_path / "run")
    return opened(tmp_path / "run")[0][0]


# --- numbers


def test_the_funnel_is_that_of_the_run(run):
    chart = made(run)["funnel"]
    assert [(line.label.split(",")[0], line.text) for line in chart.lines] == [
        ("links in the articles", "7"),
        ("names", "6 (85.7%)"),
        ("not known before", "5 (83.3%)"),
        ("judged to be an entity", "4 (80.0%)"),
        ("no other name of a known one", "3 (75.0%)"),
        ("queued for an article", "3 (100.0%)"),
    ]
    assert [line.segments[0].width for line in chart.lines] == [100, 85.714, 71.429, 57.143, 42.857, 42.857]
    assert dict(zip(chart.head, chart.rows[0], strict=True))["raw to queue %"] == "42.86"


def test_fates_and_coverage_of_each_hop(run):
    found = made(run)
    assert [[segment.label for segment in line.segments] for line in found["fates"].lines] == [
        ["queued for an article 50.0%", "no entity 25.0%", "the page itself, or too doubtful 25.0%"],
        ["queued for an article 33.3%", "known before 33.3%", "another name of a known one 33.3%"],
    ]
    assert [(line.label, line.text) for line in found["coverage"].lines] == [
        ("Hop 0", "1 of 1"),
        ("Hop 1", "1 of 2"),
        ("Hop 2", "0 of 1"),
    ]
    assert [segment.label for segment in found["coverage"].lines[1].segments] == [
        "written and expanded 50.0%",
        "failed 50.0%",
    ]
    assert [line.href for line in found["coverage"].lines] == ["/r/run/list?hop=0", "/r/run/list?hop=1", None]


def test_survival_by_hop_has_its_spread(tmp_path):
    corpus = Corpus(tmp_path / "run").seed("Root").walk(Visit("Root", [Child("Left"), Child("Right")]))
    corpus.walk(Visit("Left", [Child("a"), Child("b", "ner_rejected")]), Visit("Right", [Child("c")]))
    lines = made(opened(tmp_path / "run")[0][0])["survival"].lines
    ner = next(n for n, line in enumerate(lines) if line.group == "Judged to be an entity")
    assert [(line.label, line.text, line.spread) for line in lines[ner : ner + 2]] == [
        ("Hop 0", "100.0%", None),
        ("Hop 1", "75.0% ± 35.4", (75 - 35.36, 100.0)),
    ]


def test_reasons_are_of_their_step_and_absorbers_lead_to_their_pages(run):
    found = made(run)
    reasons = {line.label: line.text for line in found["reasons"].lines}
    assert reasons["not named entity"] == "1 (100.0%)" and reasons["confirmed duplicate"] == "1 (100.0%)"
    assert [line.group for line in found["reasons"].lines if line.group] == [
        "Entity check",
        "Comparison with known names",
    ]
    assert [(line.label, line.text, line.href) for line in found["absorbers"].lines] == [
        ("Right", "1", "/r/run/a/2-right")
    ]


def test_what_audits_found_stands_by_hop_and_tier(tmp_path):
    corpus = three_waves(tmp_path / "run")
    commit_audit(corpus.run, {0: ["One.", "Two."], 1: ["Three."]})
    chart = made(opened(tmp_path / "run")[0][0])["factuality-random"]
    assert [(line.group, line.label, line.text) for line in chart.lines] == [
        ("Against Wikipedia, audit audit", "Hop 0", "100.0% true, 2 articles"),
        ("Against the web, audit audit", "Hop 0", "none judged"),
    ]
    assert [segment.label for segment in chart.lines[0].segments] == ["true 100.0%"] and chart.lines[
        1
    ].segments == ()


def test_pieces_of_a_bar_stand_one_behind_the_other(run):
    for anchor in ("fates", "coverage"):
        for line in made(run)[anchor].lines:
            at = 0.0
            for segment in line.segments:
                assert segment.offset == pytest.approx(at, abs=0.02)
                at += segment.width
            assert at == pytest.approx(100, abs=0.02)


def test_a_run_without_articles_has_no_charts(tmp_path):
    Corpus(tmp_path / "run").seed("Root")
    run = opened(tmp_path / "run")[0][0]
    assert list(made(run)) == ["coverage"]


def test_what_was_not_walked_has_no_funnel(run, monkeypatch):
    monkeypatch.setattr(charts, "is_walk", lambda folder: False)
    assert counted(run) == ChartCounts({}, [], ()) and charts_page(run, counted(run), TO)["charts"] == []


def test_an_audit_that_does_not_fit_is_named(tmp_path, monkeypatch):
    corpus = three_waves(tmp_path / "run")
    commit_audit(corpus.run, {0: ["One."]})

    def damaged(folder):
        raise InputError("audit: two such rows")

    monkeypatch.setattr(charts, "audit_data", damaged)
    assert counted(opened(tmp_path / "run")[0][0]).notes == ("audit: two such rows",)


# --- counting


def test_a_version_is_counted_once_and_the_next_one_anew(tmp_path):
    corpus = three_waves(tmp_path / "run")
    run = opened(tmp_path / "run")[0][0]
    calls = []
    counting = Counting(lambda run: calls.append(run.version) or ChartCounts({}, [], ()))
    assert all(counting.of(run, 10) == ChartCounts({}, [], ()) for _ in range(3)) and len(calls) == 1
    corpus.walk(Visit("Leaf"))
    run.refresh()
    assert counting.of(run, 10) is not None and len(calls) == 2 and calls[0] != calls[1]


def test_nobody_waits_for_the_counting(run, monkeypatch):
    going = threading.Event()

    def slow(run):
        assert going.wait(30)
        return counted(run)

    monkeypatch.setattr(charts, "counted", slow)
    _, client = opened(run.run.uri)
    page = get(client, "/r/run/charts")
    assert (
        "is being counted" in page.text and ("meta", {"http-equiv": "refresh", "content": "3"}) in page.tags
    )
    going.set()
    monkeypatch.setattr(explore, "_WAIT", 30)
    page = get(client, "/r/run/charts")
    assert "From links to articles" in page.text and not any(
        a.get("http-equiv") == "refresh" for _, a in page.tags
    )


@pytest.mark.parametrize(
    ("error", "words"), [(InputError("part.parquet: damaged"), "damaged"), (TimeoutError(), "defect")]
)
def test_a_count_that_fails_is_told_to_who_asks(run, monkeypatch, error, words):
    def fails(run):
        raise error

    monkeypatch.setattr(charts, "counted", fails)
    monkeypatch.setattr(explore, "_WAIT", 30)
    _, client = opened(run.run.uri)
    assert words in get(client, "/r/run/charts", 500).text


# --- the page


def test_every_number_of_a_chart_is_text_and_every_pattern_is_there(tmp_path):
    corpus = three_waves(tmp_path / "run")
    commit_audit(corpus.run, {0: ["One."]})
    run = opened(tmp_path / "run")[0][0]
    page = charts_page(run, counted(run), TO)
    html = rendered("charts.html", page, TO)
    for chart in page["charts"]:
        assert f'<h2 id="{chart.anchor}">' in html
        for line in chart.lines:
            assert line.text in html
    used = set(re.findall(r'fill="url\(#([\w-]+)\)"', html))
    there = set(re.findall(r'<pattern id="([\w-]+)"', html))
    assert used and used <= there
    assert html.count("<details>") == len(page["charts"]) and " style=" not in html


def test_textures_that_are_drawn_are_in_the_key(run):
    for chart in made(run).values():
        if chart.key:
            assert {segment.texture for line in chart.lines for segment in line.segments} <= {
                texture for texture, _ in chart.key
            }


def test_hostile_names_are_shown_and_never_run(tmp_path):
    corpus = Corpus(tmp_path / "run").seed("Root").walk(Visit("Root", [Child(EVIL), Child("x")]))
    corpus.walk(Visit("x", [Child("other", "duplicate", EVIL)]))
    _, client = opened(tmp_path / "run")
    get(client, "/r/run/charts")
    page = get(client, "/r/run/charts")
    for tag, attributes in page.tags:
        assert tag not in ("img", "style") and not [
            a for a in attributes if a.startswith("on") or a == "style"
        ], tag
