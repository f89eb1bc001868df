"""Commands declared as classes of flags.

A command is a class of options and a function that takes an instance of it::

    @flags(RunOptions)
    class CountFlags(ModelFlags):
        inputs: list[str] = argument("Files of records.")
        limit: int | None
        preset: str = "fast"
        report: Path | None = flag("Write a report.", Group.OUTPUT, names=Names.OUTPUT)

    @command
    def count(options: CountFlags) -> int:
        \"\"\"Count the records.\"\"\"
        check_files(options)
        results = veridical.check(rows_of(options.inputs), **run_keywords(options))

:func:`flags` makes the class a frozen dataclass. A field of an option class of the Python API
needs only its name and type. Default, help, bounds, choices and heading are taken from there.
A different default is assigned; :func:`flag` declares other differences, and options that only
the command has. A class inherits the flags that commands share. :func:`command` creates a typer
parameter for each field; the choices of a ``Literal`` are texts.

:func:`check_files` checks the files that the options name, by
:class:`~veridical.core.options.Names`. :func:`veridical.cli.options.run_keywords` returns the
keywords of :func:`veridical.check` among the options.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

import typer

from veridical.cli.help import page
from veridical.core.options import Declared, Group, Names, Options, declared, names_of

Chosen = TypeVar("Chosen")
Made = TypeVar("Made")
_FLAG = "flag"


@dataclass(frozen=True)
class _Flag:
    """A declared option or argument of a command; ``...`` is a default that was not given."""

    help: str = ""
    group: Group | None = None
    default: Any = ...
    called: str = ""
    least: float | None = None
    most: float | None = None
    metavar: str | None = None
    names: Names | None = None
    after: str = ""
    argument: bool = False
    choices: tuple[str, ...] = ()

    def completed_by(self, spec: Declared, default: Any) -> _Flag:
        """Return this flag with missing parts taken from an option class."""
        return replace(
            self,
            help=self.help or spec.help,
            group=self.group or spec.group,
            default=default if self.default is ... else self.default,
            least=spec.least if self.least is None else self.least,
            names=self.names or spec.names,
            choices=spec.choices,
        )


def flag(
    help: str = "",
    group: Group | None = None,
    default: Any = ...,
    *,
    called: str = "",
    least: float | None = None,
    most: float | None = None,
    metavar: str | None = None,
    names: Names | None = None,
    after: str = "",
) -> Any:
    """Declare an option of a command.

    Missing parts are taken from the option class with a field of this name, if any.

    Args:
        help: text in ``--help``.
        group: heading in ``--help``.
        default: MISSING if the option is required.
        called: name on the command line, if it is not the field's. A flag that can be negated
            has both names.
        least: minimum of a number.
        most: maximum of a number.
        metavar: placeholder of the value in ``--help``.
        names: kind of a path in the value.
        after: option that it follows in the help.
    """
    return _Flag(help, group, default, called, least, most, metavar, names, after)


def argument(
    help: str, default: Any = MISSING, *, metavar: str | None = None, names: Names | None = None
) -> Any:
    """Declare an argument of a command, required unless it has a ``default``."""
    return _Flag(help, default=default, metavar=metavar, names=names, argument=True)


def output(
    help: str,
    called: str = "",
    default: Any = ...,
    *,
    metavar: str | None = "FILE",
    after: str = "",
) -> Any:
    """Declare a flag that names an output."""
    return flag(
        help,
        Group.OUTPUT,
        default,
        called=called,
        metavar=metavar,
        names=Names.OUTPUT,
        after=after,
    )


def coverage(help: str, default: float = 0.98) -> Any:
    """Declare the flag ``--min-coverage``."""
    return flag(help, Group.GATES, default, least=0, most=1)


def flags(*classes: type[Options], unsaid: bool = False) -> Callable[[type[Made]], type[Made]]:
    """Make a frozen dataclass of flags: the options of a command, or shared ones to inherit.

    Args:
        classes: option classes of the Python API; the first with help for an option is used.
        unsaid: use None for each option that is not given, instead of its default.
    """

    def made(cls: type[Made]) -> type[Made]:
        own = inspect.get_annotations(cls)
        for name in own:
            said = vars(cls).get(name, ...)
            said = said if isinstance(said, _Flag) else _Flag(default=said)
            described = (
                one for one in classes if name in names_of(one) and declared(one, name).help
            )
            of = next(described, None)
            if of is not None:
                said = said.completed_by(declared(of, name), getattr(of, name))
            setattr(cls, name, _field(said))
        if unsaid:
            for spec in (spec for base in cls.__bases__ for spec in fields(cast("Any", base))):
                cls.__annotations__[spec.name] = get_type_hints(cls)[spec.name]
                setattr(cls, spec.name, _field(replace(spec.metadata[_FLAG], default=None)))
        return dataclass(frozen=True, kw_only=True)(cls)

    return made


def _field(said: _Flag) -> Any:
    default = None if said.default is ... else said.default
    return field(default=default, metadata={_FLAG: said})


def command(function: Callable[[Chosen], int]) -> Callable[..., int]:
    """Make a typer command of a function: one parameter per field of its argument's class."""
    return _command(function, ())


def long_command(*essential: str) -> Callable[[Callable[[Chosen], int]], Callable[..., int]]:
    """Make a command with many options, as :func:`command` does.

    Args:
        essential: fields that ``--help`` shows; ``--help-all`` shows the others too.
    """
    return partial(_command, essential=essential)


def _command(function: Callable[[Chosen], int], essential: tuple[str, ...]) -> Callable[..., int]:
    (taken,) = inspect.signature(function).parameters
    chosen: Any = get_type_hints(function)[taken]
    hints = get_type_hints(chosen)
    specs = {spec.name: spec for spec in fields(chosen)}
    parameters = [_parameter(specs[name], hints[name]) for name in _in_order(chosen)]
    if essential:
        parameters.append(_HELP_ALL)

    def run(**values: Any) -> int:
        values.pop(_HELP_ALL.name, None)
        if ".py:" in (values.get("scorers") or ""):
            from veridical.cli.own_scorers import loaded

            values["scorers"] = loaded(values["scorers"])
        return function(
            chosen(**{n: v.value if isinstance(v, Enum) else v for n, v in values.items()})
        )

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__module__ = function.__module__
    run.essential = essential  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _show_all(ctx: typer.Context, wanted: bool) -> None:
    if wanted:
        typer.echo(page(ctx.command, ctx, everything=True), nl=False)
        raise typer.Exit


_HELP_ALL = inspect.Parameter(
    "help_all",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool,
        typer.Option(
            "--help-all", is_eager=True, callback=_show_all, help="Show every option and exit."
        ),
    ],
)


def _parameter(spec: Field[Any], hint: Any) -> inspect.Parameter:
    """Return typer's parameter of a flag.

    Choices become an enum, the only form that older versions of typer support.
    """
    said: _Flag = spec.metadata[_FLAG]
    default = inspect.Parameter.empty if spec.default is MISSING else spec.default
    kinds = [kind for kind in (hint, *get_args(hint)) if get_origin(kind) is Literal]
    if choices := get_args(kinds[0]) if kinds else said.choices:
        make: Any = Enum
        hint = make(spec.name, [(choice, choice) for choice in choices], type=str)
        default = default if default in (None, inspect.Parameter.empty) else hint(default)
        hint = hint | None if default is None else hint
    if said.argument:
        parameter = typer.Argument(help=said.help, metavar=said.metavar)
    else:
        called = said.called or (f"--{spec.name.replace('_', '-')}" if _is_switch(hint) else "")
        parameter = typer.Option(
            *filter(None, [called]),
            help=said.help,
            min=said.least,
            max=said.most,
            metavar=said.metavar,
            rich_help_panel=None if said.group is None else said.group.value,
        )
    return inspect.Parameter(
        spec.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=operator.getitem(Annotated, (hint, parameter)),
    )


def _is_switch(hint: Any) -> bool:
    return hint is bool or bool in get_args(hint)


def _in_order(options: type) -> list[str]:
    """Return the names of a class's flags in the order of ``--help``.

    Own flags come first, then inherited ones by class; ``after`` moves a flag.
    """
    bases = [base for base in options.__bases__ if base is not object]
    inherited = dict.fromkeys(name for base in bases for name in _in_order(base))
    own = [name for name in inspect.get_annotations(options) if name not in inherited]
    names = [*own, *inherited]
    for spec in fields(cast("Any", options)):
        if (after := spec.metadata[_FLAG].after) in names and after:
            names.remove(spec.name)
            names.insert(names.index(after) + 1, spec.name)
    return names


def check_files(options: Any, *, also: Iterable[Path] = ()) -> None:
    """Check before the work that outputs can be written and overwrite no input.

    Args:
        options: options of a command.
        also: further outputs.

    Raises:
        UsageError: an output cannot be written, or would overwrite an input, a file of a run or
            another output.
    """
    from veridical.cli.outputs import check_named

    values: dict[Names, dict[str, Any]] = {kind: {} for kind in Names}
    for spec in fields(options):
        kind = spec.metadata[_FLAG].names or Names.INPUT
        values[kind][spec.name] = getattr(options, spec.name)
    check_named(
        values[Names.INPUT],
        outputs=[*values[Names.OUTPUT].values(), *also],
        runs=values[Names.RUN].values(),
    )
