"""llmpedia/probe/candidates/pairs.py: who is compared with whom; bounded, the same in any order,
and no conflict lost to the bounds.
"""

import random
from collections import Counter
from math import comb

import numpy as np
import pytest

from llmpedia.probe.candidates.pair_selection import chosen
from llmpedia.probe.candidates.pairs import Prepared, candidate_pairs
from llmpedia.probe.candidates.text_sketches import TextSketches
from llmpedia.probe.documents import Sighting
from llmpedia.probe.settings.build import PairsSection
from llmpedia.tables import table

WORDS = ["".join(random.Random(i).choices("abcdefghijklmnopqrstuvwxyz", k=6)) for i in range(3000)]


def filler(seed, words=40):
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def document(number, value, *, subject="kalvarija", slot="population", path="P", mentions=(), text=None):
    """One sentence that tells a value, then words of its own."""
    told = f"There were {value} inhabitants in the town."
    whole = f"{told} {filler(number) if text is None else text}."
    return Prepared(number, (path,), [Sighting(0, subject, subject, slot)], [subject, *mentions], whole)


def found(documents, **settings):
    return candidate_pairs(documents, PairsSection(**settings))


def ends(candidates, **columns):
    return {(p["a"], p["b"]) for p in candidates.pairs if all(p[k] == v for k, v in columns.items())}


def test_no_documents_make_no_pairs():
    assert found([]).pairs == []


def test_rows_are_those_of_the_table_numbered_best_first():
    rows = found([document(i, 100 + i % 2, path="PQ"[i % 3 == 0]) for i in range(9)]).pairs
    assert table("pairs", rows).num_rows == len(rows) > 20
    assert [r["pair_id"] for r in rows] == list(range(len(rows)))
    assert [r["score"] for r in rows] == sorted((r["score"] for r in rows), reverse=True)
    assert all(r["a"] < r["b"] for r in rows)


def test_small_buckets_are_compared_in_full():
    assert ends(found([document(n, 5) for n in (3, 7, 9)]), route="point") == {(3, 7), (3, 9), (7, 9)}


@pytest.mark.parametrize("other", [{"subject": "sejny"}, {"slot": "area"}])
def test_another_subject_or_slot_is_another_fact(other):
    assert found([document(1, 5), document(2, 6, **other)]).pairs == []


def test_across_points_the_same_fact_is_compared_too():
    """A labeller that is not of one mind must not part the accounts of a fact."""
    (row,) = found([document(1, 5), document(2, 6, path="Q")]).pairs
    assert (row["route"], row["subject"], row["slot"]) == ("mention", "kalvarija", "population")


def test_across_points_a_rare_name_alone_makes_an_open_pair_of_less_worth():
    documents = [
        document(1, 5, mentions=["rareton"]),
        document(2, 6, subject="sejny", path="Q", mentions=["rareton"]),
        document(3, 7, path="Q"),
    ]
    rows = found(documents).pairs
    assert [(r["a"], r["b"], r["subject"], r["slot"]) for r in rows] == [
        (1, 3, "kalvarija", "population"),
        (1, 2, "rareton", None),
    ]


def test_within_a_point_a_rare_name_alone_makes_none():
    assert (
        found(
            [document(1, 5, mentions=["rareton"]), document(2, 6, subject="sejny", mentions=["rareton"])]
        ).pairs
        == []
    )


def test_an_open_pair_is_about_the_rarest_name_that_both_share():
    documents = [document(n, n, subject=f"s{n}", path=f"P{n}", mentions=["common"]) for n in range(9)]
    documents[0].mentions.append("rareton")
    documents[1].mentions.append("rareton")
    assert ends(found(documents), subject="rareton") == {(0, 1)}
    assert (0, 1) not in ends(found(documents), subject="common")


def test_a_pair_of_documents_that_share_a_fact_is_not_also_an_open_one():
    rows = found([document(1, 5, mentions=["rareton"]), document(2, 6, path="Q", mentions=["rareton"])]).pairs
    assert [r["slot"] for r in rows] == ["population"]


def test_a_name_in_too_many_documents_makes_no_open_pairs():
    documents = [document(n, n, subject=f"s{n}", path=f"P{n}", mentions=["common"]) for n in range(60)]
    assert found(documents, rare_documents=50).pairs == []
    assert found(documents, rare_documents=60).pairs != []


def test_copies_with_the_same_figures_are_no_pair():
    candidates = found([document(n, 5, text=filler(1)) for n in (1, 2)])
    assert (candidates.pairs, candidates.left_out["near_copy"]) == ([], 1)


def test_copies_with_other_figures_are_a_pair():
    """Two texts that differ in nothing but a number are a conflict at its purest."""
    assert ends(found([document(1, 5, text=filler(1)), document(2, 6, text=filler(1))])) == {(1, 2)}


def test_copies_that_tell_another_name_are_a_pair():
    texts = [
        f"The old town was founded by {name} in 1705. {filler(1)}." for name in ("Kazimierz", "Wladyslaw")
    ]
    documents = [
        Prepared(n, ("P",), [Sighting(0, "town", "town", "creator")], [], t) for n, t in enumerate(texts)
    ]
    assert ends(found(documents)) == {(0, 1)}


def test_figures_elsewhere_in_a_copy_make_it_a_pair():
    assert ends(
        found([document(1, 5, text=filler(1) + " 1900"), document(2, 5, text=filler(1) + " 1901")])
    ) == {(1, 2)}


def test_a_copy_across_points_does_not_come_back_as_an_open_pair():
    same = [
        document(n, 5, path=path, text=filler(1), mentions=["rareton"]) for n, path in ((1, "P"), (2, "Q"))
    ]
    assert found(same).pairs == []


@pytest.mark.parametrize("size", [15, 120])
def test_no_document_has_more_pairs_of_a_fact_than_it_may(size):
    rows = found([document(n, n % 7) for n in range(size)], per_document=4).pairs
    degree = Counter(end for r in rows for end in (r["a"], r["b"]))
    assert max(degree.values()) == 4


def test_the_few_that_differ_are_compared_with_some_of_the_many():
    """In a bucket of 300 the three other accounts share no rare word with anyone."""
    odd = {50: 77, 150: 77, 250: 99}
    pairs = ends(found([document(n, odd.get(n, 5)) for n in range(300)]))
    for n in odd:
        assert sum(n in pair and not set(pair) <= odd.keys() for pair in pairs) >= 5


def test_support_does_not_starve_where_most_documents_differ():
    values = {n: 1000 + n // 2 for n in range(200)}  # each account is told by two
    pairs = ends(found([document(n, v) for n, v in values.items()]))
    assert all((n, n + 1) in pairs for n in range(0, 200, 2))


def test_a_documents_only_comparison_is_not_crowded_out():
    """Nineteen agree in one point; the one in another point that differs is still compared."""
    documents = [*(document(n, 5) for n in range(19)), document(19, 6, path="Q")]
    assert any(19 in pair for pair in ends(found(documents, per_document=5)))


def test_in_a_large_bucket_those_that_share_a_rare_context_are_compared():
    """Five documents on a district of a country that a thousand speak of: two accounts, found by
    the district's name.
    """
    inside = {n: f"the district of Vostanmark {filler(n)}" for n in range(100, 600, 100)}
    documents = [
        document(
            n,
            5000 + n,
            text=inside.get(n),
            path="PQ"[n % 50 == 0 and n > 400],
            mentions=["vostanmark"] * (n in inside),
        )
        for n in range(1000)
    ]
    pairs = ends(found(documents))
    assert sum(a in inside and b in inside for a, b in pairs) == comb(5, 2)


def test_every_pair_of_a_fact_is_kept_or_counted():
    documents = [document(n, n % 9, path="PQR"[n % 3 if n % 4 else 0]) for n in range(150)]
    candidates = found(documents, across=30, total=400)
    assert len(candidates.pairs) == 400
    assert len(candidates.pairs) + sum(candidates.left_out.values()) == comb(150, 2)
    assert all(
        candidates.left_out[reason] > 0
        for reason in ("bucket", "per_document", "rare_documents", "across", "total")
    )


def test_limits_take_the_best():
    documents = [document(n, n % 9, path="PQR"[n % 3]) for n in range(60)]
    whole = found(documents).pairs
    capped = found(documents, total=25).pairs
    assert capped == whole[:25]
    across = [r for r in whole if r["route"] == "mention"]
    kept = [r for r in found(documents, across=7).pairs if r["route"] == "mention"]
    assert [(r["a"], r["b"]) for r in kept] == [(r["a"], r["b"]) for r in across[:7]]


def crowd(size, seed=0):
    """Facts of a few, a popular subject of every third document, names of Zipf's law, copies."""
    rng = random.Random(seed)
    made = []
    for n in range(size):
        subject = "greatland" if n % 3 == 0 else f"s{rng.randrange(size // 4)}"
        text = filler(rng.randrange(n + 1) if n % 20 == 0 else n)
        names = [f"n{int(2000 ** rng.random())}" for _ in range(5)]
        path = f"P{rng.randrange(5)}"
        made.append(document(n, rng.randrange(100), subject=subject, path=path, mentions=names, text=text))
    return made


def test_the_order_of_documents_mentions_and_sightings_decides_nothing():
    documents = crowd(400)
    more = [Sighting(0, f"n{n}", f"n{n}", "count") for n in range(3)]
    documents = [Prepared(d.number, d.path, [*d.sightings, *more], d.mentions, d.text) for d in documents]
    rng = random.Random(1)
    shuffled = [
        Prepared(d.number, d.path, rng.sample(d.sightings, 4), rng.sample(d.mentions, 6), d.text)
        for d in documents
    ]
    rng.shuffle(shuffled)
    assert found(shuffled) == found(documents)


def test_pairs_grow_like_the_documents():
    small, large = (len(found(crowd(size)).pairs) for size in (500, 2000))
    assert 3 < large / small < 5


def test_a_popular_subject_costs_no_square():
    """Of 2,500 documents on one fact there are 3 million pairs; a bounded number of each document's
    are looked at.
    """
    candidates = found([document(n, n % 50) for n in range(2500)])
    assert len(candidates.pairs) <= 2500 * 10 / 2
    assert comb(2500, 2) - candidates.left_out["bucket"] < 2500 * 150


def test_two_documents_of_one_number_are_refused():
    with pytest.raises(ValueError, match="two documents have one number"):
        found([document(1, 5), document(1, 6)])


def test_a_texts_likeness_is_near_its_jaccard_similarity():
    texts = TextSketches()
    words = [set(filler(0, 100).split()[: 100 - n] + filler(1, 100).split()[:n]) for n in range(0, 100, 10)]
    for some in words:
        texts.add(" ".join(sorted(some)))
    a = np.zeros(len(words), np.int64)
    told = texts.sealed().likeness(a, np.arange(len(words)))
    true = [len(words[0] & some) / len(words[0] | some) for some in words]
    assert np.abs(told - true).max() < 0.2
    assert told[0] == 1


def test_texts_without_words_are_no_copies():
    documents = [Prepared(n, ("P",), [Sighting(0, "x", "x", "population")], [], "5 6.") for n in range(2)]
    assert ends(found(documents)) == {(0, 1)}


def test_first_choices_go_before_second_ones():
    """0 has room for two of 1, 2 and 9. By score alone 9, whom nobody else knows, would go away
    empty for 2, who has 4.
    """
    a = np.array([0, 0, 0, 1, 2])
    b = np.array([1, 2, 9, 3, 4])
    kept = chosen(a, b, np.array([0.9, 0.8, 0.1, 0.95, 0.95]), np.zeros(5, bool), 2)
    assert kept.tolist() == [True, False, True, True, True]
