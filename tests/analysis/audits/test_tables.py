"""llmpedia/analysis/audits/tables.py: the paper's tables out of summary rows, by published numbers
where there are some.
"""

import pytest

from llmpedia.analysis.audits.tables import Findings, audit_tables, entity_jaccard
from llmpedia.analysis.common.statistics import percent_of_share
from llmpedia.analysis.output.formats import write_tables
from llmpedia.audit.measures.verdicts import audit_metrics
from llmpedia.audit.review import agreement
from tests.audit.measures.test_verdicts import Audit
from tests.audit.test_review import TABLE

# The paper's table 20: topic, model -> (precision, false, unverifiable, coverage) in percent for
# its three personas.
TABLE_20 = {
    ("Ancient Babylon", "GPT"): [(99.3, 0.6, 15.9, 67.0), (99.3, 0.4, 20.1, 75.0), (99.5, 0.4, 20.4, 71.0)],
    ("Ancient Babylon", "DeepSeek"): [
        (98.8, 1.0, 20.0, 81.0),
        (97.8, 1.8, 20.4, 78.0),
        (95.3, 2.7, 33.5, 68.0),
    ],
    ("Ancient Babylon", "Llama"): [(94.1, 3.1, 26.3, 81.0), (94.6, 2.5, 30.2, 68.0), (92.4, 3.2, 28.6, 90.0)],
    ("US Civil Rights", "GPT"): [(97.9, 1.9, 9.2, 84.0), (99.0, 1.0, 9.8, 79.0), (98.0, 1.5, 13.6, 72.0)],
    ("US Civil Rights", "DeepSeek"): [
        (97.2, 2.1, 17.0, 87.0),
        (97.2, 2.4, 15.0, 80.0),
        (96.3, 2.3, 20.2, 82.0),
    ],
    ("US Civil Rights", "Llama"): [(95.1, 3.2, 25.1, 76.0), (97.3, 1.8, 20.8, 80.0), (97.1, 2.1, 20.6, 70.0)],
    ("Dutch Colonization", "GPT"): [
        (99.3, 0.6, 19.4, 67.0),
        (98.9, 0.7, 27.9, 62.0),
        (98.2, 1.1, 22.1, 70.0),
    ],
    ("Dutch Colonization", "DeepSeek"): [
        (96.0, 2.3, 26.2, 73.0),
        (97.0, 2.1, 25.1, 73.0),
        (94.7, 2.5, 23.3, 65.0),
    ],
    ("Dutch Colonization", "Llama"): [
        (96.7, 2.3, 33.0, 57.0),
        (94.7, 2.4, 39.2, 71.0),
        (94.2, 3.0, 33.2, 54.0),
    ],
}
# Its table 4, but for what the figures of table 20, rounded to a decimal, cannot give again.
TABLE_04 = {
    ("Ancient Babylon", "GPT"): (99.4, 0.5, 18.8, 71.0),
    ("Ancient Babylon", "DeepSeek"): (97.3, 1.8, 24.6, 75.7),
    ("Ancient Babylon", "Llama"): (93.7, 2.9, 28.4, 79.7),
    ("US Civil Rights", "GPT"): (98.3, 1.5, 10.9, 78.3),  # printed: 10.8
    ("US Civil Rights", "DeepSeek"): (96.9, 2.3, 17.4, 83.0),
    ("US Civil Rights", "Llama"): (96.5, 2.4, 22.2, 75.3),  # printed: 22.1
    ("Dutch Colonization", "GPT"): (98.8, 0.8, 23.1, 66.3),
    ("Dutch Colonization", "DeepSeek"): (95.9, 2.3, 24.9, 70.3),  # printed: 24.8
    ("Dutch Colonization", "Llama"): (95.2, 2.6, 35.1, 60.7),  # printed: 2.5
}


def summary(precision=None, false=None, unverifiable=None, coverage=None, **columns):
    """A summary row of a random sample; shares given in percent."""
    row = {
        "by": "sample+tier",
        "sample": "random",
        "hop": None,
        "tier": "wikipedia",
        "articles": 100,
        "found": 80,
        "claims": 900,
    }
    row |= {
        "extraction_failed": 1,
        "fetch_failed": 2,
        "not_adjudicated": 3,
        "true_n": 79,
        "words_mean": 800.4,
        "words_median": 790.0,
    }
    shares = {"precision": precision, "false": false, "unverifiable": unverifiable, "coverage": coverage}
    row |= {name: None if value is None else value / 100 for name, value in shares.items()}
    row["true"] = None if None in (false, unverifiable) else 1 - row["false"] - row["unverifiable"]
    return row | columns


def topics():
    personas = ("conservative", "left_leaning", "scientific_neutral")
    return [
        summary(*values, topic=topic, model=model, persona=persona)
        for (topic, model), rows in TABLE_20.items()
        for persona, values in zip(personas, rows, strict=True)
    ]


def ablation():
    """The paper's table 8."""
    cells = [
        (False, "baseline", "low", 90.7, 8.2, 7.3),
        (False, "baseline", "minimal", 94.7, 4.5, 6.0),
        (False, "calibrated", "low", 92.1, 7.0, 7.7),
        (False, "calibrated", "minimal", 94.5, 4.5, 5.8),
        (True, "baseline", "low", 93.9, 5.5, 5.2),
        (True, "baseline", "minimal", 96.2, 3.6, 3.4),
        (True, "calibrated", "low", 95.3, 4.3, 3.6),
        (True, "calibrated", "minimal", 96.3, 3.4, 2.9),
    ]
    return [summary(p, f, u, self_grounding=s, prompting=b, reasoning=r) for s, b, r, p, f, u in cells]


def made(name, **findings):
    return audit_tables(Findings(**{"summaries": [], **findings})).tables.get(name, [])


def reasons(table, **findings):
    return {
        row["what"]: row["reason"]
        for row in audit_tables(Findings(**{"summaries": [], **findings})).missing
        if row["table"] == table
    }


def test_percent_has_one_decimal_and_keeps_null():
    assert (percent_of_share(29 / 33), percent_of_share(None)) == (87.9, None)


def test_topics_are_means_over_personas():
    rows = made("table_04_topics", summaries=topics())
    found = {
        (r["topic"], r["model"]): (r["prec_pct"], r["false_pct"], r["unv_pct"], r["wiki_pct"]) for r in rows
    }
    assert found == TABLE_04


def test_a_mean_over_personas_needs_all_of_them():
    rows = topics()[:3]
    rows[0]["precision"] = None
    (row,) = made("table_04_topics", summaries=rows)
    assert (row["prec_pct"], row["false_pct"], row["personas"]) == (None, 0.5, 3)


def test_topics_have_the_mean_entity_jaccard_of_model_pairs():
    entities = {"Ancient Babylon": {"GPT": {"a", "b"}, "DeepSeek": {"b", "c"}, "Llama": {"c", "d"}}}
    rows = made("table_04_topics", summaries=topics(), entities=entities)
    assert {r["entity_jaccard"] for r in rows if r["topic"] == "Ancient Babylon"} == {0.22}


def test_entity_jaccard_by_hand():
    """1/3, 0 and 1/3."""
    assert entity_jaccard({"a": {1, 2}, "b": {2, 3}, "c": {3, 4}}) == pytest.approx(2 / 9)


def test_entity_jaccard_of_one_model_is_null():
    assert entity_jaccard({"a": {1}}) is None


def test_entities_that_are_not_known_are_named():
    assert "entity_jaccard of Ancient Babylon" in reasons("table_04_topics", summaries=topics())


def test_personas_have_a_row_each():
    rows = made("table_20_personas", summaries=topics())
    assert len(rows) == 27
    (row,) = [
        r
        for r in rows
        if (r["topic"], r["model"], r["persona"]) == ("Dutch Colonization", "Llama", "left_leaning")
    ]
    assert {
        k: row[k]
        for k in ("covered", "prec_pct", "false_pct", "unv_pct", "wiki_pct", "words", "not_adjudicated")
    } == {
        "covered": 80,
        "prec_pct": 94.7,
        "false_pct": 2.4,
        "unv_pct": 39.2,
        "wiki_pct": 71.0,
        "words": 800,
        "not_adjudicated": 3,
    }


def test_two_audits_of_one_condition_are_not_mixed():
    rows = [*topics(), topics()[0]]
    assert len(made("table_20_personas", summaries=rows)) == 26
    (reason,) = [
        why
        for what, why in reasons("table_20_personas", summaries=rows).items()
        if "persona = conservative" in what
    ]
    assert reason == "2 audits have these values; give one of them"


def test_the_ablation_is_the_grid():
    rows = made("table_08_ablation_full", summaries=ablation())
    assert len(rows) == 8
    assert [r["prec_pct"] for r in rows] == [90.7, 94.7, 92.1, 94.5, 93.9, 96.2, 95.3, 96.3]


def test_the_short_ablation_has_one_level_of_reasoning():
    rows = made("table_02_ablation", summaries=ablation())
    assert [(r["self_grounding"], r["prompting"], r["true_pct"]) for r in rows] == [
        (False, "baseline", 89.5),
        (False, "calibrated", 89.7),
        (True, "baseline", 93.0),
        (True, "calibrated", 93.7),
    ]


def test_an_ablation_without_its_operating_level_is_missing():
    cells = [r for r in ablation() if r["reasoning"] == "low"]
    assert "reasoning = minimal" in reasons("table_02_ablation", summaries=cells)["table"]


def compared():
    shared = [
        summary(98.5, 1.0, 10.4, 94.0, model="GPT", sample="titles"),
        summary(95.2, 2.0, 18.9, 94.0, model="Llama", sample="titles"),
    ]
    return [
        *shared,
        summary(97.8, 1.0, 20.4, 72.4, model="GPT"),
        summary(94.1, 2.0, 33.5, 72.4, model="Llama"),
    ]


def lines(rows):
    return {
        (r["part"], r["measure"]): {k: v for k, v in r.items() if k not in ("part", "measure")} for r in rows
    }


def test_models_are_compared_on_shared_and_on_their_own_subjects():
    found = lines(made("table_05_models", summaries=compared()))
    assert found["shared", "true_pct"] == {"GPT": 88.6, "Llama": 79.1}
    assert found["independent", "true_pct"] == {"GPT": 78.6, "Llama": 64.5}
    assert found["independent", "wiki_pct"] == {"GPT": 72.4, "Llama": 72.4}


def test_what_is_not_known_of_corpora_is_named_and_left_out():
    found = reasons("table_05_models", summaries=compared())
    assert found["overlap"] == "the subjects of GPT, Llama are not given"
    assert ("corpus", "mean_links") not in lines(made("table_05_models", summaries=compared()))


def test_overlap_of_corpora_by_hand():
    subjects = {"GPT": {"a", "b", "c"}, "Llama": {"b", "c", "d"}}
    found = lines(made("table_05_models", summaries=compared(), subjects=subjects))
    assert [found["overlap", m]["GPT"] for m in ("union", "intersection", "intersection_pct")] == [4, 2, 50.0]


def test_corpora_give_their_means():
    corpora = [{"model": "GPT", "mean_links": 70.6, "mean_sections": 6.0, "mean_words": 885}]
    found = lines(made("table_05_models", summaries=compared(), corpora=corpora))
    assert found["corpus", "mean_links"] == {"GPT": 70.6, "Llama": None}


def test_one_model_is_no_comparison():
    rows = [r for r in compared() if r["model"] == "GPT"]
    assert made("table_05_models", summaries=rows) == []
    assert (
        reasons("table_05_models", summaries=rows)["table"] == "1 models have audits; a comparison needs two"
    )


def test_audits_of_topics_are_no_rows_of_the_comparison():
    of_one_topic = [r for r in topics() if (r["topic"], r["persona"]) == ("Ancient Babylon", "conservative")]
    assert made("table_05_models", summaries=of_one_topic) == []


@pytest.fixture
def summaries():
    """From counted articles: two hops, a random sample, one frontier article."""
    audit = Audit()
    audit.add(10, hop=1, strata=("hop",), wikipedia=("found", "sssssssssr"), web=("pages", "s" * 10))
    audit.add(4, hop=2, strata=("hop",), wikipedia=("found", "suuu"), web=("nothing", "-" * 4))
    audit.add(4, hop=2, strata=("hop",), wikipedia=("missing", "----"), web=("nothing", "-" * 4))
    audit.add(4, hop=2, strata=("random",), wikipedia=("missing", "----"), web=("pages", "ssru"))
    audit.add(4, hop=2, strata=("random", "titles"), wikipedia=("found", "ssss"), web=("pages", "ssux"))
    return audit_metrics(audit.data(), {"model": "m"}, seed=1)["summaries"]


def test_hops_come_before_random_and_frontier(summaries):
    rows = made("table_06_hops", summaries=summaries)
    assert [(r["bucket"], r["tier"]) for r in rows] == [
        ("hop 1", "wikipedia"),
        ("hop 2", "wikipedia"),
        ("hop 1", "web"),
        ("hop 2", "web"),
        ("random", "wikipedia"),
        ("random", "web"),
        ("frontier", "web"),
    ]


def test_a_hop_has_coverage_and_shares_in_percent(summaries):
    row = made("table_06_hops", summaries=summaries)[1]
    names = ("articles", "found", "coverage_pct", "prec_pct", "true_pct", "false_pct", "unv_pct", "n")
    assert [row[n] for n in names] == [2, 1, 50.0, 100.0, 25.0, 0.0, 75.0, 1]


def test_a_hop_without_evidence_has_no_shares(summaries):
    row = made("table_06_hops", summaries=summaries)[3]
    assert [row[n] for n in ("coverage_pct", "prec_pct", "true_pct", "n")] == [0.0, None, None, 0]


def test_the_frontier_is_judged_by_the_web(summaries):
    row = made("table_06_hops", summaries=summaries)[-1]
    assert [row[n] for n in ("articles", "found", "prec_pct", "true_pct")] == [1, 1, 66.7, 50.0]


def test_parts_of_the_hop_table_that_are_not_there_are_named():
    assert set(reasons("table_06_hops", summaries=[summary()])) == {"hops", "frontier", "frontier sample"}


def test_a_sample_drawn_from_the_frontier_has_a_row_of_its_own():
    rows = made("table_06_hops", summaries=[summary(98.3, 0.6, 41.8, 71.8, sample="frontier", tier="web")])
    assert [(r["bucket"], r["coverage_pct"], r["true_pct"]) for r in rows] == [
        ("frontier sample", 71.8, 57.6)
    ]


def trap():
    rows = []
    for model, wiki, web in (
        ("LLMpedia", (98.6, 0.8, 13.3), (98.8, 0.7, 23.0)),
        ("Grokipedia", (97.3, 1.8, 19.1), (97.0, 1.7, 24.9)),
    ):
        rows += [
            summary(*wiki, model=model, sample="titles"),
            summary(*web, model=model, sample="titles", tier="web"),
        ]
    return rows


def test_the_trap_compares_systems_in_both_tiers():
    """Table 7; shares of claims as printed, so that true + false + unverifiable = 100 but for
    rounding.
    """
    found = lines(made("table_07_trap", summaries=trap()))
    assert found["wikipedia", "prec_pct"] == {"Grokipedia": 97.3, "LLMpedia": 98.6}
    assert found["web", "unv_pct"] == {"Grokipedia": 24.9, "LLMpedia": 23.0}
    assert found["words", "words_median"] == {"Grokipedia": 790, "LLMpedia": 790}


def test_the_trap_shows_what_was_not_adjudicated():
    assert lines(made("table_07_trap", summaries=trap()))["web", "not_adjudicated"] == {
        "Grokipedia": 3,
        "LLMpedia": 3,
    }


def test_the_trap_shows_similarity_to_wikipedia():
    alike = [
        {
            "model": "LLMpedia",
            "tfidf_cosine": 0.25649,
            "overlap_2": 0.09,
            "overlap_3": 0.0261,
            "semantic_cosine": None,
        }
    ]
    found = lines(made("table_07_trap", summaries=trap(), similarities=alike))
    assert found["similarity", "tfidf_cosine"] == {"Grokipedia": None, "LLMpedia": 0.256}
    assert found["similarity", "trigram_overlap"] == {"Grokipedia": None, "LLMpedia": 0.026}
    assert ("similarity", "semantic_cosine") not in found


def test_a_trap_without_titles_is_missing():
    assert (
        reasons("table_07_trap", summaries=[summary(model="m")])["table"]
        == "no audit has a sample of given titles"
    )


def test_agreement_has_a_row_a_class_and_columns_a_tier():
    rows = made("table_11_agreement", reviews={"wikipedia": agreement(TABLE)})
    assert [(r["class"], r["wikipedia_pct"], r["wikipedia_drift"]) for r in rows] == [
        ("supported", 87.9, 2),
        ("refuted", 81.8, -6),
        ("insufficient", 93.9, 4),
        ("overall", 87.9, None),
    ]
    assert (rows[0]["wikipedia_low_pct"], rows[0]["wikipedia_high_pct"]) == (72.7, 95.2)
    assert rows[3]["wikipedia_kappa"] == pytest.approx(0.818, abs=1e-3)


def test_a_tier_without_review_is_named():
    found = reasons("table_11_agreement", reviews={"wikipedia": agreement(TABLE)})
    assert found == {"web": "no filled review sheet of this tier"}


def test_nothing_gives_no_table_and_names_them_all():
    found = audit_tables(Findings([]))
    assert found.tables == {}
    assert len({row["table"] for row in found.missing}) == 8


def test_all_tables_can_be_written(tmp_path, summaries):
    rows = [*topics(), *ablation(), *compared(), *summaries]
    made = audit_tables(Findings(rows, reviews={"web": agreement(TABLE)}))
    assert len(made.tables) == 8
    assert len(write_tables(made.tables, tmp_path)) == 8 * 4
