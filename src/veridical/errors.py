"""User-facing errors. The CLI prints them without a traceback."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

#: Prefix of the error of a row whose prompt a language model did not answer.
NO_ANSWER = "no answer: "
_MOST_CAUSES = 50  # maximum causes counted by name
_MAX_NAME_CHARACTERS = 80  # of an unknown name in a message
_typed = 0  # running commands in this process, whose users type options


class VeridicalError(Exception):
    """Base class of all errors raised deliberately by this package."""


class UsageError(VeridicalError):
    """Error in the request: an option, a name, a parameter or a missing file."""


class MissingDistribution(UsageError, ImportError):
    """Error: a name belongs to a distribution that is not installed."""


class ModelError(VeridicalError):
    """Error: a model could not be loaded, or returned an unusable answer."""


class StrictError(VeridicalError):
    """Error: a bad row was found under ``--strict``."""


class NotApplicable(Exception):
    """Raised by a scorer when the record lacks required input; the reason is stored."""


@dataclass(frozen=True, slots=True)
class RowError:
    """An input row that is not a valid record.

    ``row`` counts from 0, ``line`` from 1. Unprintable characters of ``field`` are escaped.
    """

    row: int
    file: str
    line: int | None
    field: str | None
    error: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        field = f" field {_quoted(self.field)}:" if self.field else ""
        return f"{where}: row {self.row}:{field} {self.error}"


@contextmanager
def typed_options() -> Iterator[None]:
    """Name options in messages as command line flags while the context is active."""
    global _typed
    _typed += 1
    try:
        yield
    finally:
        _typed -= 1


def option_named(name: str, value: str = "") -> str:
    """Return the name of an option in messages: the flag on the command line, else the keyword.

    Args:
        value: placeholder of its value, such as ``NAME``.

    >>> option_named("keep_generic"), option_named("llm", "NAME")
    ('keep_generic', 'llm=NAME')
    """
    if _typed:
        flag = "--" + name.replace("_", "-")
        return f"{flag} {value}" if value else flag
    return f"{name}={value}" if value else name


def mapping_named(field: str, column: str) -> str:
    """Return the mapping of a column to a field in the form of the interface in use.

    >>> mapping_named("contexts", "ctx")
    "mapping={'contexts': 'ctx'}"
    """
    if not _typed:
        return f"mapping={{{field!r}: {column!r}}}"
    pair = f"{field}={column}"
    return f"--map {shlex.quote(pair)}"


def several(name: str, value: Any, kinds: tuple[type, ...], taken: str) -> list[Any]:
    """Return ``value`` as a list; a single value of ``kinds`` becomes a list of one.

    Args:
        name: name of the argument.
        taken: description of one valid value, for the message.

    Raises:
        UsageError: the value is neither valid nor a list of valid values.
    """
    if isinstance(value, kinds):
        return [value]
    if not isinstance(value, Iterable) or isinstance(value, (bytes, Mapping)):
        raise UsageError(f"{name} must be {taken} or a list of them, not {_shortly(value)}")
    items = list(value)
    wrong = [item for item in items if not isinstance(item, kinds)]
    if wrong:
        raise UsageError(
            f"{name} must be {taken} or a list of them, not a list with {_shortly(wrong[0])}"
        )
    return items


def _shortly(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"a value of type {type(value).__name__}"


def unknown_name(kind: str, name: str, available: Iterable[str]) -> UsageError:
    """Make a :class:`UsageError` for an unknown name, with the nearest known ones."""
    import difflib

    names = sorted(available)
    name = _cut(name, _MAX_NAME_CHARACTERS)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(repr(c) for c in close)}?" if close else "."
    quoted = _cut(repr(name), _MAX_NAME_CHARACTERS + 20)
    return UsageError(f"unknown {kind} {quoted}{hint} Available: {', '.join(names)}")


def _quoted(text: str) -> str:
    """Quote a text whose unprintable characters are escaped already."""
    return f"'{text}'" if text.isprintable() and "'" not in text else repr(text)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def count_cause(reasons: Counter[str], reason: str, n: int = 1) -> None:
    """Count a cause ``n`` times; of very many causes, late ones share a name."""
    if reason not in reasons and len(reasons) >= _MOST_CAUSES:
        reason = "other reasons"
    reasons[reason] += n
