"""Runs side by side: what they share, against counts by hand and the paper's; factuality and
likeness over their audits.
"""

import json
import time

import pyarrow as pa
import pytest

from llmpedia.analysis.common.corpus import corpus_means, subject_keys, written_subjects
from llmpedia.analysis.common.statistics import jaccard
from llmpedia.analysis.common.systems import run_names
from llmpedia.analysis.comparison.cross_model import Overlap, cross_model_part, drawn, linked_keys
from llmpedia.analysis.comparison.cross_model_figures import cross_model_figures
from llmpedia.analysis.output.drawing import write_figures
from llmpedia.analysis.output.formats import write_tables
from llmpedia.errors import InputError
from llmpedia.store.run_folder import RunFolder
from tests.support.builders.runs import Child, Corpus, Visit, make_config, one_line
from tests.support.builders.systems import make_audit, make_system


def overlap_of(**keys):
    return Overlap.of(
        {name: pa.chunked_array([pa.array(sorted(own), pa.string())]) for name, own in keys.items()}
    )


def lines(rows, part=None):
    """Measure -> values of the lines of a wide table."""
    return {
        r["measure"]: {k: v for k, v in r.items() if k not in ("part", "measure")}
        for r in rows
        if part in (None, r["part"])
    }


def test_overlap_by_hand():
    overlap = overlap_of(a={"x", "y", "z"}, b={"y", "z", "w"}, c={"z", "v"})
    told = {tuple(r["runs"]): (r["subjects"], r["union"], r["jaccard"]) for r in overlap.rows()}
    assert told == {
        ("a",): (3, 3, 1.0),
        ("b",): (3, 3, 1.0),
        ("c",): (2, 2, 1.0),
        ("a", "b"): (2, 4, 0.5),
        ("a", "c"): (1, 4, 0.25),
        ("b", "c"): (1, 4, 0.25),
        ("a", "b", "c"): (1, 5, 0.2),
    }
    assert overlap.in_all.to_pylist() == ["z"]


def test_of_more_than_three_runs_all_are_told_besides_pairs_and_triples():
    overlap = overlap_of(a={"x"}, b={"x"}, c={"x"}, d={"x", "y"}, e={"x"})
    sizes = [row["of"] for row in overlap.rows()]
    assert (sizes.count(1), sizes.count(2), sizes.count(3), sizes.count(4), sizes.count(5)) == (
        5,
        10,
        10,
        0,
        1,
    )
    assert overlap.rows()[-1]["union"] == 2


def test_runs_without_subjects_have_no_jaccard():
    assert overlap_of(a=set(), b=set()).rows()[-1]["jaccard"] is None


def published():
    """Three sets of 120,000 with the paper's union and intersection, and pairs that share alike
    (table 5, figures 32 and 33).
    """
    pairs = (12_891, 12_891, 12_890)
    triple = 20_417
    size = 120_000
    core = [f"all{n}" for n in range(triple)]
    ab, ac, bc = (
        [f"{name}{n}" for n in range(count)] for name, count in zip(("ab", "ac", "bc"), pairs, strict=True)
    )
    own = {"a": [core, ab, ac], "b": [core, ab, bc], "c": [core, ac, bc]}
    filled = {}
    for name, parts in own.items():
        keys = [key for part in parts for key in part]
        filled[name] = keys + [f"{name}{n}" for n in range(size - len(keys))]
    return filled


def test_published_overlap_in_no_time():
    """20,417 of 280,494 subjects are 7.3%, and with 120,000 a model pairs must then lie within 0.15
    to 0.17.
    """
    assert round(100 * jaccard(20_417, 280_494), 1) == 7.3
    keys = published()
    started = time.perf_counter()
    overlap = overlap_of(**keys)
    rows = overlap.rows()
    assert time.perf_counter() - started < 20
    assert (rows[-1]["subjects"], rows[-1]["union"], rows[-1]["jaccard_pct"]) == (20_417, 280_494, 7.3)
    assert all(0.15 <= row["jaccard"] <= 0.17 for row in rows if row["of"] == 2)
    assert [row["subjects"] for row in rows if row["of"] == 1] == [120_000] * 3


def test_a_draw_depends_neither_on_order_nor_on_the_others():
    keys = pa.array([f"key{n}" for n in range(2000)])
    assert drawn(keys, 100) == drawn(keys[::-1], 100)
    assert [k for k in drawn(keys, 2000) if k in {f"key{n}" for n in range(900)}] == drawn(keys[:900], 900)
    assert drawn(keys, 100)[:50] == drawn(keys, 50)


def walked(folder, name, children, extra=()):
    """A walk from one seed whose article links the children, who have articles with ``extra``
    links.
    """
    corpus = Corpus(folder / name, make_config(engine={"model": name})).seed("Root")
    corpus.walk(Visit("Root", [Child(c) for c in children]))
    known = {
        name: Child(name, "known", name) if name in children else Child(name, "ner_rejected")
        for name in extra
    }
    corpus.walk(*(Visit(c, [child for name, child in known.items() if name != c]) for c in children))
    return RunFolder.open(str(folder / name))


def test_runs_are_compared_by_the_keys_they_have_stored(tmp_path):
    one = walked(tmp_path, "one", ["U.S.", "Ada", "Bob"])
    two = walked(tmp_path, "two", ["US", "ada!", "Eve"])
    assert subject_keys(one) == {"root", "us", "ada", "bob"}
    part = cross_model_part([one, two], [])
    told = lines(part.tables["table_05_models"])
    assert told["union"] == {"one": 5, "two": 5}
    assert told["intersection"] == {"one": 3, "two": 3}
    assert told["intersection_pct"] == {"one": 60.0, "two": 60.0}
    assert told["articles"] == {"one": 4, "two": 4}


def test_a_queued_entity_without_an_article_is_no_subject(tmp_path):
    corpus = Corpus(tmp_path / "run").seed("Root")
    corpus.walk(Visit("Root", [Child("A"), Child("B")]))
    corpus.walk(Visit("B", error="refusal"), Visit("A"))
    rows = written_subjects(corpus.run)
    assert rows.to_pydict() == {"subject_id": [0, 1], "key": ["root", "a"]}


def test_an_article_of_no_entity_is_told(tmp_path):
    corpus = Corpus(tmp_path / "run").seed("Root")
    corpus.walk(Visit("Root"), damage=lambda rows: rows["articles"][0].update(subject_id=7))
    with pytest.raises(InputError) as caught:
        written_subjects(corpus.run)
    one_line(caught, "subject 7", "no entity", "llmpedia verify")


def test_entity_overlap_by_hand(tmp_path):
    """Root links A, B, C here and A, B, D there: 2 of 4. A links C here and nothing there: 0 of 1;
    B links nothing at all.
    """
    one = make_system(tmp_path, "one", {"Root": "[[A]] [[B|b]] [[c]] [[root]]", "A": "[[C]]", "B": "Text."})
    two = make_system(
        tmp_path, "two", {"root": "[[a]] [[B]] [[D]]", "a": "Text.", "b": "Text.", "E": "[[F]]"}
    )
    (row,) = cross_model_part([one, two], []).tables["entity_overlap"]
    assert (row["run"], row["other"], row["subjects"], row["without_links"], row["jaccard_n"]) == (
        "one",
        "two",
        3,
        1,
        2,
    )
    assert row["jaccard"] == pytest.approx(0.25)


def test_links_are_the_same_from_candidates_and_from_the_text(tmp_path):
    walk = walked(tmp_path, "walk", ["Ada", "Bob"], extra=["Ada", "Cy", "Bob"])
    texts = walk.read("articles", columns=["name", "wikitext"]).to_pylist()
    copy = make_system(tmp_path, "copy", {row["name"]: row["wikitext"] for row in texts})
    found = []
    for run in (walk, copy):
        rows = {row["key"]: row["subject_id"] for row in written_subjects(run).to_pylist()}
        own = sorted(rows)
        found.append(dict(zip(own, linked_keys(run, pa.array([rows[k] for k in own]), own), strict=True)))
    assert found[0] == found[1] == {"root": {"ada", "bob"}, "ada": {"cy", "bob"}, "bob": {"ada", "cy"}}


def test_texts_that_carry_no_links_are_no_overlap_of_zero(tmp_path):
    one = make_system(tmp_path, "one", {"A": "[[B]]"})
    two = make_system(tmp_path, "two", {"A": "Plain."}, form="text")
    part = cross_model_part([one, two], [])
    assert part.tables["entity_overlap"] == []
    assert [(m["what"], m["reason"]) for m in part.missing if m["table"] == "entity_overlap"] == [
        ("two", "its articles on shared subjects have no links")
    ]
    means = corpus_means(two)
    assert (means["mean_links"], means["mean_sections"], means["mean_words"]) == (None, None, 1.0)


def test_shared_subjects_are_a_file_of_titles(tmp_path):
    from llmpedia.audit.sampling import read_titles

    texts = {"AC/DC": "x", 'Say "Foo", Bar': "x", "C#": "x", "Own": "x"}
    one = make_system(tmp_path, "one", texts)
    two = make_system(tmp_path, "two", dict.fromkeys(list(texts)[:3], "y"))
    part = cross_model_part([one, two], [])
    write_tables({"shared_subjects": part.tables["shared_subjects"]}, tmp_path)
    assert read_titles(str(tmp_path / "shared_subjects.csv")) == subject_keys(two)


WIKIPEDIA = {"A": "It is big. It is old.", "B": "It is big.", "C": "It is new."}


def audited(folder):
    """Two systems; shared titles A, B and D, of which only the first has D."""
    one = make_system(
        folder,
        "one",
        {"A": "It is big. It is odd.", "B": "It is big.", "C": "It is new.", "D": "It is dark."},
    )
    two = make_system(folder, "two", {"A": "It is big.", "B": "It is small.", "C": "It is lost."})
    audits = [make_audit(run, WIKIPEDIA, titles=["A", "B", "D"], random=3) for run in (one, two)]
    return [one, two], audits


def test_shared_and_independent_factuality_by_hand(tmp_path):
    runs, audits = audited(tmp_path)
    part = cross_model_part(runs, audits)
    shared = {row["run"]: row for row in part.tables["shared_independent"] if row["subjects_are"] == "shared"}
    assert {s: (r["subjects"], r["true_pct"], r["precision_pct"]) for s, r in shared.items()} == {
        "one": (2, 75.0, 100.0),
        "two": (2, 50.0, 100.0),
    }
    independent = [row for row in part.tables["shared_independent"] if row["subjects_are"] == "independent"]
    assert [row["subjects"] for row in independent] == [3, 3]
    told = lines(part.tables["table_05_models"], "shared")
    assert told["true_pct"] == {"one": 75.0, "two": 50.0}
    assert lines(part.tables["table_05_models"], "independent")["wiki_pct"]["two"] == 100.0


def test_similarity_is_fitted_on_all_runs_together(tmp_path):
    """The same article is as like Wikipedia in one run as in the other, whatever else either has."""
    same = "The moon is far and round and cold."
    one = make_system(tmp_path, "one", {"A": same, "B": "Water boils at sea level when it is hot."})
    two = make_system(
        tmp_path, "two", {"A": same, "B": "Far moons are round, far stars are round, all is far."}
    )
    wikipedia = {
        "A": "The moon is near and bright and cold.",
        "B": "Water is wet, and far from the moon it is cold.",
    }
    audits = [make_audit(run, wikipedia, titles=["A"], name="a") for run in (one, two)]
    for run in (one, two):
        make_audit(run, wikipedia, random=2, name="b")
    rows = cross_model_part([one, two], audits).tables["wikipedia_similarity"]
    assert [row["run"] for row in rows] == ["one", "two"]
    assert rows[0]["tfidf_cosine"] == rows[1]["tfidf_cosine"] > 0
    assert all(row["pairs"] == 1 and row["semantic_cosine"] is None for row in rows)


def test_what_is_lacking_is_told_with_its_command(tmp_path):
    runs, audits = audited(tmp_path)
    missing = cross_model_part(runs, audits[:1]).missing
    told = {(m["table"], m["what"]): m["command"] for m in missing}
    assert told["table_05_models", "shared: two"].startswith(
        f"llmpedia audit {runs[1].uri} --name shared --set wikipedia.contact=ADDRESS"
    )
    assert "sample.random=1000" in told["table_05_models", "independent: two"]
    assert ("shared_independent", "table") in told
    assert all(set(m) == {"table", "what", "reason", "command"} for m in missing)


def test_of_two_audits_with_the_same_sample_neither_is_taken(tmp_path):
    runs, audits = audited(tmp_path)
    again = make_audit(runs[0], WIKIPEDIA, titles=["A"], name="again")
    missing = cross_model_part(runs, [*audits, again]).missing
    assert any(m["what"] == "one: sample titles" and "again" in m["reason"] for m in missing)


@pytest.mark.parametrize("count", [1, 9])
def test_one_run_is_no_comparison_and_more_than_eight_are_too_many(tmp_path, count):
    part = cross_model_part([make_system(tmp_path, "one", {"A": "x"})] * count, [])
    assert part.tables == {}
    assert len({m["table"] for m in part.missing}) == 6
    assert all(f"given: {count}; 2 to 8" in m["reason"] and "OTHER_RUN" in m["command"] for m in part.missing)


def test_eight_runs(tmp_path):
    runs = [make_system(tmp_path, f"run{n}", {"A": f"[[B]] [[C{n % 2}]]", f"Own {n}": "x"}) for n in range(8)]
    part = cross_model_part(runs, [])
    assert part.tables["subject_overlap"][-1] | {"runs": None} == {
        "runs": None,
        "of": 8,
        "subjects": 1,
        "union": 9,
        "jaccard": pytest.approx(1 / 9),
        "jaccard_pct": 11.1,
    }
    pairs = {(r["run"], r["other"]): r["jaccard"] for r in part.tables["entity_overlap"]}
    assert len(pairs) == 28
    assert (pairs["run0", "run2"], pairs["run0", "run1"]) == (1.0, pytest.approx(1 / 3))


def test_everything_can_be_written_and_is_the_same_again(tmp_path):
    runs, audits = audited(tmp_path)
    made = []
    for name in ("one", "two"):
        part = cross_model_part(runs, audits)
        figures = write_figures(part.figures, tmp_path / "out" / name)
        made.append(
            {p.name: p.read_bytes() for p in [*figures, *write_tables(part.tables, tmp_path / "out" / name)]}
        )
        assert set(part.titles) == set(part.tables)
        assert {f for fs in part.figures_of.values() for f in fs} == {"figure_34_entities", *part.figures}
    assert made[0] == made[1]
    svg = made[0]["figure_32_subjects.svg"].decode()
    assert "in all 2" in svg
    assert "75.0 % of 4" in svg
    assert json.dumps(sorted(n for n in made[0] if n.endswith(".png"))).count("figure_3") == 4


def test_runs_of_one_name_are_told_apart_by_the_folder_above():
    assert run_names(["/x/a/demo", "/x/b/demo/", "/x/other"]) == ["a/demo", "b/demo", "other"]
    assert run_names(["/x/demo"]) == ["demo"]


@pytest.mark.parametrize(
    ("value", "subjects", "told"), [(0.0, 1, "over 1 shared subject"), (0.9, 2, "over 2 shared subjects")]
)
def test_squares_are_on_a_scale_from_0_to_1_and_none_is_white(value, subjects, told):
    rows = [{"run": "a", "other": "b", "jaccard": value, "subjects": subjects}]
    axes = cross_model_figures({"entity_overlap": rows})["figure_34_entities"].axes[0]
    (image,) = axes.images
    assert (image.get_clim(), min(image.to_rgba(image.get_array())[0, 1][:3]) < 0.9) == ((0, 1), True)
    assert axes.get_title().endswith(told)
