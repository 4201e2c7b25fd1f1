"""What a model takes and costs, from ``models.yaml`` and a file of the user's own
(``engine.models_file``).
"""

from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from llmpedia.errors import ConfigError

BUILT_IN = Path(__file__).with_name("models.yaml")
_MILLION = 1_000_000

Dollars = Annotated[float, Field(ge=0.0)]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class ModelFacts(_Data):
    """One model. Dollars are for a million tokens, null where unknown; ``models.yaml`` tells the
    rest.

    The defaults hold for a name that no entry matches: everything is sent as it is set, and nothing
    is known of prices.
    """

    match: str = "*"
    temperature: bool = True
    reasoning_effort: bool | None = None
    token_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"  # noqa: S105 - a parameter
    json_schema: bool = True
    seed: bool = True
    context: Annotated[int, Field(ge=1)] | None = None
    input: Dollars | None = None
    cached_input: Dollars | None = None
    output: Dollars | None = None
    batch: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0

    def cost(
        self, prompt_tokens: int, cached_tokens: int, completion_tokens: int, batched: bool
    ) -> float | None:
        """Dollars for so many tokens, ``cached_tokens`` being part of ``prompt_tokens``; None where
        no price is known.
        """
        if self.input is None or self.output is None:
            return None
        cached = self.input if self.cached_input is None else self.cached_input
        whole = (
            (prompt_tokens - cached_tokens) * self.input
            + cached_tokens * cached
            + completion_tokens * self.output
        )
        return whole / _MILLION * (self.batch if batched else 1.0)

    def sampling(self, asked: dict[str, object]) -> dict[str, object]:
        """Of a stage's sampling what may be sent, under the names that the model knows; nulls are
        left out.
        """
        refused = {
            "temperature": not self.temperature,
            "frequency_penalty": not self.temperature,
            "reasoning_effort": self.reasoning_effort is False,
            "seed": not self.seed,
        }
        names = {"max_tokens": self.token_limit}
        return {names.get(k, k): v for k, v in asked.items() if v is not None and not refused.get(k, False)}


class Models(_Data):
    """A file of models. ``prices_as_of``: the day its prices were true, as far as its author knew."""

    prices_as_of: str | None = None
    models: list[ModelFacts] = Field(default_factory=list)
    accelerators: dict[str, Annotated[float, Field(gt=0.0)]] = Field(default_factory=dict)

    def of(self, name: str) -> ModelFacts:
        """The first entry that matches."""
        return next((m for m in self.models if fnmatchcase(name, m.match)), ModelFacts())


@cache
def load_models(path: str | None, setting: str = "engine.models_file") -> Models:
    """The built-in models, behind those of the user's file if there is one; ``setting``: what has
    named it, for errors.

    Raises:
        ConfigError: the file cannot be read or is at fault; one line.
    """
    built_in = _read(BUILT_IN, setting)
    if path is None:
        return built_in
    user = _read(Path(path), setting)
    return Models(
        prices_as_of=user.prices_as_of or built_in.prices_as_of,
        models=[*user.models, *built_in.models],
        accelerators={**built_in.accelerators, **user.accelerators},
    )


def _read(path: Path, setting: str) -> Models:
    try:
        return Models.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError(
            f"{setting} = {str(path)!r}: cannot be read ({type(e).__name__}); every node needs it"
        ) from e
    except yaml.YAMLError as e:
        raise ConfigError(
            f"{setting} = {str(path)!r}: not valid YAML ({' '.join(str(e).split())}); correct it"
        ) from e
    except ValidationError as e:
        first = e.errors(include_url=False)[0]
        at = ".".join(map(str, first["loc"]))
        raise ConfigError(
            f"{setting} = {str(path)!r}: {at}: {first['msg']}; llmpedia/engines/models.yaml tells how"
        ) from e
