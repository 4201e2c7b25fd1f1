"""What is made of a document without looking at any other: its text, its id, what tells copies, and
its quality.

A batch of raw documents goes in as an Arrow table (``RAW``) and comes out as one (``PREPARED``),
row by row in the same order.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from llmpedia.probe.corpus.duplicates import Signatures, folded_key
from llmpedia.probe.corpus.extract import ExtractedText, PageReader
from llmpedia.probe.corpus.quality import Quality
from llmpedia.probe.documents import DocumentFate, document_id
from llmpedia.probe.settings.build import CorpusSection
from llmpedia.store.input_files import half_character

Row = dict[str, Any]

# ``fatal``: of a row that ends the reading, {"kind", "message"} of the error.
RAW = pa.schema(
    [
        ("url", pa.string()),
        ("source", pa.string()),
        ("text", pa.string()),
        ("page", pa.binary()),
        ("charset", pa.string()),
        ("error", pa.string()),
        ("fatal", pa.string()),
    ]
)
PREPARED = pa.schema(
    [
        ("url", pa.string()),
        ("source", pa.string()),
        ("document_id", pa.string()),
        ("text", pa.string()),  # null where the fate is known
        ("fate", pa.string()),
        ("reason", pa.string()),
        ("folded", pa.binary()),
        ("signature", pa.binary()),
        ("quality", pa.float64()),
        ("fatal", pa.string()),
    ]
)


class Preparer:
    """Prepares batches. Loads what is needed as it is first needed; for one thread."""

    def __init__(self, settings: CorpusSection) -> None:
        """Load the classifier, where one is set.

        Raises:
            InputError: it cannot be used.
        """
        self._settings = settings
        self._pages = PageReader()
        self._signatures = Signatures(settings)
        self._quality = Quality(settings.quality) if settings.quality.model else None

    def __call__(self, batch: pa.Table) -> pa.Table:
        """``PREPARED`` rows of ``RAW`` rows."""
        return pa.Table.from_pylist([self._row(raw) for raw in batch.to_pylist()], schema=PREPARED)

    def close(self) -> None:
        """End the page reader's process."""
        self._pages.close()

    def _row(self, raw: Row) -> Row:
        row: Row = dict.fromkeys(PREPARED.names) | {name: raw[name] for name in ("url", "source", "fatal")}
        if raw["fatal"]:
            return row
        read_text = self._text(raw)
        if read_text.text is None:
            return {**row, "fate": DocumentFate.UNREADABLE, "reason": read_text.reason}
        text = read_text.text
        row["document_id"] = document_id(raw["url"], text)
        if len(text) < max(1, self._settings.least_chars):
            return {**row, "fate": DocumentFate.TOO_SHORT}
        if len(text) > self._settings.most_chars:
            return {**row, "fate": DocumentFate.TOO_LONG}
        quality = self._quality.score(text) if self._quality else None
        return {
            **row,
            "text": text,
            "folded": folded_key(text),
            "signature": self._signatures.of(text),
            "quality": quality,
        }

    def _text(self, raw: Row) -> ExtractedText:
        if raw["error"]:
            return ExtractedText(reason=raw["error"])
        page_text = (
            ExtractedText(raw["text"])
            if raw["page"] is None
            else self._pages.read(raw["page"], raw["charset"])
        )
        if page_text.text is None:
            return page_text
        text = page_text.text.replace("\x00", "").strip()
        return (
            ExtractedText(reason="its charset gives half a character")
            if half_character(text)
            else ExtractedText(text)
        )


def batches(rows: Iterable[Row], documents: int = 512, size: int = 4_000_000) -> Iterator[pa.Table]:
    """Raw rows in ``RAW`` tables of at most so many documents, and of about ``size`` bytes."""
    some: list[Row] = []
    held = 0
    for row in rows:
        some.append(row)
        held += len(row["text"] or "") + len(row["page"] or b"")
        if len(some) >= documents or held >= size:
            yield pa.Table.from_pylist(some, schema=RAW)
            some = []
            held = 0
    if some:
        yield pa.Table.from_pylist(some, schema=RAW)
