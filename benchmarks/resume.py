"""How long a large run takes from the command to the first new request after a SIGKILL.

Walks until the run holds enough entities, kills the driver in mid-wave, starts it again. Answered
requests are in the journal and never asked again, so the first request that the world sees is new:
``python benchmarks/resume.py [--entities 100000]``.
"""

import argparse
import signal
import tempfile
import time
from pathlib import Path

from tests.support.rehearsed import reset_stats, start_walk, stats, totals, world


def main() -> None:
    """Run it and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, default=100_000)
    parser.add_argument(
        "--keep",
        type=Path,
        help="a run of the same world to go on with; it is written there if there is none",
    )
    parser.add_argument("--set", action="append", default=[])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="resume-") as name:
        folder = args.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        run = folder / "run"
        with world(folder):
            walk = start_walk(run, 1_000_000, args.set)
            while totals(run).get("entities", 0) < args.entities:
                if walk.poll() is not None:
                    raise SystemExit((folder / "walk.log").read_text()[-2000:])
                time.sleep(0.5)
            while not stats()["requests"]:
                time.sleep(0.5)
            time.sleep(5)  # into a wave
            walk.send_signal(signal.SIGKILL)
            walk.wait()
            time.sleep(20)  # what the driver had started ends by itself
            before = stats()["repeats_of_answered_bodies"]
            reset_stats()
            begin = time.monotonic()
            walk = start_walk(run, 1_000_000, args.set)
            while not stats()["requests"]:
                if walk.poll() is not None:
                    raise SystemExit((folder / "walk.log").read_text()[-2000:])
                time.sleep(0.1)
            seconds = time.monotonic() - begin
            time.sleep(15)
            again = stats()["repeats_of_answered_bodies"]
            walk.kill()
            walk.wait()
        print(f"entities                        {totals(run)['entities']:,}")
        print(f"articles                        {totals(run)['articles']:,}")
        print(f"seconds to first new request    {seconds:.1f}")
        print(
            f"answered requests asked again   {sum(again.values())}   (before the kill "
            f"{sum(before.values())})"
        )


if __name__ == "__main__":
    main()
