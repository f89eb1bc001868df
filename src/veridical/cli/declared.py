"""Commands that are declared as classes of options.

A command is a frozen dataclass of its options and a function that takes it::

    @dataclass(frozen=True, kw_only=True)
    class CountOptions:
        inputs: Inputs
        limit: Limit = None
        report: Annotated[
            Path | None, typer.Option(help="..."), Names.OUTPUT, Group.OUTPUT
        ] = None

    @command
    def count(options: CountOptions) -> int:
        \"\"\"Count the records.\"\"\"
        check_files(options)
        results = veridical.check(rows_of(options.inputs), **run_keywords(options))

:func:`command` gives typer a parameter for each field, in order, with the help and the bounds of
its annotation. A class may inherit the options that commands share; a field of it stands in the
help where :class:`After` says. Options that the Python API has too are annotated by
:func:`option_of`, so that help, bounds and heading come from where they are declared for it. The
heading of other options is a :class:`~veridical.core.options.Group` in the annotation.

:func:`check_files` looks at what the options name: :class:`~veridical.core.options.Names` in an
annotation says that it is an output or the folder of a run.
:func:`veridical.cli.options.run_keywords` gives the keywords of :func:`veridical.check` that the
command has options of.
"""

from __future__ import annotations

import copy
import inspect
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from typer.models import ParameterInfo

from veridical.core.options import Group, Names, Options, declared, names_of
from veridical.engine.options import EngineOptions
from veridical.run.options import RunOptions

Chosen = TypeVar("Chosen")


@dataclass(frozen=True)
class After:
    """In an annotation: the option's place in the help is after that of this name."""

    name: str


def option_of(options: type[Options], name: str, *flags: str, **more: Any) -> Any:
    """The command line's option for the one called ``name`` of an option class.

    Args:
        flags: what it is called, if not by its name.
        more: further arguments of :func:`typer.Option`.
    """
    spec = declared(options, name)
    return typer.Option(
        *flags, help=spec.help, min=spec.least, rich_help_panel=spec.group.value, **more
    )


def command(function: Callable[[Chosen], int]) -> Callable[..., int]:
    """``function`` as typer takes it: with a parameter for each option of its argument's class."""
    (taken,) = inspect.signature(function).parameters
    chosen: Any = get_type_hints(function)[taken]

    def run(**values: Any) -> int:
        return function(chosen(**values))

    hints = get_type_hints(chosen, include_extras=True)
    names = _in_order(chosen, hints)
    hints = {name: _grouped(hints[name]) for name in names}
    defaults = {
        spec.name: inspect.Parameter.empty if spec.default is MISSING else spec.default
        for spec in fields(chosen)
    }
    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__module__ = function.__module__
    run.__annotations__ = dict(hints)
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults[name],
                annotation=hints[name],
            )
            for name in names
        ]
    )
    return run


def _grouped(annotation: Any) -> Any:
    """The annotation with its group, if it names one, told to typer."""
    group = next((m for m in _marks(annotation) if isinstance(m, Group)), None)
    if group is None:
        return annotation
    marks = [copy.copy(m) for m in _marks(annotation)]
    for mark in marks:
        if isinstance(mark, ParameterInfo):
            mark.rich_help_panel = group.value
    return operator.getitem(Annotated, (annotation.__origin__, *marks))


def _in_order(options: Any, hints: dict[str, Any]) -> list[str]:
    names: list[str] = []
    for spec in fields(options):
        place = next((m for m in _marks(hints[spec.name]) if isinstance(m, After)), None)
        names.insert(len(names) if place is None else names.index(place.name) + 1, spec.name)
    return names


def _marks(annotation: Any) -> tuple[Any, ...]:
    return getattr(annotation, "__metadata__", ())


def check_files(options: Any, *, also: Iterable[Path] = ()) -> None:
    """Find out before hours of work, not after, that an output cannot be written, or that it
    would take the place of a file that the command reads, of a run's own, or of another output.

    Args:
        options: of a command.
        also: further outputs.

    Raises:
        UsageError: one of these.
    """
    from veridical.cli.outputs import check_named

    hints = get_type_hints(type(options), include_extras=True)
    values: dict[Names, dict[str, Any]] = {kind: {} for kind in Names}
    for spec in fields(options):
        kind = _kind(spec.name, hints[spec.name])
        values[kind][spec.name] = getattr(options, spec.name)
    check_named(
        values[Names.INPUT],
        outputs=[*values[Names.OUTPUT].values(), *also],
        runs=values[Names.RUN].values(),
    )


def _kind(name: str, annotation: Any) -> Names:
    """What the option of this name may name, by its annotation or else by its option class."""
    kinds: Iterator[Names] = (m for m in _marks(annotation) if isinstance(m, Names))
    for options in (RunOptions, EngineOptions):
        if name in names_of(options):
            return next(kinds, declared(options, name).names)
    return next(kinds, Names.INPUT)
