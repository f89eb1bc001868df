"""Values of row cells: CSV text or Python values. Texts are never altered."""

from __future__ import annotations

import math
import re
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, NamedTuple
from uuid import UUID

from pydantic import BaseModel

from veridical.core.records import Record
from veridical.io.lines import from_json
from veridical.io.problems import RowProblem
from veridical.text.display import shown

_OBJECT_TEXT = ("text", "content", "page_content", "passage", "image")
_DEEPEST = 100


def cell_value(field: str, cell: str) -> Any:
    """Return the value of a cell; None if an empty cell means no value.

    Raises:
        RowProblem: the cell is not a valid value of the field.
    """
    if field == "response":
        return cell
    if not cell:
        return None
    if field in ("logprobs", "sentences", "unit_labels", "meta"):
        return _json(cell)
    if field in ("samples", "contexts", "reference"):
        return _listed(field, cell)
    if field == "prompt" and cell.lstrip().startswith("["):
        value = _json_or_none(cell)
        if isinstance(value, list) and value and all(_is_message(v) for v in value):
            return value
    return cell


def _listed(field: str, cell: str) -> Any:
    """Return a JSON list (or object) of texts, or else the cell itself as one text."""
    start = cell.lstrip()[:1]
    if start not in ("[", "{"):
        return cell
    value = _json_or_none(cell)
    kinds = (str, bool, int, float) if field == "reference" else (str, dict)
    if isinstance(value, list) and all(v is None or isinstance(v, kinds) for v in value):
        return value
    if isinstance(value, dict) and field != "reference" and any(k in value for k in _OBJECT_TEXT):
        return value
    written = None if value is not None else written_list(cell)
    if written is not None and written.texts is None:
        raise RowProblem(f"looks like a list but is not JSON: {shown(cell)}")
    return cell


class WrittenList(NamedTuple):
    """A list that is written as text.

    Attributes:
        kind: a key of :data:`WRITTEN`.
        texts: items of the list; None if it cannot be parsed safely.
    """

    kind: str
    texts: list[Any] | None


#: Warnings about lists written as text, by kind.
WRITTEN = {
    "json": "a list is written as JSON text {where}, and was read as a list",
    "python": "a list is written as text {where}, as pandas saves lists, and was read as a list",
    "unclear": "text that looks like a list {where} was read as one text; "
    "provide lists, or write them as JSON",
}
_ESCAPE = r"\\(?:[\\'nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U00(?:0[1-9a-f]|10)[0-9a-f]{4})"
_QUOTED = rf"""'(?:[^'\\]|{_ESCAPE})*'|"(?:[^"\\]|{_ESCAPE})*\""""
_PYTHON_LIST = re.compile(rf"\[\s*(?:{_QUOTED})(?:\s*,\s*(?:{_QUOTED}))*\s*,?\s*\]")
_PYTHON_TEXT = re.compile(_QUOTED)
_ESCAPED = re.compile(_ESCAPE)


def written_list(text: str) -> WrittenList | None:
    """Return the list written in ``text``; None if the text does not look like one.

    It may be JSON, or have the form in which Python prints a list of texts.
    """
    bare = text.strip()
    if not (bare.startswith("[") and bare.endswith("]")):
        return None
    value = _json_or_none(bare)
    if isinstance(value, list):
        each = all(isinstance(v, (str, dict)) for v in value)
        return WrittenList("json", value) if each else None
    if bare[:2] not in ("['", '["') or bare[-2] not in "'\"":
        return None
    if not _PYTHON_LIST.fullmatch(bare):
        return WrittenList("unclear", None)
    quoted = [match[0][1:-1] for match in _PYTHON_TEXT.finditer(bare)]
    return WrittenList("python", [_ESCAPED.sub(_unescaped, text) for text in quoted])


def _unescaped(escape: re.Match[str]) -> str:
    """Return the character of an escape in a Python text."""
    mark = escape[0][1]
    if mark in "xuU":
        return chr(int(escape[0][2:], 16))
    return {"n": "\n", "r": "\r", "t": "\t"}.get(mark, mark)


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and "role" in value


def _json(cell: str) -> Any:
    return from_json(cell.encode("utf-8"), "must be JSON")


def _json_or_none(cell: str) -> Any:
    try:
        return _json(cell)
    except RowProblem:
        return None


def checked_row(value: Any) -> Record | dict[str, Any] | RowProblem:
    """Return a row in the form that the record maker takes, or its problem."""
    if isinstance(value, (Record, RowProblem)):
        return value
    try:
        return plain_row(value)
    except RowProblem as e:
        return e


def plain_row(value: Any) -> dict[str, Any]:
    """Return a row of JSON-like values only; a missing cell (None, NaN, NaT, NA) becomes None.

    Raises:
        RowProblem: the row is not an object, or contains a value that JSON cannot represent.
    """
    if not isinstance(value, dict):
        raise RowProblem(f"a row must be an object (dict) or a Record, not {shown(value)}")
    row: dict[str, Any] = {}
    for key, cell in value.items():
        column = key if isinstance(key, str) else str(key)
        if isinstance(cell, float) and math.isnan(cell):
            row[column] = None
        else:
            row[_text(column, column)] = _plain(cell, column, 0)
    return row


def _plain(value: Any, column: str, depth: int) -> Any:
    if isinstance(value, str) and not isinstance(value, Enum):
        return _text(value, column)
    if value is None or (isinstance(value, (bool, int, float)) and not isinstance(value, Enum)):
        return _number(value)
    if depth > _DEEPEST:
        raise RowProblem(f"is nested deeper than {_DEEPEST} levels", column)
    if isinstance(value, dict):
        return {_text(str(k), column): _plain(v, column, depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v, column, depth + 1) for v in value]
    if isinstance(value, bytes):  # old Parquet writers store texts as plain bytes
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return value
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "tolist"):  # numpy arrays and scalars, and similar types
        return _plain(value.tolist(), column, depth + 1)
    if isinstance(getattr(value, "page_content", None), str):  # a LangChain document
        document = {k: getattr(value, k, None) for k in ("page_content", "metadata", "id")}
        return _plain(document, column, depth + 1)
    if isinstance(value, BaseModel):
        return _plain(value.model_dump(), column, depth + 1)
    if isinstance(value, Enum):
        return _plain(value.value, column, depth + 1)
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (timedelta, UUID, PurePath)):
        return str(value)
    raise RowProblem(
        f"contains {shown(value)}, which is not a text, number, list or object", column
    )


def _number(value: Any) -> Any:
    """Convert subclasses of the plain types (such as numpy's float64) to the plain type."""
    for kind in (bool, int, float):
        if isinstance(value, kind):
            return kind(value)
    return value


def _text(value: str, column: str) -> str:
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as e:
            raise RowProblem(f"lone surrogate at offset {e.start}", column) from None
    return str(value) if type(value) is not str else value
