"""The retrieval trap: systems on the same titles, against values by hand, and what is left out or
still to be done.
"""

import statistics

import pytest

from llmpedia.analysis.comparison.trap import trap_part
from llmpedia.analysis.output.drawing import write_figures
from llmpedia.analysis.output.formats import write_tables
from llmpedia.store.run_folder import RunFolder
from tests.support.builders.audit import ScriptedJudge
from tests.support.builders.runs import Corpus, Visit, make_config
from tests.support.builders.systems import make_audit, make_system

WIKIPEDIA = {"A": "It is big. It is old. It is blue.", "B": "It is big. It is red.", "C": "It is new."}
WEB = {"A": "It is odd.", "B": "It is big."}
TITLES = ["A", "B", "C", "Nobody has it"]


def systems(folder, judge=None):
    """Ours has A, B and C; the other A, B and D. On A, B: 1/2 and 1 of ours are true, 1 and 0 of
    the other's.
    """
    ours = make_system(folder, "ours", {"A": "It is big. It is odd.", "B": "It is big.", "C": "It is new."})
    other = make_system(
        folder, "other", {"A": "It is big. It is old.", "B": "It is small.", "D": "It is dark."}
    )
    return [ours, other], [
        make_audit(run, WIKIPEDIA, TITLES, web=WEB, judge=judge and judge()) for run in (ours, other)
    ]


def lines(rows, part):
    return {
        r["measure"]: {k: v for k, v in r.items() if k not in ("part", "measure")}
        for r in rows
        if r["part"] == part
    }


def test_values_by_hand(tmp_path):
    part = trap_part(*systems(tmp_path))
    seven = lines(part.tables["table_07_trap"], "wikipedia")
    assert seven["true_pct"] == {"ours": 75.0, "other": 50.0}
    assert seven["unv_pct"] == {"ours": 25.0, "other": 50.0}
    assert seven["prec_pct"] == {"ours": 100.0, "other": 100.0}
    ten = lines(part.tables["table_10_trap"], "wikipedia")
    sd = round(100 * statistics.stdev([0.5, 1.0]), 1), round(100 * statistics.stdev([0.0, 1.0]), 1)
    assert ten["true_pct"] == {
        "ours": 75.0,
        "ours sd": sd[0],
        "ours n": 2,
        "other": 50.0,
        "other sd": sd[1],
        "other n": 2,
    }
    assert ten["precision_pct"]["other n"] == 1  # B of the other has no claim that is true or false
    assert (ten["claims"]["ours"], ten["claims"]["other"]) == (3.0, 3.0)
    web = lines(part.tables["table_07_trap"], "web")
    assert web["true_pct"] == {"ours": 75.0, "other": 0.0}


def test_words_and_similarity_of_the_same_titles(tmp_path):
    part = trap_part(*systems(tmp_path))
    words = lines(part.tables["table_10_trap"], "words")
    assert (words["words_mean"]["ours"], words["words_mean"]["other"]) == (
        4.0,
        4.0,
    )  # (6 + 3) / 2, half to even
    assert words["wikipedia_mean"]["ours"] == words["wikipedia_mean"]["other"] == 8.0  # (9 + 6) / 2
    alike = lines(part.tables["table_10_trap"], "similarity")
    # ours A: {it, is, big, odd} of 4 in {it is big old blue}: 3; B: {it is big}: 3 of 3
    assert alike["unigram_overlap"]["ours"] == pytest.approx((3 / 4 + 1) / 2, abs=5e-4)
    assert alike["unigram_overlap"]["ours n"] == 2
    assert alike["tfidf_cosine"]["other"] > 0
    assert "semantic_cosine" not in alike


def test_the_semantic_cosine_is_there_with_an_encoder(tmp_path):
    import numpy as np

    runs, audits = systems(tmp_path)
    part = trap_part(runs, audits, lambda texts: np.array([[len(t), 1.0] for t in texts]))
    assert lines(part.tables["table_07_trap"], "similarity")["semantic_cosine"]["ours"] == pytest.approx(
        1.0, abs=0.02
    )
    assert [m for m in part.missing if "semantic" in m["what"]] == []


def test_what_not_all_systems_have_is_left_out_and_counted(tmp_path):
    rows = trap_part(*systems(tmp_path)).tables["trap_titles"]
    told = {
        r["system"]: (r["listed"], r["without_article"], r["audited"], r["in_all_systems"], r["left_out"])
        for r in rows
    }
    assert told == {"ours": (4, 1, 3, 2, 1), "other": (4, 2, 2, 2, 0)}


def test_a_judge_that_is_silent_is_no_verdict(tmp_path):
    part = trap_part(*systems(tmp_path, lambda: ScriptedJudge(silent=True)))
    ten = lines(part.tables["table_10_trap"], "wikipedia")
    assert ten["not_adjudicated"]["ours"] == 3.0
    assert (ten["true_pct"]["ours"], ten["true_pct"]["ours n"]) == (None, 0)


def test_it_can_be_drawn_and_written_and_is_the_same_again(tmp_path):
    runs, audits = systems(tmp_path)
    made = []
    for name in ("one", "two"):
        part = trap_part(runs, audits)
        figures = write_figures(part.figures, tmp_path / name)
        made.append({p.name: p.read_bytes() for p in [*figures, *write_tables(part.tables, tmp_path / name)]})
    assert made[0] == made[1]
    assert {"figure_trap_factuality.svg", "figure_trap_similarity.png", "table_10_trap.parquet"} <= set(
        made[0]
    )
    assert ">75.0<" in made[0]["figure_trap_factuality.svg"].decode()


def test_one_system_is_told_what_is_to_be_done(tmp_path):
    corpus = Corpus(tmp_path / "walk", make_config()).seed("Root").walk(Visit("Root"))
    part = trap_part([RunFolder.open(corpus.run.uri)], [])
    commands = {m["what"]: m["command"] for m in part.missing if m["table"] == "table_10_trap"}
    assert part.tables == {}
    assert commands["articles of our own"].startswith("llmpedia materialize configs/trap.yaml")
    assert commands["another encyclopedia"].startswith("llmpedia import TEXTS --titles")
    assert "sample.titles" in commands["an audit of each"]


def test_an_imported_run_without_an_audit_is_named(tmp_path):
    runs, audits = systems(tmp_path)
    third = make_system(tmp_path, "third", {"A": "x"})
    part = trap_part([*runs, third], audits)
    assert [m["command"] for m in part.missing if m["what"] == "third"] == [
        (
            f"llmpedia audit {third.uri} --name trap --set wikipedia.contact=ADDRESS --set "
            f"sample.random=0 --set sample.titles=TITLES"
        )
    ]
    assert set(lines(part.tables["table_07_trap"], "web")["true_pct"]) == {"ours", "other"}


def test_systems_without_a_common_title_are_not_compared(tmp_path):
    one = make_system(tmp_path, "one", {"A": "It is big."})
    two = make_system(tmp_path, "two", {"B": "It is big."})
    part = trap_part([one, two], [make_audit(run, WIKIPEDIA, TITLES) for run in (one, two)])
    assert set(part.tables) == {"trap_titles"}
    assert {m["table"] for m in part.missing if "alike" in m["reason"]} == {"table_07_trap", "table_10_trap"}
