"""A run as a site reads it: names, hops, parents and aliases in memory, everything else from the
Parquet file of its wave.

Read-only and without the lease: committed waves only, also while a walk is writing; ``refresh``
takes up what it has committed.
"""

import hashlib
import re
import threading
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from llmpedia.entities.keys import canonical_key
from llmpedia.errors import InputError
from llmpedia.site.data.audits import AuditOf, ClaimOf, RunAudits, SiteAudit
from llmpedia.site.data.backlinks import Incoming
from llmpedia.site.data.catalogue import NONE, Catalogue, Ints, read_catalogue
from llmpedia.site.data.listing import Listing
from llmpedia.site.data.row_reader import OpenTables, Row, WaveTables
from llmpedia.stage_list import walk_stage_names
from llmpedia.store.kinds import RunKind
from llmpedia.store.run_folder import RunFolder

__all__ = ["AuditOf", "ClaimOf", "Entity", "Row", "SiteRun", "open_runs"]

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_READABLE = (RunKind.WALK, RunKind.IMPORTED)


@dataclass(frozen=True, slots=True)
class Entity:
    """A row of ``entities``. ``written``: it has an article."""

    id: int
    name: str
    key: str
    hop: int
    parent: int | None
    written: bool


class SiteRun:
    """One run, opened for reading. Safe to use from several threads."""

    def __init__(
        self, run: RunFolder, name: str, audits: Collection[str] = (), tables: OpenTables = WaveTables
    ) -> None:
        """Open it under a name that is safe in a URL, with the audits of these names; of none: with
        all.

        ``tables``: what opens the tables of the run and of its audits.

        Raises:
            InputError: it is no run, or a file is missing or damaged.
        """
        self.run = run
        self.name = name
        self.description = _checked(run)
        self.title = _title(self.description, name)
        self._tables = tables(run)
        self._catalogue = read_catalogue(self._tables, len(run.manifests))
        self._listing = Listing(self._catalogue)
        self._incoming = Incoming(self._tables, self._catalogue)
        self._lock = threading.Lock()
        self._run_audits = RunAudits(run, audits, tables)
        self._opened, self.notes = self._run_audits.refresh()

    def close(self) -> None:
        """End what goes on in the background."""
        self._incoming.stop()

    def refresh(self) -> bool:
        """Take up waves and audits committed since; True if there are any.

        Raises:
            InputError: a file is missing or damaged.
        """
        with self._lock:
            if len(self.run.folder.list("waves")) != len(self.run.manifests):
                self.run.refresh()
            before = (self._catalogue.waves, _commits(self._opened))
            self._opened, self.notes = self._run_audits.refresh()
            waves = len(self.run.manifests)
            if waves != self._catalogue.waves:
                self._catalogue = read_catalogue(self._tables, waves, self._catalogue)
                self._listing = Listing(self._catalogue)
                self._incoming.stop()
                self._incoming = Incoming(self._tables, self._catalogue)
            return (waves, _commits(self._opened)) != before

    @property
    def catalogue(self) -> Catalogue:
        """The arrays behind it, as of the last refresh."""
        return self._catalogue

    @property
    def tables(self) -> WaveTables:
        """Its tables by wave."""
        return self._tables

    @property
    def audit_names(self) -> list[str]:
        """Names of the audits in its folder."""
        return [audit.name for audit in self._opened]

    @property
    def version(self) -> tuple[Any, ...]:
        """Changes with every commit of the run and of its audits that is taken up."""
        return (self._catalogue.waves, *_commits(self._opened))

    @property
    def site_audits(self) -> list[SiteAudit]:
        """The audits in its folder."""
        return self._opened

    @property
    def imported(self) -> bool:
        """Whether its articles are another encyclopedia's, see ``llmpedia.importing``."""
        return self.run.kind == RunKind.IMPORTED

    def entity(self, number: int) -> Entity | None:
        """An entity by its number; None: there is none."""
        c = self._catalogue
        if not 0 <= number < len(c.names):
            return None
        name = c.names[number].as_py()
        parent = int(c.parents[number])
        written = bool(c.articles[number] != NONE)
        return Entity(
            number,
            name,
            canonical_key(name),
            int(c.hops[number]),
            None if parent == NONE else parent,
            written,
        )

    def entities(self, numbers: Iterable[int]) -> list[Entity]:
        """Entities by their numbers."""
        return [entity for n in numbers if (entity := self.entity(n)) is not None]

    def number_of(self, name: str) -> int | None:
        """The entity of a name or an alias, by canonical key."""
        return self._catalogue.numbers.get(canonical_key(name))

    def path(self, number: int) -> list[Entity]:
        """From the seed to it, itself last."""
        path: list[Entity] = []
        at = self.entity(number)
        while at is not None:
            path.append(at)
            # A parent was committed before its children; anything else is a damaged file, and no
            # reason to go in circles.
            at = self.entity(at.parent) if at.parent is not None and at.parent < at.id else None
        return path[::-1]

    def children(self, number: int) -> list[Entity]:
        """Entities whose parent it is, in the order of their commits."""
        return self.entities(self._catalogue.children(number))

    def parents_of_links(self, number: int, most: int) -> list[Entity] | None:
        """Articles that link it, those nearest to the seed first; None: not known yet, they are
        being gathered.
        """
        parents = self._incoming.of(number, most)
        return None if parents is None else self.entities(parents)

    def gather_links(self) -> None:
        """Wait until it is known what links what."""
        self._incoming.begin().join()

    def aliases(self, number: int) -> list[str]:
        """Its other names."""
        return self._catalogue.aliases(number)

    def words(self, number: int) -> int:
        """Words of its article; 0: none was written."""
        return int(self._catalogue.words[number])

    def article(self, number: int) -> Row | None:
        """Its row of ``articles``; None: not written."""
        return self._last("articles", self._wave(self._catalogue.articles, number), number)

    def source(self, number: int) -> Row | None:
        """Its row of ``imports``; None: it was not imported."""
        return self._last("imports", self._wave(self._catalogue.articles, number), number)

    def subject(self, number: int) -> Row | None:
        """Its last row of ``subjects``; None: not visited."""
        return self._last("subjects", self._wave(self._catalogue.visits, number), number)

    def candidates(self, number: int) -> list[Row]:
        """Candidates of its last visit, by position."""
        wave = self._wave(self._catalogue.visits, number)
        return [] if wave is None else self._tables.rows("candidates", wave, "parent_id", [number])

    def completions(self, number: int) -> list[Row]:
        """Questions and raw answers of its visits: self-grounding, outline, article, NER,
        arbitration.
        """
        rows: dict[str, Row] = {}
        for wave in self._visited(number):
            for row in self._tables.rows("completions", wave, "subject_id", [number]):
                rows[row["key"]] = row
        order = {name: place for place, name in enumerate(walk_stage_names())}
        return sorted(rows.values(), key=lambda row: order.get(row["stage"], len(order)))

    def completion(self, key: str, near: int) -> Row | None:
        """A completion by its key, looked for in the waves of a subject."""
        for wave in self._visited(near):
            if rows := self._tables.rows("completions", wave, "key", [key]):
                return rows[0]
        return None

    def audits(self, number: int) -> list[AuditOf]:
        """What each audit that sampled it found."""
        return [of_audit for audit in self._opened if (of_audit := audit.of(number)) is not None]

    def listed(self, hop: int | None, letter: str | None, start: int, most: int) -> tuple[list[Entity], int]:
        """Written entities by name from place ``start``, and how many there are."""
        numbers, total = self._listing.part(hop, letter, start, most)
        return self.entities(numbers), total

    def letters(self, hop: int | None = None) -> dict[str, int]:
        """First letters of the written entities, in order, with how many there are of each."""
        return self._listing.letters(hop)

    def random(self, seed: object) -> Entity:
        """A written entity by chance; the first one where nothing is written.

        Raises:
            InputError: the run holds no entity yet.
        """
        written = np.flatnonzero(self._catalogue.articles != NONE)
        drawn = int.from_bytes(hashlib.sha256(str(seed).encode()).digest()[:8])
        number = int(written[drawn % len(written)]) if len(written) else 0
        entity = self.entity(number)
        if entity is None:
            raise InputError(f"{self.run.uri}: holds no article yet; materialize first")
        return entity

    def totals(self) -> Row:
        """Sums over the run; ``hops``: hop -> (entities, written, expanded)."""
        c = self._catalogue
        written = c.articles != NONE
        hops = {
            int(hop): tuple(
                int(np.count_nonzero(of & (c.hops == hop))) for of in (c.hops >= 0, written, c.expanded)
            )
            for hop in np.unique(c.hops)
        }
        return {
            "articles": int(np.count_nonzero(written)),
            "entities": len(c.names),
            "aliases": len(c.alias_names),
            "words": int(c.words.sum(dtype=np.int64)),
            "links": int(c.links.sum(dtype=np.int64)),
            "hops": hops,
            "waves": c.waves,
        }

    def _last(self, table: str, wave: int | None, number: int) -> Row | None:
        rows = [] if wave is None else self._tables.rows(table, wave, "subject_id", [number])
        return rows[-1] if rows else None

    def _wave(self, waves: Ints, number: int) -> int | None:
        return int(waves[number]) if 0 <= number < len(waves) and waves[number] != NONE else None

    def _visited(self, number: int) -> list[int]:
        c = self._catalogue
        waves = (self._wave(of, number) for of in (c.firsts, c.articles, c.visits))
        return sorted({wave for wave in waves if wave is not None})


def open_runs(
    uris: Sequence[str], audits: Collection[str] = (), tables: OpenTables = WaveTables
) -> list[SiteRun]:
    """Open runs under names that are unique: the folder's, with the folder above where two are
    called alike.

    Raises:
        InputError: one is no run, or damaged, or given twice.
    """
    runs = [RunFolder.open(uri) for uri in uris]
    paths = [run.uri.rstrip("/") for run in runs]
    if twice := next((path for i, path in enumerate(paths) if path in paths[:i]), None):
        raise InputError(f"{twice}: is given twice; give each run once")
    opened = [SiteRun(run, name, audits, tables) for run, name in zip(runs, safe_names(paths), strict=True)]
    there = {name for run in opened for name in run.audit_names}
    if missing := next((name for name in audits if name not in there), None):
        raise InputError(
            f"--audit {missing}: no run given has an audit of this name; leave it out to see all there are"
        )
    return opened


def safe_names(paths: Sequence[str]) -> list[str]:
    """Names for folders that are safe in an address, and unique also where upper and lower case are
    one.
    """
    names: list[str] = []
    taken: set[str] = set()
    for path in paths:
        parts = [_UNSAFE.sub("-", part).strip("-") for part in path.rpartition("://")[2].split("/")]
        parts = [part for part in parts if part] or ["run"]
        forms = ["-".join(parts[-n:]) for n in range(1, len(parts) + 1)]
        forms += [f"{forms[-1]}-{n}" for n in range(2, len(paths) + 2)]
        folder_name = path.rpartition("/")[2].casefold()
        alike = [p for p in paths if p.rpartition("/")[2].casefold() == folder_name]
        names.append(next(form for form in forms[(len(alike) > 1) :] if form.casefold() not in taken))
        taken.add(names[-1].casefold())
    return names


def _commits(audits: Sequence[SiteAudit]) -> list[tuple[str, int]]:
    return [(audit.name, len(audit.run.manifests)) for audit in audits]


def _checked(run: RunFolder) -> Row:
    description = run.description()
    kind = run.kind
    if kind == RunKind.AUDIT:
        above = run.uri.rstrip("/").rpartition("/audits/")[0] or description.get("audited", {}).get("run")
        raise InputError(f"{run.uri}: is an audit, not a run; give the run it is about, {above}")
    if kind not in _READABLE:
        raise InputError(
            f"{run.uri}: is of kind {kind.value!r}, not a run; give the folder of a run, such as runs/demo"
        )
    return description


def _title(description: Row, name: str) -> str:
    """What people call it: what it began with, whose model, which persona."""
    identity = description.get("identity") or {}
    run = identity.get("run") or {}
    stages = identity.get("stages") or {}
    model = (stages.get("article") or {}).get("model") or (identity.get("engine") or {}).get("model")
    persona = run.get("persona")
    parts = [run.get("root_topic") or run.get("seed") or name, model, persona and persona.replace("_", " ")]
    return " · ".join(str(part) for part in parts if part)
