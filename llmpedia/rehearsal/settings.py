"""What a rehearsal world is made of. The world is a pure function of these settings.

``load_settings(["links=20", "faults.http_429=0.1"])`` reads the overrides of ``llmpedia rehearse serve --set``.
"""

from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from llmpedia.errors import ConfigError

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Seconds = Annotated[float, Field(ge=0.0)]


class _Section(BaseModel):
    """Frozen, no unknown keys, no silent conversion."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Shares(_Section):
    """How the world is mixed.

    Shares of all entities: ``siblings``, ``qualified`` and ``bare`` homonyms (the rest stand alone), ``aliased`` (have other
    names with other keys). Shares of the links of articles: ``variants`` (under another surface than the main one),
    ``generic`` (common nouns), ``loops`` (built on the subject), ``low_scores`` (calibrated, below 0.75).
    """

    siblings: Share = 0.10
    qualified: Share = 0.06
    bare: Share = 0.03
    aliased: Share = 0.35
    variants: Share = 0.15
    generic: Share = 0.06
    loops: Share = 0.02
    low_scores: Share = 0.08

    @model_validator(mode="after")
    def _sum(self) -> Self:
        if self.siblings + self.qualified + self.bare > 1.0:
            raise ValueError("siblings + qualified + bare: more than 1; lower one of them")
        return self


class Facts(_Section):
    """Shares of an article's facts that sources support or refute, at the most and the least popular entity.

    The rest is in no source; between the two ends the shares change with the logarithm of the popularity rank.
    """

    true_head: Share = 0.85
    true_tail: Share = 0.45
    false_head: Share = 0.06
    false_tail: Share = 0.20

    @model_validator(mode="after")
    def _sum(self) -> Self:
        if self.true_head + self.false_head > 1.0 or self.true_tail + self.false_tail > 1.0:
            raise ValueError("true + false: more than 1 at one end; lower one of them")
        return self


class Faults(_Section):
    """Shares of requests that go wrong, each request in one way at most.

    ``http_429`` (Retry-After), ``http_500``, ``hang`` (for ``hang_s``, then the connection closes), ``reset``, ``garbled``
    (HTTP body that is no JSON); of completions only: ``malformed`` (text that the stage cannot read), ``truncated``
    (finish_reason length), ``omitted`` (of NER answers: 1 to 3 phrases missing), ``verdict_syntax`` (of verdict answers: one
    verdict is none of the three, is missing or has a wrong idx; of grades: one decision is no boolean, missing or too many).
    ``ner_mistakes``, ``arbitration_mistakes`` and ``judge_mistakes`` are shares of decisions that the model takes wrongly, always
    the same ones.
    """

    http_429: Share = 0.0
    http_500: Share = 0.0
    hang: Share = 0.0
    reset: Share = 0.0
    garbled: Share = 0.0
    malformed: Share = 0.0
    truncated: Share = 0.0
    omitted: Share = 0.0
    verdict_syntax: Share = 0.0
    ner_mistakes: Share = 0.0
    arbitration_mistakes: Share = 0.0
    judge_mistakes: Share = 0.0
    retry_after_s: Seconds = 0.2
    hang_s: Seconds = 900.0

    @model_validator(mode="after")
    def _sum(self) -> Self:
        if sum(getattr(self, name) for name in REQUEST_FAULTS) > 1.0:
            raise ValueError("the shares of requests that go wrong sum to more than 1; lower one of them")
        return self


class Sources(_Section):
    """Shares of requests to the sources (MediaWiki, search, web pages) that go wrong, each in one way at most.

    As in ``faults``, whose ``hang_s`` and ``retry_after_s`` count here too; ``lagging``: of MediaWiki requests with ``maxlag``,
    refused because the database lags.
    """

    http_429: Share = 0.0
    http_500: Share = 0.0
    hang: Share = 0.0
    reset: Share = 0.0
    garbled: Share = 0.0
    lagging: Share = 0.0

    @model_validator(mode="after")
    def _sum(self) -> Self:
        if sum(getattr(self, name) for name in SOURCE_FAULTS) > 1.0:
            raise ValueError("the shares of source requests that go wrong sum to more than 1; lower one of them")
        return self


_OF_ANY_REQUEST = ("http_429", "http_500", "hang", "reset", "garbled")
REQUEST_FAULTS = (*_OF_ANY_REQUEST, "malformed", "truncated", "omitted", "verdict_syntax")
SOURCE_FAULTS = (*_OF_ANY_REQUEST, "lagging")


class Latency(_Section):
    """Seconds an answer takes. ``lognormal``: with this mean and this sigma of the logarithm."""

    kind: Literal["none", "constant", "lognormal"] = "none"
    mean_s: Seconds = 0.2
    sigma: Annotated[float, Field(ge=0.0, le=3.0)] = 0.5


class WorldSettings(_Section):
    """A whole world. ``entities``: how many there are; ``links``: mean links an article (0.6 to 1.4 times that)."""

    seed: int = 0
    entities: Annotated[int, Field(ge=50, le=5_000_000)] = 200_000
    links: Annotated[int, Field(ge=1, le=500)] = 50
    shares: Shares = Shares()
    facts: Facts = Facts()
    faults: Faults = Faults()
    sources: Sources = Sources()
    latency: Latency = Latency()


def load_settings(overrides: list[str], **fixed: Any) -> WorldSettings:
    """Settings from ``a.b=c`` overrides (values are YAML) and fixed ones.

    Raises:
        ConfigError: one line that names the setting at fault.
    """
    data: dict[str, Any] = {}
    for override in overrides:
        path, eq, value = override.partition("=")
        *sections, last = path.strip().split(".")
        if not eq or not last or not all(sections):
            raise ConfigError(f"--set {override}: must read key=value or section.key=value, for example --set links=20")
        node = data
        for key in sections:
            node = node.setdefault(key, {})
            if not isinstance(node, dict):
                raise ConfigError(f"--set {override}: {key} is not a section; name a section and a key of it")
        try:
            node[last] = yaml.safe_load(value)
        except yaml.YAMLError as e:
            raise ConfigError(f"--set {override}: {value!r} is not a YAML value; quote it") from e
    try:
        return WorldSettings.model_validate({**data, **fixed})
    except ValidationError as e:
        first = e.errors(include_url=False)[0]
        where = ".".join(str(p) for p in first["loc"])
        raise ConfigError(f"world settings: {where}: {first['msg'].removeprefix('Value error, ')}; change this value") from e
