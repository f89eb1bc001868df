"""Comparison of two runs for a page, computed in a thread."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from veridical.diff.paging import SideBySide
from veridical.diff.reading import LoadedRun, ShownText, Side
from veridical.errors import UsageError, VeridicalError

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.diff.comparing import Texts
    from veridical.serve.pages.open_run import OpenRun

#: Maximum seconds that a request waits: small runs are compared by then.
_PATIENCE = 0.5
#: Parts of the work: reading one run, and comparing.
_READ, _SIDE = 0.35, 0.1


class RunComparison:
    """Comparison of two runs in their present state.

    Args:
        a, b: the runs.
        turn: lock held during the work, so that comparisons run one after another.
    """

    def __init__(self, a: OpenRun, b: OpenRun, turn: threading.Lock) -> None:
        self._runs = a, b
        self._stamps = a.stamp(), b.stamp()
        self._turn = turn
        self._passed = 0.0  # runs whose answers have been read
        self._found: SideBySide | None = None
        self._trouble: str | None = None
        self._thread = threading.Thread(target=self._prepare, daemon=True)
        self._thread.start()

    def holds(self) -> bool:
        """Return True if the work is running, or succeeded and both runs are unchanged."""
        if self._thread.is_alive():
            return True
        return self._found is not None and self._stamps == tuple(r.stamp() for r in self._runs)

    @property
    def share(self) -> float:
        """Return the completed share of the work, 0 to 1."""
        return _READ * sum(run.share for run in self._runs) + _SIDE * self._passed

    def look(self) -> SideBySide | None:
        """Return the comparison; None if it takes longer.

        Raises:
            UsageError: the runs are unreadable, have not ended, or have no record in common.
        """
        self._thread.join(_PATIENCE)
        if self._trouble is not None:
            raise UsageError(self._trouble)
        return self._found

    def wait(self) -> SideBySide:
        """Return the comparison, however long it takes.

        Raises:
            UsageError: as :meth:`look`.
        """
        while (found := self.look()) is None:
            pass
        return found

    def _prepare(self) -> None:
        try:
            with self._turn:
                (a, of_a), (b, of_b) = map(self._side, self._runs)
                self._found = SideBySide(a, b, (of_a, of_b))
        except (VeridicalError, OSError) as e:
            self._trouble = str(e)
        except BaseException:
            self._trouble = "the runs cannot be compared; see the server's log"
            raise

    def _side(self, run: OpenRun) -> tuple[Side, Texts]:
        """Return a side and the lookup of its texts.

        The input is not read again if the run has been read and is unchanged.
        """
        read = None
        with contextlib.suppress(UsageError):  # a side may be read from its results alone
            run.settle()
            read = run.read()
        if read is None:
            side = Side(run.path)
            self._passed += 1
            return side, side.texts
        side = Side(run.path, read=LoadedRun(read.results, self._counted(read)))

        def texts(places: AbstractSet[int]) -> dict[int, ShownText]:
            return {place: run.text(side.answers[place].row) for place in places}

        return side, texts

    def _counted(self, read: LoadedRun) -> Iterator[tuple[Record, bytes]]:
        count = max(1, read.results.summary().records)
        for record in read.records:
            self._passed += 1 / count
            yield record
