"""What a build has committed so far, as the next step needs it."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pyarrow.compute as pc

from llmpedia.probe.documents import DocumentFate
from llmpedia.store.run_folder import RunFolder

Row = dict[str, Any]


class DocumentTexts:
    """Texts and ids of the kept documents by number. Memory: the texts once, as Arrow holds them."""

    def __init__(self, run: RunFolder) -> None:
        read = run.read("documents", columns=["number", "document_id", "url", "text", "fate"])
        kept = read.filter(pc.equal(read["fate"], str(DocumentFate.KEPT)))
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
    """A build's tables, read when they are first needed; a step reads only what earlier, finished
    steps have committed.
    """

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
        rows: list[Row] = self.run.read(table, columns=columns).to_pylist()
        return rows

    def labelled(self) -> Iterator[tuple[Row, list[Row], list[str]]]:
        """(knowledge point, sightings, keys of the mentions) of each document, in order; memory
        holds one commit.
        """
        for wave in (m.wave for m in self.run.manifests if m.facts["step"] == "knowledge"):
            seen: dict[int, list[Row]] = {}
            for row in self.run.read("sightings", [wave]).to_pylist():
                seen.setdefault(row["number"], []).append(row)
            named: dict[int, set[str]] = {}
            mentions = self.run.read("mentions", [wave], ["number", "key"])
            for number, key in zip(mentions["number"].to_pylist(), mentions["key"].to_pylist(), strict=True):
                named.setdefault(number, set()).add(key)
            for point in self.run.read("knowledge_points", [wave]).to_pylist():
                number = point["number"]
                yield point, seen.get(number, []), sorted(named.get(number, ()))

    @cached_property
    def texts(self) -> DocumentTexts:
        """Of the documents."""
        return DocumentTexts(self.run)

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
        """Canonical key of a pair's subject -> how it is written where it is first seen; memory
        holds one commit's mentions.
        """
        surfaces: dict[str, str] = {}
        wanted = {pair["subject"] for pair in self.pairs}
        for table, key in (("sightings", "subject"), ("mentions", "key")):
            for wave in range(len(self.run.manifests)):
                read = self.run.read(table, [wave], [key, "surface"])
                for subject, surface in zip(read[key].to_pylist(), read["surface"].to_pylist(), strict=True):
                    if subject in wanted:
                        surfaces.setdefault(subject, surface)
        return surfaces

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
