"""What audits say of an article: its claims with a verdict a tier, and the evidence that the judge
was shown.

Audits lie in ``RUN/audits/NAME``. Those of another run, or damaged ones, are left out and named in
``notes``.
"""

import threading
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from llmpedia.errors import InputError
from llmpedia.site.data.row_reader import OpenTables, Row
from llmpedia.store.run_folder import RUN_FILE, RunFolder


@dataclass(frozen=True)
class ClaimOf:
    """A claim with its rows of ``verdicts``, one a tier."""

    number: int  # position in the article's claims, from 1
    text: str
    verdicts: list[Row]


@dataclass(frozen=True)
class AuditOf:
    """What one audit found in one article: its row of ``audited``, its claims in order, its rows of
    ``evidence``.
    """

    audit: str
    row: Row
    claims: list[ClaimOf]
    evidence: list[Row]


class SiteAudit:
    """One audit of a run, opened for reading."""

    def __init__(self, name: str, audit: RunFolder, tables: OpenTables) -> None:
        self.name = name
        self.run = audit
        self._tables = tables(audit)
        self._lock = threading.Lock()

    def of(self, number: int) -> AuditOf | None:
        """What it found in an article; None: not sampled, or not audited yet.

        Raises:
            InputError: a file is missing or damaged.
        """
        with self._lock:
            wave = self._waves.get(number)
        if wave is None:
            return None
        row, claims, evidence, verdicts = (
            self._tables.rows(name, wave, "subject_id", [number])
            for name in ("audited", "claims", "evidence", "verdicts")
        )
        by_claim: dict[int, list[Row]] = {}
        for verdict in verdicts:
            by_claim.setdefault(verdict["claim_id"], []).append(verdict)
        claims_of = [ClaimOf(c["position"] + 1, c["text"], by_claim.get(c["claim_id"], [])) for c in claims]
        return AuditOf(self.name, row[0], sorted(claims_of, key=lambda c: c.number), evidence)

    def completion(self, number: int, key: str) -> Row | None:
        """A question to the judge with its answer, looked for beside the article's verdicts."""
        wave = self._waves.get(number)
        rows = [] if wave is None else self._tables.rows("completions", wave, "key", [key])
        return rows[0] if rows else None

    @cached_property
    def _waves(self) -> dict[int, int]:
        """Subject -> the audit's wave that holds it."""
        return {
            n: wave
            for wave in range(len(self.run.manifests))
            for n in self._tables.columns("audited", wave, ["subject_id"])["subject_id"].to_pylist()
        }

    def subjects(self) -> list[int]:
        """The articles that it audited."""
        with self._lock:
            return list(self._waves)


@dataclass(frozen=True)
class _Look:
    """What an audit's folder was when it was last opened, how far its run had come, and what came of
    it: the audit, or why there is none.
    """

    state: str
    run_commits: int
    audit: SiteAudit | None
    note: str | None


class RunAudits:
    """The audits in a run's folder. Each is opened once, and again only where it has changed."""

    def __init__(self, run: RunFolder, names: Collection[str], tables: OpenTables) -> None:
        """Nothing is opened yet.

        Args:
            run: whose audits they are.
            names: of the audits wanted; none for all.
            tables: what opens the tables of an audit.
        """
        self._run = run
        self._names = frozenset(names)
        self._tables = tables
        self._looks: dict[str, _Look] = {}

    def refresh(self) -> tuple[list[SiteAudit], list[str]]:
        """The audits by name, and a line on each that cannot be shown.

        An audit that has not changed costs one listing of its ``waves`` and stays the object it
        was, with all that has been read of it.
        """
        looks = {}
        for name in self._run.folder.folders("audits"):
            if not self._names or name in self._names:
                looks[name] = self._look(name)
        self._looks = looks
        audits = [look.audit for look in looks.values() if look.audit is not None]
        return audits, [look.note for look in looks.values() if look.note is not None]

    def _look(self, name: str) -> _Look:
        known = self._looks.get(name)
        state = self._run.folder.state(f"audits/{name}/waves")
        commits = len(self._run.manifests)
        # An audit is about commits of its run: one that is of no use now may be once the run has grown.
        if known and known.state == state and (known.audit or known.run_commits == commits):
            return known
        if not self._run.folder.exists(f"audits/{name}/{RUN_FILE}"):
            return _Look(state, commits, None, None)
        try:
            audit = RunFolder.open(f"{self._run.uri.rstrip('/')}/audits/{name}")
            return _Look(state, commits, SiteAudit(name, _checked(audit, self._run), self._tables), None)
        except InputError as e:
            return _Look(state, commits, None, str(e))


def _checked(audit: RunFolder, run: RunFolder) -> RunFolder:
    about = audit.description().get("audited", {})
    waves = int(about.get("waves", 0))
    if not 0 < waves <= len(run.manifests) or run.manifests[waves - 1].sha256 != about.get("last_manifest"):
        raise InputError(
            f"{audit.uri}: is an audit of another run than {run.uri}; audit this one, or remove the folder"
        )
    return audit
