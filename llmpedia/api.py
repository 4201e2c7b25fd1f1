"""Reading run folders from Python: ``llmpedia.open_run("runs/demo")``.

Every kind of run folder opens: a walk, an imported encyclopedia, an audit, scores, a probe's build, responses, grades.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmpedia.errors import InputError
from llmpedia.tables import TABLES

if TYPE_CHECKING:
    import pyarrow as pa

    from llmpedia.store.runfolder import RunFolder
    from llmpedia.store.verify import Report

WALK = "walk"
"""Kind of a run whose ``run.yaml`` names none."""


@dataclass(frozen=True)
class Article:
    """An article as the model wrote it; see the table ``articles`` in docs/run-format.md."""

    subject_id: int
    name: str
    hop: int
    wave: int
    wikitext: str
    lead: str
    words: int
    links: int


@dataclass(frozen=True)
class Totals:
    """What is committed.

    Attributes:
        waves: number of commits.
        rows: table -> rows over all waves; tables without rows are left out.
        bytes: size of all table files.
        facts: what the last commit says of itself; empty before the first.
    """

    waves: int
    rows: Mapping[str, int]
    bytes: int
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Verification:
    """What a check of every committed row found; a run without findings is whole."""

    findings: tuple[str, ...]
    notes: tuple[str, ...]
    checked: Mapping[str, int]
    fingerprint: str


class Run:
    """The committed state of a run folder at the time that it was opened."""

    def __init__(self, folder: "RunFolder") -> None:
        self._folder = folder
        self.kind: str = folder.description().get("kind") or WALK

    @property
    def uri(self) -> str:
        """Where it lies, as given."""
        return self._folder.uri

    @property
    def manifest(self) -> Totals:
        """Totals over the manifests of all committed waves."""
        rows: dict[str, int] = {}
        size = 0
        for manifest in self._folder.manifests:
            for file in manifest.files:
                rows[file.table] = rows.get(file.table, 0) + file.rows
                size += file.bytes
        facts = self._folder.manifests[-1].facts if self._folder.manifests else {}
        return Totals(len(self._folder.manifests), rows, size, facts)

    def table(self, name: str, columns: list[str] | None = None) -> "pa.Table":
        """Committed rows of all waves in commit order, with a ``wave`` column.

        Args:
            name: a table of ``llmpedia.tables``; one that this run has no rows of is empty.
            columns: those to read; all where none are given.

        Raises:
            InputError: there is no such table or column, or a file is missing or damaged.
        """
        if name not in TABLES:
            raise InputError(f"{self.uri}: no table {name!r}; give one of {', '.join(TABLES)}")
        for column in columns or ():
            if column not in TABLES[name].names:
                raise InputError(f"{self.uri}: {name} has no column {column!r}; give some of {', '.join(TABLES[name].names)}")
        return self._folder.read(name, columns=columns)

    def articles(self) -> Iterator[Article]:
        """All articles in commit order, one wave in memory at a time; none where the run is of a kind that writes none."""
        columns = [name for name in Article.__dataclass_fields__ if name != "wave"]
        for manifest in self._folder.manifests:
            for row in self._folder.read("articles", [manifest.wave], columns).to_pylist():
                yield Article(**row)

    def verify(self) -> Verification:
        """Check that nothing is lost, doubled or without its source. Reads every file."""
        report = verify_folder(self._folder)
        return Verification(tuple(report.findings), tuple(report.notes), dict(report.checked), self._folder.fingerprint())


def open_run(uri: str) -> Run:
    """Open a run folder for reading.

    Args:
        uri: a local path, or any address that pyarrow opens, such as ``s3://bucket/run``.

    Raises:
        InputError: no run lies there, or a damaged one.
    """
    from llmpedia.store.runfolder import RunFolder

    return Run(RunFolder.open(uri))


def verify_folder(run: "RunFolder") -> "Report":
    """Check all of a run folder by what its kind asks for."""
    by_kind = verifiers()
    check = by_kind.get(run.description().get("kind") or WALK, by_kind[WALK])
    return check(run)


def verifiers() -> "dict[str, Callable[[RunFolder], Report]]":
    """Kind of run folder -> its check."""
    from llmpedia.audit.verify import verify_audit
    from llmpedia.perplexity.verify import verify_scores
    from llmpedia.probe.verify import verify_build, verify_grades, verify_responses
    from llmpedia.store.verify import IMPORTED, verify

    return {
        WALK: verify,
        IMPORTED: verify,
        "audit": verify_audit,
        "ppl": verify_scores,
        "probe": verify_build,
        "responses": verify_responses,
        "grades": verify_grades,
    }
