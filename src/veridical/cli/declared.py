"""Commands that are declared as classes of flags.

A command is a class of its options and a function that takes it::

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

:func:`flags` makes the class a frozen dataclass. A field that an option class of the Python API
has too says name and type: default, help, bounds, choices and heading come from where it is
declared for Python. Another default is assigned; :func:`flag` says what else differs, or all of
an option that the command alone has. A class inherits the flags that commands share.
:func:`command` gives typer a parameter for each field; the choices of a ``Literal`` are texts.

:func:`check_files` looks at what the options name: :class:`~veridical.core.options.Names` says
what is an output or the folder of a run. :func:`veridical.cli.options.run_keywords` gives the
keywords of :func:`veridical.check` that the command has options of.
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
    """A declared option or argument of a command; ``...`` stands for a value not given."""

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

    def told_of(self, spec: Declared, default: Any) -> _Flag:
        """This flag, where it says nothing as an option class does."""
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
    """An option of a command. What is not said is as the option class has it that has a field of
    this name, if one does.

    Args:
        help: what ``--help`` tells of it.
        group: where ``--help`` lists it.
        default: MISSING where it must be given.
        called: its name on the command line, if not the field's; a flag that can also be declined
            has both names.
        least: the smallest number that it may be.
        most: the largest one.
        metavar: what ``--help`` shows in the place of its value.
        names: what a path in it is.
        after: the option that it follows in the help.
    """
    return _Flag(help, group, default, called, least, most, metavar, names, after)


def argument(
    help: str, default: Any = MISSING, *, metavar: str | None = None, names: Names | None = None
) -> Any:
    """An argument of a command, which must be given unless it has a ``default``."""
    return _Flag(help, default=default, metavar=metavar, names=names, argument=True)


def output(
    help: str,
    called: str = "",
    default: Any = ...,
    *,
    metavar: str | None = "FILE",
    after: str = "",
) -> Any:
    """A flag that names an output."""
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
    """The flag ``--min-coverage``."""
    return flag(help, Group.GATES, default, least=0, most=1)


def flags(*classes: type[Options], unsaid: bool = False) -> Callable[[type[Made]], type[Made]]:
    """Make a class of flags, a frozen dataclass: the options of a command, or some that commands
    share by inheritance.

    Args:
        classes: what they are declared in for Python; the first that has a help of an option is
            asked.
        unsaid: whether None stands for each that is not given, in the place of its default.
    """

    def made(cls: type[Made]) -> type[Made]:
        own = inspect.get_annotations(cls)
        for name in own:
            said = vars(cls).get(name, ...)
            said = said if isinstance(said, _Flag) else _Flag(default=said)
            told = (one for one in classes if name in names_of(one) and declared(one, name).help)
            of = next(told, None)
            if of is not None:
                said = said.told_of(declared(of, name), getattr(of, name))
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
    """Return typer's parameter of a flag. Its choices are an enum there: older versions of typer
    know no others."""
    said: _Flag = spec.metadata[_FLAG]
    default = inspect.Parameter.empty if spec.default is MISSING else spec.default
    kinds = [kind for kind in (hint, *get_args(hint)) if get_origin(kind) is Literal]
    if choices := get_args(kinds[0]) if kinds else said.choices:
        make: Any = Enum
        hint = make(spec.name, [(choice, choice) for choice in choices], type=str)
        default = default if default in (None, inspect.Parameter.empty) else hint(default)
        hint = hint | None if default is None else hint
    if said.argument:
        told = typer.Argument(help=said.help, metavar=said.metavar)
    else:
        called = said.called or (f"--{spec.name.replace('_', '-')}" if _is_switch(hint) else "")
        told = typer.Option(
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
        annotation=operator.getitem(Annotated, (hint, told)),
    )


def _is_switch(hint: Any) -> bool:
    return hint is bool or bool in get_args(hint)


def _in_order(options: type) -> list[str]:
    """The names of a class's flags as ``--help`` has them: its own, then those it inherits, class
    by class, each after the one that it says it follows."""
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
    """Find out before hours of work, not after, that an output cannot be written, or that it
    would take the place of a file that the command reads, of a run's own, or of another output.

    Args:
        options: of a command.
        also: further outputs.

    Raises:
        UsageError: one of these.
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
