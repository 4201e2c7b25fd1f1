"""Pages and texts of WARC archives: responses that are HTML, and conversions (WET), which are plain
text.

Every other record, an image or an error page say, is no document. Reading goes through each of them
all the same: an archive that ends within one is damaged, which its reader would take for its end.
"""

from collections.abc import Iterator
from typing import Any, Literal

import pyarrow as pa

from llmpedia.probe.corpus.extract import LARGEST
from llmpedia.probe.corpus.raw import LARGEST_TEXT, Raw
from llmpedia.store.input_files import reason
from llmpedia.web.page import decode

_HEAD = 1 << 16  # bytes that hold the HTTP header
_ENCODED = 16_000_000  # of a response as it was sent
_HTML = frozenset({"text/html", "application/xhtml+xml"})


class _Told:
    """A stream that knows how far it has been read; those that decompress do not."""

    def __init__(self, stream: pa.NativeFile) -> None:
        self._stream = stream
        self._at = 0

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes."""
        data: bytes = self._stream.read(size)
        self._at += len(data)
        return data

    def tell(self) -> int:
        """Bytes read."""
        return self._at


def warc_documents(stream: pa.NativeFile) -> Iterator[Raw]:
    """Documents of an archive that is already decompressed.

    Raises:
        OSError, EOFError: it is damaged.
    """
    from fastwarc.warc import ArchiveIterator

    readers = {"response": _response, "conversion": _conversion}
    counted: Any = _Told(stream)
    for record in ArchiveIterator(counted, parse_http=False):
        if "Content-Length" not in record.headers:
            raise EOFError("it ends within the header of a record")
        size = record.content_length
        read = readers.get((record.headers.get("WARC-Type") or "").lower())
        document, taken = read(record) if read else (None, 0)
        if taken + record.consume() < size:
            raise EOFError("it ends within a record")
        if document is not None:
            yield document


def _conversion(record: Any) -> tuple[Raw | None, int]:
    """The document and how many bytes of the record were taken for it."""
    if not str(record.headers.get("Content-Type", "")).lower().startswith("text/plain"):
        return None, 0
    url = _url(record)
    if record.content_length > LARGEST_TEXT:
        return Raw(url, error=f"text of more than {LARGEST_TEXT:,} bytes"), 0
    body = _exactly(record.reader, record.content_length)
    return Raw(url, text=decode(body, "utf-8")), len(body)


def _response(record: Any) -> tuple[Raw | None, int]:
    """As :func:`_conversion`."""
    if not record.is_http:
        return None, 0
    url = _url(record)
    head = _exactly(record.reader, _HEAD)
    try:
        sent = _http(head, "none")
    except OSError as e:
        return Raw(url, error=f"no HTTP response ({reason(e)})"), len(head)
    if (sent.http_content_type or "").lower() not in _HTML or not 200 <= (
        sent.http_headers.status_code or 0
    ) < 300:
        return None, len(head)
    if record.content_length > _ENCODED:
        return Raw(url, error=f"a response of more than {_ENCODED:,} bytes"), len(head)
    body = head + _exactly(record.reader, record.content_length - len(head))
    try:
        page = _exactly(_http(body, "all").reader, LARGEST + 1)
    except OSError as e:
        return Raw(url, error=f"a response that cannot be decoded ({reason(e)})"), len(body)
    return Raw(url, page=page, charset=sent.http_charset), len(body)


def _url(record: Any) -> str | None:
    """The address; some writers of version 1.0 put it between angle brackets, as that standard's
    grammar does.
    """
    url: str | None = record.headers.get("WARC-Target-URI")
    return url[1:-1] if url and url[0] == "<" and url[-1] == ">" else url


def _http(message: bytes, undo: Literal["none", "all"]) -> Any:
    """A record of its own for a response, so that one which cannot be decoded does not end the
    archive's.
    """
    from fastwarc.warc import WarcRecord, WarcRecordType

    record = WarcRecord()
    record.init_headers(record_type=WarcRecordType.response)
    record.is_http = True
    record.set_bytes_content(message)
    record.parse_http(auto_decode=undo)
    return record


def _exactly(reader: Any, size: int) -> bytes:
    """``size`` bytes, or all there are."""
    parts = []
    left = size
    while left > 0 and (part := reader.read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
