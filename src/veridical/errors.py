"""Errors a user may meet. The CLI prints them without a traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any


class VeridicalError(Exception):
    """Base of every error raised on purpose by this package."""


class UsageError(VeridicalError):
    """The request itself is wrong: an option, a name, a parameter, a file that is not there."""


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


def unknown_name(kind: str, name: str, available: Iterable[str]) -> UsageError:
    """A :class:`UsageError` for an unknown name, with the nearest known ones."""
    names = sorted(available)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(repr(c) for c in close)}?" if close else "."
    return UsageError(f"unknown {kind} {name!r}{hint} Available: {', '.join(names)}")
