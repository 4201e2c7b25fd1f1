"""Copies: exact ones, near ones by an estimate that is close to the true Jaccard similarity, and
who stays.
"""

import json

import numpy as np
import pytest

from llmpedia.probe.corpus.duplicates import Seen, Signatures, folded_key, shingle_hashes
from tests.support.builders.corpus import prose, read, section


def changed(text, *places):
    words = text.split()
    for place in places:
        words[place] = "changed"
    return " ".join(words)


def jaccard(a, b, size=5):
    one, two = ({tuple(t.split()[i : i + size]) for i in range(len(t.split()) - size + 1)} for t in (a, b))
    return len(one & two) / len(one | two)


def corpus(folder, *texts):
    lines = "".join(
        json.dumps({"text": text, "url": f"https://a.example/{n}"}) + "\n" for n, text in enumerate(texts)
    )
    (folder / "a.jsonl").write_text(lines)
    return folder / "a.jsonl"


def fates(rows):
    return [(r["fate"], r["duplicate_of"]) for r in rows]


def test_the_first_of_several_copies_stays(tmp_path):
    text = prose(1, 200)
    shouted = text.upper().replace(" ", "\n  ")
    rows = read(corpus(tmp_path, prose(2), text, shouted, changed(text, 100), text, changed(text, 100)))
    assert fates(rows) == [
        ("kept", None),
        ("kept", None),
        ("exact_duplicate", 1),
        ("near_duplicate", 1),
        ("exact_duplicate", 1),
        ("near_duplicate", 1),
    ]
    assert [r["text"] is None for r in rows] == [False, False, True, True, True, True]
    assert all(r["document_id"] for r in rows)


def test_the_threshold_is_of_the_jaccard_similarity(tmp_path):
    text = prose(1, 400)
    near = changed(text, 50, 150)
    far = changed(text, *range(10, 400, 20))
    assert jaccard(text, near) > 0.9 and 0.5 < jaccard(text, far) < 0.7
    path = corpus(tmp_path, text, near, far)
    assert fates(read(path)) == [("kept", None), ("near_duplicate", 0), ("kept", None)]
    assert fates(read(path, near_duplicate=0.5)) == [
        ("kept", None),
        ("near_duplicate", 0),
        ("near_duplicate", 0),
    ]
    assert fates(read(path, near_duplicate=1.0)) == [("kept", None)] * 3
    assert fates(read(path, near_duplicate=0.95, permutations=16))[2] == ("kept", None)


def test_signatures_estimate_the_jaccard_similarity():
    signatures = Signatures(section("x", permutations=512))
    text = prose(1, 400)
    for places in ([50], [50, 150, 250], list(range(10, 400, 20))):
        other = changed(text, *places)
        a, b = (np.frombuffer(signatures.of(t), np.uint32) for t in (text, other))
        assert np.mean(a == b) == pytest.approx(jaccard(text, other), abs=0.07)


def test_shingles_are_runs_of_words_in_their_order():
    assert len(shingle_hashes("one two three four five six", 5)) == 2
    assert len(shingle_hashes("One, two", 5)) == 1 and not len(shingle_hashes("...", 5))
    assert shingle_hashes("One: TWO three", 3).tolist() == shingle_hashes("one two three", 3).tolist()
    assert shingle_hashes("two one three", 3).tolist() != shingle_hashes("one two three", 3).tolist()
    assert len(shingle_hashes("東京は日本の首都", 5)) == 4


def test_a_signature_is_the_same_in_every_process_and_version():
    """Stored nowhere, but two builds of one corpus must keep the same documents."""
    assert shingle_hashes("one two three four five six", 5).tolist() == [1642521514, 2564537316]
    values = np.frombuffer(
        Signatures(section("x", permutations=16)).of("one two three four five six"), np.uint32
    )
    assert values[:3].tolist() == [123862263, 2427008366, 744481100]


def test_most_near_copies_among_thousands_are_found_and_nothing_else():
    settings = section("x")
    texts = [prose(n, 150) for n in range(2000)]
    copies = {n: changed(texts[n - 100], 75) for n in range(100, 2000, 10)}
    signatures = Signatures(settings)
    seen = Seen(settings)
    found = {}
    for n in range(2000):
        text = copies.get(n, texts[n])
        copy = seen.original(n, folded_key(text), signatures.of(text))
        if copy:
            found[n] = copy[1]
    # a copy of what is itself left out as a copy is none of that, so both may stand for the
    # original
    right = {n: n - 100 for n in copies if n - 100 not in copies}
    assert set(found) <= set(copies)
    hits = [n for n in right if found.get(n) == right[n]]
    assert len(hits) >= 0.97 * len(right)
