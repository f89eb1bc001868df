"""Server-sent events: parsing of byte chunks, and rendering."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from veridical.io.lines import from_json
from veridical.io.problems import RowProblem

#: Maximum bytes of one event.
LONGEST_EVENT = 8 * 2**20
#: Comment without text, which keeps a connection alive.
KEEP_ALIVE = b":\n\n"
_END = re.compile(rb"(?:\r\n|\r(?!\n)|\n){2}")
_LINE = re.compile(r"\r\n|\r|\n")


class UnreadableEvent(Exception):
    """Event that does not follow its API, so that its content cannot be checked."""


@dataclass(frozen=True)
class SseEvent:
    """Event as received.

    Attributes:
        raw: its bytes, with the blank line that ends it.
    """

    raw: bytes

    @cached_property
    def _fields(self) -> tuple[str | None, str | None]:
        try:
            text = self.raw.decode("utf-8")
        except UnicodeDecodeError:
            raise UnreadableEvent("an event is not UTF-8") from None
        name, data = None, []
        for line in _LINE.split(text.removeprefix("\ufeff")):
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "data":
                data.append(value)
            elif field == "event":
                name = value
        return name, "\n".join(data) if data else None

    @property
    def name(self) -> str | None:
        """Return its field ``event``."""
        return self._fields[0]

    @property
    def data(self) -> str | None:
        """Return its field ``data``, several lines joined; None for a comment or a keep-alive."""
        return self._fields[1]

    @cached_property
    def object(self) -> dict[str, Any]:
        """Return the data as a JSON object.

        Raises:
            Unreadable: it is not a JSON object.
        """
        try:
            value = from_json((self.data or "").encode("utf-8"), "not JSON")
        except RowProblem:
            raise UnreadableEvent("an event is not JSON") from None
        if not isinstance(value, dict):
            raise UnreadableEvent("an event is not a JSON object")
        return value


class Events:
    """Splitter of bytes into events, independent of chunk boundaries."""

    def __init__(self, longest: int = LONGEST_EVENT) -> None:
        self._buffer = bytearray()
        self._from = 0
        self._longest = longest

    def feed(self, piece: bytes) -> list[SseEvent]:
        """Add a chunk; return the events that are complete with it.

        Raises:
            Unreadable: an event is too long.
        """
        self._buffer += piece
        found = []
        while True:
            match = _END.search(self._buffer, self._from)
            # a last CR may be the first half of CRLF
            if match is None or (match.end() == len(self._buffer) and match[0].endswith(b"\r")):
                break
            found.append(SseEvent(bytes(self._buffer[: match.end()])))
            del self._buffer[: match.end()]
            self._from = 0
        self._from = max(0, len(self._buffer) - 3)
        if len(self._buffer) > self._longest:
            raise UnreadableEvent(f"an event has over {self._longest:,} bytes")
        return found

    def rest(self) -> bytes:
        """Return the bytes of an unfinished event.

        They are an event if only its last newline is missing (see :meth:`last`).
        """
        return bytes(self._buffer)

    def last(self) -> list[SseEvent]:
        """Return the final event if only its blank line is missing."""
        rest = self.rest()
        if not rest.strip():
            return []
        if _END.search(rest + b"\n") or rest.endswith((b"\r", b"\n")):
            self._buffer.clear()
            return [SseEvent(rest.rstrip(b"\r\n") + b"\n\n")]
        return []


async def events_of(pieces: AsyncIterator[bytes]) -> AsyncIterator[SseEvent]:
    """Yield the events of a stream of bytes.

    Raises:
        EOFError: it ended within an event.
        Unreadable: an event is too long.
    """
    splitter = Events()
    async for piece in pieces:
        for event in splitter.feed(piece):
            yield event
    for event in splitter.last():
        yield event
    if splitter.rest().strip():
        raise EOFError("the upstream's answer ended within an event")


def rendered(data: Mapping[str, Any] | str, name: str | None = None) -> bytes:
    """Render an event with this data."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {text}\n\n".encode("utf-8", "surrogatepass")


def comment(data: Mapping[str, Any]) -> bytes:
    """Render a comment, which clients skip: ``: veridical {...}``."""
    return f": veridical {json.dumps(data)}\n\n".encode("ascii")
