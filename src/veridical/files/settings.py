"""Settings tables validated by pydantic; errors name table and field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from veridical.errors import UsageError, unknown_name
from veridical.text.display import shown

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

S = TypeVar("S")

#: Required type of a field, by pydantic's name of the error.
_WANTED = {
    "string_type": "str",
    "int_type": "int",
    "float_type": "int or float",
    "bool_type": "true or false",
    "mapping_type": "dict",
    "dict_type": "dict",
    "list_type": "list",
    "tuple_type": "str or list",
}


def settings(kind: type[S], table: Any, where: str, **given: Any) -> S:
    """Make the dataclass ``kind`` from the values of ``table``, and ``given`` ones, which no table
    has.

    The only conversions are whole numbers to fractions, and lists to tuples.

    Raises:
        UsageError: it is not a table, or a field is missing, unknown or of another type; or
            ``kind`` itself raises it.
    """
    from pydantic import ValidationError

    if not isinstance(table, Mapping):
        raise UsageError(f"{where}: must be a section, not a value")
    fields_of: Any = kind
    model = _model(fields_of, tuple(given))
    lists = {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}
    try:
        read = model.model_validate(lists)
    except ValidationError as e:
        errors = e.errors(include_url=False)
        first = next((f for f in errors if f["type"] == "extra_forbidden"), errors[0])
        raise _problem(first, where, model.model_fields) from None
    return kind(**given, **{name: getattr(read, name) for name in read.model_fields_set})


@cache
def _model(kind: type[Any], without: tuple[str, ...]) -> type[BaseModel]:
    from pydantic import ConfigDict, create_model

    hints = get_type_hints(kind)
    described: dict[str, Any] = {
        f.name: (
            hints[f.name],
            ... if f.default is MISSING and f.default_factory is MISSING else None,
        )
        for f in fields(kind)
        if f.name not in without
    }
    strict = ConfigDict(strict=True, extra="forbid")
    return create_model(kind.__name__, __config__=strict, **described)


def _problem(error: ErrorDetails, where: str, known: Mapping[str, Any]) -> UsageError:
    name = ".".join(map(str, error["loc"]))
    if error["type"] == "extra_forbidden":
        return unknown_name(f"setting in {where}:", name, known)
    if error["type"] == "missing":
        return UsageError(f"{where}: {name} is missing")
    stated = error.get("ctx", {}).get("expected", "").replace("'", "")
    expected = _WANTED.get(error["type"]) or stated
    problem = error["msg"] if not expected else f"must be {expected}, not {shown(error['input'])}"
    return UsageError(f"{where}: {name} {problem}")
