"""llmpedia/analysis/funnel/tables.py against the paper's appendix H: rates from counts, by the
functions that make the tables.
"""

import pytest

from llmpedia.analysis.funnel.counts import Funnel
from llmpedia.analysis.funnel.tables import absorption_row, coverage_row, funnel_row, queue_row, survival_row

# Table 3: articles, raw links, pre-NER, after canonical, NER and similarity, inserted.
COUNTS = {
    "GPT-5-mini": Funnel(1_008_947, 70_165_356, 12_479_792, 2_293_089, 1_654_284, 1_120_843, 1_063_929),
    "DeepSeek": Funnel(120_139, 6_490_752, 1_999_933, 858_516, 443_736, 396_254, 396_090),
    "Llama": Funnel(120_100, 9_820_122, 4_326_286, 1_247_222, 683_681, 499_245, 498_225),
}
# Table 15: raw to pre-NER, canonical, NER, raw to queue (two decimals).
RATES = {
    "GPT-5-mini": (17.8, 18.4, 72.1, 1.52),
    "DeepSeek": (30.8, 42.9, 51.7, 6.10),
    "Llama": (44.1, 28.8, 54.8, 5.07),
}
# Beside what table 15 prints for similarity, which does not follow from the counts of its own rows.
SIMILARITY = {"GPT-5-mini": (67.75, 64.7), "DeepSeek": (89.30, 87.5), "Llama": (73.02, 66.5)}
# Table 16: total, expanded, terminal share; table 17: the same of a hop.
COVERAGE = [(1_063_949, 174_100, 83.6), (396_091, 35_441, 91.1), (498_226, 52_557, 89.5)]
BY_HOP = [
    *[
        (1, 1, 0.0),
        (58, 58, 0.0),
        (2_344, 2_344, 0.0),
        (40_923, 40_923, 0.0),
        (321_319, 89_836, 72.0),
        (507_940, 40_938, 91.9),
    ],
    *[
        (191_364, 0, 100.0),
        (1_133, 1_133, 0.0),
        (23_572, 23_552, 0.1),
        (276_033, 10_719, 96.1),
        (95_316, 0, 100.0),
    ],
    *[(2_378, 2_378, 0.0), (48_148, 46_931, 2.5), (431_133, 3_183, 99.3), (16_502, 0, 100.0)],
]


def printed(value: float, as_printed: float, digits: int = 1) -> bool:
    """Whether a value of two decimals is what rounding to fewer gave."""
    return abs(value - as_printed) <= 0.5 * 10**-digits + 0.005


@pytest.mark.parametrize("model", COUNTS)
def test_survival_rates_of_table_15_follow_from_its_counts(model):
    row = survival_row(model, COUNTS[model])
    names = ("raw_to_pre_ner_pct", "canonical_survival_pct", "ner_survival_pct")
    assert all(printed(row[name], rate) for name, rate in zip(names, RATES[model], strict=False)), row
    assert row["raw_to_queue_pct"] == funnel_row(model, COUNTS[model])["raw_to_queue_pct"] == RATES[model][-1]


@pytest.mark.parametrize("model", COUNTS)
def test_similarity_survival_is_of_the_counts_and_not_what_table_15_prints(model):
    ours, theirs = SIMILARITY[model]
    found = survival_row(model, COUNTS[model])["similarity_survival_pct"]
    assert found == ours
    assert not printed(found, theirs)


@pytest.mark.parametrize(("total", "expanded", "terminal"), COVERAGE + BY_HOP)
def test_terminal_shares_of_tables_16_and_17(total, expanded, terminal):
    row = coverage_row("m", total, expanded)
    assert printed(row["terminal_pct"], terminal)
    assert row["terminal"] + row["expanded"] == row["entities"] == total


@pytest.mark.parametrize(
    ("entities", "aliases", "mean"),
    [(108_030, 527_469, 4.88), (14_591, 35_558, 2.44), (26_258, 101_548, 3.87)],
)
def test_aliases_an_entity_of_table_18(entities, aliases, mean):
    assert absorption_row("m", entities, aliases)["aliases_per_entity"] == mean


@pytest.mark.parametrize(
    ("accepted", "inserted", "loss"),
    [(1_088_968, 1_063_923, 2.3), (396_254, 395_336, 0.2), (499_245, 497_792, 0.3)],
)
def test_losses_of_table_19(accepted, inserted, loss):
    assert printed(queue_row("m", accepted, inserted)["loss_pct"], loss)
