"""Settings of a scoring job, and their defaults. Shared sections (engine, waves, ray, ...) are
those of every job.
"""

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field

from llmpedia.config.base import Positive, Section
from llmpedia.config.engine import EngineSection, OpenAISection, VllmSection
from llmpedia.config.files import load_mapping, parse_as
from llmpedia.config.kinds import ByKind
from llmpedia.config.walk import JobConfig, WavesSection


class ItemsSection(Section):
    """Questions and answers."""

    source: Annotated[str, Field(min_length=1)] = Field(
        description="a JSONL (also .gz, .zst) or Parquet file, or a folder of them, on any filesystem"
    )
    question: str | None = Field(
        default=None,
        description="fields, dotted where nested; null takes eval.question, eval.gold_answers and "
        "benchmark_id of records in the published form of ElephantBench, else "
        "question, answers and id. An answer is a string or an object with value",
    )
    answers: str | None = Field(
        default=None,
        description="fields, dotted where nested; null takes eval.question, eval.gold_answers and "
        "benchmark_id of records in the published form of ElephantBench, else "
        "question, answers and id. An answer is a string or an object with value",
    )
    id: str | None = Field(
        default=None,
        description="fields, dotted where nested; null takes eval.question, eval.gold_answers and "
        "benchmark_id of records in the published form of ElephantBench, else "
        "question, answers and id. An answer is a string or an object with value",
    )


class PromptSection(Section):
    """What stands before the answer."""

    name: str | None = Field(
        default="probe/closed_book", description="a prompt with {question}, null for the question alone"
    )
    chat: bool = Field(
        default=True,
        description="through the model's chat template with options (such as enable_thinking: "
        "false); else the turns one below the other",
    )
    options: dict[str, Any] = Field(default_factory=dict, description="values handed to the chat template")
    tokenizer: str | None = Field(default=None, description="null is the model's own")
    score_end: bool = Field(
        default=False, description="the tokenizer's end token counts as the answer's last"
    )


class ScorerSection(Section):
    """How answers are scored."""

    batch_tokens: Annotated[int, Field(ge=16)] = Field(
        default=4096, description="of one forward pass, padding included"
    )
    share_prefix: bool = Field(
        default=True,
        description="what questions and accounts have in common is computed once, where the "
        "model's attention allows it",
    )
    per_token: bool = Field(default=False, description="keep each token's log-probability")
    threads: Positive | None = Field(
        default=None, description="of one replica on a CPU; null shares the cores out evenly"
    )
    cache: Annotated[int, Field(ge=0)] = Field(
        default=10_000, description="answers a served scorer remembers"
    )


_TORCH_DTYPES = ("float32", "bfloat16", "float16", "float64")


class TorchSection(EngineSection):
    """A model in the scoring process itself, on one device; it scores given answers and writes
    none.
    """

    model_config = ConfigDict(json_schema_extra={"required": ["kind"]})

    is_local: ClassVar[bool] = True
    is_in_process: ClassVar[bool] = True

    kind: Literal["torch"] = Field(default="torch", description="where the model answers")

    def _check_kind(self) -> None:
        if self.gpus > 1:
            raise ValueError(
                f"tensor_parallel: {self.tensor_parallel}, pipeline_parallel: "
                f"{self.pipeline_parallel}: kind torch keeps a model "
                "on one device; set both to 1, or engine.kind to vllm"
            )
        if self.dtype not in _TORCH_DTYPES:
            raise ValueError(
                f"dtype: {self.dtype!r}: kind torch computes in one of {', '.join(_TORCH_DTYPES)}; change it"
            )


ScoringEngine = Annotated[
    EngineSection, ByKind((TorchSection, VllmSection, OpenAISection), default=VllmSection)
]
"""An engine that tells the log-probabilities of given answers."""

PPL_IDENTITY: dict[str, tuple[str, ...]] = {
    "items": ("question", "answers", "id"),  # the source's content is compared
    "prompt": (),
    "scorer": ("batch_tokens", "share_prefix", "per_token"),
    "waves": ("size", "rows_per_batch"),
    "engine": ("kind", "model", "dtype", "context_tokens", "accelerator"),
}


class PerplexityConfig(JobConfig):
    """What a scorer is told: prompt, scorer and the shared sections."""

    prompt: PromptSection = Field(default=PromptSection(), description="what stands before an answer")
    scorer: ScorerSection = Field(default=ScorerSection(), description="how answers are scored")
    engine: ScoringEngine = Field(default=VllmSection(), description="the model that scores")
    waves: WavesSection = Field(
        default=WavesSection(size=4096, workers=1, rows_per_batch=64),
        description="how much is scored at once",
    )

    identity_keys: ClassVar[dict[str, tuple[str, ...]]] = {
        k: v for k, v in PPL_IDENTITY.items() if k != "items"
    }

    @property
    def examples(self) -> bool:
        """Scoring has no worked examples."""
        return False

    def identity(self) -> dict[str, Any]:
        """See :class:`JobConfig`. How vLLM is started (a quantization, say) decides the numbers
        too.
        """
        return {**super().identity(), "extra": self.model_dump(mode="json")["engine"]["extra"]}


class PerplexityJobConfig(PerplexityConfig):
    """A whole scoring job. See ``configs/ppl*.yaml`` for complete files."""

    items: ItemsSection = Field(description="questions and answers")

    identity_keys: ClassVar[dict[str, tuple[str, ...]]] = PPL_IDENTITY


def load_perplexity_config(path: str | Path, overrides: list[str] | None = None) -> PerplexityJobConfig:
    """Read a YAML file, apply ``a.b=c`` overrides (values are YAML) and check it all.

    Raises:
        ConfigError: one line; nothing has been started.
    """
    config = parse_as(PerplexityJobConfig, load_mapping(path, overrides), str(path))
    source = config.items.source
    beside = Path(path).parent / source
    if "://" in source or Path(source).exists() or not beside.exists():
        return config
    return config.model_copy(
        update={"items": config.items.model_copy(update={"source": str(beside.resolve())})}
    )
