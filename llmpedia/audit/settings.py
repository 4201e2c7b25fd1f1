"""An audit's settings, with their defaults: what is sampled, where evidence comes from, who judges
(paper, section 4.2).

The judge is the ``engine`` section, as everywhere; ``wikipedia`` and ``web`` are the two tiers of
evidence.
"""

from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from llmpedia.audit.evidence import TIERS, Tier
from llmpedia.config.base import Positive, Section
from llmpedia.config.files import found_file, load_mapping, parse_as
from llmpedia.config.walk import JobConfig
from llmpedia.stage_list import AUDIT_STAGES, names_of
from llmpedia.web.settings import CacheSection, WebSection

Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0.0)]


class SampleSection(Section):
    """What is audited. Samples may overlap: an article is judged once and belongs to each of its
    strata.
    """

    random: Count = Field(default=1000, description="uniform over articles")
    hop_whole: Count | None = Field(
        default=None,
        description="hops of which every article is taken, with hop_each a hop after them (paper, "
        "table 6: all of hops 0 and 1, 200 a hop after); null leaves hops out",
    )
    hop_each: Count = Field(default=200, description="so many articles of each later hop")
    frontier: Count = Field(default=0, description="subjects that Wikipedia lacks")
    titles: str | None = Field(default=None, description="a file of titles, one a line")
    seed: int = Field(default=42, description="of every draw")

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not (self.random or self.hop_whole is not None or self.frontier or self.titles):
            raise ValueError(
                "random: 0: nothing would be sampled; set sample.random, hop_whole, frontier or titles"
            )
        return self


class JudgingSection(Section):
    """How articles become verdicts."""

    tiers: tuple[Tier, ...] = Field(default=TIERS, description="where evidence comes from, in order")
    claims: Annotated[int, Field(ge=1, le=50)] = Field(
        default=10, description="most claims of an article (paper: 10)"
    )
    evidence_chars: Annotated[int, Field(ge=500)] = Field(
        default=24_000, description="characters of evidence a judge is shown at most"
    )
    passage_words: Annotated[int, Field(ge=20)] = Field(
        default=120, description="length of the passages that longer evidence is cut into"
    )
    examples: bool = Field(
        default=False, description="whether each prompt has worked examples; weak models need them"
    )

    @field_validator("tiers", mode="before")
    @classmethod
    def _tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.tiers or len(set(self.tiers)) < len(self.tiers):
            raise ValueError(
                f"tiers: {list(self.tiers)}: name each tier once, at least one of {', '.join(TIERS)}"
            )
        return self


class WikipediaSection(Section):
    """Tier 1."""

    kind: Literal["mediawiki", "zim", "dump", "parquet"] = Field(
        default="mediawiki",
        description="the MediaWiki API, or a local copy at path (ZIM file, indexed XML dump, "
        "Parquet of titles and texts)",
    )
    api_url: str = Field(default="https://en.wikipedia.org/w/api.php", description="of the wiki's action API")
    contact: str | None = Field(
        default=None,
        description="address or URL that the User-Agent names, as Wikimedia asks of every client",
    )
    path: str | None = Field(default=None, description="of the local copy, for kinds other than mediawiki")
    maxlag_s: Count = Field(
        default=5,
        description="lag of the wiki's databases from which on it is to refuse us; Wikimedia asks for 5",
    )
    batch: Annotated[int, Field(ge=1, le=50)] = Field(default=20, description="titles in one request")
    linger_s: Annotated[float, Field(ge=0.0)] = Field(
        default=0.02, description="how long a subject waits for others to share its request"
    )
    timeout_s: Seconds = Field(default=60.0, description="for one request")
    concurrency: Positive = Field(
        default=1, description="requests at once; Wikimedia asks its guests for one after the other"
    )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.kind == "mediawiki" and not self.contact:
            raise ValueError(
                "contact: null: Wikimedia refuses who names nobody; give a mail address or URL by "
                "--set wikipedia.contact=ADDRESS"
            )
        if self.kind != "mediawiki" and not self.path:
            raise ValueError(f"path: null: kind {self.kind} reads a local copy; set wikipedia.path")
        return self


AUDIT_IDENTITY: dict[str, tuple[str, ...]] = {
    "sample": ("random", "hop_whole", "hop_each", "frontier", "seed"),
    "audit": (),
    "wikipedia": ("kind", "api_url"),
    "web": ("backend", "base_url", "threshold", "pages", "results", "paper_exact"),
    "waves": ("size",),
    "engine": ("kind", "model", "dtype", "context_tokens", "seed"),
    "stages": (),
    "retries": ("malformed",),
}


class JudgingConfig(JobConfig):
    """What claims and verdicts are made with, whoever brings articles and evidence."""

    audit: JudgingSection = Field(default=JudgingSection(), description="claims, evidence and verdicts")

    @model_validator(mode="after")
    def _stages_known(self) -> Self:
        strange = set(self.stages) - set(names_of(AUDIT_STAGES))
        if strange:
            raise ValueError(f"stages.{min(strange)}: is no stage of an audit; use claims or verdict")
        return self

    @property
    def examples(self) -> bool:
        """See :class:`JobConfig`."""
        return self.audit.examples


class AuditConfig(JudgingConfig):
    """A whole audit. See ``configs/audit*.yaml`` for complete files."""

    sample: SampleSection = Field(default=SampleSection(), description="which articles are audited")
    wikipedia: WikipediaSection = Field(description="tier 1 of the evidence")
    web: WebSection = Field(default=WebSection(), description="tier 2 of the evidence")
    cache: CacheSection = Field(default=CacheSection(), description="evidence kept on this machine")

    identity_keys: ClassVar[dict[str, tuple[str, ...]]] = AUDIT_IDENTITY


def load_audit_config(path: str | Path, overrides: list[str] | None = None) -> AuditConfig:
    """Read a YAML file, apply ``a.b=c`` overrides (values are YAML) and check it all.

    Raises:
        ConfigError: one line; nothing has been started.
    """
    return resolve_audit_paths(parse_as(AuditConfig, load_mapping(path, overrides), str(path)), Path(path))


def resolve_audit_paths(config: AuditConfig, source: Path) -> AuditConfig:
    """Files that settings name, as absolute paths: relative to this process's folder, else to the
    configuration's.

    Raises:
        ConfigError: there is no such file.
    """
    sample = config.sample
    wikipedia = config.wikipedia
    if sample.titles:
        path = found_file(sample.titles, source, "sample.titles", "give a text file with one title a line")
        sample = sample.model_copy(update={"titles": path})
    if wikipedia.path and wikipedia.kind != "parquet":
        path = found_file(
            wikipedia.path, source, "wikipedia.path", "give a ZIM file, an XML dump or its index"
        )
        wikipedia = wikipedia.model_copy(update={"path": path})
    return config.model_copy(update={"sample": sample, "wikipedia": wikipedia})
