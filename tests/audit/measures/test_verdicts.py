"""llmpedia/audit/measures/verdicts.py: shares, macro averages, groups and the funnel, by
hand-counted audits.
"""

import warnings

import pyarrow as pa
import pytest

from llmpedia.audit.measures.verdicts import (
    AuditData,
    article_scores,
    audit_metrics,
    frontier,
    funnel,
    macro,
    shares,
    summaries,
    wilson,
)
from llmpedia.errors import InputError
from llmpedia.tables import TABLES

VERDICTS = {"s": "supported", "r": "refuted", "u": "insufficient", "x": "not_adjudicated"}


class Audit:
    """An audit under construction; verdicts as letters: s, r, u, x = not adjudicated, - = no row."""

    def __init__(self):
        self.articles = []
        self.claims = []
        self.evidence = []
        self.verdicts = []

    def add(self, claims, hop=1, strata=("random",), words=100, **tiers):
        """``claims``: their number, or why extraction failed; ``tiers``: tier = (outcome,
        verdicts).
        """
        subject = len(self.articles)
        failed = isinstance(claims, str)
        row = {
            "subject_id": subject,
            "position": subject,
            "name": f"S{subject}",
            "hop": hop,
            "strata": list(strata),
            "words": words,
        }
        self.articles.append(
            row | {"claims": None if failed else claims, "claims_error": claims if failed else None}
        )
        ids = [len(self.claims) + i for i in range(0 if failed or claims is None else claims)]
        self.claims += [
            {"claim_id": c, "subject_id": subject, "position": i, "text": f"c{c}"} for i, c in enumerate(ids)
        ]
        for tier, (outcome, letters) in tiers.items():
            self.evidence.append({"subject_id": subject, "tier": tier, "outcome": outcome})
            for claim, letter in zip(ids, letters, strict=True):
                if letter != "-":
                    self.verdict(claim, subject, tier, VERDICTS[letter])
        return self

    def verdict(self, claim, subject, tier, verdict):
        self.verdicts.append({"claim_id": claim, "subject_id": subject, "tier": tier, "verdict": verdict})

    def data(self):
        return AuditData.of(self.articles, self.claims, self.evidence, self.verdicts)

    def scores(self):
        return article_scores(self.data())


@pytest.fixture
def audit():
    """Two judged articles, one in part; one page missing, one fetch failed; one extraction failed."""
    audit = Audit()
    audit.add(4, hop=1, words=100, wikipedia=("found", "sssr"), web=("pages", "suuu"))
    audit.add(4, hop=2, words=300, wikipedia=("redirected", "ssux"), web=("nothing", "----"))
    audit.add(
        2, hop=2, strata=("random", "hop"), words=200, wikipedia=("missing", "--"), web=("snippets", "uu")
    )
    audit.add(2, hop=2, strata=("hop",), words=200, wikipedia=("fetch_failed", "--"), web=("pages", "s-"))
    return audit.add("no JSON", hop=1, words=700, wikipedia=("found", ""), web=("fetch_failed", ""))


def by_tier(audit, tier, by=()):
    return [row for row in summaries(audit.scores(), by, {}, seed=1) if row["tier"] == tier]


def test_shares_follow_the_papers_formulas():
    assert shares(6, 2, 2) == {"precision": 0.75, "true": 0.6, "false": 0.2, "unverifiable": 0.2}


def test_precision_is_null_where_all_is_unverifiable():
    assert shares(0, 0, 3) == {"precision": None, "true": 0.0, "false": 0.0, "unverifiable": 1.0}


def test_shares_of_no_claims_are_null():
    assert set(shares(0, 0, 0).values()) == {None}


def test_claims_not_adjudicated_are_outside_of_the_shares(audit):
    """Judge failures counted as insufficient inflate the unverifiable share."""
    (row,) = [r for r in audit.scores() if (r["subject_id"], r["tier"]) == (1, "wikipedia")]
    assert (row["n_s"], row["n_r"], row["n_u"], row["not_adjudicated"]) == (2, 0, 1, 1)
    assert (row["true"], row["unverifiable"]) == (2 / 3, 1 / 3)


def test_claims_without_a_verdict_row_count_as_not_adjudicated(audit):
    (row,) = [r for r in audit.scores() if (r["subject_id"], r["tier"]) == (3, "web")]
    assert (row["n_s"], row["not_adjudicated"]) == (1, 1)


def test_an_article_without_usable_evidence_has_no_counts_and_no_shares(audit):
    (row,) = [r for r in audit.scores() if (r["subject_id"], r["tier"]) == (2, "wikipedia")]
    assert {row[c] for c in ("n_s", "n_r", "n_u", "not_adjudicated", "precision", "true")} == {None}


def test_macro_averages_articles_and_not_claims(audit):
    """Articles: precision 3/4 and 2/2; pooled claims would give 5/6."""
    (row,) = by_tier(audit, "wikipedia")
    assert (row["precision"], row["precision_n"]) == (0.875, 2)


def test_macro_gives_the_sample_standard_deviation():
    assert macro([0.0, 1.0], seed=1).sd == pytest.approx(0.7071068)


def test_macro_leaves_nulls_out():
    assert (macro([None, 0.5, None, 1.0], seed=1).mean, macro([None, 0.5, None, 1.0], seed=1).n) == (0.75, 2)


def test_macro_of_nothing_is_no_number():
    """The mean of an empty list is nan in one earlier program, 0 in another."""
    found = macro([None], seed=1)
    assert (found.mean, found.sd, found.n, found.low, found.high) == (None, None, 0, None, None)


def test_one_article_has_no_spread_and_no_interval():
    found = macro([0.5], seed=1)
    assert (found.mean, found.sd, found.n, found.low, found.high) == (0.5, None, 1, None, None)


def test_the_interval_is_the_percentile_bootstrap_of_the_mean():
    """Of 400 fair coins: about 0.5 -+ 1.96 * 0.5 / 20."""
    found = macro([0.0, 1.0] * 200, seed=7)
    assert (found.low, found.high) == (pytest.approx(0.451, abs=0.01), pytest.approx(0.549, abs=0.01))


def test_the_interval_is_the_same_for_the_same_seed_and_another_for_another():
    values = [i / 37 for i in range(37)]
    assert macro(values, seed=3) == macro(values, seed=3)
    assert macro(values, seed=3).low != macro(values, seed=4).low


def test_equal_values_have_an_interval_of_no_width_and_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = macro([1.0] * 5, seed=1)
    assert (found.sd, found.low, found.high) == (0.0, 1.0, 1.0)


def test_wilson_of_the_papers_29_of_33():
    assert wilson(29, 33) == pytest.approx((0.7267, 0.9518), abs=5e-4)


def test_wilson_of_nothing_is_null():
    assert wilson(0, 0) is None


def test_coverage_leaves_failed_fetches_out_of_its_denominator(audit):
    """A network failure cached as "not on Wikipedia" makes coverage too low."""
    (row,) = by_tier(audit, "wikipedia")
    assert (row["articles"], row["fetch_failed"], row["found"], row["coverage"]) == (5, 1, 3, 0.75)
    assert row["not_looked_up"] == 0


def test_articles_that_were_not_looked_up_are_outside_of_coverage():
    audit = Audit().add(1, wikipedia=("found", "s"), web=("pages", "s")).add(1, wikipedia=("missing", "-"))
    (row,) = by_tier(audit, "web")
    assert (row["articles"], row["not_looked_up"], row["coverage"]) == (2, 1, 1.0)


def test_coverage_of_only_failed_fetches_is_null():
    (row,) = by_tier(Audit().add(1, wikipedia=("fetch_failed", "-")), "wikipedia")
    assert (row["coverage"], row["coverage_low"]) == (None, None)


def test_a_disambiguation_page_is_no_evidence_but_a_known_outcome():
    (row,) = by_tier(Audit().add(1, wikipedia=("disambiguation", "-")), "wikipedia")
    assert (row["found"], row["coverage"]) == (0, 0.0)


def test_every_group_shows_what_failed(audit):
    (row,) = by_tier(audit, "web")
    names = (
        "articles",
        "extraction_failed",
        "fetch_failed",
        "claims",
        "claims_with_evidence",
        "not_adjudicated",
    )
    assert [row[n] for n in names] == [5, 1, 1, 12, 8, 1]


def test_claims_with_evidence_add_up(audit):
    for row in summaries(audit.scores(), ("sample", "hop"), {}, seed=1):
        assert row["claims_with_evidence"] == row["n_s"] + row["n_r"] + row["n_u"] + row["not_adjudicated"]


def test_hops_are_groups_of_their_own(audit):
    rows = by_tier(audit, "wikipedia", ("hop",))
    assert [(r["hop"], r["articles"]) for r in rows] == [(1, 2), (2, 3)]


def test_an_article_of_two_samples_counts_in_both_but_once_overall(audit):
    rows = by_tier(audit, "wikipedia", ("sample",))
    assert {r["sample"]: r["articles"] for r in rows} == {"hop": 2, "random": 4}
    assert by_tier(audit, "wikipedia")[0]["articles"] == 5


def test_words_are_told_by_mean_and_median(audit):
    (row,) = by_tier(audit, "web")
    assert (row["words_mean"], row["words_median"]) == (300.0, 200.0)


def test_the_frontier_is_what_the_random_sample_has_beyond_wikipedia(audit):
    """Article 2 alone: the failed fetch of article 3 does not make it absent, and it is of another
    sample.
    """
    (row,) = frontier(audit.scores(), "random", {}, seed=1)
    assert (row["articles"], row["found"], row["unverifiable"]) == (1, 1, 1.0)


def test_an_article_whose_page_could_not_be_fetched_is_not_of_the_frontier():
    """A network failure says nothing on Wikipedia; nor does an article that was never looked up
    there.
    """
    audit = Audit().add(1, wikipedia=("fetch_failed", "-"), web=("pages", "s")).add(1, web=("pages", "s"))
    assert frontier(audit.scores(), "random", {}, seed=1) == []


def test_there_is_no_frontier_row_without_absent_articles():
    assert (
        frontier(Audit().add(1, wikipedia=("found", "s"), web=("pages", "s")).scores(), "random", {}, seed=1)
        == []
    )


def test_the_funnel_tells_what_became_of_each_article(audit):
    wikipedia, web = funnel(audit.scores(), {"model": "m"})
    assert {k: v for k, v in wikipedia.items() if v} == {
        "model": "m",
        "tier": "wikipedia",
        "sampled": 5,
        "extraction_failed": 1,
        "with_claims": 4,
        "found": 1,
        "redirected": 1,
        "missing": 1,
        "fetch_failed": 1,
        "judged_in_full": 1,
        "judged_in_part": 1,
    }
    assert (web["judged_in_full"], web["judged_in_part"], web["nothing"]) == (2, 1, 1)


def test_an_article_of_which_no_claim_was_adjudicated_is_not_judged():
    (row,) = funnel(Audit().add(2, wikipedia=("found", "x-")).add(2, wikipedia=("found", "sx")).scores(), {})
    assert (row["judged_in_full"], row["judged_in_part"], row["not_judged"]) == (0, 1, 1)


def test_the_funnel_adds_up_at_every_step(audit):
    audit.add(0, wikipedia=("found", ""), web=("pages", ""))
    audit.add(None, wikipedia=("found", ""))
    audit.add(2, wikipedia=("found", "xx"))
    outcomes = (
        "found redirected disambiguation missing invalid pages snippets nothing fetch_failed not_looked_up"
    ).split()
    for row in funnel(audit.scores(), {}):
        steps = ("extraction_failed", "not_extracted", "without_claims", "with_claims")
        assert row["sampled"] == sum(row[s] for s in steps) == 8
        assert row["with_claims"] == sum(row[o] for o in outcomes)
        usable = sum(row[o] for o in ("found", "redirected", "pages", "snippets"))
        assert usable == row["judged_in_full"] + row["judged_in_part"] + row["not_judged"]


def test_pyarrow_tables_give_the_same_as_rows(audit):
    tables = [
        pa.Table.from_pylist(rows) for rows in (audit.articles, audit.claims, audit.evidence, audit.verdicts)
    ]
    assert audit_metrics(AuditData.of(*tables), {}, seed=1) == audit_metrics(audit.data(), {}, seed=1)


def test_tables_as_an_audit_stores_them_are_read(audit):
    """With columns beyond those needed, of the stored types."""
    stored = {"articles": "audited", "claims": "claims", "evidence": "evidence", "verdicts": "verdicts"}
    made = {}
    for name, table in stored.items():
        full = [{**dict.fromkeys(TABLES[table].names), **row} for row in getattr(audit, name)]
        made[name] = pa.Table.from_pylist(full, TABLES[table])
    assert article_scores(AuditData.of(**made)) == audit.scores()


def test_constants_of_the_run_stand_in_every_row(audit):
    made = audit_metrics(audit.data(), {"model": "m", "persona": "p"}, seed=1)
    assert {(r["model"], r["persona"]) for rows in made.values() for r in rows} == {("m", "p")}


def test_an_audit_of_nothing_has_no_rows():
    assert audit_metrics(Audit().data(), {}, seed=1) == {"articles": [], "summaries": [], "funnel": []}


def test_a_verdict_on_missing_evidence_is_refused():
    """An earlier program judged every claim of one benchmark against empty evidence."""
    audit = Audit().add(1, wikipedia=("missing", "s"))
    with pytest.raises(
        InputError, match=r"claim_id = 0, tier 'wikipedia': 'supported' although the evidence is missing"
    ):
        audit.data()


def test_not_adjudicated_for_want_of_evidence_is_taken():
    (row,) = Audit().add(1, wikipedia=("fetch_failed", "x")).scores()
    assert row["not_adjudicated"] is None


def test_two_verdicts_on_one_claim_are_refused(audit):
    audit.verdict(0, 0, "wikipedia", "refuted")
    with pytest.raises(
        InputError, match=r"verdict claim_id = 0, tier = 'wikipedia': there are two such rows"
    ):
        audit.data()


def test_an_unknown_verdict_is_refused():
    audit = Audit().add(1, wikipedia=("found", "-"))
    audit.verdict(0, 0, "wikipedia", "true")
    with pytest.raises(InputError, match="'true' is no verdict"):
        audit.data()


def test_a_verdict_on_no_claim_is_refused(audit):
    audit.verdict(99, 0, "wikipedia", "supported")
    with pytest.raises(InputError, match=r"claim_id = 99.*no such claim"):
        audit.data()


def test_an_unknown_outcome_is_refused():
    with pytest.raises(InputError, match="outcome 'gone'"):
        Audit().add(1, wikipedia=("gone", "-")).data()


def test_lost_claims_are_refused(audit):
    audit.claims.pop(0)
    audit.verdicts = []
    with pytest.raises(InputError, match="subject_id = 0: claims = 4, but it has 3 rows of claims"):
        audit.data()


def test_claims_of_an_article_that_was_not_audited_are_refused(audit):
    audit.claims.append({"claim_id": 99, "subject_id": 99, "position": 0, "text": "c"})
    with pytest.raises(InputError, match="subject_id = 99: 1 claims"):
        audit.data()


def test_an_article_that_failed_and_has_claims_is_refused(audit):
    audit.articles[0]["claims_error"] = "no JSON"
    with pytest.raises(InputError, match="one of them must be null"):
        audit.data()
