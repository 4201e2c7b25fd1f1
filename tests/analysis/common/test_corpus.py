"""A corpus as a whole: means and subject keys of table 5."""

from llmpedia.analysis.common.corpus import corpus_means, subject_keys
from llmpedia.entities.keys import canonical_key
from tests.support.builders.runs import three_waves

SIGNS = {"outline": 1, "sections_missing": -1, "sections_extra": 1}


def test_means_are_those_of_the_articles_rows(tmp_path):
    run = three_waves(tmp_path / "run").run
    rows = run.read("articles").to_pylist()
    means = corpus_means(run)
    assert means["articles"] == len(rows)
    assert means["mean_words"] == round(sum(r["words"] for r in rows) / len(rows), 1)
    sections = sum(sum(s * len(r[c] or ()) for c, s in SIGNS.items()) for r in rows)
    assert means["mean_sections"] == round(sections / len(rows), 1)


def test_subjects_are_the_names_of_articles_as_keys(tmp_path):
    run = three_waves(tmp_path / "run").run
    assert subject_keys(run) == {canonical_key(r["name"]) for r in run.read("articles").to_pylist()}
