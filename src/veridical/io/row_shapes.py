"""Row shapes of other tools: list columns, nested inputs and outputs, NaN."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from veridical.errors import UsageError
from veridical.io.names import ALIASES, FALLBACKS, known_alias, plain_name
from veridical.text.display import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Columns that contain an object of fields (MLflow, LangSmith) -> meaning of a text in them.
_NESTED = {
    "inputs": "prompt",
    "outputs": "response",
    "targets": "reference",
    "expectations": "reference",
    "reference_outputs": "reference",
}
_NAMED_LENGTHS = 8  # maximum columns in a message


def nested_fields(row: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """Return the fields inside the objects of columns such as ``inputs`` and ``outputs``.

    Returns:
        Record field -> dotted path and value, the first of each field.
    """
    found: dict[str, tuple[str, Any]] = {}
    for column, usual in _NESTED.items():
        value = row.get(column)
        if not isinstance(value, dict):
            continue
        texts = []
        known = False
        for key, inner in value.items():
            if inner is None or not isinstance(key, str):
                continue
            field = _field_inside(key, usual)
            if field is not None:
                known = known or field == usual
                found.setdefault(field, (f"{column}.{key}", inner))
            elif isinstance(inner, str):
                texts.append(key)
        if not known and len(texts) == 1 and usual not in found:
            found[usual] = (f"{column}.{texts[0]}", value[texts[0]])
    return found


def is_nested(column: str, value: Any) -> bool:
    """Return True if :func:`nested_fields` reads a column's value, an object."""
    return column in _NESTED and isinstance(value, dict)


def _field_inside(key: str, usual: str) -> str | None:
    field = known_alias(key)
    if usual == "reference" and field == "response":
        return "reference"
    if field is None and usual == "prompt" and plain_name(key) == "messages":
        return "prompt"
    allowed = ("prompt", "contexts") if usual == "prompt" else (usual, "contexts")
    return field if field in allowed else None


def table_rows(
    columns: Mapping[Any, Any], field_of: Callable[[str], str | None], *, prompts: bool = False
) -> list[dict[str, Any]] | None:
    """Return the rows of a dict of lists; None if it is a single row.

    Args:
        field_of: column -> its record field.
        prompts: rows may lack the response.

    Raises:
        UsageError: the lists have different lengths.
    """
    fields = {field_of(c): v for c, v in columns.items() if isinstance(c, str)}
    leading: Any = fields.get("response", fields.get("prompt") if prompts else None)
    if not _is_column(leading):
        return None
    if "response" not in fields and not all(isinstance(v, str) for v in leading):
        return None  # chat messages
    return transposed(columns)


def transposed(columns: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """Return the rows of columns that are lists.

    Raises:
        UsageError: a column is not a list, or they have different lengths.
    """
    for column, values in columns.items():
        if not _is_column(values):
            raise UsageError(
                f"column {shown(str(column))} must be a list like the others, not "
                f"{shown(values)}; pass a list for each column, or a list of rows"
            )
    lists = {str(column): list(values) for column, values in columns.items()}
    lengths = {column: len(values) for column, values in lists.items()}
    if len(set(lengths.values())) > 1:
        some = list(lengths.items())[:_NAMED_LENGTHS]
        listed = ", ".join(f"{shown(column)} has {n}" for column, n in some)
        raise UsageError(f"columns must have equal lengths: {listed}")
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def _is_column(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return True
    return hasattr(value, "tolist") and getattr(value, "ndim", 0) == 1  # an array or a series


def finite(value: Any) -> Any:
    """Return a value with null instead of NaN and infinities, at any depth."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, list):
        return [finite(v) for v in value]
    return value


def candidates(
    field: str, present: Iterable[str], taken: Sequence[str] | set[str]
) -> tuple[str, ...]:
    """Return the columns that may feed a field, likeliest first.

    First are its own name and aliases, then other spellings of these (``Ground Truth``), then
    tools' names.
    """
    free = [c for c in present if c not in taken]
    names = (field, *ALIASES[field])
    exact = tuple(n for n in names if n in free)
    if exact or field not in FALLBACKS:
        return exact
    written = tuple(c for c in free if known_alias(c) == field)
    if written:
        return written
    return tuple(n for n in FALLBACKS[field] if n in free)
