"""What every job does around its own work: a run folder under its lease, what a crash left cleared
away, progress, completions that several items share.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from llmpedia.store.commit_times import UNTOLD, Machine
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import Manifest, RunFolder


@dataclass(frozen=True)
class Progress:
    """How far a job has come.

    Attributes:
        phase: what is being done, in words.
        done: items committed so far: articles, questions, titles.
        total: items in all; None where that is not known.
    """

    phase: str
    done: int
    total: int | None = None


OnProgress = Callable[[Progress], None]
"""Called as work goes on."""


@dataclass(frozen=True)
class Job:
    """A run folder that this process writes.

    Attributes:
        run: the folder, opened.
        lease: this process's right to write it.
    """

    run: RunFolder
    lease: Lease

    def commit(self, tables: dict[str, pa.Table], facts: dict[str, Any]) -> None:
        """Commit the next wave. See :meth:`~llmpedia.store.run_folder.RunFolder.commit`."""
        self.run.commit(self.lease, tables, facts)


@contextmanager
def open_job(uri: str, description: dict[str, Any], machine: Machine = UNTOLD) -> Iterator[Job]:
    """Open a run folder for writing, or make it; what a crash left uncommitted is removed.

    Args:
        uri: of the folder.
        description: what ``run.yaml`` holds; of a folder that is there, its identity must be the
        same.
        machine: what the job takes, for the times of commits.

    Raises:
        InputError: another process writes it, or it is another job's.
    """
    with Lease(RunFolder(uri).folder, machine) as lease:
        run = RunFolder.create_or_open(uri, description)
        run.clean()
        yield Job(run, lease)


def unique_completions(visits: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The completions of a wave's visits, each once: several items may have asked the same."""
    by_key: dict[str, dict[str, Any]] = {}
    for visit in visits:
        for row in visit["completions"]:
            by_key.setdefault(row["key"], row)
    return list(by_key.values())


def running_totals(
    previous: Manifest | None, counts: Mapping[str, int], names: Iterable[str]
) -> dict[str, int]:
    """Totals after a commit: those of the manifest before it, and its own counts, by name."""
    before = previous.facts["totals"] if previous else {}
    return {name: before.get(name, 0) + counts.get(name, 0) for name in names}
