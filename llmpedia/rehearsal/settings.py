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

    siblings: Share = Field(default=0.10, description="share of all entities: of a group of similar names")
    qualified: Share = Field(
        default=0.06, description="share of all entities: homonyms that a qualifier tells apart"
    )
    bare: Share = Field(
        default=0.03, description="share of all entities: homonyms with nothing to tell them apart"
    )
    aliased: Share = Field(default=0.35, description="share of all entities: with other names of other keys")
    variants: Share = Field(
        default=0.15, description="share of the links: under another surface than the main one"
    )
    generic: Share = Field(default=0.06, description="share of the links: common nouns")
    loops: Share = Field(default=0.02, description="share of the links: built on the subject")
    low_scores: Share = Field(
        default=0.08, description="share of the links: below 0.75, in calibrated prompting"
    )

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

    true_head: Share = Field(
        default=0.85, description="share of facts that sources support, at the most popular entity"
    )
    true_tail: Share = Field(
        default=0.45, description="share of facts that sources support, at the least popular entity"
    )
    false_head: Share = Field(
        default=0.06, description="share of facts that sources refute, at the most popular entity"
    )
    false_tail: Share = Field(
        default=0.20, description="share of facts that sources refute, at the least popular entity"
    )

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

    http_429: Share = Field(
        default=0.0, description="share of requests answered by HTTP 429 with Retry-After"
    )
    http_500: Share = Field(default=0.0, description="share of requests answered by HTTP 500")
    hang: Share = Field(
        default=0.0, description="share of requests held for hang_s, then the connection closes"
    )
    reset: Share = Field(default=0.0, description="share of requests whose connection is cut")
    garbled: Share = Field(default=0.0, description="share of requests answered by a body that is no JSON")
    malformed: Share = Field(default=0.0, description="share of completions whose text the stage cannot read")
    truncated: Share = Field(
        default=0.0, description="share of completions that end too early (finish_reason length)"
    )
    omitted: Share = Field(
        default=0.0, description="share of entity filter answers without 1 to 3 of the phrases"
    )
    verdict_syntax: Share = Field(
        default=0.0, description="share of verdict and grade answers with one decision that cannot be read"
    )
    ner_mistakes: Share = Field(
        default=0.0,
        description="share of entity decisions that the model takes wrongly, always the same ones",
    )
    arbitration_mistakes: Share = Field(
        default=0.0, description="share of arbitrations that the model takes wrongly, always the same ones"
    )
    judge_mistakes: Share = Field(
        default=0.0,
        description="share of verdicts and grades that the model takes wrongly, always the same ones",
    )
    label_mistakes: Share = Field(
        default=0.0,
        description="share of knowledge points that the model takes wrongly, always the same ones",
    )
    relation_mistakes: Share = Field(
        default=0.0,
        description="share of decisions whether two values can both hold that are wrong, always "
        "the same ones",
    )
    retry_after_s: Seconds = Field(default=0.2, description="wait that a 429 asks for")
    hang_s: Seconds = Field(default=900.0, description="how long an answer that never comes is held")

    @model_validator(mode="after")
    def _sum(self) -> Self:
        if sum(getattr(self, name) for name in REQUEST_FAULTS) > 1.0:
            raise ValueError("the shares of requests that go wrong sum to more than 1; lower one of them")
        return self


class Sources(_Section):
    """Shares of requests to the sources (MediaWiki, search, web pages) that go wrong, each in one
    way at most. As in ``faults``, whose ``hang_s`` and ``retry_after_s`` count here too;
    """

    http_429: Share = Field(default=0.0, description="share of requests answered by HTTP 429")
    http_500: Share = Field(default=0.0, description="share of requests answered by HTTP 500")
    hang: Share = Field(
        default=0.0, description="share of requests held for faults.hang_s, then the connection closes"
    )
    reset: Share = Field(default=0.0, description="share of requests whose connection is cut")
    garbled: Share = Field(
        default=0.0, description="share of requests answered by a body that cannot be read"
    )
    lagging: Share = Field(
        default=0.0, description="of MediaWiki requests with maxlag, refused because the database lags"
    )

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

    kind: Literal["none", "constant", "lognormal"] = Field(
        default="none",
        description="none, constant, or lognormal with this mean and this sigma of the logarithm",
    )
    mean_s: Seconds = Field(default=0.2, description="mean seconds an answer")
    sigma: Annotated[float, Field(ge=0.0, le=3.0)] = Field(
        default=0.5, description="of the logarithm, for lognormal"
    )


class Disagreements(_Section):
    """Planted facts on which documents of a corpus disagree, and what is easily taken for a
    disagreement.
    """

    facts: Annotated[int, Field(ge=0, le=2000)] = Field(default=60, description="with several accounts")
    agreeing: Annotated[int, Field(ge=0, le=2000)] = Field(default=60, description="with one")
    majority: Bounds = Field(
        default=(2, 8),
        description="documents of the first account and of each other one, at least and at most (a "
        "minority has no more than its majority). Shares of the facts: three_accounts, "
        "traps (a document on another subject of the same name), compatible (a "
        "document gives an account in another unit, rounded or more exactly), "
        "unverified (an account other than the first is on no web page)",
    )
    minority: Bounds = Field(
        default=(1, 4),
        description="documents of the first account and of each other one, at least and at most (a "
        "minority has no more than its majority). Shares of the facts: three_accounts, "
        "traps (a document on another subject of the same name), compatible (a "
        "document gives an account in another unit, rounded or more exactly), "
        "unverified (an account other than the first is on no web page)",
    )
    three_accounts: Share = Field(default=0.1, description="share of the facts with three accounts")
    near_copies: Share = Field(
        default=0.05, description="share of the documents that are there twice, all but verbatim"
    )
    traps: Share = Field(
        default=0.15, description="share of the facts with a document on another subject of the same name"
    )
    compatible: Share = Field(
        default=0.2, description="share of the facts with an account in another unit, rounded or more exact"
    )
    context: Share = Field(
        default=0.5,
        description="of the facts on one of several times, editions or parts, those of which a "
        "document gives the value of another one",
    )
    unverified: Share = Field(
        default=0.1, description="share of the facts with an account that is on no web page"
    )
    noise: Annotated[int, Field(ge=0, le=20_000)] = Field(
        default=200, description="documents on nothing else"
    )

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

    known_head: Share = Field(
        default=1.0,
        description="share of the entities that it knows, at the most popular one; it links no others",
    )
    known_tail: Share = Field(default=0.6, description="the same at the least popular one")
    shared_links: Share = Field(
        default=0.5, description="of the links that rehearsal makes to those, the share that it makes too"
    )
    right_head: Share = Field(
        default=0.9,
        description="share of the facts of sources that it states as they do, at the most popular entity",
    )
    right_tail: Share = Field(default=0.8, description="the same at the least popular entity")
    guesses: Share = Field(
        default=0.7, description="of the facts that no source has, the share that it states all the same"
    )
    links: Annotated[float, Field(gt=0.0, le=10.0)] = Field(
        default=0.8, description="links an article, times those of the world"
    )
    remarks: Annotated[float, Field(ge=0.0, le=10.0)] = Field(
        default=0.5, description="sentences that say nothing, for each sentence of links"
    )
    infoboxes: Share = Field(default=0.6, description="share of the articles that begin with one")


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
    """A whole world."""

    seed: int = Field(default=0, description="of the world")
    entities: Annotated[int, Field(ge=50, le=5_000_000)] = Field(
        default=200_000, description="how many there are"
    )
    links: Annotated[int, Field(ge=1, le=500)] = Field(
        default=50, description="mean links an article (0.6 to 1.4 times that)"
    )
    shares: ShareSettings = Field(default=ShareSettings(), description="how names are made")
    facts: FactSettings = Field(default=FactSettings(), description="how true articles are")
    faults: Faults = Field(default=Faults(), description="what goes wrong with the model")
    sources: Sources = Field(default=Sources(), description="what goes wrong with wiki, search and pages")
    latency: Latency = Field(default=Latency(), description="how long answers take")
    disagreements: Disagreements = Field(
        default=Disagreements(), description="planted facts on which documents disagree"
    )
    recall: dict[str, Recalled] = Field(
        default_factory=dict,
        description="name of a model -> shares of the planted disagreements on which it recalls "
        "all accounts and some; a model that is not named recalls as much as its name "
        "decides",
    )
    models: dict[str, Knowledge] = Field(
        default_factory=_models,
        description="name of a model that begins with rehearsal- -> what it knows; setting one "
        "replaces those there are, and one that is not named knows what "
        ":class:`Knowledge` says by itself",
    )
    framing: dict[str, dict[str, Rate]] = Field(
        default_factory=_framing,
        description="persona -> framing dimension -> words of it that are planted in topic mode, "
        "per 1,000 words of the article; under no other persona, and not on the root "
        "topics in calm",
    )
    calm: Topics = Field(
        default=("Ancient Babylon", "Quantum Physics"),
        description="root topics on which no persona plants words",
    )

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
