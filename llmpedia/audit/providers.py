"""Providers of evidence as engines: what the configuration asks for, a cache on this machine, and
the durable client's interface.

Nothing that failed is ever cached; what is, keeps the time at which it was fetched.
"""

import asyncio
import hashlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from llmpedia import __version__
from llmpedia.audit.evidence import Evidence, Outcome, Provider, Tier
from llmpedia.audit.settings import AuditConfig
from llmpedia.engines.packaged_weights import cache_dir
from llmpedia.stages import Completion, Request
from llmpedia.web.cache import Cache

OpenSlot = Callable[[], AbstractAsyncContextManager[Any]]

# Looked up to tell a subject that always fails from a service that is down.
_KNOWN_SUBJECT = "Earth"


class EvidenceEngine:
    """A provider behind the interface of engines: one look-up a request."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._fresh = provider.inner if isinstance(provider, CachedProvider) else provider

    async def generate(self, request: Request) -> Completion:
        """See :class:`~llmpedia.engines.base.Engine`."""
        evidence = await self._provider.find(request.messages[0][1])
        return Completion(text=evidence.dumps(), finish_reason="stop")

    async def check_health(self) -> None:
        """See :class:`~llmpedia.engines.base.ChecksHealth`. Never answered from the cache."""
        await self._fresh.find(_KNOWN_SUBJECT)

    async def close(self) -> None:
        """Let connections go."""
        await self._provider.close()


class CachedProvider:
    """A provider with a cache before it."""

    def __init__(self, provider: Provider, path: Path, days: float) -> None:
        """``path``: the cache's file; ``days``: age at which an entry is no longer taken."""
        self.name = provider.name
        self.inner = provider
        # What another version made of a page is not this one's.
        self._key = f"{provider.name}, llmpedia {__version__}"
        self._cache = Cache(path, days)

    async def find(self, subject: str) -> Evidence:
        """See :class:`Provider`.

        Raises:
            InputError: the cache cannot be used.
        """
        kept = await self._cache.get(self._key, subject)
        if kept is not None:
            return Evidence.loads(kept)
        evidence = await self.inner.find(subject)
        passing = any(attempt.passing for attempt in evidence.attempts)
        if evidence.outcome != Outcome.FETCH_FAILED and not passing:
            await self._cache.put(self._key, subject, evidence.dumps())
        return evidence

    async def close(self) -> None:
        """Let connections go."""
        self._cache.close()
        await self.inner.close()


def make_provider(tier: Tier, config: AuditConfig, slot: OpenSlot | None = None) -> Provider:
    """The provider of a tier that ``config`` asks for; ``slot``: what each request to a wiki's API
    waits for.

    Raises:
        ConfigError, InputError: a key, a file or a package is missing.
    """
    provider = _wikipedia(config, slot) if tier == "wikipedia" else _web(config)
    if config.cache.path is None:
        return provider
    return CachedProvider(
        provider, Path(config.cache.path).expanduser() / f"{tier}.sqlite", config.cache.days
    )


def cap(tier: Tier, config: AuditConfig) -> int:
    """What all processes together may have in flight: requests to a wiki's API, else subjects."""
    return config.wikipedia.concurrency if tier == "wikipedia" else config.web.concurrency


def batched(tier: Tier, config: AuditConfig) -> bool:
    """Whether subjects of a tier share requests, so that requests and not subjects are held to the
    cap.
    """
    return tier == "wikipedia" and config.wikipedia.kind == "mediawiki"


def names_of(config: AuditConfig) -> dict[str, str]:
    """Tier -> name of its provider. Makes each once, so that what is missing is told before any
    work.

    Raises:
        ConfigError, InputError: a key, a file or a package is missing.
    """
    providers = {tier: make_provider(tier, config) for tier in config.audit.tiers}

    async def close() -> None:
        for provider in providers.values():
            await provider.close()

    asyncio.run(close())
    return {tier: provider.name for tier, provider in providers.items()}


def _wikipedia(config: AuditConfig, slot: OpenSlot | None) -> Provider:
    settings = config.wikipedia
    if settings.kind == "mediawiki":
        from llmpedia.audit.wikipedia.mediawiki import MediaWiki

        agent = f"llmpedia/{__version__} ({settings.contact})"
        return MediaWiki(settings.api_url, agent, settings, slot)
    assert settings.path is not None  # settings refuse it
    if settings.kind == "zim":
        from llmpedia.audit.wikipedia.offline.zim import ZimCopy

        return ZimCopy(settings.path)
    if settings.kind == "dump":
        from llmpedia.audit.wikipedia.offline.dump import DumpCopy

        return DumpCopy(dump_index(settings.path))
    from llmpedia.audit.wikipedia.offline.parquet import WIKIMEDIA, ParquetCopy

    return ParquetCopy(settings.path, WIKIMEDIA)


def dump_index(path: str) -> Path:
    """The index of an XML dump, made in the cache folder if it is not there yet; ``path`` itself
    where it is an index.

    Raises:
        InputError: the dump cannot be read.
    """
    from llmpedia.audit.wikipedia.offline.dump import index_dump

    if path.endswith((".sqlite", ".db")):
        return Path(path)
    stat = Path(path).stat()
    name = hashlib.sha256(f"{path} {stat.st_size} {stat.st_mtime_ns}".encode()).hexdigest()[:16]
    index = cache_dir() / "dumps" / f"{Path(path).name}-{name}.sqlite"
    if not index.exists():
        index.parent.mkdir(parents=True, exist_ok=True)
        index_dump(path, index)
    return index


def _web(config: AuditConfig) -> Provider:
    from llmpedia.audit.curated_web import CuratedWeb

    return CuratedWeb(config.web)
