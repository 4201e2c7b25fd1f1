"""A wave's rows through worker processes on Ray Data: many rows in flight, one process a worker,
visits in order of arrival.

A worker class takes (config as JSON, run URI, wave, ...) and maps tables of items to tables of
``VISITS``, one row an item whatever happened to it; ``fatal`` is set where going on is pointless
(engine down, journal not writable).
"""

import json
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from llmpedia.config.walk import JobConfig
from llmpedia.errors import EngineError, InputError, LlmpediaError
from llmpedia.execution.clients import batches_in_flight

Row = dict[str, Any]

# A visit is nested (dozens of candidates, several completions). As Arrow structs its way through
# Ray's object store cost as much as the whole visit, so it travels as one JSON string; what is
# stored is plain columns again.
VISITS = pa.schema([("subject_id", pa.int64()), ("visit", pa.string()), ("fatal", pa.string())])
_FATAL: dict[str, type[LlmpediaError]] = {"EngineError": EngineError, "InputError": InputError}


def failed_row(subject_id: int, error: LlmpediaError) -> Row:
    """A row that stops the run: {"kind", "message"} of the error."""
    fatal = json.dumps({"kind": type(error).__name__, "message": str(error)})
    return {"subject_id": subject_id, "visit": None, "fatal": fatal}


@dataclass(frozen=True)
class Work:
    """What a wave is walked by. ``arguments``: of the worker's constructor."""

    worker: type
    arguments: tuple[Any, ...]
    schema: pa.Schema


_OF_THREAD = threading.local()


class EndsWhenStopped:
    """A callback of Ray Data, which makes one in the thread that begins an execution: ends it as
    soon as its job is stopped.

    Whoever waits for the next row cannot see that, and a thread still at it when Ray goes down
    takes the process with it.
    """

    def __init__(self) -> None:
        self._stopped: threading.Event = _OF_THREAD.stopped

    def before_execution_starts(self, executor: Any) -> None:
        """Nothing to do."""

    def on_execution_step(self, executor: Any) -> None:
        """About ten times a second; what it raises is raised to whoever waits for rows, for whom
        they end here.
        """
        if self._stopped.is_set():
            raise StopIteration  # any other exception is logged, with its trace, as a defect of Ray's

    def after_execution_succeeds(self, executor: Any) -> None:
        """Nothing to do."""

    def after_execution_fails(self, executor: Any, error: Exception) -> None:
        """Nothing to do."""


def make_quiet(context: Any) -> None:
    """Have Ray Data show nothing of its own, and spare workers what is only for that."""
    context.enable_progress_bars = False
    context.issue_detectors_config.detectors = []
    context.memory_usage_poll_interval_s = None  # reads the whole memory map of each worker every second


def stream(
    rows: list[Row], work: Work, config: JobConfig, stopped: threading.Event
) -> Iterator[list[tuple[int, Row]]]:
    """(subject_id, visit) of rows as they arrive, some at a time, until ``stopped``.

    Raises:
        EngineError, InputError: a worker met something that ends the run.
        CancelledError: it was stopped.
    """
    if not rows:
        return
    import ray.data
    from ray.util.annotations import RayDeprecationWarning

    warnings.filterwarnings(
        "ignore", category=RayDeprecationWarning
    )  # max_concurrency has no named parameter yet
    context = ray.data.DataContext.get_current()
    make_quiet(context)
    context.custom_execution_callback_classes = [EndsWhenStopped]
    _OF_THREAD.stopped = stopped
    size = config.waves.rows_per_batch
    blocks = [pa.Table.from_pylist(rows[i : i + size], schema=work.schema) for i in range(0, len(rows), size)]
    open_batches = batches_in_flight(config)
    # from_arrow starts a task a block, and with them a process a CPU, to count rows that lie here.
    visits = ray.data.from_blocks(blocks).map_batches(
        work.worker,
        fn_constructor_args=work.arguments,
        batch_size=None,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(
            size=min(config.waves.workers, len(blocks)), max_tasks_in_flight_per_actor=open_batches
        ),
        max_concurrency=open_batches,
        num_cpus=0.2,
    )
    for batch in visits.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
        yield [_visit(row) for row in batch.to_pylist()]
    if stopped.is_set():
        raise CancelledError


def _visit(row: Row) -> tuple[int, Row]:
    if row["fatal"]:
        fatal = json.loads(row["fatal"])
        raise _FATAL.get(fatal["kind"], LlmpediaError)(fatal["message"])
    return row["subject_id"], json.loads(row["visit"])


def in_order(wave: int, ids: list[int], by_id: dict[int, Row]) -> list[Row]:
    """The visits in plan order, however they arrived; one that is missing is a defect."""
    lost = [n for n in ids if n not in by_id]
    if lost:
        raise AssertionError(f"wave {wave}: subjects {lost[:5]} came back from no worker")
    return [by_id[n] for n in ids]
