"""Settings of ``llmpedia probe build``, with their defaults: from a corpus to validated questions
(paper, section 3).

The ``engine`` section is the model that labels, compares, writes and checks; each stage may name
another. Where a default is neither that of the ElephantBench paper nor of its released program,
docs/probe.md says why it was chosen.
"""

import hashlib
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from llmpedia.config.base import Positive, Section, Share
from llmpedia.config.files import found_file, load_mapping, parse_as
from llmpedia.config.walk import JobConfig
from llmpedia.errors import ConfigError
from llmpedia.stage_list import BUILD_STAGES, names_of
from llmpedia.web.settings import CacheSection, WebSection

SHIPPED = Path(__file__).parents[1] / "candidates"
Count = Annotated[int, Field(ge=0)]


class QualitySection(Section):
    """A fastText classifier of quality (DCLM). ``model``: its file; null keeps every document.

    ``label``: the one whose probability is the score; ``threshold``: DCLM's cut for its own model
    (DataComp-LM, section 4.4);
    ``keep``: the side of it that becomes the corpus, ``below`` for what filters leave out.
    """

    model: str | None = None
    label: str = "__label__hq"
    threshold: Share = 0.018112
    keep: Literal["below", "above"] = "below"


class CorpusSection(Section):
    """Where documents come from. ``source``: a file, a folder or a URI. ``kind``: null goes by the
    files' names.

    ``text``, ``url``: columns or keys of Parquet and JSONL. ``least_chars``, ``most_chars``: of a
    document's text; others are left out with that reason. ``documents``: read at most so many; null
    is all. ``near_duplicate``: Jaccard similarity of ``shingle_words``-word shingles, estimated
    from ``permutations`` MinHash values, from which on a document is a copy.
    """

    source: Annotated[str, Field(min_length=1)]
    kind: Literal["parquet", "jsonl", "warc", "html", "text", "dictd"] | None = None
    text: str = "text"
    url: str = "url"
    least_chars: Count = 200
    most_chars: Positive = 20_000
    documents: Positive | None = None
    near_duplicate: Share = 0.8
    permutations: Annotated[int, Field(ge=16, le=1024)] = 128
    shingle_words: Positive = 5
    quality: QualitySection = QualitySection()

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.least_chars > self.most_chars:
            raise ValueError(
                f"least_chars: {self.least_chars}: more than most_chars = {self.most_chars}; lower it"
            )
        return self


class KnowledgeSection(Section):
    """Knowledge points. ``taxonomy``: a JSON file like the shipped one (null).
    ``least_confidence``: of a label that counts.

    ``most_share``: part of a document's sentences that its evidence may take at most.
    """

    taxonomy: str | None = None
    least_confidence: Share = 0.9
    most_share: Share = 0.5


class MentionsSection(Section):
    """Entities and events. ``model``: of the backend; null is the one it ships or names by itself.

    ``most``: mentions of a document at most, first ones first.
    """

    backend: Literal["spacy", "gliner", "tner"] = "spacy"
    model: str | None = None
    most: Positive = 64


class PairsSection(Section):
    """Candidate pairs, bounded so that their number grows linearly with the documents.

    ``slots``: a YAML file like the shipped one (null). ``per_document``: pairs of a document and
    fact at most, best first.
    ``bucket``: up to so many documents of one knowledge point are all compared; larger ones go by
    shared rare words.
    ``rare_documents``: a mention or word in more documents than this is too common to make pairs.
    ``across``, ``total``: pairs across knowledge points, and in all, at most; best first.
    ``near_copy``: Jaccard similarity of words from which on two documents with the same figures are
    copies and no pair.
    """

    slots: str | None = None
    per_document: Positive = 10
    bucket: Annotated[int, Field(ge=2)] = 20
    rare_documents: Annotated[int, Field(ge=2)] = 50
    across: Count = 200_000
    total: Positive = 2_000_000
    near_copy: Share = 0.95


class SubgraphsSection(Section):
    """Subgraphs around conflicts. ``seeds``: at most so many, those with the better supported
    weaker side first; null is all.

    ``least_support``: documents that each account must have (1: the conflicting document itself).
    """

    seeds: Positive | None = None
    least_support: Positive = 1


class ValidationSection(Section):
    """Which checks a question has to pass. ``review``: by a human, through the sheet of ``llmpedia
    probe review``.

    ``searches``, ``fetches``, ``steps``: of the web agent for a group at most. ``independent``:
    evidence may come from no ``url`` or no ``host`` of the documents that the question was made
    from. ``shown_chars``: of a page that the agent is shown.
    """

    read: bool = True
    web: bool = True
    review: bool = True
    searches: Positive = 6
    fetches: Positive = 10
    steps: Positive = 24
    independent: Literal["url", "host"] = "host"
    shown_chars: Annotated[int, Field(ge=500)] = 6_000


BUILD_IDENTITY: dict[str, tuple[str, ...]] = {
    "corpus": (),
    "knowledge": (),
    "mentions": (),
    "pairs": (),
    "subgraphs": (),
    "validation": (),
    "web": ("backend", "base_url", "threshold", "results", "paper_exact"),
    "prompts": (),
    "waves": ("size",),
    "engine": ("kind", "model", "dtype", "context_tokens", "seed"),
    "stages": (),
    "retries": ("malformed",),
}


class PromptsSection(Section):
    """``examples``: send the prompts' worked examples, for weak models."""

    examples: bool = False


class BuildConfig(JobConfig):
    """A whole build. See ``configs/probe-build*.yaml`` for complete files."""

    corpus: CorpusSection
    knowledge: KnowledgeSection = KnowledgeSection()
    mentions: MentionsSection = MentionsSection()
    pairs: PairsSection = PairsSection()
    subgraphs: SubgraphsSection = SubgraphsSection()
    validation: ValidationSection = ValidationSection()
    web: WebSection = WebSection()
    cache: CacheSection = CacheSection()
    prompts: PromptsSection = PromptsSection()

    identity_keys: ClassVar[dict[str, tuple[str, ...]]] = BUILD_IDENTITY

    @model_validator(mode="after")
    def _stages_known(self) -> Self:
        known = names_of(BUILD_STAGES)
        strange = set(self.stages) - set(known)
        if strange:
            raise ValueError(f"stages.{min(strange)}: is no stage of a build; use one of {', '.join(known)}")
        return self

    @property
    def examples(self) -> bool:
        """See :class:`JobConfig`."""
        return self.prompts.examples

    def identity(self) -> dict[str, Any]:
        """See :class:`JobConfig`: of the files that decide something their content, wherever they
        lie.

        Raises:
            ConfigError: one cannot be read.
        """
        data = super().identity()
        data["pairs"]["slots"] = _content("pairs.slots", self.pairs.slots or SHIPPED / "slots.yaml")
        data["knowledge"]["taxonomy"] = _content(
            "knowledge.taxonomy", self.knowledge.taxonomy or SHIPPED / "taxonomy.json"
        )
        if self.corpus.quality.model:
            data["corpus"]["quality"]["model"] = _content("corpus.quality.model", self.corpus.quality.model)
        return data


def _content(setting: str, path: str | Path) -> str:
    """sha256 (hex) of a file."""
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as e:
        raise ConfigError(
            f"{setting} = {str(path)!r}: cannot be read ({e.strerror}); give another file"
        ) from e


def load_build_config(path: str | Path, overrides: list[str] | None = None) -> BuildConfig:
    """Read a YAML file, apply ``a.b=c`` overrides (values are YAML) and check it all.

    Raises:
        ConfigError: one line; nothing has been started.
    """
    config = parse_as(BuildConfig, load_mapping(path, overrides), str(path))
    quality = config.corpus.quality
    knowledge = config.knowledge
    pairs = config.pairs
    if quality.model:
        model_path = found_file(
            quality.model, Path(path), "corpus.quality.model", "give a fastText model (.bin)"
        )
        quality = quality.model_copy(update={"model": model_path})
    if knowledge.taxonomy:
        model_path = found_file(
            knowledge.taxonomy, Path(path), "knowledge.taxonomy", "give a JSON file like the shipped one"
        )
        knowledge = knowledge.model_copy(update={"taxonomy": model_path})
    if pairs.slots:
        model_path = found_file(
            pairs.slots, Path(path), "pairs.slots", "give a YAML file like the shipped one"
        )
        pairs = pairs.model_copy(update={"slots": model_path})
    corpus = config.corpus.model_copy(update={"quality": quality})
    return config.model_copy(update={"corpus": corpus, "knowledge": knowledge, "pairs": pairs})
