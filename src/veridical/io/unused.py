"""Unused input columns, and their likely meaning."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from veridical.errors import mapping_named
from veridical.io.label_words import is_word
from veridical.io.names import CONTEXT_TEXT, FIELD_OF, field_by_name, is_metadata, plain_name
from veridical.text.display import shown

if TYPE_CHECKING:
    from veridical.io.columns import Columns

#: Maximum rows inspected.
LOOKED_AT = 64

_MOST_NAMES = 500  # maximum columns inspected
_LONG_TEXT = 200  # characters


class UnusedColumn(NamedTuple):
    """A column that feeds no field.

    Attributes:
        column: its name, or the dotted path of the value inside its objects.
        meaning: the field that it likely is; None without a suggestion.
        hint: the option to map it, such as ``--map contexts=ctx``; "" without a meaning.
    """

    column: str
    meaning: str | None
    hint: str

    @property
    def sentence(self) -> str:
        """The suggestion as one line for humans."""
        says = f"column {shown(self.column)} is not used"
        if self.meaning is None:
            return says
        return f"{says}; did you mean {self.meaning}? {self.hint}"

    @classmethod
    def of(cls, column: str, meaning: str | None) -> UnusedColumn:
        return cls(column, meaning, "" if meaning is None else mapping_named(meaning, column))


def unused_columns(rows: Iterable[Mapping[str, Any]], columns: Columns) -> list[UnusedColumn]:
    """Return the columns of ``rows`` that feed no field.

    Columns whose name suggests a meaning are first, then those whose values do, then the others
    except ids and metadata.

    Args:
        rows: some unaltered rows.
        columns: the mapping of columns to fields.
    """
    values: dict[str, list[Any]] = {}
    fed: dict[str, list[Any]] = {}
    for row in rows:
        for column, value in row.items():
            field = columns.field_of(column)
            if field is not None:
                if value is not None:
                    fed.setdefault(field, []).append(value)
            elif column in values or len(values) < _MOST_NAMES:
                values.setdefault(column, []).append(value)
    response = [v for v in fed.get("response", ()) if isinstance(v, str)]
    named: list[tuple[str, str]] = []
    others: list[str] = []
    for column, all_values in values.items():
        seen = [v for v in all_values if v is not None]
        meant = _by_name(column, seen, fed)
        if meant is None:
            others.append(column)
        else:
            named.append(meant)
    taken = {field for _, field in named} | fed.keys()
    shaped: dict[str, str] = {}
    for column in others:
        field = _by_shape(column, [v for v in values[column] if v is not None], response, taken)
        if field is not None and field not in shaped.values():
            shaped[column] = field
    plain = [c for c in others if c not in shaped and not is_metadata(c)]
    guessed = [UnusedColumn.of(*guess) for guess in (*named, *shaped.items())]
    return guessed + [UnusedColumn.of(column, None) for column in plain]


def _by_name(column: str, values: Sequence[Any], fed: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the column, or a path into its objects, and the field that its name suggests."""
    field = field_by_name(column)
    if field is not None and field not in fed and _fits(field, values):
        return column, field
    if values and all(isinstance(v, dict) for v in values):
        for key in values[0]:
            inside = [v[key] for v in values if v.get(key) is not None]
            field = FIELD_OF.get(plain_name(str(key))) or field_by_name(str(key))
            if field is not None and field not in fed and inside and _fits(field, inside):
                return f"{column}.{key}", field
    return None


def _by_shape(
    column: str, values: Sequence[Any], responses: Sequence[str], taken: Iterable[str]
) -> str | None:
    """Return the field that the values resemble, given the responses; None if there is no such
    field."""
    if not values or not responses or is_metadata(column):
        return None
    answer = sum(map(len, responses)) / len(responses)
    if all(isinstance(v, str) for v in values):
        if "contexts" not in taken and _mean(values) >= max(_LONG_TEXT, 2 * answer):
            return "contexts"
        asks = [v for v in values if v.rstrip().endswith("?")]
        return "prompt" if "prompt" not in taken and len(asks) > len(values) / 2 else None
    lists = [_texts(v) for v in values]
    texts = [text for items in lists if items is not None for text in items]
    if None in lists or not texts:
        return None
    length = _mean(texts)
    several = sum(len(items) >= 2 for items in lists if items is not None) > len(lists) / 2
    alike = several and answer / 2 <= length <= 2 * answer
    if "samples" not in taken and alike and (answer <= _LONG_TEXT or "contexts" in taken):
        return "samples"
    words = sum(len(text.split()) for text in texts) / len(texts)
    if "contexts" not in taken and words >= 4 and length >= answer:
        return "contexts"
    return None


def _mean(texts: Sequence[str]) -> float:
    return sum(map(len, texts)) / len(texts)


def _texts(value: Any) -> list[str] | None:
    """Return the texts of a list of texts or of objects with a text; None for anything else."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    if not isinstance(value, list) or not value:
        return None
    texts = [_text(v) if isinstance(v, dict) else v for v in value]
    some = [text for text in texts if isinstance(text, str)]
    return some if len(some) == len(texts) else None


def _text(value: Mapping[str, Any]) -> Any:
    return next((value[name] for name in CONTEXT_TEXT if value.get(name) is not None), None)


def _fits(field: str, values: Sequence[Any]) -> bool:
    """Return True if values can be those of a field."""
    fits = _FITS.get(field)
    return fits is None or not values or all(map(fits, values))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_texts(value: Any) -> bool:
    return isinstance(value, str) or value == [] or _texts(value) is not None


def _is_prompt(value: Any) -> bool:
    messages = isinstance(value, list) and all(isinstance(m, dict) for m in value)
    return isinstance(value, str) or messages


def _is_label(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip() in ("0", "1", "0.0", "1.0", "0.5") or is_word(value)
    return isinstance(value, (bool, int, float)) and 0 <= value <= 1


_FITS: dict[str, Callable[[Any], bool]] = {
    "prompt": _is_prompt,
    "response": _is_text,
    "samples": _is_texts,
    "contexts": _is_texts,
    "reference": _is_texts,
    "logprobs": lambda value: isinstance(value, (list, str)),
    "unit_labels": lambda value: isinstance(value, (list, str)),
    "label": _is_label,
}
