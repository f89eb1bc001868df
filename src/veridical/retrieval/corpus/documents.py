"""Documents of a file, with the texts that offsets refer to."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from veridical.core.records import clean_text
from veridical.io.formats import Cursor, jsonl_rows
from veridical.io.problems import RowProblem
from veridical.retrieval.corpus.files import Entry, Skipped, Unreadable, opened
from veridical.text.display import shown

#: Code points of one document.
LARGEST_TEXT = 32_000_000
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16's, which is its prefix
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CHARSET = re.compile(rb"<meta\s[^>]{0,200}charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_ENCODING_SEARCH_BYTES = 4096  # of a page, for its declared encoding
_CP1252 = frozenset({"iso-8859-1", "latin1", "iso8859-1", "ascii", "us-ascii"})
_ID = ("id", "_id", "docid", "doc_id")
_TEXT = ("text", "contents", "content", "body", "passage")
_TITLE = "title"


@dataclass(frozen=True)
class Document:
    """A text of a corpus.

    Attributes:
        name: the file's name, for a row followed by its id.
        title: its own title, or empty.
        text: the text; passage offsets are code points in it.
        pages: start of each page in the text; empty if there are no pages.
    """

    name: str
    title: str
    text: str
    pages: tuple[int, ...] = ()


def read(entry: Entry) -> Iterator[Document | Skipped]:
    """Yield the documents of a file: one, or one per row.

    A row of JSON lines has ``text`` (or ``contents``, ``content``, ``body``, ``passage``). It may
    have ``id`` (``_id``, ``docid``, ``doc_id``; default: the line number) and ``title``.

    Raises:
        Unreadable: the file cannot be read.
    """
    if entry.kind == "rows":
        yield from _rows(entry)
        return
    with opened(entry) as file:
        try:
            data = file.read()
        except OSError as e:
            raise Unreadable(f"cannot be read: {e.strerror}") from None
    yield _document(entry, data)


def _document(entry: Entry, data: bytes) -> Document:
    title = ""
    pages: tuple[int, ...] = ()
    if entry.kind == "pdf":
        from veridical.retrieval.corpus.pdf import read_pdf

        title, text, pages = read_pdf(data, LARGEST_TEXT)
    elif entry.kind == "html":
        from veridical.retrieval.corpus.html import read_html

        title, text = read_html(decoded(data, _declared(data)))
    else:
        text = decoded(data)
    return checked(Document(entry.name, title, text, pages))


def checked(document: Document) -> Document:
    """Return ``document`` if a record can hold its text.

    Raises:
        Unreadable: it cannot, or the text is empty or too long.
    """
    if not document.text.strip():
        raise Unreadable("it has no text")
    if len(document.text) > LARGEST_TEXT:
        raise Unreadable(
            f"{len(document.text):,} characters of text, over the limit of {LARGEST_TEXT:,}"
        )
    try:
        clean_text(document.text)
    except ValueError as e:
        raise Unreadable(f"not a text: {e}") from None
    return document


def decoded(data: bytes, declared: str | None = None) -> str:
    """Decode ``data`` by its byte-order mark, which is dropped, else ``declared``, else UTF-8.

    Raises:
        Unreadable: it cannot be decoded. Other encodings are not guessed, as a wrong guess looks
            like text.
    """
    for mark, name in _BOMS:
        if data.startswith(mark):
            return _by(data[len(mark) :], name)
    if declared is not None:
        try:
            declared = codecs.lookup(declared).name
        except (LookupError, ValueError):
            raise Unreadable(f"unknown encoding: {declared}") from None
        return _by(data, declared)
    if b"\x00" in data:
        raise Unreadable("binary data, not text")
    return _by(data, "utf-8")


def _by(data: bytes, name: str) -> str:
    try:
        return data.decode(name)
    except UnicodeDecodeError as e:
        raise Unreadable(
            f"not {name.upper()} at byte {e.start:,}; save the file as UTF-8"
        ) from None
    except (LookupError, ValueError) as e:  # a codec without text output, such as base64
        raise Unreadable(f"not readable as {name}: {e}") from None


def _declared(data: bytes) -> str | None:
    """Return the declared encoding of a page, as in browsers (WHATWG Encoding, section 4.2)."""
    charset = _CHARSET.search(data[:_ENCODING_SEARCH_BYTES])
    if charset is None:
        return None
    name = charset[1].decode("ascii", "replace").lower()
    return "cp1252" if name in _CP1252 else name


def _rows(entry: Entry) -> Iterator[Document | Skipped]:
    with opened(entry) as file:
        for line, row in jsonl_rows(file, Cursor()):
            place = f"{entry.name}, line {line}"
            if isinstance(row, RowProblem):
                yield Skipped(place, row.error)
            elif row is not None:
                try:
                    yield _row(entry.name, line, row)
                except Unreadable as e:
                    yield Skipped(place, str(e))


def _row(file: str, line: int | None, row: dict[str, Any]) -> Document:
    column = next((c for c in _TEXT if c in row), None)
    if column is None:
        raise Unreadable(f"the row has no {_TEXT[0]}")
    text, title = row[column], row.get(_TITLE)
    if not isinstance(text, str):
        raise Unreadable(f"{column} must be a text, not {shown(text)}")
    identifier = next((row[c] for c in _ID if row.get(c) is not None), line)
    if isinstance(identifier, bool) or not isinstance(identifier, (str, int)):
        raise Unreadable(f"the id must be a text or an integer, not {shown(identifier)}")
    name = str(identifier)[:200]
    return checked(Document(f"{file}:{name}", title if isinstance(title, str) else "", text))
