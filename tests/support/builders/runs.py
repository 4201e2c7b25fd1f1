"""Builders of the unit tests: settings, requests, small disks, and runs committed through the real
code.
"""

import contextlib
import os
import resource
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from llmpedia.config.walk import Config, parse_config
from llmpedia.entities.keys import canonical_key
from llmpedia.materialize.run import describe_run
from llmpedia.stages import Request
from llmpedia.store.journal import JournalWriter
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import RunFolder
from llmpedia.tables import CAP_FATES, TABLES, table

OPENAI = {"kind": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1"}
_PAGE = 4096


def make_config(**sections) -> Config:
    data = {"engine": dict(OPENAI), "embedding": dict(OPENAI)}
    for name, section in sections.items():
        data[name] = {**data.get(name, {}), **section}
    return parse_config(data, "test")


def make_request(text="hello", stage="outline", constraint=None, sampling="{}") -> Request:
    return Request(stage, "m", (("user", text),), constraint, sampling)


def one_line(caught, *parts) -> str:
    """The error's message, which is one line and holds every part."""
    message = str(caught.value)
    assert message.count("\n") == 0, message
    for part in parts:
        assert str(part) in message, message
    return message


@dataclass
class Child:
    """A candidate. ``of``: the entity it is (known, wave_duplicate, duplicate); ``asked``: NER was
    asked.
    """

    name: str
    fate: str = "queued"
    of: str | None = None
    asked: bool | None = None

    @property
    def asked_ner(self) -> bool:
        early = {"self_or_loop", "low_link_score", "known", *CAP_FATES}
        return self.fate not in early if self.asked is None else self.asked


@dataclass
class Visit:
    """A subject of a wave with its candidates."""

    name: str
    children: list[Child] = field(default_factory=list)
    error: str | None = None
    visit: str = "generate"
    expanded: bool | None = None
    lead: str = ""


class Corpus:
    """A run on disk, committed wave by wave; ``vectors``: name -> embedding."""

    def __init__(self, folder: Path, config: Config | None = None, vectors: dict | None = None) -> None:
        self.config = config or make_config()
        self.run = RunFolder.create_or_open(str(folder), describe_run(self.config))
        self.vectors = vectors or {}
        self.ids: dict[str, int] = {}
        self.hops: list[int] = []
        self.candidates = 0

    def seed(self, *names: str) -> "Corpus":
        rows = self._empty()
        for position, name in enumerate(names):
            self._candidate(rows, None, position, Child(name, asked=False), "")
        return self._commit(rows, None, 0)

    def walk(self, *visits: Visit, damage=None) -> "Corpus":
        """Commit a wave; ``damage(rows)`` may change its rows first."""
        rows = self._empty()
        for position, visit in enumerate(visits):
            self._visit(rows, position, visit)
        return self._commit(rows, damage, self.hops[self.ids[visits[0].name]])

    def journal(self, wave: int) -> None:
        """Leave a piece, as every wave has that is not committed and was answered something."""
        JournalWriter(self.run.folder, wave, "w").append([{"key": "k"}])

    def _empty(self) -> dict[str, list[dict]]:
        return {name: [] for name in TABLES}

    def _visit(self, rows, position, v: Visit) -> None:
        n = self.ids[v.name]
        at = {"subject_id": n, "name": v.name, "hop": self.hops[n]}
        asked = f"w{self.run.last_wave + 1} {v.name}"
        capped = any(c.fate in CAP_FATES for c in v.children)
        expanded = v.error is None and not capped if v.expanded is None else v.expanded
        failed = {"error": v.error, "error_stage": v.error and "article"}
        subject = {
            "position": position,
            "visit": v.visit,
            "expanded": expanded,
            "candidates": len(v.children),
        }
        rows["subjects"].append(at | subject | failed)
        if v.visit == "generate":
            rows["completions"] += [self._completion(stage, n, asked) for stage in ("outline", "article")]
        if v.visit == "generate" and v.error is None:
            named = {"outline_completion": f"outline {asked}", "completion": f"article {asked}"}
            text = " ".join(f"[[{c.name}]]" for c in v.children)
            article = {
                "outline": ["One"],
                "wikitext": text,
                "lead": v.lead,
                "words": 1,
                "links": len(v.children),
            }
            rows["articles"].append(dict.fromkeys(TABLES["articles"].names) | at | article | named)
        for place, child in enumerate(v.children):
            self._candidate(rows, n, place, child, asked)
        for stage, column in (("ner", "ner_completion"), ("arbitration", "arbitration_completion")):
            if any(c[column] == f"{stage} {asked}" for c in rows["candidates"]):
                rows["completions"].append(self._completion(stage, n, asked))

    def _candidate(self, rows, parent, position, child: Child, asked: str) -> None:
        key = canonical_key(child.name)
        n = self.candidates
        row = dict.fromkeys(TABLES["candidates"].names) | {
            "candidate_id": n,
            "parent_id": parent,
            "position": position,
        }
        row |= {
            "key": key,
            "name": child.name,
            "mentions": 1,
            "fate": child.fate,
            "sentence": f"On {child.name}.",
        }
        self.candidates += 1
        if child.fate == "queued":
            self.ids[child.name] = row["entity_id"] = len(self.hops)
            hop = 0 if parent is None else self.hops[parent] + 1
            entity = {"parent_id": parent, "hop": hop, "embedding": self.vectors.get(child.name)}
            rows["entities"].append({c: row.get(c) for c in TABLES["entities"].names} | entity)
            self.hops.append(hop)
        elif child.of is not None:
            row["entity_id"] = self.ids[child.of]
        row["ner_completion"] = f"ner {asked}" if child.asked_ner else None
        if child.fate == "duplicate":
            row["arbitration_completion"] = f"arbitration {asked}"
            alias = {"key": key, "name": child.name, "entity_id": row["entity_id"], "candidate_id": n}
            rows["aliases"].append(alias)
        rows["candidates"].append(row)

    def _completion(self, stage, subject, asked) -> dict:
        row = dict.fromkeys(TABLES["completions"].names)
        return row | {
            "key": f"{stage} {asked}",
            "stage": stage,
            "subject_id": subject,
            "model": "m",
            "text": "answer",
        }

    def _commit(self, rows, damage, hop) -> "Corpus":
        if damage:
            damage(rows)
        if rows["completions"]:
            self.journal(len(self.run.manifests))
        with Lease(self.run.folder) as lease:
            tables = {name: table(name, r) for name, r in rows.items()}
            before = self.run.manifests[-1].facts["totals"] if self.run.manifests else {}
            facts = {"hop": hop, "counts": counts_of(rows), "caps": self.config.caps.model_dump()}
            totals = {name: before.get(name, 0) + len(r) for name, r in rows.items()}
            self.run.commit(lease, tables, facts | {"totals": totals})
        return self


def counts_of(rows) -> dict:
    return {
        "subjects": len(rows["subjects"]),
        "articles": len(rows["articles"]),
        "errored": sum(s["error"] is not None for s in rows["subjects"]),
        "candidates": len(rows["candidates"]),
        "fates": dict(sorted(Counter(str(c["fate"]) for c in rows["candidates"]).items())),
    }


def three_waves(folder: Path) -> Corpus:
    """Seed, its article with two children, theirs with a duplicate, a known one and an error."""
    corpus = Corpus(folder).seed("Root")
    corpus.walk(
        Visit(
            "Root",
            [Child("Left"), Child("Right"), Child("Root", "self_or_loop"), Child("army", "ner_rejected")],
        )
    )
    left = Visit(
        "Left", [Child("Leaf"), Child("The Right", "duplicate", "Right"), Child("Right", "known", "Right")]
    )
    return corpus.walk(left, Visit("Right", error="refusal"))


class Disk:
    """A folder on a disk of 1 MB that can be filled and made read-only."""

    hint = "free space"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self, pages_left: int = 0) -> None:
        with contextlib.suppress(OSError), open(self.folder / "filler", "wb", buffering=0) as f:
            while True:
                f.write(bytes(_PAGE))
        size = os.path.getsize(self.folder / "filler")
        os.truncate(self.folder / "filler", size - pages_left * _PAGE)

    def free(self) -> None:
        (self.folder / "filler").unlink(missing_ok=True)

    def read_only(self, on: bool) -> None:
        subprocess.run(["mount", "-o", f"remount,{'ro' if on else 'rw'}", str(self.folder)], check=True)


class LimitedDisk(Disk):
    """Where nothing can be mounted: a limit on the size of a file, and permissions."""

    hint = "cannot be written"

    def fill(self, pages_left: int = 0) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (pages_left * _PAGE, resource.RLIM_INFINITY))

    def free(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    def read_only(self, on: bool) -> None:
        for path, _, _ in os.walk(self.folder):
            os.chmod(path, 0o555 if on else 0o755)
        if on and os.access(self.folder, os.W_OK):
            pytest.fail(
                "this machine can neither mount a tmpfs nor deny itself a write: nothing would be tested"
            )


@contextlib.contextmanager
def small_disk(folder: Path):
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)]
    mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    disk = Disk(folder) if mounted else LimitedDisk(folder)
    try:
        yield disk
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)
        else:
            disk.free()
            disk.read_only(False)
