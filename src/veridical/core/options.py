"""Declarations of the public functions' options.

Each option is declared once, as a field of a frozen class. A field made by :func:`option` declares
its valid values, its help text for the command line and the kind of file that it names.
:mod:`veridical.cli.declared` generates commands from such fields.
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from veridical.errors import UsageError, option_named, unknown_name

T = TypeVar("T")
Made = TypeVar("Made", bound="Options")

_DECLARED = "option"


class Names(Enum):
    """Kinds of files or folders that an option may name. Most options name a file to read: a model,
    a scorer's file, a script. ``OTHER`` is a folder that may contain outputs, such as the store."""

    INPUT = "input"
    OUTPUT = "output"
    RUN = "run"
    OTHER = "other"


class Group(Enum):
    """Headings of ``--help``, in order of appearance."""

    INPUT = "Input"
    SCORING = "What to score"
    MODELS = "Models and LLM"
    ANSWERS = "Answers to prompts"
    LABELS = "Labels"
    FITTING = "Fitting"
    GUARANTEES = "Guarantees"
    CASCADE = "Cascade"
    STUDY = "Study of metrics"
    DECISIONS = "Decide and repair"
    FIGURES = "Figures"
    GATES = "Gates for CI"
    SCALE = "At scale"
    OUTPUT = "Output"
    RUN = "Run and resume"
    OTHER = "Other"


@dataclass(frozen=True)
class Declared:
    """Declaration of an option, except its name, type and default."""

    help: str
    group: Group
    least: int | None
    between: tuple[float, float] | None
    choices: tuple[str, ...]
    called: str
    kind: type | None
    names: Names


def option(
    default: T,
    help: str = "",
    group: Group = Group.OTHER,
    *,
    least: int | None = None,
    between: tuple[float, float] | None = None,
    choices: tuple[str, ...] = (),
    called: str = "",
    kind: type | None = None,
    names: Names = Names.INPUT,
) -> T:
    """Declare a field of an option class.

    Args:
        help: text of ``--help``, at most two short lines.
        group: heading in ``--help``.
        least: smallest valid number.
        between: exclusive lower and upper bounds of the number.
        choices: the valid texts.
        called: name used in the message about a text that is not in ``choices``.
        kind: type of the values if the default is None; otherwise that of the default.
        names: kind of file or folder of a path value.
    """
    declared = Declared(help, group, least, between, choices, called, kind, names)
    default_field: T = field(default=default, metadata={_DECLARED: declared})
    return default_field


@dataclass(frozen=True)
class Options:
    """Base class of option classes; values are validated on construction.

    Raises:
        UsageError: a value is invalid.
    """

    def __post_init__(self) -> None:
        for spec in fields(self):
            _check(spec, getattr(self, spec.name))

    def given(self) -> dict[str, Any]:
        """Return the options that differ from their defaults, by name."""
        values = {spec.name: getattr(self, spec.name) for spec in fields(self)}
        return {s.name: values[s.name] for s in fields(self) if values[s.name] is not s.default}


def declared(options: type[Options], name: str) -> Declared:
    """Return the declaration of the field called ``name`` of ``options``."""
    spec = next(spec for spec in fields(options) if spec.name == name)
    declaration: Declared = spec.metadata[_DECLARED]
    return declaration


def names_of(*classes: type[Options]) -> list[str]:
    """Return the names of all options of ``classes``."""
    return [spec.name for options in classes for spec in fields(options)]


def split(
    keywords: Mapping[str, Any], *classes: type[Options], also: Iterable[str] = ()
) -> list[dict[str, Any]]:
    """Split keywords among option classes.

    Args:
        also: further names to suggest for a misspelt keyword.

    Raises:
        UsageError: no class has an option of that name.
    """
    known = names_of(*classes)
    for name in keywords:
        if name not in known:
            raise unknown_name("option", name, [*known, *also])
    return [{n: keywords[n] for n in names_of(one) if n in keywords} for one in classes]


def made_of(options: type[Made], keywords: Mapping[str, Any]) -> Made:
    """Make an option class from the keywords of a public function.

    Raises:
        UsageError: there is no such option, or a value is invalid.
    """
    (values,) = split(keywords, options)
    return options(**values)


def _check(spec: Field[Any], value: Any) -> None:
    declaration = spec.metadata.get(_DECLARED)
    if declaration is None or value is spec.default:
        return
    kind = declaration.kind or (None if spec.default is None else type(spec.default))
    if value is None and not (kind in (bool, int, float) and spec.default is not None):
        return
    form, description = _KINDS.get(kind, (object, ""))
    if not isinstance(value, form) or (isinstance(value, bool) and kind in (int, float)):
        raise UsageError(f"{option_named(spec.name)} must be {description}, not {value!r}")
    if declaration.choices and value not in declaration.choices:
        raise unknown_name(declaration.called or spec.name, str(value), declaration.choices)
    if declaration.between is not None:
        low, high = declaration.between
        if not low < value < high:
            raise UsageError(
                f"{option_named(spec.name)} must be between {low:g} and {high:g}, not {value:g}"
            )
    if declaration.least is not None and not value >= declaration.least:
        raise UsageError(
            f"{option_named(spec.name)} must be at least {declaration.least}, not {value}"
        )


#: Types that are valid for each kind of value, and their name in messages.
_KINDS: dict[type | None, tuple[type | tuple[type, ...], str]] = {
    bool: (bool, "True or False"),
    str: (str, "a text"),
    int: (numbers.Integral, "a whole number"),
    float: (numbers.Real, "a number"),
    dict: (Mapping, "a mapping"),
    Path: ((str, os.PathLike), "a path"),
}
