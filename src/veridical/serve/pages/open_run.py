"""Run opened by a page, re-read as it grows.

It is read by a thread of its own, so that no request waits for a large run. Until the first reading
is done, a page shows its progress; later readings replace the earlier one when they are done.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from veridical.api import reopen
from veridical.core.prompt_text import question_text
from veridical.diff.reading import LoadedRun, ShownText
from veridical.engine.results import MIN_COVERAGE
from veridical.errors import UsageError, VeridicalError
from veridical.files.rundir import check_free
from veridical.report import overview
from veridical.report.outcome import outcome
from veridical.review.items import Items
from veridical.serve.pages.shown import record_payload, snippet
from veridical.text.display import display

if TYPE_CHECKING:
    from veridical.arrays import Ints
    from veridical.core.records import Record
    from veridical.core.scores import Result
    from veridical.engine.summary import Summary
    from veridical.report.results import Results

Order = Literal["risk", "row"]
#: Records per page.
PAGE = 50
#: A growing run is read again after this multiple of the seconds that the last reading took.
REST = 4.0
#: Maximum seconds that a request waits for a reading: small runs appear immediately.
_PATIENCE = 0.8


class _Reading(NamedTuple):
    """State of a run when it was read."""

    results: Results
    items: Items
    summary: Summary
    total: int | None
    stamp: Any


class OpenRun:
    """Open run directory.

    Args:
        path: of the run.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guard = threading.Lock()
        self._stamp: Any = None
        self._after = 0.0
        self._under_way: threading.Thread | None = None
        self._opened: Results | None = None  # by the reading in progress
        self._reading: _Reading | None = None
        self._trouble: str | None = None
        self._orders: dict[tuple[str, Order], Ints] = {}
        self._found: tuple[_Reading, str, Ints] | None = None

    def progress(self) -> dict[str, Any]:
        """Return the progress of the run and its outcome so far.

        ``reading`` is the share of its input that has been read, until it has been read once.

        Raises:
            UsageError: its input cannot be opened again.
        """
        reading = self._look()
        head = {"path": display(self.path), "live": self.live}
        if reading is None:
            return {**head, "reading": self.share}
        return {**head, **facts(reading.summary), "total": reading.total}

    def figures(self) -> dict[str, Any]:
        """Return the mean risk of the run and the share of each verdict; ``reading`` as in
        :meth:`progress`.

        Raises:
            UsageError: its input cannot be opened again.
        """
        reading = self._look()
        head = {"path": display(self.path), "live": self.live}
        if reading is None:
            return {**head, "reading": self.share}
        risks, records = reading.items.risks, len(reading.items)
        known = risks[~np.isnan(risks)]
        found = Counter(reading.items.verdicts)
        return {
            **head,
            "records": records,
            "risk": float(known.mean()) if len(known) else None,
            "verdicts": {name: n / records for name, n in found.items()},
        }

    @property
    def share(self) -> float:
        """Return the share of its input that has been read, 0 to 1, until it has been read once."""
        opened = self._opened
        if self._reading is not None:
            return 1.0
        return 0.0 if opened is None else opened.fraction() or 0.0

    @property
    def live(self) -> bool:
        """Return True if a process is working on it. Runs with all results are not examined."""
        reading = self._reading
        if reading is not None and reading.total == reading.summary.records:
            return False
        return is_live(self.path)

    def page(self, number: int, order: Order, verdict: str, find: str = "") -> dict[str, Any]:
        """Return a page of the run's records.

        Args:
            order: the riskiest first (without a risk last), or input order.
            verdict: only records with it; "" for all.
            find: only records that contain this text; "" for all.
        """
        reading = self._wait()
        places = self._order(reading, order, verdict)
        if find:
            places = places[np.isin(places, self._holding(reading, find))]
        pages = max(1, -(-len(places) // PAGE))
        number = min(max(number, 0), pages - 1)
        shown = places[number * PAGE : (number + 1) * PAGE]
        lines = [self._line(reading.items, int(place)) for place in shown]
        return {"page": number, "pages": pages, "count": len(places), "records": lines}

    def record(self, row: int) -> dict[str, Any]:
        """Return a whole record: texts, statements with their evidence, and scores.

        Raises:
            UsageError: the record does not exist.
        """
        return record_payload(*self._whole(row))

    def text(self, row: int) -> ShownText:
        """Return the part of a record that a comparison shows.

        Raises:
            UsageError: the record does not exist.
        """
        record, result = self._whole(row)
        question = question_text(record.prompt) or None
        return ShownText(question, record.response, True, result.worst, "", None)

    def _whole(self, row: int) -> tuple[Record, Result]:
        items = self._wait().items
        place = items.place(row)
        if place is None:
            raise UsageError("unknown record")
        with self._guard:  # the records' file has one position at a time
            return items.get(place)

    def settle(self) -> None:
        """Wait until the run is read.

        Raises:
            UsageError: it is unreadable.
        """
        while self._look() is None:
            pass

    def read(self) -> LoadedRun | None:
        """Return the run with its records, which are read one by one on demand.

        None if the run has grown since it was read, or not every record has a result. Call it when
        the run is settled.
        """
        reading = self._reading
        if reading is None or reading.results.waiting or reading.stamp != self.stamp():
            return None
        return LoadedRun(reading.results, self._lines(reading.items))

    def _lines(self, items: Items) -> Iterator[tuple[Record, bytes]]:
        for place in range(len(items)):
            with self._guard:
                line = items.line(place)
            yield line

    def stamp(self) -> Any:
        """Return a value that changes when the run grows."""
        return _stamp(self.path)

    def _line(self, items: Items, place: int) -> dict[str, Any]:
        with self._guard:
            record, result = items.get(place)
        return {
            "row": record.row,
            "id": snippet(str(result.id)),
            "verdict": result.verdict,
            "risk": result.risk,
            "decision": result.decision,
            "question": snippet(question_text(record.prompt) or ""),
            "answer": snippet(record.response),
        }

    def _order(self, reading: _Reading, order: Order, verdict: str) -> Ints:
        """Return the positions of the records in an order."""
        found = self._orders.get((verdict, order))
        if found is None or reading is not self._reading:
            verdicts: Sequence[str] = reading.items.verdicts
            wanted = [i for i, v in enumerate(verdicts) if not verdict or v == verdict]
            found = np.array(wanted, dtype=np.int64)
            if order == "risk":
                risks = np.nan_to_num(reading.items.risks[found], nan=-1.0)
                found = found[np.argsort(-risks, kind="stable")]
            if reading is self._reading:
                self._orders[verdict, order] = found
        return found

    def _holding(self, reading: _Reading, find: str) -> Ints:
        """Return the positions of the records that contain a text. The last search is cached."""
        with self._guard:
            if self._found is None or self._found[:2] != (reading, find):
                places = np.array(reading.items.holding(find), dtype=np.int64)
                self._found = reading, find, places
            return self._found[2]

    def _wait(self) -> _Reading:
        reading = self._look()
        if reading is None:
            raise UsageError("the run is still being read; try again in a moment")
        return reading

    def _look(self) -> _Reading | None:
        """Return the newest reading; None while the first one takes longer.

        Starts a new one if the run has changed.

        Raises:
            UsageError: it is unreadable.
        """
        with self._guard:
            begin = self._under_way is None and time.monotonic() >= self._after
            if begin and (stamp := _stamp(self.path)) != self._stamp:
                self._stamp = stamp
                self._under_way = threading.Thread(target=self._read, daemon=True)
                self._under_way.start()
            thread = self._under_way
        if thread is not None:
            thread.join(_PATIENCE if self._reading is None or self._trouble else _PATIENCE / 4)
        if self._trouble is not None:
            raise UsageError(self._trouble)
        return self._reading

    def _read(self) -> None:
        begun, stamp = time.monotonic(), self._stamp
        trouble, reading = None, None
        try:
            self._opened = results = reopen(self.path)
            items = Items(results)
            total = None if results.sampled else len(items) + results.waiting
            reading = _Reading(results, items, results.summary(), total, stamp)
        except (VeridicalError, OSError) as e:
            trouble = str(e)
        except BaseException:
            trouble = "the run cannot be read; see the server's log"
            raise
        finally:
            with self._guard:
                self._trouble = trouble
                if trouble is not None:
                    self._stamp = None  # to be tried again
                if reading is not None:
                    self._reading, self._orders = reading, {}
                self._after = time.monotonic() + REST * (time.monotonic() - begun)
                self._under_way = self._opened = None


def facts(summary: Summary) -> dict[str, Any]:
    """Return the facts that a page shows of a run: outcome, verdicts and limits."""
    plain = summary.as_dict()
    banner = overview.banner({**plain, "min_coverage": MIN_COVERAGE})
    return {
        "outcome": outcome(summary),
        "records": summary.records,
        "row_errors": summary.row_errors,
        "cards": [card._asdict() for card in overview.cards(plain)],
        "banner": None
        if banner is None
        else {"level": banner.level, "headline": banner.headline, "points": banner.points},
    }


def is_live(path: Path) -> bool:
    """Return True if a process is working on a run directory."""
    try:
        check_free(path)
    except VeridicalError:
        return True
    return False


def _stamp(path: Path) -> list[tuple[str, int, int]]:
    """Return a value that changes when a run grows."""
    found = []
    for file in sorted(path.glob("*.json*")):
        if file.name != "labels.jsonl":
            try:
                status = file.stat()
            except OSError:  # a draft that was renamed meanwhile
                continue
            found.append((file.name, status.st_size, status.st_mtime_ns))
    return found
