"""What the audit's machinery costs: 2,000 rehearsal articles, up to 10 claims, both tiers cached,
zero latency.

Prints articles a second of a second audit of the same articles (the first one fills the cache), CPU
an article, and the planted verdict rates beside the recovered ones: ``python benchmarks/audit.py
[--articles 2000] [--world a.b=c] [--keep FOLDER]``.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support.rehearsed import ENV, PORT, ROOT, Tree, finish, start_walk, totals, world


def start_audit(run: Path, name: str, articles: int, cache: Path, sets: list[str]) -> subprocess.Popen[bytes]:
    """``llmpedia audit`` on the rehearsal configuration."""
    settings = [
        f"sample.random={articles}",
        f"wikipedia.api_url=http://127.0.0.1:{PORT}/w/api.php",
        f"web.base_url=http://localhost:{PORT}",
        f"engine.base_url=http://127.0.0.1:{PORT}/v1",
        f"cache.path={cache}",
        *sets,
    ]
    config = str(ROOT / "configs" / "audit-rehearsal.yaml")
    command = [sys.executable, "-m", "llmpedia.cli", "audit", str(run), "--config", config, "--name", name]
    command += [part for s in settings for part in ("--set", s)]
    return subprocess.Popen(
        command, env=ENV, stdout=(run.parent / f"{name}.log").open("w"), stderr=subprocess.STDOUT
    )


def timed(run: Path, name: str, articles: int, cache: Path, sets: list[str]) -> tuple[float, float]:
    """(seconds, CPU seconds of all processes but the world's) of one audit."""
    begin = time.monotonic()
    process = start_audit(run, name, articles, cache, sets)
    tree = Tree(process.pid)
    while process.poll() is None:
        tree.look()
        time.sleep(0.25)
    if process.returncode:
        sys.exit((run.parent / f"{name}.log").read_text()[-3000:])
    return time.monotonic() - begin, tree.cpu().total()


def scored(run: Path, name: str, worlds: list[str]) -> str:
    """What ``rehearse score`` says of an audit."""
    command = [
        sys.executable,
        "-m",
        "llmpedia.cli",
        "rehearse",
        "score",
        str(run / "audits" / name),
        "--seed",
        "1",
    ]
    command += [part for s in worlds for part in ("--set", s)]
    return subprocess.run(command, env=ENV, capture_output=True, text=True, check=False).stdout


def main() -> None:
    """Run it and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--articles", type=int, default=2000)
    parser.add_argument("--set", action="append", default=[], help="of the audit")
    parser.add_argument(
        "--world", action="append", default=[], help="setting of the world, such as faults.verdict_syntax=0.1"
    )
    parser.add_argument(
        "--keep",
        type=Path,
        help="a folder with a run of the same world; it is written there if there is none",
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="audit-") as name:
        folder = args.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        run = folder / "run"
        if not totals(run):
            with world(folder):
                finish(start_walk(run, args.articles, []), run)
        stamp = int(time.time())
        cache = Path(name) / "cache"
        with world(folder, *args.world):
            first, _ = timed(run, f"first-{stamp}", args.articles, cache, args.set)
            second, cpu = timed(run, f"second-{stamp}", args.articles, cache, args.set)
        audited = json.loads(max((run / "audits" / f"second-{stamp}" / "waves").glob("*.json")).read_text())[
            "facts"
        ]["totals"]
        n = audited["audited"]
        print(f"articles {n:,}, claims {audited['claims']:,}, verdicts {audited['verdicts']:,}")
        print(f"articles/s, evidence fetched     {n / first:.1f}   (start of Ray included)")
        print(f"articles/s, evidence cached      {n / second:.1f}   (start of Ray included)")
        print(f"CPU ms an article, cached        {1000 * cpu / n:.1f}")
        print("outcomes" + (folder / f"second-{stamp}.log").read_text().partition("\noutcomes")[2])
        print(scored(run, f"second-{stamp}", args.world))


if __name__ == "__main__":
    main()
