"""The score of an audit against the planted truth finds each planted mistake in its own figure."""

from collections import Counter

import pytest

from llmpedia.materialize.run import describe_run
from llmpedia.rehearsal.scoring.audit import score_audit
from llmpedia.rehearsal.scoring.walk import render
from llmpedia.rehearsal.settings import load_settings
from llmpedia.rehearsal.world.facts import facts_of
from llmpedia.rehearsal.world.sources import has_page
from llmpedia.rehearsal.world.world import World
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import RunFolder
from llmpedia.tables import TABLES, table
from tests.support.builders.runs import make_config

DESERVED = {"true": "supported", "false": "refuted", "absent": "insufficient"}
ZERO = pytest.approx(0.0, abs=1e-9)


@pytest.fixture(scope="module")
def world():
    return World(load_settings(["entities=3000"], seed=5))


@pytest.fixture(scope="module")
def covered(world):
    """Entities that stand alone and have a page."""
    return [e for e in range(200) if world.group_kind(e) == "plain" and has_page(world, e)]


class Audit:
    """An audit by hand. ``article``: its claims are the world's; verdicts the deserved ones, where
    ``verdicts`` has no other.
    """

    def __init__(self, world) -> None:
        self.world = world
        self.rows = {name: [] for name in TABLES}

    def article(self, name, verdicts=None, outcome="found", tier="wikipedia", strange=()):
        n = len(self.rows["sample"])
        told = verdicts or {}
        self.rows["sample"].append(
            row("sample", subject_id=n, position=n, name=name, hop=1, strata=["random"], run_wave=1)
        )
        self.rows["evidence"].append(
            row("evidence", subject_id=n, tier=tier, outcome=outcome, sources=[], attempts=[])
        )
        facts = facts_of(self.world, self.world.entity(name)) if self.world.entity(name) is not None else ()
        deserved = {
            **{f.sentence(name): DESERVED[f.truth] for f in facts},
            **dict.fromkeys(strange, "insufficient"),
        }
        for i, (text, verdict) in enumerate(deserved.items()):
            claim = len(self.rows["claims"])
            self.rows["claims"].append(row("claims", claim_id=claim, subject_id=n, position=i, text=text))
            said = told.get(i, verdict)
            if outcome in ("found", "redirected", "pages"):
                self.rows["verdicts"].append(
                    row("verdicts", claim_id=claim, subject_id=n, tier=tier, verdict=said, coerced=False)
                )
        return self

    def score(self, folder):
        audit = RunFolder.create_or_open(str(folder), describe_run(make_config()))
        with Lease(audit.folder) as lease:
            audit.commit(lease, {name: table(name, rows) for name, rows in self.rows.items()}, {})
        return score_audit(audit, self.world)


def row(table_name, **values):
    return dict.fromkeys(TABLES[table_name].names) | values


def planted(world, entity):
    counts = Counter(DESERVED[f.truth] for f in facts_of(world, entity))
    return {label: n / counts.total() for label, n in counts.items()}


def test_right_audit_recovers_the_planted_shares(tmp_path, world, covered):
    audit = Audit(world)
    for e in covered[:5]:
        audit.article(world.name(e))
    figures = audit.score(tmp_path)
    tier = figures["wikipedia"]
    want = sum(planted(world, e)["supported"] for e in covered[:5]) / 5
    assert tier["true planted"] == tier["true recovered"] == pytest.approx(want)
    assert [tier[f"{s} points"] for s in ("true", "false", "unverifiable", "coverage")] == [ZERO] * 4
    assert (tier["articles"], tier["wrong_outcome"], tier["fetch_failed"], tier["not_adjudicated"]) == (
        5,
        0,
        0,
        0,
    )
    assert figures["claims"]["unknown"] == 0


def test_every_article_weighs_the_same(tmp_path, world, covered):
    """A mean over claims would let long articles count for more (paper, section 4.2:
    macro-averaged).
    """
    sizes = {len(facts_of(world, e)): e for e in covered}
    long = sizes[max(sizes)]
    short = sizes[min(sizes)]
    all_refuted = dict.fromkeys(range(max(sizes)), "refuted")
    all_supported = dict.fromkeys(range(max(sizes)), "supported")
    figures = (
        Audit(world)
        .article(world.name(long), all_refuted)
        .article(world.name(short), all_supported)
        .score(tmp_path)
    )
    assert len(facts_of(world, long)) > len(facts_of(world, short))
    assert (figures["wikipedia"]["true recovered"], figures["wikipedia"]["false recovered"]) == (0.5, 0.5)


def test_wrong_verdict_moves_the_shares_and_stands_in_the_confusion(tmp_path, world, covered):
    e = next(e for e in covered if facts_of(world, e)[0].truth == "true")
    n = len(facts_of(world, e))
    figures = Audit(world).article(world.name(e), {0: "refuted"}).score(tmp_path)
    assert figures["wikipedia"]["true points"] == pytest.approx(-100 / n)
    assert figures["wikipedia"]["false points"] == pytest.approx(100 / n)
    assert figures["wikipedia: confusion"]["supported -> refuted"] == 1
    assert sum(figures["wikipedia: confusion"].values()) == n


def test_claim_not_adjudicated_is_outside_of_both_shares(tmp_path, world, covered):
    e = covered[0]
    figures = Audit(world).article(world.name(e), {0: "not_adjudicated"}).score(tmp_path)
    tier = figures["wikipedia"]
    assert (tier["not_adjudicated"], tier["judged"], tier["true points"]) == (
        1,
        len(facts_of(world, e)) - 1,
        ZERO,
    )


def test_article_without_any_verdict_is_in_no_mean(tmp_path, world, covered):
    name = world.name(covered[0])
    none = dict.fromkeys(range(20), "not_adjudicated")
    tier = Audit(world).article(name, none).score(tmp_path)["wikipedia"]
    assert (tier["articles"], tier["true recovered"], tier["true planted"], tier["true points"]) == (
        0,
        None,
        None,
        None,
    )


def test_claim_that_is_no_fact_of_the_world_is_unknown_and_outside_of_the_shares(tmp_path, world, covered):
    e, other = covered[:2]
    fact = facts_of(world, other)[-1].sentence(world.name(other))
    figures = Audit(world).article(world.name(e), strange=("It is good.", fact)).score(tmp_path)
    assert (figures["claims"]["unknown"], figures["wikipedia"]["judged"]) == (2, len(facts_of(world, e)))
    assert figures["wikipedia: confusion"]["unknown -> insufficient"] == 2
    assert figures["wikipedia"]["unverifiable points"] == ZERO


def test_failed_fetch_is_outside_of_coverage(tmp_path, world, covered):
    audit = (
        Audit(world).article(world.name(covered[0])).article(world.name(covered[1]), outcome="fetch_failed")
    )
    tier = audit.score(tmp_path)["wikipedia"]
    assert (
        tier["fetch_failed"],
        tier["coverage recovered"],
        tier["coverage planted"],
        tier["wrong_outcome"],
    ) == (1, 1.0, 1.0, 0)


def test_page_taken_for_missing_is_a_wrong_outcome_and_lowers_the_coverage(tmp_path, world, covered):
    audit = Audit(world).article(world.name(covered[0])).article(world.name(covered[1]), outcome="missing")
    tier = audit.score(tmp_path)["wikipedia"]
    assert (tier["wrong_outcome"], tier["coverage recovered"], tier["coverage planted"]) == (1, 0.5, 1.0)


def outcome_names(world, covered):
    aliased = next(e for e in covered if world.others(e))
    return {
        "found": world.name(covered[0]),
        "redirected": world.others(aliased)[0],
        "disambiguation": next(world.name(e) for e in range(3000) if len(world.senses(world.name(e))) > 1),
        "missing": next(
            world.name(e) for e in range(3000) if not has_page(world, e) and world.group_kind(e) == "plain"
        ),
        "invalid": "C#",
    }


def test_each_outcome_is_right_for_its_name_alone(tmp_path, world, covered):
    names = outcome_names(world, covered)
    right = Audit(world)
    wrong = Audit(world)
    for outcome, name in names.items():
        right.article(name, outcome=outcome)
        for other in set(names) - {outcome}:
            wrong.article(name, outcome=other)
    assert right.score(tmp_path / "right")["wikipedia"]["wrong_outcome"] == 0
    assert wrong.score(tmp_path / "wrong")["wikipedia"]["wrong_outcome"] == len(names) * (len(names) - 1)


@pytest.mark.parametrize(
    ("outcome", "wrong"), [("pages", 0), ("snippets", 0), ("nothing", 1), ("fetch_failed", 0)]
)
def test_web_finds_what_the_world_knows(tmp_path, world, covered, outcome, wrong):
    figures = Audit(world).article(world.name(covered[0]), outcome=outcome, tier="web").score(tmp_path)
    assert figures["web"]["wrong_outcome"] == wrong
    assert "wikipedia" not in figures


@pytest.mark.parametrize("outcome", ["pages", "nothing"])
def test_web_may_find_what_it_likes_for_a_stranger(tmp_path, world, outcome):
    assert (
        Audit(world)
        .article("Vannevar Bush", outcome=outcome, tier="web")
        .score(tmp_path)["web"]["wrong_outcome"]
        == 0
    )


def test_all_figures_can_be_shown(tmp_path, world, covered):
    text = render(Audit(world).article(world.name(covered[0])).score(tmp_path))
    assert "true planted" in text
    assert "refuted -> supported" in text
