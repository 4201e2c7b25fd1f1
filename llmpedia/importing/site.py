"""An encyclopedia's pages over HTTP, asked for as politely as a guest should.

One request at a time and no more than one in ``every_s`` seconds, by whatever robots.txt allows and
no faster than it asks; Retry-After is waited out; the User-Agent says who we are and whom to write
to. A page that was read is kept on this machine, so that another start asks for what failed and
nothing else. Only the pattern's own host is read, through the guard that all pages of the web are
read through.
"""

import asyncio
import hashlib
import ipaddress
import json
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from llmpedia import __version__
from llmpedia.audit.curated_web import Unread, now, read_answer
from llmpedia.errors import ConfigError, EngineError
from llmpedia.importing.formats import Form
from llmpedia.importing.robots import Robots
from llmpedia.importing.sources import Absent, Text
from llmpedia.web.address import Address, parse
from llmpedia.web.cache import Cache
from llmpedia.web.extractor import Extractor
from llmpedia.web.fetch import Fetched, Fetcher, Refused
from llmpedia.web.guard import Policy, Resolve
from llmpedia.web.page import decode
from llmpedia.web.settings import WebSection

TITLE = "{title}"
_ATTEMPTS = 4
_FIRST_WAIT_S = 2.0
# So many titles on end that a server or network failed on are an outage, and no news of the titles.
_OUTAGE = 5
_DAYS = 365.0
_LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class SiteSettings:
    """``pattern``: address with ``{title}``; ``space``: what stands for a space in it; ``contact``:
    mail address or URL.

    ``form``: of pages that are plain text; ``cache``: folder; ``allow_loopback``: for a rehearsal
    on this machine.
    """

    pattern: str
    contact: str | None
    cache: Path
    space: str = "_"
    every_s: float = 1.0
    form: Form = "text"
    allow_loopback: bool = False

    def __post_init__(self) -> None:
        parts = urlsplit(self.pattern.replace(TITLE, "x"))
        if (
            self.pattern.count(TITLE) != 1
            or TITLE in urlsplit(self.pattern).netloc
            or parts.scheme not in ("http", "https")
        ):
            raise ConfigError(
                f"TEXTS = {self.pattern!r}: must be an http or https address with {TITLE} once in "
                f"its path or query, "
                f"such as https://example.org/page/{TITLE}"
            )
        if not (self.contact or "").strip():
            raise ConfigError(
                f"--contact: missing: {parts.netloc} is to know whom to write to; give a mail "
                f"address or a page about you"
            )
        if self.every_s < 0:
            raise ConfigError(f"--every = {self.every_s}: must be 0 or more seconds; 1 is polite")


class SiteTexts:
    """See :class:`~llmpedia.importing.sources.Texts`."""

    may_change = True

    def __init__(
        self,
        settings: SiteSettings,
        resolve: Resolve | None = None,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``resolve``, ``sleep``, ``clock``: in place of the system's."""
        self._settings = settings
        self._sleep = sleep
        self._clock = clock
        self._origin = _checked(settings.pattern.replace(TITLE, "x"))
        agent = (
            f"llmpedia/{__version__} (reads articles to compare encyclopedias; "
            f"{' '.join(str(settings.contact).split())})"
        )
        policy = Policy(_LOOPBACK, frozenset({self._origin.port})) if settings.allow_loopback else Policy()
        self._fetcher = Fetcher(
            replace(WebSection().fetching(policy), user_agent=agent, connections=1), resolve
        )
        self._extractor = Extractor(WebSection(extractors=1).extracting())
        self._cache = Cache(settings.cache / "pages.sqlite", _DAYS)
        self._robots: Robots | None = None
        self._last = self._next = -math.inf
        self._failed_on_end = 0
        self.notes: list[str] = []
        self.identity: dict[str, Any] = {
            "pattern": settings.pattern,
            "space": settings.space,
            "form": settings.form,
        }

    def address(self, title: str) -> str:
        """Where a title's page is."""
        name = quote(title, safe=" (),:!'*").replace(" ", quote(self._settings.space, safe="%+"))
        return self._settings.pattern.replace(TITLE, name)

    async def get(self, title: str) -> Text | Absent:
        """See :class:`Texts`.

        Raises:
            EngineError: the site does not answer, or its robots.txt cannot be read.
            InputError: the cache cannot be used.
        """
        url = self.address(title)
        kept = await self._cache.get(self._cached_under, url)
        if kept is not None:
            return Text(**json.loads(kept))
        if self._robots is None:
            self._robots = await self._read_robots()
        why = self._refusal(url)
        if why is not None:
            return Absent(f"refused: {why}")
        page = await self._page(url)
        if isinstance(page, Text):
            await self._cache.put(self._cached_under, url, json.dumps(page.__dict__, ensure_ascii=False))
        return page

    @property
    def _cached_under(self) -> str:
        # what another version made of a page is not this one's
        return f"import as {self._settings.form}, llmpedia {__version__}"

    async def close(self) -> None:
        """See :class:`Texts`."""
        self._cache.close()
        await self._fetcher.close()
        await self._extractor.close()

    async def _page(self, url: str) -> Text | Absent:
        answer = await self._ask(url)
        if isinstance(answer, Refused):
            self._count(answer)
            return Absent(str(answer))
        self._failed_on_end = 0
        read = await read_answer(answer, self._extractor)
        if isinstance(read, Unread):
            return Absent(read.why)
        form: Form = self._settings.form if answer.content_type == "text/plain" else "html"
        sha256 = hashlib.sha256(answer.body).hexdigest()
        return Text(read.title, read.text, form, read.final_url, sha256, now())

    def _count(self, answer: Refused) -> None:
        self._failed_on_end = self._failed_on_end + 1 if answer.passing else 0
        if self._failed_on_end >= _OUTAGE:
            raise EngineError(
                f"{self._origin.host}: {_OUTAGE} titles on end failed ({answer.reason}); pages "
                f"read so far are kept: "
                "give the same command again later"
            )

    async def _ask(self, url: str) -> Fetched | Refused:
        """A page; trouble that may pass is waited out, for as long as the server asks."""
        for attempt in range(_ATTEMPTS):
            await self._turn()
            answer = await self._fetcher.fetch(url, self._refusal)
            if isinstance(answer, Fetched) or not answer.passing or attempt == _ATTEMPTS - 1:
                return answer
            self._next = self._clock() + max(answer.wait_s or 0.0, _FIRST_WAIT_S * 2**attempt)
        raise AssertionError("the last attempt returns")

    async def _turn(self) -> None:
        asked = self._robots.delay_s if self._robots else 0.0
        wait = max(self._next, self._last + max(self._settings.every_s, asked)) - self._clock()
        if wait > 0:
            await self._sleep(wait)
        self._last = self._clock()

    async def _read_robots(self) -> Robots:
        """What robots.txt says; a site that has none (RFC 9309: any 4xx) lets everything be read."""
        answer = await self._ask(f"{self._origin.scheme}://{self._host}/robots.txt")
        if isinstance(answer, Fetched):
            return Robots.parse(decode(answer.body, answer.charset))
        if answer.reason.startswith("HTTP 4") and not answer.passing:
            return Robots()
        raise EngineError(
            f"{self._host}/robots.txt: cannot be read ({answer.reason}), so nothing may be; try again later"
        )

    @property
    def _host(self) -> str:
        return self._origin.url.split("/")[2]

    def _refusal(self, url: str) -> str | None:
        """Why an address may not be read: another host's, or robots.txt bars it."""
        address = parse(url)
        if isinstance(address, str):
            return address
        if address.host != self._origin.host:
            return f"it is on {address.host}; if that is the encyclopedia, name it in the pattern"
        if self._robots is not None and not self._robots.allows(address.target):
            return "robots.txt does not allow it"
        return None


def _checked(url: str) -> Address:
    address = parse(url)
    if isinstance(address, str):
        raise ConfigError(f"TEXTS = {url!r}: {address}; give another address")
    return address
