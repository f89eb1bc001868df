"""Progress of a run, by model work and remaining rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veridical.llm.ledger import Ledger

_LEAST = 1e-3  # seconds per record in addition to model work
#: Work that an unfinished record may still request, as a share of the work per record so far. A
#: model answers a record in one or two rounds; an LLM is usually called again, depending on its
#: replies.
_MORE, _MORE_OF_LLM = 0.25, 1.0

#: Seconds of model work: completed, and requested so far.
Meter = Callable[[], tuple[float, float]]


@dataclass
class Progress:
    """Progress of a run. Counts are of this run; all may be read at any time.

    Attributes:
        records: finished records.
        row_errors: invalid rows.
        resumed: records finished by an earlier run.
        in_flight: records started but not finished.
        total: rows of the input; None if they were not counted.
        seen: rows read or skipped so far.
        fraction: share of the input read, 0 to 1; None if unknown.
        ledger: ledger of LLM calls; None without calls.
        meter: function that reports the work of the models; None without models.
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
        """Rows of the input; estimated from the share read if they were not counted."""
        least = max(self.seen, self.resumed + self.records + self.in_flight + self.row_errors)
        if self.total is not None:
            return max(self.total, least)
        return round(max(self.seen / self.fraction, least)) if self.fraction else None

    @property
    def done(self) -> float | None:
        """Completed share of the work, 0 to 1; None if unknown.

        For started records it is the answered share of model requests. Remaining rows are assumed
        to need as much as those before them. A record counts fully only when it is finished, as it
        may request more.
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
