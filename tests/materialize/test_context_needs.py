"""What the stages of a walk take of the engine's context."""

from llmpedia.materialize.context_needs import needs_of
from tests.support.builders.runs import make_config


def test_a_walk_through_titles_needs_no_context_for_stages_that_it_never_asks(tmp_path):
    (tmp_path / "titles.txt").write_text("Ada\n")
    config = make_config(run={"mode": "titles", "titles": str(tmp_path / "titles.txt"), "seed": None})
    assert [need.stage for need in needs_of(config)] == ["outline", "article"]
