"""The part of a text that is its answer: what a pattern matches, its number, or a field of JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

#: How a part is named.
FORMS = "regex:PATTERN, number or json:FIELD"
_LONGEST = 1000  # characters of a name
_TRIES = 100  # places of a text at which an object may begin


def part_finder(spec: str) -> Callable[[str], str | None]:
    """A function that gives the part of a text, stripped, or None where there is none; blank is
    none.

    Args:
        spec: ``regex:PATTERN`` (the first match: its first group that took part, or all of it),
            ``number`` (that after an answer's mark, else the last; "1,200.0" is "1200"), or
            ``json:FIELD`` (of the first JSON object that has it, on its own or within other
            text; ``FIELD`` may be a path, ``a.b.0``; null is none).

    Raises:
        ValueError: it is none of these, or the pattern is not valid.
    """
    kind, _, argument = spec.partition(":")
    if len(spec) > _LONGEST:
        raise ValueError(f"must be at most {_LONGEST} characters long")
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
        rounded = f"{float(value):.6g}"  # as close as numbers are compared elsewhere
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
    """JSON objects of the text, the outer ones, in order."""
    decoder = json.JSONDecoder(parse_constant=_refuse)
    at = 0
    for _ in range(_TRIES):
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
    raise ValueError(f"{constant} is no JSON")
