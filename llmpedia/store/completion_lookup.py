"""What other runs have been answered, by key of the request: a run asks an engine only for what is
not in them.

Memory holds 16 bytes a completion. Texts stay in the runs' tables: the file of a commit is read
when one of its answers is asked for, and kept while there is room.
"""

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from llmpedia.stages import Completion
from llmpedia.store.run_folder import RunFolder

_COLUMNS = (
    "text",
    "finish_reason",
    "prompt_tokens",
    "completion_tokens",
    "error",
    "cached_tokens",
    "fallback",
)
_ROOM = 128 << 20  # bytes of texts in each process


class Answers:
    """Committed completions of ``runs``; of two with one key, the run named earlier comes first.
    Failures answer nothing.
    """

    def __init__(self, runs: Sequence[str], room: int = _ROOM) -> None:
        """``room``: bytes of texts kept at most, beside the file that was read last.

        Raises:
            InputError: a run is not there, or damaged.
        """
        self._room = room
        self._lock = threading.Lock()
        self._read: OrderedDict[int, pa.Table] = OrderedDict()
        self._files: list[tuple[RunFolder, int]] = []
        self._starts: list[int] = []
        heads = [*self._heads(runs), np.empty(0, np.uint64)]
        whole = np.concatenate(heads)
        self._rows: npt.NDArray[np.int64] = np.argsort(whole, kind="stable")
        self._sorted: npt.NDArray[np.uint64] = whole[self._rows]

    def __len__(self) -> int:
        return len(self._rows)

    def find(self, key: str) -> Completion | None:
        """The answer to a request; None if there is none. For any thread.

        Raises:
            InputError: a file is missing or damaged.
        """
        head = np.uint64(int(key[:16], 16))
        with self._lock:
            for at in range(int(np.searchsorted(self._sorted, head)), len(self._rows)):
                if self._sorted[at] != head:
                    return None
                completion = self._completion(int(self._rows[at]), key)
                if completion is not None:
                    return completion
        return None

    def _heads(self, runs: Sequence[str]) -> Iterator[npt.NDArray[np.uint64]]:
        """The first 64 bits of the keys of each commit, noting where its rows begin."""
        rows = 0
        for uri in runs:
            run = RunFolder.open(uri)
            for wave in range(run.last_wave + 1):
                keys = run.read("completions", [wave], ["key"])["key"].to_pylist()
                self._files.append((run, wave))
                self._starts.append(rows)
                rows += len(keys)
                yield np.array([int(key[:16], 16) for key in keys], np.uint64)

    def _completion(self, row: int, key: str) -> Completion | None:
        file = bisect_right(self._starts, row) - 1
        rows = self._texts(file)
        at = row - self._starts[file]
        if rows["key"][at].as_py() != key or rows["error"][at].as_py() is not None:
            return None
        return Completion(**{name: rows[name][at].as_py() for name in _COLUMNS})

    def _texts(self, file: int) -> pa.Table:
        if file not in self._read:
            run, wave = self._files[file]
            self._read[file] = run.read("completions", [wave], ["key", *_COLUMNS])
            while len(self._read) > 1 and sum(t.nbytes for t in self._read.values()) > self._room:
                self._read.popitem(last=False)
        self._read.move_to_end(file)
        return self._read[file]
