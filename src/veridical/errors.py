"""Errors a user may meet. The CLI prints them without a traceback."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

#: What the error of a row begins with whose prompt a language model did not answer.
NO_ANSWER = "no answer: "
_MOST_CAUSES = 50  # that are counted by name
_typed = 0  # commands under way in this process: their users type options


class VeridicalError(Exception):
    """Base of every error raised on purpose by this package."""


class UsageError(VeridicalError):
    """The request itself is wrong: an option, a name, a parameter, a file that is not there."""


class MissingDistribution(UsageError, ImportError):
    """A name belongs to a distribution that is not installed."""


class ModelError(VeridicalError):
    """A model could not be loaded, or gave an unusable answer."""


class StrictError(VeridicalError):
    """A bad row was met under ``--strict``."""


class NotApplicable(Exception):
    """Raised by a scorer when the record lacks what the method needs; the reason is kept."""


@dataclass(frozen=True, slots=True)
class RowError:
    """One input row that is not a valid record. ``row`` and ``line`` count from 0 and 1."""

    row: int
    file: str
    line: int | None
    field: str | None
    error: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        field = f" field {self.field!r}:" if self.field else ""
        return f"{where}: row {self.row}:{field} {self.error}"


@contextmanager
def typed_options() -> Iterator[None]:
    """While it lasts, messages name options as the command line has them."""
    global _typed
    _typed += 1
    try:
        yield
    finally:
        _typed -= 1


def option_named(name: str, value: str = "") -> str:
    """What a message calls the option ``name``: the flag on the command line, else the keyword of
    the Python function.

    Args:
        value: what it is to be given, such as ``NAME``.

    >>> option_named("keep_generic"), option_named("llm", "NAME")
    ('keep_generic', 'llm=NAME')
    """
    if _typed:
        flag = "--" + name.replace("_", "-")
        return f"{flag} {value}" if value else flag
    return f"{name}={value}" if value else name


def mapping_named(field: str, column: str) -> str:
    """What a message calls the mapping of a column to a record's field.

    >>> mapping_named("contexts", "ctx")
    "mapping={'contexts': 'ctx'}"
    """
    if not _typed:
        return f"mapping={{{field!r}: {column!r}}}"
    pair = f"{field}={column}"
    return f"--map {shlex.quote(pair)}"


def several(name: str, value: Any, kinds: tuple[type, ...], taken: str) -> list[Any]:
    """``value`` as a list: of itself where it is one of ``kinds``.

    Args:
        name: what the argument is called.
        taken: what one is, for the message.

    Raises:
        UsageError: it is neither one of them nor a list of them.
    """
    if isinstance(value, kinds):
        return [value]
    if not isinstance(value, Iterable) or isinstance(value, (bytes, Mapping)):
        raise UsageError(f"{name} must be {taken} or a list of them, not {_shortly(value)}")
    items = list(value)
    wrong = [item for item in items if not isinstance(item, kinds)]
    if wrong:
        raise UsageError(f"{name} must be {taken} or a list of them; there is {_shortly(wrong[0])}")
    return items


def _shortly(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"a value of type {type(value).__name__}"


def unknown_name(kind: str, name: str, available: Iterable[str]) -> UsageError:
    """A :class:`UsageError` for an unknown name, with the nearest known ones."""
    names = sorted(available)
    import difflib

    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(repr(c) for c in close)}?" if close else "."
    return UsageError(f"unknown {kind} {name!r}{hint} Available: {', '.join(names)}")


def count_cause(reasons: Counter[str], reason: str, n: int = 1) -> None:
    """Count a cause ``n`` times; of very many causes, those that come late under one name."""
    if reason not in reasons and len(reasons) >= _MOST_CAUSES:
        reason = "other reasons"
    reasons[reason] += n
