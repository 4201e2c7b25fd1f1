"""llmpedia/materialize/frontier.py: the plan of a wave is a function of committed content alone."""

import pytest

from llmpedia.materialize.frontier import Frontier
from llmpedia.store.run_folder import RunFolder
from tests.support.builders.runs import Child, Corpus, Visit, make_config


def config(size=10, **caps):
    return make_config(waves={"size": size}, caps=caps)


def planned(plan) -> list[str] | None:
    return None if plan is None else [i.name for i in plan.items]


def named(*names, fate="queued") -> list[Child]:
    return [Child(n, fate) for n in names]


def plan_of(corpus, settings, wave=None):
    """The plan of a planner that has just been started; of the next wave, unless told."""
    run = RunFolder.open(corpus.run.uri)
    return Frontier(run, settings).plan(run.last_wave + 1 if wave is None else wave)


@pytest.fixture
def corpus(tmp_path):
    return Corpus(tmp_path / "run").seed("Root")


def test_the_first_wave_is_the_seeds(corpus):
    plan = plan_of(corpus, config())
    assert (planned(plan), plan.wave, plan.hop, plan.upto) == (["Root"], 1, 0, 0)


def test_a_wave_is_planned_from_commits_up_to_two_before(corpus):
    corpus.walk(Visit("Root", named("A", "B")))
    corpus.walk(Visit("A", named("C")))
    plan = plan_of(corpus, config())
    assert (planned(plan), plan.upto) == (["B"], 1)


def test_a_wave_is_planned_while_the_one_before_is_under_way(corpus):
    corpus.walk(Visit("Root", named("A", "B", "C")))
    frontier = Frontier(corpus.run, config(size=2))
    assert [planned(frontier.plan(w)) for w in (2, 3)] == [["A", "B"], ["C"]]


def test_what_is_left_to_nobody_waits_for_the_commit_before(corpus):
    frontier = Frontier(corpus.run, config())
    assert planned(frontier.plan(1)) == ["Root"]
    assert frontier.plan(2) is None
    corpus.walk(Visit("Root", named("A")))
    plan = frontier.plan(2)
    assert (planned(plan), plan.upto) == (["A"], 1)


def test_subjects_go_by_hop_and_then_in_commit_order(corpus):
    corpus.walk(Visit("Root", named("A", "B", "C")))
    corpus.walk(Visit("A", named("D")))
    corpus.walk(Visit("B", named("E")))
    found = []
    for _ in range(3):
        plan = plan_of(corpus, config(size=1))
        found.append((planned(plan), plan.hop))
        corpus.walk(Visit(plan.items[0].name))
    assert found == [(["C"], 1), (["D"], 2), (["E"], 2)]


def test_a_wave_holds_one_hop_only(corpus):
    corpus.walk(Visit("Root", named("A", "B"))).walk(Visit("A", named("C"))).walk(Visit("B"))
    assert plan_of(corpus, config()).hop == 2


@pytest.mark.parametrize(("size", "names"), [(2, ["A", "B"]), (9, ["A", "B", "C"])])
def test_a_wave_is_as_large_as_set_at_most(corpus, size, names):
    corpus.walk(Visit("Root", named("A", "B", "C")))
    assert planned(plan_of(corpus, config(size))) == names


def test_a_subject_that_errored_is_not_tried_again(corpus):
    corpus.walk(Visit("Root", named("A", "B"))).walk(Visit("A", error="refusal"), Visit("B"))
    assert plan_of(corpus, config()) is None


@pytest.mark.parametrize(("cap", "names"), [(1, None), (2, ["A"]), (3, ["A", "B"]), (None, ["A", "B", "C"])])
def test_the_article_cap_is_met_exactly(corpus, cap, names):
    corpus.walk(Visit("Root", named("A", "B", "C")))
    assert planned(plan_of(corpus, config(articles=cap))) == names


def test_articles_under_way_count_for_the_cap(corpus):
    corpus.walk(Visit("Root", named("A", "B", "C")))
    frontier = Frontier(corpus.run, config(size=2, articles=3))
    assert planned(frontier.plan(2)) == ["A", "B"]
    assert frontier.plan(3) is None


def test_an_errored_subject_makes_room_under_the_article_cap(corpus):
    corpus.walk(Visit("Root", named("A", "B", "C")))
    frontier = Frontier(corpus.run, config(size=2, articles=3))
    assert (planned(frontier.plan(2)), frontier.plan(3)) == (["A", "B"], None)
    corpus.walk(Visit("A", error="refusal"), Visit("B"))
    assert planned(frontier.plan(3)) == ["C"]


@pytest.mark.parametrize(("depth", "expand"), [(0, "depth_cap"), (1, "full"), (None, "full")])
def test_subjects_at_the_depth_cap_are_written_and_not_expanded(corpus, depth, expand):
    assert [str(i.expand) for i in plan_of(corpus, config(depth=depth)).items] == [expand]


def test_nothing_below_the_depth_cap_is_written(corpus):
    corpus.walk(Visit("Root", named("A")))
    assert plan_of(corpus, config(depth=0)) is None


@pytest.mark.parametrize(("cap", "expand"), [(3, "subject_cap"), (2, "subject_cap"), (4, "full")])
def test_at_the_subject_cap_articles_go_on_and_expansion_ends(corpus, cap, expand):
    corpus.walk(Visit("Root", named("A", "B")))
    plan = plan_of(corpus, config(subjects=cap))
    assert ([str(i.expand) for i in plan.items], planned(plan)) == ([expand] * 2, ["A", "B"])


def test_titles_are_written_and_never_expanded(tmp_path):
    (tmp_path / "titles").write_text("A\nB\n")
    settings = make_config(run={"mode": "titles", "titles": str(tmp_path / "titles")})
    corpus = Corpus(tmp_path / "run", settings).seed("A", "B")
    assert [(i.name, i.expand) for i in plan_of(corpus, settings).items] == [("A", "none"), ("B", "none")]
    corpus.walk(Visit("A", expanded=False), Visit("B", expanded=False))
    assert plan_of(corpus, settings) is None


@pytest.fixture
def capped(corpus):
    """Root and A ended at a subject cap of 3; B has no article yet."""
    corpus.walk(Visit("Root", [*named("A", "B"), *named("C", fate="subject_cap")]))
    return corpus.walk(Visit("A", named("D", fate="subject_cap")))


def test_a_raised_cap_expands_stored_articles_first(capped):
    # Wave 3 may know commits up to 1: A, in commit 2, is under way as far as it is concerned.
    plan = plan_of(capped, config(subjects=9))
    assert [(i.name, i.visit, str(i.expand)) for i in plan.items] == [("Root", "expand", "full")]
    capped.walk(Visit("Root", named("C"), visit="expand"))
    plan = plan_of(capped, config(subjects=9))
    assert [(i.name, i.visit, str(i.expand)) for i in plan.items] == [
        ("A", "expand", "full"),
        ("B", "generate", "full"),
    ]


def test_expansions_and_new_articles_share_the_size_of_a_wave(capped):
    capped.walk(Visit("Root", named("C"), visit="expand"))
    assert planned(plan_of(capped, config(1, subjects=9))) == ["A"]


def test_a_stored_article_comes_with_its_text(capped):
    (item,) = plan_of(capped, config(subjects=9)).items
    assert item.wikitext == "[[A]] [[B]] [[C]]"


def test_an_expanded_article_is_not_expanded_again(capped):
    capped.walk(Visit("Root", named("C"), visit="expand"))
    capped.walk(Visit("A", named("D"), visit="expand"), Visit("B"))
    plan = plan_of(capped, config(subjects=9))
    assert (planned(plan), plan.hop) == (["C"], 1)


def test_at_the_cap_nothing_stored_is_expanded(capped):
    (item,) = plan_of(capped, config(subjects=3)).items
    assert (item.name, item.visit, item.expand) == ("B", "generate", "subject_cap")


def test_the_article_cap_does_not_hold_back_the_expansion_of_stored_articles(capped):
    assert planned(plan_of(capped, config(subjects=9, articles=2))) == ["Root"]


def test_a_failed_article_is_not_expanded(corpus):
    corpus.walk(Visit("Root", named("A"))).walk(Visit("A", error="refusal"))
    assert plan_of(corpus, config(subjects=9)) is None


def walk(run_uri, settings, restart: bool) -> list:
    """Plans of a whole walk over a tree of names, two waves overlapping; ``restart``: a new planner
    for every wave.
    """
    corpus = Corpus(run_uri, settings).seed("x")
    frontier = Frontier(corpus.run, settings)
    plans = []
    waiting = []

    def commit():
        plan = waiting.pop(0)
        full = {i.name: i.expand == "full" for i in plan.items}
        visits = [
            Visit(n, named(f"{n}0", f"{n}1") if full[n] and len(n) < 4 else [], "odd" if n == "x1" else None)
            for n in full
        ]
        corpus.walk(*visits)

    while True:
        wave = len(plans) + 1
        plan = (Frontier(RunFolder.open(run_uri), settings) if restart else frontier).plan(wave)
        if plan is None and not waiting:
            return plans
        if plan is not None:
            plans.append(plan)
            waiting.append(plan)
        if plan is None or len(waiting) > 1 or restart:
            commit()


@pytest.mark.parametrize("caps", [{}, {"articles": 6}, {"depth": 2}, {"subjects": 6}], ids=str)
def test_a_restart_before_every_wave_plans_the_same_waves(tmp_path, caps):
    settings = config(2, **caps)
    calm, restarted = (walk(str(tmp_path / str(r)), settings, r) for r in (False, True))
    assert len(calm) >= 3
    assert restarted == calm
