"""Allowed answers of a judge and their values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from veridical.errors import UsageError


class Choice(NamedTuple):
    """One of several answers.

    Attributes:
        name: name in prompts and results.
        value: its value, on the paper's scale.
        words: accepted wordings, including the name.
    """

    name: str
    value: float
    words: tuple[str, ...]


@dataclass(frozen=True)
class Choices:
    """A verdict scale of a few named answers.

    ``best`` and ``worst`` are values, not names. The risk of a value is its distance from ``best``,
    as a share of the distance to ``worst``.
    """

    choices: tuple[Choice, ...]
    best: float
    worst: float

    def risk(self, value: float) -> float:
        return _risk(value, self.best, self.worst)

    def named(self, name: str) -> Choice:
        return next(c for c in self.choices if c.name == name)

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the verdict."""
        return {"type": "string", "enum": [c.name for c in self.choices]}

    def wanted(self) -> str:
        """Return the description of the verdict in a prompt's JSON form."""
        return " or ".join(f'"{c.name}"' for c in self.choices)

    def example(self) -> str:
        """Return an example verdict."""
        return self.choices[0].name


@dataclass(frozen=True)
class Numbers:
    """A verdict scale of numbers from ``low`` to ``high``, integers if ``whole``.

    ``best`` and ``worst`` are the two ends.
    """

    low: float
    high: float
    whole: bool
    best: float
    worst: float

    def risk(self, value: float) -> float:
        return _risk(value, self.best, self.worst)

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the verdict."""
        return {
            "type": "integer" if self.whole else "number",
            "minimum": int(self.low) if self.whole else self.low,
            "maximum": int(self.high) if self.whole else self.high,
        }

    def wanted(self) -> str:
        """Return the description of the verdict in a prompt's JSON form."""
        return f"a number from {self.low:g} to {self.high:g}"

    def example(self) -> str:
        """Return an example verdict."""
        return f"{self.low:g}"


Scale: TypeAlias = Choices | Numbers


def _risk(value: float, best: float, worst: float) -> float:
    return min(1.0, max(0.0, (best - value) / (best - worst)))


def scale_of(table: Mapping[str, Any]) -> Scale:
    """Parse the scale in a template's ``[verdict]`` table.

    Raises:
        UsageError: the table is invalid.
    """
    kind = table.get("kind")
    if kind == "choice":
        _only(table, {"kind", "key", "values", "words", "best"})
        return _choices(table)
    if kind == "number":
        _only(table, {"kind", "key", "low", "high", "whole", "best"})
        return _numbers(table)
    raise UsageError(f"verdict.kind must be 'choice' or 'number', not {kind!r}")


def _choices(table: Mapping[str, Any]) -> Choices:
    values, words = table.get("values"), table.get("words", {})
    if not isinstance(values, dict) or len(values) < 2 or not isinstance(words, dict):
        raise UsageError("verdict.values must map two or more answers to numbers")
    choices = []
    taken: dict[str, str] = {}
    for name, value in values.items():
        others = words.get(name, [])
        if not _number(value) or not name.strip():
            raise UsageError(f"verdict.values: the value of {name!r} must be a number")
        if not isinstance(others, list) or not all(isinstance(w, str) and w for w in others):
            raise UsageError(f"verdict.words.{name} must be a list of texts")
        choice = Choice(name, float(value), tuple(dict.fromkeys([name, *others])))
        for word in choice.words:
            if taken.setdefault(word.casefold(), name) != name:
                raise UsageError(f"verdict.words: {word!r} belongs to two answers")
        choices.append(choice)
    unknown = sorted(set(words) - set(values))
    if unknown:
        raise UsageError(f"verdict.words names answers without a value: {', '.join(unknown)}")
    worths = {c.value for c in choices}
    best, worst = _ends(min(worths), max(worths), table.get("best"))
    return Choices(tuple(choices), best, worst)


def _numbers(table: Mapping[str, Any]) -> Numbers:
    whole: Any = table.get("whole", False)
    low: Any = table.get("low")
    high: Any = table.get("high")
    if not (_number(low) and _number(high)):
        raise UsageError("verdict.low and verdict.high must be numbers")
    if not isinstance(whole, bool):
        raise UsageError("verdict.whole must be true or false")
    best, worst = _ends(float(low), float(high), table.get("best"))
    return Numbers(float(low), float(high), whole, best, worst)


def _ends(low: float, high: float, best: Any) -> tuple[float, float]:
    if not low < high or best not in (low, high):
        raise UsageError(
            f"verdict.best must be the smallest value, {low:g}, or the largest, {high:g}"
        )
    return (high, low) if best == high else (low, high)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e9


def _only(table: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(set(table) - known)
    if unknown:
        raise UsageError(f"unknown keys in verdict: {', '.join(unknown)}; it takes {sorted(known)}")
