"""Corpora that the tests write: prose of a given seed, and files of each kind."""

import gzip
import io
import random

from fastwarc.stream_io import GzipWriter
from fastwarc.warc import WarcRecord, WarcRecordType

from llmpedia.probe.corpus.read import read_corpus
from llmpedia.probe.settings.build import CorpusSection

WORDS = [a + b for a in "ka lo mi ru te sa".split() for b in "nor vel dun pas rit gom".split()]


def prose(seed, words=80):
    rng = random.Random(seed)
    return " ".join(rng.choice(WORDS) for _ in range(words))


def section(source, **fields):
    return CorpusSection(source=str(source), **fields)


def read(source, **fields):
    return list(read_corpus(section(source, **fields)))


def page(text):
    menu = "".join(f"<li><a href='/{i}'>Link {i}</a></li>" for i in range(20))
    return (
        f"<html><body><nav><ul>{menu}</ul></nav><article><h1>A page</h1><p>{text}</p></article></body></html>"
    )


def record(stream, url, body, kind="response", content_type="text/html", status="200 OK", more=""):
    made = WarcRecord()
    made.init_headers(record_type=getattr(WarcRecordType, kind))
    made.headers["WARC-Target-URI"] = url
    made.headers["Content-Type"] = (
        "application/http; msgtype=response" if kind == "response" else content_type
    )
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n{more}\r\n".encode()
        if kind == "response"
        else b""
    )
    made.set_bytes_content(head + body)
    made.write(stream, checksum_data=True)


def archive(records, compressed=True):
    """Bytes of a WARC file. ``records``: arguments of ``record``."""
    held = io.BytesIO()
    stream = GzipWriter(held) if compressed else held
    for one in records:
        record(stream, **one)
    if compressed:
        stream.close()
    return held.getvalue()


def dictionary_files(folder, name, entries, lines=()):
    """A dictd dictionary. ``entries``: (headwords, text); ``lines``: of the index, beside those of
    the entries.
    """
    texts = b""
    index = list(lines)
    for words, text in entries:
        body = text.encode()
        index += [f"{word}\t{digits(len(texts))}\t{digits(len(body))}" for word in words]
        texts += body
    (folder / f"{name}.index").write_text("\n".join(index) + "\n")
    (folder / f"{name}.dict.dz").write_bytes(gzip.compress(texts))
    return folder / f"{name}.index"


def digits(number):
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    found = alphabet[number % 64]
    while number := number // 64:
        found = alphabet[number % 64] + found
    return found
