"""What a rehearsal world is made of. The world is a pure function of these settings.

``load_settings(["links=20", "faults.http_429=0.1"])`` reads the overrides of ``llmpedia rehearse
serve --set``.
"""

from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from llmpedia.analysis.personas.framing import load_lexicons
from llmpedia.errors import ConfigError
from llmpedia.prompts import personas

OTHER_MODEL = "rehearsal-"
"""How the name of a model begins that knows and writes in its own way."""
MOST_FRAMING = 60.0
"""Planted words of all dimensions together, in 1,000 words."""

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Seconds = Annotated[float, Field(ge=0.0)]
Bounds = Annotated[tuple[int, int], Field(strict=False)]  # YAML has lists only
Rate = Annotated[float, Field(ge=0.0)]
Topics = Annotated[tuple[str, ...], Field(strict=False)]
Recalled = Annotated[tuple[Share, Share], Field(strict=False)]


class _Section(BaseModel):
    """Frozen, no unknown keys, no silent conversion."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class ShareSettings(_Section):
    """How the world is mixed.

    Shares of all entities: ``siblings``, ``qualified`` and ``bare`` homonyms (the rest stand
    alone), ``aliased`` (have other names with other keys). Shares of the links of articles:
    ``variants`` (under another surface than the main one), ``generic`` (common nouns), ``loops``
    (built on the subject), ``low_scores`` (calibrated, below 0.75).
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


class FactSettings(_Section):
    """Shares of an article's facts that sources support or refute, at the most and the least
    popular entity.

    The rest is in no source; between the two ends the shares change with the logarithm of the
    popularity rank.
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

    ``http_429`` (Retry-After), ``http_500``, ``hang`` (for ``hang_s``, then the connection closes),
    ``reset``, ``garbled`` (HTTP body that is no JSON); of completions only: ``malformed`` (text
    that the stage cannot read), ``truncated`` (finish_reason length), ``omitted`` (of NER answers:
    1 to 3 phrases missing), ``verdict_syntax`` (of verdict answers: one verdict is none of the
    three, is missing or has a wrong idx; of grades: one decision is no boolean, missing or too
    many). ``ner_mistakes``, ``arbitration_mistakes``, ``judge_mistakes``, ``label_mistakes`` (of
    knowledge points) and ``relation_mistakes`` (whether two values can both hold) are shares of
    decisions that the model takes wrongly, always the same ones.
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
    label_mistakes: Share = 0.0
    relation_mistakes: Share = 0.0
    retry_after_s: Seconds = 0.2
    hang_s: Seconds = 900.0

    @model_validator(mode="after")
    def _sum(self) -> Self:
        if sum(getattr(self, name) for name in REQUEST_FAULTS) > 1.0:
            raise ValueError("the shares of requests that go wrong sum to more than 1; lower one of them")
        return self


class Sources(_Section):
    """Shares of requests to the sources (MediaWiki, search, web pages) that go wrong, each in one
    way at most.

    As in ``faults``, whose ``hang_s`` and ``retry_after_s`` count here too; ``lagging``: of
    MediaWiki requests with ``maxlag``, refused because the database lags.
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
            raise ValueError(
                "the shares of source requests that go wrong sum to more than 1; lower one of them"
            )
        return self


_OF_ANY_REQUEST = ("http_429", "http_500", "hang", "reset", "garbled")
REQUEST_FAULTS = (*_OF_ANY_REQUEST, "malformed", "truncated", "omitted", "verdict_syntax")
SOURCE_FAULTS = (*_OF_ANY_REQUEST, "lagging")


class Latency(_Section):
    """Seconds an answer takes. ``lognormal``: with this mean and this sigma of the logarithm."""

    kind: Literal["none", "constant", "lognormal"] = "none"
    mean_s: Seconds = 0.2
    sigma: Annotated[float, Field(ge=0.0, le=3.0)] = 0.5


class Disagreements(_Section):
    """Planted facts on which documents of a corpus disagree, and what is easily taken for a
    disagreement.

    ``facts``: with several accounts; ``agreeing``: with one. ``majority``, ``minority``: documents
    of the first account and of each other one, at least and at most (a minority has no more than
    its majority). Shares of the facts: ``three_accounts``, ``traps`` (a document on another subject
    of the same name), ``compatible`` (a document gives an account in another unit, rounded or more
    exactly), ``unverified`` (an account other than the first is on no web page). ``context``: of
    the facts on one of several times, editions or parts, those of which a document gives the value
    of another one. ``near_copies``: share of the documents that are there twice, all but verbatim.
    ``noise``: documents on nothing else.
    """

    facts: Annotated[int, Field(ge=0, le=2000)] = 60
    agreeing: Annotated[int, Field(ge=0, le=2000)] = 60
    majority: Bounds = (2, 8)
    minority: Bounds = (1, 4)
    three_accounts: Share = 0.1
    near_copies: Share = 0.05
    traps: Share = 0.15
    compatible: Share = 0.2
    context: Share = 0.5
    unverified: Share = 0.1
    noise: Annotated[int, Field(ge=0, le=20_000)] = 200

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        for name in ("majority", "minority"):
            low, high = getattr(self, name)
            if not 1 <= low <= high:
                raise ValueError(f"{name}: [{low}, {high}]: must be [least, most] with 1 <= least <= most")
        return self


class Knowledge(_Section):
    """What a model called ``rehearsal-NAME`` knows, and how it writes; ``rehearsal`` itself knows
    all of the world.

    ``known``: share of the entities that it knows, at the most and the least popular one; it links
    no others. ``shared_links``: of the links that ``rehearsal`` makes to those, the share that it
    makes too. ``right``: of the facts that sources have, the share that it states as they do, at
    both ends. ``guesses``: of the facts that no source has, the share that it states all the same.
    ``links``: links an article, times those of the world; ``remarks``: sentences that say nothing,
    for each sentence of links; ``infoboxes``: share of the articles that begin with one.
    """

    known_head: Share = 1.0
    known_tail: Share = 0.6
    shared_links: Share = 0.5
    right_head: Share = 0.9
    right_tail: Share = 0.8
    guesses: Share = 0.7
    links: Annotated[float, Field(gt=0.0, le=10.0)] = 0.8
    remarks: Annotated[float, Field(ge=0.0, le=10.0)] = 0.5
    infoboxes: Share = 0.6


def _models() -> dict[str, Knowledge]:
    careful = Knowledge(right_head=0.97, right_tail=0.90, guesses=0.4, links=0.8, remarks=0.4)
    rash = Knowledge(right_head=0.80, right_tail=0.62, guesses=0.9, links=0.7, remarks=1.2, infoboxes=0.4)
    return {"rehearsal-b": careful, "rehearsal-c": rash}


def _framing() -> dict[str, dict[str, float]]:
    return {
        "left_leaning": {
            "left_progressive": 6.0,
            "market_critical": 3.0,
            "colonial_critical": 4.0,
            "actors_progressive": 1.8,
        },
        "conservative": {
            "right_conservative": 6.0,
            "market_positive": 3.0,
            "colonial_positive": 2.0,
            "actors_canonical": 1.8,
        },
    }


class WorldSettings(_Section):
    """A whole world. ``entities``: how many there are; ``links``: mean links an article (0.6 to 1.4
    times that).

    ``models``: name of a model that begins with ``rehearsal-`` -> what it knows; setting one
    replaces those there are, and one that is not named knows what :class:`Knowledge` says by
    itself. ``framing``: persona -> framing dimension -> words of it that are planted in topic mode,
    per 1,000 words of the article; under no other persona, and not on the root topics in ``calm``.
    ``recall``: name of a model -> shares of the planted disagreements on which it recalls all
    accounts and some; a model that is not named recalls as much as its name decides.
    """

    seed: int = 0
    entities: Annotated[int, Field(ge=50, le=5_000_000)] = 200_000
    links: Annotated[int, Field(ge=1, le=500)] = 50
    shares: ShareSettings = ShareSettings()
    facts: FactSettings = FactSettings()
    faults: Faults = Faults()
    sources: Sources = Sources()
    latency: Latency = Latency()
    disagreements: Disagreements = Disagreements()
    recall: dict[str, Recalled] = Field(default_factory=dict)
    models: dict[str, Knowledge] = Field(default_factory=_models)
    framing: dict[str, dict[str, Rate]] = Field(default_factory=_framing)
    calm: Topics = ("Ancient Babylon", "Quantum Physics")

    @model_validator(mode="after")
    def _recalled(self) -> Self:
        for model, (complete, partial) in self.recall.items():
            if complete + partial > 1.0:
                raise ValueError(f"recall.{model}: complete + partial: more than 1; lower one of them")
        return self

    @model_validator(mode="after")
    def _named(self) -> Self:
        for model in self.models:
            if not model.startswith(OTHER_MODEL) or model == OTHER_MODEL:
                raise ValueError(
                    f"models.{model}: must begin with {OTHER_MODEL}; any other model writes as rehearsal does"
                )
        dimensions = {lexicon.name for lexicon in load_lexicons().dimensions} if self.framing else set()
        for persona, rates in self.framing.items():
            if persona not in personas():
                raise ValueError(f"framing.{persona}: no such persona; choose one of {', '.join(personas())}")
            for dimension in rates:
                if dimension not in dimensions:
                    raise ValueError(
                        f"framing.{persona}.{dimension}: no such dimension; see "
                        f"llmpedia/analysis/personas/lexicons.json"
                    )
            if sum(rates.values()) > MOST_FRAMING:
                raise ValueError(
                    f"framing.{persona}: {sum(rates.values()):g} in all; at most {MOST_FRAMING:g} "
                    f"words in 1,000"
                )
        return self


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
            raise ConfigError(
                f"--set {override}: must read key=value or section.key=value, for example --set links=20"
            )
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
        raise ConfigError(
            f"world settings: {where}: {first['msg'].removeprefix('Value error, ')}; change this value"
        ) from e
