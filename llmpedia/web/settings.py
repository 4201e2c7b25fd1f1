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
from llmpedia.web.search import BACKENDS

Seconds = Annotated[float, Field(gt=0.0)]
# Quality of the rehearsal's pages, which are on no list.
_LOOPBACK_SCORE = 90
_LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


class WebSection(Section):
    """Tier 2 (paper, appendix F). ``backend``: null takes the first whose key is set: Valyu,
    Serper, Brave, else DuckDuckGo.

    ``threshold``: least score of an address; ``pages``: most pages a subject; ``paper_exact``:
    without this project's list of Wikipedia mirrors and sister projects. ``allow_loopback``: for
    the rehearsal and tests; nothing else private is ever reached.
    """

    backend: Annotated[str | None, Field(json_schema_extra={"enum": [*BACKENDS, None]})] = None
    base_url: str | None = None
    threshold: Annotated[int, Field(ge=0, le=100)] = 60
    pages: Annotated[int, Field(ge=1, le=10)] = 3
    results: Annotated[int, Field(ge=1, le=50)] = 10
    paper_exact: bool = False
    timeout_s: Seconds = 20.0
    max_bytes: Annotated[int, Field(ge=10_000)] = 2_000_000
    extract_s: Seconds = 10.0
    extractors: Positive = 2
    concurrency: Positive = 8
    allow_loopback: bool = False

    @field_validator("backend")
    @classmethod
    def _there_is_one(cls, value: str | None) -> str | None:
        if value is not None and value not in BACKENDS:
            raise ValueError(f"{value!r}: no such search engine; take one of {', '.join(BACKENDS)}")
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
    """Evidence kept on this machine across audits. ``path``: a folder, null for none; ``days``:
    then it is fetched anew.
    """

    path: str | None = None
    days: Annotated[float, Field(gt=0.0)] = 30.0
