"""Releases as files: a dataset folder that ``datasets.load_dataset`` reads as it lies, or JSON
lines.
"""

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from llmpedia.review_csv import write_rows
from llmpedia.site.export.atomic_output import need_free, new_file, new_folder
from llmpedia.site.export.redaction import masked_value
from llmpedia.site.export.release import RELEASED, Filter, Row, Rows, released
from llmpedia.site.pages.run_summary import source_name
from llmpedia.store.kinds import RunKind
from llmpedia.store.run_folder import RunFolder

_ROWS_A_FILE = 20_000


@dataclass(frozen=True)
class Released:
    """What was written. ``private``: (table, kind) -> hits; ``listed``: where they stand, null:
    there are none.
    """

    rows: dict[str, int]
    private: Counter[tuple[str, str]]
    listed: Path | None


def write_dataset(
    run: RunFolder,
    audits: Sequence[RunFolder],
    out: Path,
    tables: Sequence[str],
    licence: str,
    private: Filter,
) -> Released:
    """A folder with ``README.md`` (the card) and ``TABLE/00000.parquet``; whole or not there.

    Raises:
        InputError: something is there already, or a file of the run is damaged.
    """
    rows: Counter[str] = Counter()
    with new_folder(out) as folder:
        writers: dict[str, _Shards] = {}
        for table, piece in released(run, audits, tables, private):
            rows[table] += len(piece)
            if table not in writers:
                writers[table] = _Shards(folder / table, RELEASED[table])
            writers[table].write(piece)
        for writer in writers.values():
            writer.close()
        (folder / "README.md").write_text(_card(run, audits, rows, licence, private), encoding="utf-8")
    return Released(dict(rows), private.counts, list_private(private, out))


def write_jsonl(run: RunFolder, audits: Sequence[RunFolder], out: Path, private: Filter) -> Released:
    """An article a line, with its claims; packed where the name ends in ``.gz``; whole or absent.

    Raises:
        InputError: something is there already, or a file of the run is damaged.
    """
    need_free(out)
    claims: dict[int, Rows] = {}
    n_claims = n_articles = 0
    for _, piece in released(run, audits, ["claims"], private):
        for row in piece:
            n_claims += 1
            claims.setdefault(row.pop("entity_id"), []).append(row)
    with new_file(out) as raw, _packed(raw, out.suffix == ".gz") as file:
        for _, piece in released(run, audits, ["articles"], private):
            for row in piece:
                n_articles += 1
                line = json.dumps({**row, "claims": claims.get(row["entity_id"], [])}, ensure_ascii=False)
                file.write(f"{line}\n".encode())
    return Released({"articles": n_articles, "claims": n_claims}, private.counts, list_private(private, out))


class _Shards:
    """Parquet files of one table, a new one once the last is full."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self._folder = folder
        self._schema = schema
        self._writer: Any = None
        self._rows = self._files = 0
        folder.mkdir()

    def write(self, rows: Rows) -> None:
        if self._writer is None or self._rows >= _ROWS_A_FILE:
            self.close()
            self._writer = pq.ParquetWriter(
                self._folder / f"{self._files:05d}.parquet", self._schema, compression="zstd"
            )
            self._files += 1
            self._rows = 0
        self._writer.write_table(pa.Table.from_pylist(rows, schema=self._schema))
        self._rows += len(rows)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


@contextmanager
def _packed(raw: IO[bytes], pack: bool) -> Iterator[IO[bytes] | gzip.GzipFile]:
    if not pack:
        yield raw
        return
    with gzip.GzipFile(
        "", "wb", fileobj=raw, mtime=0
    ) as packed:  # no name and no time: same rows, same bytes
        yield packed


def list_private(private: Filter, out: Path) -> Path | None:
    """The hits for the maker's eyes, beside the release."""
    if not private.found:
        return None
    path = out.with_name(f"{out.name}.private.csv")
    write_rows(path, private.found)
    return path


def _card(
    run: RunFolder, audits: Sequence[RunFolder], rows: Counter[str], licence: str, private: Filter
) -> str:
    configs = [
        {
            "config_name": table,
            "data_files": f"{table}/*.parquet",
            **({"default": True} if table == "articles" else {}),
        }
        for table in rows
    ]
    head = {
        "license": licence,
        "task_categories": ["text-generation"],
        "tags": ["llmpedia"] if _imported(run) else ["llmpedia", "synthetic"],
        "size_categories": [_size(rows["articles"])],
        "configs": configs,
    }
    identity = _identity(run, private)
    lines = [
        f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---\n",
        _told(run, identity, bool(rows["claims"]), private),
        _facts(run, identity, audits, licence),
        "## Tables\n",
        *(_columns(table, rows[table]) for table in rows),
        "## Private information\n",
        _filtered(private),
        "## Configuration\n",
        # Indented: no line of a value can end it, as it could end a fence.
        indent(yaml.safe_dump(identity, sort_keys=False, allow_unicode=True), "    "),
    ]
    return "\n".join(lines)


def _imported(run: RunFolder) -> bool:
    return run.kind == RunKind.IMPORTED


def _told(run: RunFolder, identity: Row, claims: bool, private: Filter) -> str:
    """Title and first sentences. ``claims``: the table is part of the release."""
    walk = identity["run"]
    model = _inline(identity["engine"]["model"])
    but = " but for what the table `claims` says" if claims else ""
    if _imported(run):
        name = source_name(str(run.description()["config"]["texts"]))
        texts = _inline(masked_value(name) if private.policy == "mask" else name)
        return (
            f"# Articles of {model}, imported from {texts}\n\nAnother encyclopedia's texts as they "
            f"stood there. "
            f"**Nothing in them is checked**{but}.\n"
        )
    first = walk.get("root_topic") or walk["seed"]
    begun = (
        f"starting from {_inline(first)} and following its own links"
        if first
        else "on titles that it was given"
    )
    return (
        f"# What {model} writes from memory\n\nArticles written by a language model without any "
        f"source, {begun}. "
        f"**Nothing in them is checked**{but}; read them as what the model holds to be true.\n"
    )


def _size(n: int) -> str:
    bounds = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
    return next((name for most, name in bounds if n < most), "1M<n<10M")


def _inline(text: Any) -> str:
    """In one line, with nothing that Markdown or HTML would act on."""
    line = " ".join(str(text).split())
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#&!$~" else c for c in line)


def _identity(run: RunFolder, private: Filter) -> Row:
    identity: Row = run.description()["identity"]
    return masked_value(identity) if private.policy == "mask" else identity


def _facts(run: RunFolder, identity: Row, audits: Sequence[RunFolder], licence: str) -> str:
    walk = identity["run"]
    facts = {
        "encyclopedia" if _imported(run) else "model": identity["engine"]["model"],
        "mode": None if _imported(run) else walk["mode"],
        "persona": walk["persona"],
        "prompting": walk["prompting"],
        "self-grounding": walk["self_grounding"],
        "licence": licence,
        "llmpedia": run.description().get("versions", {}).get("llmpedia", "not told"),
        "audits": len(audits),
        "fingerprint of the run": run.fingerprint(),
    }
    return "".join(f"- {name}: {_inline(value)}\n" for name, value in facts.items() if value is not None)


def _columns(table: str, rows: int) -> str:
    lines = [f"### {table} ({rows:,} rows)\n", "| column | type | meaning |", "| --- | --- | --- |"]
    lines += [f"| {f.name} | {f.type} | {f.metadata[b'doc'].decode()} |" for f in RELEASED[table]]
    return "\n".join([*lines, ""])


def _filtered(private: Filter) -> str:
    done = "replaced by a note of its kind" if private.policy == "mask" else "left in"
    counted = [f"- {kind} in {table}: {n}\n" for (table, kind), n in sorted(private.counts.items())]
    listing = "".join(counted) or "Nothing was found.\n"
    return (
        f"E-mail addresses, phone numbers, postal addresses and id numbers that patterns find "
        f"are {done}.\n\n{listing}"
    )
