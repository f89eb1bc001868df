"""The work of ``veridical sample``: one model after another, shown while it goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from veridical.errors import VeridicalError

if TYPE_CHECKING:
    from veridical.io import Source
    from veridical.llm.answers_file import AnswersFile
    from veridical.llm.ledger import Ledger
    from veridical.llm.sampling import Sampling

_LINE_EVERY = 10.0
_TICK = 0.2


@dataclass(frozen=True)
class Leg:
    """One model by one decoding."""

    llm: str
    sampling: Sampling
    columns: dict[str, Any]


class Work:
    """Legs one after another, and what they come to."""

    def __init__(
        self,
        legs: Sequence[Leg],
        source: Source,
        limit: int | None,
        budget: float | None,
        store: Path | None,
    ) -> None:
        from veridical.llm.decoding import endpoint_for
        from veridical.llm.endpoints import find_endpoint
        from veridical.llm.sampling import Progress

        self.legs = legs
        self.source = source
        self.limit = limit
        self.budget = budget
        self.store = store
        self.progress = Progress()
        self.ledger: Ledger | None = None
        self.leg = 0
        self.endpoints = [
            find_endpoint(leg.llm)
            if leg.sampling.decoding is None
            else endpoint_for(leg.sampling.decoding, find_endpoint(leg.llm))
            for leg in legs
        ]

    def identity(self) -> dict[str, Any]:
        """Models and parameters."""
        told = self.legs[0].sampling.parameters()
        if self.legs[0].columns:
            del told["decoding"], told["response"]  # each leg has its own
            told["limit"] = self.limit  # rows are numbered over all legs
        else:
            told["model"] = self.endpoints[0].model
        return {**told, "endpoints": [e.identity for e in self.endpoints]}

    def run(
        self, file: AnswersFile, retry_failed: bool, min_coverage: float, console: Console
    ) -> int:
        before = file.counts()
        try:
            asyncio.run(self._all(file, retry_failed, console))
            stopped = None
        except (KeyboardInterrupt, asyncio.CancelledError):
            stopped = 130
        except VeridicalError as e:
            console.print(f"stopped: {e}", markup=False)
            stopped = 1
        answered, lost = file.counts()
        self._tell(file, before, answered, lost, console)
        if stopped is not None:
            console.print("run the same command again to resume", markup=False)
            return stopped
        if not answered and not lost:
            console.print("error: no prompt in the input", markup=False)
            return 1
        if answered < min_coverage * (answered + lost):
            console.print(
                f"{answered} of {answered + lost} rows are answered, under "
                f"{100 * min_coverage:g} %; --retry-failed asks the others again",
                markup=False,
            )
            return 2 if self.progress.bad_rows < answered + lost else 1
        return 0

    async def _all(self, file: AnswersFile, retry_failed: bool, console: Console) -> None:
        rows = 0
        if len(self.legs) > 1:
            rows = await asyncio.to_thread(_count, self.source, self.limit)
        showing = asyncio.get_running_loop().create_task(self._show(console))
        try:
            for leg in range(len(self.legs)):
                self.leg = leg
                passed = file.next_row >= (leg + 1) * rows > 0
                if not passed or retry_failed:
                    await self._one(file, leg * rows, retry_failed)
        finally:
            showing.cancel()
            await asyncio.gather(showing, return_exceptions=True)

    async def _one(self, file: AnswersFile, offset: int, retry_failed: bool) -> None:
        from veridical.llm.llms import Llms
        from veridical.llm.sample_run import sample_into
        from veridical.llm.sampling import Sampler

        leg, endpoint = self.legs[self.leg], self.endpoints[self.leg]
        llms = Llms(endpoint, store=self.store, budget=self.budget)
        folder = file.path.with_name(file.path.name + ".journal")
        if self.store is None:
            folder.mkdir(exist_ok=True)
        try:
            account = llms.account(file.run, folder, retry=retry_failed)
            self.ledger = account.ledger
            try:
                sampler = Sampler(
                    llms.chat(account),
                    leg.sampling,
                    {"run": file.run, "llm": leg.llm, "model": endpoint.model},
                    leg.columns,
                    row_offset=offset,
                )
                await sample_into(
                    file,
                    self.source,
                    sampler,
                    self.progress,
                    limit=self.limit,
                    retry_failed=retry_failed,
                    window=max(64, 4 * endpoint.max_concurrency),
                )
            finally:
                llms.leave(account)
        finally:
            await llms.close()

    async def _show(self, console: Console) -> None:
        """A bar on a terminal; a plain line now and then elsewhere."""
        started = time.monotonic()
        if not console.is_terminal:
            while True:
                await asyncio.sleep(_LINE_EVERY)
                done = self._fraction()
                left = ""
                if done and done < 1:
                    seconds = (time.monotonic() - started) * (1 - done) / done
                    left = f", about {seconds:.0f} s left"
                part = "" if done is None else f"{100 * done:.0f} %, "
                console.print(f"{part}{self._text(started)}{left}", markup=False)
        columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
        with Bar(*columns, console=console, transient=True) as bar:
            task = bar.add_task("", total=None)
            while True:
                done = self._fraction()
                bar.update(
                    task,
                    description=self._text(started),
                    total=None if done is None else 1.0,
                    completed=done or 0.0,
                )
                await asyncio.sleep(_TICK)

    def _fraction(self) -> float | None:
        p = self.progress
        part = p.fraction
        if part is not None and self.limit is not None:
            done = p.answered + p.failed + p.bad_rows
            part = max(part, min(1.0, done / self.limit - self.leg))
        return None if part is None else (self.leg + part) / len(self.legs)

    def _text(self, started: float) -> str:
        p, ledger = self.progress, self.ledger
        rate = p.answered / max(time.monotonic() - started, 1e-9)
        failed = f", {p.failed} failed" if p.failed else ""
        spent = ""
        if ledger is not None:
            cost = "unknown" if ledger.cost is None else f"{ledger.cost:.4f}"
            spent = f", {ledger.calls} calls, cost {cost}"
        return f"{p.answered} answered{failed}{spent}, {rate:,.1f}/s"

    def _tell(
        self,
        file: AnswersFile,
        before: tuple[int, int],
        answered: int,
        lost: int,
        console: Console,
    ) -> None:
        from veridical.cli.finish import drawn_lines, ledger_lines

        resumed = f" ({before[0]} of them before)" if before[0] else ""
        console.print(f"{answered} prompts answered{resumed}: {file.path}", markup=False)
        if lost:
            console.print(f"{lost} rows without an answer: {file.errors}", markup=False)
        told = None if self.ledger is None else self.ledger.as_dict()
        for text in (*drawn_lines(self.progress), *ledger_lines(told)):
            console.print(text, markup=False)


def _count(source: Source, limit: int | None) -> int:
    """Rows to ask."""
    total = 0
    for total, _ in enumerate(source.rows(), 1):
        if total == limit:
            break
    return total
