"""llmpedia/probe/candidates/mentions.py: real spaCy; GLiNER and T-NER through stand-ins with the
calls and shapes of the real libraries.

The weights of those two cannot be had without a network, so their modules are replaced: signatures
and answers were read from gliner 0.2.29 (``GLiNER.from_pretrained``, ``inference``) and tner 0.2.4
(``TransformersNER``, ``predict``). That the real models are called rightly is thereby likely, not
proved.
"""

import re
import sys
import types

import pytest

from llmpedia.errors import ConfigError
from llmpedia.probe.candidates.mentions import (
    Span,
    TnerTagger,
    document_mentions,
    key_of,
    make_tagger,
    title_of,
)
from llmpedia.probe.settings.build import MentionsSection

TEXT = "Vannevar Bush headed an office in Washington. The Second World War began in 1939 and cost $5."


@pytest.fixture(scope="module")
def spacy_tagger():
    return make_tagger(MentionsSection())


def test_spacy_finds_names_and_events_but_no_dates_and_sums(spacy_tagger):
    found = {m.surface: (m.kind, m.key) for m in spacy_tagger.mentions([TEXT])[0]}
    assert found["Vannevar Bush"] == ("entity", "vannevarbush")
    assert found["The Second World War"] == ("event", "secondworldwar")
    assert "1939" not in found
    assert not any("5" in surface for surface in found)


def test_spacys_mentions_stand_where_they_say(spacy_tagger):
    assert all(TEXT[m.start : m.end] == m.surface for m in spacy_tagger.mentions([TEXT])[0])


def test_texts_keep_their_order_and_an_empty_one_its_place(spacy_tagger):
    found = spacy_tagger.mentions(["Paris is in France.", "", "Nothing here.", TEXT])
    assert [bool(f) for f in found] == [True, False, False, True]


def test_a_text_longer_than_spacy_takes_is_read_in_pieces(spacy_tagger, monkeypatch):
    monkeypatch.setattr(spacy_tagger._nlp, "max_length", 60)
    found = spacy_tagger.mentions([TEXT])[0]
    assert {"Vannevar Bush", "Washington"} <= {m.surface for m in found}
    assert all(TEXT[m.start : m.end] == m.surface for m in found)


def test_only_what_finds_entities_is_loaded(spacy_tagger):
    assert spacy_tagger._nlp.pipe_names == ["tok2vec", "ner"]


def test_a_spacy_model_that_is_not_there_is_refused():
    with pytest.raises(ConfigError, match=r"mentions\.model = 'no_such_model': spacy finds no such model"):
        make_tagger(MentionsSection(model="no_such_model"))


@pytest.mark.parametrize("surface", ["The Hague", "the  Hague", "Hague's", "Hague’s", " Hague"])
def test_articles_and_owners_do_not_part_a_name(surface):
    assert key_of(surface) == "hague"


def test_no_article_is_taken_from_inside_a_name():
    assert key_of("Theodore") == "theodore"
    assert key_of("A") == "a"
    assert key_of("Juan Carlos") == "juancarlos"
    assert key_of("Anna Smith") != key_of("Ann Smith")


def test_the_first_mentions_are_kept():
    spans = [Span(9, 10, "ORG"), Span(0, 1, "ORG"), Span(4, 5, "ORG")]
    assert [m.start for m in document_mentions("A   B    C", spans, None, 2)] == [0, 4]


def test_a_title_is_the_first_mention_wherever_it_stands():
    found = document_mentions("In Europe, kalvarija is a town.", [Span(3, 9, "LOC")], "Kalvarija", 1)
    assert [(m.surface, m.label, m.kind, m.start, m.end) for m in found] == [
        ("Kalvarija", "title", "entity", 11, 20)
    ]
    away = document_mentions("A town.", [], "Kalvarija", 5)
    assert [(m.key, m.start, m.end) for m in away] == [("kalvarija", 0, 0)]


@pytest.mark.parametrize(
    ("url", "text", "title"),
    [
        ("dict://foldoc/AC/DC", "x", "AC/DC"),
        ("dict://gcide/Caf%C3%A9", "x", "Café"),
        ("https://a.example/wiki/Great_Fire#Start", "x", "Great Fire"),
        ("https://a.example/p", "Kalvarija\n\nKalvarija is a town.", "Kalvarija"),
        ("https://a.example/p", "Contact\n\nKalvarija is a town.", None),
        ("https://a.example/p", "Kalvarija is a town.\nKalvarija is a town. Yes.", None),
        ("https://a.example/p", "", None),
    ],
)
def test_the_title_of_a_document(url, text, title):
    assert title_of(url, text) == title


class Gliner:
    """As gliner 0.2.29: a list of dicts for each text, offsets of characters; a text is cut after
    ``READS`` words.
    """

    READS = 384
    asked = ()

    @classmethod
    def from_pretrained(cls, model_id, **_):
        if model_id == "missing":
            raise FileNotFoundError("No config file found in missing")
        return cls()

    def inference(self, texts, labels, flat_ner=True, threshold=0.5, multi_label=False, batch_size=8):
        Gliner.asked = tuple(texts)
        found = []
        for text in texts:
            end = ([m.end() for m in re.finditer(r"\w+(?:[-_]\w+)*|\S", text)][: self.READS] or [0])[-1]
            marks = re.finditer(r"[A-Z]\w+(?: [A-Z]\w+)*", text[:end])
            label = {True: "event", False: "person"}
            assert set(label.values()) <= set(labels)
            found.append(
                [
                    {
                        "start": m.start(),
                        "end": m.end(),
                        "text": m[0],
                        "label": label["War" in m[0]],
                        "score": 0.9,
                    }
                    for m in marks
                ]
            )
        return found


class Tner:
    """As tner 0.2.4: words in, positions of words out; a text without words raises, words past its
    tokens get no tag.
    """

    def __init__(self, model, max_length=128):
        if model == "missing":
            raise OSError("missing is not a local folder and is not a valid model identifier")
        self.words = max_length // 4

    def predict(
        self, inputs, labels=None, batch_size=None, cache_file_feature=None, cache_file_prediction=None
    ):
        inputs = [i.split(" ") if type(i) is str else i for i in inputs]
        entities = []
        for words in inputs:
            assert words, "list index out of range"
            entities.append([])
            for n, word in enumerate(words[: self.words]):
                before = entities[-1][-1] if entities[-1] else None
                if (
                    before
                    and before["type"] == "person"
                    and before["position"][-1] == n - 1
                    and word[0].isupper()
                ):
                    before["entity"].append(word)
                    before["position"].append(n)
                elif word[0].isupper():
                    entities[-1].append(
                        {"type": "person", "entity": [word], "position": [n], "probability": [0.9]}
                    )
                elif word.isdigit():
                    entities[-1].append(
                        {"type": "cardinal_number", "entity": [word], "position": [n], "probability": [0.9]}
                    )
        return {"prediction": [], "probability": [], "input": inputs, "entity_prediction": entities}


@pytest.fixture(params=["gliner", "tner"])
def backend(request, monkeypatch):
    monkeypatch.setitem(sys.modules, "gliner", types.SimpleNamespace(GLiNER=Gliner))
    monkeypatch.setitem(sys.modules, "tner", types.SimpleNamespace(TransformersNER=Tner))
    return request.param


def test_the_other_back_ends_tell_where_their_mentions_stand(backend):
    tagger = make_tagger(MentionsSection(backend=backend, model="some/model"))
    found = tagger.mentions(["in 1939 Vannevar Bush went to Washington, D.", "", " \n"])
    assert [(m.surface, m.start, m.key) for m in found[0]][:2] == [
        ("Vannevar Bush", 8, "vannevarbush"),
        ("Washington", 30, "washington"),
    ]
    assert found[1:] == [[], []]


def test_a_mention_at_the_end_of_a_long_text_is_found(backend):
    """Both libraries cut a text without a word where it is longer than their model reads."""
    text = "x " * 1000 + "y. " + "a b c. " * 200 + "Vannevar Bush"
    found = make_tagger(MentionsSection(backend=backend, model="m")).mentions([text])[0]
    assert [text[m.start : m.end] for m in found] == ["Vannevar Bush"]


def test_windows_hold_whole_sentences_and_leave_no_word_out(backend):
    text = " ".join(f"Word{i} is number {i}." for i in range(200))
    tagger = make_tagger(MentionsSection(backend=backend, model="m", most=500))
    assert [m.surface for m in tagger.mentions([text])[0]] == [f"Word{i}" for i in range(200)]
    assert all(text[end - 1] == "." for _, end in tagger._windows(text))


def test_events_are_told_from_entities(backend):
    found = document_mentions(
        "The Great War", [Span(0, 13, "EVENT"), Span(4, 9, "event"), Span(0, 3, "work_of_art")], None, 9
    )
    assert [m.kind for m in found] == ["entity", "event", "event"]


def test_a_model_that_is_not_there_is_refused_in_one_line(backend):
    with pytest.raises(
        ConfigError, match=rf"mentions\.model = 'missing': {backend} finds no such model; download it"
    ) as refused:
        make_tagger(MentionsSection(backend=backend, model="missing"))
    assert "\n" not in str(refused.value)


def test_a_model_must_be_named(backend):
    with pytest.raises(ConfigError, match=rf"mentions\.model = null: {backend} ships none"):
        make_tagger(MentionsSection(backend=backend))


@pytest.mark.parametrize("name", ["gliner", "tner", "spacy"])
def test_a_package_that_is_not_there_is_named_with_the_way_out(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        ConfigError,
        match=rf"mentions\.backend = '{name}': its package cannot be loaded .*pip install '{name}",
    ):
        make_tagger(MentionsSection(backend=name, model="m"))


def test_no_word_beyond_the_tokens_of_a_window_is_lost_to_tner(monkeypatch):
    """A window has a quarter as many words as the model is told to read tokens."""
    monkeypatch.setitem(sys.modules, "tner", types.SimpleNamespace(TransformersNER=Tner))
    tagger = TnerTagger("m", 9)
    assert all(
        len(text.split()) <= tagger._model.words
        for text in (("x " * 900)[s:e] for s, e in tagger._windows("x " * 900))
    )
