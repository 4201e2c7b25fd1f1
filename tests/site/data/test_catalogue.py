"""Tests of what is kept in memory of a run."""

import pytest

from llmpedia.site.data.catalogue import NONE, read_catalogue
from llmpedia.site.data.row_reader import WaveTables
from tests.support.builders.site import written_run


@pytest.mark.parametrize("step", [1, 2])
def test_a_catalogue_read_in_steps_is_that_read_at_once(tmp_path, step):
    run = written_run(tmp_path / "run", {"A": "a a", "B": "b", "C": ""}, waves=2, aliases={"Ay": "A"}).run
    tables = WaveTables(run)
    waves = len(run.manifests)
    whole = read_catalogue(tables, waves)
    stepwise = None
    for last in [*range(step, waves, step), waves]:
        stepwise = read_catalogue(tables, last, stepwise)
    assert stepwise.names.equals(whole.names) and stepwise.numbers == whole.numbers
    for column in ("hops", "parents", "articles", "words", "alias_of", "visits"):
        assert getattr(stepwise, column).tolist() == getattr(whole, column).tolist()
    names = whole.names.to_pylist()
    assert whole.aliases(names.index("A")) == ["Ay"] and whole.aliases(names.index("B")) == []
    assert sorted(names[n] for n in whole.children(names.index("Seed"))) == ["A", "B", "C"]
    assert whole.parents[names.index("Seed")] == NONE
