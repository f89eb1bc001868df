"""Row problems, said in the input's own terms and never longer than a line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import ValidationError

SHOWN = 80
LONGEST_ERROR = 400

_TEXT_LIST = "text or a list of texts"
_SPAN = "a pair [start, end] of whole numbers"
_LOGPROB = "a finite number not above 0 (a natural-log probability)"
_LABEL = "a number from 0 (right) to 1 (hallucinated), or true or false"

_FIELD = {
    "id": "text or a whole number of at most 64 bits",
    "prompt": "text or a list of chat messages (objects)",
    "response": "text",
    "samples": "text or a list of texts or of objects with 'text' or 'image'",
    "contexts": "text or a list of texts or of objects with 'text'",
    "reference": _TEXT_LIST,
    "logprobs": "a list of objects with 'token' and 'logprob'",
    "sentences": "a list of pairs [start, end]",
    "label": _LABEL,
    "unit_labels": "a list of objects with 'start', 'end' and 'label'",
    "meta": "an object",
}
_ITEM = {
    "samples": "text or an object with 'text' or 'image'",
    "contexts": "text or an object with 'text'",
    "reference": "text",
    "logprobs": "an object with 'token' and 'logprob'",
    "sentences": _SPAN,
    "unit_labels": "an object with 'start', 'end' and 'label'",
}
_LEAF = {
    "id": "text or a whole number",
    "text": "text",
    "image": "text",
    "finish_reason": "text",
    "token": "text",
    "logprob": _LOGPROB,
    "logprobs": "a list of objects with 'token' and 'logprob'",
    "top": "a list of objects with 'token' and 'logprob'",
    "start": "a whole number, 0 or more",
    "end": "a whole number, 0 or more",
    "label": _LABEL,
}


class RowProblem(ValueError):
    """Why one row is not a record. ``field`` is the column it stands in, if one is to blame."""

    def __init__(self, error: str, field: str | None = None) -> None:
        super().__init__(error)
        self.error = cut(error, LONGEST_ERROR)
        self.field = None if field is None else visible(field)


def cut(text: str, longest: int = SHOWN) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def visible(text: str) -> str:
    """``text`` cut to about 80 characters, with whatever does not print escaped."""
    short = cut(text)
    return short if short.isprintable() else cut(repr(short)[1:-1])


def shown(value: Any) -> str:
    """A value for an error message: short, and on one line whatever it holds."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return cut(repr(cut(value)), SHOWN + 20)
    if isinstance(value, int):
        return str(value) if value.bit_length() <= 128 else "a very large number"
    if isinstance(value, float):
        return str(value)
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}" if value else "an empty list"
    if isinstance(value, dict):
        return f"an object with {named(value)}" if value else "an empty object"
    return f"a value of type {visible(type(value).__name__)}"


def named(keys: Any, most: int = 8) -> str:
    """Quoted names for a message, a few of them."""
    listed = [cut(shown(k), 40) for k, _ in zip(keys, range(most), strict=False)]
    more = len(keys) - len(listed)
    return ", ".join(listed) + (f" and {more} more" if more > 0 else "")


def display(path: str | os.PathLike[str]) -> str:
    """A file name that can be printed and stored: bytes that are not UTF-8 are escaped."""
    name = os.fsencode(path).decode("utf-8", "backslashreplace")
    return name if name.isprintable() else repr(name)[1:-1]


def reason(error: Exception) -> str:
    """What an exception of a library says, cut and on one line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return visible(" ".join(str(error).split()) or type(error).__name__)


def from_validation(
    error: ValidationError, columns: Mapping[str, str], given: Mapping[str, Any]
) -> RowProblem:
    """The first fault pydantic found, in the terms of the input.

    Args:
        columns: record field -> the column of the input it came from.
        given: record field -> its value, to say whether a list index means anything.
    """
    first = error.errors(include_url=False)[0]
    loc = first["loc"]
    if not loc:  # a rule between fields; the record's message names its place first
        place, _, message = str(first["ctx"]["error"]).partition(": ")
        field, bracket, index = place.partition("[")
        return RowProblem(message, columns.get(field, field) + bracket + index)
    field = str(loc[0])
    # Under a union, and when a lone text stood for a list, the inner path is not the input's.
    path = loc[1:] if field not in ("id", "prompt") and isinstance(given.get(field), list) else ()
    where = columns.get(field, field)
    if path and path[-1] in ("str", "int"):
        path = path[:-1]  # pydantic names the arm of the union
    for part in path:
        where += f"[{part}]" if isinstance(part, int) else f".{part}"
    if first["type"] == "missing":
        return RowProblem("is missing", where)
    if first["type"] == "value_error" and field != "label":
        return RowProblem(str(first["ctx"]["error"]), where)
    value = first["input"] if path else given.get(field)
    return RowProblem(f"must be {_expected(field, path)}, got {shown(value)}", where)


def _expected(field: str, path: tuple[int | str, ...]) -> str:
    names = [p for p in path if isinstance(p, str)]
    if names:
        last = names[-1]
        return _ITEM["logprobs"] if isinstance(path[-1], int) else _LEAF.get(last, "another type")
    if len(path) == 2:  # sentences[i][j]
        return "a whole number"
    return _ITEM.get(field, _FIELD[field]) if path else _FIELD[field]
