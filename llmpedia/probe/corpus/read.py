"""All documents of a corpus in order, each with what became of it: rows of the table ``documents``.

Fates in order: unreadable, too short or too long, a copy (exact, near) of an earlier document, on
the wrong side of the quality threshold, kept. Copies are looked for among all readable documents of
allowed length, so that what copies a page that the classifier leaves out is a copy all the same.
"""

from collections.abc import Iterator
from typing import Any

from llmpedia.probe.corpus.duplicates import Seen
from llmpedia.probe.corpus.quality import Quality, kept
from llmpedia.probe.corpus.readers import CorpusFile, corpus_files
from llmpedia.probe.corpus.stream import prepared_rows
from llmpedia.probe.documents import DocumentFate
from llmpedia.probe.settings.build import CorpusSection

Row = dict[str, Any]


def read_corpus(settings: CorpusSection) -> Iterator[Row]:
    """Rows of all documents of the source, numbered from 0 in order of (file, place in file), at
    most ``settings.documents``.

    Raises:
        InputError: at once where there is nothing to read or the classifier cannot be used; later
        where a file is damaged.
        EngineError: the process that reads pages does not start.
    """
    files = corpus_files(settings)
    if settings.quality.model:
        Quality(settings.quality)
    return _rows(files, settings)


def _rows(files: list[CorpusFile], settings: CorpusSection) -> Iterator[Row]:
    seen = Seen(settings)
    for number, row in enumerate(prepared_rows(files, settings)):
        yield _row(number, row, seen, settings)


def _row(number: int, prepared: Row, seen: Seen, settings: CorpusSection) -> Row:
    fate = prepared["fate"]
    copied = None
    reason = prepared["reason"]
    if fate is None:
        copy = seen.original(number, prepared["folded"], prepared["signature"])
        fate, copied = copy or (DocumentFate.KEPT, None)
    if fate == DocumentFate.KEPT and settings.quality.model:
        score = prepared["quality"]
        if score is None or not kept(score, settings.quality):
            fate = DocumentFate.QUALITY
            reason = "the classifier says nothing of it" if score is None else None
    return {
        "number": number,
        "document_id": prepared["document_id"],
        "url": prepared["url"],
        "source": prepared["source"],
        "text": prepared["text"] if fate == DocumentFate.KEPT else None,
        "quality": prepared["quality"],
        "fate": str(fate),
        "reason": reason,
        "duplicate_of": copied,
    }
