"""llmpedia/analysis/{personas,persona_tables,persona_figures}.py: tests by hand, planted effects,
the paper's tables.
"""

import json
import random
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from llmpedia.analysis.output.page import write_report
from llmpedia.analysis.personas.framing import Words, load_lexicons
from llmpedia.analysis.personas.tables import personas_part
from llmpedia.analysis.personas.tests import correct, framing_tests, grouped, sampled, signed_rank
from llmpedia.store.run_folder import RunFolder
from tests.support.builders.personas import MODELS, PERSONAS, PRIMARY, grid, persona_run

CONSERVATIVE, LEFT, NEUTRAL = PERSONAS
FILLER = "river stone table window paper metal garden-path number letter basket".split()
PLANTED = {
    LEFT: ["solidarity", "feminist", "redistribution"],
    CONSERVATIVE: ["liberty", "discipline", "religion"],
}
"""Words of left_progressive alone and of right_conservative alone."""


def prose_of(model, topic, persona, subject, planted):
    """200 tokens; under the null, words of all dimensions come from the subject's own die, whatever
    the persona.
    """
    rng = random.Random(f"{model} {topic} {persona} {subject}")
    every = [w for d in load_lexicons().dimensions for w in d.words if "-" not in w]
    words = rng.choices(FILLER, k=180) + rng.choices(every, k=20 - rng.randrange(6))
    for place in range(rng.randrange(6, 10)) if planted else ():
        words[place * 7] = rng.choice(PLANTED.get(persona, FILLER))
    return " ".join(words)


def plain(*given):
    return "river " * 9 + "stone"


def cell_rows(part, table, **wanted):
    return [row for row in part.tables[table] if all(row[k] == v for k, v in wanted.items())]


# --- the test of a difference


def test_six_differences_to_one_side_by_hand():
    """2 of the 2^6 ways to give signs are as extreme: p = 2/64. All ranks are positive: r = 1."""
    assert signed_rank([1, 2, 3, 4, 5, 6]) == {
        "nonzero": 6, "rank_biserial": 1.0, "method": "exact", "p": 0.03125, "least_p": 0.03125
    }  # fmt: skip


def test_rank_biserial_by_hand():
    """Ranks 1 to 5; the positive ones are 1, 3, 4 and 5, the negative one 2: (13 - 2) / 15. Ties
    share 1.5.
    """
    assert signed_rank([10, -20, 30, 40, 50])["rank_biserial"] == round(11 / 15, 4)
    assert signed_rank([7, -7, 9])["rank_biserial"] == 0.5  # (1.5 + 3 - 1.5) / 6
    assert signed_rank([-7, 7, -9, 0])["rank_biserial"] == -0.5


def test_without_a_difference_p_is_1_and_the_test_counts():
    assert signed_rank([0] * 30) == {
        "nonzero": 0,
        "rank_biserial": 0.0,
        "method": "all zero",
        "p": 1.0,
        "least_p": 1.0,
    }


@pytest.mark.parametrize(
    ("n", "zeros", "ties", "method"),
    [
        (30, 0, False, "exact"),
        (50, 0, False, "exact"),
        (51, 0, False, "asymptotic"),
        (30, 1, False, "asymptotic"),
        (30, 0, True, "asymptotic"),
        (9, 2, False, "permutation"),
        (8, 0, True, "permutation"),
        (3, 2, False, "permutation"),
    ],
)
def test_the_method_is_the_one_scipy_takes_by_itself(n, zeros, ties, method):
    rng = random.Random(n + zeros)
    values = [rng.choice((-1, 1, 1)) * (d // 2 if ties else d) for d in range(2, n + 2 - zeros)] + [0] * zeros
    found = signed_rank(values)
    assert found["method"] == method
    assert found["p"] == pytest.approx(stats.wilcoxon(np.array(values, float)).pvalue, rel=1e-10)


def test_the_exact_p_with_ties_by_hand():
    """1, 1, 2 with signs + + -: ranks 1.5, 1.5, 3; W+ = 3 of 6, the middle: p = 1. All to one side:
    2/8.
    """
    assert signed_rank([1, 1, -2])["p"] == 1.0
    assert signed_rank([1, 1, 2])["p"] == 0.25


def among_648(nonzero, n, others=647):
    """A test among as many as the paper's, all its differences to one side."""
    rows = [{"p": 1.0, "least_p": 1.0} for _ in range(others)]
    rows.append(signed_rank([*range(1, nonzero + 1), *[0] * (n - nonzero)]))
    correct(rows)
    return rows[-1]


def test_fewer_than_15_differing_pairs_are_never_significant_among_648():
    """2/2^14 is above 0.05/648 = 7.716e-5, 2/2^15 is not."""
    fourteen = among_648(14, 14)
    fifteen = among_648(15, 15)
    assert fifteen["alpha"] == pytest.approx(7.716e-5, rel=1e-4) == 0.05 / 648
    assert (fourteen["attainable"], fourteen["significant"]) == (False, False)
    assert (fifteen["attainable"], fifteen["significant"]) == (True, True)
    assert fifteen["p_bonferroni"] == pytest.approx(648 * 2 / 2**15, rel=1e-9)


def test_with_zeros_the_normal_approximation_takes_21_of_30():
    """z of n differences to one side is sqrt(6 n (n + 1) / (4 (2n + 1))): 3.92 for 20, 4.01 for 21;
    3.95 is needed.
    """
    assert [among_648(n, 30)["attainable"] for n in (14, 20, 21)] == [False, False, True]
    assert among_648(20, 30)["p"] == pytest.approx(
        2 * stats.norm.sf((6 * 20 * 21 / (4 * 41)) ** 0.5), rel=1e-9
    )


# --- what is compared


def test_thirty_subjects_are_drawn_from_those_of_all_personas():
    keys = [f"k{n:03}" for n in range(100)]
    drawn = sampled(keys)
    assert len(set(drawn)) == 30
    assert (
        drawn
        == sorted(drawn)
        == [keys[n] for n in sorted(np.random.default_rng(42).choice(100, 30, replace=False))]
    )
    assert sampled(keys[:30]) == keys[:30]


def test_subjects_are_matched_by_canonical_key(tmp_path):
    """ "U.S. Army" is "US Army"; what one persona lacks, or wrote without a word, is not compared."""
    texts = {"U.S. Army": "liberty " * 2, "Left only": "a", "Empty": "a", "C++": "x x"}
    runs = [persona_run(tmp_path / "l", "m", "Tea", LEFT, texts)]
    texts = {"US Army": "river stone", "Empty": "{{Infobox}}", "C++": "x x", "C": "x"}
    part = personas_part([*runs, persona_run(tmp_path / "c", "m", "Tea", CONSERVATIVE, texts)], [])
    (cell,) = part.tables["persona_cells"]
    assert cell == {
        "family": "extended", "model": "m", "topic": "Tea", "personas": [CONSERVATIVE, LEFT],
        "common_subjects": 3, "drawn": 3, "wordless": 1, "n": 2,
    }  # fmt: skip
    (row,) = cell_rows(part, "persona_tests", dimension="right_conservative")
    assert (row["mean_a"], row["mean_b"], row["delta"]) == (0.0, 500.0, -500.0)  # of 0 and 1000, 0 and 0
    assert (row["nonzero"], row["rank_biserial"], row["n"]) == (1, -1.0, 2)
    assert {r["subject"] for r in part.tables["persona_articles"]} == {"usarmy", "c++"}


def test_only_runs_that_differ_in_the_persona_alone_are_compared(tmp_path):
    """The same model and topic with another prompting is another cell, named by it; a second run of
    a persona is told.
    """
    texts = {"A": "x"}
    runs = [persona_run(tmp_path / f"b{p}", "m", "Tea", p, texts) for p in PERSONAS]
    runs += [
        persona_run(tmp_path / f"c{p}", "m", "Tea", p, texts, prompting="calibrated") for p in PERSONAS[:2]
    ]
    runs += [persona_run(tmp_path / "other", "m", "Coffee", LEFT, texts)]
    runs += [persona_run(tmp_path / "zz", "m", "Tea", LEFT, {"B": "x"})]
    part = personas_part(runs, [])
    assert [(c["model"], c["personas"]) for c in part.tables["persona_cells"]] == [
        ("m (baseline)", list(PERSONAS)),
        ("m (calibrated)", list(PERSONAS[:2])),
    ]
    told = {row["what"]: row["reason"] for row in part.missing}
    assert "has the same model, topic, persona and settings" in told[str(tmp_path / "zz")]
    assert told["m, Coffee"] == "only the persona left_leaning is here, and a comparison takes two"


def test_runs_from_a_seed_are_no_topic_of_the_same_name(tmp_path):
    runs = [persona_run(tmp_path / "t", "m", "Seed", LEFT, {"A": "x"})]
    runs.append(persona_run(tmp_path / "g", "m", None, CONSERVATIVE, {"A": "x"}, mode="general", seed="Seed"))
    assert {setting.topic for setting in grouped(runs)[0]} == {"Seed", "seed Seed"}


# --- the paper's setting


@pytest.fixture(scope="module")
def null(tmp_path_factory):
    runs = grid(
        tmp_path_factory.mktemp("null"),
        lambda *of: prose_of(*of, planted=False),
        models=MODELS[:1],
        subjects=32,
    )
    return personas_part(runs, [])


@pytest.fixture(scope="module")
def planted_runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted")

    def text_of(model, topic, persona, n):
        return prose_of(model, topic, persona, n, planted=topic in (PRIMARY[0], "Quantum Physics"))

    return grid(folder, text_of, MODELS[:1], [*PRIMARY, "Quantum Physics"], subjects=32, waves=3)


@pytest.fixture(scope="module")
def planted(planted_runs):
    return personas_part(planted_runs, [])


def test_three_models_topics_and_personas_make_648_tests(tmp_path):
    part = personas_part(grid(tmp_path, plain, subjects=2), [])
    rows = part.tables["persona_tests"]
    assert len(rows) == 648 == 3 * 3 * 3 * 24
    assert {row["tests"] for row in rows} == {648}
    assert {row["alpha"] for row in rows} == {0.05 / 648}
    assert {(row["p"], row["p_bonferroni"], row["rank_biserial"]) for row in rows} == {(1.0, 1.0, 0.0)}
    told = {row["table"]: row["reason"] for row in part.missing}
    assert told["table_23_significant"].startswith("none of 648 tests is significant at 0.05/648")
    assert told["table_27_extended"] == "no topic of the extended family has two personas"
    assert told["table_24_actors"] == "no actor of the lists stands in an article compared"


def test_families_are_corrected_apart(planted):
    counts = {row["family"]: row["tests"] for row in planted.tables["persona_tests"]}
    assert counts == {"primary": 3 * 3 * 24, "extended": 3 * 24}


def test_without_an_effect_none_is_found(null):
    assert not any(row["significant"] for row in null.tables["persona_tests"])
    assert any(row["attainable"] for row in null.tables["persona_tests"])
    assert any(
        row["p"] < 0.05 for row in null.tables["persona_tests"]
    )  # before the correction, one in twenty is
    assert "persona_effects" not in null.figures
    assert not null.tables["table_23_significant"]


def test_what_was_planted_is_found_and_nothing_else(planted):
    found = {
        (row["topic"], row["dimension"], row["higher"], row["lower"])
        for table in ("table_23_significant", "table_27_extended")
        for row in planted.tables[table]
    }
    wanted = [(LEFT, "left_progressive"), (CONSERVATIVE, "right_conservative")]
    assert found == {
        (topic, dimension, persona, other)
        for topic in (PRIMARY[0], "Quantum Physics")
        for persona, dimension in wanted
        for other in PERSONAS
        if other != persona
    }
    significant = [row for row in planted.tables["persona_tests"] if row["significant"]]
    assert len(significant) == len(found)


def test_effects_are_ordered_by_size_and_lie_in_their_interval(planted):
    rows = planted.tables["table_23_significant"]
    assert all(a["abs_delta"] >= b["abs_delta"] for a, b in pairwise(rows))
    assert all(0 < row["low"] <= row["abs_delta"] <= row["high"] for row in rows)
    assert all(row["rank_biserial"] > 0.8 and row["p_bonferroni"] <= 0.05 for row in rows)


def test_topics_are_set_side_by_side(planted):
    rows = {row["topic"]: row for row in planted.tables["table_28_topics"]}
    assert list(rows) == [*PRIMARY, "Quantum Physics"]
    assert [(r["contested"], r["significant"], r["listed"]) for r in rows.values()] == [
        (True, 4, 4), (True, 0, 0), (False, 0, 0), (False, 4, 4)
    ]  # fmt: skip
    largest = max(row["abs_delta"] for row in planted.tables["table_23_significant"])
    assert rows[PRIMARY[0]]["max_abs_delta"] == largest
    assert rows[PRIMARY[1]]["max_abs_delta"] is None


def test_an_effect_on_a_dimension_of_another_topic_is_not_listed(tmp_path):
    """All 24 dimensions are tested on every topic; table 23 lists those that speak to it, table 28
    counts both.
    """

    def text_of(model, topic, persona, n):
        return "gilgamesh river" + " stone" * (20 + n) if persona == LEFT else "river stone"

    part = personas_part(grid(tmp_path, text_of, ["m"], ["US Civil Rights"], subjects=30), [])
    assert part.tables["table_23_significant"] == []
    (row,) = part.tables["table_28_topics"]
    assert (row["significant"], row["listed"]) == (2, 0)
    (found, _) = [row for row in part.tables["persona_tests"] if row["significant"]]
    assert (found["dimension"], found["relevant"]) == ("babylon_mythological", False)


def test_mean_hits_by_hand(tmp_path):
    """Two models are pooled: 1000, 0, 0, 0 under left; a tie has no highest."""

    def text_of(model, topic, persona, n):
        return "slavery" if (model, persona, n) == ("gpt", LEFT, 0) else "river"

    part = personas_part(grid(tmp_path, text_of, MODELS[:2], PRIMARY[:1], subjects=2), [])
    rows = {row["dimension"]: row for row in part.tables["table_22_framing"]}
    assert "babylon_scholarly" not in rows
    assert rows["colonial_critical"] == {
        "family": "primary", "topic": PRIMARY[0], "dimension": "colonial_critical", "models": 2, "articles": 12,
        CONSERVATIVE: 0.0, LEFT: 250.0, NEUTRAL: 0.0, "highest": LEFT,
    }  # fmt: skip
    assert rows["military_heroic"]["highest"] is None


def test_actors_by_hand(tmp_path):
    """Over all tokens of a persona, not the mean of articles: malcolm 3 of 10 tokens, and 1 of 10."""
    texts = {
        LEFT: ["malcolm malcolm malcolm x x x x x", "x x"],
        CONSERVATIVE: ["malcolm x x x x", "congress congress x x x"],
        NEUTRAL: ["x x x x x", "congress x x x x"],
    }

    def text_of(model, topic, persona, n):
        return texts[persona][n]

    part = personas_part(grid(tmp_path, text_of, ["m"], ["US Civil Rights Movement"], subjects=2), [])
    topic = {"topic": "US Civil Rights Movement"}
    assert part.tables["table_24_actors"] == [
        {**topic, "actor": "malcolm", "category": "progressive", "highest": LEFT, "spread": 300.0, "hits_per_1000": 300.0,
         CONSERVATIVE: 100.0, LEFT: 300.0, NEUTRAL: 0.0, "hits": 4},
        {**topic, "actor": "congress", "category": "canonical", "highest": CONSERVATIVE, "spread": 200.0, "hits_per_1000": 200.0,
         CONSERVATIVE: 200.0, LEFT: 0.0, NEUTRAL: 100.0, "hits": 3},
    ]  # fmt: skip


def test_style_has_a_row_a_cell_and_pair(planted):
    rows = planted.tables["table_25_style"]
    assert [(row["persona_a"], row["persona_b"]) for row in rows[:3]] == [
        (CONSERVATIVE, LEFT), (CONSERVATIVE, NEUTRAL), (LEFT, NEUTRAL)
    ]  # fmt: skip
    assert len(rows) == 4 * 3
    assert {(row["n"], row["outlines"], row["outline_jaccard"]) for row in rows} == {(30, 0, None)}
    assert all(0 < row[f"jaccard_{n}"] < 1 for row in rows for n in (1, 2))


def test_every_article_compared_can_be_counted_again(planted, planted_runs):
    """From the run's own texts, one article by hand of the table."""
    row = cell_rows(planted, "persona_articles", topic=PRIMARY[0], persona=LEFT)[0]
    run = next(r for r in planted_runs if r.uri.endswith("Asia-left_leaning"))
    texts = {a["name"].lower().replace(" ", ""): a["wikitext"] for a in run.read("articles").to_pylist()}
    words = Words.of(texts[row["subject"]])
    (lexicon,) = [d for d in load_lexicons().dimensions if d.name == "left_progressive"]
    assert row["tokens"] == len(words.tokens)
    hits = sum(words.tokens.count(w) for w in lexicon.words)
    assert hits
    assert row["left_progressive"] == pytest.approx(1000 * hits / len(words.tokens), abs=1e-4)


# --- determinism


PROGRAM = """
import json, sys
from llmpedia.analysis.personas.tables import personas_part
from llmpedia.store.run_folder import RunFolder
print(json.dumps(personas_part([RunFolder.open(uri) for uri in sys.argv[1:]], []).tables, sort_keys=True))
"""


def in_a_process(hash_seed, runs):
    env = {"PYTHONHASHSEED": str(hash_seed), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": str(hash_seed)}
    uris = [run.uri for run in runs]
    command = [sys.executable, "-c", PROGRAM, *uris]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, env=env, cwd=Path(__file__).parents[3]
    ).stdout


def test_the_same_bits_whatever_the_order_of_runs_and_the_process(planted, planted_runs):
    wanted = json.dumps(planted.tables, sort_keys=True) + "\n"
    shuffled = random.Random(1).sample(planted_runs, len(planted_runs))
    assert in_a_process(1, planted_runs) == wanted
    assert in_a_process(2, shuffled) == wanted


def test_the_same_bits_whatever_the_order_of_the_rows(tmp_path, planted, planted_runs):
    """The same articles committed in other waves and in another order."""
    run = planted_runs[0]
    texts = {
        a["name"]: a["wikitext"] for a in run.read("articles").to_pylist() if a["name"].startswith("Subject")
    }
    turned = dict(sorted(texts.items(), reverse=True))
    again = persona_run(tmp_path / "again", MODELS[0], PRIMARY[0], CONSERVATIVE, turned, waves=2)
    part = personas_part([again, *planted_runs[1:]], [])
    assert part.tables == planted.tables


def test_only_waves_of_subjects_drawn_are_read_whole(planted_runs, monkeypatch):
    """Of two subjects in three waves, two waves at most, and never the seed's; names alone are read
    of all.
    """
    whole = []
    read = RunFolder.read

    def seen(run, table, waves=None, columns=None):
        if columns and "wikitext" in columns:
            whole.append((run.uri, *waves))
        return read(run, table, waves, columns)

    monkeypatch.setattr(RunFolder, "read", seen)
    monkeypatch.setattr("llmpedia.analysis.personas.tests.SUBJECTS", 2)
    part = personas_part(planted_runs[:3], [])
    assert [row["drawn"] for row in part.tables["persona_cells"]] == [2]
    assert {wave for _, wave in whole} <= {2, 3, 4}
    assert 3 <= len(whole) == len(set(whole)) <= 6


# --- the report


def test_what_cannot_be_made_is_said_with_a_command(tmp_path):
    alone = persona_run(tmp_path / "one", "m", "Ancient Babylon", LEFT, {"A": "x"})
    part = personas_part([alone], [])
    assert dict(part.tables) == {}
    (row,) = part.missing
    assert [name[:8] for name in row["what"].split(", ")] == [f"table_{n}" for n in range(21, 29)]
    assert (
        row["reason"]
        == "m, Ancient Babylon: only the persona left_leaning is here, and a comparison takes two"
    )
    root = Path(__file__).parents[3]
    for command in row["command"].split("; "):
        program, grid_, config, *rest = command.split()
        assert (program, grid_, rest) == ("llmpedia", "grid", ["--out", "runs/topics", "--set", "audit=null"])
        assert (root / config).is_file(), config


def test_without_a_common_subject_nothing_is_tested(tmp_path):
    runs = [persona_run(tmp_path / p, "m", "Tea", p, {f"Of {p}": "x"}) for p in PERSONAS[:2]]
    part = personas_part(runs, [])
    assert not part.tables
    assert "no subject has an article under all of conservative, left_leaning" in part.missing[0]["reason"]
    runs = [persona_run(tmp_path / f"{p}2", "m", "Tea", p, {"A": "{{x}}"}) for p in PERSONAS[:2]]
    assert (
        "none has words in its articles under all of conservative"
        in personas_part(runs, []).missing[0]["reason"]
    )
    assert framing_tests([], load_lexicons()) == []


def test_a_single_subject_has_no_interval(tmp_path):
    runs = [persona_run(tmp_path / p, "m", "Tea", p, {"A": "liberty"}) for p in PERSONAS[:2]]
    (row,) = cell_rows(personas_part(runs, []), "persona_tests", dimension="right_conservative")
    assert (row["n"], row["delta_low"], row["delta_high"], row["p"]) == (1, None, None, 1.0)


def test_the_part_is_written_with_its_figures(planted, tmp_path):
    write_report("Personas", "planted", [planted], tmp_path)
    assert set(planted.figures) == {"persona_hits", "persona_effects"}
    for name, texts in (
        ("persona_hits", ["left_progressive", LEFT]),
        ("persona_effects", [f"more under {LEFT}", "95% interval"]),
    ):
        drawn = (tmp_path / f"{name}.svg").read_text()
        assert all(text in drawn for text in texts)
    page = (tmp_path / "index.html").read_text()
    assert all(f'id="{name}"' in page for name, rows in planted.tables.items() if rows)
    assert (
        page.index('id="table_22_framing"')
        < page.index("persona_hits.svg")
        < page.index('id="table_24_actors"')
    )
