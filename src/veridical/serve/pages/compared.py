"""Two runs that a page compares: prepared by a thread, and the page is told how far that is."""

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
    from veridical.serve.pages.opened import OpenRun

#: Seconds that a request waits: small runs are compared by then.
_PATIENCE = 0.5
#: Of the work, what reading one run takes, and what is compared of it.
_READ, _SIDE = 0.35, 0.1


class RunComparison:
    """Two runs, as they are now.

    Args:
        a, b: the runs.
        turn: held while the work is done, so that comparisons come one after another.
    """

    def __init__(self, a: OpenRun, b: OpenRun, turn: threading.Lock) -> None:
        self._runs = a, b
        self._stamps = a.stamp(), b.stamp()
        self._turn = turn
        self._passed = 0.0  # runs of which the answers are known
        self._found: SideBySide | None = None
        self._trouble: str | None = None
        self._thread = threading.Thread(target=self._prepare, daemon=True)
        self._thread.start()

    def holds(self) -> bool:
        """Whether it is under way, or both runs are still what they were and it went well."""
        if self._thread.is_alive():
            return True
        return self._found is not None and self._stamps == tuple(r.stamp() for r in self._runs)

    @property
    def share(self) -> float:
        """How much of the work is done, 0 to 1."""
        return _READ * sum(run.share for run in self._runs) + _SIDE * self._passed

    def look(self) -> SideBySide | None:
        """The comparison; None where it takes its time.

        Raises:
            UsageError: the runs cannot be read, have not ended, or have no record in common.
        """
        self._thread.join(_PATIENCE)
        if self._trouble is not None:
            raise UsageError(self._trouble)
        return self._found

    def wait(self) -> SideBySide:
        """The comparison, however long it takes.

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
            self._trouble = "the runs cannot be compared"
            raise

    def _side(self, run: OpenRun) -> tuple[Side, Texts]:
        """A side, and what finds its texts: without reading its input again where the run is read
        and has not gone on since."""
        read = None
        with contextlib.suppress(UsageError):  # a side may be told from its results alone
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
