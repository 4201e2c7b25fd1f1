"""The Ray Data stage that takes a wave's sampled articles through ``audit_article``: many in
flight, one process a worker.

Input columns: those of ``AUDIT_ITEMS``. Output: ``stream.VISITS``.
"""

import json
from typing import Any

import pyarrow as pa

from llmpedia.audit.article import AuditHelpers, AuditItem, AuditStages, audit_article
from llmpedia.audit.providers import EvidenceEngine, batched, make_provider
from llmpedia.audit.settings import AuditConfig
from llmpedia.engines.client import Client, GroupCommit
from llmpedia.engines.concurrency.client import Permits, SharedPermits
from llmpedia.execution.clients import client_name, heed_pauses, make_engine, make_permits
from llmpedia.execution.ray_stream import Row
from llmpedia.execution.worker import Worker, writer_id
from llmpedia.store.files import Folder
from llmpedia.store.journal import JournalWriter, read_wave

# Subjects that wait for a wiki, in batches: one on its way, others that gather.
_BATCHES = 3
AUDIT_ITEMS = pa.schema([("subject_id", pa.int64()), ("name", pa.string()), ("wikitext", pa.string())])


def make_helpers(
    config: AuditConfig, audit_uri: str, wave: int, writer: str, limiters: dict[str, Any]
) -> AuditHelpers:
    """Durable clients of judge and evidence for one wave in one process; they share one journal
    writer.

    ``limiters``: handles under ``judge`` and the tiers' names.
    """
    folder = Folder(audit_uri)
    journaled = read_wave(folder, wave)
    commit = GroupCommit(JournalWriter(folder, wave, writer))
    name = client_name(wave, writer)
    engine = make_engine(config, audit_uri, wave, writer)
    permits = make_permits(config, limiters["judge"], name, wave)
    heed_pauses(engine, permits)
    evidence = {}
    providers = {}
    for tier in config.audit.tiers:
        shared: Permits = SharedPermits(limiters[tier], name, wave)
        apart = batched(tier, config)
        provider = make_provider(tier, config, shared.slot if apart else None)
        subject_permits = Permits(_BATCHES * config.wikipedia.batch) if apart else shared
        evidence[tier] = Client(EvidenceEngine(provider), journaled, commit, config.retries, subject_permits)
        providers[tier] = provider.name
    return AuditHelpers(Client(engine, journaled, commit, config.retries, permits), dict(evidence), providers)


class AuditWorker(Worker):
    """One process of the stage."""

    def __init__(self, config_json: str, audit_uri: str, wave: int, limiters: dict[str, Any]) -> None:
        self._config = AuditConfig.model_validate_json(config_json)
        self._stages = AuditStages.of(self._config)
        self._helpers = make_helpers(self._config, audit_uri, wave, writer_id(), limiters)

    async def visit(self, row: Row) -> str:
        """See :class:`Worker`."""
        return json.dumps(
            (await audit_article(AuditItem(**row), self._config, self._stages, self._helpers)).dump()
        )
