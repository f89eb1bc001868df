"""Progress of a download, shown to the user."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veridical.weights.table import Weights


class Watch:
    """A silent receiver of download progress."""

    def at(self, size: int, done: int) -> None:
        """Report the bytes and complete parts so far."""

    def say(self, line: str) -> None:
        """Report a line to the user."""


class Shown(Watch):
    """Progress on standard error: a bar at a terminal, else a line per part.

    Use it as a context manager.
    """

    def __init__(self, weights: Weights) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

        self._weights = weights
        self._done = 0
        self._console = Console(stderr=True, highlight=False)
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
        self._bar = Progress(*columns, console=self._console, transient=True)
        self._task = self._bar.add_task(weights.name, total=weights.size)

    def at(self, size: int, done: int) -> None:
        weights, parts = self._weights, len(self._weights.parts)
        if self._console.is_terminal:
            now = f"{weights.name}, part {min(done + 1, parts)} of {parts}"
            self._bar.update(self._task, completed=size, description=now)
        elif done > self._done:
            megabytes = f"{size / 1e6:.0f} of {weights.size / 1e6:.0f} MB"
            self.say(f"{weights.name}: {done} of {parts} parts, {megabytes}")
        self._done = done

    def say(self, line: str) -> None:
        if self._console.is_terminal:
            self._console.print(line, markup=False, soft_wrap=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def __enter__(self) -> Shown:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._console.is_terminal:  # otherwise it would print an empty line
            self._bar.stop()
