"""What a build has committed so far, as the next step needs it."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from llmpedia.probe.documents import DocumentFate
from llmpedia.store.runfolder import RunFolder

Row = dict[str, Any]


class Texts:
    """Texts and ids of the kept documents by number. Memory: the texts once, as Arrow holds them."""

    def __init__(self, run: RunFolder) -> None:
        read = run.read("documents", columns=["number", "document_id", "url", "text", "fate"])
        kept = read.filter(np.array([fate == DocumentFate.KEPT for fate in read["fate"].to_pylist()], dtype=bool))
        self._rows = kept.combine_chunks()
        self._place = {number: place for place, number in enumerate(kept["number"].to_pylist())}

    @property
    def numbers(self) -> list[int]:
        """Of all kept documents, in order."""
        return list(self._place)

    def text(self, number: int) -> str:
        """A document's text."""
        return str(self._rows["text"][self._place[number]].as_py())

    def url(self, number: int) -> str:
        """Its address."""
        return str(self._rows["url"][self._place[number]].as_py())

    def document_id(self, number: int) -> str:
        """Its hash."""
        return str(self._rows["document_id"][self._place[number]].as_py())


class BuildState:
    """A build's tables, read when they are first needed; a step reads only what earlier, finished steps have committed."""

    def __init__(self, run: RunFolder) -> None:
        self.run = run

    def committed(self, step: str) -> int:
        """Items of a step that are committed."""
        return sum(m.facts["items"] for m in self.run.manifests if m.facts["step"] == step)

    def finished(self, step: str) -> bool:
        """Whether a step that is known to end by its own word has done so."""
        return any(m.facts["step"] == step and m.facts["last"] for m in self.run.manifests)

    def rows(self, table: str, columns: list[str] | None = None) -> list[Row]:
        """All committed rows of a table."""
        found: list[Row] = self.run.read(table, columns=columns).to_pylist()
        return found

    def by_document(self, table: str) -> Iterator[tuple[int, list[Row]]]:
        """(number, rows) of documents that have some, in order, a commit at a time."""
        for wave in range(len(self.run.manifests)):
            told: dict[int, list[Row]] = {}
            for row in self.run.read(table, [wave]).to_pylist():
                told.setdefault(row["number"], []).append(row)
            yield from told.items()

    @cached_property
    def texts(self) -> Texts:
        """Of the documents."""
        return Texts(self.run)

    @cached_property
    def pairs(self) -> list[Row]:
        """Candidate pairs, in order."""
        return self.rows("pairs")

    @cached_property
    def questions(self) -> list[Row]:
        """Groups whose questions could be written, in order."""
        return [row for row in self.rows("questions") if row["fate"] == "kept"]

    @cached_property
    def surfaces(self) -> dict[str, str]:
        """Canonical key of a subject -> how it is written where it is first seen."""
        found: dict[str, str] = {}
        for row in self.rows("sightings", ["subject", "surface"]):
            found.setdefault(row["subject"], row["surface"])
        for row in self.rows("mentions", ["key", "surface"]):
            found.setdefault(row["key"], row["surface"])
        return found

    @cached_property
    def paths(self) -> dict[int, list[str]]:
        """Document -> its knowledge point."""
        return {row["number"]: row["path"] for row in self.rows("knowledge_points", ["number", "path"])}

    @cached_property
    def graphs(self) -> dict[int, Row]:
        """Subgraphs by number."""
        return {row["subgraph_id"]: row for row in self.rows("subgraphs")}

    def documents_of(self, subgraph_id: int) -> list[int]:
        """All documents of a subgraph, in order."""
        return sorted(n for side in self.graphs[subgraph_id]["sides"] for n in side["documents"])
