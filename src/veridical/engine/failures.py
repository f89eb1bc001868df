"""What went wrong in a run, by scorer or field and by cause."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from veridical.engine.causes import alike
from veridical.text.display import SHOWN, cut
from veridical.text.wrap import harmless

_MOST = 200  # causes that are told apart
_OTHERS = "other causes"


@dataclass(frozen=True)
class Failure:
    """A cause, and how often it came up.

    Attributes:
        kind: ``row`` for rows of the input that are no valid records, ``score`` for scores that
            failed.
        name: the field that is to blame, "" where none is; or the scorer's key.
        cause: what was wrong, in the words of the first.
        count: of rows or scores.
        row: the first row with it, from 0; None where only the number is known.
        example: the whole message for that row.
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
        told = harmless(f"{self.count:,} {things}{plural} failed: {where}{self.cause}")
        return cut(told, 2 * SHOWN)


class Failures:
    """Failures counted one at a time; of very many causes, those that come late together."""

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
        """The most frequent first."""
        return sorted(self._causes.values(), key=lambda failure: -failure.count)
