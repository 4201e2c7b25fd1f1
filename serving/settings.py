"""Settings of the served application, and their defaults. Complete files: ``configs/serve*.yaml``."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from llmpedia.audit.settings import JudgingConfig, JudgingSection
from llmpedia.config.base import Positive, Section
from llmpedia.config.engine import EngineSection, OpenAISection, VllmSection
from llmpedia.config.files import load_mapping, parse_as
from llmpedia.config.kinds import ByKind
from llmpedia.config.walk import JobConfig, RetriesSection, StageName, StageSection
from llmpedia.errors import ConfigError
from llmpedia.perplexity.settings import (
    PerplexityConfig,
    PromptSection,
    ScorerSection,
    ScoringEngine,
    TorchSection,
)
from llmpedia.probe.settings.base import GradingSection, ProbeConfig

Seconds = Annotated[float, Field(gt=0.0)]
_JUDGING = ("verdict", "grade")
JudgingEngine = Annotated[
    EngineSection,
    ByKind(
        (VllmSection, OpenAISection),
        default=VllmSection,
        rule="a served judge answers at once; use openai or vllm",
    ),
]


class AuthSection(Section):
    """Who may ask."""

    keys_env: Annotated[str, Field(min_length=1)] = Field(
        default="LLMPEDIA_SERVE_KEYS",
        description="environment variable with one key or several, separated by commas",
    )
    disabled: bool = Field(
        default=False,
        description="anybody may; the application then starts on loopback only, and answers to loopback only",
    )


class LimitsSection(Section):
    """The most that one request may hold."""

    body_bytes: Annotated[int, Field(ge=1024)] = Field(default=2_000_000, description="of a request's body")
    items: Positive = Field(default=64, description="questions of /v1/perplexity")
    answers: Positive = Field(default=32, description="answers a question")
    accounts: Positive = Field(default=32, description="of /v1/grade")
    claims: Annotated[int, Field(ge=1, le=50)] = Field(default=10, description="of /v1/verify")
    evidence: Positive = Field(default=16, description="sources of /v1/verify")
    messages: Positive = Field(default=64, description="of /v1/chat/completions")
    text_chars: Positive = Field(default=20_000, description="of any text but evidence")
    evidence_chars: Positive = Field(default=400_000, description="of all evidence of a request")
    completion_tokens: Positive = Field(default=4096, description="of a chat answer")


class QueueSection(Section):
    """What one ingress replica holds at once, for the judge and for the scorer each; one request
    more is refused with 503.
    """

    max_queued: Positive = Field(default=64, description="requests held at once; more are answered 503")
    timeout_s: Seconds = Field(default=120.0, description="a request's whole time, then 504")
    retry_after_s: Positive = Field(default=2, description="what refused clients are told to wait")


class BatchingSection(Section):
    """Questions that the scorer works on together, of whatever requests: as many as there are after
    ``wait_s``.
    """

    questions: Positive = Field(default=16, description="in a batch at most")
    wait_s: Annotated[float, Field(ge=0.0)] = Field(
        default=0.01, description="how long a question waits for others"
    )
    batches: Positive = Field(
        default=2,
        description="at a time; while the model works on one the next is tokenized, so two keep it "
        "busy. A batch that has begun is finished although nobody waits for it any "
        "more, so its size is also what an abandoned request can cost",
    )


class ReplicasSection(Section):
    """Processes."""

    ingress: tuple[Positive, Positive] = Field(
        default=(1, 1), description="[least, most]; judge and scorer have theirs in engine.replicas"
    )
    ingress_load: Positive = Field(
        default=32,
        description="requests a replica above which more are started (a judge's: engine.sequences)",
    )
    scorer_load: Positive = Field(
        default=16,
        description="requests a replica above which more are started (a judge's: engine.sequences)",
    )
    upscale_s: Annotated[float, Field(ge=0.0)] = Field(
        default=10.0, description="how long there must be more or fewer of them"
    )
    downscale_s: Annotated[float, Field(ge=0.0)] = Field(
        default=300.0, description="how long there must be more or fewer of them"
    )

    @field_validator("ingress", mode="before")
    @classmethod
    def _pair(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.ingress[0] > self.ingress[1]:
            raise ValueError(f"ingress: {list(self.ingress)}: [least, most]; put the smaller number first")
        return self


class JudgeSection(Section):
    """The judge of verify and grade, and what chat is passed to. The keys are those of an audit and
    of a probe.

    ``engine.concurrency``: requests of one ingress replica to the engine at once.
    """

    engine: JudgingEngine = Field(
        default=VllmSection(), description="the model that judges, and where it answers"
    )
    stages: dict[StageName, StageSection] = Field(
        default_factory=dict,
        description="verdict and grade: model, temperature, max_tokens, reasoning_effort",
    )
    retries: RetriesSection = Field(
        default=RetriesSection(attempts=3, first_wait_s=0.5, max_wait_s=5.0),
        description="how often and how patiently the engine is asked again",
    )
    evidence_chars: Annotated[int, Field(ge=500)] = Field(
        default=24_000,
        description="what the judge is shown at most; of longer pages the passages nearest to the claims",
    )
    passage_words: Annotated[int, Field(ge=20)] = Field(default=120, description="words of a passage")
    examples: bool = Field(
        default=False, description="whether each prompt has worked examples; weak models need them"
    )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        strange = set(self.stages) - set(_JUDGING)
        if strange:
            raise ValueError(f"stages.{min(strange)}: is not served; use {' or '.join(_JUDGING)}")
        _checked(self.judging)
        _checked(self.grading)
        return self

    def judging(self) -> JudgingConfig:
        """As an audit is told."""
        audit = JudgingSection(
            evidence_chars=self.evidence_chars, passage_words=self.passage_words, examples=self.examples
        )
        return JudgingConfig(
            engine=self.engine, stages=self._stages("verdict"), retries=self.retries, audit=audit
        )

    def grading(self) -> ProbeConfig:
        """As a probe is told."""
        grading = GradingSection(examples=self.examples)
        return ProbeConfig(
            engine=self.engine, stages=self._stages("grade"), retries=self.retries, grading=grading
        )

    def _stages(self, name: StageName) -> dict[StageName, StageSection]:
        return {name: self.stages[name]} if name in self.stages else {}


class PerplexitySection(Section):
    """The scorer; the keys are those of a scoring job."""

    engine: ScoringEngine = Field(default=TorchSection(dtype="float32"), description="the model that scores")
    prompt: PromptSection = Field(default=PromptSection(), description="what stands before an answer")
    scorer: ScorerSection = Field(default=ScorerSection(), description="how answers are scored")
    retries: RetriesSection = Field(
        default=RetriesSection(attempts=3, first_wait_s=0.5, max_wait_s=5.0),
        description="how often a scorer is asked again",
    )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        _checked(self.config)
        return self

    def config(self) -> PerplexityConfig:
        """As a scoring job is told."""
        return PerplexityConfig(
            engine=self.engine, prompt=self.prompt, scorer=self.scorer, retries=self.retries
        )


def _checked(make: Callable[[], JobConfig]) -> None:
    """Pass on what a job says of the settings, in one line."""
    try:
        make()
    except ValidationError as e:
        raise ValueError(e.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")) from e


class ServeConfig(Section):
    """The whole application. A part that is null is not served, and its routes say so with 501."""

    auth: AuthSection = Field(default=AuthSection(), description="who may ask")
    limits: LimitsSection = Field(default=LimitsSection(), description="of one request")
    queue: QueueSection = Field(
        default=QueueSection(), description="of one ingress replica, for the judge and for the scorer each"
    )
    batching: BatchingSection = Field(
        default=BatchingSection(),
        description="questions that the scorer works on together, of whatever requests",
    )
    replicas: ReplicasSection = Field(default=ReplicasSection(), description="how many there are")
    judge: JudgeSection | None = Field(default=None, description="the judge; null: not served")
    perplexity: PerplexitySection | None = Field(default=None, description="the scorer; null: not served")

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.judge is None and self.perplexity is None:
            raise ValueError("judge: null: nothing would be served; set judge, perplexity or both")
        return self


def load_serve_config(args: Mapping[str, Any]) -> ServeConfig:
    """What ``serve run serving.app:build config=FILE a.b=c ...`` gives.

    ``revision``: any value; Serve reads a changed file anew only if the arguments differ from those
    of the last time.

    Raises:
        ConfigError: one line; nothing has been started.
    """
    path = args.get("config")
    if not isinstance(path, str):
        raise ConfigError("config: missing; serve run serving.app:build config=configs/serve.yaml")
    settings = {key: value for key, value in args.items() if key not in ("config", "revision")}
    overrides = [
        f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in settings.items()
    ]
    return parse_as(ServeConfig, load_mapping(Path(path), overrides), path)
