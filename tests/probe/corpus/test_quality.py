"""The quality classifier: what it says, what it cannot say, and which side of the threshold becomes
the corpus.
"""

import json

import pytest

from llmpedia.errors import InputError
from llmpedia.probe.corpus import quality
from llmpedia.probe.corpus.quality import Quality, kept, train
from llmpedia.probe.settings.build import QualitySection
from tests.support.builders.corpus import read
from tests.support.builders.runs import one_line

GOOD = "The treaty of {} was signed by the two kingdoms after nine years of war and ended the siege."
BAD = "Buy cheap pills {} online now, click here, free shipping, best price, order today!"
EXAMPLES = [
    pair
    for n in range(100)
    for pair in (("__label__hq", GOOD.format(f"place{n}")), ("__label__cc", BAD.format(f"brand{n}")))
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "quality.bin"
    train(EXAMPLES, path)
    return path


def settings(model, **fields):
    return QualitySection(model=str(model), **fields)


def test_a_trained_classifier_tells_the_two_apart(model):
    scorer = Quality(settings(model))
    assert scorer.score(GOOD.format("Ghent\n\r\n")) > 0.9
    assert scorer.score(BAD.format("x")) < 0.1
    assert Quality(settings(model, label="__label__cc")).score(BAD.format("x")) > 0.9


def test_scores_stay_within_0_and_1_and_nothing_is_no_number(model):
    scorer = Quality(settings(model))
    for text in ("", "   \n", "zzz qqq", GOOD, GOOD * 500, "\x00 a", "東京"):
        assert 0 <= scorer.score(text) <= 1
    scorer._model = Said((), ())
    assert scorer.score("x") is None
    scorer._model = Said(("__label__hq",), (1.00003,))
    assert scorer.score("x") == 1.0
    scorer._model = Said(("__label__cc",), (1.0,))
    assert scorer.score("x") == 0.0


class Said:
    """A classifier's answer, as fastText gives some of them."""

    def __init__(self, labels, shares):
        self._said = labels, shares

    def predict(self, text, k):
        return self._said


def test_the_same_examples_give_the_same_classifier(model, tmp_path):
    train(EXAMPLES, tmp_path / "again.bin")
    assert Quality(settings(tmp_path / "again.bin")).score(GOOD) == Quality(settings(model)).score(GOOD)


@pytest.mark.parametrize(
    "examples", [EXAMPLES[:1], [], [("hq", "a"), ("__label__cc", "b")], [("__label__a b", "x"), EXAMPLES[0]]]
)
def test_examples_that_teach_nothing_are_refused(tmp_path, examples):
    with pytest.raises(InputError) as caught:
        train(examples, tmp_path / "model.bin")
    one_line(caught, "__label__")


def test_what_is_no_classifier_is_refused_at_once(model, tmp_path):
    import fasttext

    (tmp_path / "junk.bin").write_bytes(b"junk" * 100)
    (tmp_path / "words.txt").write_text(" ".join(GOOD.split() * 50))
    vectors = fasttext.train_unsupervised(
        str(tmp_path / "words.txt"), dim=4, minCount=1, thread=1, verbose=0, bucket=100
    )
    vectors.save_model(str(tmp_path / "vectors.bin"))
    for name in ("junk.bin", "vectors.bin", "missing.bin"):
        with pytest.raises(InputError) as caught:
            Quality(settings(tmp_path / name))
        one_line(caught, "corpus.quality.model", name)
    with pytest.raises(InputError) as caught:
        Quality(settings(model, label="__label__good"))
    one_line(caught, "__label__good", "__label__cc, __label__hq")


@pytest.mark.parametrize("size", [0, 40, 2000, 3_000_000, -4])
def test_a_classifier_that_is_not_whole_is_refused_before_it_is_loaded(model, tmp_path, monkeypatch, size):
    """fastText would take all memory for one that ends in its words, and answer by chance from one
    without its last bytes.
    """
    import fasttext

    (tmp_path / "cut.bin").write_bytes(model.read_bytes()[:size])
    monkeypatch.setattr(fasttext, "load_model", lambda path: pytest.fail("loaded"))
    with pytest.raises(InputError) as caught:
        Quality(settings(tmp_path / "cut.bin"))
    one_line(caught, "corpus.quality.model", "cut.bin")


def test_a_quantized_classifier_is_read(tmp_path):
    import fasttext

    words = " ".join(f"w{n}" for n in range(300))
    (tmp_path / "lines.txt").write_text("".join(f"{label} {text} {words}\n" for label, text in EXAMPLES))
    made = fasttext.train_supervised(
        str(tmp_path / "lines.txt"), dim=4, minn=0, maxn=0, bucket=0, epoch=25, thread=1, verbose=0
    )
    made.quantize()
    made.save_model(str(tmp_path / "small.ftz"))
    assert Quality(settings(tmp_path / "small.ftz")).score(GOOD) > 0.5


def test_the_threshold_itself_is_above():
    below = QualitySection(threshold=0.5)
    above = QualitySection(threshold=0.5, keep="above")
    assert [kept(s, below) for s in (0.4, 0.5, 0.6)] == [True, False, False]
    assert [kept(s, above) for s in (0.4, 0.5, 0.6)] == [False, True, True]


def test_a_side_becomes_the_corpus_and_a_copy_stays_a_copy(model, tmp_path):
    texts = [
        GOOD.format("Ghent") * 4,
        BAD.format("x") * 4,
        GOOD.format("Ghent").upper() * 4,
        BAD.format("x") * 4,
        "short",
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    rows = read(tmp_path / "a.jsonl", quality=settings(model, threshold=0.5))
    assert [r["fate"] for r in rows] == ["quality", "kept", "exact_duplicate", "exact_duplicate", "too_short"]
    assert [r["text"] is None for r in rows] == [True, False, True, True, True]
    assert rows[0]["quality"] > 0.9 > 0.1 > rows[1]["quality"] and rows[4]["quality"] is None
    above = read(tmp_path / "a.jsonl", quality=settings(model, threshold=0.5, keep="above"))
    assert [r["fate"] for r in above] == [
        "kept",
        "quality",
        "exact_duplicate",
        "exact_duplicate",
        "too_short",
    ]


def test_without_a_classifier_no_score_is_made_up(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": GOOD * 4}) + "\n")
    (row,) = read(tmp_path / "a.jsonl")
    assert (row["fate"], row["quality"]) == ("kept", None)


def test_a_document_that_the_classifier_says_nothing_of_is_left_out_and_says_so(model, tmp_path, monkeypatch):
    monkeypatch.setattr(quality.Quality, "score", lambda self, text: None)
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": GOOD * 4}) + "\n")
    (row,) = read(tmp_path / "a.jsonl", quality=settings(model))
    assert (row["fate"], row["quality"], row["reason"]) == (
        "quality",
        None,
        "the classifier says nothing of it",
    )
