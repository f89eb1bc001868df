"""How far a run is, by the work of its models and the rows still to come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veridical.llm.ledger import Ledger

_LEAST = 1e-3  # seconds that a record takes besides what its models do
#: Work that an unfinished record may still ask for, as a share of what records asked so far: a
#: model answers whole records in one round or two, an LLM is mostly asked on by what it said.
_MORE, _MORE_OF_LLM = 0.25, 1.0

#: Seconds of model work: done, and asked for so far.
Meter = Callable[[], tuple[float, float]]


@dataclass
class Progress:
    """How far a run is. Counts are of this run; all may be read at any time.

    Attributes:
        records: finished.
        row_errors: bad rows.
        resumed: records finished by an earlier run.
        in_flight: records begun and not finished.
        total: rows of the input; None where they were not counted.
        seen: rows read or skipped so far.
        fraction: of the input read, 0 to 1; None where it cannot be known.
        ledger: of LLM calls; None where none is called.
        meter: tells the work of the models; None where there is nothing to tell.
    """

    records: int = 0
    row_errors: int = 0
    resumed: int = 0
    in_flight: int = 0
    total: int | None = None
    seen: int = 0
    fraction: float | None = None
    ledger: Ledger | None = None
    meter: Meter | None = None

    @property
    def rows(self) -> int | None:
        """Rows of the input, estimated by what was read where they were not counted."""
        least = max(self.seen, self.resumed + self.records + self.in_flight + self.row_errors)
        if self.total is not None:
            return max(self.total, least)
        return round(max(self.seen / self.fraction, least)) if self.fraction else None

    @property
    def done(self) -> float | None:
        """The share of the work that is done, 0 to 1; None where it cannot be known.

        Of records begun it is what their models have answered, of all they were asked. Rows to
        come are taken to need as much each as those before them, and a record counts whole only
        when it is finished: it may ask for more.
        """
        rows = self.rows
        if rows is None:
            return None
        begun = self.records + self.in_flight
        read = begun + self.row_errors
        to_come = max(0, rows - self.resumed - read)
        answered, asked = (0.0, 0.0) if self.meter is None else self.meter()
        more = _MORE if self.ledger is None else _MORE_OF_LLM
        each = max(_LEAST, more * asked / max(begun, 1))
        share = 0.0
        if begun:
            share = (answered + each * self.records) / (asked + each * begun)
        elif read:
            share = 1.0
        share *= read / max(read + to_come, 1)
        resumed = min(1.0, self.resumed / max(rows, 1))
        return min(1.0, resumed + (1 - resumed) * share)
