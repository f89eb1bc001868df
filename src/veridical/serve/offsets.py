"""Conversion of result lines' offsets to other languages' units.

Inside, offsets are Unicode code points. Strings of JavaScript, Java and C# are counted in UTF-16
code units, those of Go and Rust in bytes of UTF-8.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal

from pydantic_core import to_json

if TYPE_CHECKING:
    from veridical.core.records import Record

Offsets = Literal["codepoint", "utf16", "utf8"]


def counted(text: str, offsets: Offsets) -> Callable[[int], int]:
    """Return a function that converts code-point offsets of ``text`` to other units.

    >>> counted("a😀b", "utf16")(2), counted("é!", "utf8")(1)
    (3, 2)
    """
    if text.isascii() or offsets == "codepoint":
        return lambda at: at
    width = _utf16 if offsets == "utf16" else _utf8
    places = [0, *accumulate(map(width, text))]
    return lambda at: places[min(at, len(text))]


def _utf16(character: str) -> int:
    return 2 if ord(character) > 0xFFFF else 1


def _utf8(character: str) -> int:
    return len(character.encode("utf-8"))


def converted(line: bytes, record: Record, offsets: Offsets, *, units: bool = True) -> bytes:
    """Convert the offsets of a result line, or remove its units.

    Offsets of ``units``, their ``evidence`` and the ``changes`` of a repair are converted; ``raw``
    belongs to a method and is kept. Without any option, the line stays as it is, byte for byte.
    """
    if units and offsets == "codepoint":
        return line
    result = json.loads(line)
    counts: dict[tuple[str, int], Callable[[int], int]] = {}

    def shift(piece: dict[str, Any], kind: str, index: int) -> None:
        key = kind, index
        if key not in counts:
            counts[key] = counted(_text(record, kind, index), offsets)
        piece["start"], piece["end"] = map(counts[key], (piece["start"], piece["end"]))

    for score in result["scores"].values():
        if not units:
            score["units"] = []
        for unit in score["units"]:
            shift(unit, "response", 0)
            for item in unit["evidence"]:
                token = item["kind"] == "token"
                shift(item, "response" if token else item["kind"], 0 if token else item["index"])
    repair = result.get("repair") or {}
    for change in repair.get("changes", ()):
        selected = result.get("selected") or {}
        of_sample = repair["of"] == "selected" and selected.get("kind") == "sample"
        kind, index = ("sample", selected["index"]) if of_sample else ("response", 0)
        shift(change, kind, index)
    return bytes(to_json(result))


def _text(record: Record, kind: str, index: int) -> str:
    if kind == "context":
        return record.contexts[index].text
    if kind == "sample":
        return record.samples[index].text or ""
    if kind == "reference":
        return record.reference[index]
    return record.response
