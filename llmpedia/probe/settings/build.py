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
    """A fastText classifier of quality (DCLM)."""

    model: str | None = Field(default=None, description="its file; null keeps every document")
    label: str = Field(default="__label__hq", description="the one whose probability is the score")
    threshold: Share = Field(
        default=0.018112, description="DCLM's cut for its own model (DataComp-LM, section 4.4)"
    )
    keep: Literal["below", "above"] = Field(
        default="below",
        description="the side of it that becomes the corpus, below for what filters leave out",
    )


class CorpusSection(Section):
    """Where documents come from."""

    source: Annotated[str, Field(min_length=1)] = Field(description="a file, a folder or a URI")
    kind: Literal["parquet", "jsonl", "warc", "html", "text", "dictd"] | None = Field(
        default=None, description="null goes by the files' names"
    )
    text: str = Field(default="text", description="columns or keys of Parquet and JSONL")
    url: str = Field(default="url", description="columns or keys of Parquet and JSONL")
    least_chars: Count = Field(
        default=200, description="of a document's text; others are left out with that reason"
    )
    most_chars: Positive = Field(
        default=20_000, description="of a document's text; others are left out with that reason"
    )
    documents: Positive | None = Field(default=None, description="read at most so many; null is all")
    near_duplicate: Share = Field(
        default=0.8,
        description="Jaccard similarity of shingle_words-word shingles, estimated from "
        "permutations MinHash values, from which on a document is a copy",
    )
    permutations: Annotated[int, Field(ge=16, le=1024)] = Field(
        default=128, description="of the MinHash signatures that near copies are found by"
    )
    shingle_words: Positive = Field(default=5, description="words in a shingle of these signatures")
    quality: QualitySection = Field(
        default=QualitySection(), description="a classifier that keeps documents by quality"
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.least_chars > self.most_chars:
            raise ValueError(
                f"least_chars: {self.least_chars}: more than most_chars = {self.most_chars}; lower it"
            )
        return self


class KnowledgeSection(Section):
    """Knowledge points."""

    taxonomy: str | None = Field(default=None, description="a JSON file like the shipped one (null)")
    least_confidence: Share = Field(default=0.9, description="of a label that counts")
    most_share: Share = Field(
        default=0.5, description="part of a document's sentences that its evidence may take at most"
    )


class MentionsSection(Section):
    """Entities and events."""

    backend: Literal["spacy", "gliner", "tner"] = Field(default="spacy", description="spacy, gliner or tner")
    model: str | None = Field(
        default=None, description="of the backend; null is the one it ships or names by itself"
    )
    most: Positive = Field(default=64, description="mentions of a document at most, first ones first")


class PairsSection(Section):
    """Candidate pairs, bounded so that their number grows linearly with the documents."""

    slots: str | None = Field(default=None, description="a YAML file like the shipped one (null)")
    per_document: Positive = Field(default=10, description="pairs of a document and fact at most, best first")
    bucket: Annotated[int, Field(ge=2)] = Field(
        default=20,
        description="up to so many documents of one knowledge point are all compared; larger ones "
        "go by shared rare words",
    )
    rare_documents: Annotated[int, Field(ge=2)] = Field(
        default=50, description="a mention or word in more documents than this is too common to make pairs"
    )
    across: Count = Field(
        default=200_000, description="pairs across knowledge points, and in all, at most; best first"
    )
    total: Positive = Field(
        default=2_000_000, description="pairs across knowledge points, and in all, at most; best first"
    )
    near_copy: Share = Field(
        default=0.95,
        description="Jaccard similarity of words from which on two documents with the same figures "
        "are copies and no pair",
    )


class SubgraphsSection(Section):
    """Subgraphs around conflicts."""

    seeds: Positive | None = Field(
        default=None,
        description="at most so many, those with the better supported weaker side first; null is all",
    )
    least_support: Positive = Field(
        default=1, description="documents that each account must have (1: the conflicting document itself)"
    )


class ValidationSection(Section):
    """Which checks a question has to pass."""

    read: bool = Field(
        default=True, description="whether every account must stand in a document, read in full"
    )
    web: bool = Field(
        default=True, description="whether every account must be borne out by independent pages"
    )
    review: bool = Field(default=True, description="by a human, through the sheet of llmpedia probe review")
    searches: Positive = Field(default=6, description="of the web agent for a group at most")
    fetches: Positive = Field(default=10, description="of the web agent for a group at most")
    steps: Positive = Field(default=24, description="of the web agent for a group at most")
    independent: Literal["url", "host"] = Field(
        default="host",
        description="evidence may come from no url or no host of the documents that the question "
        "was made from",
    )
    shown_chars: Annotated[int, Field(ge=500)] = Field(
        default=6_000, description="of a page that the agent is shown"
    )


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

    examples: bool = Field(default=False, description="send the prompts' worked examples, for weak models")


class BuildConfig(JobConfig):
    """A whole build. See ``configs/probe-build*.yaml`` for complete files."""

    corpus: CorpusSection = Field(description="documents and how they are read")
    knowledge: KnowledgeSection = Field(default=KnowledgeSection(), description="labels of documents")
    mentions: MentionsSection = Field(default=MentionsSection(), description="what finds entities in texts")
    pairs: PairsSection = Field(default=PairsSection(), description="which documents are compared")
    subgraphs: SubgraphsSection = Field(
        default=SubgraphsSection(), description="how conflicts grow to accounts"
    )
    validation: ValidationSection = Field(
        default=ValidationSection(), description="how questions are checked"
    )
    web: WebSection = Field(default=WebSection(), description="search and pages for the web check")
    cache: CacheSection = Field(default=CacheSection(), description="searches and pages kept on this machine")
    prompts: PromptsSection = Field(default=PromptsSection(), description="what bears on all prompts")

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
