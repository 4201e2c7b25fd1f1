"""Settings of search, fetching and reading of web pages, with their defaults: the ``web`` and
``cache`` sections.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from llmpedia.config.base import Positive, Section
from llmpedia.web.extractor import ExtractorSettings
from llmpedia.web.fetch import FetchSettings
from llmpedia.web.guard import Policy
from llmpedia.web.search import backends

Seconds = Annotated[float, Field(gt=0.0)]
# Quality of the rehearsal's pages, which are on no list.
_LOOPBACK_SCORE = 90
_LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


class WebSection(Section):
    """Tier 2 (paper, appendix F)."""

    backend: Annotated[str | None, Field(json_schema_extra={"enum": [*backends(), None]})] = Field(
        default=None,
        description="null takes the first whose key is set: Valyu, Serper, Brave, else DuckDuckGo",
    )
    base_url: str | None = Field(
        default=None, description="in place of the engine's own address; searxng needs one"
    )
    threshold: Annotated[int, Field(ge=0, le=100)] = Field(
        default=60, description="least score of an address"
    )
    pages: Annotated[int, Field(ge=1, le=10)] = Field(default=3, description="most pages a subject")
    results: Annotated[int, Field(ge=1, le=50)] = Field(default=10, description="asked of the search engine")
    paper_exact: bool = Field(
        default=False, description="without this project's list of Wikipedia mirrors and sister projects"
    )
    timeout_s: Seconds = Field(
        default=20.0, description="for one search, and for one page with its redirects"
    )
    max_bytes: Annotated[int, Field(ge=10_000)] = Field(default=2_000_000, description="of a page")
    extract_s: Seconds = Field(default=10.0, description="for reading one page")
    extractors: Positive = Field(default=2, description="processes that read pages")
    concurrency: Positive = Field(default=8, description="subjects looked up at once")
    allow_loopback: bool = Field(
        default=False, description="for the rehearsal and tests; nothing else private is ever reached"
    )

    @field_validator("backend")
    @classmethod
    def _there_is_one(cls, value: str | None) -> str | None:
        if value is not None and value not in backends():
            raise ValueError(f"{value!r}: no such search engine; take one of {', '.join(backends())}")
        return value

    def fetching(self, policy: Policy) -> FetchSettings:
        """Caps of one fetch under these settings."""
        return FetchSettings(policy, self.max_bytes, self.timeout_s)

    def extracting(self) -> ExtractorSettings:
        """Caps of reading pages under these settings."""
        return ExtractorSettings(self.extractors, self.extract_s)

    def reach(self) -> "Reach":
        """Where pages are read from: the public web, and this machine where loopback is allowed."""
        if not (self.allow_loopback and self.base_url):
            return Reach(Policy(), {})
        parts = urlsplit(self.base_url)
        ports = frozenset({parts.port} if parts.port else ())
        return Reach(Policy(_LOOPBACK, ports), {parts.hostname or "localhost": _LOOPBACK_SCORE})


@dataclass(frozen=True)
class Reach:
    """Where pages may be read from.

    Attributes:
        policy: addresses that may be connected to beside public ones.
        scores: domain -> score (0 to 100), beside the paper's list.
    """

    policy: Policy
    scores: Mapping[str, int]


class CacheSection(Section):
    """Evidence kept on this machine across audits."""

    path: str | None = Field(default=None, description="a folder, null for none")
    days: Annotated[float, Field(gt=0.0)] = Field(default=30.0, description="then it is fetched anew")
