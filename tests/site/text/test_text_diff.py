"""Tests of the comparison of two texts by sentences."""

import random
import time

from llmpedia.site.text.text_diff import MOST_SENTENCES, Piece, compared


def shown(said):
    return said.kind, "".join(f"[{p.text}]" if p.changed else p.text for p in said.pieces), said.other


def compare(ours, theirs, places=None, their_places=None):
    left, right = compared(ours, theirs, places or [0] * len(ours), their_places or [0] * len(theirs))
    return [shown(said) for said in left], [shown(said) for said in right]


def test_what_is_the_same_what_differs_and_what_only_one_says():
    left, right = compare(
        ["He was born in 1890 in Bonn.", "He loved cats.", "The war ended."],
        ["The war ended.", "He was born in 1891 in Bonn, Prussia.", "Nothing came of it."],
    )
    assert left == [
        ("changed", "He was born in [1890] in Bonn.", 1),
        ("only", "[He loved cats.]", None),
        ("same", "The war ended.", 0),
    ]
    assert right == [
        ("same", "The war ended.", 2),
        ("changed", "He was born in [1891] in Bonn[, Prussia].", 0),
        ("only", "[Nothing came of it.]", None),
    ]


def test_a_sentence_is_held_against_one_of_its_own_part_first():
    left, right = compare(["It rained a lot."], ["It rained a lot.", "It rained a lot."], [1], [0, 1])
    assert left == [("same", "It rained a lot.", 1)] and right[0] == ("only", "[It rained a lot.]", None)
    near = "He came home in May."
    far = "He came home in June."
    assert compare([near], [far])[0][0][0] == "changed"
    assert compare([near], ["Somebody went away in June."], [0], [1])[0][0][0] == "only"


def test_elsewhere_only_what_is_nearly_the_same_counts():
    # 4 of 6 words
    ours = ["One two three four five six."]
    theirs = ["One two three four nine ten."]
    assert compare(ours, theirs)[0][0][0] == "changed"
    assert compare(ours, theirs, [0], [1])[0][0][0] == "only"


def test_scripts_without_spaces_are_told_apart_by_character():
    left, _ = compare(["東京は日本の首都である。"], ["京都は日本の古都である。"])
    assert left[0][0] == "changed" and "は日本の" in left[0][1] and "[首]" in left[0][1]


def test_no_word_is_lost_and_partners_are_mutual():
    drawn = random.Random(7)
    words = ["a", "b", "ab", ",", ".", "  ", "\u202e", "é", "<b>", "東京", "\x02", "(", "1950"]
    for _ in range(60):
        ours, theirs = (
            ["".join(drawn.choices(words, k=drawn.randrange(12))) for _ in range(drawn.randrange(9))]
            for _ in "ab"
        )
        places = [[drawn.randrange(3) for _ in text] for text in (ours, theirs)]
        left, right = compared(ours, theirs, *places)
        for texts, said, others in ((ours, left, right), (theirs, right, left)):
            assert ["".join(piece.text for piece in one.pieces) for one in said] == texts
            for n, one in enumerate(said):
                assert (one.other is None) == (one.kind == "only")
                assert one.other is None or (
                    others[one.other].other == n and others[one.other].kind == one.kind
                )
                assert one.kind != "same" or not any(piece.changed for piece in one.pieces)
        for one in left:
            if one.kind == "changed":
                kept = [
                    "".join(p.text for p in said.pieces if not p.changed) for said in (one, right[one.other])
                ]
                assert "".join(kept[0].split()) == "".join(kept[1].split())


def test_very_long_texts_are_only_searched_for_what_is_the_same():
    ours = [f"Sentence {n} was here." for n in range(MOST_SENTENCES + 1)]
    left, right = compared(ours, [*ours[1:], "Sentence x was here."], [0] * len(ours), [0] * len(ours))
    assert [said.kind for said in left] == ["only"] + ["same"] * MOST_SENTENCES
    assert right[-1].kind == "only"


def test_sentences_that_could_take_long_are_marked_as_wholes_and_all_is_done_in_time():
    ours = [f"{'so it goes ' * 60}{n}" for n in range(MOST_SENTENCES)]
    theirs = [f"{'it goes so ' * 60}{n}" for n in range(MOST_SENTENCES)]
    start = time.process_time()
    left, _ = compared(ours, theirs, [0] * len(ours), [0] * len(theirs))
    assert time.process_time() - start < 5
    assert left[0].kind == "changed" and left[0].pieces == (Piece(ours[0], True),)
