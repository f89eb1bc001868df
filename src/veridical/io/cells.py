"""What a CSV cell means for the field it feeds. Texts are never altered."""

from __future__ import annotations

from typing import Any

from veridical.io.problems import RowProblem, shown

_OBJECT_TEXT = ("text", "content", "page_content", "passage", "image")


def cell_value(field: str, cell: str) -> Any:
    """The value of a cell; None where an empty cell means that there is none.

    Raises:
        RowProblem: the cell cannot be what the field needs.
    """
    if field == "response":
        return cell
    if not cell:
        return None
    if field == "label":
        return _label(cell)
    if field in ("logprobs", "sentences", "unit_labels", "meta"):
        return _json(cell)
    if field in ("samples", "contexts", "reference"):
        return _texts(field, cell)
    if field == "prompt" and cell.lstrip().startswith("["):
        value = _json_or_none(cell)
        if isinstance(value, list) and value and all(_is_message(v) for v in value):
            return value
    return cell


def _label(cell: str) -> float | bool:
    words = {"true": True, "false": False}
    word = cell.strip().lower()
    if word in words:
        return words[word]
    try:
        return float(word)
    except ValueError:
        raise RowProblem(
            f"must be a number from 0 (right) to 1 (hallucinated), true or false, got {shown(cell)}"
        ) from None


def _texts(field: str, cell: str) -> Any:
    """A JSON list (or object) of texts, else the cell itself: one text."""
    start = cell.lstrip()[:1]
    if start not in ("[", "{"):
        return cell
    value = _json_or_none(cell)
    if isinstance(value, list) and all(v is None or isinstance(v, (str, dict)) for v in value):
        return value
    if isinstance(value, dict) and field != "reference" and any(k in value for k in _OBJECT_TEXT):
        return value
    bare = cell.strip()
    if value is None and bare[:2] in ("['", '["') and bare[-2:] in ("']", '"]'):
        raise RowProblem(f"looks like a list but is not JSON: {shown(cell)}")
    return cell


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and "role" in value


def _json(cell: str) -> Any:
    from veridical.io.formats import from_json

    return from_json(cell.encode("utf-8"), "must be JSON")


def _json_or_none(cell: str) -> Any:
    try:
        return _json(cell)
    except RowProblem:
        return None
