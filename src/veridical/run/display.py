"""Progress display: in a terminal, in a notebook or in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from html import escape
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

    from veridical.engine.progress import Progress

#: Seconds between two updates.
TICK = 0.2
#: Minimum interval of log lines, minimum further share of the work, and interval after which a line
#: is printed anyway.
LINE_EVERY, LINE_SHARE, LINE_AT_LEAST = 10.0, 0.1, 60.0
#: Minimum elapsed seconds and share of the work for an estimate of the time left.
_SECONDS, _SHARE = 5.0, 0.05
_BAR, _WIDEST = 16, 80  # columns

T_co = TypeVar("T_co", covariant=True)


class Watched(Protocol[T_co]):
    """A run in progress, such as a :class:`veridical.api.Job`."""

    @property
    def current(self) -> tuple[str, Progress]: ...
    def wait(self, timeout: float | None = None) -> T_co: ...
    def cancel(self) -> None: ...


class StageEstimate:
    """Estimate for a stage of the work: a share that never falls, and the time left if
    meaningful."""

    def __init__(self, now: float) -> None:
        self.share: float | None = None
        self.left: float | None = None
        self._from = now
        self._before: float | None = None  # share done by earlier runs

    def update(self, now: float, share: float | None) -> None:
        """Record the completed ``share`` of the work; None if unknown."""
        if share is None:
            return
        if self._before is None:
            self._from, self._before = now, share
        # only the end itself shows completion
        self.share = min(0.99, max(share, self.share or 0.0))
        here, seconds = self.share - self._before, now - self._from
        if seconds >= _SECONDS and here >= _SHARE * (1 - self._before):
            self.left = seconds * (1 - self.share) / here


def time_left(seconds: float) -> str:
    """Format a span of time in words."""
    if seconds < 10:
        return "a few seconds left"
    if seconds < 90:
        return f"about {10 * round(seconds / 10)} s left"
    if seconds < 90 * 60:
        return f"about {round(seconds / 60)} min left"
    return f"about {round(seconds / 3600)} h left"


class Display:
    """Progress display: one changing line, or occasional lines in a log.

    Args:
        console: a terminal, or a log; None displays in the notebook.
    """

    def __init__(self, console: Console | None) -> None:
        self._console = console
        self._stage = ""
        self._estimate = StageEstimate(time.monotonic())
        self._last_line, self._last_share = time.monotonic(), 0.0
        self._bar: Any = None
        self._handle: Any = None

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self._handle is not None:
            self._handle.update({"text/plain": "", "text/html": ""}, raw=True)

    def update(self, stage: str, share: float | None, details: Sequence[str] = ()) -> None:
        """Show the stage, its completed ``share`` (None if unknown), and as many ``details`` as
        fit."""
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._estimate = stage, StageEstimate(now)
            self._last_share = 0.0
        estimate = self._estimate
        estimate.update(now, share)
        left = [] if estimate.left is None else [time_left(estimate.left)]
        head = stage if estimate.share is None else f"{stage} {100 * estimate.share:.0f} %"
        parts = [head, *details[:1], *left, *details[1:]]
        if self._console is None:
            self._in_notebook(estimate.share, parts)
        elif self._console.is_terminal:
            self._on_terminal(self._console, estimate.share, parts)
        else:
            self._in_log(self._console, now, estimate.share, parts)

    def _on_terminal(self, console: Console, share: float | None, parts: list[str]) -> None:
        if self._bar is None:
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bars

            columns = (BarColumn(_BAR), TextColumn("{task.description}", markup=False))
            self._bar = Bars(*columns, console=console, transient=True)
            self._bar.add_task("", total=None)
            self._bar.start()
        room = min(_WIDEST, console.width) - _BAR - 2
        text = _fitting(parts, room)
        total = None if share is None else 1.0
        self._bar.update(
            self._bar.task_ids[0], description=text, total=total, completed=share or 0.0
        )

    def _in_log(self, console: Console, now: float, share: float | None, parts: list[str]) -> None:
        waited, more = now - self._last_line, (share or 0.0) - self._last_share
        if waited < LINE_EVERY or (more < LINE_SHARE and waited < LINE_AT_LEAST):
            return
        self._last_line, self._last_share = now, share or 0.0
        console.print(_fitting(parts, _WIDEST), markup=False)

    def _in_notebook(self, share: float | None, parts: list[str]) -> None:
        text = _fitting(parts, _WIDEST)
        bar = "" if share is None else f' value="{share:.3f}"'
        page = f"<progress{bar}></progress> <span>{escape(text)}</span>"
        bundle = {"text/plain": text, "text/html": page}
        if self._handle is None:
            display = sys.modules["IPython"].display  # in a notebook, IPython is always present

            self._handle = display.display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def _fitting(parts: Sequence[str], room: int) -> str:
    """Join as many of the ``parts``, in order, as fit."""
    text = ""
    for part in parts:
        longer = f"{text}, {part}" if text else part
        if len(longer) <= room:
            text = longer
    return text


def display_for(progress: bool | None, stream: IO[str] | None = None) -> Display | None:
    """Return the progress display of :func:`veridical.check`; None for no display.

    Args:
        progress: True or False; None displays on a terminal and in a notebook.
        stream: default: standard error.
    """
    if progress is False:
        return None
    if _in_kernel():
        return Display(None)
    stream = sys.stderr if stream is None else stream
    if progress is None and not (stream is not None and stream.isatty()):
        return None
    from rich.console import Console

    return Display(Console(file=stream, highlight=False, soft_wrap=not stream.isatty()))


def _in_kernel() -> bool:
    """Return True in a notebook's process, which has imported IPython itself."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def watch(job: Watched[T_co], display: Display) -> T_co:
    """Return the results of ``job``, showing its progress meanwhile."""
    while True:
        try:
            return job.wait(TICK)
        except TimeoutError:
            show(job, display)


def show(job: Watched[Any], display: Display) -> None:
    """Show the progress of ``job``."""
    stage, progress = job.current
    display.update(stage or "scoring", progress.done, details_of(progress))


def details_of(progress: Progress) -> list[str]:
    """Return details of a run, most useful first."""
    finished = progress.records + progress.resumed
    rows = progress.rows
    counted = f"{finished:,}" if rows is None else f"{finished:,} of {rows - progress.row_errors:,}"
    details = [f"{counted} records"]
    if progress.row_errors:
        details.append(f"{progress.row_errors:,} bad rows")
    if progress.ledger is not None:
        ledger = progress.ledger
        details.append(f"{ledger.calls:,} LLM calls")
        details.append("cost unknown" if ledger.cost is None else f"cost {ledger.cost:.4f}")
    if progress.resumed:
        details.append(f"{progress.resumed:,} resumed")
    return details
