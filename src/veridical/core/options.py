"""Options of the public functions: declared once, as fields of frozen classes.

A field made by :func:`option` says what values fit, what the command line's help tells of it, and
which kind of file it names. :mod:`veridical.cli.declared` makes commands of such fields.
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
    """The kind of file or folder that an option may name. Most may name one to read: a model, a
    scorer's file, a script. ``OTHER`` is a folder in which outputs may lie, such as the store."""

    INPUT = "input"
    OUTPUT = "output"
    RUN = "run"
    OTHER = "other"


class Group(Enum):
    """The heading under which ``--help`` lists an option; headings stand in this order."""

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
    """What an option class says of a field, besides its name, type and default."""

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
    """A field of an option class.

    Args:
        help: what ``--help`` tells of it, in one short line or two.
        group: where ``--help`` lists it.
        least: the smallest number that it may be.
        between: two numbers that it must lie between.
        choices: the only texts that it may be.
        called: what a message calls it where a text is none of ``choices``.
        kind: of its values, where it may be None besides; else the default's own.
        names: what a path in it is.
    """
    declared = Declared(help, group, least, between, choices, called, kind, names)
    default_field: T = field(default=default, metadata={_DECLARED: declared})
    return default_field


@dataclass(frozen=True)
class Options:
    """Base of the option classes: their values are checked when they are made.

    Raises:
        UsageError: a value does not fit.
    """

    def __post_init__(self) -> None:
        for spec in fields(self):
            _check(spec, getattr(self, spec.name))

    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults, by name."""
        values = {spec.name: getattr(self, spec.name) for spec in fields(self)}
        return {s.name: values[s.name] for s in fields(self) if values[s.name] is not s.default}


def declared(options: type[Options], name: str) -> Declared:
    """What ``options`` say of the field called ``name``."""
    spec = next(spec for spec in fields(options) if spec.name == name)
    declaration: Declared = spec.metadata[_DECLARED]
    return declaration


def names_of(*classes: type[Options]) -> list[str]:
    """The names of all options of some classes."""
    return [spec.name for options in classes for spec in fields(options)]


def split(
    keywords: Mapping[str, Any], *classes: type[Options], also: Iterable[str] = ()
) -> list[dict[str, Any]]:
    """The keywords of each class.

    Args:
        also: names of no class, which may have been meant.

    Raises:
        UsageError: no class has an option of that name.
    """
    known = names_of(*classes)
    for name in keywords:
        if name not in known:
            raise unknown_name("option", name, [*known, *also])
    return [{n: keywords[n] for n in names_of(one) if n in keywords} for one in classes]


def made_of(options: type[Made], keywords: Mapping[str, Any]) -> Made:
    """An option class's value of the keywords of a public function.

    Raises:
        UsageError: there is no such option, or a value does not fit.
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


#: What values of a kind are, and what a message calls them.
_KINDS: dict[type | None, tuple[type | tuple[type, ...], str]] = {
    bool: (bool, "True or False"),
    str: (str, "a text"),
    int: (numbers.Integral, "a whole number"),
    float: (numbers.Real, "a number"),
    dict: (Mapping, "a mapping"),
    Path: ((str, os.PathLike), "a path"),
}
