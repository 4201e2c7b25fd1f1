"""When commits happened, and on what: ``times/00007.json`` beside each, written just before its
manifest.

Outside of manifests and of the fingerprint, since two runs of one content never take the same time.
Nothing needs them: a file that is gone makes the time of its commit unknown, and no run damaged.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from llmpedia.errors import InputError
from llmpedia.store.files import Folder


@dataclass(frozen=True)
class Machine:
    """What the engine of a session takes. ``gpus``: at most, over all replicas; 0 on CPU; null: not
    ours to know.
    """

    gpus: int | None
    accelerator: str | None


UNTOLD = Machine(None, None)


@dataclass(frozen=True)
class Moment:
    """A time in a session: seconds since 1970, UTC. ``began``: of the session, before its engine
    was started.
    """

    session: str
    began: float
    committed: float
    machine: Machine


def write_moment(folder: Folder, wave: int, moment: Moment) -> None:
    """Keep when a wave was committed.

    Raises:
        InputError: it cannot be written.
    """
    folder.write(_name(wave), (json.dumps(asdict(moment), sort_keys=True) + "\n").encode())


def read_moments(folder: Folder, waves: Iterable[int]) -> dict[int, Moment]:
    """Wave -> when it was committed, of those that tell.

    Raises:
        InputError: one is there and damaged.
    """
    there = set(folder.list("times"))
    return {wave: _moment(folder, _name(wave)) for wave in waves if _name(wave) in there}


def _name(wave: int) -> str:
    return f"times/{wave:05d}.json"


def _moment(folder: Folder, name: str) -> Moment:
    try:
        data = json.loads(folder.read(name))
        machine = Machine(data["machine"]["gpus"], data["machine"]["accelerator"])
        return Moment(data["session"], float(data["began"]), float(data["committed"]), machine)
    except (ValueError, KeyError, TypeError) as e:
        raise InputError(
            f"{folder.path(name)}: damaged ({type(e).__name__}); delete it, its commit then has no time"
        ) from e
