"""Real text that disagrees, for ``configs/probe-build-dictionaries.yaml``: terms that two of
Debian's dictionaries describe.

``python benchmarks/dictionaries.py OUT [--terms N]`` downloads dict-foldoc, dict-jargon and
dict-gcide (20 MB), installs nothing, and writes the entries of N terms that at least two of them
have (in order of a hash, so that another N begins with the same ones) as
``OUT/documents.jsonl.gz``. FOLDOC is under the GNU FDL 1.1, the Jargon File in the public domain,
GCIDE under the GNU GPL.
"""

import argparse
import gzip
import hashlib
import json
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

from llmpedia.entities.keys import canonical_key
from llmpedia.probe.corpus.read import read_corpus
from llmpedia.probe.documents import DocumentFate
from llmpedia.probe.settings.build import CorpusSection

NAMES = ("foldoc", "jargon", "gcide")


def fetch(name: str, folder: Path) -> Path:
    """Unpack one dictionary under ``folder``; its index file."""
    subprocess.run(["apt-get", "download", f"dict-{name}"], cwd=folder, check=True, capture_output=True)
    deb = next(folder.glob(f"dict-{name}_*.deb"))
    subprocess.run(["dpkg-deb", "-x", str(deb), str(folder / name)], check=True)
    return folder / name / "usr" / "share" / "dictd" / f"{name}.index"


def entries(index: Path) -> dict[str, dict[str, str]]:
    """Canonical key of a headword -> its entry, the first one where there are several."""
    settings = CorpusSection(source=str(index), kind="dictd", least_chars=200, most_chars=2000)
    found: dict[str, dict[str, str]] = {}
    for row in read_corpus(settings):
        if row["fate"] == DocumentFate.KEPT:
            headword = row["url"].rpartition("/")[2]
            found.setdefault(canonical_key(headword), {"url": row["url"], "text": row["text"]})
    return found


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--terms", type=int, default=150)
    args = parser.parse_args()
    told: dict[str, list[dict[str, str]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            own = entries(fetch(name, Path(folder)))
            print(f"{name}: {len(own)} entries of 200 to 2,000 characters")
            for key, entry in own.items():
                told[key].append(entry)
    shared = sorted(
        (k for k, found in told.items() if len(found) > 1),
        key=lambda k: hashlib.sha256(k.encode()).hexdigest(),
    )
    rows = [row for key in shared[: args.terms] for row in told[key]]
    args.out.mkdir(parents=True, exist_ok=True)
    with gzip.GzipFile(args.out / "documents.jsonl.gz", "wb", mtime=0) as file:
        file.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())
    print(
        f"{len(shared)} terms are in two or more; wrote {len(rows)} entries of "
        f"{min(args.terms, len(shared))} to {args.out}"
    )


if __name__ == "__main__":
    main()
