"""Progress display of commands; see :mod:`veridical.run.display`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

from veridical.run import display

if TYPE_CHECKING:
    from veridical.api import Job
    from veridical.report.results import Results


@contextmanager
def loading(console: Console) -> Iterator[None]:
    """Show that models are being loaded."""
    with display.Display(console) as shown:
        shown.update("loading models", None)
        yield


@contextmanager
def reading(results: Results, console: Console) -> Iterator[None]:
    """Show the progress of reading a run's input, which may be large."""
    done = threading.Event()

    def tell() -> None:
        with display.Display(console) as shown:
            while not done.wait(display.TICK):
                shown.update("reading the run", results.fraction())

    telling = threading.Thread(target=tell, daemon=True)
    telling.start()
    try:
        yield
    finally:
        done.set()
        telling.join()


def watch(job: Job, console: Console) -> Results:
    """Wait for ``job`` and show its progress; Ctrl-C cancels it and is raised again."""
    for text in job.directory.distrusted.lines:
        console.print(text, markup=False)
    try:
        with display.Display(console) as shown:
            return display.watch(job, shown)
    except KeyboardInterrupt:
        job.cancel()
        raise
