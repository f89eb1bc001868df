"""A bar with rate and ETA on a terminal; a plain line now and then elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from veridical.api import Job
    from veridical.results import Results

_TICK = 0.2
_LINE_EVERY = 10.0


def watch(job: Job, console: Console) -> Results:
    """Wait for ``job``, showing how far it is. Ctrl-C cancels it and is raised again."""
    try:
        return _bar(job, console) if console.is_terminal else _plain(job, console)
    except KeyboardInterrupt:
        job.cancel()
        raise


def _text(job: Job, started: float) -> str:
    doing, p = job.current
    rate = p.records / max(time.monotonic() - started, 1e-9)
    resumed = f" (+{p.resumed} resumed)" if p.resumed else ""
    bad = f", {p.row_errors} bad rows" if p.row_errors else ""
    calls = ""
    if p.ledger is not None:
        cost = "cost unknown" if p.ledger.cost is None else f"cost {p.ledger.cost:.4f}"
        calls = f", {p.ledger.calls} LLM calls, {cost}"
    head = f"{doing}: " if doing else ""
    return f"{head}{p.records}{resumed} records{bad}{calls}, {rate:,.1f}/s"


def _bar(job: Job, console: Console) -> Results:
    started = time.monotonic()
    columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        while True:
            try:
                return job.wait(_TICK)
            except TimeoutError:
                fraction = job.current[1].done
                bar.update(
                    task,
                    description=_text(job, started),
                    total=None if fraction is None else 1.0,
                    completed=fraction or 0.0,
                )


def _plain(job: Job, console: Console) -> Results:
    started = shown = time.monotonic()
    while True:
        try:
            return job.wait(_TICK)
        except TimeoutError:
            now = time.monotonic()
            if now - shown >= _LINE_EVERY:
                shown = now
                fraction = job.current[1].done
                part = "" if fraction is None else f"{100 * fraction:.0f} %, "
                left = ""
                if fraction and fraction < 1:
                    left = f", about {(now - started) * (1 - fraction) / fraction:.0f} s left"
                console.print(f"{part}{_text(job, started)}{left}", markup=False)
