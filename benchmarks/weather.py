"""Two walks through one world, in calm and with 10% of all requests failing in every way the world
knows; both scored.

Prints what was lost, doubled and generated twice, the precision and recall of the entity filter and
of deduplication, and whether ``verify`` finds each run whole: ``python benchmarks/weather.py
[--articles 5000] [--faults 0.10]``.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from llmpedia.rehearsal.scoring.walk import score
from llmpedia.rehearsal.settings import REQUEST_FAULTS, load_settings
from llmpedia.rehearsal.world.world import World
from llmpedia.store.run_folder import RunFolder
from tests.support.rehearsed import ENV, finish, start_walk, stats, world

SHOWN = (
    ("walk", "entities articles errored lost twice"),
    ("doubled", "doubled doubled_bare"),
    ("accounted", "candidates unaccounted ner_omitted stage_error arbitration_failed"),
    ("ner", "precision recall f1"),
    *((f"dedup: {kind}", "units f1") for kind in ("variant", "sibling", "qualified homonym", "bare homonym")),
)


def walk_and_score(
    folder: Path, articles: int, faults: list[str], sets: list[str]
) -> tuple[dict[str, dict[str, Any]], str, Any]:
    """The figures of a finished walk, the last line of ``verify``, and the world's counters."""
    folder.mkdir(parents=True)
    run = folder / "run"
    begin = time.monotonic()
    with world(folder, *faults):
        finish(start_walk(run, articles, sets), run)
        seen = stats()
    seen["walk_seconds"] = time.monotonic() - begin
    command = [sys.executable, "-m", "llmpedia.cli", "verify", str(run)]
    verified = subprocess.run(command, env=ENV, capture_output=True, text=True, check=False)
    said = "whole" if verified.returncode == 0 else verified.stdout[-300:]
    return score(RunFolder.open(str(run)), World(load_settings(faults, seed=1))), said, seen


def main() -> None:
    """Run both and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--articles", type=int, default=5000)
    parser.add_argument("--faults", type=float, default=0.10)
    parser.add_argument("--set", action="append", default=[])
    args = parser.parse_args()
    kinds = [name for name in REQUEST_FAULTS if name != "verdict_syntax"]  # a walk asks for no verdicts
    faults = [f"faults.{name}={args.faults / len(kinds)}" for name in kinds]
    sets = ["engine.request_timeout_s=5", *args.set]
    with tempfile.TemporaryDirectory(prefix="weather-") as name:
        calm, calm_said, calm_seen = walk_and_score(Path(name) / "calm", args.articles, [], sets)
        storm, storm_said, storm_seen = walk_and_score(Path(name) / "storm", args.articles, faults, sets)
    print(f"{'':<36}{'calm':>12}{f'{100 * args.faults:.0f}% faults':>12}")
    print(f"{'verify':<36}{calm_said:>12}{storm_said:>12}")
    print(f"{'seconds':<36}{calm_seen['walk_seconds']:>12.0f}{storm_seen['walk_seconds']:>12.0f}")
    print(f"{'requests':<36}{calm_seen['requests']:>12,}{storm_seen['requests']:>12,}")
    for section, names in SHOWN:
        for key in names.split():
            print(
                f"{section + ': ' + key:<36}{_shown(calm[section][key]):>12}{_shown(storm[section][key]):>12}"
            )
    print("faults met:", ", ".join(f"{k} {n:,}" for k, n in storm_seen["faults"].items()))


def _shown(value: float | int | None) -> str:
    return "-" if value is None else f"{value:.4f}" if isinstance(value, float) else f"{value:,}"


if __name__ == "__main__":
    main()
