"""llmpedia/analysis/probe_*.py: data, results, fields, size, reasoning, formulations, perplexity,
judge, and a build's funnel.
"""

import math
from itertools import pairwise

import pytest

from llmpedia.analysis.probe.data import (
    ALL_MODELS,
    GradedResponse,
    HumanGrade,
    ModelRun,
    ProbeData,
    ProbeQuestion,
    QuestionFacts,
    items_of,
    model_run,
    shares,
)
from llmpedia.analysis.probe.fields import fields
from llmpedia.analysis.probe.formulation import formulation, formulation_mean
from llmpedia.analysis.probe.funnel import StepCount, build_counts, build_funnel, build_rejections
from llmpedia.analysis.probe.judge import judge_accounts, judge_outcomes, kappa
from llmpedia.analysis.probe.perplexity import perplexity_bins, perplexity_correlation, spearman
from llmpedia.analysis.probe.results import results
from llmpedia.analysis.probe.scale import groups, mcnemar, reasoning, scale
from llmpedia.errors import InputError
from llmpedia.tables import table

LETTERS = {
    "C": GradedResponse("complete", truncated=False),
    "P": GradedResponse("partial", truncated=False),
    "F": GradedResponse("failed", truncated=True),
    "e": GradedResponse(None, "the engine gave up", "closed_book"),
    "j": GradedResponse(None, "the judge's answer is no JSON", "grade", truncated=False),
}
"""What became of an answer; a blank is a question that was not asked."""


def grades(letters):
    return {f"q{n:03}": LETTERS[letter] for n, letter in enumerate(letters) if letter != " "}


def probe(letters, facts=None, ppl=None, human=None, **columns):
    """Model -> a letter a question. ``columns``: of the items, a value a question."""
    count = len(next(iter(letters.values())))
    told = [{name: values[n] for name, values in columns.items()} for n in range(count)]
    items = {
        f"q{n:03}": ProbeQuestion(**{"group_id": f"g{n:03}", "accounts": ("1901", "1902"), **told[n]})
        for n in range(count)
    }
    runs = {
        m: ModelRun(grades(said), (facts or {}).get(m, QuestionFacts()), (ppl or {}).get(m))
        for m, said in letters.items()
    }
    return ProbeData(items, runs, human)


def kimi():
    """The paper's first line: 52.38, 45.25, 2.38 percent of 1,094 questions and K = 53.65."""
    return probe({"Kimi-K3": "C" * 573 + "P" * 495 + "F" * 26})


# results


def test_the_published_first_line():
    (row,) = results(kimi(), strict=True)
    assert [row[f"{name}_pct"] for name in ("complete", "partial", "failed", "k")] == [
        52.38,
        45.25,
        2.38,
        53.65,
    ]
    assert (row["questions"], row["complete"], row["partial"], row["failed"]) == (1094, 573, 495, 26)


def test_intervals_are_wilsons():
    """29 of 33 is 72.7 to 95.2 percent; and as statsmodels has it."""
    from statsmodels.stats.proportion import proportion_confint

    (row,) = results(probe({"m": "C" * 29 + "F" * 4}), strict=False)
    assert (round(row["complete_low"], 1), round(row["complete_high"], 1)) == (72.7, 95.2)
    low, high = proportion_confint(4, 33, method="wilson")
    assert (row["failed_low"], row["failed_high"]) == (round(100 * low, 2), round(100 * high, 2))


def test_k_is_of_complete_and_partial_alone():
    (row,) = results(probe({"m": "CPPPFFFF"}), strict=False)
    assert row["k_pct"] == 25.0
    assert (row["k_low"], row["k_high"]) == (4.56, 69.94)  # Wilson of 1 in 4


def test_k_is_null_where_nothing_is_recalled():
    (row,) = results(probe({"m": "FF"}), strict=False)
    assert (row["k_pct"], row["k_low"], row["k_high"]) == (None, None, None)


def test_not_graded_has_a_share_of_its_own():
    """The released program takes a judge's failure for a failure of the model, and keeps it for
    ever.
    """
    (row,) = results(probe({"m": "CPFej "}), strict=False)
    assert [row[f"not_graded_{why}"] for why in ("by_engine", "by_judge", "not_asked")] == [1, 1, 1]
    assert (row["failed"], row["failed_pct"], row["not_graded"], row["not_graded_pct"]) == (1, 16.67, 3, 50.0)
    assert row["truncated"] == 1


def test_strict_counts_not_graded_as_failed():
    (row,) = results(probe({"m": "CPFej "}), strict=True)
    assert (row["complete_pct"], row["partial_pct"], row["failed_pct"]) == (16.67, 16.67, 66.67)
    assert (row["failed"], row["not_graded"], row["not_graded_counts_as_failed"]) == (4, 3, True)


def test_the_denominator_is_all_questions_whatever_was_graded():
    shown = results(probe({"m": "C" + " " * 9}), strict=False)[0]
    assert (shown["questions"], shown["complete_pct"]) == (10, 10.0)


def test_models_stand_by_complete_then_partial_then_name():
    rows = results(probe({"b": "CF", "a": "CF", "c": "CP", "d": "CC"}), strict=False)
    assert [row["model"] for row in rows] == ["d", "c", "a", "b"]


@pytest.mark.parametrize("letters", ["CPFej ", "CCC", "   ", "eejj"])
def test_shares_add_up_to_100(letters):
    found = shares(probe({"m": letters}).outcomes("m", strict=False).values())
    assert sum(found.values()) == pytest.approx(100, abs=0.02)


# data


RESPONSE = {
    "benchmark_id": "q",
    "attempt": 1,
    "text": "1901",
    "finish_reason": "stop",
    "truncated": False,
    "error": None,
}
RESPONSE["completion"] = "r1"
GRADE = {"benchmark_id": "q", "attempt": 1, "response": "r1", "outcome": "partial", "covered": [True, False]}
GRADE |= {"evidence": ["", ""], "contradictions": [], "error_stage": None, "error": None, "completion": "g1"}
LOST = {"outcome": None, "covered": None, "error": "no JSON", "error_stage": "grade"}


def run_of(responses, judged):
    """Through the tables themselves, so that the columns are theirs."""
    made = model_run(table("responses", responses).to_pylist(), table("grades", judged).to_pylist())
    return made.grades["q"]


def test_the_last_row_of_a_question_counts():
    found = run_of(
        [{**RESPONSE, "error": "down", "text": None, "completion": None}, RESPONSE],
        [{**GRADE, **LOST}, GRADE],
    )
    assert found == GradedResponse("partial", truncated=False, covered=(True, False))


def test_a_response_that_failed_is_not_graded_by_engine():
    failed = {
        **RESPONSE,
        "text": None,
        "finish_reason": None,
        "truncated": None,
        "error": "down",
        "completion": None,
    }
    assert run_of([failed], []) == GradedResponse(None, "down", "closed_book")


def test_the_grade_of_an_earlier_response_does_not_count():
    found = run_of([RESPONSE, {**RESPONSE, "attempt": 2, "completion": "r2"}], [GRADE])
    assert (found.outcome, found.error_stage) == (None, "grade")


def test_the_judges_failure_is_the_judges():
    assert run_of([RESPONSE], [{**GRADE, **LOST}]) == GradedResponse(
        None, "no JSON", "grade", truncated=False
    )


BENCHMARK = {
    "benchmark_id": "q",
    "group_id": "g",
    "formulation": None,
    "question": "When?",
    "answers": ["1901", "1902"],
}
BENCHMARK |= {"preferred_answer": "1901", "path": ["History", "History", "World"], "n_maj": 3, "n_min": 1}


def test_items_are_rows_of_the_benchmark():
    found = items_of(table("benchmark", [BENCHMARK]).to_pylist())
    assert found == {"q": ProbeQuestion("g", ("1901", "1902"), None, ("History", "History", "World"), 3, 1)}


def test_a_question_twice_is_refused():
    with pytest.raises(InputError, match="q is there twice"):
        items_of([BENCHMARK, BENCHMARK])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: GradedResponse(None), "an outcome|an error"),
        (lambda: GradedResponse("complete", "and an error"), "either"),
        (lambda: GradedResponse("correct"), "complete, partial, failed"),
        (lambda: GradedResponse("complete", covered=(True, False)), "covers all"),
        (lambda: GradedResponse("partial", covered=(True, True)), "some of them"),
        (lambda: ProbeQuestion("g", ()), "no account"),
        (lambda: ProbeQuestion("g", ("a",), n_maj=1, n_min=2), "n_maj is the larger"),
        (lambda: ProbeQuestion("g", ("a",), formulation="riddle"), "named_entity or clue_based"),
        (lambda: ProbeData({}, {}), "no question"),
        (
            lambda: ProbeData(kimi().items, {"m": ModelRun({"other": LETTERS["C"]})}),
            "other is not in the benchmark",
        ),
        (lambda: probe({"m": "C"}, ppl={"m": {"q000": 0.0}}), "ppl = 0.0"),
        (lambda: probe({"m": "C"}, ppl={"m": {"q000": math.inf}}), "ppl = inf"),
        (lambda: probe({"m": "C"}, human=(HumanGrade("n", "q000", "failed"),)), "has no answer"),
        (
            lambda: probe({"m": "C"}, human=(HumanGrade("m", "q000", "failed", (False,)),)),
            "1 decisions for 2 accounts",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(make, said):
    with pytest.raises(InputError, match=said) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_a_contradiction_fails_even_with_every_account_covered():
    assert GradedResponse("failed", covered=(True, True)).outcome == "failed"


# fields


PATHS = [
    ("Science", "Physics", "Optics"),
    ("Science", "Physics", "Heat"),
    ("Arts", "Music", "Opera"),
    None,
    ("Arts",),
]


def test_fields_are_the_middle_level():
    rows = fields(probe({"a": "CPFCC", "b": "CCFFe"}, path=PATHS), strict=False)
    pooled = {row["field"]: row for row in rows if row["model"] == ALL_MODELS}
    assert {name: row["questions"] for name, row in pooled.items()} == {"Physics": 2, "Music": 1, None: 2}
    assert (pooled["Physics"]["complete_pct"], pooled["Physics"]["partial_pct"]) == (75.0, 25.0)
    assert (pooled[None]["complete_pct"], pooled[None]["failed_pct"], pooled[None]["not_graded_pct"]) == (
        50.0,
        25.0,
        25.0,
    )
    assert {row["model"] for row in rows} == {ALL_MODELS, "a", "b"}


def test_fields_with_few_questions_are_marked():
    rows = fields(
        probe({"m": "C" * 31}, path=[("A", "Large", "x")] * 30 + [("A", "Small", "x")]), strict=False
    )
    assert {row["field"]: row["few"] for row in rows} == {"Large": False, "Small": True}


# size and reasoning


def test_the_published_mean_of_small_models():
    """Six models below 10B have 134, 106, 57, 30, 18 and 15 of 1,094 complete; the paper says 5.48
    percent on average.
    """
    complete = {
        "Qwen3.5-9B": 134,
        "Qwen3.5-4B": 106,
        "OLMo-3-7B": 57,
        "Gemma-4-E4B": 30,
        "Qwen3.5-2B": 18,
        "Gemma-4-E2B": 15,
    }
    letters = {name: "C" * n + "F" * (1094 - n) for name, n in complete.items()}
    (row,) = groups(probe(letters, dict.fromkeys(letters, QuestionFacts(group="lt10"))), strict=False)
    assert (row["models"], row["complete_pct"]) == (6, 5.48)
    assert (row["best_model"], row["best_complete_pct"]) == ("Qwen3.5-9B", 12.25)


def test_size_stands_by_family_and_parameters():
    facts = {
        "l": QuestionFacts("Q", 397),
        "s": QuestionFacts("Q", 2),
        "g": QuestionFacts("G", 12),
        "unknown": QuestionFacts("Q"),
    }
    rows = scale(probe({"l": "CC", "s": "FF", "g": "CF", "unknown": "CC"}, facts), strict=False)
    assert [(row["model"], row["complete_pct"]) for row in rows] == [("g", 50.0), ("s", 0.0), ("l", 100.0)]


def test_mcnemar_by_hand():
    """8 against 1 of 9: 2 * (1 + 9) / 512; the released test has it too."""
    from statsmodels.stats.contingency_tables import mcnemar as theirs

    assert mcnemar(8, 1) == pytest.approx(20 / 512)
    assert mcnemar(8, 1) == pytest.approx(theirs([[5, 1], [8, 7]], exact=True).pvalue)
    assert mcnemar(0, 0) == mcnemar(3, 3) == 1.0


def test_reasoning_pairs_by_family_and_size():
    facts = {
        "off": QuestionFacts("Q", 9, reasoning=False),
        "on": QuestionFacts("Q", 9, reasoning=True),
        "alone": QuestionFacts("Q", 27, reasoning=True),
    }
    rows, missing = reasoning(probe({"off": "CFPFF", "on": "CCFCe", "alone": "CCCCC"}, facts), strict=False)
    assert missing == []
    assert [(r["off"], r["on"], r["compared"], r["not_compared"]) for r in rows] == [("off", "on", 4, 1)]
    assert (rows[0]["complete_difference"], rows[0]["partial_difference"], rows[0]["failed_difference"]) == (
        50.0,
        -25.0,
        -25.0,
    )
    assert (rows[0]["gained"], rows[0]["lost"], rows[0]["p"]) == (2, 0, 0.5)


def test_the_published_gain_of_reasoning():
    """GPT-5.6-Sol has 492 of 1,094 complete with reasoning, 13.99 points more than without: 153
    questions.
    """
    facts = {
        "off": QuestionFacts(base="GPT", reasoning=False),
        "on": QuestionFacts(base="GPT", reasoning=True),
    }
    data = probe({"off": "C" * 339 + "P" * 755, "on": "C" * 492 + "P" * 602}, facts)
    assert reasoning(data, strict=True)[0][0]["complete_difference"] == 13.99


def test_two_runs_of_one_kind_are_no_pair():
    facts = {
        "a": QuestionFacts(base="x", reasoning=False),
        "b": QuestionFacts(base="x", reasoning=False),
        "c": QuestionFacts(base="x", reasoning=True),
    }
    rows, missing = reasoning(probe({"a": "C", "b": "C", "c": "C"}, facts), strict=False)
    assert (rows, missing[0]["what"]) == ([], "x")
    assert "a, b" in missing[0]["reason"]


# formulation


def formulated(letters, facts=4):
    """Groups of two questions, the named-entity one first."""
    columns = {
        "group_id": [f"g{n // 2}" for n in range(2 * facts)],
        "formulation": ["named_entity", "clue_based"] * facts,
    }
    return probe(letters, **columns)


def test_formulations_are_compared_group_by_group():
    (row,) = formulation(formulated({"m": "CFCPCCFe"}), strict=False)
    assert (row["groups"], row["not_compared"], row["only_named"], row["only_clue"]) == (3, 1, 2, 0)
    assert (row["named_entity_pct"], row["clue_based_pct"], row["difference"]) == (100.0, 33.33, 66.67)
    assert row["p"] == 0.5


def test_formulations_strict_compares_all_groups():
    (row,) = formulation(formulated({"m": "CFCPCCFe"}), strict=True)
    assert (row["groups"], row["not_compared"], row["difference"]) == (4, 0, 50.0)


def test_the_mean_over_models_by_hand():
    """Differences of 50, 0 and 25 points: mean 25, standard error 25 / sqrt 3, t = sqrt 3 with 2
    degrees: p = 0.2254.
    """
    data = formulated({"a": "CFCFCCFF", "b": "CCFFCCFF", "c": "CFCCCCCC"})
    models, over_groups = formulation_mean(data, strict=False)
    assert (models["over"], models["difference"], models["models"]) == ("models", 25.0, 3)
    assert (models["named_better"], models["clue_better"], models["equal"]) == (2, 0, 1)
    assert models["p"] == pytest.approx(0.22540, abs=1e-5)
    half = 4.302653 * 25 / math.sqrt(3)
    assert (models["low"], models["high"]) == (
        pytest.approx(25 - half, abs=1e-3),
        pytest.approx(25 + half, abs=1e-3),
    )
    assert over_groups["over"] == "groups"


def test_swapping_groups_by_hand():
    """One model, 4 groups, 3 of them complete when named only: of 8 swaps 2 are as far from 0, so p
    is a quarter.
    """
    rows = formulation_mean(formulated({"m": "CFCFCFFF"}), strict=False)
    over_groups = next(row for row in rows if row["over"] == "groups")
    assert over_groups["p"] == pytest.approx(0.25, abs=0.02)
    assert over_groups["high"] == 100.0


def test_the_test_over_models_needs_two():
    models = formulation_mean(formulated({"m": "CFCFCFFF"}), strict=False)[0]
    assert (models["low"], models["high"], models["p"]) == (None, None, None)


@pytest.mark.parametrize("models", [2, 3, 5, 6])
def test_models_that_differ_alike_have_no_error_to_go_by(models):
    """The standard deviation of three times 0.1 is not 0, and a p of 1e-32 would come of it."""
    data = formulated(dict.fromkeys("abcdef"[:models], "CF" + "CC" * 9), facts=10)
    row = formulation_mean(data, strict=False)[0]
    assert (row["difference"], row["low"], row["high"], row["p"]) == (10.0, None, None, None)


def test_without_formulations_there_is_nothing_to_compare():
    assert (
        formulation(probe({"m": "CC"}), strict=False)
        == formulation_mean(probe({"m": "CC"}), strict=False)
        == []
    )


def test_the_same_data_give_the_same_interval():
    data = formulated({"a": "CFCFCCFF", "b": "CCFFCeFF"})
    assert formulation_mean(data, strict=False) == formulation_mean(data, strict=False)


# perplexity


def test_bins_hold_equal_counts_in_order_of_perplexity():
    ppl = {f"q{n:03}": 100.0 - n for n in range(53)}
    rows = perplexity_bins(probe({"m": "F" * 26 + "C" * 28}, ppl={"m": ppl}), strict=False)
    assert [row["questions"] for row in rows] == [5, 5, 5, 6, 5, 5, 6, 5, 5, 6]
    assert rows[0]["ppl_low"] == 48.0
    assert rows[-1]["ppl_high"] == 100.0
    assert all(a["ppl_high"] < b["ppl_low"] for a, b in pairwise(rows))
    assert (rows[0]["complete_pct"], rows[-1]["failed_pct"], rows[0]["without_ppl"]) == (100.0, 100.0, 1)


def test_few_perplexities_make_few_bins():
    ppl = {f"q{n:03}": 1.0 + n for n in range(11)}
    assert len(perplexity_bins(probe({"m": "C" * 11}, ppl={"m": ppl}), strict=False)) == 2
    assert perplexity_bins(probe({"m": "C" * 4}, ppl={"m": dict(list(ppl.items())[:4])}), strict=False) == []


def test_spearman_by_hand():
    """Ranks 1 2 3 4 5 against 2 1 4 3 5: 1 - 6 * 4 / (5 * 24) = 0.8; t = 0.8 * sqrt(3 / 0.36) with
    3 degrees: p = 0.1041.
    """
    found = spearman([1.0, 2.0, 3.0, 4.0, 5.0], [20, 10, 40, 30, 50])
    assert (found["correlation"], round(found["p"], 4)) == (0.8, 0.1041)
    half = 1.959964 * math.sqrt(1.32 / 2)
    assert found["low"] == round(math.tanh(math.atanh(0.8) - half), 4)
    assert found["high"] == round(math.tanh(math.atanh(0.8) + half), 4)


@pytest.mark.parametrize(
    ("xs", "ys"),
    [([1.0, 2.0, 3.0], [1, 2, 3]), ([1.0] * 5, [1, 2, 3, 4, 5]), ([1.0, 2.0, 3.0, 4.0], [1] * 4)],
)
def test_spearman_is_null_where_it_is_not_defined(xs, ys):
    assert set(spearman(xs, ys).values()) == {None}


def test_ranks_that_agree_throughout_have_no_error_to_go_by():
    """Of four questions in two pairs of ties, one order in six is this one: no p of 0."""
    assert spearman([1.0, 1.0, 2.0, 2.0], [0, 0, 1, 1]) == {
        "correlation": 1.0,
        "low": None,
        "high": None,
        "p": None,
    }


def test_perplexity_falls_with_recall():
    ppl = {f"q{n:03}": 1.0 + n for n in range(10)}
    rows = perplexity_correlation(probe({"m": "CCCPPPPFFe"}, ppl={"m": ppl}), strict=False)
    found = {row["measure"]: row for row in rows}
    assert found["recall"]["questions"] == 9
    assert found["recall"]["correlation"] < -0.9
    assert found["complete"]["correlation"] < 0 < found["failed"]["correlation"]


# judge


def test_judge_and_human_by_hand():
    """Judge CCPF against human CPPF: 3 of 4; by chance 2*1 + 1*2 + 1*1 = 5 of 16: kappa = (12 - 5)
    / (16 - 5).
    """
    human = tuple(
        HumanGrade("m", f"q{n:03}", o)
        for n, o in enumerate(["complete", "partial", "partial", "failed", "failed"])
    )
    rows = judge_outcomes(probe({"m": "CCPFj"}, human=human))
    found = {row["outcome"]: row for row in rows}
    assert (found["complete"]["judged"], found["complete"]["agreed"], found["complete"]["to_partial"]) == (
        2,
        1,
        1,
    )
    assert (found["partial"]["human"], found["overall"]["agreement_pct"]) == (2, 75.0)
    assert (found["overall"]["kappa"], found["overall"]["not_judged"]) == (round(7 / 11, 4), 1)


def test_kappa_is_statsmodels():
    from statsmodels.stats.inter_rater import cohens_kappa

    pairs = [(0, 0)] * 20 + [(0, 1)] * 5 + [(1, 0)] * 10 + [(1, 1)] * 15
    assert kappa(pairs) == pytest.approx(cohens_kappa([[20, 5], [10, 15]]).kappa) == 0.4


def test_kappa_is_null_where_only_one_class_is_used():
    assert kappa([("failed", "failed")] * 3) is None


def test_coverage_is_compared_account_by_account():
    human = (HumanGrade("m", "q0", "partial", (True, False)), HumanGrade("m", "q1", "complete", (True, True)))
    items = {name: ProbeQuestion(name, ("a", "b")) for name in ("q0", "q1")}
    run = ModelRun(
        {
            "q0": GradedResponse("partial", covered=(True, False)),
            "q1": GradedResponse("partial", covered=(False, True)),
        }
    )
    (row,) = judge_accounts(ProbeData(items, {"m": run}, human))
    assert (row["accounts"], row["agreed"], row["agreement_pct"]) == (4, 3, 75.0)
    assert (row["covered_by_judge"], row["covered_by_human"], row["kappa"]) == (2, 3, 0.5)


def test_without_humans_there_is_no_agreement():
    assert judge_outcomes(kimi()) == judge_accounts(kimi()) == []


# a build


def test_the_published_funnel():
    """4,127 seeds -> 8,254 candidate questions -> 1,094; the numbers between are made up."""
    counts = [
        StepCount("subgraphs", "seed", 5000, 4127, {"duplicate": 800, "cap": 73}),
        StepCount("questions", "seed", 4127, 4127, questions=8254),
        StepCount(
            "check: read", "group", 4127, 1000, {"an account is not supported": 3100}, 27, questions=2000
        ),
        StepCount("benchmark", "group", 547, 547, questions=1094),
    ]
    rows = build_funnel(counts)
    assert [row["questions"] for row in rows] == [None, 8254, 2000, 1094]
    assert all(row["in"] == row["kept"] + row["rejected"] + row["errored"] for row in rows)
    assert [row["waiting"] for row in rows] == [0, None, 453, None]
    assert rows[0]["reasons"] == "duplicate: 800; cap: 73"


def test_a_step_that_does_not_balance_is_refused():
    with pytest.raises(InputError, match="in = 10, kept = 5, rejected = 3, errored = 1"):
        StepCount("questions", "seed", 10, 5, {"leak": 3}, 1)


def test_a_step_cannot_take_in_more_than_the_one_before_kept():
    with pytest.raises(InputError, match="benchmark: in = 3, but check: web has kept 2"):
        build_funnel([StepCount("check: web", "group", 2, 2), StepCount("benchmark", "group", 3, 3)])


def test_a_build_is_counted_from_its_tables():
    def question(fate, reason=None):
        return {"fate": fate, "reason": reason}

    def check(name, group, fate, reason=None):
        return {"check": name, "group_id": group, "fate": fate, "reason": reason}

    tables = {
        "documents": [{"fate": fate} for fate in ("kept", "kept", "too_short")],
        "knowledge_points": [{"error": None}, {"error": "no JSON"}],
        "relations": [
            {"relation": None, "error": "down"},
            {"relation": "conflict", "error": None},
            {"relation": "none", "error": None},
        ],
        "subgraphs": [{"fate": "kept"}] * 3,
        "questions": [question("kept"), question("rejected", "leak"), question("error", "down")],
        "checks": [
            check("read", "g", "error", "down"),
            check("read", "g", "kept"),
            check("web", "g", "kept"),
        ],
        "benchmark": [{"group_id": "g"}, {"group_id": "g"}],
    }
    rows = build_funnel(build_counts(tables, 0))
    found = {
        row["stage"]: (row["in"], row["kept"], row["rejected"], row["errored"], row["questions"])
        for row in rows
    }
    assert found == {
        "corpus": (3, 2, 1, 0, None),
        "knowledge": (2, 1, 0, 1, None),
        "relations": (3, 1, 1, 1, None),
        "subgraphs": (3, 3, 0, 0, None),
        "questions": (3, 1, 1, 1, 2),
        "check: read": (1, 1, 0, 0, 2),
        "check: web": (1, 1, 0, 0, 2),
        "benchmark": (1, 1, 0, 0, 2),
    }
    told = [
        (row["stage"], row["reason"], row["rejected"]) for row in build_rejections(build_counts(tables, 0))
    ]
    assert told == [("corpus", "too_short", 1), ("relations", "none", 1), ("questions", "leak", 1)]


def test_rare_reasons_are_summed_up():
    step = StepCount("check: web", "group", 60, 0, {f"reason {n:02}": 2 for n in range(30)})
    rows = build_rejections([step])
    assert (len(rows), rows[-1]["reason"], sum(row["rejected"] for row in rows)) == (
        21,
        "(10 other reasons)",
        60,
    )
