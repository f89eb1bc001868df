"""Bounded lines of a byte stream, and strict JSON.

A line has at most 10 MB, so that no line can fill the memory.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, BinaryIO

from veridical.io.problems import RowProblem
from veridical.text.display import reason, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_LINE = 10_000_000
_DRAIN = 1 << 20
BOM = b"\xef\xbb\xbf"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
#: Exceptions of gzip on damaged data.
BROKEN_STREAM = (EOFError, zlib.error, OSError)


def read_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes | RowProblem]]:
    """Yield number (from 1) and bytes of every line, without its end; lines are split at ``\
    `` only.

    An overlong line is skipped without being held and yields a problem. So does a broken stream,
    which ends the lines. A byte-order mark at the start is dropped.
    """
    number = 0
    while True:
        number += 1
        try:
            line = stream.readline(LONGEST_LINE + 1)
            if len(line) > LONGEST_LINE and not line.endswith(b"\n"):
                yield number, _skip_line(stream, len(line))
                continue
        except BROKEN_STREAM as e:
            yield number, RowProblem(f"the rest of the file cannot be read: {reason(e)}")
            return
        if not line:
            return
        if number == 1 and line.startswith(BOM):
            line = line[len(BOM) :]
        yield number, line.removesuffix(b"\n")


def _skip_line(stream: BinaryIO, length: int) -> RowProblem:
    while True:
        piece = stream.readline(_DRAIN)
        length += len(piece)
        if not piece or piece.endswith(b"\n"):
            return RowProblem(f"the line is too long: {length:,} bytes, limit {LONGEST_LINE:,}")


def not_utf8(data: bytes) -> str | None:
    """Return the UTF-8 error of ``data``; None if it is valid."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as e:
        hint = "; it looks like UTF-16: save it as UTF-8" if data.startswith(UTF16) else ""
        return f"invalid UTF-8 at byte {e.start} of the line{hint}"
    return None


def from_json(data: bytes, what: str, *, nan: bool = False) -> Any:
    """Parse ``data`` as strict JSON; with ``nan``, also NaN and infinities, as Python writes them.

    Raises:
        RowProblem: it is not JSON, or not UTF-8.
    """
    import pydantic_core

    try:
        return pydantic_core.from_json(data, allow_inf_nan=nan, cache_strings="keys")
    except ValueError as e:
        why = str(e).replace(" at line 1 column", " at column")
        if "surrogate" in why or "end of hex escape" in why:
            why = f"a lone surrogate (half of a \\u pair){why[why.rfind(' at ') :]}"
        raise RowProblem(not_utf8(data) or f"{what}: {visible(why)}") from None
