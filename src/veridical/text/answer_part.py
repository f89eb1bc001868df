"""Answer part of a text: a pattern's match, number or JSON field."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

#: Forms of a part's name.
FORMS = "regex:PATTERN, number or json:FIELD"
_MAX_NAME_CHARACTERS = 1000
_MAX_OBJECT_STARTS = 100  # places of a text tried as the start of an object


def part_finder(spec: str) -> Callable[[str], str | None]:
    """Return a function that extracts the part of a text, stripped, or None.

    A blank part counts as None.

    Args:
        spec: one of three forms. ``regex:PATTERN`` is the first match: its first matching group,
            or all of it. ``number`` is the one after an answer marker, else the last one; "1,200.0"
            is "1200". ``json:FIELD`` is the field in the first JSON object with it, alone or within
            other text. ``FIELD`` may be a path, ``a.b.0``; null counts as missing.

    Raises:
        ValueError: ``spec`` has another form, or the pattern is invalid.
    """
    kind, _, argument = spec.partition(":")
    if len(spec) > _MAX_NAME_CHARACTERS:
        raise ValueError(f"must be at most {_MAX_NAME_CHARACTERS} characters long")
    if spec == "number":
        return _number
    if kind == "regex" and argument:
        return _matching(argument)
    if kind == "json" and argument and all(argument.split(".")):
        return lambda text: _field(text, tuple(argument.split(".")))
    raise ValueError(f"must be {FORMS}")


@lru_cache(maxsize=64)
def _matching(pattern: str) -> Callable[[str], str | None]:
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as e:
        raise ValueError(f"is no valid pattern: {e}") from None

    def find(text: str) -> str | None:
        match = compiled.search(text)
        if match is None:
            return None
        taken = [group for group in match.groups() if group is not None]
        return _text(taken[0] if taken else None if compiled.groups else match[0])

    return find


def _text(value: str | None) -> str | None:
    return None if value is None else value.strip() or None


def _number(text: str) -> str | None:
    from veridical.text.final_number import final_number

    number, _ = final_number(text)
    if number is None:
        return None
    value = number.value
    shown = str(value.numerator)
    if value.denominator != 1:
        rounded = f"{float(value):.6g}"  # same precision as other comparisons of numbers
        shown = str(int(float(rounded))) if float(rounded).is_integer() else rounded
    return shown + "%" * number.percent


def _field(text: str, path: tuple[str, ...]) -> str | None:
    for value in _objects(text):
        for name in path:
            if isinstance(value, dict):
                value = value.get(name)
            elif isinstance(value, list) and name.isascii() and name.isdigit():
                value = value[int(name)] if len(name) < 9 and int(name) < len(value) else None
            else:
                value = None
        if value is not None:
            shown = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
            return _text(shown)
    return None


def _objects(text: str) -> Iterator[Any]:
    """Yield the outermost JSON objects of the text, in order."""
    decoder = json.JSONDecoder(parse_constant=_refuse)
    at = 0
    for _ in range(_MAX_OBJECT_STARTS):
        at = text.find("{", at)
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = end


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
