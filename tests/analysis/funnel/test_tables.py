"""llmpedia/analysis/funnel/tables.py: tables that follow from fates, by hand-counted runs."""

from xml.etree import ElementTree

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from llmpedia.analysis.common.systems import systems_of
from llmpedia.analysis.funnel.tables import funnel_part, funnel_tables
from llmpedia.analysis.output.drawing import grouped_bars, write_figures
from llmpedia.analysis.output.formats import as_text as render
from llmpedia.analysis.output.formats import write_tables
from llmpedia.errors import InputError
from tests.support.builders.runs import Child, Corpus, Visit, one_line


@pytest.fixture
def corpus(tmp_path):
    """Root's 12 candidates meet most fates; Left names 4; Right errs; Deep is a duplicate's parent."""
    corpus = Corpus(tmp_path / "runs" / "mine").seed("Root")
    drops = [
        "self_or_loop",
        "low_link_score",
        "ner_rejected",
        "ner_rejected",
        "ner_low_confidence",
        "ner_omitted",
        "stage_error",
    ]
    first = [
        Child("Left"),
        Child("Right"),
        Child("Deep"),
        *(Child(f"D{n}", fate) for n, fate in enumerate(drops)),
    ]
    first += [Child("Lft", "duplicate", "Left"), Child("Rght", "arbitration_failed")]
    corpus.walk(Visit("Root", first))
    second = [Child("Root", "known", "Root"), Child("Lft!", "known", "Left", asked=True), Child("Leaf")]
    second += [Child("Twig", "wave_duplicate", "Leaf")]
    return corpus.walk(Visit("Left", second), Visit("Right", error="refusal"))


@pytest.fixture
def tables(corpus):
    return funnel_tables([corpus.run])


def test_the_funnel_counts_what_is_left_after_each_stage(tables):
    (row,) = tables["table_03_funnel"]
    assert row == {
        "run": "mine",
        "generated_articles": 2,
        "raw_links": 16,
        "pre_ner_input": 14,  # less the loop form and the low score
        "after_canonical_dedup": 13,  # less Root, known before NER
        "after_ner": 8,  # less two rejected, one unsure, one omitted, one failed
        "after_similarity": 4,  # less one known late, a duplicate, a failed arbitration and a wave duplicate
        "queue_inserted_children": 4,
        "raw_to_queue_pct": 25.0,
    }


def test_survival_is_in_percent_of_the_stage_before(tables):
    (row,) = tables["table_15_survival"]
    found = {
        k: row[k]
        for k in ("canonical_survival_pct", "ner_survival_pct", "similarity_survival_pct", "known_after_ner")
    }
    assert found == {
        "canonical_survival_pct": 92.86,
        "ner_survival_pct": 61.54,
        "similarity_survival_pct": 50.0,
        "known_after_ner": 1,
    }


def test_coverage_counts_written_errored_and_expanded(tables):
    (row,) = tables["table_16_coverage"]
    assert {k: v for k, v in row.items() if k != "run"} == {
        "entities": 5,
        "with_article": 2,
        "errored": 1,
        "filtered_in": 5,
        "expanded_out": 2,
        "terminal_pct": 60.0,
    }


def test_coverage_is_told_by_hop(tables):
    rows = tables["table_17_coverage_by_hop"]
    found = [
        (r["hop"], r["entities"], r["with_article"], r["errored"], r["expanded"], r["terminal"]) for r in rows
    ]
    assert found == [(0, 1, 1, 0, 1, 0), (1, 3, 1, 1, 1, 2), (2, 1, 0, 0, 0, 1)]


def test_fates_are_told_by_the_hop_of_the_child(tables):
    found = {
        (r["hop"], fate): n
        for r in tables["fates_by_hop"]
        for fate, n in r.items()
        if fate not in ("run", "hop") and n
    }
    assert found[1, "queued"] == 3
    assert found[1, "ner_rejected"] == 2
    assert found[2, "known"] == 2
    assert sum(found.values()) == 16


def test_aliases_are_absorbed_by_their_entities(tables):
    (row,) = tables["table_18_aliases"]
    assert (row["entities_with_aliases"], row["aliases"], row["aliases_per_entity"]) == (1, 1, 1.0)
    assert [(r["name"], r["aliases"]) for r in tables["top_absorbing_entities"]] == [("Left", 1)]


def test_the_entity_with_most_aliases_comes_first(tmp_path):
    twins = [Child("a", "duplicate", "Few"), *(Child(n, "duplicate", "Many") for n in ("b", "c"))]
    corpus = Corpus(tmp_path / "run").seed("Few", "Many").walk(Visit("Few", twins))
    rows = funnel_tables([corpus.run])["top_absorbing_entities"]
    assert [(r["name"], r["aliases"]) for r in rows] == [("Many", 2), ("Few", 1)]


def test_seeds_are_no_part_of_the_funnel(tmp_path):
    (row,) = funnel_tables([Corpus(tmp_path / "run").seed("A", "B").run])["table_03_funnel"]
    assert (row["pre_ner_input"], row["queue_inserted_children"]) == (0, 0)


@pytest.fixture
def capped(tmp_path):
    """Root ended at the subject cap, before NER for one child and after it for another, and was
    expanded anew.
    """
    corpus = Corpus(tmp_path / "run").seed("Root")
    first = [Child("A"), Child("B", "subject_cap"), Child("C", "subject_cap", asked=True)]
    return corpus.walk(Visit("Root", first))


def test_a_candidate_capped_before_ner_does_not_count_as_its_loss(capped):
    (row,) = funnel_tables([capped.run])["table_15_survival"]
    assert (
        row["after_canonical_dedup"],
        row["capped_before_ner"],
        row["after_ner"],
        row["ner_survival_pct"],
    ) == (3, 1, 2, 100.0)


def test_a_cap_after_acceptance_is_the_loss_at_the_queue(capped):
    (row,) = funnel_tables([capped.run])["table_19_queue_insert"]
    found = (row["similarity_accepted"], row["inserted"], row["subject_cap"], row["loss_pct"])
    assert found == (2, 1, 1, 50.0)


def test_a_subject_expanded_anew_loses_no_child_of_its_first_visit(capped):
    """The second visit finds A known, which the first one had queued: A would be missing from the
    funnel.
    """
    capped.walk(
        Visit("Root", [Child("A", "known", "A"), Child("B"), Child("C", "ner_rejected")], visit="expand")
    )
    tables = funnel_tables([capped.run])
    (row,) = tables["table_03_funnel"]
    assert (
        row["pre_ner_input"],
        row["after_canonical_dedup"],
        row["after_ner"],
        row["queue_inserted_children"],
    ) == (3, 3, 2, 2)
    assert tables["table_16_coverage"][0]["entities"] == 1 + row["queue_inserted_children"]
    assert (
        tables["table_16_coverage"][0]["with_article"],
        tables["table_16_coverage"][0]["expanded_out"],
    ) == (1, 1)
    assert [(r["overall_pct"], r["overall_n"]) for r in tables["survival_by_hop"]] == [(66.67, 1)]


def test_a_link_that_caps_ended_at_every_visit_ends_at_the_last_one(capped):
    capped.walk(
        Visit(
            "Root",
            [Child("A", "known", "A"), Child("B", "subject_cap", asked=True), Child("C", "depth_cap")],
            visit="expand",
        )
    )
    (row,) = funnel_tables([capped.run])["fates_by_hop"]
    assert {name: n for name, n in row.items() if n and name not in ("run", "hop")} == {
        "queued": 1,
        "subject_cap": 1,
        "depth_cap": 1,
    }


def test_each_run_has_its_row(corpus, capped):
    rows = funnel_tables([corpus.run, capped.run])["table_03_funnel"]
    assert [(r["run"], r["generated_articles"]) for r in rows] == [("mine", 2), ("run", 1)]


def test_nothing_to_divide_by_is_null_and_not_zero(tmp_path):
    tables = funnel_tables([Corpus(tmp_path / "run").seed("A").run])
    assert tables["table_03_funnel"][0]["raw_to_queue_pct"] is None
    assert tables["table_18_aliases"][0]["aliases_per_entity"] is None


def test_tables_are_written_as_data_and_as_text(tables, tmp_path):
    write_tables(tables, tmp_path / "out")
    rows = tables["table_17_coverage_by_hop"]
    assert pq.read_table(tmp_path / "out" / "table_17_coverage_by_hop.parquet").to_pylist() == rows
    assert pa_csv.read_csv(tmp_path / "out" / "table_17_coverage_by_hop.csv").to_pylist() == rows
    text = (tmp_path / "out" / "table_17_coverage_by_hop.md").read_text().splitlines()
    assert text[0] == f"| {' | '.join(rows[0])} |"
    assert text[3] == "| mine | 1 | 3 | 1 | 1 | 1 | 2 | 66.67 |"


def test_a_name_with_a_bar_does_not_break_a_markdown_table(tmp_path):
    write_tables({"t": [{"name": "a|b", "n": 1}]}, tmp_path)
    assert (tmp_path / "t.md").read_text().splitlines()[2] == "| a\\|b | 1 |"


@pytest.mark.parametrize(
    "rows", [[], [{"run": "r", "n": None}], [{"run": "r", "n": 12345}, {"run": "s", "n": 1}]], ids=len
)
def test_a_table_is_rendered_with_its_name_and_every_cell(rows):
    text = render("table", rows)
    cells = ["12,345" if v == 12345 else "-" if v is None else str(v) for r in rows for v in r.values()]
    assert all(part in text for part in ["table", *cells])


def test_survival_by_hop_is_the_mean_over_expanded_subjects_with_its_sigma(tmp_path):
    """Left keeps 1 of 2 and Right 1 of 1: mean 75, sigma sqrt(0.125); Capped is not expanded, and
    its candidates count alone.
    """
    corpus = Corpus(tmp_path / "run").seed("Root")
    corpus.walk(Visit("Root", [Child("Left"), Child("Right"), Child("Capped"), Child("Silent")]))
    left = Visit("Left", [Child("A"), Child("x", "ner_rejected")])
    capped = Visit("Capped", [Child("B", "depth_cap"), Child("C", "known", "Left")])
    corpus.walk(left, Visit("Right", [Child("D")]), capped, Visit("Silent", []))
    root, below = funnel_tables([corpus.run])["survival_by_hop"]
    assert (root["parent_hop"], root["overall_pct"], root["overall_sd"], root["overall_n"]) == (
        0,
        100.0,
        None,
        1,
    )
    assert (below["subjects"], below["pre_ner"], below["queued"]) == (3, 5, 2)
    assert (below["overall_pct"], below["overall_sd"], below["overall_n"]) == (
        75.0,
        35.36,
        2,
    )  # Silent defines no share
    assert (below["canonical_pct"], below["ner_pct"], below["similarity_pct"]) == (100.0, 75.0, 100.0)


def test_reject_reasons_are_shares_of_their_stage(tables):
    found = {(r["stage"], r["reason"]): (r["candidates"], r["pct"]) for r in tables["reject_reasons"]}
    assert found == {
        ("ner", "not_named_entity"): (2, 40.0),
        ("ner", "low_confidence"): (1, 20.0),
        ("ner", "omitted"): (1, 20.0),
        ("ner", "stage_error"): (1, 20.0),
        ("similarity", "confirmed_duplicate"): (1, 33.33),
        ("similarity", "within_wave"): (1, 33.33),
        ("similarity", "failed"): (1, 33.33),
    }


def test_fates_of_a_hop_add_up_to_100(tables):
    first, second = tables["fate_shares_by_hop"]
    assert (first["candidates"], first["inserted_pct"], first["ner_rejected_pct"], first["before_pct"]) == (
        12,
        25.0,
        41.67,
        16.67,
    )
    assert (second["known_pct"], second["similarity_rejected_pct"]) == (
        25.0,
        50.0,
    )  # known late is found by similarity's screen
    for row in (first, second):
        assert sum(v for k, v in row.items() if k.endswith("_pct")) == pytest.approx(100, abs=0.05)


def test_a_race_is_no_loss_here_and_is_told_beside_the_losses(tables):
    (row,) = tables["table_19_queue_insert"]
    assert (row["similarity_accepted"], row["inserted"], row["loss_pct"]) == (4, 4, 0.0)
    assert (row["wave_duplicates"], row["raced_pct"]) == (1, 20.0)


def test_a_fate_of_another_version_is_named(tmp_path):
    corpus = Corpus(tmp_path / "run").seed("Root").walk(Visit("Root", [Child("A", "frozen", asked=False)]))
    with pytest.raises(InputError) as caught:
        funnel_tables([corpus.run])
    one_line(caught, tmp_path / "run", "wave 1", "'frozen'", "use the version that wrote it")


def test_figures_are_one_of_all_runs_and_a_set_for_each(corpus, capped):
    part = funnel_part(systems_of([corpus.run, capped.run], []))
    numbers = [name.partition("_")[2] for name in part.figures]
    assert [n for n in numbers if not n.endswith(("_mine", "_run"))] == [
        *["06_counts", "07_survival", "08_candidates_by_hop", "09_inserted_by_hop", "10_overall_survival"]
    ]
    assert {n[:2] for n in numbers if n.endswith("_mine")} == {"11", "12", "13", "14", "15", "16", "17"}
    assert {n[:2] for n in numbers if n.endswith("_run")} == {
        "11",
        "14",
        "15",
        "16",
    }  # it rejected nothing, absorbed nothing
    assert sorted(f for names in part.figures_of.values() for f in names) == sorted(part.figures)


def test_bars_and_lines_of_runs_differ_without_colour(corpus, capped):
    part = funnel_part(systems_of([corpus.run, capped.run], []))
    bars = part.figures["figure_06_counts"].axes[0].containers
    assert len({container[0].get_hatch() for container in bars}) == 2
    lines = part.figures["figure_08_candidates_by_hop"].axes[0].lines
    assert len({(line.get_marker(), line.get_linestyle()) for line in lines}) == 2


def test_a_band_that_is_not_known_is_not_drawn_as_all(tmp_path):
    corpus = (
        Corpus(tmp_path / "run").seed("Root").walk(Visit("Root", [Child("A"), Child("b", "ner_rejected")]))
    )
    (axes, *_) = funnel_part(systems_of([corpus.run], [])).figures["figure_14_survival_by_hop_run"].axes
    drawn = [path.vertices for path in axes.collections[0].get_paths()]
    assert all(len(vertices) == 0 or not (vertices[:, 1] == 0).any() for vertices in drawn)


def _legend_of(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_no_run_is_left_out_of_a_legend(tmp_path):
    """matplotlib leaves out labels that begin with an underscore."""
    runs = [
        Corpus(tmp_path / name).seed("Root").walk(Visit("Root", [Child("A")])).run
        for name in ("_mine", "other")
    ]
    figures = funnel_part(systems_of(runs, [])).figures
    assert [_legend_of(figures[name]) for name in ("figure_06_counts", "figure_08_candidates_by_hop")] == [
        ["_mine", "other"]
    ] * 2


def test_long_names_leave_room_for_what_is_drawn(tmp_path):
    """Four columns of them were wider than the figure, and its axes were squeezed to nothing."""
    runs = [
        Corpus(tmp_path / f"us-civil-rights-model-{n}-scientific_neutral").seed("Root").run for n in range(8)
    ]
    figure = funnel_part(systems_of(runs, [])).figures["figure_06_counts"]
    figure.canvas.draw()
    width, height = figure.get_size_inches()
    drawn = figure.axes[0].get_position()
    assert (drawn.width * width > 5, drawn.height * height > 2) == (True, True)
    assert figure.legends[0].get_window_extent().width <= figure.bbox.width


def test_two_runs_never_share_a_file(tmp_path):
    places = ("x/r", "y/r", "x-r")
    runs = [Corpus(tmp_path / place).seed("Root").run for place in places]
    figures = funnel_part(systems_of(runs, [])).figures
    assert len([name for name in figures if name.startswith("figure_11")]) == 3


def test_runs_beyond_the_eighth_are_told_to_be_in_no_figure(tmp_path):
    runs = [Corpus(tmp_path / f"r{n}").seed("Root").run for n in range(9)]
    (row,) = [
        row for row in funnel_part(systems_of(runs, [])).missing if row["what"] == "figures: 1 more runs"
    ]
    assert row["command"] == f"llmpedia report {runs[8].uri} --out OTHER_DIR"


def test_a_name_that_xml_cannot_hold_makes_a_sound_svg(tmp_path):
    twins = [Child("a", "duplicate", "Bell\x07\ufffe")]
    run = Corpus(tmp_path / "run").seed("Bell\x07\ufffe").walk(Visit("Bell\x07\ufffe", twins)).run
    figure = funnel_part(systems_of([run], [])).figures["figure_17_absorbers_run"]
    svg = next(path for path in write_figures({"absorbers": figure}, tmp_path) if path.suffix == ".svg")
    assert "Bell" in "".join(ElementTree.parse(svg).getroot().itertext())


def test_bars_end_below_the_frame():
    rows = [{"run": "a", "n": 900}, {"run": "b", "n": None}]
    for log in (True, False):
        assert grouped_bars(rows, {"n": "n"}, "candidates", log).axes[0].get_ylim()[1] > 900 * 1.04
