"""Files through reading and preparing, in order: on Ray Data where Ray is up, else in this process;
the rows are the same.

On Ray the files are read by tasks, one a file, and their blocks prepared by others while reading
goes on, so that one large file keeps all processors busy as well as many small ones do.
"""

import json
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import asdict
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import pyarrow as pa

from llmpedia.errors import EngineError, InputError, LlmpediaError
from llmpedia.execution.ray_stream import make_quiet
from llmpedia.probe.corpus.prepare import PREPARED, RAW, Preparer, Row, batches
from llmpedia.probe.corpus.readers import CorpusFile, read_file
from llmpedia.probe.settings.build import CorpusSection

_BLOCK = 4_000_000  # bytes; Ray would glue blocks together to 128 MB, and one file would be one task
_FATAL: dict[str, type[LlmpediaError]] = {"EngineError": EngineError, "InputError": InputError}


def prepared_rows(files: list[CorpusFile], settings: CorpusSection) -> Iterator[Row]:
    """``PREPARED`` rows of all documents in order.

    Raises:
        InputError: a file is damaged.
        EngineError: the process that reads pages does not start.
    """
    import ray

    rows = _on_ray(files, settings) if ray.is_initialized() else _here(files, settings)
    with closing(rows):  # whatever stops the reading, an execution must not outlive it
        for batch in rows:
            for row in batch.to_pylist():
                if row["fatal"]:
                    fatal = json.loads(row["fatal"])
                    raise _FATAL[fatal["kind"]](fatal["message"])
                yield row


def _here(files: list[CorpusFile], settings: CorpusSection) -> Generator[pa.Table, None, None]:
    prepare = Preparer(settings)
    rows = chain.from_iterable(_raw_rows(file, settings) for file in files)
    try:
        yield from map(prepare, batches(islice(rows, settings.documents)))
    finally:
        prepare.close()


def _on_ray(files: list[CorpusFile], settings: CorpusSection) -> Generator[pa.Table, None, None]:
    import ray
    import ray.data
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    context = ray.data.DataContext.get_current().copy()
    make_quiet(context)
    context.execution_options.preserve_order = True
    context.target_max_block_size = _BLOCK
    context.custom_execution_callback_classes = []
    arguments = {"settings": settings.model_dump_json()}
    # What lies on this machine's disk need not lie on another's.
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    place: dict[str, Any] = {} if "://" in settings.source else {"scheduling_strategy": here}
    with ray.data.DataContext.current(context):
        files_data = ray.data.from_blocks([pa.Table.from_pylist([asdict(file)]) for file in files])
        raw = files_data.map_batches(
            _read_there, batch_size=None, batch_format="pyarrow", fn_kwargs=arguments, num_cpus=0.5, **place
        )
        if settings.documents is not None:
            raw = raw.limit(settings.documents)
        data = raw.map_batches(
            _prepare_there, batch_size=None, batch_format="pyarrow", fn_kwargs=arguments, num_cpus=1
        )
        batches = iter(data.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0))
    yield from batches


def _read_there(batch: pa.Table, settings: str) -> Iterator[pa.Table]:
    section = CorpusSection.model_validate_json(settings)
    for file in batch.to_pylist():
        yield from batches(islice(_raw_rows(CorpusFile(**file), section), section.documents))


def _prepare_there(batch: pa.Table, settings: str) -> pa.Table:
    try:
        return _preparer(settings)(batch)
    except LlmpediaError as e:
        return pa.Table.from_pylist([_fatal(PREPARED, e)], schema=PREPARED)


@lru_cache(maxsize=1)
def _preparer(settings: str) -> Preparer:
    """A process keeps the classifier and the page reader from block to block."""
    return Preparer(CorpusSection.model_validate_json(settings))


def _raw_rows(file: CorpusFile, settings: CorpusSection) -> Iterator[Row]:
    """``RAW`` rows of a file; what keeps it from being read stands in the last one."""
    try:
        for raw in read_file(file, settings):
            yield {**asdict(raw), "source": file.name, "fatal": None}
    except LlmpediaError as e:
        yield _fatal(RAW, e)


def _fatal(schema: pa.Schema, error: LlmpediaError) -> Row:
    """A row that ends the reading."""
    return dict.fromkeys(schema.names) | {
        "fatal": json.dumps({"kind": type(error).__name__, "message": str(error)})
    }
