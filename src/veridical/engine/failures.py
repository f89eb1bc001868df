"""Failures of a run by scorer or field and by cause."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from veridical.engine.causes import alike
from veridical.text.display import SHOWN, cut
from veridical.text.wrap import harmless

_MOST = 200  # distinct causes that are counted separately
_OTHERS = "other causes"


@dataclass(frozen=True)
class Failure:
    """A cause of failure, and its frequency.

    Attributes:
        kind: ``row`` for invalid rows of the input, ``score`` for scores that failed.
        name: the field concerned ("" without one), or the scorer's key.
        cause: message of the first failure.
        count: number of rows or scores.
        row: the first row concerned, from 0; None if only the number is known.
        example: the complete message for that row.
    """

    kind: Literal["row", "score"]
    name: str
    cause: str
    count: int
    row: int | None
    example: str

    def __str__(self) -> str:
        things = "row" if self.kind == "row" else "score"
        where = f"{self.name}: " if self.name else ""
        plural = "" if self.count == 1 else "s"
        text = harmless(f"{self.count:,} {things}{plural} failed: {where}{self.cause}")
        return cut(text, 2 * SHOWN)


class Failures:
    """Counter of failures; of very many causes, late ones are counted together."""

    def __init__(self) -> None:
        self._causes: dict[tuple[str, str, str], Failure] = {}

    def add(
        self,
        kind: Literal["row", "score"],
        name: str,
        cause: str,
        row: int | None,
        example: str,
        count: int = 1,
    ) -> None:
        """Count a failure ``count`` times."""
        key = (kind, name, alike(cause))
        if key not in self._causes and len(self._causes) >= _MOST:
            key, name, cause = (kind, "", _OTHERS), "", _OTHERS
        known = self._causes.get(key)
        if known is None:
            self._causes[key] = Failure(kind, name, cause, count, row, example)
        else:
            self._causes[key] = replace(known, count=known.count + count)

    def ranked(self) -> list[Failure]:
        """Return the failures, most frequent first."""
        return sorted(self._causes.values(), key=lambda failure: -failure.count)
