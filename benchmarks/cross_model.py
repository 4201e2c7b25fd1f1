"""Runs compared side by side (``llmpedia.analysis.comparison.cross_model``): seconds and memory for
so many runs of so many subjects.

The runs are synthetic folders, committed by the real code in waves: names drawn from one pool so
that three runs of 120,000 share about as much as the paper's (7.3% of all subjects), and
``--links`` candidates an article. They have no audits, so what is measured is reading, overlap,
entity overlap and figures. ``--embeddings`` stores a vector an entity, which a comparison should
not read. ``python benchmarks/cross_model.py [--runs 3 8] [--subjects 120000] [--links 50]
[--embeddings]``; each row of the printed table is a process of its own.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from llmpedia.analysis.common.corpus import written_subjects
from llmpedia.analysis.comparison.cross_model import Overlap, cross_model_part
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import RunFolder
from llmpedia.tables import TABLES

WAVE = 10_000
# of a run's size: subjects that all runs have, and what the others are drawn from
CORE = 0.13
POOL = 4.4
DIMENSIONS = 384


def keys_of(seed: int, subjects: int) -> np.ndarray:
    """Numbers of the names of a run, the core among them."""
    core = int(CORE * subjects)
    drawn = np.random.default_rng(seed).choice(int(POOL * subjects), subjects - core, replace=False) + core
    return np.random.default_rng(seed + 1000).permutation(np.concatenate([np.arange(core), drawn]))


def make_run(folder: Path, seed: int, subjects: int, links: int, embeddings: bool) -> RunFolder:
    """A folder as a walk leaves it, as far as a comparison looks."""
    identity = {"run": {"seed": str(seed)}}
    run = RunFolder.create_or_open(
        str(folder),
        {"identity_hash": str(seed), "identity": identity, "seeds": [], "prompts": {}, "config": {}},
    )
    numbers = keys_of(seed, subjects)
    random = np.random.default_rng(seed)
    with Lease(run.folder) as lease:
        for start in range(0, subjects, WAVE):
            own = numbers[start : start + WAVE]
            ids = np.arange(start, start + len(own))
            names = pa.array([f"Subject of the number {n}" for n in own])
            keys = pa.array([f"subjectofthenumber{n}" for n in own])
            linked = random.integers(0, subjects, len(own) * links)
            made = {
                "entities": {
                    "entity_id": ids,
                    "key": keys,
                    "name": names,
                    "embedding": _vectors(random, len(own), embeddings),
                },
                "articles": {
                    "subject_id": ids,
                    "name": names,
                    "words": np.full(len(own), 700),
                    "links": np.full(len(own), links),
                },
                "candidates": {
                    "parent_id": np.repeat(ids, links),
                    "key": pa.array([f"subjectofthenumber{n}" for n in linked]),
                },
            }
            run.commit(lease, {name: _table(name, columns) for name, columns in made.items()}, {"totals": {}})
    return run


def _vectors(random: np.random.Generator, rows: int, wanted: bool) -> pa.Array:
    if not wanted:
        return pa.nulls(rows, pa.list_(pa.float32()))
    values = pa.array(random.standard_normal(rows * DIMENSIONS).astype(np.float32))
    return pa.ListArray.from_arrays(pa.array(np.arange(rows + 1) * DIMENSIONS, pa.int32()), values)


def _table(name: str, columns: dict) -> pa.Table:
    rows = len(next(iter(columns.values())))
    arrays = [
        pa.array(columns[f.name]).cast(f.type) if f.name in columns else pa.nulls(rows, f.type)
        for f in TABLES[name]
    ]
    return pa.table(arrays, schema=TABLES[name])


def measure(folders: list[str]) -> dict:
    """One comparison, in this process."""
    runs = [RunFolder.open(uri) for uri in folders]
    started = time.perf_counter()
    keys = {run.uri: written_subjects(run)["key"] for run in runs}
    read = time.perf_counter()
    overlap = Overlap.of(keys)
    counted = time.perf_counter()
    part = cross_model_part(runs, [])
    done = time.perf_counter()
    everyone = range(len(runs))
    return {
        "runs": len(runs),
        "subjects": sum(map(len, keys.values())),
        "shared_pct": round(100 * overlap.shared(everyone) / overlap.union(everyone), 1),
        "read_keys_s": round(read - started, 2),
        "overlap_s": round(counted - read, 2),
        "whole_part_s": round(done - counted, 2),
        "entity_pairs": len(part.tables["entity_overlap"]),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def main() -> None:
    """Make the runs, compare them in processes of their own, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[3, 8])
    parser.add_argument("--subjects", type=int, default=120_000)
    parser.add_argument("--links", type=int, default=50)
    parser.add_argument("--embeddings", action="store_true")
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.measure)))
        return
    with tempfile.TemporaryDirectory() as folder:
        uris = []
        for number in range(max(args.runs)):
            run = make_run(Path(folder) / f"run-{number}", number, args.subjects, args.links, args.embeddings)
            uris.append(run.uri)
        for n in args.runs:
            command = [sys.executable, __file__, "--measure", *uris[:n]]
            print(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())


if __name__ == "__main__":
    main()
